//! Judgements on made-up runs: the figures come from the test, the rest from the report of one run.

use proptest::prelude::*;

use super::*;

/// The figure where more is better, for such runs.
fn rates(first: &[f64], second: &[f64]) -> Difference {
    difference(Figure::Rate, &[first.to_vec(), second.to_vec()], true, None)
}

fn mirrored(judgement: Judgement) -> Judgement {
    match judgement {
        Judgement::Faster => Judgement::Slower,
        Judgement::Slower => Judgement::Faster,
        same => same,
    }
}

/// A run on an idle host: a rate that varies by a few percent, with a long tail downwards.
fn varied(random: &mut fastrand::Rng) -> f64 {
    100_000.0 * (1.0 + 0.02 * (1.0 - random.f64()).ln())
}

#[test]
fn few_runs_are_never_significant() {
    let difference = rates(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0]);
    assert_eq!(difference.judgement, Judgement::TooFewRuns);
    assert_eq!(overall(&[difference], [3, 3]), Judgement::TooFewRuns);
    // One figure with four runs each is enough, one of five figures is not.
    let four = || rates(&[1.0, 2.0, 3.0, 4.0], &[10.0, 20.0, 30.0, 40.0]);
    assert_eq!(overall(&[four()], [4, 4]), Judgement::Faster);
    assert_eq!(overall(&[four(), four(), four(), four(), four()], [4, 4]), Judgement::TooFewRuns);
}

#[test]
fn more_is_better_of_rates_and_worse_of_times() {
    let values = [vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![6.0, 7.0, 8.0, 9.0, 10.0]];
    let rate = difference(Figure::Rate, &values, true, None);
    let p99 = Figure::Response(crate::report::Percentile::P99);
    let time = difference(p99, &values, true, None);
    assert_eq!((rate.judgement, time.judgement), (Judgement::Faster, Judgement::Slower));
    assert_eq!(rate.ratio, Some(8.0 / 3.0));
    assert_eq!(overall(&[rate, time], [5, 5]), Judgement::Mixed);
}

#[test]
fn a_difference_within_the_noise_of_the_host_is_none() {
    let first = [100.0, 101.0, 102.0, 103.0, 104.0];
    let second = first.map(|value| value * 1.1);
    let mut difference = rates(&first, &second);
    assert_eq!(difference.judgement, Judgement::Faster);
    difference.noise = Some(1.12);
    assert_eq!(judgement(&difference, Better::More), Judgement::NoDifference);
    difference.noise = Some(1.05);
    assert_eq!(judgement(&difference, Better::More), Judgement::Faster);
}

#[test]
fn equal_servers_differ_about_once_in_twenty() {
    let mut random = fastrand::Rng::with_seed(5);
    let flagged = (0..60)
        .filter(|_| {
            let mut sample = || (0..10).map(|_| varied(&mut random)).collect::<Vec<f64>>();
            let judgement = rates(&sample(), &sample()).judgement;
            matches!(judgement, Judgement::Faster | Judgement::Slower)
        })
        .count();
    // 5 % of 60 is 3; the exact test of ten and ten has 4.3 %.
    assert!((1..=6).contains(&flagged), "{flagged} of 60");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_other_way_round_everything_is_mirrored(
        first in prop::collection::vec(1_u32..50, 4..9),
        second in prop::collection::vec(1_u32..50, 4..9),
    ) {
        let floats = |values: Vec<u32>| values.into_iter().map(f64::from).collect::<Vec<f64>>();
        let (first, second) = (floats(first), floats(second));
        let (there, back) = (rates(&first, &second), rates(&second, &first));
        prop_assert_eq!(there.judgement, mirrored(back.judgement));
        prop_assert!((there.probability - back.probability).abs() < 1e-9);
        let (there, back) = (there.interval.unwrap(), back.interval.unwrap().mirrored());
        prop_assert!((there.low / back.low - 1.0).abs() < 1e-9, "{:?} {:?}", there, back);
        prop_assert!((there.high / back.high - 1.0).abs() < 1e-9, "{:?} {:?}", there, back);
    }
}
