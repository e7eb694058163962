//! The ladder of products on matrix units in WGSL: cooperative matrices of f16 with sums in f32.

use super::ladder_f32::transposes;
use crate::backend::Cooperative;
use crate::element::Element;
use crate::rung::{
    Accepts, Alias, Arch, Grid, Matrices, Need, Operand, Pass, PassKernel, Rung, Source, Stored, Switch, Workspace,
    rung,
};
use std::borrow::Cow;

/// What NVIDIA and AMD adapters list, and what Apple's do.
const SIXTEEN: Cooperative = Cooperative::square(16, Element::F16, Element::F32);
const EIGHT: Cooperative = Cooperative::square(8, Element::F16, Element::F32);

const NO_CUDA: &str = "CUDA's copy is of the rungs that use it there";

/// What a rung that computes on its operands as they lie takes.
const TEACHING: Accepts = Accepts { leading_dimension: true, scaling: true, ..Accepts::PACKED };

pub(super) fn rungs() -> Vec<Rung> {
    vec![
        from_storage("16", 64, SIXTEEN),
        from_storage("8", 32, EIGHT),
        staged(
            rung!("matmul", "cooperative_staged", no cuda "tensor_core is CUDA's first rung on matrix units", block [128, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
                idea: "The operands of 128 x 128 results are fetched into workgroup memory once, for four subgroups.".into(),
                chinese: "128 x 128 个结果的操作数一次取入工作组内存，供四个子组使用。".into(),
                because: "Each element is read twice from workgroup memory where eight subgroups read it through the caches.".into(),
                chinese_because: "每个元素从工作组内存读两次，而不是由八个子组经缓存读取。".into(),
                accepts: TEACHING,
            }),
        ),
        staged(
            rung!("matmul", "cooperative_prefetched", no cuda "ldmatrix_pipelined is CUDA's", block [128, 1, 1], Grid::Tiles { x: 128, y: 128 }, {
                idea: "The next tiles are fetched into registers before the present ones are multiplied.".into(),
                chinese: "当前分块相乘之前，先把下一个分块取入寄存器。".into(),
                because: "Part of the latency of memory passes during the products.".into(),
                chinese_because: "内存的一部分延迟在乘法期间度过。".into(),
                accepts: TEACHING,
            }),
        ),
        raster(),
        words(),
        ahead(),
        turned(ahead()),
        copied(ahead()),
        tall(),
        turned(tall()),
        copied(tall()),
    ]
}

/// What WGSL has of the 16-bit types, and which of them c is.
fn types(rung: Rung) -> Rung {
    let half = Need { language: None, fact: "BF16".into(), value: 0, because: "WGSL has no bf16".into() };
    let output = Alias { name: "Output".into(), switch: "OUTPUT_F32".into(), value: 0, text: "f16".into() };
    Rung {
        element_sizes: (&[2]).into(),
        wgsl_element_sizes: (&[2]).into(),
        needs: rung.needs.iter().cloned().chain([half]).collect(),
        switches: [Switch::new("OUTPUT_F32", &[1, 0][..])].into_iter().chain(rung.switches.iter().cloned()).collect(),
        aliases: rung.aliases.iter().cloned().chain([output]).collect(),
        ..rung
    }
}

/// Matrices of another side than the text's 16.
fn other_side(name: &'static str, text: &'static str) -> Alias {
    Alias { name: name.into(), switch: "SIDE".into(), value: EIGHT.m, text: text.into() }
}

