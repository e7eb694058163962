// Idea. Many small matrices, one behind the other, are one long array on both sides: a block moves a run of whole matrices, and only shared memory knows their shape.
// Changed from the rung below. No tile: the block's matrices are read in consecutive chunks, and consecutive chunks of the result are put together from single elements.
// A thread owns. Several chunks of the input, then several chunks of the output.
// Memory traffic. Each element once, in one contiguous run per block on both sides.
// Needs. Matrices without gaps: input_ld == cols, output_ld == rows, both batch strides rows * cols. One matrix fits STAGE_BYTES. Both offsets and both bindings are multiples of 16 bytes, and so is a matrix where STAGE_BYTES hold fewer than VECTOR of them. Grid: one block for as many whole matrices as STAGE_BYTES hold.
const ELEMENT_BYTES: u32 = 4u;                     // 1, 2, 4, 8 or 16
const STAGE_BYTES: u32 = 15360u;                   // of a block's matrices, at most
const THREADS: u32 = 256u;
const CHUNK_BYTES: u32 = 16u;
const WORD_BYTES: u32 = 4u;
const VECTOR: u32 = CHUNK_BYTES / ELEMENT_BYTES;             // elements of a chunk
const PER_WORD: u32 = max(WORD_BYTES / ELEMENT_BYTES, 1u);   // elements of a word,
const WORDS: u32 = max(ELEMENT_BYTES / WORD_BYTES, 1u);      // or words of an element
const CHUNK_WORDS: u32 = CHUNK_BYTES / WORD_BYTES;
const BITS: u32 = min(ELEMENT_BYTES, WORD_BYTES) * 8u;       // of an element in its word
const MASK: u32 = 0xffffffffu >> (32u - BITS);
const LINE: u32 = 32u;                             // words side by side in the banks of shared memory
const STAGED: u32 = STAGE_BYTES / WORD_BYTES;      // words

struct Params {
    block_x: u32, block_y: u32, block_z: u32,              // index of this launch's first block
    rows: u32, cols: u32,                                  // of the input
    input_ld: u32, output_ld: u32,                         // elements from one row to the next
    batch: u32,
    input_offset: vec2<u32>, output_offset: vec2<u32>,     // elements: low word, high word (0 here)
    input_stride: vec2<u32>, output_stride: vec2<u32>,     // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;           // rows x cols elements per matrix, as chunks
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;    // cols x rows elements per matrix, as chunks
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> stage: array<u32, STAGED + STAGED / LINE + 1u>;   // STAGED, and one word of padding behind every LINE

// Where word n lies: the padding keeps apart elements of one column, whose distance is often a power of two.
fn place(n: u32) -> u32 {
    return n + n / LINE;
}

@compute @workgroup_size(THREADS)
fn transpose_batched_small(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let size = p.rows * p.cols;
    let fit = STAGE_BYTES / (size * ELEMENT_BYTES);
    let matrices = select(fit, fit - fit % VECTOR, fit >= VECTOR);     // of a block: the next one starts at a whole chunk
    let first = (block.x + p.block_x) * matrices;
    let len = min(p.batch - first, matrices) * size;                   // elements of this block
    let source = (p.input_offset.x + first * size) / VECTOR;
    let destination = (p.output_offset.x + first * size) / VECTOR;

    for (var n = thread.x; n * VECTOR < len; n += THREADS) {
        let chunk = input[source + n];
        for (var w = 0u; w < CHUNK_WORDS; w++) {
            stage[place(n * CHUNK_WORDS + w)] = chunk[w];
        }
    }

    workgroupBarrier();  // waits for all matrices of the block

    for (var n = thread.x; n * VECTOR < len; n += THREADS) {
        let start = n * VECTOR;   // of the chunk in the run
        var matrix = start / size;
        var col = start % size / p.rows;
        var row = start % p.rows;
        var chunk = vec4<u32>(0u);
        if (len - start < VECTOR) {
            chunk = output[destination + n];   // what lies behind the last matrix keeps its value
        }
        for (var m = 0u; m < VECTOR; m++) {
            if (start + m < len) {
                let element = matrix * size + row * p.cols + col;
                if (ELEMENT_BYTES < WORD_BYTES) {
                    let word = stage[place(element / PER_WORD)] >> (element % PER_WORD * BITS);
                    let shift = m % PER_WORD * BITS;
                    chunk[m / PER_WORD] = (chunk[m / PER_WORD] & ~(MASK << shift)) | ((word & MASK) << shift);
                } else {
                    for (var w = 0u; w < WORDS; w++) {
                        chunk[m * WORDS + w] = stage[place(element * WORDS + w)];
                    }
                }
                row++;
                if (row == p.rows) {
                    row = 0u;
                    col++;
                    if (col == p.cols) {
                        col = 0u;
                        matrix++;
                    }
                }
            }
        }
        output[destination + n] = chunk;
    }
}
