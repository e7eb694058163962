//! Every shader as it lies is valid WGSL and translates to each target language that can express
//! it; and both twins of a rung agree with its row.

mod cores;

use cores::on_every_core;
use gpu_ladder::op::{self, shipped_programs};
use gpu_ladder::rung::{Grid, Language, Program, Rung, Source, Switch};
use naga::back::{glsl, hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;

/// A shipped program in WGSL.
struct Shader {
    program: Program,
    text: String,
}

impl Shader {
    fn module(&self) -> &'static (naga::Module, ModuleInfo) {
        &MODULES[self.text.as_str()]
    }
}

static SHADERS: LazyLock<Vec<Shader>> = LazyLock::new(|| {
    shipped_programs().into_iter().filter_map(|p| p.wgsl_text().map(|text| Shader { program: p, text })).collect()
});

/// Each text once: programs of several element types and entries share theirs.
static MODULES: LazyLock<HashMap<&str, (naga::Module, ModuleInfo)>> = LazyLock::new(|| {
    let labels: BTreeMap<&str, &str> = SHADERS.iter().map(|s| (s.text.as_str(), s.program.label.as_str())).collect();
    let texts: Vec<_> = labels.into_iter().collect();
    on_every_core(&texts, |&(text, label)| (text, parse(label, text))).into_iter().collect()
});

fn parse(label: &str, text: &str) -> (naga::Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(text)));
    let info = Validator::new(ValidationFlags::all(), Capabilities::all())
        .validate(&module)
        .unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(text)));
    (module, info)
}

#[test]
fn every_shader_as_it_lies_is_valid() {
    let mut texts = BTreeMap::new();
    for op in op::OPS {
        for rung in op.ladder() {
            let own = rung.passes.iter().filter_map(|pass| pass.kernel.as_ref()).map(|kernel| kernel.wgsl());
            for source in own.chain([rung.wgsl()]) {
                if let Source::Text(text) = source {
                    texts.insert(text.as_ref(), format!("{}/{}", op.name(), rung.id()));
                }
            }
        }
    }
    on_every_core(&texts.into_iter().collect::<Vec<_>>(), |(text, label)| drop(parse(label, text)));
}

#[test]
fn every_variant_is_valid_and_translates() {
    let mut seen = HashSet::new();
    let once: Vec<_> = SHADERS.iter().filter(|s| seen.insert((&s.text, &s.program.entry))).collect();
    on_every_core(&once, |shader| translate(shader));
}

fn translate(shader: &Shader) {
    let Shader { program, text } = shader;
    let (module, info) = shader.module();
    let written = |language: &str, write: &dyn Fn() -> Result<(), String>| {
        // Some writers panic on what they cannot express.
        match catch_unwind(AssertUnwindSafe(write)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => panic!("{} to {language}: {error}\n{text}", program.label),
            Err(_) => panic!("{} to {language}: the writer panicked", program.label),
        }
    };
    let cooperative = text.contains("enable wgpu_cooperative_matrix;");
    written("SPIR-V", &|| {
        let lang_version = if cooperative { (1, 6) } else { (1, 0) };
        let options = spv::Options { lang_version, ..spv::Options::default() };
        spv::write_vec(module, info, &options, None).map(|_| ()).map_err(|e| e.to_string())
    });
    written("MSL", &|| {
        // The first version with simdgroup matrices.
        let lang_version = if cooperative { (2, 3) } else { (1, 0) };
        let options = msl::Options { lang_version, ..msl::Options::default() };
        msl::write_string(module, info, &options, &msl::PipelineOptions::default())
            .map(|_| ())
            .map_err(|e| e.to_string())
    });
    if cooperative {
        // No adapter of the other languages lists cooperative matrices.
        return;
    }
    written("HLSL", &|| {
        let mut out = String::new();
        let (options, pipeline) = (hlsl::Options::default(), hlsl::PipelineOptions::default());
        hlsl::Writer::new(&mut out, &options, &pipeline)
            .write(module, info, None)
            .map(|_| ())
            .map_err(|e| e.to_string())
    });
    written("GLSL", &|| {
        let options = glsl::Options { version: glsl::Version::Desktop(430), ..glsl::Options::default() };
        let pipeline = glsl::PipelineOptions {
            shader_stage: naga::ShaderStage::Compute,
            entry_point: program.entry.clone(),
            multiview: None,
        };
        let mut out = String::new();
        let policies = naga::proc::BoundsCheckPolicies::default();
        glsl::Writer::new(&mut out, module, info, &options, &pipeline, policies)
            .and_then(|mut w| w.write())
            .map(|_| ())
            .map_err(|e| e.to_string())
    });
}