fn from_storage(side: &'static str, part: u32, shape: Cooperative) -> Rung {
    let mut rung = types(
        rung!("matmul", "cooperative", no cuda "tensor_core is CUDA's first rung on matrix units", block [32, 1, 1], Grid::Fixed { blocks: 0 }, {
            variant: side.into(),
            idea: "A subgroup holds small matrices together, and one operation multiplies two of them.".into(),
            chinese: "一个子组共同持有小矩阵，一次运算乘两个。".into(),
            because: "Matrix units do the work of hundreds of multiply-adds at a time, on half the bytes.".into(),
            chinese_because: "矩阵单元一次完成几百次乘加，字节又只有一半。".into(),
            accepts: TEACHING,
            constants: vec![("PART", part)].into(),
            // An edge that fragments reach over goes through workgroup memory, and so does c.
            shared_elements: 2 * part * shape.k + 2 * shape.m * shape.n,
            cooperative: Some(shape),
        }),
    );
    rung.passes = vec![Pass::new([32, 1, 1], Grid::Tiles { x: part, y: part })].into();
    rung.switches.to_mut().push(Switch::new("ALIGNED", &[1, 0][..]).asking("VECTOR_ALL"));
    rung.switches.to_mut().push(Switch::new("SIDE", if shape == EIGHT { &[8][..] } else { &[16] }));
    rung.aliases.to_mut().extend([
        other_side("Fragment_a", "coop_mat8x8<f16, A>"),
        other_side("Fragment_b", "coop_mat8x8<f16, B>"),
        other_side("Sums", "coop_mat8x8<f32, C>"),
    ]);
    rung
}

/// Operands in chunks, where their rows start at multiples of 16 bytes.
fn chunks(rung: Rung, input: &'static str) -> Rung {
    let elements = |(name, switch, text): (&'static str, &'static str, &'static str)| Alias {
        name: name.into(),
        switch: switch.into(),
        value: 0,
        text: text.into(),
    };
    let words =
        [("Chunk_a", "VECTOR_A", input), ("Chunk_b", "VECTOR_B", input), ("Chunk_c", "VECTOR_C", "array<Output, 4>")];
    // One switch for all of them: a problem with one aligned operand is rare, and every setting is a kernel.
    let vectors = Switch::new("VECTOR_A", &[1, 0][..]).with(&["VECTOR_B", "VECTOR_C"]).asking("VECTOR_ALL");
    types(Rung {
        aliases: words.map(elements).to_vec().into(),
        switches: rung.switches.iter().cloned().chain([vectors]).collect(),
        cooperative: Some(SIXTEEN),
        ..rung
    })
}

fn staged(rung: Rung) -> Rung {
    // Two tiles of 32 steps of k and 4 halves of padding on either side, and a fragment of f32 for each subgroup.
    Rung { shared_elements: 2 * 32 * (128 + 8) + 4 * 2 * 16 * 20, ..chunks(rung, "array<f16, 4>") }
}

fn raster() -> Rung {
    staged(
        rung!("matmul", "cooperative_raster", no cuda "persistent is CUDA's", block [128, 1, 1], Grid::TilesLinear { x: 128, y: 128 }, {
            idea: "Tiles are walked eight rows at a time; every layout, offset and batch.".into(),
            chinese: "每次八行地走过分块；支持所有布局、偏移和成批。".into(),
            because: "Blocks that run together ask for fewer different rows and columns, which L2 then holds.".into(),
            chinese_because: "同时运行的线程块需要的不同的行和列更少，L2 便装得下。".into(),
            accepts: Accepts::ALL,
            constants: vec![("GROUP", 8)].into(),
            switches: transposes().into(),
        }),
    )
}

/// Halves of a tile that runs along k, the larger form: its lines have 8 of padding.
const fn along(lines: u32, block_k: u32) -> u32 {
    lines * (block_k + 8)
}

fn words() -> Rung {
    let rung = rung!("matmul", "cooperative_words", no cuda "CUDA's rungs load 16 bytes from the first one on", block [128, 1, 1], Grid::TilesLinear { x: 128, y: 128 }, {
        idea: "Operands are read and tiles written 16 bytes at a time, in the order in which they lie.".into(),
        chinese: "操作数读取和分块写出都以 16 字节、按存放次序进行。".into(),
        because: "Half as many requests, and nothing is turned in registers: matrix loads read either order.".into(),
        chinese_because: "请求数减半，寄存器中也无须翻转：矩阵载入两种次序都能读。".into(),
        accepts: Accepts::ALL,
        constants: vec![("GROUP", 8)].into(),
        switches: transposes().into(),
        // And a fragment of f32 for each subgroup.
        shared_elements: along(128, 32) + along(128, 32) + 4 * 2 * 16 * 16,
    });
    chunks(rung, "array<u32, 4>")
}

