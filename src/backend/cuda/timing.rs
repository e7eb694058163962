//! Timing with events on the stream.
//!
//! An event is a time stamp that the device writes when it comes to it. Between the event before a
//! short kernel and the one behind it the device would mostly wait for the host, which needs some
//! microseconds for each call; so the host gets a head start: a kernel that only waits, about as
//! long as queueing takes. It ends by itself, so nothing can hang, and touches no memory.

use super::Cuda;
use super::context::{Context, Event};
use super::driver::SUCCESS;
use super::graph::Recorded;
use super::launch;
use crate::backend::Launch;
use crate::error::Result;
use cudarc::driver::sys;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Nanoseconds that queueing one call takes, until it has been measured.
pub(super) const QUEUEING_NS_GUESS: u64 = 4_000;
/// Calls that get one head start together: fewer than a stream's queue holds.
const CALLS_PER_HEAD_START: u64 = 256;
/// Nanoseconds that a head start lasts at least: the wake-up of an idle device.
const LEAST_HEAD_START_NS: u64 = 20_000;
/// Nanoseconds that a head start lasts at most.
const MOST_HEAD_START_NS: u64 = 10_000_000;

/// Waits for a number of clock ticks.
const HEAD_START_PTX: &std::ffi::CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry head_start(.param .u64 ticks)
{
    .reg .pred early;
    .reg .b64 ticks_, begin, now;
    ld.param.u64 ticks_, [ticks];
    mov.u64 begin, %clock64;
AGAIN:
    mov.u64 now, %clock64;
    sub.u64 now, now, begin;
    setp.lt.u64 early, now, ticks_;
    @early bra AGAIN;
    ret;
}
";

/// The kernel behind [`HEAD_START_PTX`].
pub(super) struct HeadStart {
    pub(super) module: sys::CUmodule,
    function: sys::CUfunction,
    ticks_per_us: u64,
}

// SAFETY: driver handles may be used from any thread on which their context is current.
unsafe impl Send for HeadStart {}
// SAFETY: as above.
unsafe impl Sync for HeadStart {}

impl HeadStart {
    /// Loads it; `None` if that fails, since times are merely less sharp without it.
    fn load(context: &Context) -> Option<Self> {
        let ticks_per_us =
            context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE).ok()?.div_ceil(1000);
        let mut module: sys::CUmodule = std::ptr::null_mut();
        let mut function: sys::CUfunction = std::ptr::null_mut();
        // SAFETY: the context is current (`time` entered it), the image ends with NUL, there are no
        // options, and the out-pointers are locals.
        let code = unsafe {
            (context.driver.module_load_data)(
                &mut module,
                HEAD_START_PTX.as_ptr().cast(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        context.check("cuModuleLoadDataEx", code).ok()?;
        // SAFETY: the module has just been loaded; the name ends with NUL. On failure the module
        // stays loaded until its context goes.
        let code = unsafe { (context.driver.module_get_function)(&mut function, module, c"head_start".as_ptr()) };
        (code == SUCCESS).then_some(HeadStart { module, function, ticks_per_us: ticks_per_us.max(1).into() })
    }

    fn queue(&self, context: &Context, ns: u64) -> Result<()> {
        let mut ticks = ns * self.ticks_per_us / 1000;
        let mut parameters: [*mut c_void; 1] = [std::ptr::from_mut(&mut ticks).cast()];
        // SAFETY: the function takes one u64 and touches no memory; parameters are copied at once.
        let code = unsafe {
            let parameters = parameters.as_mut_ptr();
            (context.driver.launch_kernel)(
                self.function,
                1,
                1,
                1,
                1,
                1,
                1,
                0,
                context.stream,
                parameters,
                std::ptr::null_mut(),
            )
        };
        context.check("cuLaunchKernel", code)
    }
}

/// A work, ready to be queued.
enum Work<'a> {
    Launches(&'a [Launch<'a, Cuda>]),
    Recorded(Recorded),
}

