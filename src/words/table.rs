//! The phrases. A new one is an entry here, in both languages, with the same places.

use super::Phrase;

macro_rules! phrases {
    ($($(#[$doc:meta])* $name:ident = $english:literal, $chinese:literal;)*) => {
        $(
            #[doc = $english]
            pub static $name: Phrase = Phrase { english: $english, chinese: $chinese };
        )*
        /// Every phrase.
        pub static ALL: &[&Phrase] = &[$(&$name),*];
    };
}

phrases! {
    // What is seen, why, and what to do: `diagnose`.
    NOT_TRUSTED = "the result is not to be trusted", "结果不可信";
    HAZARD = "{0}", "{0}";
    SEEN_TIMES = "seen {0} times", "出现 {0} 次";
    BARRIER_SHARED = "Put a workgroupBarrier() between the two accesses", "在两次访问之间加上 workgroupBarrier()";
    BARRIER_STORAGE = "Put a storageBarrier() between the two accesses", "在两次访问之间加上 storageBarrier()";
    CROSS_BLOCK = "Nothing orders workgroups of one dispatch: use atomics, or a second dispatch", "同一次调度的工作组之间没有先后次序：请用原子操作，或再调度一次";
    GUARD_INDEX = "Guard the index", "检查下标是否越界";
    UNIFORM_BARRIER = "Take the barrier out of the branch; no invocation may return before it", "把屏障移出分支；任何线程都不能在屏障之前返回";
    NARROW_INDEX = "Compute the index in parts that fit 32 bits", "把下标拆成不超过 32 位的部分来计算";
    LOOK_AT_LINE = "Look at the line", "请查看该行";
    MOSTLY_OVERHEAD = "the time is mostly overhead", "时间主要是开销";
    LAUNCH_COSTS = "a launch costs more than this kernel's work", "一次启动的开销超过内核本身的工作";
    MORE_PER_LAUNCH = "Give a launch more work: fuse, batch, or record a graph", "让每次启动做更多的工作：融合、成批，或录制成图";
    AT_THE_LIMIT = "at the limit of memory", "已达内存极限";
    COPY_RATE = "it moves its bytes at {0} % of the best copy's rate", "搬运速度是最快复制的 {0} %";
    FEWER_BYTES = "Nothing is left to gain from memory; only fewer bytes would help", "访存已无可提高之处；只有减少字节数才有帮助";
    AT_THE_PEAK = "near the limit of arithmetic", "接近运算极限";
    PEAK_RATE = "it computes at {0} % of the device's {1} TFLOP/s", "运算速度是设备 {1} TFLOP/s 的 {0} %";
    OTHER_UNITS = "Only other units (tensor cores) or fewer operations would help", "只有换用其他单元（张量核）或减少运算才有帮助";
    BYTES_USED = "{0} % of the bytes moved are used", "搬运的字节只有 {0} % 被用到";
    LANES_FAR_APART = "the lanes of a warp touch memory far apart, and each touch moves a whole sector", "同一线程束的线程访问相距很远的内存，每次访问都要搬运整个扇区";
    SECTORS = "{0} sectors per request, {1} would do", "每次请求 {0} 个扇区，{1} 个就够";
    REORDER = "Let neighbouring threads touch neighbouring elements: reorder, or stage through shared memory", "让相邻线程访问相邻元素：调整顺序，或经由共享内存中转";
    IN_TURNS = "shared memory is served in turns", "共享内存须分多次服务";
    ONE_BANK = "lanes of a warp meet in one bank at different addresses", "同一线程束的线程以不同地址撞在同一存储体上";
    WAVEFRONTS = "{0} wavefronts where 1 would do", "本来 1 次即可，却用了 {0} 次";
    PAD = "Pad each row by one element, or exclusive-or the column with the row", "每行填充一个元素，或将列号与行号异或";
    LANES_ACTIVE = "{0} of {1} lanes are active on average", "平均 {1} 个线程中只有 {0} 个在工作";
    DIVERGE = "lanes of a warp take different branches, or the problem does not fill its blocks", "同一线程束的线程走了不同分支，或问题填不满线程块";
    LANES_FIGURE = "{0} lanes", "{0} 个线程";
    BRANCH_ON_WARP = "Branch on the warp rather than the thread, sort the work, or use smaller blocks at the edges", "按线程束而不是按线程分支、将工作排序，或在边缘使用更小的线程块";
    WARPS_FIT = "{0} warps fit a multiprocessor", "一个多处理器只容得下 {0} 个线程束";
    THREADS_LIMIT = "the number of threads limits the resident blocks to {0}", "线程数把常驻线程块限制为 {0} 个";
    WARPS_LIMIT = "the number of warps limits the resident blocks to {0}", "线程束数把常驻线程块限制为 {0} 个";
    BLOCKS_LIMIT = "the resident blocks are the most that there may be, {0}", "常驻线程块已达允许的最多 {0} 个";
    SHARED_LIMITS = "shared memory limits the resident blocks to {0}", "共享内存把常驻线程块限制为 {0} 个";
    REGISTERS_LIMIT = "registers limit the resident blocks to {0}", "寄存器把常驻线程块限制为 {0} 个";
    OCCUPANCY = "{0} % occupancy", "占用率 {0} %";
    ONLY_IF_WAITING = "Act only if the kernel waits for memory: few warps with much independent work each are as good", "只在内核等待内存时才需处理：少量线程束若各有许多独立的工作也一样好";
    FEW_BLOCKS = "{0} blocks for {1} multiprocessors", "{1} 个多处理器只有 {0} 个线程块";
    NOTHING_TO_DO = "most of the device has nothing to do", "设备的大部分无事可做";
    SMALLER_TILES = "Use smaller tiles, or split the long dimension over blocks and add up in a second pass", "使用更小的分块，或把长的维度分给多个线程块，第二遍再相加";
    NOTHING_FOUND = "no waste is counted: latency or the order of instructions bounds it", "计数中没有浪费：受延迟或指令次序所限";
    REUSE_LOW = "waiting for memory", "在等待内存";
    FEW_OPERATIONS = "it does {0} operations for each byte it loads, and {1} would be needed to keep the arithmetic busy", "每载入一个字节只做 {0} 次运算，而要让运算单元忙碌需要 {1} 次";
    MORE_REUSE = "Reuse what is loaded: larger tiles in shared memory, more results per thread in registers", "重复使用已载入的数据：更大的共享内存分块，每个线程在寄存器中算更多结果";
    ISSUE_LOW = "{0} % of the instructions are arithmetic", "只有 {0} % 的指令是运算";
    ISSUE_REST = "{0} loads stand beside {1} operations", "{1} 条运算伴有 {0} 条载入";
    MORE_RESULTS = "Compute more results per thread from the same loads, with wider loads", "用同样的载入、更宽的载入，让每个线程算出更多结果";

    // Where data should go: `advise`.
    IN_REGISTERS = "registers", "寄存器";
    REGISTERS_WHY = "{0} bytes of one thread fit the {1} that it can hold without spilling; index them by constants only", "一个线程的 {0} 字节放得进它不溢出时可用的 {1} 字节；只能用常数下标";
    IN_SHUFFLES = "registers, exchanged by subgroup shuffles", "寄存器，用子组洗牌交换";
    SHUFFLE_WHY = "the {0} lanes of a warp hand values over without memory or a barrier", "线程束的 {0} 个线程不经内存和屏障即可交换数值";
    IN_CONSTANT = "constant memory (a uniform binding)", "常量内存（uniform 绑定）";
    CONSTANT_WHY = "at most {0}, and all lanes read one address at a time: one read serves the warp; lanes that differ would take turns", "不超过 {0}，且所有线程同时读同一地址：一次读取供整个线程束使用；地址不同则须依次进行";
    IN_SHARED = "shared memory", "共享内存";
    SHARED_WHY = "each byte is used {0} times by its block, and is loaded from global memory once", "每个字节被线程块使用 {0} 次，而只从全局内存载入一次";
    SHARED_MEASURED = "each byte is used {0} times by its block; shared memory reads {1} TB/s here, memory copies {2} TB/s (measured)", "每个字节被线程块使用 {0} 次；本设备共享内存读取 {1} TB/s，内存复制 {2} TB/s（实测）";
    SHARED_ALONE = "{0} of {1}: one block at a time on a multiprocessor, so give it enough warps", "{1} 中的 {0}：每个多处理器同时只有一个线程块，需给它足够的线程束";
    SHARED_TOO_SMALL = "{0} do not fit the {1} of shared memory: take it in tiles that do", "{0} 超过共享内存的 {1}：请分块";
    ALL_PARTS = "{0} for each, {1} for all who run at a time", "每个 {0}，同时运行的全部共 {1}";
    INTERLEAVE = "interleave the threads' parts, so that neighbouring threads touch neighbouring elements (the compiler does so for arrays of a thread)", "将各线程的部分交错存放，使相邻线程访问相邻元素（编译器对线程的数组就是这样做的）";
    NOT_MEASURED = "`gpu-ladder limits` measures this device; the reasons then have its figures", "`gpu-ladder limits` 实测本设备；之后理由中会有实测数字";
    CACHED = "{0} fit the last-level cache of {1}: what is used again is found there", "{0} 放得进 {1} 的末级缓存：再次使用时可命中";
    CACHED_MEASURED = "{0} fit the last-level cache of {1}: what is used again is found there, at {2} TB/s for a copy of about this size (measured)", "{0} 放得进 {1} 的末级缓存：再次使用时可命中，约此大小的复制为 {2} TB/s（实测）";
    TILE_FOR_CACHE = "{0} do not fit the last-level cache of {1}: order the blocks so that those running together use the same part", "{0} 超过 {1} 的末级缓存：安排线程块的次序，使同时运行的使用同一部分";
    IN_GLOBAL_AS_IS = "global memory, as it is", "全局内存，保持原样";
    VECTORS_WHY = "neighbouring lanes touch neighbouring elements: coalesced; read 16 bytes per lane where the start is aligned", "相邻线程访问相邻元素：已合并；起始地址对齐时每个线程读 16 字节";
    BROADCAST_WHY = "all lanes read one address: one sector per warp, and the cache serves the rest", "所有线程读同一地址：每个线程束一个扇区，其余由缓存提供";
    IN_GLOBAL_TURNED = "global memory, in another layout", "全局内存，换一种布局";
    STRIDED_WHY = "each lane would move a sector for one element: store a struct of arrays, transpose once, or stage tiles through shared memory", "每个线程为一个元素搬运一个扇区：改为数组的结构体、先转置一次，或经共享内存分块中转";
    IN_GLOBAL_SORTED = "global memory, sorted by the order of use", "全局内存，按使用次序排序";
    RANDOM_WHY = "a gather moves a sector per lane: sort by key first, or count in a histogram pass; what fits a cache suffers less", "聚集读取每个线程搬运一个扇区：先按键排序，或先做直方图；放得进缓存的影响较小";

    // The story of a ladder: `run` and `report`.
    BEST = "{0}: best is {1}, {2}", "{0}：最快的是 {1}，{2}";
    BEST_COUNTED = "{0}: nothing is wasted from {1} on: {2} % of the bytes moved are used, and shared memory is served at once; which is fastest, a GPU tells", "{0}：从 {1} 起没有浪费：搬运的字节有 {2} % 被用到，共享内存一次服务完；哪一级最快要由 GPU 来定";
    BEST_REUSE = "{0}: {1} does the most with what it loads, {2} operations for each byte (the first rung {3}); which is fastest, a GPU tells", "{0}：{1} 对载入数据的利用最充分，每字节 {2} 次运算（第一级为 {3}）；哪一级最快要由 GPU 来定";
    OF_COPY = "{0} % of the best copy of the same bytes", "为复制同样字节的最好成绩的 {0} %";
    OF_SHEET = "{0} % of the data sheet's {1}", "为数据手册 {1} 的 {0} %";
    OF_MEASURED = "{0} % of the measured {1}", "为实测上限 {1} 的 {0} %";
    OF_VENDOR = "{0}x as fast as the vendor's fastest", "是厂商最快的 {0} 倍";
    AT_LINE = "line {0}: {1}", "第 {0} 行：{1}";
    STEP_FASTER = "{0}x as fast as {1} ({2} to {3})", "是 {1} 的 {0} 倍（{2} 至 {3}）";
    STEP_SLOWER = "SLOWER, {0}x as fast as {1} ({2} to {3})", "变慢：是 {1} 的 {0} 倍（{2} 至 {3}）";
    STEP_SAME = "no real difference from {1}: {0}x ({2} to {3})", "与 {1} 没有真正的差别：{0} 倍（{2} 至 {3}）";
    NO_DIFFERENCE = "no real difference from the line above: {0}", "与上一行没有真正的差别：{0}";
    SMALLER_STEPS = "smaller steps: {0}", "较小的变化：{0}";
    EVERY_OUTPUT = "every output verified", "所有输出均已验证";
    KNOWN_TO = "medians known to {0} %: two rungs further apart than {1} % differ", "中位数精确到 {0} %：相差超过 {1} % 的两级确有差别";
    KNOWN_BADLY = "medians known to {0} % only: nothing to compare by (a quiet machine and --budget 10s help)", "中位数只精确到 {0} %：无法比较（请在空闲的机器上用 --budget 10s 重测）";
    COUNTED_AS = "counts are the simulator's, for {0}", "计数来自模拟器（{0}）";
    AT_MOST = "device memory: {0} at most, all given back", "设备内存：最多 {0}，已全部归还";
    LEAKED = "device memory: {0} at most; NOT given back: {1}", "设备内存：最多 {0}；未归还：{1}";
    STARRED = "* the library's choice here", "* 库在此处的选择";
    STARRED_TUNED = "* the library's choice here, found by tuning", "* 库在此处的选择（由调优得出）";
    NOT_SHOWN = "not shown: {0}; --all shows every rung, variant, reason and line of source", "未显示：{0}；--all 显示所有级、变体、原因和源码行";
    VARIANTS = "variants: {0}", "变体 {0} 个";
    MINOR_RUNGS = "rungs that changed little: {0}", "变化不大的级 {0} 个";
    ABSENT_RUNGS = "rungs that do not take this problem or device: {0}", "不适用于此问题或设备的级 {0} 个";
    NO_TIME = "counted by the simulator, the same in every run; no time is measured or guessed", "由模拟器计数，每次运行都相同；不测量也不猜测时间";
    ONLY_VERIFIED = "verified, and not timed", "只验证，未计时";
    COUNTERS_READ = "ld, st: 32-byte sectors that a warp's load or store moves, of those it needs; used: share of those bytes; turns: 1 where shared memory serves a warp at once; lanes: active of 32; warps: resident", "ld、st：线程束每次载入或存储搬运的 32 字节扇区数及其所需数；used：用到的字节；turns：1 表示共享内存一次服务完；lanes：32 个线程中活动的；warps：常驻线程束";
    CHANGED = "counted: {0}", "计数：{0}";
    BOUND_BY = "{0} ({1})", "{0}（{1}）";
    CHANGED_SECTORS_LOAD = "sectors/load {0} -> {1}", "每次载入扇区 {0} -> {1}";
    CHANGED_SECTORS_STORE = "sectors/store {0} -> {1}", "每次存储扇区 {0} -> {1}";
    CHANGED_CONFLICTS = "bank conflicts {0} -> {1}", "存储体冲突 {0} -> {1}";
    CHANGED_INSTRUCTIONS = "instructions x{0}", "指令数为 {0} 倍";
    CHANGED_LANES = "lanes {0} -> {1}", "活动线程 {0} -> {1}";
    CHANGED_MOVED = "bytes through memory x{0}", "经内存的字节为 {0} 倍";

    // One rung in detail: `explain` and `check`.
    SIMULATED_ON = "{0}, {1}, simulated {2}", "{0}，{1}，模拟 {2}";
    IDEA = "Idea: {0}", "思路：{0}";
    WHY_IT_PAYS = "Why it pays: {0}", "为何有效：{0}";
    SOURCE_HEAD = "source (per line: warp instructions, active lanes, sectors per request, wavefronts per request)", "源码（每行：线程束指令数、活动线程、每次请求的扇区数、每次请求的波前数）";
    TOTALS = "{0} warp instructions, {1} lanes each; {2} operations; {3} barriers", "{0} 条线程束指令，每条 {1} 个线程；{2} 次运算；{3} 次屏障";
    TRAFFIC = "global memory: {0} requests, {1} sectors, {2} of the bytes moved are used; shared memory: {3} wavefronts, {4} needed", "全局内存：{0} 次请求，{1} 个扇区，搬运的字节有 {2} 被用到；共享内存：{3} 次波前，需要 {4} 次";
    RESIDENT = "resident: {0} blocks, {1} warps of {2} on a multiprocessor; {3}", "常驻：每个多处理器 {0} 个线程块、{1} 个线程束（最多 {2} 个）；{3}";
    QUESTIONS = "occupancy at least half: {0}; coalesced: {1}; free of bank conflicts: {2}; warps full: {3}", "占用率至少一半：{0}；合并访问：{1}；无存储体冲突：{2}；线程束满载：{3}";
    YES = "yes", "是";
    NO = "NO", "否";
    NONE_USED = "none used", "未使用";
    AGAINST = "Against {0}, the rung below:", "与下面一级 {0} 相比：";
    NO_COUNTER_CHANGED = "no counter changed", "计数没有变化";
    WARNING = "warning: {0}", "警告：{0}";
    STEP_INSTRUCTIONS = "warp instructions", "线程束指令";
    STEP_SECTORS = "sectors moved", "搬运的扇区";
    STEP_REQUESTS = "global requests", "全局请求";
    STEP_WAVES = "shared wavefronts", "共享内存波前";
    STEP_CONFLICT = "turns of a shared access", "每次共享访问的服务次数";
    STEP_WARPS = "resident warps", "常驻线程束";
    WRONG_BY_DESIGN = "Wrong by design: {0}", "故意写错：{0}";
    STEP_LANES = "active lanes", "活动线程";
    NONE = "none", "无";

    // What tuning changed: `tune`.
    TUNED = "{0} is taken now, {1}x as fast as {2}, which was taken before", "现在采用 {0}，是此前所用 {2} 的 {1} 倍";
    TUNED_NEW = "{0} is taken now, in place of {1}", "现在采用 {0}，取代 {1}";
    TUNED_SAME = "{0} is the fastest, and was taken before", "{0} 最快，此前即已采用";
    KEPT_IN = "kept in {0}: the library takes it for such problems, also in later runs", "已保存在 {0}：此类问题今后也采用它";
    KEPT_NOWHERE = "nothing was kept", "没有保存";

    // Noise: what is suspicious, and what helps.
    NO_SAMPLES = "{0}: no valid samples; its row has no time", "{0}：没有有效样本；该行没有时间";
    DRIFTED = "{0}: times rose by {1} % within the run: the clocks fell. Warm up longer (--warmup 3s), or let the device cool", "{0}：测量期间时间上升了 {1} %：时钟降低了。请延长预热（--warmup 3s），或让设备冷却";
    FELL = "{0}: times fell by {1} % within the run: it was not warm yet. Warm up longer (--warmup 3s)", "{0}：测量期间时间下降了 {1} %：尚未预热。请延长预热（--warmup 3s）";
    SCATTERED = "{0}: the slowest 5 % of samples took {1} % longer than the median: something else used the device or the bus. Repeat on a quiet machine", "{0}：最慢的 5 % 样本比中位数慢 {1} %：有别的程序在使用设备或总线。请在空闲的机器上重复";
    UNSETTLED = "{0}: the median is known to {1} % only. Sample longer (--budget 10s)", "{0}：中位数只精确到 {1} %。请延长采样（--budget 10s）";
    THROTTLED = "{0}: the clocks were held down for power or heat: compare only with runs that were, too", "{0}：时钟因功耗或温度受限：只能与同样受限的测量相比";
    NEAR_FLOOR = "{0}: within ten launch floors ({1} us): mostly launch overhead. Use a larger problem", "{0}：不到启动下限（{1} 微秒）的十倍：主要是启动开销。请用更大的问题";
    ABOVE_PEAK = "{0}: {1} is above what the device can do; the time or the data sheet is wrong", "{0}：{1} 超过设备的能力；时间或数据手册有误";
    SOFTWARE = "a processor imitates the GPU here: its times say nothing about one", "这里由处理器模拟 GPU：时间不代表任何 GPU";

    // The page.
    TITLE = "GPU ladder report", "GPU 阶梯报告";
    ROOFLINE = "Roofline", "屋顶线";
    SIZES = "Time against size", "时间与规模";
    LINES = "What each line did", "每一行做了什么";
    PROVENANCE = "Where the numbers come from", "数据来源";
    CONTENTS = "Contents", "目录";
    RUNG = "rung", "级";
    BACKEND = "backend", "后端";
    TIME = "time, ms", "时间（毫秒）";
    INTERVAL = "95 % interval", "95 % 区间";
    RATE = "rate", "速率";
    VERDICT = "verdict", "判定";
    WHY = "Why", "原因";
    INTENSITY = "operations per byte of memory traffic", "每字节访存的运算数";
    BYTES_MOVED = "bytes that must move", "必须搬运的字节";
    COPY_CEILING = "best copy", "最快复制";
    LINE_HEAD = "instructions of warps, active lanes, sectors per global request, wavefronts per shared request", "线程束指令数、活动线程、每次全局请求的扇区数、每次共享请求的波前数";
    COUNTED_AT = "counted by the simulator for {0} on {1}", "由模拟器统计：{0}，{1}";
    PRINTED_BY = "Printed by gpu-ladder {0}. One file: it loads nothing.", "由 gpu-ladder {0} 生成。单个文件，不加载任何外部内容。";
}
