//! Transposes by cuBLAS: C = 1 A' + 0 C, for f32 and f64.

use super::gemm::Session;
use super::int;
use crate::backend::cuda::{Call, Queued};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::op::transpose::Params;
use crate::rung::{Library, Program};
use std::ffi::c_void;

/// `cublasSgeam` or `cublasDgeam`, once for each matrix of a batch. Bindings input and output.
pub(crate) const GEAM: Library = Library { name: "cuBLAS geam", prepare: |program| Ok(Box::new(Geam::new(program)?)) };

struct Geam {
    session: Session,
    element: Element,
    label: String,
}

impl Geam {
    fn new(program: &Program) -> Result<Self> {
        if !matches!(program.element, Element::F32 | Element::F64) {
            return Err(Error::unsupported(program.label.as_str(), "the library transposes f32 and f64 only"));
        }
        Ok(Geam { session: Session::open()?, element: program.element, label: program.label.clone() })
    }
}

impl Call for Geam {
    fn bindings(&self) -> usize {
        2
    }

    fn about(&self) -> String {
        self.session.about()
    }

    fn queue(&self, queued: &Queued<'_>) -> Result<()> {
        /// `CUBLAS_OP_N`, `CUBLAS_OP_T`.
        const KEEP: i32 = 0;
        const TURN: i32 = 1;
        let p: Params = bytemuck::try_pod_read_unaligned(queued.params)
            .map_err(|_| Error::shape(self.label.as_str(), "its params are not those of a transpose"))?;
        let int = |value: u32| int(&self.label, value);
        let (rows, cols, input_ld, output_ld) =
            (int(p.rows)?, int(p.cols)?, int(p.input_ld.max(1))?, int(p.output_ld.max(1))?);
        let wide = |[low, high]: [u32; 2]| u64::from(low) | u64::from(high) << 32;
        let size = self.element.size();
        let (cublas, handle) = (self.session.cublas, self.session.handle);
        self.session.set_stream(queued)?;
        for matrix in 0..u64::from(p.batch) {
            let at = |binding: usize, offset, stride| {
                queued.bindings[binding].0 + (wide(offset) + matrix * wide(stride)) * size
            };
            let from = at(0, p.input_offset, p.input_stride) as *const c_void;
            let to = at(1, p.output_offset, p.output_stride) as *mut c_void;
            // A row-major matrix is the transpose of a column-major one: the output has `rows` rows there.
            // SAFETY: the backend has checked the views, and params describe matrices inside them.
            let (call, status) = unsafe {
                if self.element == Element::F64 {
                    let status = (cublas.dgeam)(
                        handle, TURN, KEEP, rows, cols, &1.0, from, input_ld, &0.0, to, output_ld, to, output_ld,
                    );
                    ("cublasDgeam", status)
                } else {
                    let status = (cublas.sgeam)(
                        handle, TURN, KEEP, rows, cols, &1.0, from, input_ld, &0.0, to, output_ld, to, output_ld,
                    );
                    ("cublasSgeam", status)
                }
            };
            cublas.check(call, status)?;
        }
        Ok(())
    }
}
