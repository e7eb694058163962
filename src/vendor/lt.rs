//! Products by cublasLt: its best algorithm for the problem, found by timing what it recommends.

use super::gemm::{Kind, Session, Sizes};
use super::int;
use super::tables::{CublasLt, Handle, Heuristic, Libraries};
use crate::backend::cuda::{Call, Queued};
use crate::error::{Error, Result};
use crate::rung::{Library, Program};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// `cublasLtMatmul` with the fastest of its [`RECOMMENDED`] algorithms. Bindings a, b, c and a
/// workspace; constants as [`GEMM`](super::GEMM)'s.
pub(crate) const GEMM_LT: Library = Library { name: "cublasLt", prepare: |program| Ok(Box::new(Lt::new(program)?)) };

/// Bytes of the workspace that its rows declare: what the library's manual recommends for Hopper.
pub(crate) const WORKSPACE_BYTES: u32 = 32 << 20;

/// Algorithms that are asked for and timed.
const RECOMMENDED: usize = 32;

struct Lt {
    lt: &'static CublasLt,
    handle: Handle,
    /// Only for its version.
    session: Session,
    kind: Kind,
    label: String,
    plans: Mutex<Plans>,
}

// SAFETY: as for `Session`.
unsafe impl Send for Lt {}
// SAFETY: as above.
unsafe impl Sync for Lt {}

/// What was found for each problem, by its params, and what was used last.
#[derive(Default)]
struct Plans {
    found: HashMap<Vec<u8>, Arc<Plan>>,
    last: Option<Arc<Plan>>,
}

/// Descriptions of a product and of b, a and c, with the algorithm to take.
struct Plan {
    lt: &'static CublasLt,
    product: Handle,
    layouts: [Handle; 3],
    best: Heuristic,
    /// Its rank among the recommended, and how many were timed.
    rank: usize,
    timed: usize,
}

// SAFETY: descriptions are only read once a plan is made.
unsafe impl Send for Plan {}
// SAFETY: as above.
unsafe impl Sync for Plan {}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: made in `Lt::describe`, given up here; null ones were never made.
        unsafe {
            for layout in self.layouts.into_iter().filter(|handle| !handle.is_null()) {
                (self.lt.layout_destroy)(layout);
            }
            if !self.product.is_null() {
                (self.lt.product_destroy)(self.product);
            }
        }
    }
}

impl Drop for Lt {
    fn drop(&mut self) {
        // SAFETY: made in `new`, given up here.
        unsafe { (self.lt.destroy)(self.handle) };
    }
}

impl Lt {
    fn new(program: &Program) -> Result<Self> {
        let lt = &Libraries::load()?.lt;
        let (session, kind) = (Session::open()?, Kind::of(program)?);
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the out-pointer is a local; the backend has made its context current.
        lt.check("cublasLtCreate", unsafe { (lt.create)(&mut handle) })?;
        Ok(Lt { lt, handle, session, kind, label: program.label.clone(), plans: Mutex::default() })
    }

