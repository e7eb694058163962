//! What machine code says of itself: its sections and the parameters of its entries.

/// The bytes of each parameter of `entry`, in order; `None` where there is no such entry or it cannot be read.
///
/// They are attributes in the section `.nv.info.<entry>`: a number and a format, then, for those with data,
/// its length; a parameter's has its index, ordinal, offset, and a word whose upper bits are its size.
pub(super) fn parameters(cubin: &[u8], entry: &str) -> Option<Vec<usize>> {
    /// The format of an attribute with a length and data.
    const SIZED: u8 = 4;
    const PARAMETER: u8 = 0x17;
    const SIZE_SHIFT: u32 = 18;
    let wanted = format!(".nv.info.{entry}");
    let (_, info) = sections(cubin)?.into_iter().find(|(name, _)| *name == wanted.as_bytes())?;
    let mut found = Vec::new();
    let mut at = 0;
    while at < info.len() {
        let (format, attribute, bytes) = (info[at], *info.get(at + 1)?, u16::from_le_bytes(bytes_at(info, at + 2)?));
        if (format, attribute) == (SIZED, PARAMETER) {
            let ordinal = u16::from_le_bytes(bytes_at(info, at + 8)?);
            found.push((ordinal, (u32::from_le_bytes(bytes_at(info, at + 12)?) >> SIZE_SHIFT) as usize));
        }
        at += 4 + if format == SIZED { usize::from(bytes) } else { 0 };
    }
    found.sort_unstable();
    Some(found.into_iter().map(|(_, size)| size).collect())
}

/// The sections of an ELF file: names and contents. `None` where it is no such file.
pub fn sections(file: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    /// The type of a section that takes no room in the file.
    const ABSENT: u32 = 8;
    let half = |at: usize| bytes_at(file, at).map(u16::from_le_bytes).map(usize::from);
    let word = |at: usize| bytes_at(file, at).map(u32::from_le_bytes);
    let long = |at: usize| bytes_at(file, at).map(u64::from_le_bytes).and_then(|value| usize::try_from(value).ok());
    // Where the section headers are, how large and how many, and which one has their names.
    let (headers, size, count, names) = (long(40)?, half(58)?, half(60)?, half(62)?);
    let header = |index: usize, field: usize| headers.checked_add(index * size + field);
    let names = long(header(names, 24)?)?;
    let section = |index: usize| {
        let name_at = names.checked_add(word(header(index, 0)?)? as usize)?;
        let name = file.get(name_at..)?.split(|&byte| byte == 0).next()?;
        let start = long(header(index, 24)?)?;
        let bytes = if word(header(index, 4)?)? == ABSENT { 0 } else { long(header(index, 32)?)? };
        Some((name, file.get(start..start.checked_add(bytes)?)?))
    };
    (0..count).map(section).collect()
}

/// `N` bytes from `at` on, if the file has them.
pub fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::artefacts::{ARTEFACTS, Embedded};

    #[test]
    fn parameters_are_read_from_machine_code() {
        let wanted = "matmul/even_shares/";
        let artefact = ARTEFACTS.iter().find(|artefact| artefact.key.starts_with(wanted)).unwrap();
        let Embedded::Cubin(bytes) = artefact.embedded else { panic!("{wanted} is machine code") };
        // a, b, c, Params, and three tensor maps
        assert_eq!(parameters(bytes, "matmul_even_shares"), Some(vec![8, 8, 8, 96, 128, 128, 128]));
        assert_eq!(parameters(bytes, "matmul_even"), None);
    }

    #[test]
    fn no_bytes_are_too_odd() {
        assert_eq!(parameters(b"", "entry"), None);
        assert_eq!(parameters(&[0xFF; 200], "entry"), None);
    }
}
