//! In which order the contenders of a round run.
//!
//! A kernel starts with what the one before it left in the cache: stores that are still to be written
//! out, reads that may be found again. In a fixed order the same neighbour flatters or burdens the
//! same kernel in every round, by some percent where the work is not much larger than the cache. So
//! rounds follow Williams squares, in which each contender is equally often in each place, and
//! equally often directly behind each other one. A square's names and rows are shuffled by a fixed
//! seed, so that rounds of different squares have nothing in common and a run that stops inside a
//! square is a shuffled one.

use crate::random::Stream;

const SEED: u64 = 1;

/// The order of the contenders, numbers below `count`, in a round.
pub(super) fn of_round(count: usize, round: usize) -> Vec<usize> {
    let rows = rounds_of_square(count);
    let stream = Stream::new(SEED, (round / rows) as u64);
    let names = shuffled(stream, 0, count);
    let row = shuffled(stream, count, rows)[round % rows];
    (0..count).map(|place| names[entry(count, row, place)]).collect()
}

/// Rounds in which each contender follows each other equally often: an odd count needs twice as many.
fn rounds_of_square(count: usize) -> usize {
    (if count.is_multiple_of(2) { count } else { 2 * count }).max(1)
}

/// A row of the square: 0, 1, n - 1, 2, n - 2, … and then each number one higher than in the row
/// before; the second half of an odd square is its mirror image.
fn entry(count: usize, row: usize, place: usize) -> usize {
    let place = if row < count { place } else { count - 1 - place };
    let zigzag = if place.is_multiple_of(2) { count - place / 2 } else { place / 2 + 1 };
    (zigzag + row) % count
}

/// The numbers below `count`, by words `first..` of the stream.
fn shuffled(stream: Stream, first: usize, count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        numbers.swap(last, (stream.bits((first + last) as u64) % (last as u64 + 1)) as usize);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each contender (row) is directly behind each other one (column), and in each place.
    fn counts(count: usize, rounds: std::ops::Range<usize>) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        let mut behind = vec![vec![0; count]; count];
        let mut places = vec![vec![0; count]; count];
        for order in rounds.map(|round| of_round(count, round)) {
            order.windows(2).for_each(|pair| behind[pair[1]][pair[0]] += 1);
            order.iter().enumerate().for_each(|(place, &one)| places[one][place] += 1);
        }
        (behind, places)
    }

    #[test]
    fn every_contender_runs_once_in_every_round() {
        for count in 0..12 {
            for round in 0..100 {
                let mut order = of_round(count, round);
                order.sort_unstable();
                assert!(order.into_iter().eq(0..count), "{count} contenders, round {round}");
            }
        }
    }

    #[test]
    fn within_a_square_each_follows_each_other_and_stands_in_each_place_equally_often() {
        for count in 2..14 {
            let rows = rounds_of_square(count);
            let times = (rows / count) as u32;
            for square in 0..3 {
                let (behind, places) = counts(count, square * rows..(square + 1) * rows);
                for (one, others) in behind.iter().enumerate() {
                    let even = others.iter().enumerate().all(|(other, &n)| n == if other == one { 0 } else { times });
                    assert!(even, "{count} contenders: {one} is behind {others:?}");
                }
                assert!(places.iter().flatten().all(|&n| n == times), "{count} contenders: {places:?}");
            }
        }
    }

    #[test]
    fn across_rounds_too_nobody_has_a_usual_neighbour() {
        for count in 2..10 {
            let mut behind = vec![vec![0u32; count]; count];
            let mut last = None;
            for one in (0..100 * rounds_of_square(count)).flat_map(|round| of_round(count, round)) {
                if let Some(last) = last.replace(one) {
                    behind[one][last] += 1;
                }
            }
            let others = |one: usize| (0..count).filter(move |&other| other != one);
            let all: Vec<u32> =
                (0..count).flat_map(|one| others(one).map(move |o| (one, o))).map(|(a, b)| behind[a][b]).collect();
            let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
            assert!(f64::from(*most) < 1.2 * f64::from(*least), "{count} contenders: {behind:?}");
        }
    }

    #[test]
    fn orders_differ_from_round_to_round_and_are_the_same_in_every_run() {
        let orders: Vec<Vec<usize>> = (0..40).map(|round| of_round(6, round)).collect();
        let mut distinct = orders.clone();
        distinct.sort();
        distinct.dedup();
        assert!(distinct.len() > 30, "{} of 40", distinct.len());
        assert_eq!(orders, (0..40).map(|round| of_round(6, round)).collect::<Vec<_>>());
    }
}
