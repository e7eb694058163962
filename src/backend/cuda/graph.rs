//! Works that are recorded and then started as one thing: a graph of the driver.
//!
//! Where the driver has put a stream changes what each launch on it costs, by up to 15 % from one process to the
//! next on an H200; launches within a graph cost half of that, and the same in every process.

use super::Cuda;
use super::context::Context;
use super::driver::{Code, Driver, SUCCESS};
use super::launch;
use crate::backend::Launch;
use crate::error::Result;
use cudarc::driver::sys;
use std::sync::Arc;

/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`: what other threads do is none of this recording's business.
const CAPTURE_THREAD_LOCAL: u32 = 1;

/// The driver's functions for it.
struct Functions {
    begin: unsafe extern "C" fn(sys::CUstream, u32) -> u32,
    end: unsafe extern "C" fn(sys::CUstream, *mut sys::CUgraph) -> u32,
    instantiate: unsafe extern "C" fn(*mut sys::CUgraphExec, sys::CUgraph, u64) -> u32,
    upload: unsafe extern "C" fn(sys::CUgraphExec, sys::CUstream) -> u32,
    launch: unsafe extern "C" fn(sys::CUgraphExec, sys::CUstream) -> u32,
    destroy_graph: unsafe extern "C" fn(sys::CUgraph) -> u32,
    destroy: unsafe extern "C" fn(sys::CUgraphExec) -> u32,
}

impl Functions {
    fn of(driver: &Driver) -> Option<Self> {
        Some(Functions {
            begin: driver.stream_begin_capture?,
            end: driver.stream_end_capture?,
            instantiate: driver.graph_instantiate?,
            upload: driver.graph_upload?,
            launch: driver.graph_launch?,
            destroy_graph: driver.graph_destroy?,
            destroy: driver.graph_exec_destroy?,
        })
    }
}

/// A recorded work. It holds the addresses of the work's buffers and kernels, not these themselves.
pub(super) struct Recorded {
    context: Arc<Context>,
    functions: Functions,
    graph: sys::CUgraphExec,
}

impl Recorded {
    /// Records what queueing these launches does; `None` where this driver or this stream cannot. The context
    /// must have been entered.
    pub(super) fn of(context: &Arc<Context>, work: &[Launch<'_, Cuda>]) -> Result<Option<Self>> {
        let Some(functions) = Functions::of(context.driver) else { return Ok(None) };
        let check = |call, code| context.check(call, code);
        // SAFETY: the stream is of the current context.
        let recorded = unsafe { record(&functions, context.stream, || launch::queue(context, work), check) };
        let Some(graph) = recorded? else { return Ok(None) };
        let recorded = Recorded { context: Arc::clone(context), functions, graph };
        // SAFETY: graph and stream are of the current context.
        let code = unsafe { (recorded.functions.upload)(recorded.graph, context.stream) };
        context.check("cuGraphUpload", code)?;
        Ok(Some(recorded))
    }

    /// Starts it on the context's stream. The context must have been entered, and what the launches name must
    /// be alive until it is done.
    pub(super) fn start(&self) -> Result<()> {
        // SAFETY: the graph is whole, and graph and stream are of the current context; that the memory
        // behind the recorded addresses is still there is what this function asks of its caller.
        let code = unsafe { (self.functions.launch)(self.graph, self.context.stream) };
        self.context.check("cuGraphLaunch", code)
    }
}

/// What `queue` gives the stream, as a graph that can be started; `None` where this stream cannot be recorded.
/// Whatever fails, the recording is ended and what it made is given back.
///
/// # Safety
/// The functions are the driver's, and the stream is of the current context.
unsafe fn record(
    functions: &Functions,
    stream: sys::CUstream,
    queue: impl FnOnce() -> Result<()>,
    check: impl Fn(&'static str, Code) -> Result<()>,
) -> Result<Option<sys::CUgraphExec>> {
    // SAFETY: as this function's.
    if unsafe { (functions.begin)(stream, CAPTURE_THREAD_LOCAL) } != SUCCESS {
        return Ok(None); // the legacy default stream of a program
    }
    let queued = queue();
    let mut graph: sys::CUgraph = std::ptr::null_mut();
    // SAFETY: the stream is recording, since the call above; the out-pointer is a local.
    let ended = check("cuStreamEndCapture", unsafe { (functions.end)(stream, &mut graph) });
    let mut exec: sys::CUgraphExec = std::ptr::null_mut();
    let instantiated = queued.and(ended).and_then(|()| {
        // SAFETY: the graph has just been recorded; the out-pointer is a local; there are no flags.
        check("cuGraphInstantiate", unsafe { (functions.instantiate)(&mut exec, graph, 0) })
    });
    if !graph.is_null() {
        // SAFETY: as above; an executable graph does not need it any more.
        unsafe { (functions.destroy_graph)(graph) };
    }
    instantiated.map(|()| Some(exec))
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made by `of` and destroyed once; the driver lets a graph that still runs end first.
            unsafe { (self.functions.destroy)(self.graph) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use std::cell::{Cell, RefCell};

    thread_local! {
        static CALLS: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
        static FAILING: Cell<&'static str> = const { Cell::new("") };
    }

    /// A driver without a device: it notes each call, and one of them fails.
    fn call(name: &'static str) -> Code {
        CALLS.with_borrow_mut(|calls| calls.push(name));
        Code::from(FAILING.get() == name)
    }

    unsafe extern "C" fn begin(_: sys::CUstream, _: u32) -> u32 {
        call("begin")
    }
    unsafe extern "C" fn end(_: sys::CUstream, graph: *mut sys::CUgraph) -> u32 {
        // SAFETY: the caller's local.
        unsafe { *graph = std::ptr::dangling_mut() };
        call("end")
    }
    unsafe extern "C" fn instantiate(_: *mut sys::CUgraphExec, _: sys::CUgraph, _: u64) -> u32 {
        call("instantiate")
    }
    unsafe extern "C" fn on_stream(_: sys::CUgraphExec, _: sys::CUstream) -> u32 {
        call("start")
    }
    unsafe extern "C" fn destroy_graph(_: sys::CUgraph) -> u32 {
        call("destroy graph")
    }
    unsafe extern "C" fn destroy(_: sys::CUgraphExec) -> u32 {
        call("destroy")
    }

    #[test]
    fn a_recording_that_fails_is_ended_and_given_back() {
        let functions =
            Functions { begin, end, instantiate, upload: on_stream, launch: on_stream, destroy_graph, destroy };
        let all = ["begin", "end", "instantiate", "destroy graph"];
        let cases: [(&str, &[&str], Option<bool>); 5] = [
            ("", &all, Some(true)),
            ("begin", &all[..1], Some(false)),
            ("queue", &["begin", "end", "destroy graph"], None),
            ("end", &["begin", "end", "destroy graph"], None),
            ("instantiate", &all, None),
        ];
        for (failing, calls, recorded) in cases {
            FAILING.set(failing);
            let failed = || Error::device("a call", "as it should");
            let queue = || if failing == "queue" { Err(failed()) } else { Ok(()) };
            let check = |_, code| if code == SUCCESS { Ok(()) } else { Err(failed()) };
            // SAFETY: these functions do nothing with the stream.
            let made = unsafe { record(&functions, std::ptr::null_mut(), queue, check) };
            assert_eq!(made.ok().map(|graph| graph.is_some()), recorded, "{failing} fails");
            assert_eq!(CALLS.take(), calls, "{failing} fails");
        }
    }
}
