//! The choice of a server.

use proxy::{Balance, ServerChoice, ServerIndex, ServerPreference, Tried};

use super::{choose, rules, upstream, visit};

#[test]
fn in_turn_means_evenly_spread_by_weight() {
    let mut three = upstream(Balance::RoundRobin, &[5, 1, 1]);
    let turn: String = (0..14).map(|_| char::from(b'a' + visit(&mut three, 0))).collect();
    assert_eq!(turn, "aabacaaaabacaa");
}

#[test]
fn the_least_busy_one_for_its_weight_gets_the_request() {
    let mut three = upstream(Balance::Least, &[1, 1, 2]);
    let mut counts = [0; 3];
    for _ in 0..40 {
        counts[usize::from(choose(&mut three, &ServerPreference::default(), 0))] += 1;
    }
    assert!((9..=11).contains(&counts[0]) && (9..=11).contains(&counts[1]), "{counts:?}");
    // With nothing to do, by weight.
    let mut three = upstream(Balance::Least, &[1, 1, 2]);
    let to_last = (0..4000).filter(|_| visit(&mut three, 0) == 2).count();
    assert!((1800..2200).contains(&to_last), "{to_last}");
}

#[test]
fn two_choices_keep_the_load_even() {
    let mut ten = upstream(Balance::TwoChoices, &[1; 10]);
    let mut counts = [0_i32; 10];
    for _ in 0..1000 {
        counts[usize::from(choose(&mut ten, &ServerPreference::default(), 0))] += 1;
    }
    // One choice alone would differ by some 60.
    let (most, least) = (counts.iter().max().unwrap(), counts.iter().min().unwrap());
    assert!(most - least <= 8, "{counts:?}");
}

#[test]
fn two_choices_follow_weights_when_nobody_is_busy() {
    let mut two = upstream(Balance::TwoChoices, &[3, 1, 1, 1]);
    let first = (0..6000).filter(|_| visit(&mut two, 0) == 0).count();
    // The first of the two wins a tie, and it is the heavy one in half of all cases.
    assert!((2700..3300).contains(&first), "{first}");
}

#[test]
fn a_key_stays_at_its_server_when_others_come_and_go() {
    let key = |number: u32| ServerPreference {
        key: Some(proxy::hash(&number.to_le_bytes())),
        ..ServerPreference::default()
    };
    let mut four = upstream(Balance::Hash, &[1; 4]);
    let mut three = upstream(Balance::Hash, &[1; 3]);
    let mut counts = [0; 4];
    for number in 0..4000 {
        let of_four = choose(&mut four, &key(number), 0);
        four.release(ServerIndex(of_four));
        counts[usize::from(of_four)] += 1;
        let of_three = choose(&mut three, &key(number), 0);
        three.release(ServerIndex(of_three));
        assert!(of_four == of_three || of_four == 3, "{number}: {of_four}, {of_three}");
    }
    assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
}

#[test]
fn weights_are_shares_of_keys() {
    let mut two = upstream(Balance::Hash, &[3, 1]);
    let to_first = (0_u32..4000).filter(|number| {
        let wish = ServerPreference {
            key: Some(proxy::hash(&number.to_le_bytes())),
            ..ServerPreference::default()
        };
        let chosen = choose(&mut two, &wish, 0);
        two.release(ServerIndex(chosen));
        chosen == 0
    });
    let to_first = to_first.count();
    assert!((2900..3100).contains(&to_first), "{to_first}");
}

#[test]
fn a_sticky_request_goes_to_its_server_if_that_has_a_place() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    let wish = ServerPreference { sticky: Some(ServerIndex(1)), ..ServerPreference::default() };
    assert_eq!([choose(&mut two, &wish, 0), choose(&mut two, &wish, 0)], [1, 1]);
    let mut few = rules(Balance::RoundRobin, &[1, 1]);
    few.connections = 1;
    let mut two = proxy::Upstream::<u32>::new(few, 7, 0);
    assert_eq!([choose(&mut two, &wish, 0), choose(&mut two, &wish, 0)], [1, 0]);
    assert_eq!(two.choose(0, &wish, 0), ServerChoice::Full);
}

#[test]
fn a_server_that_was_tried_is_not_tried_again() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    let mut tried = Tried::default();
    tried.add(ServerIndex(0));
    let wish = ServerPreference { tried, ..ServerPreference::default() };
    assert_eq!([choose(&mut two, &wish, 0), choose(&mut two, &wish, 0)], [1, 1]);
    tried.add(ServerIndex(1));
    assert_eq!(
        two.choose(0, &ServerPreference { tried, ..ServerPreference::default() }, 0),
        ServerChoice::Nobody
    );
}
