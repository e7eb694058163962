// Idea. Tiles across k are read in rows of 256 bytes or more where an operand lies across k: one that does not, or whose rows start anywhere, is copied once.
// Changed from the rung below. A pass of its own over one operand; TURN 1 stores it transposed.
// A thread owns. Of the tile its block takes next: two chunks of 8 halves, and with TURN 8 rows of two columns on the way out.
// Memory traffic. Reads and writes the operand once, in 128 bytes of a row either way.
// Needs. A workspace of [batch][rows][columns rounded up to 16 bytes], rows and columns as they are stored there.

const OPERAND: u32 = 0u;      // 0: a, 1: b
const TRANSPOSED: u32 = 0u;   // 1: the operand is stored transposed
const TURN: u32 = 1u;         // 1: the copy is stored the other way round
const BLOCKS: u32 = 1056u;    // blocks of the launch
const TILE: u32 = 64u;        // rows and columns
const THREADS: u32 = 256u;
const CHUNK: u32 = 8u;        // halves in 16 bytes
const ACROSS: u32 = 8u;       // chunks across a tile: TILE / CHUNK
const WORDS: u32 = 4u;        // words in 16 bytes
const LOW: u32 = 0xffffu;     // the first half of a word
const HALF: u32 = 16u;        // bits

// 8 halves of the operand: vec4 where its rows start at multiples of 16 bytes (VECTOR 1), else array<u32, 4>
alias Chunk = vec4<u32>;
const VECTOR: u32 = 1u;

struct Params {
    block_x: u32, block_y: u32, block_z: u32,                          // index of this launch's first block
    m: u32, n: u32, k: u32,                                            // c is m x n, op(a) is m x k, op(b) is k x n
    a_ld: u32, b_ld: u32, c_ld: u32,                                   // elements from one row to the next
    batch: u32,
    alpha: f32, beta: f32,
    a_offset: vec2<u32>, b_offset: vec2<u32>, c_offset: vec2<u32>,     // elements: low word, high word (0 here)
    a_stride: vec2<u32>, b_stride: vec2<u32>, c_stride: vec2<u32>,     // elements between matrices of a batch
}

@group(0) @binding(0) var<storage, read> input: array<Chunk>;            // batch x rows x ld
@group(0) @binding(1) var<storage, read_write> copy: array<vec4<u32>>;   // batch x copy_rows x copy_ld
@group(0) @binding(2) var<uniform> p: Params;
var<workgroup> tile: array<vec4<u32>, TILE * ACROSS>;   // TILE rows x ACROSS chunks, those of each 8 rows in an order of their own

fn word(index: u32, last: u32) -> u32 {
    let i = min(index, last / 2u);
    return input[i / WORDS][i % WORDS];
}

// CHUNK neighbours from element `index` on. What lies beyond the operand's `last` one reaches only what is not stored.
fn chunk(index: u32, last: u32) -> vec4<u32> {
    if (VECTOR == 1u) {
        let whole = input[index / CHUNK];
        return vec4<u32>(whole[0], whole[1], whole[2], whole[3]);
    }
    let first = index / 2u;
    let low = vec4<u32>(word(first, last), word(first + 1u, last), word(first + 2u, last), word(first + 3u, last));
    let high = vec4<u32>(low.yzw, word(first + WORDS, last));
    let between = low >> vec4<u32>(HALF) | high << vec4<u32>(HALF);  // an odd index starts in the middle of a word
    return select(low, between, index % 2u == 1u);
}

// The first halves of 8 words.
fn first_halves(even: vec4<u32>, odd: vec4<u32>) -> vec4<u32> {
    return (even & vec4<u32>(LOW)) | odd << vec4<u32>(HALF);
}

// The second halves.
fn second_halves(even: vec4<u32>, odd: vec4<u32>) -> vec4<u32> {
    return even >> vec4<u32>(HALF) | (odd & vec4<u32>(~LOW));
}

@compute @workgroup_size(32, 8)
fn matmul_copy_operand(@builtin(workgroup_id) block: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let stored_rows = select(select(p.m, p.k, TRANSPOSED == 1u), select(p.k, p.n, TRANSPOSED == 1u), OPERAND == 1u);
    let stored_columns = select(select(p.k, p.m, TRANSPOSED == 1u), select(p.n, p.k, TRANSPOSED == 1u), OPERAND == 1u);
    let ld = select(p.a_ld, p.b_ld, OPERAND == 1u);
    let stride = select(p.a_stride.x, p.b_stride.x, OPERAND == 1u);
    let offset = select(p.a_offset.x, p.b_offset.x, OPERAND == 1u);
    let copy_rows = select(stored_rows, stored_columns, TURN == 1u);
    let copy_columns = select(stored_columns, stored_rows, TURN == 1u);
    let copy_ld = (copy_columns + CHUNK - 1u) / CHUNK;  // in chunks
    let tiles_x = (stored_columns + TILE - 1u) / TILE;
    let tiles_y = (stored_rows + TILE - 1u) / TILE;
    let line = thread / ACROSS;
    let across = thread % ACROSS;

    for (var index = block.x + p.block_x; index < tiles_x * tiles_y * p.batch; index += BLOCKS) {
        let column = index % tiles_x * TILE;
        let row = index / tiles_x % tiles_y * TILE;
        let batch = index / (tiles_x * tiles_y);
        let from_first = offset + batch * stride;
        let last = from_first + (stored_rows - 1u) * ld + stored_columns - 1u;
        let to_first = batch * copy_rows * copy_ld;
        for (var part = 0u; part < 2u; part++) {
            let own = line + part * (THREADS / ACROSS);
            let own_row = row + own;
            let own_column = column + across * CHUNK;
            var halves = vec4<u32>();
            if (own_row < stored_rows && own_column < stored_columns) {
                halves = chunk(from_first + own_row * ld + own_column, last);
                if (TURN == 0u) {
                    copy[to_first + own_row * copy_ld + own_column / CHUNK] = halves;
                }
            }
            if (TURN == 1u) {
                tile[own * ACROSS + (across ^ (own / CHUNK))] = halves;
            }
        }
        if (TURN == 1u) {
            workgroupBarrier();  // waits for the tile
            // Two columns, the halves of a word, of 8 rows.
            let first = across * CHUNK * ACROSS + (line / WORDS ^ across);
            let part = line % WORDS;
            let even = vec4<u32>(tile[first][part], tile[first + 2u * ACROSS][part], tile[first + 4u * ACROSS][part], tile[first + 6u * ACROSS][part]);
            let odd = vec4<u32>(tile[first + ACROSS][part], tile[first + 3u * ACROSS][part], tile[first + 5u * ACROSS][part], tile[first + 7u * ACROSS][part]);
            let to_row = column + 2u * line;
            let to_chunk = row / CHUNK + across;
            if (to_chunk < copy_ld) {
                if (to_row < copy_rows) {
                    copy[to_first + to_row * copy_ld + to_chunk] = first_halves(even, odd);
                }
                if (to_row + 1u < copy_rows) {
                    copy[to_first + (to_row + 1u) * copy_ld + to_chunk] = second_halves(even, odd);
                }
            }
            workgroupBarrier();  // waits until all have read: the next tile overwrites it
        }
    }
}
