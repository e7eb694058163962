//! What must be there: `GPU_LADDER_REQUIRE=cuda,wgpu` turns skips into failures.

/// Whether a missing `name` (a backend, or `nvrtc`) is a failure instead of a skip.
pub fn is_required(name: &str) -> bool {
    std::env::var("GPU_LADDER_REQUIRE").is_ok_and(|list| list.split(',').any(|word| word.trim() == name))
}
