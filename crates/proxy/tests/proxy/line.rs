//! Requests that wait for a place.

use proxy::{Balance, Choice, LineFull, Readiness, ServerIndex, Upstream, Wish};

use super::{SECOND, rules};

/// One server with one place, which is taken.
fn full() -> Upstream<u32> {
    let mut few = rules(Balance::Least, &[1]);
    few.connections = 1;
    let mut upstream = Upstream::new(few, 7, 0);
    assert_eq!(ask(&mut upstream, 0), Choice::Server(ServerIndex(0)));
    upstream
}

fn ask(upstream: &mut Upstream<u32>, who: u32) -> Choice {
    upstream.choose(who, &Wish::default(), 0)
}

fn release(upstream: &mut Upstream<u32>) -> Option<u32> {
    upstream.release(ServerIndex(0))
}

#[test]
fn requests_in_line_are_called_in_their_order() {
    let mut one = full();
    for who in 1..=3 {
        assert_eq!(ask(&mut one, who), Choice::Full);
        assert_eq!(one.wait(who, 0), Ok(()));
    }
    assert_eq!(release(&mut one), Some(1));
    // One that comes now has to wait although there is a place, because that was promised.
    assert_eq!(ask(&mut one, 9), Choice::Full);
    assert_eq!(ask(&mut one, 2), Choice::Full);
    assert_eq!(ask(&mut one, 1), Choice::Server(ServerIndex(0)));
    assert_eq!((release(&mut one), one.waiting()), (Some(2), 2));
}

#[test]
fn a_full_line_refuses_the_next_request() {
    let mut one = full();
    for who in 1..=4 {
        assert_eq!(one.wait(who, 0), Ok(()));
        assert_eq!(one.wait(who, 0), Ok(()), "it waits already");
    }
    assert_eq!(one.wait(5, 0), Err(LineFull));
}

#[test]
fn one_that_leaves_loses_its_place_to_the_next() {
    let mut one = full();
    for who in 1..=3 {
        one.wait(who, 0).unwrap();
    }
    assert_eq!(one.leave(2), None);
    assert_eq!(release(&mut one), Some(1));
    assert_eq!(one.leave(1), Some(3));
    assert_eq!(ask(&mut one, 3), Choice::Server(ServerIndex(0)));
    assert_eq!((one.leave(3), one.waiting()), (None, 0));
}

#[test]
fn one_that_is_called_in_vain_is_first_again() {
    let mut one = full();
    one.wait(1, 0).unwrap();
    one.wait(2, 0).unwrap();
    // Called for a reason other than a place.
    assert_eq!(one.set_readiness(ServerIndex(0), Readiness::Ready, 0), [1, 2]);
    assert_eq!(ask(&mut one, 2), Choice::Full);
    one.wait(2, 0).unwrap();
    assert_eq!(ask(&mut one, 1), Choice::Full);
    one.wait(1, 0).unwrap();
    assert_eq!(release(&mut one), Some(1));
}

#[test]
fn one_that_waits_too_long_is_told() {
    let mut one = full();
    one.wait(1, 0).unwrap();
    one.wait(2, SECOND).unwrap();
    assert_eq!(one.due_ns(), Some(10 * SECOND));
    assert_eq!(one.take_late(10 * SECOND - 1), None);
    assert_eq!(one.take_late(10 * SECOND), Some(1));
    assert_eq!(one.take_late(10 * SECOND), None);
    assert_eq!((one.due_ns(), one.waiting()), (Some(11 * SECOND), 1));
}
