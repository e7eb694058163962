//! The ideas of the rungs in Chinese; English is in each rung's own row.

use super::Language;
use crate::rung::Rung;

/// The idea of a rung in a language; the row's own English where nobody translated it yet.
pub fn idea(op: &str, rung: &Rung, language: Language) -> String {
    let english = || rung.idea.to_string();
    match language {
        Language::English => english(),
        Language::Chinese => {
            chinese(op, &rung.id()).or_else(|| chinese(op, &rung.name)).map_or_else(english, String::from)
        }
    }
}

/// By a rung's name, or by the id of a variant whose idea is another.
fn chinese(op: &str, rung: &str) -> Option<&'static str> {
    CHINESE.iter().find(|(o, name, _)| *o == op && *name == rung).map(|(_, _, text)| *text)
}

const CHINESE: &[(&str, &str, &str)] = &[
    ("copy", "scalar", "每个线程一个元素。"),
    ("copy", "vectorized", "每次访问 16 字节；先发出 VECTORS 个独立的读取，再开始写。"),
    ("copy", "buffer_copy", "后端自带的缓冲区复制。"),
    ("transpose", "naive", "线程束沿输入的行排列：读取合并，写入跨步。"),
    ("transpose", "coalesced_write", "与上一级相反：线程沿输出的行排列，因此读取跨步。"),
    ("transpose", "tiled", "分块经由共享内存，使读写两侧都合并。"),
    ("transpose", "tiled_padded", "分块每行末尾留一个不用的元素。"),
    ("transpose", "coarsened", "线程减为四分之一，每个线程四个元素，先读完再写。"),
    ("transpose", "swizzled", "以列号与行号的异或代替填充。"),
    ("transpose", "register_blocked", "每个线程在寄存器中翻转一个 4x4 的块；对全局和共享内存都以 16 字节访问。"),
    ("transpose", "ordered", "安排分块的次序，使同时运行的线程块接着写相同的输出行。"),
    ("transpose", "any_width", "任意元素宽度：每个线程翻转一个小块，宽一个单元，行数相同。"),
    ("transpose", "sheared", "分块跟随每个输出行的偏移，除两端外所有写入都是对齐的整块。"),
    ("transpose", "skinny", "只有几列的矩阵是一串记录，在寄存器中拆开再拼好。"),
    ("transpose", "batched_small", "一个接一个的小矩阵就是一个长数组；只有共享内存知道它们的形状。"),
    ("transpose_in_place", "mirrored", "以对角线互为镜像的两个分块互换位置，途中各自翻转。"),
    ("matmul", "naive", "每个线程一个结果；相邻线程沿列向下走，故意不合并。"),
    ("matmul", "coalesced", "相邻线程沿 C 和 B 的行走。"),
    ("matmul", "tiled", "A 和 B 的分块经由共享内存，供整个线程块使用。"),
    ("matmul", "tiled_1d", "每个线程计算一列八个结果。"),
    ("matmul", "tiled_2d", "每个线程计算 8 x 8 个结果。"),
    ("matmul", "vectorized", "处处以 16 字节访问；A 在共享内存中转置存放。"),
    ("matmul", "conflict_free", "每个线程的行和列各为两组四个，相隔半个分块；转置的行加填充或重新排列。"),
    ("matmul", "warp_tiled", "一个线程束的结果组成 64 x 32 的紧凑分块。"),
    ("matmul", "double_buffered", "计算当前分块时，把下一个分块取到寄存器。"),
    ("matmul", "pipelined", "异步复制绕过寄存器，填充四级的环。"),
    ("matmul", "wide", "每个线程 8 x 16 个结果，分块 128 x 256。"),
    ("matmul", "raster", "每次八行、逐列地走过分块。"),
    ("matmul", "compact", "128 个线程，128 x 128 的分块，一个 16 KiB 的缓冲区。"),
    ("matmul", "tma_specialised", "一个生产者线程束组用 TMA 不断填满环；其他线程束只做乘法。"),
    ("matmul", "slice_k", "一个线程块的各线程束共用较小的分块，分担 k。"),
    ("matmul", "split_workspace", "几个线程块分担一个分块的 k；第二遍按次序相加。"),
    ("matmul", "outer", "k 很小：每个线程把自己的行和列在一个 k 上的值放在寄存器里，每次存 16 字节。"),
    ("matmul", "gemv", "行或列很少：另一个操作数只流过一次，不分 C 的块。"),
    ("reduce", "one_pass", "一个线程块走过数组，以树形相加部分和。"),
    ("reduce", "two_pass", "许多线程块各留下一个部分和；第二次启动把它们相加。"),
    ("multiply_add", "chains", "每个线程运行 CHAINS 条互不依赖的乘加链。"),
    ("multiply_add", "packed", "两个 f16 共用一个寄存器，一条指令同时处理。"),
    ("shared_read", "vectors", "各线程并排从共享内存反复读取 16 字节。"),
    ("branch", "branched", "每个元素走两条路之一。"),
    ("branch", "predicated", "每个线程走两条路，只保留一个结果。"),
    ("branch", "grouped", "线程块先按种类排序元素，再分支。"),
    ("convolve", "naive", "每个线程一个输出，每个邻居都来自全局内存。"),
    ("convolve", "tiled", "线程块把各输出共用的区域放入共享内存。"),
    ("convolve", "padded", "暂存的行相隔 48 个字而不是 24 个。"),
    ("convolve", "separable", "先对行滤波，再对列滤波。"),
    ("convolve", "vectorized", "每个线程四个相邻输出，以 16 字节访问共享内存。"),
    ("copy", "strided", "相邻线程复制相隔几个位置的元素；其余留给后面的线程块。"),
    ("copy", "misaligned", "同上，但偏移一个元素：线程束从扇区中间开始。"),
    ("copy", "read_only", "明确要求经只读路径载入。"),
    ("fields", "array_of_structs", "记录一条接一条。"),
    ("fields", "array_of_structs_vectorized", "每条记录一次 16 字节读取。"),
    ("fields", "struct_of_arrays", "每个字段各有自己的数组。"),
    ("gather", "direct", "每个线程一个元素，取自其下标所指之处。"),
    ("gather", "in_flight", "每个线程四个独立元素：先取下标，再读，后写。"),
    ("matmul", "cooperative_staged", "128 x 128 个结果的操作数一次取入工作组内存，供四个子组使用。"),
    ("matmul", "cooperative_prefetched", "当前分块相乘之前，先把下一个分块取入寄存器。"),
    ("matmul", "cooperative", "一个子组共同持有小矩阵，一次运算乘两个。"),
    ("matmul", "cooperative_raster", "每次八行地走过分块；支持所有布局、偏移和成批。"),
    ("matmul", "cooperative_words", "操作数读取和分块写出都以 16 字节、按存放次序进行。"),
    ("matmul", "cooperative_ahead", "本步相乘时载入下一步的片段；分块 128 x 256。"),
    ("matmul", "cooperative_tall", "两个线程块共用一个多处理器，每个子组 80 x 64 个结果。"),
    ("matmul", "tensor_core", "张量核做乘法：线程束每次交出 16 x 16 和 16 x 8 个元素。"),
    ("matmul", "ldmatrix_pipelined", "异步复制填充多级的环；ldmatrix 一次交给线程束四个 8 x 8 块。"),
    ("matmul", "wgmma", "四个线程束共同相乘，直接取自由批量复制填充的共享内存。"),
    ("matmul", "warp_specialised", "一个线程束不断填满环；两组各四个线程束只做乘法。"),
    ("matmul", "persistent", "线程块常驻，逐个取分块；两个相邻者共用读到的 b。"),
    ("matmul", "async_store", "C 经共享内存由批量存储写出。"),
    ("matmul", "even_shares", "分块有两种宽度，使每个多处理器的工作量相同。"),
    ("matmul", "split_k", "一个集群的线程块分担一个分块的 k，在彼此的共享内存中相加。"),
    ("matmul", "register_operand", "不沿 k 存放的操作数经寄存器送入。"),
    ("matmul", "split_products", "f32 元素是较短部分之和，计算所有要紧的乘积，最小的在先。"),
    ("reduce", "vectorized", "16 字节载入，每个线程四个同时进行。"),
    ("reduce", "divergent", "每 256 个元素一棵树，每隔二、四、八……个线程相加。"),
    ("reduce", "strided", "每层由最前面的线程工作。"),
    ("reduce", "sequential", "每层把上半加到下半。"),
    ("reduce", "first_add", "线程在读入时就相加两个元素。"),
    ("reduce", "unrolled", "每个线程八个独立的和。"),
    ("reduce", "shuffle", "线程束内的线程在寄存器中互递部分和。"),
    ("reduce", "atomics", "每个线程块自己把和加到结果上。"),
    ("reduce", "compensated", "每次加法都保留被舍去的部分（Kahan 的想法，Knuth 的二数和）。"),
    ("scatter", "direct", "每个线程一个元素，写到其下标所指之处。"),
    ("scatter", "in_flight", "每个线程四个独立元素：先全部读，再全部写。"),
    ("shared", "strided", "相邻线程读取相隔若干存储体的字：变体说明相隔多少。"),
    ("shared", "vectorized", "以 16 字节访问相隔 PITCH 个向量的行。"),
    ("shared", "padded", "每行填充一个字。"),
    ("shared", "swizzled", "第 r 行第 c 个字存放在 c XOR r。"),
    ("shared", "consecutive", "按列存放：相邻线程读取相邻的字（步长 1）。"),
    ("shared", "vectorized_consecutive", "相邻线程以 16 字节访问相邻的向量。"),
    ("matmul", "ldmatrix_pipelined@copied", "起点任意的行先复制到对齐之处。"),
    ("matmul", "persistent@copied", "起点任意的行先复制到对齐之处。"),
    ("matmul", "register_operand@copied", "起点任意的行先复制到对齐之处。"),
    ("matmul", "async_store@tf32", "同样的做法，用于由批量复制舍入为 TF32 的 f32。"),
    ("transpose", "any_width@kept", "读过的数据标记为最后离开 L2。"),
    ("transpose", "skinny@kept", "读过的数据标记为最后离开 L2。"),
    ("scatter", "atomic", "同样的写入改用原子交换：两个元素可能要同一位置时必须如此。"),
    ("matmul", "cooperative_tall", "两个线程块共用一个多处理器，每个子组 80 x 64 个结果。"),
    ("matmul", "cooperative_ahead@turned", "沿 k 存放或起点任意的操作数，先复制成可整行读取分块的样子。"),
    ("matmul", "cooperative_ahead@copied", "沿 k 存放或起点任意的操作数，先复制成可整行读取分块的样子。"),
    ("matmul", "cooperative_tall@turned", "沿 k 存放或起点任意的操作数，先复制成可整行读取分块的样子。"),
    ("matmul", "cooperative_tall@copied", "沿 k 存放或起点任意的操作数，先复制成可整行读取分块的样子。"),
    ("matmul", "even_shares@swapped", "两个操作数互换位置：计算转置的积，并转置存放。"),
    ("occupancy", "block", "线程块的线程数由变体给出。"),
    ("occupancy", "ballast", "64 个线程的线程块，占用并不需要的共享内存。"),
    ("registers", "free", "编译器需要多少寄存器就用多少。"),
    ("registers", "capped", "限制寄存器数，使多处理器容得下更多线程块。"),
    ("spmv", "thread_per_row", "每个线程加一行。"),
    ("spmv", "warp_per_row", "至多 32 个线程合作一行，每次各四个元素，数目按平均每行而定。"),
    ("spmv", "adaptive", "线程块平分非零元而不是行；每行的线程数随各块的行而定。"),
    ("hierarchy_latency", "cached", "普通载入：由放得下这个集合的那一级回答。"),
    ("hierarchy_latency", "second_level", "绕过一级缓存的载入。"),
    ("hierarchy_latency", "shared", "链放在共享内存中。"),
    ("hierarchy_bandwidth", "cached", "普通载入：由放得下这个集合的那一级回答。"),
    ("hierarchy_bandwidth", "read_only", "经只读路径载入。"),
    ("hierarchy_bandwidth", "second_level", "绕过一级缓存的载入。"),
    ("hierarchy_constant", "global", "表放在全局内存中。"),
    ("hierarchy_constant", "shared", "表先复制到共享内存。"),
    ("hierarchy_constant", "constant", "表放在常量内存或 uniform 中。"),
    ("double_buffer", "barrier_missing", "两个缓冲区轮换，没有屏障。"),
    ("double_buffer", "barrier_per_phase", "每个阶段一个屏障。"),
    ("consistency", "nothing", "普通的标志和普通的数据。"),
    ("consistency", "volatile_flag", "volatile 标志。"),
    ("consistency", "atomic_flag", "原子标志。"),
    ("consistency", "fence", "两侧各有一个设备范围的栅栏。"),
    ("consistency", "release_acquire", "标志以释放方式存储、以获取方式载入。"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op;

    #[test]
    fn every_translation_is_of_a_rung_that_is_there() {
        for (name, rung, text) in CHINESE {
            let op = op::find(name).expect("an op");
            assert!(op.ladder().iter().any(|r| r.answers_to(rung)), "{name}/{rung}");
            assert!(text.ends_with('。'), "{text}");
        }
    }

    #[test]
    fn every_idea_is_told_in_chinese() {
        for op in op::OPS {
            for rung in op.ladder() {
                let first = op.ladder().iter().find(|other| other.name == rung.name).expect("itself");
                let shared = chinese(op.name(), &rung.name).filter(|_| first.idea == rung.idea);
                let own = chinese(op.name(), &rung.id());
                assert!(own.or(shared).is_some(), "{}/{}: {}", op.name(), rung.id(), rung.idea);
            }
        }
    }
}
