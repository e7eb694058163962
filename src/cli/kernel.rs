//! A kernel of the user's own as a rung of an op: read from a file, described by flags or a small TOML.

use super::output::{bad, whole};
use clap::Args;
use gpu_ladder::op::Op;
use gpu_ladder::rung::{Arch, Grid, Language, Rung};
use gpu_ladder::sim::Program;
use gpu_ladder::{Error, Result};
use std::path::{Path, PathBuf};

/// What describes the kernel. A TOML file may give the same by the same names; flags win.
#[derive(Args, Default, Clone)]
pub struct KernelArguments {
    /// A kernel of your own (.wgsl, .cu or .ptx), entered as a rung: verified, timed and compared beside ours. It takes
    /// the op's bindings and params; see a rung of that op.
    #[arg(long, value_name = "FILE")]
    kernel: Option<PathBuf>,
    /// The entry point of --kernel; not needed where there is only one.
    #[arg(long, requires = "kernel")]
    entry: Option<String>,
    /// Threads of a block, as X,Y,Z (WGSL says it by itself).
    #[arg(long, value_delimiter = ',', requires = "kernel", value_parser = whole::<u32>)]
    block: Vec<u32>,
    /// Columns and rows that a block takes, or elements of a vector (default: as many as its threads).
    #[arg(long, value_delimiter = ',', requires = "kernel", value_parser = whole::<u32>)]
    tile: Vec<u32>,
    /// Blocks numbered along one dimension.
    #[arg(long, requires = "kernel")]
    linear: bool,
    /// A constant, as NAME=NUMBER: a -D of CUDA, a `const` line of WGSL.
    #[arg(long, requires = "kernel")]
    constant: Vec<String>,
    /// Shared memory that the launch gives a block, in bytes (CUDA).
    #[arg(long, requires = "kernel", value_parser = whole::<u32>)]
    dynamic_shared: Option<u32>,
    /// The target: compute_70, compute_80, compute_90 or sm_90a (CUDA).
    #[arg(long, requires = "kernel")]
    arch: Option<String>,
    /// A TOML file with entry, block, tile, linear, constant, dynamic-shared and arch.
    #[arg(long, value_name = "FILE", requires = "kernel")]
    kernel_config: Option<PathBuf>,
}

/// What a TOML file may hold.
#[derive(serde::Deserialize, Default)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Config {
    entry: Option<String>,
    block: Vec<u32>,
    tile: Vec<u32>,
    linear: bool,
    constant: std::collections::BTreeMap<String, u32>,
    dynamic_shared: Option<u32>,
    arch: Option<String>,
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| Error::File { path: path.display().to_string(), problem: e.to_string() })
}

