// Idea. A row that starts anywhere is cut where its memory is aligned: the tile follows the shift of each output row, so that all stores but those at the two ends of a row are whole 16-byte chunks of whole sectors.
// Changed from the rung below. Alignment may differ from row to row, on both sides. The input is staged as it lies, in aligned words; the elements are picked out of shared memory when a chunk of the output is put together.
// A thread owns. Several words of the staged input, then several chunks of the output.
// Memory traffic. The output once; of the input at most two more sectors per staged row, and LINE rows of the tile above, which the cache still holds. Shared memory is read and written without conflicts.
// Needs. Elements of 1, 2, 4 or 8 bytes; any shape, leading dimension, offset, batch stride. Both bindings a multiple of 16 bytes long; batch strides of the output no shorter than the matrix.
//
// A chunk at the end of a row can hold elements of two rows, and of padding. One invocation writes it: the one whose row has the first element in it. It reads the others from the input and keeps the padding.
const ELEMENT_BYTES: u32 = 4u;
const TILE_ROWS: u32 = 64u;
const RUN: u32 = 32u;                              // words of a staged row
const DEPTH: u32 = 9u;                             // staged rows that a warp loads before it stores them
const THREADS: u32 = 256u;
const WARP: u32 = 32u;                             // invocations that share a staged row; no subgroup operation is used
const WARPS: u32 = THREADS / WARP;
const CHUNK_BYTES: u32 = 16u;
const SECTOR_BYTES: u32 = 32u;
const WORD_BYTES: u32 = 4u;
const VECTOR: u32 = CHUNK_BYTES / ELEMENT_BYTES;             // elements of a chunk
const LINE: u32 = SECTOR_BYTES / ELEMENT_BYTES;              // elements of a sector: output rows are cut at multiples of it
const PER_WORD: u32 = max(WORD_BYTES / ELEMENT_BYTES, 1u);   // elements of a word,
const WORDS: u32 = max(ELEMENT_BYTES / WORD_BYTES, 1u);      // or words of an element
const CHUNK_WORDS: u32 = CHUNK_BYTES / WORD_BYTES;
const BITS: u32 = min(ELEMENT_BYTES, WORD_BYTES) * 8u;       // of an element in its word
const MASK: u32 = 0xffffffffu >> (32u - BITS);
const TILE_COLS: u32 = RUN / WORDS * PER_WORD - (PER_WORD - 1u);   // a row may start at the last element of a word
const STAGED: u32 = TILE_ROWS + LINE;                        // input rows of a tile
const LANES: u32 = 8u;                                       // neighbouring chunks of an output row in a warp,
const COLUMNS: u32 = WARP / LANES;                           // and output rows of a warp at a time
const GROUPS: u32 = (TILE_COLS - 1u) / (COLUMNS * PER_WORD) * PER_WORD + PER_WORD;   // of COLUMNS columns in a tile
const PER_LANE: u32 = RUN / WARP;                            // words of a staged row for each invocation of a warp
const OUTSIDE: u32 = 0xffffffffu;                            // no element of the matrix