    fn describe(&self, sizes: &Sizes) -> Result<Plan> {
        /// `CUBLASLT_MATMUL_DESC_TRANSA`, `_TRANSB`.
        const OPERATIONS: [c_int; 2] = [3, 4];
        /// `CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT`, `_STRIDED_BATCH_OFFSET`.
        const BATCH: c_int = 5;
        const STRIDE: c_int = 6;
        let (lt, kind) = (self.lt, &self.kind);
        let null = std::ptr::null_mut();
        let mut plan = Plan { lt, product: null, layouts: [null; 3], best: Heuristic::EMPTY, rank: 0, timed: 0 };
        // SAFETY: in all calls below the out-pointers are locals' fields, and an attribute is read
        // from a local of the stated size before the call returns.
        lt.check("cublasLtMatmulDescCreate", unsafe {
            (lt.product_create)(&mut plan.product, kind.compute, kind.scale)
        })?;
        for (attribute, transposed) in OPERATIONS.into_iter().zip(kind.transposed) {
            let operation = c_int::from(transposed);
            let (value, size) = (std::ptr::from_ref(&operation).cast(), size_of::<c_int>());
            // SAFETY: see above.
            lt.check("cublasLtMatmulDescSetAttribute", unsafe {
                (lt.product_set)(plan.product, attribute, value, size)
            })?;
        }
        let (m, n, k) = (u64::from(sizes.rows), u64::from(sizes.cols), u64::from(sizes.k));
        let turned = |transposed: bool, rows: u64, cols: u64| if transposed { (cols, rows) } else { (rows, cols) };
        let shapes = [turned(kind.transposed[0], m, k), turned(kind.transposed[1], k, n), (m, n)];
        let types = [kind.input, kind.input, kind.output];
        for (index, (rows, cols)) in shapes.into_iter().enumerate() {
            let layout = &mut plan.layouts[index];
            // SAFETY: see above.
            lt.check("cublasLtMatrixLayoutCreate", unsafe {
                (lt.layout_create)(layout, types[index], rows, cols, sizes.ld[index].into())
            })?;
            let (batch, stride) = (int(&self.label, sizes.batch)?, sizes.stride[index]);
            // SAFETY: see above.
            let codes = unsafe {
                [
                    (lt.layout_set)(*layout, BATCH, std::ptr::from_ref(&batch).cast(), size_of::<c_int>()),
                    (lt.layout_set)(*layout, STRIDE, std::ptr::from_ref(&stride).cast(), size_of::<i64>()),
                ]
            };
            codes.into_iter().try_for_each(|code| lt.check("cublasLtMatrixLayoutSetAttribute", code))?;
        }
        Ok(plan)
    }

    fn recommended(&self, plan: &Plan, addresses: &[u64; 3], workspace: u64) -> Result<Vec<Heuristic>> {
        /// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`.
        const WORKSPACE: c_int = 1;
        /// `CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES` and those of B, C, D.
        const ALIGNMENTS: [c_int; 4] = [5, 6, 7, 8];
        /// The most that any algorithm asks for.
        const MOST_ALIGNED: u32 = 256;
        let lt = self.lt;
        let mut preference: Handle = std::ptr::null_mut();
        // SAFETY: as in `describe`; the preference is given up below.
        lt.check("cublasLtMatmulPreferenceCreate", unsafe { (lt.preference_create)(&mut preference) })?;
        let mut found = [Heuristic::EMPTY; RECOMMENDED];
        let mut count: c_int = 0;
        let [b, a, c] = addresses.map(|address| MOST_ALIGNED.min(1 << address.trailing_zeros().min(31)));
        // SAFETY: see above; at most `RECOMMENDED` results are written.
        let (codes, status) = unsafe {
            let set = |attribute, value: *const c_void, size| (lt.preference_set)(preference, attribute, value, size);
            let mut codes = vec![set(WORKSPACE, std::ptr::from_ref(&workspace).cast(), size_of::<u64>())];
            for (attribute, bytes) in ALIGNMENTS.into_iter().zip([b, a, c, c]) {
                codes.push(set(attribute, std::ptr::from_ref(&bytes).cast(), size_of::<u32>()));
            }
            let [first, second, output] = plan.layouts;
            let status = (lt.heuristics)(
                self.handle,
                plan.product,
                first,
                second,
                output,
                output,
                preference,
                RECOMMENDED as c_int,
                found.as_mut_ptr(),
                &mut count,
            );
            (lt.preference_destroy)(preference);
            (codes, status)
        };
        codes.into_iter().try_for_each(|code| lt.check("cublasLtMatmulPreferenceSetAttribute", code))?;
        lt.check("cublasLtMatmulAlgoGetHeuristic", status)?;
        Ok(found[..(count.max(0) as usize).min(RECOMMENDED)].iter().copied().filter(Heuristic::is_usable).collect())
    }

