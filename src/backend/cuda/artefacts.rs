//! The embedded kernels: what was compiled from `cuda/` ahead of time, and from which source.
//!
//! `cuda/ptx/` holds one file per kernel source, element type, constants and target, and
//! `cuda/ptx/index.rs`, the list of them. Both are written by [`REBUILD`] with the compiler of
//! [`PINNED_NVRTC`], whose PTX every driver from 525 on reads. A test compares each entry's
//! fingerprint with the source and options of today.
//!
//! A program is found by that fingerprint and not by its name, so that a caller's own rung never
//! runs a kernel of ours that happens to be called the same.

use super::{cubin, ptx};
use crate::error::{Error, Result};
use crate::rung::{Arch, Program, Source};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The NVRTC that the embedded kernels are compiled with, major and minor.
pub const PINNED_NVRTC: (u32, u32) = (12, 0);

/// The command that brings the embedded kernels up to date.
pub const REBUILD: &str =
    "GPU_LADDER_NVRTC=<path of libnvrtc.so.12> cargo run --release --features nvrtc --example rebuild_ptx";

/// Options of every compilation, beside the target and the program's defines.
pub const OPTIONS: &[&str] = &["-std=c++17", "-default-device"];

/// A kernel in a form that a driver loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Image<'a> {
    /// PTX, which the driver compiles for its device.
    Ptx(Cow<'a, str>),
    /// Machine code of one architecture.
    Cubin(Cow<'a, [u8]>),
}

/// The bytes of an embedded kernel.
#[derive(Debug, Clone, Copy)]
pub enum Embedded {
    /// PTX.
    Ptx(&'static str),
    /// Machine code.
    Cubin(&'static [u8]),
}

/// An embedded kernel.
#[derive(Debug, Clone, Copy)]
pub struct Artefact {
    /// [`Program::artefact_key`] of the programs it serves.
    pub key: &'static str,
    /// What it was compiled for.
    pub arch: Arch,
    /// [`fingerprint`] of the program it was compiled from.
    pub source: u128,
    /// [`fingerprint_of_bytes`] of the file as it was written.
    pub content: u128,
    /// The file.
    pub embedded: Embedded,
}

impl Artefact {
    /// The kernel.
    pub fn image(&self) -> Image<'static> {
        match self.embedded {
            Embedded::Ptx(text) => Image::Ptx(Cow::Borrowed(text)),
            Embedded::Cubin(bytes) => Image::Cubin(Cow::Borrowed(bytes)),
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &'static [u8] {
        match self.embedded {
            Embedded::Ptx(text) => text.as_bytes(),
            Embedded::Cubin(bytes) => bytes,
        }
    }
}

/// Every embedded kernel.
pub const ARTEFACTS: &[Artefact] = include!("../../../cuda/ptx/index.rs");

/// The best embedded kernel for a program on a device of this compute capability.
pub fn find(program: &Program, capability: (u32, u32)) -> Option<&'static Artefact> {
    let source = fingerprint(program)?;
    let runs = |artefact: &&Artefact| artefact.source == source && artefact.arch.runs_on(capability);
    ARTEFACTS.iter().filter(runs).max_by_key(|artefact| artefact.arch)
}

/// Why a program's kernel cannot be loaded in a build that cannot compile it either.
pub fn not_embedded(program: &Program) -> Error {
    let key = program.artefact_key();
    let because = if ARTEFACTS.iter().any(|artefact| artefact.key == key) {
        format!(
            "the PTX embedded for {key} was made from another source; rebuild it ({REBUILD}), or build with `--features nvrtc`"
        )
    } else {
        format!("no PTX is embedded for {key}; build with `--features nvrtc` to compile it at run time")
    };
    Error::unsupported(program.label.as_str(), because)
}

/// The compiler options of a program for a target that NVRTC knows.
pub fn options(program: &Program, target: &str) -> Vec<String> {
    let mut options = vec![format!("--gpu-architecture={target}")];
    options.extend(OPTIONS.iter().map(|option| option.to_string()));
    options.extend(program.cuda_defines());
    options
}

/// The file that holds the kernel of a key for a target.
pub fn file_name(key: &str, arch: Arch) -> String {
    let extension = if arch == Arch::Sm90a { "cubin" } else { "ptx" };
    format!("{}.{}.{extension}", key.replace('/', "."), arch.name())
}

/// The files that are not as they should be for these programs, each with what is wrong with it.
/// Programs without CUDA text have none.
pub fn stale(programs: &[Program]) -> BTreeMap<String, &'static str> {
    let mut problems = BTreeMap::new();
    let mut wanted = BTreeSet::new();
    for program in programs {
        let Some(source) = fingerprint(program) else { continue };
        let (key, arch) = (program.artefact_key(), program.cuda_needs.arch);
        let found = ARTEFACTS.iter().find(|artefact| artefact.key == key && artefact.arch == arch);
        let name = file_name(&key, arch);
        match found {
            None => drop(problems.insert(name.clone(), "is missing")),
            Some(artefact) if artefact.source != source => {
                problems.insert(name.clone(), "was made from another source or with other options");
            }
            Some(artefact) if artefact.content != fingerprint_of_bytes(artefact.bytes()) => {
                problems.insert(name.clone(), "was changed by hand");
            }
            Some(_) => {}
        }
        wanted.insert(name);
    }
    let names = ARTEFACTS.iter().map(|artefact| file_name(artefact.key, artefact.arch));
    problems.extend(names.filter(|name| !wanted.contains(name)).map(|name| (name, "belongs to no program")));
    problems
}

/// What identifies the source and options of a program, without its target; `None` where it has no
/// CUDA text. Line endings do not count, since checkouts change them.
pub fn fingerprint(program: &Program) -> Option<u128> {
    let Source::Text(text) = &program.cuda else { return None };
    let (major, minor) = PINNED_NVRTC;
    let options = [OPTIONS.join(" "), program.cuda_defines().join(" ")];
    let head = format!("NVRTC {major}.{minor} {}\n", options.join(" "));
    Some(fnv1a(head.bytes().chain(text.bytes().filter(|&byte| byte != b'\r'))))
}

/// What identifies the content of an artefact.
pub fn fingerprint_of_bytes(bytes: &[u8]) -> u128 {
    fnv1a(bytes.iter().copied())
}

/// FNV-1a, 128 bits: it tells versions of a file apart; nobody is kept from forging it.
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// Compares the parameters that a kernel declares with those that a launch of the program passes: with fewer,
/// the driver would read past them.
///
/// # Errors
/// Both lists, in words.
pub fn compare_parameters(program: &Program, image: &Image<'_>) -> Result<(), String> {
    let expected = ptx::expected_parameters(program);
    let found = match image {
        Image::Ptx(text) => ptx::parameters(text, &program.entry),
        Image::Cubin(bytes) => cubin::parameters(bytes, &program.entry),
    };
    match found {
        None => Err(format!("there is no entry `{}`", program.entry)),
        Some(found) if found != expected => {
            Err(format!("`{}` declares parameters of {found:?} bytes, a launch passes {expected:?}", program.entry))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv1a() {
        // From the reference test vectors.
        assert_eq!(fingerprint_of_bytes(b""), 0x6c62272e07bb014262b821756295c58d);
        assert_eq!(fingerprint_of_bytes(b"a"), 0xd228cb696f1a8caf78912b704e4a8964);
        assert_eq!(fingerprint_of_bytes(b"foobar"), 0x343e1662793c64bf6f0d3597ba446f18);
    }

    #[test]
    fn the_fingerprint_sees_source_and_constants_and_no_line_endings() {
        let program = super::super::test_program;
        let print = |text, tile| fingerprint(&program(text, tile));
        assert_eq!(print("a\nb", 16), print("a\r\nb", 16));
        assert_ne!(print("a\nb", 16), print("a\nc", 16));
        assert_ne!(print("a\nb", 16), print("a\nb", 32));
        assert_eq!(
            file_name(&program("", 16).artefact_key(), Arch::Compute70),
            "op.rung.unsigned_int.TILE=16.compute_70.ptx"
        );
        assert_eq!(stale(&[program("", 16)]).get("op.rung.unsigned_int.TILE=16.compute_70.ptx"), Some(&"is missing"));
        let Error::Unsupported { because, .. } = not_embedded(&program("", 16)) else { panic!() };
        assert!(because.contains("--features nvrtc"), "{because}");
    }
}