#[test]
fn the_block_of_every_shader_is_that_of_its_row() {
    for shader in SHADERS.iter() {
        let (program, (module, _)) = (&shader.program, shader.module());
        let entry = module.entry_points.iter().find(|e| e.name == program.entry);
        let entry = entry.unwrap_or_else(|| panic!("{} has no entry point {}", program.label, program.entry));
        assert_eq!(entry.workgroup_size, program.block, "{}", program.label);
    }
}

/// The bytes of the module's variables in an address space.
fn bytes_in(module: &naga::Module, space: naga::AddressSpace) -> Vec<u32> {
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).expect("a valid module has a layout");
    module.global_variables.iter().filter(|(_, v)| v.space == space).map(|(_, v)| layouter[v.ty].size).collect()
}

#[test]
fn the_params_of_every_shader_have_the_size_of_their_op() {
    for shader in SHADERS.iter() {
        let uniforms = bytes_in(&shader.module().0, naga::AddressSpace::Uniform);
        // One for each entry point of the text.
        let right = !uniforms.is_empty() && uniforms.iter().all(|&bytes| bytes == shader.program.params_bytes);
        assert!(right, "{}: {uniforms:?} bytes, not {}", shader.program.label, shader.program.params_bytes);
    }
}

#[test]
fn the_workgroup_memory_of_every_shader_is_that_of_its_row() {
    let mut by_unit: HashMap<&str, Vec<&Shader>> = HashMap::new();
    for shader in SHADERS.iter() {
        by_unit.entry(&shader.program.unit).or_default().push(shader);
    }
    for op in op::OPS {
        for rung in op.ladder() {
            // Where a switch decides how much is used, the row says the most.
            let mut most = HashMap::new();
            for shader in by_unit.get(format!("{}/{}", op.name(), rung.id()).as_str()).into_iter().flatten() {
                let shared = bytes_in(&shader.module().0, naga::AddressSpace::WorkGroup);
                let bytes: u64 = shared.into_iter().map(u64::from).sum();
                let most: &mut u64 = most.entry(shader.program.element.size()).or_default();
                *most = bytes.max(*most);
            }
            for (size, bytes) in most {
                let row = rung.static_shared(Language::Wgsl, size);
                assert_eq!(bytes, row, "{}/{} for {size} bytes", op.name(), rung.id());
            }
        }
    }
}

/// The rows of a rung, as they are for one language and element width.
fn tuned(language: Language) -> impl Iterator<Item = (&'static str, Rung)> {
    op::OPS.iter().flat_map(move |op| {
        let rows = op
            .ladder()
            .iter()
            .flat_map(move |rung| rung.sizes(language).iter().map(move |&size| rung.tuned(language, size)));
        rows.map(|rung| (op.name(), rung))
    })
}

fn text_of(rung: &Rung, language: Language) -> Option<&str> {
    match if language == Language::Cuda { rung.cuda() } else { rung.wgsl() } {
        Source::Text(text) => Some(text),
        _ => None,
    }
}

/// The value that a kernel gives a constant in its own words: `#define NAME 8`, `const NAME: u32 = 8u;`.
fn own_value(text: &str, name: &str) -> Option<u32> {
    let rest = text.lines().find_map(|line| {
        let rest = line.strip_prefix("#define ").and_then(|rest| rest.strip_prefix(name)?.strip_prefix(' '));
        rest.or_else(|| line.strip_prefix("const ")?.strip_prefix(name)?.strip_prefix(": u32 = "))
    })?;
    let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
    let after = rest[digits.len()..].trim_start_matches('u').trim_start();
    (after.is_empty() || after.starts_with(['/', ';'])).then(|| digits.parse().ok())?
}

