// Idea. Blocks share out the nonzeros, CHUNK each, whatever the rows: products go to shared memory, and as many threads add up a row as the chunk's rows leave for each.
// Changed from the rung below. No block has more to do than another. A row that a chunk's edge cuts leaves the rest of its sum behind, which a second pass adds to the row.
// A thread owns. CHUNK / THREADS products, then a part of a row of the chunk.
// Memory traffic. columns and values once, coalesced; x from wherever the columns point; one rest per chunk.
// Needs. f32, compressed sparse rows with 32-bit indices; 4 bytes of workspace per chunk.
//
// Each pass counts its bindings from 0; names that share a number are used by different entry points.

const THREADS: u32 = 256u;
const CHUNK: u32 = 2048u;      // nonzeros of a block
const MOST_LANES: u32 = 256u;  // threads that add up one row

struct Params {
    block_x: u32, block_y: u32, block_z: u32,  // index of this launch's first block
    rows: u32,
    cols: u32,
    nonzeros: u32,
}

@group(0) @binding(0) var<storage, read> starts: array<u32>;          // rows + 1: where each row starts in the two arrays below (both passes)
@group(0) @binding(1) var<storage, read> columns: array<u32>;         // nonzeros (first pass)
@group(0) @binding(2) var<storage, read> values: array<f32>;          // nonzeros (first pass)
@group(0) @binding(3) var<storage, read> x: array<f32>;               // cols (first pass)
@group(0) @binding(4) var<storage, read_write> rests: array<f32>;     // chunks (first pass)
@group(0) @binding(5) var<storage, read_write> output: array<f32>;    // rows (first pass)
@group(0) @binding(6) var<uniform> p: Params;                         // (first pass)
@group(0) @binding(1) var<storage, read> left: array<f32>;            // chunks: the rests (second pass)
@group(0) @binding(2) var<storage, read_write> result: array<f32>;    // rows: the output (second pass)
@group(0) @binding(3) var<uniform> p2: Params;                        // (second pass)
var<workgroup> products: array<f32, CHUNK>;   // CHUNK
var<workgroup> sums: array<f32, THREADS>;     // rows of a turn x lanes
var<workgroup> bounds: array<u32, 2>;         // the rows that start in the chunk: first, and one behind the last

// The first row that starts at or behind `place`.
fn first_row_from(rows: u32, place: u32) -> u32 {
    var low = 0u;
    var high = rows;
    while (low < high) {
        let middle = (low + high) / 2u;
        if (starts[middle] < place) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

@compute @workgroup_size(THREADS)
fn spmv_adaptive_chunks(@builtin(workgroup_id) block_id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let block = block_id.x + p.block_x;
    let thread = local.x;
    let from_place = block * CHUNK;
    let to = min(from_place + CHUNK, p.nonzeros);
    let last = to == p.nonzeros;
    let behind_all = block > 0u && from_place >= p.nonzeros;  // a block too many: no row is its own
    if (thread < 2u) {
        if (behind_all || (thread == 1u && last)) {
            bounds[thread] = p.rows;
        } else {
            bounds[thread] = first_row_from(p.rows, select(to, from_place, thread == 0u));
        }
    }
    for (var i = thread; i < CHUNK; i += THREADS) {
        var product = 0.0;
        if (from_place + i < to) {
            product = values[from_place + i] * x[columns[from_place + i]];
        }
        products[i] = product;
    }
    workgroupBarrier();  // waits for all products and both bounds

    let first = workgroupUniformLoad(&bounds[0]);
    let behind = workgroupUniformLoad(&bounds[1]);
    let cut = first > 0u && starts[first] > from_place;  // whether the row before reaches into this chunk
    let begin = select(first, first - 1u, cut);
    let rows = behind - begin;
    var lanes = 1u;
    while (lanes < MOST_LANES && lanes * 2u * rows <= THREADS) {
        lanes *= 2u;
    }
    let lane = thread % lanes;
    let turn = THREADS / lanes;
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

@compute @workgroup_size(THREADS)
fn spmv_adaptive_rests(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let chunk = (block.x + p2.block_x) * THREADS + thread.x;
    if (chunk * CHUNK >= p2.nonzeros) {
        return;
    }
    let row = first_row_from(p2.rows, chunk * CHUNK);
    if (row == 0u || starts[row] <= chunk * CHUNK) {
        return;  // no row is cut here
    }
    // Only the first chunk that continues a row adds up all of its rests.
    if (starts[row - 1u] / CHUNK + 1u < chunk) {
        return;
    }
    var sum = result[row - 1u];
    for (var next = chunk; next * CHUNK < starts[row]; next++) {
        sum += left[next];
    }
    result[row - 1u] = sum;
}
