//! What PTX says of itself: its version and the parameters of its entries.

use crate::rung::Program;

/// Bytes of a tensor map parameter.
const TENSOR_MAP_BYTES: usize = 128;

/// The version that `.version` declares.
pub(super) fn version(ptx: &str) -> Option<(u32, u32)> {
    let line = ptx.lines().find_map(|line| line.trim_start().strip_prefix(".version"))?;
    let (major, minor) = line.split("//").next()?.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The bytes of each parameter of `entry`; `None` where there is no such entry or it cannot be read.
pub fn parameters(ptx: &str, entry: &str) -> Option<Vec<usize>> {
    let declared = ptx.split(".entry").skip(1).find_map(|rest| {
        let rest = rest.trim_start().strip_prefix(entry)?.trim_start();
        // An entry without parameters has no parentheses.
        match rest.strip_prefix('(') {
            Some(list) => list.split(')').next(),
            None => rest.starts_with(['{', '.']).then_some(""),
        }
    })?;
    declared.split(',').map(str::trim).filter(|text| !text.is_empty()).map(bytes_of).collect()
}

/// The bytes of one parameter: `.param .u64 name`, or `.param .align 8 .b8 name[64]`.
fn bytes_of(parameter: &str) -> Option<usize> {
    let words: Vec<&str> = parameter.split_whitespace().collect();
    let element = words.iter().rev().find_map(|word| {
        let bits: usize = word.strip_prefix('.')?.trim_start_matches(char::is_alphabetic).parse().ok()?;
        Some(bits / 8)
    })?;
    let count = match words.last()?.split_once('[') {
        Some((_, rest)) => rest.trim_end_matches(']').parse().ok()?,
        None => 1,
    };
    Some(element * count)
}

/// The bytes of each parameter that a launch of `program` passes: pointers, params, tensor maps.
pub fn expected_parameters(program: &Program) -> Vec<usize> {
    let mut bytes = vec![size_of::<u64>(); program.written.len()];
    bytes.extend(Some(program.params_bytes as usize).filter(|&bytes| bytes > 0));
    bytes.extend(program.cuda_needs.tensor_maps.iter().map(|_| TENSOR_MAP_BYTES));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "//\n.version 8.0 // NVRTC\n.target sm_70\n
        .visible .entry first(\n\t.param .u64 first_param_0,\n\t.param .align 8 .b8 first_param_1[64]\n)\n.maxntid 256\n{ ret; }
        .visible .entry first_second( .param .u64 .ptr .global .align 16 p, .param .f32 q, .param .align 64 .b8 m[128] ) { ret; }
        .visible .entry none { ret; }";

    #[test]
    fn the_version_is_the_declared_one() {
        assert_eq!(version(PTX), Some((8, 0)));
        assert_eq!(version("no PTX"), None);
        assert_eq!(version(".version nine"), None);
    }

    #[test]
    fn parameters_are_read_by_entry() {
        assert_eq!(parameters(PTX, "first"), Some(vec![8, 64]));
        assert_eq!(parameters(PTX, "first_second"), Some(vec![8, 4, 128]));
        assert_eq!(parameters(PTX, "none"), Some(vec![]));
        assert_eq!(parameters(PTX, "third"), None);
    }
}