/// The least k of kernels that begin with several steps of it.
pub(super) const LEAST_DEEP: u64 = 128;

const ACROSS: &str = "this rung takes a stored k x m and b k x n, in rows that start at multiples of 16 bytes; its \
                      @turned and @copied forms take others";
const DEEP: &str = "this rung takes a k of at least 128; cooperative_words takes any";

fn ahead() -> Rung {
    /// Two buffers of 16 steps of k, with 8 halves of padding on either side.
    const TILES: u32 = 2 * 16 * (128 + 8 + 256 + 8);
    /// Two fragments of f32 on their way out for each subgroup, side by side, in rows with 8 of padding.
    const LEAVING: u32 = 8 * 2 * 16 * 40;
    let rung = rung!("matmul", "cooperative_ahead", no cuda "persistent overlaps more", block [256, 1, 1], Grid::TilesLinear { x: 256, y: 128 }, {
        idea: "The fragments of the next step are loaded while those of this one are multiplied; tiles of 128 x 256.".into(),
        chinese: "本步相乘时载入下一步的片段；分块 128 x 256。".into(),
        because: "The tensor cores need not wait for workgroup memory after each barrier, and four steps on their way cover the latency of L2.".into(),
        chinese_because: "张量核不必在每个屏障后等待工作组内存，在途的四步掩盖 L2 的延迟。".into(),
        accepts: Accepts::ALL,
        constants: vec![("GROUP", 8)].into(),
        shared_elements: TILES + LEAVING,
    });
    across_k(rung)
}

fn tall() -> Rung {
    /// One buffer of 32 steps of k.
    const TILES: u32 = 32 * (160 + 8 + 128 + 8);
    const LEAVING: u32 = 4 * 2 * 16 * 20;
    let rung = rung!("matmul", "cooperative_tall", no cuda "persistent overlaps more", block [128, 1, 1], Grid::TilesLinear { x: 128, y: 160 }, {
        idea: "Two blocks share a multiprocessor, with 80 x 64 results per subgroup.".into(),
        chinese: "两个线程块共用一个多处理器，每个子组 80 x 64 个结果。".into(),
        because: "While one block waits for its tiles the other multiplies, and larger parts read less of workgroup memory.".into(),
        chinese_because: "一个线程块等待分块时另一个做乘法，更大的部分从工作组内存读得更少。".into(),
        accepts: Accepts::ALL,
        constants: vec![("GROUP", 8)].into(),
        shared_elements: TILES + LEAVING,
    });
    across_k(rung)
}

/// A kernel that reads both operands across k, 16 bytes at a time.
fn across_k(rung: Rung) -> Rung {
    types(Rung {
        needs: across(ACROSS, &[0, 1]).into_iter().chain([deep()]).collect(),
        switches: vec![Switch::new("VECTOR_C", &[1, 0][..])].into(),
        aliases: vec![Alias {
            name: "Chunk_c".into(),
            switch: "VECTOR_C".into(),
            value: 0,
            text: "array<Output, 4>".into(),
        }]
        .into(),
        cooperative: Some(SIXTEEN),
        ..rung
    })
}

fn need(fact: &'static str, value: u32, because: &'static str) -> Need {
    Need { language: None, fact: fact.into(), value, because: because.into() }
}

/// What a kernel asks that begins with several steps of k.
fn deep() -> Need {
    need("DEEP", 1, DEEP)
}

/// What a kernel asks that reads these operands across k, 16 bytes at a time.
fn across(because: &'static str, operands: &[usize]) -> Vec<Need> {
    let facts = [[("TRANSPOSE_A", 1), ("VECTOR_A", 1)], [("TRANSPOSE_B", 0), ("VECTOR_B", 1)]];
    operands.iter().flat_map(|&operand| facts[operand]).map(|(fact, value)| need(fact, value, because)).collect()
}