    fn run(&self, plan: &Plan, chosen: &Heuristic, sizes: &Sizes, queued: &Queued<'_>) -> Result<()> {
        let [b, a, c] = sizes.addresses(&self.kind, queued);
        let [alpha, beta] = [sizes.alpha, sizes.beta].map(|value| self.kind.scalar(value));
        let (workspace, bytes) = queued.bindings[3];
        let [first, second, output] = plan.layouts;
        // SAFETY: the backend has checked the views, params describe operands inside them, and the
        // workspace holds what the algorithm was recommended for; scalars are read before the call returns.
        let status = unsafe {
            (self.lt.matmul)(
                self.handle,
                plan.product,
                alpha.as_ptr().cast(),
                b as *const c_void,
                first,
                a as *const c_void,
                second,
                beta.as_ptr().cast(),
                c as *const c_void,
                output,
                c as *mut c_void,
                output,
                &chosen.algorithm,
                workspace as *mut c_void,
                bytes as usize,
                queued.stream.cast(),
            )
        };
        self.lt.check("cublasLtMatmul", status)
    }

    /// Describes the problem and takes the fastest recommended algorithm; the first one where timing
    /// would change an output that is read.
    fn plan(&self, sizes: &Sizes, queued: &Queued<'_>) -> Result<Plan> {
        let mut plan = self.describe(sizes)?;
        let recommended = self.recommended(&plan, &sizes.addresses(&self.kind, queued), queued.bindings[3].1)?;
        let nothing = || Error::unsupported(self.label.as_str(), "the library recommends no algorithm");
        plan.best = *recommended.first().ok_or_else(nothing)?;
        if sizes.beta != 0.0 {
            return Ok(plan);
        }
        let mut least = Duration::MAX;
        for (rank, candidate) in recommended.iter().enumerate() {
            match self.seconds(&plan, candidate, sizes, queued) {
                Ok(time) => {
                    plan.timed += 1;
                    if time < least {
                        (least, plan.best, plan.rank) = (time, *candidate, rank);
                    }
                }
                Err(Error::Unsupported { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(plan)
    }

    /// The time of one run, from as many as fill some milliseconds.
    fn seconds(&self, plan: &Plan, candidate: &Heuristic, sizes: &Sizes, queued: &Queued<'_>) -> Result<Duration> {
        const ENOUGH: Duration = Duration::from_millis(4);
        let timed = |runs: u32| -> Result<Duration> {
            let start = Instant::now();
            for _ in 0..runs {
                self.run(plan, candidate, sizes, queued)?;
            }
            (queued.synchronize)()?;
            Ok(start.elapsed() / runs)
        };
        timed(1)?; // loads the kernel
        let once = timed(1)?;
        timed((ENOUGH.as_nanos() / once.as_nanos().max(1)).clamp(2, 200) as u32)
    }
}

impl Call for Lt {
    fn bindings(&self) -> usize {
        4
    }

    fn about(&self) -> String {
        let plans = self.plans.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let chosen = match plans.last.as_deref() {
            Some(Plan { timed: 0, .. }) | None => String::new(),
            Some(plan) => format!(", algorithm {} of {} timed", plan.rank + 1, plan.timed),
        };
        format!("{} Lt{chosen}", self.session.about())
    }

    fn queue(&self, queued: &Queued<'_>) -> Result<()> {
        let sizes = Sizes::of(queued.params, &self.label)?;
        let mut plans = self.plans.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let plan = match plans.found.get(queued.params) {
            Some(plan) => Arc::clone(plan),
            None => {
                let plan = Arc::new(self.plan(&sizes, queued)?);
                plans.found.insert(queued.params.to_vec(), Arc::clone(&plan));
                plan
            }
        };
        plans.last = Some(Arc::clone(&plan));
        drop(plans);
        self.run(&plan, &plan.best, &sizes, queued)
    }
}