impl Work<'_> {
    fn queue(&self, context: &Arc<Context>) -> Result<()> {
        match self {
            Work::Launches(launches) => launch::queue(context, launches),
            Work::Recorded(recorded) => recorded.start(),
        }
    }

    /// The calls of the driver that queueing it takes, roughly.
    fn calls(&self) -> u64 {
        match self {
            Work::Launches(launches) => launch::calls(launches),
            Work::Recorded(_) => 1,
        }
    }
}

/// The nanoseconds of each work, which is `recorded` beforehand where that is asked for and can be done.
pub(super) fn time(context: &Arc<Context>, works: &[&[Launch<'_, Cuda>]], recorded: bool) -> Result<Vec<f64>> {
    let entered = context.enter_to_work()?;
    let ready = works.iter().map(|&launches| {
        let graph = if recorded { Recorded::of(context, launches)? } else { None };
        Ok(graph.map_or(Work::Launches(launches), Work::Recorded))
    });
    let works = ready.collect::<Result<Vec<_>>>()?;
    let mut events = Vec::with_capacity(works.len());
    let queued = queue_between_events(context, &works, &mut events);
    drop(entered);
    let waited = context.synchronize();
    let times = queued.and(waited).and_then(|()| read(context, &events));
    context.put_events(events.into_iter().flatten());
    times
}

/// Queues every work between two events, in groups with a head start each.
fn queue_between_events(context: &Arc<Context>, works: &[Work<'_>], events: &mut Vec<[Event; 2]>) -> Result<()> {
    let head_start = context.head_start.get_or_init(|| HeadStart::load(context)).as_ref();
    let mut rest = works;
    while !rest.is_empty() {
        let mut calls = 0;
        let in_group = rest.iter().take_while(|work| {
            let first = calls == 0;
            calls += work.calls() + 2;
            first || calls <= CALLS_PER_HEAD_START
        });
        let (group, others) = rest.split_at(in_group.count());
        rest = others;
        // Taken before the head start: making an event costs more than queueing it.
        let first_event = events.len();
        for _ in group {
            events.push([context.take_event()?, context.take_event()?]);
        }
        if let Some(head_start) = head_start {
            let ns = calls.min(CALLS_PER_HEAD_START) * context.queueing_ns.load(Ordering::Relaxed) * 3 / 2;
            head_start.queue(context, ns.clamp(LEAST_HEAD_START_NS, MOST_HEAD_START_NS))?;
        }
        let begin = Instant::now();
        for (work, [before, after]) in group.iter().zip(&events[first_event..]) {
            record(context, *before)?;
            work.queue(context)?;
            record(context, *after)?;
        }
        // Only the first group meets an empty queue; behind it, a full one may have held the host up.
        if first_event == 0 {
            let per_call = begin.elapsed().as_nanos() as u64 / calls.max(1);
            // Rises at once and falls slowly, so that one quick group does not shorten the next head start.
            let falling = context.queueing_ns.load(Ordering::Relaxed) * 7 / 8;
            let per_call = per_call.max(falling).min(MOST_HEAD_START_NS / CALLS_PER_HEAD_START);
            context.queueing_ns.store(per_call, Ordering::Relaxed);
        }
    }
    Ok(())
}

fn record(context: &Context, event: Event) -> Result<()> {
    // SAFETY: event and stream are of this context, which `time` entered.
    context.check("cuEventRecord", unsafe { (context.driver.event_record)(event.0, context.stream) })
}

fn read(context: &Context, events: &[[Event; 2]]) -> Result<Vec<f64>> {
    let _entered = context.enter()?;
    let elapsed = |&[before, after]: &[Event; 2]| {
        let mut ms = 0.0f32;
        // SAFETY: both events are of this context, have timing, and have been recorded and waited for.
        let code = unsafe { (context.driver.event_elapsed_time)(&mut ms, before.0, after.0) };
        context.check("cuEventElapsedTime", code)?;
        Ok(f64::from(ms) * 1e6)
    };
    events.iter().map(elapsed).collect()
}
