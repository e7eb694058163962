//! Works that are recorded and then started as one thing: a graph of the driver.
//!
//! Where the driver has put a stream changes what each launch on it costs, by up to 15 % from one process to the
//! next on an H200; launches within a graph cost half of that, and the same in every process.

use super::Cuda;
use super::context::Context;
use super::driver::{Driver, SUCCESS};
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
        // SAFETY: the stream is of the current context.
        if unsafe { (functions.begin)(context.stream, CAPTURE_THREAD_LOCAL) } != SUCCESS {
            return Ok(None); // the legacy default stream of a program
        }
        let queued = launch::queue(context, work);
        let mut graph: sys::CUgraph = std::ptr::null_mut();
        // SAFETY: the stream is recording, since the call above; the out-pointer is a local. Whatever
        // happened in between, this ends the recording.
        let ended = context.check("cuStreamEndCapture", unsafe { (functions.end)(context.stream, &mut graph) });
        let recorded = queued.and(ended);
        let mut exec: sys::CUgraphExec = std::ptr::null_mut();
        let instantiated = recorded.and_then(|()| {
            // SAFETY: the graph has just been recorded; the out-pointer is a local; there are no flags.
            context.check("cuGraphInstantiate", unsafe { (functions.instantiate)(&mut exec, graph, 0) })
        });
        if !graph.is_null() {
            // SAFETY: as above; an executable graph does not need it any more.
            unsafe { (functions.destroy_graph)(graph) };
        }
        instantiated?;
        let recorded = Recorded { context: Arc::clone(context), functions, graph: exec };
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

impl Drop for Recorded {
    fn drop(&mut self) {
        if let Ok(_entered) = self.context.enter() {
            // SAFETY: made by `of` and destroyed once; the driver lets a graph that still runs end first.
            unsafe { (self.functions.destroy)(self.graph) };
        }
    }
}
