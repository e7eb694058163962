// Idea. One kernel for elements of every width: memory sees 16-byte chunks, and inside a thread a square block of elements, as wide as one chunk, changes rows and columns.
// Changed from the rung below. The block has as many rows as a chunk has elements: 16x16 bytes, 8x8 halves, 4x4 words, 2x2 pairs of words, 1x1. Elements narrower than a word are put together from parts of words.
// A thread owns. BLOCKS blocks of the input tile, and as many chunks of the output tile as those hold.
// Memory traffic. Each element once, in runs of a tile row, 256 bytes with 16 chunks; shared memory is read and written without conflicts where a tile has 8 or more chunks in both directions.
// Needs. Both bindings a multiple of 16 bytes long; offsets, leading dimensions and batch strides of both sides multiples of 16 bytes. TILE_ROWS and TILE_COLS multiples of VECTOR.
const ELEMENT_BYTES: u32 = 2u;                     // 1, 2, 4, 8 or 16
const TILE_ROWS: u32 = 128u;
const TILE_COLS: u32 = 128u;
const BLOCKS: u32 = 1u;                            // of a thread
const STREAMS: u32 = 1u;                           // parts of the matrix that are walked at the same time
const PHASES: u32 = 1u;                            // slices of the tile that pass through shared memory one after the other: some columns of every block, whole words of its rows
const CHUNK_BYTES: u32 = 16u;
const WORD_BYTES: u32 = 4u;
const VECTOR: u32 = CHUNK_BYTES / ELEMENT_BYTES;             // elements of a chunk
const PER_WORD: u32 = max(WORD_BYTES / ELEMENT_BYTES, 1u);   // elements of a word,
const WORDS: u32 = max(ELEMENT_BYTES / WORD_BYTES, 1u);      // or words of an element
const CHUNK_WORDS: u32 = CHUNK_BYTES / WORD_BYTES;
const BITS: u32 = min(ELEMENT_BYTES, WORD_BYTES) * 8u;       // of an element in its word
const CHUNKS: u32 = TILE_ROWS / VECTOR;            // of a row of the output tile
const LANES: u32 = TILE_COLS / VECTOR;             // chunks of a row of the input tile
const THREADS: u32 = CHUNKS * LANES / BLOCKS;
const PART: u32 = VECTOR / PHASES;                 // columns of a block in a slice
const PART_WORDS: u32 = CHUNK_WORDS / PHASES;      // words of a row of a block that hold them
const SLICE: u32 = TILE_COLS / PHASES;             // rows of the output tile in shared memory at a time
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

@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;           // rows x input_ld elements per matrix, as chunks
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;    // cols x output_ld elements per matrix, as chunks
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> tile: array<vec4<u32>, SLICE * CHUNKS>;   // SLICE x CHUNKS, rows of the output tile

