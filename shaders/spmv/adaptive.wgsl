// Idea. Blocks share out the nonzeros, CHUNK each, whatever the rows: products go to shared memory, and as many threads add up a row as the chunk's rows leave for each.
// Changed from the rung below. No block has more to do than another. A first pass notes the row at which every chunk begins; a row that a chunk's edge cuts leaves the rest of its sum behind, which a last pass adds to the row.
// A thread owns. CHUNK / THREADS products, then a part of a row of the chunk.
// Memory traffic. starts twice, columns and values once, coalesced; x from wherever the columns point; a row and a rest per chunk.
// Needs. f32, compressed sparse rows with 32-bit indices; 8 bytes of workspace per chunk.
//
// Each pass counts its bindings from 0; names that share a number are used by different entry points.

const THREADS: u32 = 256u;
const CHUNK: u32 = 1024u;              // nonzeros of a block
const EACH: u32 = CHUNK / THREADS;      // products of a thread
const NOTERS: u32 = 256u;               // threads of a block of the first pass
const ROWS: u32 = 8192u;                // rows of a block of the first pass

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    rows: u32,
    cols: u32,
    nonzeros: u32,
}

@group(0) @binding(0) var<storage, read> starts: array<u32>;          // rows + 1: where each row starts in the two arrays below (all passes)
@group(0) @binding(1) var<storage, read_write> noted: array<u32>;     // chunks: the first row of each (first pass)
@group(0) @binding(2) var<uniform> p1: Params;                        // (first pass)
@group(0) @binding(1) var<storage, read> columns: array<u32>;         // nonzeros (second pass)
@group(0) @binding(2) var<storage, read> values: array<f32>;          // nonzeros (second pass)
@group(0) @binding(3) var<storage, read> x: array<f32>;               // cols (second pass)
@group(0) @binding(4) var<storage, read> firsts: array<u32>;          // chunks: the first row of each (second pass)
@group(0) @binding(5) var<storage, read_write> rests: array<f32>;     // chunks (second pass)
@group(0) @binding(6) var<storage, read_write> output: array<f32>;    // rows (second pass)
@group(0) @binding(7) var<uniform> p: Params;                         // (second pass)
@group(0) @binding(1) var<storage, read> chunks: array<u32>;          // chunks: the first row of each (third pass)
@group(0) @binding(2) var<storage, read> left: array<f32>;            // chunks: the rests (third pass)
@group(0) @binding(3) var<storage, read_write> result: array<f32>;    // rows: the output (third pass)
@group(0) @binding(4) var<uniform> p3: Params;                        // (third pass)
var<workgroup> products: array<f32, CHUNK>;   // CHUNK
var<workgroup> sums: array<f32, THREADS>;     // rows of a turn x lanes

// Notes for every chunk the first row that starts in it or behind it.
@compute @workgroup_size(NOTERS)
fn spmv_adaptive_firsts(@builtin(workgroup_id) block_id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let block = block_id.x + p1.block_x;
    let thread = local.x;
    if (block == 0u && thread == 0u) {
        noted[0] = 0u;
    }
    for (var i = 0u; i < ROWS / NOTERS; i++) {
        let row = block * ROWS + i * NOTERS + thread;
        if (row < p1.rows) {
            let end = min(starts[row + 1u], p1.nonzeros - 1u);
            for (var chunk = starts[row] / CHUNK + 1u; chunk * CHUNK <= end; chunk++) {
                noted[chunk] = row + 1u;
            }
        }
    }
}

@compute @workgroup_size(THREADS)
fn spmv_adaptive_chunks(@builtin(workgroup_id) block_id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let block = block_id.x + p.block_x;
    let thread = local.x;
    let from_place = block * CHUNK;
    let to = min(from_place + CHUNK, p.nonzeros);
    if (block > 0u && from_place >= p.nonzeros) {
        return;  // a block too many
    }
    let first = firsts[block];
    var behind = p.rows;
    if (to < p.nonzeros) {
        behind = firsts[block + 1u];
    }
    for (var i = 0u; i < EACH; i++) {
        let place = from_place + i * THREADS + thread;
        var product = 0.0;
        if (place < to) {
            product = values[place] * x[columns[place]];
        }
        products[i * THREADS + thread] = product;
    }
    let cut = first > 0u && starts[first] > from_place;  // whether the row before reaches into this chunk
    let begin = select(first, first - 1u, cut);
    let rows = behind - begin;
    var lanes = 1u;
    while (lanes < THREADS && lanes * 2u * rows <= THREADS) {
        lanes *= 2u;
    }
    let lane = thread % lanes;
    let turn = THREADS / lanes;
    workgroupBarrier();  // waits for all products

    for (var done = 0u; done < rows; done += turn) {
        let row = begin + done + thread / lanes;
        var sum = 0.0;
        if (row < behind) {
            let end = min(starts[row + 1u], to);
            for (var i = max(starts[row], from_place) + lane; i < end; i += lanes) {
                sum += products[i - from_place];
            }
        }
        sums[thread] = sum;
        for (var half = lanes / 2u; half > 0u; half /= 2u) {
            workgroupBarrier();  // waits for the sums of the level before
            if (lane < half) {
                sums[thread] += sums[thread + half];
            }
        }
        if (lane == 0u && row < behind) {
            if (row < first) {
                rests[block] = sums[thread];
            } else {
                output[row] = sums[thread];
            }
        }
    }
}

// A thread for every chunk: where a row is cut for the first time, it adds up all of its rests.
@compute @workgroup_size(THREADS)
fn spmv_adaptive_rests(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let chunk = (block.x + p3.block_x) * THREADS + thread.x;
    if (chunk * CHUNK >= p3.nonzeros) {
        return;
    }
    let first = chunks[chunk];
    if (first == 0u) {
        return;
    }
    let start = starts[first - 1u];
    let end = starts[first];
    if (end <= chunk * CHUNK || start / CHUNK + 1u < chunk) {
        return;  // no row is cut here, or it was cut before
    }
    var sum = result[first - 1u];
    for (var next = chunk; next * CHUNK < end; next++) {
        sum += left[next];
    }
    result[first - 1u] = sum;
}
