//! Ops of a test's own that are transposes but for what they say themselves.

/// In an `impl Op`: these methods are `Transpose`'s.
macro_rules! as_transpose {
    ($($method:ident),* $(,)?) => { $( $crate::as_transpose::method!($method); )* };
}

macro_rules! method {
    (name) => { $crate::as_transpose::method!(name() -> &'static str); };
    (about) => { $crate::as_transpose::method!(about() -> &'static str); };
    (dims) => { $crate::as_transpose::method!(dims() -> &'static [&'static str]); };
    (ladder) => { $crate::as_transpose::method!(ladder() -> &'static [gpu_ladder::rung::Rung]); };
    (elements) => { $crate::as_transpose::method!(elements() -> &'static [gpu_ladder::Element]); };
    (shapes) => { $crate::as_transpose::method!(shapes(problem: &gpu_ladder::Problem) -> gpu_ladder::Result<(Vec<gpu_ladder::op::Shape>, gpu_ladder::op::Shape)>); };
    (extent) => { $crate::as_transpose::method!(extent(problem: &gpu_ladder::Problem) -> [u64; 3]); };
    (work) => { $crate::as_transpose::method!(work(problem: &gpu_ladder::Problem) -> gpu_ladder::op::Work); };
    (params) => {
        $crate::as_transpose::method!(params(problem: &gpu_ladder::Problem, place: gpu_ladder::op::Place) -> Vec<u8>);
    };
    (expected) => {
        $crate::as_transpose::method!(
            expected(problem: &gpu_ladder::Problem, inputs: &[std::sync::Arc<Vec<u8>>]) -> gpu_ladder::Result<gpu_ladder::verify::Expected>
        );
    };
    ($method:ident($($argument:ident: $type:ty),*) -> $result:ty) => {
        fn $method(&self, $($argument: $type),*) -> $result {
            gpu_ladder::op::Transpose.$method($($argument),*)
        }
    };
}

pub(crate) use {as_transpose, method};
