//! Rows, and the formats they are printed in. A format is one function and one line in [`FORMATS`].

#[cfg(feature = "report")]
mod axis;
#[cfg(feature = "report")]
mod charts;
#[cfg(feature = "report")]
mod columns;
#[cfg(feature = "report")]
pub mod compare;
#[cfg(all(feature = "report", feature = "sim"))]
pub mod counters;
#[cfg(feature = "report")]
mod digest;
#[cfg(feature = "report")]
mod fields;
#[cfg(feature = "report")]
pub mod file;
#[cfg(feature = "report")]
mod formats;
#[cfg(feature = "report")]
mod html;
#[cfg(feature = "report")]
pub mod read;
mod row;
#[cfg(feature = "report")]
mod screen;
#[cfg(feature = "report")]
pub mod story;
#[cfg(feature = "report")]
mod svg;
#[cfg(feature = "report")]
mod table;

#[cfg(feature = "report")]
pub use fields::SCHEMA_VERSION;
#[cfg(feature = "report")]
pub use formats::{FORMATS, Format, Page, by_ending, find};
pub use row::{Cell, Counters, Row};
#[cfg(feature = "report")]
pub(crate) use table::{grid, significant};
