//! What a session has allocated on its device: how much at most, what is still there, and who asked for it.

use super::lock;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::{Arc, Mutex};

/// The device memory of a session at one moment. Buffers of stages, workspaces and the pool of a
/// [`Gpu`](crate::gpu::Gpu) are counted; what a driver takes for itself is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocations {
    /// The most bytes at a time.
    pub peak: u64,
    /// Bytes now.
    pub live: u64,
    /// What is there now, by who asked for it.
    pub sites: Vec<Site>,
}

/// The buffers that one place in a program asked for, by [`stage`](super::Session::stage) or
/// [`prepare`](super::Session::prepare), and that are still there; those of a pool have one place together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The call.
    pub at: &'static Location<'static>,
    /// Buffers.
    pub buffers: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let buffers = if self.buffers == 1 { "buffer" } else { "buffers" };
        let Site { at, buffers: count, bytes } = self;
        write!(f, "{count} {buffers} of {bytes} bytes, asked for at {}:{}", at.file(), at.line())
    }
}

#[derive(Default)]
struct Books {
    /// Bytes and call of what is there, by the order in which it came.
    entries: BTreeMap<u64, (u64, &'static Location<'static>)>,
    made: u64,
    live: u64,
    peak: u64,
}

/// The books of a session.
#[derive(Default)]
pub(super) struct Ledger(Mutex<Books>);

impl Ledger {
    /// Enters a buffer; it is struck out when what is returned is dropped.
    pub fn enter<T>(self: &Arc<Self>, buffer: T, bytes: u64, at: &'static Location<'static>) -> Held<T> {
        let mut books = lock(&self.0);
        books.made += 1;
        books.live += bytes;
        books.peak = books.peak.max(books.live);
        let number = books.made;
        books.entries.insert(number, (bytes, at));
        Held { buffer, number, ledger: Arc::clone(self) }
    }

    /// The peak since the last call of this or since the beginning.
    pub fn restart(&self) -> u64 {
        let mut books = lock(&self.0);
        let live = books.live;
        std::mem::replace(&mut books.peak, live)
    }

    pub fn now(&self) -> Allocations {
        let books = lock(&self.0);
        let mut sites: Vec<Site> = Vec::new();
        for &(bytes, at) in books.entries.values() {
            match sites.iter_mut().find(|site| site.at == at) {
                Some(site) => {
                    site.buffers += 1;
                    site.bytes += bytes;
                }
                None => sites.push(Site { at, buffers: 1, bytes }),
            }
        }
        sites.sort_by_key(|site| std::cmp::Reverse(site.bytes));
        Allocations { peak: books.peak, live: books.live, sites }
    }
}

/// A buffer that is in the books.
pub(crate) struct Held<T> {
    buffer: T,
    number: u64,
    ledger: Arc<Ledger>,
}

impl<T> Deref for Held<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.buffer
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        let mut books = lock(&self.ledger.0);
        if let Some((bytes, _)) = books.entries.remove(&self.number) {
            books.live -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_struck_out_and_what_is_forgotten_is_named() {
        let ledger = Arc::new(Ledger::default());
        let at = Location::caller();
        let first = ledger.enter((), 100, at);
        let second = ledger.enter((), 50, at);
        drop(first);
        std::mem::forget(second);
        let now = ledger.now();
        assert_eq!((now.peak, now.live), (150, 50));
        let said: Vec<String> = now.sites.iter().map(Site::to_string).collect();
        let line = at.line();
        assert_eq!(said, [format!("1 buffer of 50 bytes, asked for at {}:{line}", file!())]);
        assert_eq!((ledger.restart(), ledger.now().peak), (150, 50));
    }

    #[cfg(feature = "sim")]
    #[test]
    fn a_session_gives_everything_back_and_names_a_planted_leak() {
        use crate::backend::{Backend, Select, sim::Sim};
        use crate::op::{Op, Transpose};
        use crate::{Element, Inputs, Problem, Session, Verdict};
        pollster::block_on(async {
            let session = Session::new(Sim::open(&Select::default()).await.expect("the simulator"));
            let problem = Problem::new(Element::F32, [8, 8]);
            let at = line!() + 1;
            let stage = session.stage(&Transpose, &problem, Inputs::Seeded(1)).await.expect("a stage");
            let prepared = session.prepare(&stage, &Transpose.ladder()[0]).await.expect("a rung");
            let Verdict::Pass(proof) = session.verify(prepared).await.expect("it runs") else { panic!("wrong") };
            drop(proof);
            let planted = Arc::clone(&stage);
            drop(stage);
            let before = session.allocations();
            drop(planted);
            assert!(before.peak >= 512 && before.live == before.peak, "{before:?}");
            assert!(before.sites.len() == 1 && before.sites[0].at.line() == at, "{before:?}");
            assert!(before.sites[0].at.file().ends_with("allocations.rs"), "{before:?}");
            let after = session.allocations();
            assert_eq!((after.peak, after.live, after.sites.len()), (before.peak, 0, 0));
            std::mem::forget(session.stage(&Transpose, &problem, Inputs::Seeded(1)).await.expect("a stage"));
            let leaked = session.allocations();
            assert_eq!(leaked.sites[0].buffers, 2, "an input and an output: {leaked:?}");
        });
    }
}
