//! Products by cuBLAS's ordinary call, with the algorithm that the library chooses.

use super::tables::{Cublas, Handle, Libraries};
use super::{constant, data_type, int};
use crate::backend::cuda::{Call, Queued};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::matmul::Params;
use crate::rung::{Library, Program};
use std::ffi::{c_int, c_void};

/// `cublasGemmEx`, or its form for batches. Bindings a, b, c. Constants: `TRANSPOSE_A`, `TRANSPOSE_B`,
/// `COMPUTE` (see [`compute`](super::compute)), and `OUTPUT_F32` 1 where 16-bit operands give f32.
pub(crate) const GEMM: Library = Library { name: "cuBLAS", prepare: |program| Ok(Box::new(Gemm::new(program)?)) };

/// What a product is made of, whatever its size.
pub(super) struct Kind {
    /// Whether b and a are stored transposed: the libraries' column-major matrices are our row-major
    /// ones transposed, so that C' = B' A' and b comes first.
    pub(super) transposed: [bool; 2],
    /// `cudaDataType` of a and b, of c, and of alpha and beta.
    pub(super) input: c_int,
    pub(super) output: c_int,
    pub(super) scale: c_int,
    pub(super) compute: c_int,
    /// Bytes of an element of a and b, and of c.
    pub(super) bytes: [u64; 2],
}

impl Kind {
    pub(super) fn of(program: &Program) -> Result<Self> {
        let input = match program.element {
            Element::F32 => data_type::R_32F,
            Element::F64 => data_type::R_64F,
            Element::F16 => data_type::R_16F,
            Element::Bf16 => data_type::R_16BF,
            other => return Err(Error::unsupported(program.label.as_str(), format!("no row for {other}"))),
        };
        let size = program.element.size();
        let wide = constant(program, "OUTPUT_F32") == 1;
        let scale = if program.element == Element::F64 { data_type::R_64F } else { data_type::R_32F };
        Ok(Kind {
            transposed: ["TRANSPOSE_B", "TRANSPOSE_A"].map(|name| constant(program, name) == 1),
            input,
            output: if wide { data_type::R_32F } else { input },
            scale,
            compute: constant(program, "COMPUTE") as c_int,
            bytes: [size, if wide { 4 } else { size }],
        })
    }

    /// alpha or beta as the libraries want it.
    pub(super) fn scalar(&self, value: f32) -> [u8; 8] {
        let mut bytes = [0; 8];
        match self.scale {
            data_type::R_64F => bytes = f64::from(value).to_ne_bytes(),
            _ => bytes[..4].copy_from_slice(&value.to_ne_bytes()),
        }
        bytes
    }
}

/// One product: our params in the libraries' order.
pub(super) struct Sizes {
    pub(super) rows: u32,
    pub(super) cols: u32,
    pub(super) k: u32,
    /// Of b, a and c.
    pub(super) ld: [u32; 3],
    pub(super) stride: [i64; 3],
    pub(super) offset: [u64; 3],
    pub(super) batch: u32,
    pub(super) alpha: f32,
    pub(super) beta: f32,
}

impl Sizes {
    pub(super) fn of(params: &[u8], label: &str) -> Result<Self> {
        let p: Params = bytemuck::try_pod_read_unaligned(params)
            .map_err(|_| Error::shape(label, format!("{} bytes are no params of a product", params.len())))?;
        let wide = |[low, high]: [u32; 2]| u64::from(low) | u64::from(high) << 32;
        Ok(Sizes {
            rows: p.n,
            cols: p.m,
            k: p.k,
            // The least valid one where an operand is empty.
            ld: [p.b_ld, p.a_ld, p.c_ld].map(|ld| ld.max(1)),
            stride: [p.b_stride, p.a_stride, p.c_stride].map(|stride| wide(stride) as i64),
            offset: [p.b_offset, p.a_offset, p.c_offset].map(wide),
            batch: p.batch,
            alpha: p.alpha,
            beta: p.beta,
        })
    }

    /// The addresses of the first elements of b, a and c.
    pub(super) fn addresses(&self, kind: &Kind, queued: &Queued<'_>) -> [u64; 3] {
        let [input, output] = kind.bytes;
        let at = |binding: usize, own: usize, size: u64| queued.bindings[binding].0 + self.offset[own] * size;
        [at(1, 0, input), at(0, 1, input), at(2, 2, output)]
    }
}

