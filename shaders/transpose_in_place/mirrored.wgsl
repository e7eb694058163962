// Idea. A square matrix needs no second buffer: two tiles that mirror each other at the diagonal change places, each turned on the way.
// Changed from the rung below. The first rung. A block holds two tiles in shared memory, and numbers the tiles of the lower triangle only; a tile on the diagonal is its own mirror.
// A thread owns. One block of elements in both tiles, a chunk wide and as many rows high, and as many chunks of both turned tiles.
// Memory traffic. Each element once in and once out, in runs of a tile row (256 bytes with 16 chunks); shared memory is read and written without conflicts.
// Needs. rows == cols, one leading dimension (output_ld); the matrix is the only binding, a multiple of 16 bytes long; offset, leading dimension and batch stride multiples of 16 bytes. Grid: n (n + 1) / 2 blocks for n tile rows.
const ELEMENT_BYTES: u32 = 4u;                     // 1, 2, 4, 8 or 16
const TILE: u32 = 32u;
const CHUNK_BYTES: u32 = 16u;
const WORD_BYTES: u32 = 4u;
const VECTOR: u32 = CHUNK_BYTES / ELEMENT_BYTES;             // elements of a chunk
const PER_WORD: u32 = max(WORD_BYTES / ELEMENT_BYTES, 1u);   // elements of a word,
const WORDS: u32 = max(ELEMENT_BYTES / WORD_BYTES, 1u);      // or words of an element
const CHUNK_WORDS: u32 = CHUNK_BYTES / WORD_BYTES;
const BITS: u32 = min(ELEMENT_BYTES, WORD_BYTES) * 8u;       // of an element in its word
const MASK: u32 = 0xffffffffu >> (32u - BITS);
const CHUNKS: u32 = TILE / VECTOR;                 // of a tile row
const THREADS: u32 = CHUNKS * CHUNKS;              // one for each block of a tile
const BANKS: u32 = min(CHUNKS, 8u);                // chunks that lie side by side: 8 fill the 32 banks of shared memory
const LANE: vec4<u32> = vec4<u32>(0u, 1u, 2u, 3u); // place of each word of a chunk