impl KernelArguments {
    /// The rung, if a kernel was given, for elements of `element_size` bytes.
    pub fn rung(&self, op: &dyn Op, element_size: u64) -> Result<Option<Rung>> {
        let Some(path) = &self.kernel else { return Ok(None) };
        let shown = path.display().to_string();
        let text = read(path)?;
        let config: Config = match &self.kernel_config {
            None => Config::default(),
            Some(file) => toml::from_str(&read(file)?)
                .map_err(|e| Error::File { path: file.display().to_string(), problem: e.to_string() })?,
        };
        let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let asked = self.entry.as_deref().or(config.entry.as_deref());
        let (entry, own_block) = match kind {
            "wgsl" => {
                let program = Program::new(&text, asked, &[])
                    .map_err(|e| Error::File { path: shown.clone(), problem: e.to_string() })?;
                (program.entry().to_string(), Some(program.workgroup_size()))
            }
            "cu" | "ptx" => (
                asked
                    .map_or_else(|| only_entry(&text, kind), |entry| Ok(entry.into()))
                    .map_err(|p| bad("--entry", "", p))?,
                None,
            ),
            _ => return Err(bad("--kernel", shown, "a file that ends in .wgsl, .cu or .ptx")),
        };
        let given = if self.block.is_empty() { &config.block } else { &self.block };
        let block = match (own_block, given.as_slice()) {
            (Some(own), _) => own,
            (None, [x]) => [*x, 1, 1],
            (None, [x, y]) => [*x, *y, 1],
            (None, [x, y, z]) => [*x, *y, *z],
            (None, _) => return Err(bad("--block", format!("{given:?}"), "the threads of a block, as X,Y,Z")),
        };
        let tile = if self.tile.is_empty() { &config.tile } else { &self.tile };
        let grid = grid(op, block, tile, self.linear || config.linear)?;
        // Its entry gets the name that a rung's has, wherever the old one stands.
        let stem: String = entry.strip_prefix(&format!("{}_", op.name())).unwrap_or(&entry).to_string();
        let text = renamed(&text, &entry, &format!("{}_{stem}", op.name()));
        if op.ladder().iter().any(|rung| rung.name == stem) {
            return Err(bad("--kernel", entry, "a rung of that name is there already; give the entry point another"));
        }
        let rung = Rung::new(stem, block, grid).with_idea(format!("Your kernel, {shown}."));
        let mut rung = match kind {
            "wgsl" => rung.with_wgsl(text),
            "cu" => rung.with_cuda(text),
            _ => rung.with_ptx(text),
        };
        rung.element_sizes = vec![element_size].into();
        rung.wgsl_element_sizes = vec![element_size].into();
        rung.cuda_needs.dynamic_shared = self.dynamic_shared.or(config.dynamic_shared).unwrap_or(0);
        if let Some(word) = self.arch.as_deref().or(config.arch.as_deref()) {
            let all = [Arch::Compute70, Arch::Compute80, Arch::Compute90, Arch::Sm90a];
            rung.cuda_needs.arch = all.into_iter().find(|arch| arch.name() == word).ok_or_else(|| Error::Unknown {
                kind: "architecture",
                word: word.into(),
                known: all.map(|arch| arch.name().to_string()).to_vec(),
            })?;
        }
        let mut constants: Vec<(String, u32)> = config.constant.into_iter().collect();
        for text in &self.constant {
            let (name, value) =
                text.split_once('=').ok_or_else(|| bad("--constant", text, "it is given as NAME=NUMBER"))?;
            let value = value.parse().map_err(|_| bad("--constant", text, "the value is a whole number"))?;
            constants.retain(|(n, _)| n != name);
            constants.push((name.into(), value));
        }
        // A rung's constants live as long as the process, as those of our own do.
        let constants: Vec<(&'static str, u32)> = constants.into_iter().map(|(n, v)| (&*n.leak(), v)).collect();
        // SAFETY: the person who names the file on the command line vouches for the kernel in it, with this op and
        // what the flags say.
        Ok(Some(unsafe { rung.with_constants(constants).vouched_for(Language::Cuda, op) }))
    }
}

fn grid(op: &dyn Op, block: [u32; 3], tile: &[u32], linear: bool) -> Result<Grid> {
    let one_dimension = op.dims().len() == 1;
    match (one_dimension, tile) {
        (_, tile) if tile.contains(&0) || tile.len() > 2 => {
            Err(bad("--tile", format!("{tile:?}"), "columns and rows, or elements; none of them 0"))
        }
        (true, [per_block, ..]) => Ok(Grid::Linear { per_block: *per_block }),
        (true, []) => Ok(Grid::Linear { per_block: block.iter().product() }),
        (false, tile) => {
            let (x, y) = match *tile {
                [x, y, ..] => (x, y),
                [side] => (side, side),
                [] => (block[0], block[1]),
            };
            Ok(if linear { Grid::TilesLinear { x, y } } else { Grid::Tiles { x, y } })
        }
    }
}

/// The one entry point of CUDA C++ or PTX.
fn only_entry(text: &str, kind: &str) -> std::result::Result<String, String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut entries: Vec<String> = Vec::new();
    let marker = if kind == "ptx" { ".entry" } else { "__global__" };
    for part in text.split(marker).skip(1) {
        // The name is the word before the parenthesis that opens the parameters; `__launch_bounds__(…)` is none.
        let rest = match part.find("__launch_bounds__") {
            Some(at) if part.find('(').is_some_and(|open| open > at) => part[at..].split_once(')').map_or("", |p| p.1),
            _ => part,
        };
        let head = rest.split('(').next().unwrap_or_default();
        let name = head.split(|c: char| !is_word(c)).rfind(|word| !word.is_empty()).unwrap_or_default();
        if !name.is_empty() && !entries.iter().any(|e| e == name) {
            entries.push(name.into());
        }
    }
    match entries.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err("the kernel has no entry point".into()),
        several => Err(format!("which of {}?", several.join(", "))),
    }
}

/// The text with a word replaced, where it stands alone.
fn renamed(text: &str, old: &str, new: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        out.push_str(before);
        let alone = !before.chars().next_back().is_some_and(is_word) && !after.chars().next().is_some_and(is_word);
        out.push_str(if alone { new } else { old });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_is_found_and_renamed() {
        let cuda = "extern \"C\" __global__ void __launch_bounds__(256)\nmine(const T* a) { minery(mine_2); }";
        assert_eq!(only_entry(cuda, "cu").unwrap(), "mine");
        assert_eq!(only_entry(".visible .entry mine(\n.param .u64 a)", "ptx").unwrap(), "mine");
        assert!(only_entry("void f() {}", "cu").is_err());
        assert!(renamed(cuda, "mine", "copy_mine").contains("copy_mine(const T* a) { minery(mine_2)"));
    }
}