/// The pass that copies an operand to the workspace of its number, across k.
fn copy_across(operand: usize) -> Pass {
    const BLOCKS: u32 = 1056;
    let questions = [["TRANSPOSE_A", "ALONG_A", "VECTOR_A"], ["TRANSPOSE_B", "ALONG_B", "VECTOR_B"]][operand];
    let switch = |name: &'static str, question: usize| Switch::new(name, &[1, 0][..]).asking(questions[question]);
    Pass {
        suffix: ["copy_a", "copy_b"][operand].into(),
        bindings: Some(vec![Operand::Input(operand), Operand::WorkspaceOut(operand)].into()),
        kernel: Some(PassKernel {
            name: "copy_operand".into(),
            cuda: Source::Absent { because: NO_CUDA.into() },
            arch: Arch::Compute70,
            wgsl: Source::Text(Cow::Borrowed(rung!(@wgsl "matmul", "copy_operand"))),
            trusted: true,
            constants: vec![("OPERAND", operand as u32), ("BLOCKS", BLOCKS)].into(),
            switches: vec![switch("TRANSPOSED", 0), switch("TURN", 1), switch("VECTOR", 2)].into(),
        }),
        ..Pass::new([32, 8, 1], Grid::Fixed { blocks: BLOCKS })
    }
}

/// A kernel that reads both operands across k, on copies of the first one or of both.
fn on_copies(
    rung: Rung,
    variant: &'static str,
    copies: usize,
    [because, chinese_because]: [&'static str; 2],
    needs: Vec<Need>,
) -> Rung {
    let half = rung.needs.iter().filter(|need| need.fact == "BF16").cloned();
    let operand = |index| if index < copies { Operand::WorkspaceIn(index) } else { Operand::Input(index) };
    let product = Pass {
        bindings: Some(vec![operand(0), operand(1), Operand::Output(0)].into()),
        kernel: Some(PassKernel {
            name: rung.name.clone(),
            cuda: rung.cuda.clone(),
            arch: Arch::Compute70,
            wgsl: rung.wgsl.clone(),
            trusted: true,
            constants: rung.constants.clone(),
            switches: rung.switches.clone(),
        }),
        ..rung.passes[0].clone()
    };
    let form = |input| {
        Workspace::Matrices(Matrices { input, element: None, parts: 1, stored: Stored::Transposed(input == 0) })
    };
    let chunk = Alias { name: "Chunk".into(), switch: "VECTOR".into(), value: 0, text: "array<u32, 4>".into() };
    Rung {
        variant: variant.into(),
        idea: "Operands that run along k, or whose rows start anywhere, are first copied to where tiles are read in whole rows.".into(),
        chinese: "沿 k 存放或起点任意的操作数，先复制成可整行读取分块的样子。".into(),
        because: because.into(),
        chinese_because: chinese_because.into(),
        needs: needs.into_iter().chain(half).collect(),
        passes: (0..copies).map(copy_across).chain([product]).collect(),
        workspace: (0..copies).map(form).collect(),
        aliases: rung.aliases.iter().cloned().chain([chunk]).collect(),
        ..rung
    }
}

fn turned(rung: Rung) -> Rung {
    const A_ALONG: &str = "this form turns an a that is stored m x k; the rung itself takes the other";
    const B: &str = "b must be stored k x n in rows that start at multiples of 16 bytes; the @copied form takes others";
    const BECAUSE: [&str; 2] = [
        "Turning a costs 1 to 6 % of the product (an H200 at 8192 and 4096), and gains what loads of 32 bytes in a row would lose.",
        "翻转 a 的代价是乘积的 1 至 6 %（H200，8192 和 4096），换回连续 32 字节载入会损失的部分。",
    ];
    let needs = across(B, &[1]).into_iter().chain([need("TRANSPOSE_A", 0, A_ALONG), deep()]).collect();
    on_copies(rung, "turned", 1, BECAUSE, needs)
}

fn copied(rung: Rung) -> Rung {
    const BECAUSE: [&str; 2] = [
        "A copy costs a share of m or n of the product; slow loads would cost all of it.",
        "复制的代价只占乘积的 m 或 n 分之一；慢的载入则会拖累全部。",
    ];
    on_copies(rung, "copied", 2, BECAUSE, vec![deep()])
}