/// A handle of cuBLAS.
pub(super) struct Session {
    pub(super) cublas: &'static Cublas,
    pub(super) handle: Handle,
    version: c_int,
}

// SAFETY: a handle may be used from any thread; the backend gives a call to one thread at a time.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

impl Session {
    pub(super) fn open() -> Result<Self> {
        let cublas = &Libraries::load()?.cublas;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: the backend has made its context current; the out-pointer is a local.
        cublas.check("cublasCreate", unsafe { (cublas.create)(&mut handle) })?;
        let mut session = Session { cublas, handle, version: 0 };
        // SAFETY: the handle is new; the out-pointer is a field.
        cublas.check("cublasGetVersion", unsafe { (cublas.version)(handle, &mut session.version) })?;
        Ok(session)
    }

    /// The library and its version.
    pub(super) fn about(&self) -> String {
        let v = self.version;
        format!("cuBLAS {}.{}.{}", v / 10_000, v / 100 % 100, v % 100)
    }

    pub(super) fn set_stream(&self, queued: &Queued<'_>) -> Result<()> {
        // SAFETY: both handles are alive.
        self.cublas.check("cublasSetStream", unsafe { (self.cublas.set_stream)(self.handle, queued.stream.cast()) })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: made in `open`, given up here; the backend has made its context current.
        unsafe { (self.cublas.destroy)(self.handle) };
    }
}

struct Gemm {
    session: Session,
    kind: Kind,
    label: String,
}

impl Gemm {
    fn new(program: &Program) -> Result<Self> {
        Ok(Gemm { session: Session::open()?, kind: Kind::of(program)?, label: program.label.clone() })
    }
}

impl Call for Gemm {
    fn bindings(&self) -> usize {
        3
    }

    fn about(&self) -> String {
        self.session.about()
    }

    fn queue(&self, queued: &Queued<'_>) -> Result<()> {
        /// `CUBLAS_GEMM_DEFAULT`.
        const DEFAULT: c_int = -1;
        let (kind, sizes) = (&self.kind, Sizes::of(queued.params, &self.label)?);
        let [b, a, c] = sizes.addresses(kind, queued);
        let [alpha, beta] = [sizes.alpha, sizes.beta].map(|value| kind.scalar(value));
        let int = |value: u32| int(&self.label, value);
        let (rows, cols, k) = (int(sizes.rows)?, int(sizes.cols)?, int(sizes.k)?);
        let [b_ld, a_ld, c_ld] = [int(sizes.ld[0])?, int(sizes.ld[1])?, int(sizes.ld[2])?];
        let [b_op, a_op] = kind.transposed.map(c_int::from);
        let ([alpha, beta], [b, a]) =
            ([&alpha, &beta].map(|s| s.as_ptr().cast::<c_void>()), [b, a].map(|p| p as *const c_void));
        let c = c as *mut c_void;
        let (cublas, handle, types) = (self.session.cublas, self.session.handle, [kind.input, kind.output]);
        self.session.set_stream(queued)?;
        if sizes.batch == 1 {
            // SAFETY: the backend has checked the views, and params describe operands inside them;
            // alpha and beta are read before the call returns.
            let status = unsafe {
                (cublas.gemm)(
                    handle,
                    b_op,
                    a_op,
                    rows,
                    cols,
                    k,
                    alpha,
                    b,
                    types[0],
                    b_ld,
                    a,
                    types[0],
                    a_ld,
                    beta,
                    c,
                    types[1],
                    c_ld,
                    kind.compute,
                    DEFAULT,
                )
            };
            return cublas.check("cublasGemmEx", status);
        }
        let [b_stride, a_stride, c_stride] = sizes.stride;
        // SAFETY: as above.
        let status = unsafe {
            (cublas.gemm_batched)(
                handle,
                b_op,
                a_op,
                rows,
                cols,
                k,
                alpha,
                b,
                types[0],
                b_ld,
                b_stride,
                a,
                types[0],
                a_ld,
                a_stride,
                beta,
                c,
                types[1],
                c_ld,
                c_stride,
                int(sizes.batch)?,
                kind.compute,
                DEFAULT,
            )
        };
        cublas.check("cublasGemmStridedBatchedEx", status)
    }
}
