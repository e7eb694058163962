//! Rows, and the formats they are printed in. A format is one function and one line in [`FORMATS`].

#[cfg(feature = "report")]
mod formats;
#[cfg(feature = "report")]
pub mod read;
mod row;

#[cfg(feature = "report")]
pub use formats::{FORMATS, Format, find};
pub use row::{Cell, Counters, Row};
