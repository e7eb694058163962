// Idea. A matrix with a few columns (or rows) is a list of small records: they are taken apart (or put together) in registers, like interleaved samples or pixels.
// Changed from the rung below. No square tile, which would be mostly empty: a block covers all NARROW columns (rows), a compile-time constant, of LONG consecutive records.
// A thread owns. NARROW chunks: VECTOR whole records on one side, a chunk of every long row on the other.
// Memory traffic. Each element once; the narrow side is one contiguous run, the wide side has runs of 16 bytes per thread. Shared memory turns chunks of a thread into consecutive chunks.
// Needs. NARROW_INPUT: cols == input_ld == NARROW, otherwise rows == output_ld == NARROW. Offsets, batch strides, and the leading dimension of the wide side are multiples of 16 bytes, both bindings too.
const ELEMENT_BYTES: u32 = 4u;                     // 1, 2, 4, 8 or 16
const NARROW: u32 = 3u;
const NARROW_INPUT: u32 = 1u;                      // 1: the input has NARROW columns, 0: it has NARROW rows
const THREADS: u32 = 128u;
const CHUNK_BYTES: u32 = 16u;
const WORD_BYTES: u32 = 4u;
const VECTOR: u32 = CHUNK_BYTES / ELEMENT_BYTES;             // elements of a chunk
const PER_WORD: u32 = max(WORD_BYTES / ELEMENT_BYTES, 1u);   // elements of a word,
const WORDS: u32 = max(ELEMENT_BYTES / WORD_BYTES, 1u);      // or words of an element
const CHUNK_WORDS: u32 = CHUNK_BYTES / WORD_BYTES;
const BITS: u32 = min(ELEMENT_BYTES, WORD_BYTES) * 8u;       // of an element in its word
const MASK: u32 = 0xffffffffu >> (32u - BITS);
const LONG: u32 = THREADS * VECTOR;                // records of a block
const BANKS: u32 = 8u;                             // chunks side by side in the 32 banks of shared memory
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
var<workgroup> stage: array<vec4<u32>, THREADS * NARROW>;   // LONG x NARROW elements, record after record

// Where chunk n of the records lies: invocations that access every second, fourth or eighth chunk still meet all the banks.
fn place(n: u32) -> u32 {
    return n ^ (n / BANKS % BANKS);
}
// Chunk k of the result: of NARROW chunks of records, column k; of a chunk of each long row, the k-th chunk of the records.
fn regrouped(from_chunks: ptr<function, array<vec4<u32>, NARROW>>, k: u32) -> vec4<u32> {
    var chunk = vec4<u32>(0u);
    for (var w = 0u; w < CHUNK_WORDS; w++) {
        for (var i = 0u; i < PER_WORD; i++) {
            let m = w * PER_WORD / WORDS + i;    // element of the result
            let record = (k * VECTOR + m) / NARROW;
            let field = (k * VECTOR + m) % NARROW;
            let n = select(field * VECTOR + record, m * NARROW + k, NARROW_INPUT == 1u);   // its place in `from_chunks`
            let word = from_chunks[n / VECTOR][n % VECTOR / PER_WORD * WORDS + w % WORDS];
            chunk[w] |= ((word >> (n % PER_WORD * BITS)) & MASK) << (i * BITS);
        }
    }
    return chunk;
}
// Stores a chunk of which only the first `count` elements are ours; the others keep their value.
fn store(at: u32, chunk: vec4<u32>, count: u32) {
    if (count >= VECTOR) {
        output[at] = chunk;
    } else if (count > 0u) {
        let in_word = clamp(vec4<u32>(count * ELEMENT_BYTES * 8u), LANE * 32u, LANE * 32u + 32u) - LANE * 32u;
        let ours = select(vec4<u32>(0xffffffffu) >> (vec4<u32>(32u) - in_word), vec4<u32>(0u), in_word == vec4<u32>(0u));
        output[at] = (output[at] & ~ours) | (chunk & ours);
    }
}

@compute @workgroup_size(THREADS)
fn transpose_skinny(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_id) thread: vec3<u32>) {
    let t = thread.x;
    let matrix = block.z + p.block_z;
    let first = (block.x + p.block_x) * LONG;   // record
    let records = min(select(p.cols, p.rows, NARROW_INPUT == 1u) - first, LONG);   // of this block
    let source = (p.input_offset.x + matrix * p.input_stride.x + first * select(1u, NARROW, NARROW_INPUT == 1u)) / VECTOR;
    let destination = (p.output_offset.x + matrix * p.output_stride.x + first * select(NARROW, 1u, NARROW_INPUT == 1u)) / VECTOR;
    let wide_step = select(p.input_ld, p.output_ld, NARROW_INPUT == 1u) / VECTOR;   // chunks from one long row to the next
    let records_left = records - min(t * VECTOR, records);                          // from this invocation's first one on

    var chunk: array<vec4<u32>, NARROW>;  // NARROW; outside the matrix a chunk stays 0 and is never written out
    for (var k = 0u; k < NARROW; k++) {
        if (NARROW_INPUT == 1u) {
            if ((t + k * THREADS) * VECTOR < records * NARROW) {
                chunk[k] = input[source + t + k * THREADS];
            }
        } else if (records_left > 0u) {
            chunk[k] = input[source + k * wide_step + t];
        }
    }
    for (var k = 0u; k < NARROW; k++) {
        if (NARROW_INPUT == 1u) {
            stage[place(t + k * THREADS)] = chunk[k];
        } else {
            stage[place(t * NARROW + k)] = regrouped(&chunk, k);
        }
    }

    workgroupBarrier();  // waits for all records of the block: an invocation reads what others wrote

    for (var k = 0u; k < NARROW; k++) {
        chunk[k] = stage[place(select(t + k * THREADS, t * NARROW + k, NARROW_INPUT == 1u))];
    }
    for (var k = 0u; k < NARROW; k++) {
        if (NARROW_INPUT == 1u) {
            store(destination + k * wide_step + t, regrouped(&chunk, k), records_left);
        } else {
            store(destination + t + k * THREADS, chunk[k], records * NARROW - min((t + k * THREADS) * VECTOR, records * NARROW));
        }
    }
}
