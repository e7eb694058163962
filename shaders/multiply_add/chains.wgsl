// Idea. A thread runs CHAINS chains of multiply-adds that do not depend on each other.
// Changed from the rung below. Twice the chains of the variant below: while one waits for its result, the others issue.
// A thread owns. CHAINS elements, one block width apart; each goes through ROUNDS multiply-adds, x = x * factor + summand.
// Memory traffic. Reads and writes every element once; between the two lie 2 * ROUNDS operations per element, so arithmetic alone decides.
// Needs. f32, any length.

alias T = f32;
const CHAINS: u32 = 8u;
const ROUNDS: u32 = 2048u;
const THREADS: u32 = 256u;
const BLOCK: u32 = THREADS * CHAINS;  // elements of one block
const UNROLL: u32 = 32u;              // rounds without a branch

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    factor: f32, summand: f32,                 // of every multiply-add
    reserved: u32,                             // 0
    len: vec2<u32>,                            // elements: low word, high word (0 here)
}

@group(0) @binding(0) var<storage, read> input: array<T>;          // len
@group(0) @binding(1) var<storage, read_write> output: array<T>;   // len
@group(0) @binding(2) var<uniform> p: Params;

@compute @workgroup_size(THREADS)
fn multiply_add_chains(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let first = (block.x + p.block_x) * BLOCK + thread.x;
    let factor = T(p.factor);
    let summand = T(p.summand);
    var x: array<T, CHAINS>;  // CHAINS
    for (var i = 0u; i < CHAINS; i++) {
        if (first + i * THREADS < p.len.x) {
            x[i] = input[first + i * THREADS];
        }
    }
    for (var round = 0u; round < ROUNDS; round += UNROLL) {
        for (var step = 0u; step < UNROLL; step++) {
            for (var i = 0u; i < CHAINS; i++) {
                x[i] = fma(x[i], factor, summand);
            }
        }
    }
    for (var i = 0u; i < CHAINS; i++) {
        if (first + i * THREADS < p.len.x) {
            output[first + i * THREADS] = x[i];
        }
    }
}