/// What the host lays over a problem is what the kernel computes: the tiles of the grid are its
/// `BLOCK_N` x `BLOCK_M`, the threads of the block its `THREADS`, wherever it states them.
#[test]
fn tiles_and_threads_of_every_kernel_are_those_of_its_row() {
    let mut compared = 0;
    for language in [Language::Cuda, Language::Wgsl] {
        for (op, rung) in tuned(language) {
            let Some(text) = text_of(&rung, language) else { continue };
            let value = |name: &str| {
                let given = rung.constants.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
                given.or_else(|| own_value(text, name))
            };
            // Not that of an operand that is copied before.
            let own = rung.passes.iter().find(|pass| pass.kernel.as_ref().is_none_or(|k| k.name == rung.name));
            let first = own.unwrap_or(&rung.passes[0]);
            let label = format!("{op}/{} in {language:?}", rung.id());
            let tile = match first.grid {
                Grid::Tiles { x, y }
                | Grid::TilesLinear { x, y }
                | Grid::TilesDown { x, y }
                | Grid::TilesLinearParts { x, y, .. }
                | Grid::Persistent { x, y, .. } => Some((x, y)),
                _ => None,
            };
            if let (Some(tile), Some(cols), Some(rows)) = (tile, value("BLOCK_N"), value("BLOCK_M")) {
                assert_eq!(tile, (cols, rows), "{label}: the tile");
                compared += 1;
            }
            if let Some(threads) = value("THREADS") {
                assert_eq!(first.block.iter().product::<u32>(), threads, "{label}: the block");
                compared += 1;
            }
            if let (Grid::TilesLinearParts { parts, .. }, Some(splits)) = (first.grid, value("SPLITS")) {
                assert_eq!(parts, splits, "{label}: the parts");
                compared += 1;
            }
        }
    }
    assert!(compared > 20, "only {compared} values were found");
}

/// What a source says in its own words: constants, entries, the five lines.
#[test]
fn the_constants_of_every_kernel_are_those_of_the_row() {
    for language in [Language::Cuda, Language::Wgsl] {
        for (op, rung) in tuned(language) {
            let Some(text) = text_of(&rung, language) else { continue };
            // A switch that a need leaves one value in this language is no constant of its twin.
            let fixed = |name: &str| rung.needs.iter().any(|n| n.language == Some(language) && n.fact == name);
            let switches = rung.switches.iter().filter(|s| !fixed(&s.name));
            let switches = switches.flat_map(|s| s.names().map(str::to_string));
            for name in rung.constants.iter().map(|(n, _)| n.to_string()).chain(switches) {
                let stated = match language {
                    Language::Cuda => text.contains(&format!("#ifndef {name}\n")),
                    Language::Wgsl => text.contains(&format!("\nconst {name}: u32 = ")),
                };
                assert!(stated, "{op}/{}: {name} is not a constant of the {language:?} kernel", rung.id());
            }
            if language == Language::Wgsl {
                // The rung's own kernel, and those of passes before it.
                let mut kernels = vec![(text, rung.switches.iter().collect::<Vec<_>>())];
                for kernel in rung.passes.iter().filter_map(|pass| pass.kernel.as_ref()) {
                    if let Source::Text(text) = kernel.wgsl() {
                        kernels.push((text, kernel.switches.iter().collect()));
                    }
                }
                for alias in rung.aliases.iter() {
                    let stated = |text: &str| text.contains(&format!("\nalias {} =", alias.name));
                    let decides =
                        |switches: &[&Switch]| switches.iter().any(|s| s.names().any(|name| name == alias.switch));
                    let both = kernels.iter().any(|(text, switches)| stated(text) && decides(switches));
                    assert!(both, "{op}/{}: no kernel has an alias {} and its switch", rung.id(), alias.name);
                }
            }
            for pass in rung.passes.iter() {
                if let Some(kernel) = &pass.kernel {
                    let source = if language == Language::Cuda { kernel.cuda() } else { kernel.wgsl() };
                    let Source::Text(text) = source else { continue };
                    let switches = kernel.switches.iter().flat_map(|s| s.names().map(str::to_string));
                    for name in kernel.constants.iter().map(|(n, _)| n.to_string()).chain(switches) {
                        let stated = match language {
                            Language::Cuda => text.contains(&format!("#ifndef {name}\n")),
                            Language::Wgsl => text.contains(&format!("\nconst {name}: u32 = ")),
                        };
                        assert!(stated, "{op}/{}: {name} is not a constant of {}", rung.id(), kernel.name);
                    }
                    let entry = format!("{op}_{}(", kernel.name);
                    assert!(text.contains(&entry), "{entry}) is missing");
                    continue;
                }
                let suffix = if pass.suffix.is_empty() { String::new() } else { format!("_{}", pass.suffix) };
                let entry = format!("{op}_{}{suffix}(", rung.name);
                assert!(text.contains(&entry), "{entry}) is missing in {language:?}");
            }
            let words =
                ["// Idea.", "// Changed from the rung below.", "// A thread owns.", "// Memory traffic.", "// Needs."];
            for (line, word) in text.lines().zip(words) {
                let name = &rung.name;
                assert!(line.starts_with(word), "{op}_{name} in {language:?}: «{line}» should start with «{word}»");
            }
        }
    }
}
