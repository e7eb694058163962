//! How many blocks a pass launches over a problem.

use super::has_all;

/// How many blocks a pass launches, over the extent that its op gives for a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// One block per tile of `x` columns and `y` rows; the batch is the third dimension.
    Tiles {
        /// Columns of a tile.
        x: u32,
        /// Rows of a tile.
        y: u32,
    },
    /// The same tiles, numbered along one dimension; the kernel decides their order.
    TilesLinear {
        /// Columns of a tile.
        x: u32,
        /// Rows of a tile.
        y: u32,
    },
    /// The same tiles, those of one column of tiles side by side, the columns along the second dimension. Where
    /// the rung has a switch `STREAMS`, its value is the number of columns, far apart, whose tiles take turns.
    TilesDown {
        /// Columns of a tile.
        x: u32,
        /// Rows of a tile.
        y: u32,
    },
    /// The tiles numbered along one dimension, and `parts` blocks for each tile along the second dimension (a divided sum).
    TilesLinearParts {
        /// Columns of a tile.
        x: u32,
        /// Rows of a tile.
        y: u32,
        /// Blocks of each tile.
        parts: u32,
    },
    /// One block per `per_block` lines of the longer of both extents, whatever the other, and `parts`
    /// blocks for each along the second dimension; the batch is the third.
    LongSide {
        /// Rows or columns of a block.
        per_block: u32,
        /// Blocks of the same lines.
        parts: u32,
    },
    /// The grid of the first case whose switches all have the stated values.
    BySwitch(&'static [(&'static [(&'static str, u32)], Grid)]),
    /// One block per `per_block` elements of a one-dimensional extent.
    Linear {
        /// Elements of a block.
        per_block: u32,
    },
    /// One block per `per_block` bytes of a one-dimensional extent.
    LinearBytes {
        /// Bytes of a block.
        per_block: u32,
    },
    /// As [`Linear`](Grid::Linear), but at most `max` blocks, which then take several turns.
    LinearAtMost {
        /// Elements of a block and turn.
        per_block: u32,
        /// The most blocks.
        max: u32,
    },
    /// One block per `per_block` bytes of the longer of both extents; the batch is the third dimension.
    LongSideBytes {
        /// Bytes of a block.
        per_block: u32,
    },
    /// One block per run of whole matrices that `per_block` bytes hold (see [`whole_matrices`]), over the batch.
    Matrices {
        /// Bytes of a block.
        per_block: u32,
    },
    /// One block per pair of square tiles that mirror each other at the diagonal, numbered along one
    /// dimension; the batch is the third.
    Triangle {
        /// Rows and columns of a tile.
        tile: u32,
    },
    /// This many blocks, whatever the problem.
    Fixed {
        /// The blocks.
        blocks: u32,
    },
    /// As many blocks as the device holds at a time, at most one per tile, each taking several tiles.
    Persistent {
        /// Blocks on each multiprocessor.
        per_sm: u32,
        /// Columns of a tile.
        x: u32,
        /// Rows of a tile.
        y: u32,
    },
    /// Clusters of blocks side by side, as many as the device holds at a time, each taking the same
    /// number of tiles (but for the last ones).
    PersistentClusters {
        /// Blocks of a cluster.
        cluster: u32,
        /// Columns of a cluster's tile.
        x: u32,
        /// Rows of a cluster's tile.
        y: u32,
    },
    /// A cluster of blocks side by side for each tile, numbered along one dimension; the batch is the third.
    TileClusters {
        /// Blocks of a cluster.
        cluster: u32,
        /// Columns of a tile.
        x: u32,
        /// Rows of a tile.
        y: u32,
    },
}

/// How many whole matrices of `matrix` elements of `element` bytes a block of `per_block` bytes
/// takes: where it can be, so many that the next block starts at a multiple of 16 bytes.
pub const fn whole_matrices(per_block: u32, matrix: u64, element: u64) -> u64 {
    let bytes = matrix.saturating_mul(element);
    if bytes == 0 {
        return 1;
    }
    let (fit, vector) = (per_block as u64 / bytes, 16 / element);
    if fit >= vector { fit - fit % vector } else { fit }
}

impl Grid {
    /// The blocks of a pass in each direction, before they are split into launches: over `extent` elements
    /// (columns, rows, matrices) of `element` bytes, on a device of so many multiprocessors. A tile of 0
    /// elements, which a session refuses, counts as one of 1.
    pub fn blocks(self, setting: &[(String, u32)], extent: [u64; 3], element: u64, multiprocessors: u32) -> [u64; 3] {
        let over = |count: u64, per_block: u32| count.div_ceil(per_block.max(1).into());
        let tiles = |x: u32, y: u32| (over(extent[0], x), over(extent[1], y));
        match self {
            Grid::Tiles { x, y } => {
                let (across, down) = tiles(x, y);
                [across, down, extent[2]]
            }
            Grid::TilesLinear { x, y } => {
                let (across, down) = tiles(x, y);
                [across.saturating_mul(down), 1, extent[2]]
            }
            Grid::TilesDown { x, y } => {
                let (across, down) = tiles(x, y);
                let streams = setting.iter().find(|(name, _)| name == "STREAMS").map_or(1, |(_, value)| *value);
                [down.saturating_mul(streams.max(1).into()), over(across, streams), extent[2]]
            }
            Grid::TilesLinearParts { x, y, parts } => {
                let (across, down) = tiles(x, y);
                [across.saturating_mul(down), parts.into(), extent[2]]
            }
            Grid::LongSide { per_block, parts } => [over(extent[0].max(extent[1]), per_block), parts.into(), extent[2]],
            Grid::BySwitch(cases) => cases
                .iter()
                .find(|(wanted, _)| has_all(setting, wanted))
                .map_or([0; 3], |(_, grid)| grid.blocks(setting, extent, element, multiprocessors)),
            Grid::Linear { per_block } => [over(extent[0], per_block), 1, 1],
            Grid::LinearBytes { per_block } => [over(extent[0].saturating_mul(element), per_block), 1, 1],
            Grid::LinearAtMost { per_block, max } => [over(extent[0], per_block).min(max.into()), 1, 1],
            Grid::LongSideBytes { per_block } => {
                let long = extent[0].max(extent[1]).saturating_mul(element);
                [over(long, per_block), 1, extent[2]]
            }
            Grid::Matrices { per_block } => {
                let matrix = extent[0].saturating_mul(extent[1]);
                [extent[2].div_ceil(whole_matrices(per_block, matrix, element).max(1)), 1, 1]
            }
            Grid::Triangle { tile } => {
                let tiles = over(extent[0], tile);
                [tiles.saturating_mul(tiles.saturating_add(1)) / 2, 1, extent[2]]
            }
            Grid::Fixed { blocks } => [blocks.into(), 1, 1],
            Grid::Persistent { per_sm, x, y } => {
                let (across, down) = tiles(x, y);
                let all = across.saturating_mul(down).saturating_mul(extent[2]);
                let held = u64::from(multiprocessors) * u64::from(per_sm);
                [all.min(held), 1, 1]
            }
            Grid::PersistentClusters { cluster, x, y } => {
                let (across, down) = tiles(x, y);
                let all = across.saturating_mul(down).saturating_mul(extent[2]);
                let held = u64::from((multiprocessors / cluster.max(1)).max(1));
                let turns = all.div_ceil(held).max(1);
                [all.div_ceil(turns) * u64::from(cluster), 1, 1]
            }
            Grid::TileClusters { cluster, x, y } => {
                let (across, down) = tiles(x, y);
                [across.saturating_mul(down).saturating_mul(cluster.into()), 1, extent[2]]
            }
        }
    }

    /// Whether a block would take nothing, so that no number of them covers a problem.
    pub(crate) fn has_empty_tile(self) -> bool {
        match self {
            Grid::Tiles { x, y }
            | Grid::TilesLinear { x, y }
            | Grid::TilesDown { x, y }
            | Grid::TilesLinearParts { x, y, .. }
            | Grid::Persistent { x, y, .. }
            | Grid::PersistentClusters { x, y, .. }
            | Grid::TileClusters { x, y, .. } => x == 0 || y == 0,
            Grid::LongSide { per_block, .. }
            | Grid::Linear { per_block }
            | Grid::LinearBytes { per_block }
            | Grid::LinearAtMost { per_block, .. }
            | Grid::LongSideBytes { per_block }
            | Grid::Matrices { per_block } => per_block == 0,
            Grid::BySwitch(cases) => cases.iter().any(|(_, grid)| grid.has_empty_tile()),
            Grid::Triangle { tile } => tile == 0,
            Grid::Fixed { .. } => false,
        }
    }

    /// Blocks along x that must stay in one launch.
    pub fn together(self, setting: &[(String, u32)]) -> u32 {
        match self {
            Grid::PersistentClusters { cluster, .. } | Grid::TileClusters { cluster, .. } => cluster,
            Grid::BySwitch(cases) => {
                cases.iter().find(|(wanted, _)| has_all(setting, wanted)).map_or(1, |(_, grid)| grid.together(setting))
            }
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_tiles_take_turns_in_streams() {
        let grid = Grid::TilesDown { x: 64, y: 32 };
        let blocks = |streams: &[(String, u32)], rows, cols| grid.blocks(streams, [cols, rows, 3], 4, 132);
        assert_eq!(blocks(&[], 65, 129), [3, 3, 3]);
        assert_eq!(blocks(&[("STREAMS".into(), 2)], 65, 129), [6, 2, 3]);
        assert_eq!(blocks(&[("STREAMS".into(), 4)], 65, 129), [12, 1, 3]);
    }

    #[test]
    fn clusters_share_the_tiles_evenly() {
        let grid = Grid::PersistentClusters { cluster: 2, x: 256, y: 256 };
        let blocks = |m, n, batch| grid.blocks(&[], [n, m, batch], 2, 132)[0];
        assert_eq!(blocks(8192, 8192, 1), 2 * 64); // 1,024 tiles in 16 turns of 64 of the 66 clusters
        assert_eq!(blocks(1, 1, 1), 2);
        assert_eq!(blocks(256, 256, 67), 2 * 34);
        assert_eq!(grid.blocks(&[], [256, 256, 3], 2, 1), [2, 1, 1]);
        assert_eq!(Grid::TileClusters { cluster: 4, x: 64, y: 64 }.blocks(&[], [65, 1, 3], 2, 132), [8, 1, 3]);
    }
}