// Where chunk `chunk` of row `n` of a slice lies. Eight lanes that store to rows PART apart, or load along a row, meet all the banks.
fn chunk_at(n: u32, chunk: u32) -> u32 {
    return n * CHUNKS + (chunk ^ (n / PART % BANKS));
}
// The row of the output tile that is row `n` of a slice.
fn row_of(phase: u32, n: u32) -> u32 {
    return select(n / PART * VECTOR + phase * PART + n % PART, n, PHASES == 1u);
}
// A row of a block, the words of the next slice first: an index that depends on the phase would put the block into memory.
fn turned(row: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(row[PART_WORDS % 4u], row[(PART_WORDS + 1u) % 4u], row[(PART_WORDS + 2u) % 4u], row[(PART_WORDS + 3u) % 4u]);
}
// Bytes `part` and part + 2 of two words, each with its neighbour from the other word.
fn byte_pairs(low: u32, high: u32, part: u32) -> u32 {
    return select(((low >> 8u) & 0x00ff00ffu) | (high & 0xff00ff00u), (low & 0x00ff00ffu) | ((high & 0x00ff00ffu) << 8u), part == 0u);
}
// Column `col` of the block whose first row is `first`, as a chunk.
fn column(block: ptr<function, array<vec4<u32>, BLOCKS * VECTOR>>, first: u32, col: u32) -> vec4<u32> {
    var chunk = vec4<u32>(0u);
    for (var w = 0u; w < CHUNK_WORDS; w++) {
        if (ELEMENT_BYTES >= WORD_BYTES) {
            chunk[w] = block[first + w / WORDS][col * WORDS + w % WORDS];
        } else if (ELEMENT_BYTES == 1u) {
            let row = first + w * PER_WORD;
            let low = byte_pairs(block[row][col / PER_WORD], block[row + 1u][col / PER_WORD], col % 2u);
            let high = byte_pairs(block[row + 2u][col / PER_WORD], block[row + 3u][col / PER_WORD], col % 2u);
            chunk[w] = select((low >> 16u) | (high & 0xffff0000u), (low & 0xffffu) | (high << 16u), col % PER_WORD < 2u);
        } else {
            let low = block[first + w * PER_WORD][col / PER_WORD];
            let high = block[first + w * PER_WORD + 1u][col / PER_WORD];
            chunk[w] = select((low >> 16u) | (high & 0xffff0000u), (low & 0xffffu) | (high << 16u), col % PER_WORD == 0u);
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

@compute @workgroup_size(THREADS)
fn transpose_any_width(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let block_row = group.x + p.block_x;
    let part = (p.cols - 1u) / TILE_COLS / STREAMS + 1u;   // columns of tiles of a stream
    // Consecutive blocks of a stream continue the same output rows. Long power-of-two input rows crowd a single stream's reads into few memory channels; two streams, half a row apart, spread them.
    let tile_row = block_row / STREAMS * TILE_ROWS;
    let tile_col = (group.y + p.block_y + block_row % STREAMS * part) * TILE_COLS;
    if (STREAMS > 1u && tile_col >= p.cols) {
        return;  // the last stream has fewer columns of tiles
    }
    let matrix = group.z + p.block_z;
    let rows = min(p.rows - tile_row, TILE_ROWS);       // of this tile
    let cols = min(p.cols - tile_col, TILE_COLS);
    let whole = rows == TILE_ROWS && cols == TILE_COLS;
    let source = (p.input_offset.x + matrix * p.input_stride.x + tile_row * p.input_ld + tile_col) / VECTOR;
    let destination = (p.output_offset.x + matrix * p.output_stride.x + tile_col * p.output_ld + tile_row) / VECTOR;
    let input_step = p.input_ld / VECTOR;               // chunks from one row to the next
    let output_step = p.output_ld / VECTOR;

    let x = thread.x % LANES;
    let y = thread.x / LANES;
    var block: array<vec4<u32>, BLOCKS * VECTOR>;  // BLOCKS x VECTOR rows; what lies outside the matrix repeats its edge and is never written out
    for (var b = 0u; b < BLOCKS; b++) {
        for (var i = 0u; i < VECTOR; i++) {
            let row = min((y + b * (THREADS / LANES)) * VECTOR + i, rows - 1u);
            block[b * VECTOR + i] = input[source + row * input_step + min(x, (cols - 1u) / VECTOR)];
        }
    }
    let chunk = thread.x % CHUNKS;
    let ours = first_elements(rows - min(chunk * VECTOR, rows));   // a chunk that the edge cuts keeps what lies behind the end of the row
    for (var phase = 0u; phase < PHASES; phase++) {
        for (var b = 0u; b < BLOCKS; b++) {
            for (var i = 0u; i < PART; i++) {
                tile[chunk_at(x * PART + i, y + b * (THREADS / LANES))] = column(&block, b * VECTOR, i);
            }
        }
        for (var i = 0u; i < BLOCKS * VECTOR; i++) {
            block[i] = turned(block[i]);
        }

        workgroupBarrier();  // waits for the slice: an invocation reads what others wrote

        for (var n = thread.x / CHUNKS; n < SLICE; n += THREADS / CHUNKS) {
            let at = destination + row_of(phase, n) * output_step + chunk;
            if (whole || (row_of(phase, n) < cols && (chunk + 1u) * VECTOR <= rows)) {
                output[at] = tile[chunk_at(n, chunk)];
            } else if (row_of(phase, n) < cols && chunk * VECTOR < rows) {
                output[at] = (output[at] & ~ours) | (tile[chunk_at(n, chunk)] & ours);
            }
        }

        if (phase + 1u < PHASES) {
            workgroupBarrier();  // waits until the slice has been read: the next one overwrites it
        }
    }
}
