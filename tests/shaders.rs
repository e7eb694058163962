//! Every shader as it lies is valid WGSL and translates to each target language that can express
//! it; and both twins of a rung agree with its row.

use gpu_ladder::op::{self, shipped_programs};
use gpu_ladder::rung::{Language, Program, Source};
use naga::back::{glsl, hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn parse(label: &str, text: &str) -> (naga::Module, ModuleInfo) {
    let module = naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(text)));
    let info = Validator::new(ValidationFlags::all(), Capabilities::all())
        .validate(&module)
        .unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(text)));
    (module, info)
}

fn wgsl_programs() -> Vec<(Program, String)> {
    shipped_programs().into_iter().filter_map(|p| p.wgsl_text().map(|text| (p, text))).collect()
}

#[test]
fn every_shader_as_it_lies_is_valid() {
    for op in op::OPS {
        for rung in op.ladder() {
            if let Source::Text(text) = &rung.wgsl {
                parse(&format!("{}/{}", op.name(), rung.id()), text);
            }
        }
    }
}

#[test]
fn every_variant_is_valid_and_translates() {
    for (program, text) in wgsl_programs() {
        let (module, info) = parse(&program.label, &text);
        let written = |language: &str, write: &dyn Fn() -> Result<(), String>| {
            // Some writers panic on what they cannot express.
            match catch_unwind(AssertUnwindSafe(write)) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => panic!("{} to {language}: {error}\n{text}", program.label),
                Err(_) => panic!("{} to {language}: the writer panicked", program.label),
            }
        };
        written("SPIR-V", &|| {
            spv::write_vec(&module, &info, &spv::Options::default(), None).map(|_| ()).map_err(|e| e.to_string())
        });
        written("MSL", &|| {
            msl::write_string(&module, &info, &msl::Options::default(), &msl::PipelineOptions::default())
                .map(|_| ())
                .map_err(|e| e.to_string())
        });
        written("HLSL", &|| {
            let mut out = String::new();
            let (options, pipeline) = (hlsl::Options::default(), hlsl::PipelineOptions::default());
            hlsl::Writer::new(&mut out, &options, &pipeline)
                .write(&module, &info, None)
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
            glsl::Writer::new(&mut out, &module, &info, &options, &pipeline, policies)
                .and_then(|mut w| w.write())
                .map(|_| ())
                .map_err(|e| e.to_string())
        });
    }
}

#[test]
fn the_block_of_every_shader_is_that_of_its_row() {
    for (program, text) in wgsl_programs() {
        let (module, _) = parse(&program.label, &text);
        let entry = module.entry_points.iter().find(|e| e.name == program.entry);
        let entry = entry.unwrap_or_else(|| panic!("{} has no entry point {}", program.label, program.entry));
        assert_eq!(entry.workgroup_size, program.block, "{}", program.label);
    }
}

#[test]
fn the_params_of_every_shader_have_the_size_of_their_op() {
    for (program, text) in wgsl_programs() {
        let (module, _) = parse(&program.label, &text);
        let size =
            module.global_variables.iter().find(|(_, v)| v.space == naga::AddressSpace::Uniform).map(|(_, v)| {
                let mut layouter = naga::proc::Layouter::default();
                layouter.update(module.to_ctx()).expect("a valid module has a layout");
                layouter[v.ty].size
            });
        assert_eq!(size, Some(program.params_bytes), "{}", program.label);
    }
}

#[test]
fn the_workgroup_memory_of_every_shader_is_that_of_its_row() {
    let programs = wgsl_programs();
    for op in op::OPS {
        for rung in op.ladder() {
            // Where a switch decides how much is used, the row says the most.
            let mut most = HashMap::new();
            for (program, text) in programs.iter().filter(|(p, _)| p.label == format!("{}/{}", op.name(), rung.id())) {
                let (module, _) = parse(&program.label, text);
                let mut layouter = naga::proc::Layouter::default();
                layouter.update(module.to_ctx()).expect("a valid module has a layout");
                let bytes: u64 = module
                    .global_variables
                    .iter()
                    .filter(|(_, v)| v.space == naga::AddressSpace::WorkGroup)
                    .map(|(_, v)| u64::from(layouter[v.ty].size))
                    .sum();
                let most: &mut u64 = most.entry(program.element.size()).or_default();
                *most = bytes.max(*most);
            }
            for (size, bytes) in most {
                let row = rung.static_shared(Language::Wgsl, size);
                assert_eq!(bytes, row, "{}/{} for {size} bytes", op.name(), rung.id());
            }
        }
    }
}

/// What a CUDA source says in its own words: `__launch_bounds__`, `Params`, constants.
#[test]
fn the_constants_of_both_twins_are_those_of_the_row() {
    for op in op::OPS {
        for rung in op.ladder() {
            let (Source::Text(cuda), Source::Text(wgsl)) = (&rung.cuda, &rung.wgsl) else { continue };
            for language in [Language::Cuda, Language::Wgsl] {
                let names = rung.sizes(language).iter().flat_map(|&size| {
                    let tuned = rung.tuned(language, size);
                    let constants: Vec<_> = tuned.constants.iter().map(|(n, _)| n.to_string()).collect();
                    // A switch that a need leaves one value in this language is no constant of its twin.
                    let fixed = |name: &str| rung.needs.iter().any(|n| n.language == Some(language) && n.fact == name);
                    let switches = rung.switches.iter().filter(|s| !fixed(&s.name)).map(|s| s.name.to_string());
                    constants.into_iter().chain(switches.collect::<Vec<_>>())
                });
                for name in names {
                    let (text, line) = match language {
                        Language::Cuda => (cuda, format!("#ifndef {name}\n")),
                        Language::Wgsl => (wgsl, format!("\nconst {name}: u32 = ")),
                    };
                    let label = format!("{}/{}", op.name(), rung.id());
                    assert!(text.contains(&line), "{label}: {name} is not a constant of the {language:?} twin");
                }
            }
            let entry = format!("{}_{}", op.name(), rung.name);
            assert!(cuda.contains(&entry) && wgsl.contains(&entry), "{entry} is missing in a twin");
            let words =
                ["// Idea.", "// Changed from the rung below.", "// A thread owns.", "// Memory traffic.", "// Needs."];
            for (language, text) in [("CUDA", cuda), ("WGSL", wgsl)] {
                for (line, word) in text.lines().zip(words) {
                    assert!(
                        line.starts_with(word),
                        "{entry} in {language}: the line '{line}' should start with '{word}'"
                    );
                }
            }
        }
    }
}