struct Params {
    block_x: u32, block_y: u32, block_z: u32,              // index of this launch's first block
    rows: u32, cols: u32,                                  // of the input
    input_ld: u32, output_ld: u32,                         // elements from one row to the next
    batch: u32,
    input_offset: vec2<u32>, output_offset: vec2<u32>,     // elements: low word, high word (0 here)
    input_stride: vec2<u32>, output_stride: vec2<u32>,     // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read_write> matrices: array<vec4<u32>>;   // rows x output_ld elements per matrix, as chunks
@group(0) @binding(1) var<uniform> p: Params;
var<workgroup> tiles: array<vec4<u32>, 2u * TILE * CHUNKS>;   // 2 x TILE x CHUNKS, the turned tiles: of the lower triangle, of the upper

// Where chunk `chunk` of tile row `row` lies. Eight lanes that store to rows VECTOR apart, or load along a row, meet all the banks.
fn chunk_at(row: u32, chunk: u32) -> u32 {
    return row * CHUNKS + (chunk ^ (row / VECTOR % BANKS));
}
// Column `col` of a block, as a chunk.
fn column(block: ptr<function, array<vec4<u32>, VECTOR>>, col: u32) -> vec4<u32> {
    var chunk = vec4<u32>(0u);
    for (var w = 0u; w < CHUNK_WORDS; w++) {
        if (ELEMENT_BYTES >= WORD_BYTES) {
            chunk[w] = block[w / WORDS][col * WORDS + w % WORDS];
        } else {
            for (var i = 0u; i < PER_WORD; i++) {
                chunk[w] |= ((block[w * PER_WORD + i][col / PER_WORD] >> (col % PER_WORD * BITS)) & MASK) << (i * BITS);
            }
        }
    }
    return chunk;
}
// Ones in the first `count` elements of a chunk, zeros behind them.
fn first_elements(count: u32) -> vec4<u32> {
    let bits = min(count * ELEMENT_BYTES * 8u, CHUNK_WORDS * 32u) - min(count * ELEMENT_BYTES * 8u, CHUNK_WORDS * 32u) % BITS;
    let in_word = clamp(vec4<u32>(bits), LANE * 32u, LANE * 32u + 32u) - LANE * 32u;
    return select(vec4<u32>(0xffffffffu) >> (vec4<u32>(32u) - in_word), vec4<u32>(0u), in_word == vec4<u32>(0u));
}

// Loads the tile whose first chunk is `source`, rows x cols elements of the matrix from there on, and stores it turned at `tile`.
fn take(tile: u32, source: u32, rows: u32, cols: u32, thread: u32) {
    let step = p.output_ld / VECTOR;   // chunks from one row to the next
    let x = thread % CHUNKS;
    let y = thread / CHUNKS;
    var block: array<vec4<u32>, VECTOR>;  // VECTOR rows; outside the matrix a row stays 0 and is never written out
    if (rows >= TILE && cols >= TILE) {
        for (var i = 0u; i < VECTOR; i++) {
            block[i] = matrices[source + (y * VECTOR + i) * step + x];
        }
    } else {
        for (var i = 0u; i < VECTOR; i++) {
            if (y * VECTOR + i < rows && x * VECTOR < cols) {
                block[i] = matrices[source + (y * VECTOR + i) * step + x];
            }
        }
    }
    for (var col = 0u; col < VECTOR; col++) {
        tiles[tile + chunk_at(x * VECTOR + col, y)] = column(&block, col);
    }
}
// Stores the turned tile at `tile` from chunk `destination` on, rows x cols elements of the matrix from there on.
fn put(destination: u32, tile: u32, rows: u32, cols: u32, thread: u32) {
    let step = p.output_ld / VECTOR;
    let x = thread % CHUNKS;
    if (rows >= TILE && cols >= TILE) {
        for (var row = thread / CHUNKS; row < TILE; row += CHUNKS) {
            matrices[destination + row * step + x] = tiles[tile + chunk_at(row, x)];
        }
    } else if (x * VECTOR < cols) {
        let ours = first_elements(cols - x * VECTOR);   // a chunk that the edge cuts keeps what lies behind the end of the row
        for (var row = thread / CHUNKS; row < min(rows, TILE); row += CHUNKS) {
            let at = destination + row * step + x;
            matrices[at] = (matrices[at] & ~ours) | (tiles[tile + chunk_at(row, x)] & ours);
        }
    }
}

@compute @workgroup_size(THREADS)
fn transpose_in_place_mirrored(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    // Row i of the lower triangle holds tiles i (i + 1) / 2 ... of the numbering; the square root may be a little off.
    let index = group.x + p.block_x;
    var i = u32(sqrt(2.0 * f32(index)));
    while (i * (i + 1u) / 2u > index) {
        i--;
    }
    while ((i + 1u) * (i + 2u) / 2u <= index) {
        i++;
    }
    let j = index - i * (i + 1u) / 2u;
    let y = i * TILE;    // of the lower tile
    let x = j * TILE;
    let down = p.rows - y;     // from there to the end of the matrix
    let across = p.rows - x;
    let origin = p.output_offset.x + (group.z + p.block_z) * p.output_stride.x;
    let lower = (origin + y * p.output_ld + x) / VECTOR;
    let upper = (origin + x * p.output_ld + y) / VECTOR;

    take(0u, lower, down, across, thread.x);
    if (i != j) {
        take(TILE * CHUNKS, upper, across, down, thread.x);
    }

    workgroupBarrier();  // waits for both tiles: an invocation reads what others turned
    storageBarrier();    // waits for all reads of the matrix: from here on it is overwritten

    put(upper, 0u, across, down, thread.x);
    if (i != j) {
        put(lower, TILE * CHUNKS, down, across, thread.x);
    }
}
