// Idea. Blocks that run together should write memory that lies together, so the tiles are numbered along the rows of the output.
// Changed from the rung below. Tiles are numbered in one dimension. With DOWN 1 consecutive blocks go down the input, which continues the same output rows; with DOWN 0 they go along the input's rows, as below.
// A thread owns. One 4x4 block of the input tile and four chunks of the output tile; on a side without 16-byte access, 16 single elements.
// Memory traffic. Each element once, in runs of 256 bytes on both sides; shared memory is read and written without conflicts.
// Needs. 4-byte elements; both bindings a multiple of 16 bytes long. VECTOR_INPUT (VECTOR_OUTPUT): offset, leading dimension and batch stride of that side are multiples of four elements. Tiles that the edge cuts read single elements.
//
// The input is always bound as chunks: a single element is a component of one, which is a 4-byte load. The output cannot be: in WGSL a store to a
// component may rewrite its whole vector, and would race with the neighbours. So where VECTOR_OUTPUT is 0 the chunk is an array, whose elements are
// memory locations of their own. Both types are built from four words and indexed alike, so that one text serves both; the host replaces the alias
// together with the constant. A chunk that the edge cuts belongs to one invocation, which merges it and keeps what lies behind the end of the row.
alias OutputChunk = vec4<u32>;   // array<u32, 4> where VECTOR_OUTPUT is 0

const VECTOR_INPUT: u32 = 1u;
const VECTOR_OUTPUT: u32 = 1u;
const DOWN: u32 = 1u;
const TILE: u32 = 64u;
const VECTOR: u32 = 4u;                  // elements of a 16-byte chunk
const CHUNKS: u32 = TILE / VECTOR;       // of a tile row
const THREADS: u32 = CHUNKS * CHUNKS;    // one for each 4x4 block of the tile
const GROUPS: u32 = THREADS / TILE;      // rows of invocations, where an invocation moves single elements
const BLOCKS: u32 = CHUNKS / GROUPS;     // 4x1 blocks of an invocation there
const BANKS: u32 = 8u;                   // chunks side by side in the 32 banks of shared memory
const LANE: vec4<u32> = vec4<u32>(0u, 1u, 2u, 3u);  // place of each word of a chunk

struct Params {
    block_x: u32, block_y: u32, block_z: u32,              // index of this launch's first block
    rows: u32, cols: u32,                                  // of the input
    input_ld: u32, output_ld: u32,                         // elements from one row to the next
    batch: u32,
    input_offset: vec2<u32>, output_offset: vec2<u32>,     // elements: low word, high word (0 here)
    input_stride: vec2<u32>, output_stride: vec2<u32>,     // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;            // rows x input_ld elements per matrix, as chunks
@group(0) @binding(1) var<storage, read_write> output: array<OutputChunk>;   // cols x output_ld elements per matrix, as chunks
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> tile: array<vec4<u32>, TILE * CHUNKS>;   // TILE x CHUNKS, rows of the output tile

// Where chunk `chunk` of tile row `row` lies. Eight lanes that store to rows four apart, or one apart, or load along a row, meet all the banks.
fn chunk_at(row: u32, chunk: u32) -> u32 {
    return row * CHUNKS + (chunk ^ (((row / VECTOR) ^ (row * 2u)) % BANKS));
}

@compute @workgroup_size(THREADS)
fn transpose_ordered(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = block.x + p.block_x;
    let tiles_down = (p.rows - 1u) / TILE + 1u;
    let tiles_across = (p.cols - 1u) / TILE + 1u;
    let tile_row = select(index / tiles_across, index % tiles_down, DOWN == 1u) * TILE;
    let tile_col = select(index % tiles_across, index / tiles_down, DOWN == 1u) * TILE;
    let matrix = block.z + p.block_z;
    let rows = min(p.rows - tile_row, TILE);  // of this tile
    let cols = min(p.cols - tile_col, TILE);
    let whole = rows == TILE && cols == TILE;
    let source = p.input_offset.x + matrix * p.input_stride.x + tile_row * p.input_ld + tile_col;
    let destination = p.output_offset.x + matrix * p.output_stride.x + tile_col * p.output_ld + tile_row;

    if (VECTOR_INPUT == 1u && whole) {
        let x = thread.x % CHUNKS;
        let y = thread.x / CHUNKS;
        let first = (source + y * VECTOR * p.input_ld) / VECTOR + x;
        let step = p.input_ld / VECTOR;
        let row_0 = input[first];
        let row_1 = input[first + step];
        let row_2 = input[first + 2u * step];
        let row_3 = input[first + (VECTOR - 1u) * step];
        tile[chunk_at(x * VECTOR, y)] = vec4<u32>(row_0.x, row_1.x, row_2.x, row_3.x);
        tile[chunk_at(x * VECTOR + 1u, y)] = vec4<u32>(row_0.y, row_1.y, row_2.y, row_3.y);
        tile[chunk_at(x * VECTOR + 2u, y)] = vec4<u32>(row_0.z, row_1.z, row_2.z, row_3.z);
        tile[chunk_at(x * VECTOR + VECTOR - 1u, y)] = vec4<u32>(row_0.w, row_1.w, row_2.w, row_3.w);
    } else {
        let x = thread.x % TILE;
        let y = thread.x / TILE;
        var column: array<vec4<u32>, BLOCKS>;  // BLOCKS; outside the matrix a word stays 0 and is never written out
        for (var b = 0u; b < BLOCKS; b++) {
            for (var i = 0u; i < VECTOR; i++) {
                let row = (y + b * GROUPS) * VECTOR + i;
                if (row < rows && x < cols) {
                    let element = source + row * p.input_ld + x;
                    column[b][i] = input[element / VECTOR][element % VECTOR];
                }
            }
        }
        for (var b = 0u; b < BLOCKS; b++) {
            tile[chunk_at(x, y + b * GROUPS)] = column[b];
        }
    }

    workgroupBarrier();  // waits for the whole tile: an invocation reads what others wrote

    if (VECTOR_OUTPUT == 1u) {
        let x = thread.x % CHUNKS;
        for (var row = thread.x / CHUNKS; row < TILE; row += CHUNKS) {
            let chunk = tile[chunk_at(row, x)];
            let place = (destination + row * p.output_ld) / VECTOR + x;
            if (whole || (row < cols && (x + 1u) * VECTOR <= rows)) {
                output[place] = OutputChunk(chunk.x, chunk.y, chunk.z, chunk.w);
            } else if (row < cols && x * VECTOR < rows) {
                let old = output[place];
                let merged = select(vec4<u32>(old[0], old[1], old[2], old[VECTOR - 1u]), chunk, x * VECTOR + LANE < vec4<u32>(rows));
                output[place] = OutputChunk(merged.x, merged.y, merged.z, merged.w);
            }
        }
    } else {
        let x = thread.x % TILE;
        for (var row = thread.x / TILE; row < TILE; row += GROUPS) {
            if (row < cols && x < rows) {
                let element = destination + row * p.output_ld + x;
                output[element / VECTOR][element % VECTOR] = tile[chunk_at(row, x / VECTOR)][x % VECTOR];
            }
        }
    }
}