struct Params {
    block_x: u32, block_y: u32, block_z: u32,              // index of this launch's first block
    rows: u32, cols: u32,                                  // of the input
    input_ld: u32, output_ld: u32,                         // elements from one row to the next
    batch: u32,
    input_offset: vec2<u32>, output_offset: vec2<u32>,     // elements: low word, high word (0 here)
    input_stride: vec2<u32>, output_stride: vec2<u32>,     // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> input: array<u32>;                 // rows x input_ld elements per matrix, as words
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;    // cols x output_ld elements per matrix, as chunks
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> stage: array<u32, (STAGED + VECTOR) * RUN>;   // STAGED x RUN, and room to read past the end

// What the word index in staged row q is XORed with: the rows of the LANES chunks of a warp, VECTOR apart, lie in different banks.
fn swizzle(q: u32) -> u32 {
    return q / VECTOR % LANES * COLUMNS;
}
// Where in the input the element lies that belongs at output element e; OUTSIDE for padding.
fn origin(e: u32) -> u32 {
    let all = e - p.output_offset.x;
    var matrix = 0u;
    if (p.batch > 1u) {
        matrix = all / p.output_stride.x;
    }
    let inside = all - matrix * p.output_stride.x;
    let col = inside / p.output_ld;
    let row = inside % p.output_ld;
    let valid = e >= p.output_offset.x && matrix < p.batch && col < p.cols && row < p.rows;
    return select(OUTSIDE, p.input_offset.x + matrix * p.input_stride.x + row * p.input_ld + col, valid);
}
// Writes the chunk whose first element is e0, at an end of the output row that starts at `row_start`.
fn store_end(e0: u32, row_start: u32) {
    var chunk = vec4<u32>(0u);
    var owned = false;
    for (var m = 0u; m < VECTOR; m++) {
        let from_element = origin(e0 + m);
        if (from_element == OUTSIDE) {
            continue;
        }
        if (!owned) {
            if (e0 + m < row_start) {
                return;  // the row above writes this chunk
            }
            owned = true;
            chunk = output[e0 / VECTOR];   // padding keeps its value; nobody else touches this chunk
        }
        if (PER_WORD > 1u) {
            let element = (input[from_element / PER_WORD] >> (from_element % PER_WORD * BITS)) & MASK;
            let shift = m % PER_WORD * BITS;
            chunk[m / PER_WORD] = (chunk[m / PER_WORD] & ~(MASK << shift)) | (element << shift);
        } else {
            for (var w = 0u; w < WORDS; w++) {
                chunk[m * WORDS + w] = input[from_element * WORDS + w];
            }
        }
    }
    if (owned) {
        output[e0 / VECTOR] = chunk;
    }
}

@compute @workgroup_size(THREADS)
fn transpose_sheared(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let index = block.x + p.block_x;
    let tiles_down = (p.rows - 1u) / TILE_ROWS + 1u;
    let tile_row = index % tiles_down * TILE_ROWS;
    let tile_col = index / tiles_down * TILE_COLS;
    let matrix = block.z + p.block_z;
    let cols = min(p.cols - tile_col, TILE_COLS);                       // of this tile
    let source = p.input_offset.x + matrix * p.input_stride.x + tile_col;   // of row 0
    let destination = p.output_offset.x + matrix * p.output_stride.x + tile_col * p.output_ld;
    let warp = thread.x / WARP;
    let lane = thread.x % WARP;

    // Staged row q is input row tile_row + q - LINE; rows and words outside the matrix are replaced by the nearest inside and never written out.
    for (var q0 = warp; q0 < STAGED; q0 += WARPS * DEPTH) {
        var word: array<u32, DEPTH * PER_LANE>;  // DEPTH x PER_LANE; one loop over both, since loops inside loops are not unrolled
        for (var i = 0u; i < DEPTH * PER_LANE; i++) {
            let row = min(max(tile_row + q0 + i / PER_LANE * WARPS, LINE) - LINE, p.rows - 1u);
            let element = source + row * p.input_ld;
            let last = (element % PER_WORD + cols - 1u) / PER_WORD * WORDS + WORDS - 1u;
            word[i] = input[element / PER_WORD * WORDS + min(lane + i % PER_LANE * WARP, last)];
        }
        for (var i = 0u; i < DEPTH * PER_LANE; i++) {
            let q = q0 + i / PER_LANE * WARPS;
            if (q < STAGED) {
                stage[q * RUN + ((lane + i % PER_LANE * WARP) ^ swizzle(q))] = word[i];
            }
        }
    }

    workgroupBarrier();  // waits for the whole staged input

    let chunks = select(TILE_ROWS, STAGED, p.rows - tile_row <= TILE_ROWS) / VECTOR;   // the last tile of an output row runs to its end
    // The columns of a warp lie in different words: group g takes every PER_WORD-th column of COLUMNS * PER_WORD.
    for (var g = warp; g < GROUPS; g += WARPS) {
        let col = (g / PER_WORD * COLUMNS + lane / LANES) * PER_WORD + g % PER_WORD;
        if (col >= cols) {
            continue;
        }
        let start = destination + col * p.output_ld;             // of the output row
        let first = LINE - start % LINE + lane % LANES * VECTOR;  // staged row of the first element of this invocation's first chunk
        var place: array<u32, VECTOR>;  // VECTOR, of the chunk's elements in `stage`; later chunks lie whole turns of the swizzle further down
        var shift: array<u32, VECTOR>;  // VECTOR, of the elements in their words
        for (var m = 0u; m < VECTOR; m++) {
            let q = first + m;
            let n = (source + (tile_row + q - LINE) * p.input_ld) % PER_WORD + col;
            place[m] = q * RUN + ((n / PER_WORD * WORDS) ^ swizzle(q));
            shift[m] = n % PER_WORD * BITS;
        }
        var turn = 0u;
        for (var k = lane % LANES; k < chunks && first + turn < STAGED; k += LANES) {
            let row = tile_row + first + turn - LINE;      // of the chunk's first element; wraps below 0
            if (row < p.rows && p.rows - row >= VECTOR) {
                var chunk = vec4<u32>(0u);
                for (var n = 0u; n < CHUNK_WORDS * PER_WORD; n++) {
                    let m = n / WORDS;
                    chunk[n / PER_WORD] |= ((stage[place[m] + turn * RUN + n % WORDS] >> shift[m]) & MASK) << (n % PER_WORD * BITS);
                }
                output[(start + row) / VECTOR] = chunk;
            } else if (row < p.rows || 0u - row < VECTOR) {  // begins, or starts above the first row and reaches it
                store_end(start + row, start);
            }
            turn += LANES * VECTOR;
        }
    }
}
