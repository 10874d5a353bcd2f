//! Requests that wait for a place.

use proxy::{
    Balance, LineFull, Readiness, RequestOutcome, ServerChoice, ServerIndex, ServerPreference,
    ServerStanding, Tried, Upstream,
};

use super::{SECOND, rules};

/// One server with one place, which is taken.
fn full() -> Upstream<u32> {
    let mut few = rules(Balance::Least, &[1]);
    few.connections = 1;
    let mut upstream = Upstream::new(few, 7, 0);
    assert_eq!(ask(&mut upstream, 0), ServerChoice::Server(ServerIndex(0)));
    upstream
}

fn ask(upstream: &mut Upstream<u32>, who: u32) -> ServerChoice {
    upstream.choose(who, &ServerPreference::default(), 0)
}

fn wait(upstream: &mut Upstream<u32>, who: u32, now_ns: u64) -> Result<(), LineFull> {
    upstream.wait(who, Tried::default(), now_ns)
}

fn release(upstream: &mut Upstream<u32>) -> Option<u32> {
    upstream.release(ServerIndex(0));
    upstream.call(0)
}

#[test]
fn requests_in_line_are_called_in_their_order() {
    let mut one = full();
    for who in 1..=3 {
        assert_eq!(ask(&mut one, who), ServerChoice::Full);
        assert_eq!(wait(&mut one, who, 0), Ok(()));
    }
    assert_eq!(release(&mut one), Some(1));
    // One that comes now has to wait although there is a place, because that was promised.
    assert_eq!(ask(&mut one, 9), ServerChoice::Full);
    assert_eq!(ask(&mut one, 2), ServerChoice::Full);
    assert_eq!(ask(&mut one, 1), ServerChoice::Server(ServerIndex(0)));
    assert_eq!((release(&mut one), one.waiting()), (Some(2), 2));
}

#[test]
fn a_full_line_refuses_the_next_request() {
    let mut one = full();
    for who in 1..=4 {
        assert_eq!(wait(&mut one, who, 0), Ok(()));
        assert_eq!(wait(&mut one, who, 0), Ok(()), "it waits already");
    }
    assert_eq!(wait(&mut one, 5, 0), Err(LineFull));
}

#[test]
fn one_that_leaves_loses_its_place_to_the_next() {
    let mut one = full();
    for who in 1..=3 {
        wait(&mut one, who, 0).unwrap();
    }
    one.leave(2);
    assert_eq!(release(&mut one), Some(1));
    assert_eq!(one.call(0), None, "there is one place");
    one.leave(1);
    assert_eq!(one.call(0), Some(3));
    assert_eq!(ask(&mut one, 3), ServerChoice::Server(ServerIndex(0)));
    assert_eq!(one.waiting(), 0);
}

#[test]
fn one_that_is_called_in_vain_is_first_again() {
    let mut one = full();
    wait(&mut one, 1, 0).unwrap();
    wait(&mut one, 2, 0).unwrap();
    one.set_readiness(ServerIndex(0), Readiness::Drained, 0);
    // There is no server for them: each is told.
    assert_eq!((one.call(0), one.call(0), one.call(0)), (Some(1), Some(2), None));
    assert_eq!(ask(&mut one, 2), ServerChoice::Nobody);
    one.leave(2);
    one.set_readiness(ServerIndex(0), Readiness::Ready, 0);
    wait(&mut one, 3, 0).unwrap();
    assert_eq!(ask(&mut one, 1), ServerChoice::Full);
    wait(&mut one, 1, 0).unwrap();
    assert_eq!(release(&mut one), Some(1));
}

/// Two servers with two places each; the second one has failed, and the first one is full.
fn with_paused() -> Upstream<u32> {
    let mut few = rules(Balance::RoundRobin, &[1, 1]);
    (few.connections, few.health.failures) = (2, 1);
    let mut two = Upstream::new(few, 7, 0);
    assert_eq!(ask(&mut two, 20), ServerChoice::Server(ServerIndex(0)));
    assert_eq!(ask(&mut two, 21), ServerChoice::Server(ServerIndex(1)));
    two.judge(ServerIndex(1), RequestOutcome::Failed, 0);
    two.release(ServerIndex(1));
    assert_eq!(ask(&mut two, 22), ServerChoice::Server(ServerIndex(0)));
    for who in 1..=4 {
        assert_eq!(ask(&mut two, who), ServerChoice::Full);
        wait(&mut two, who, SECOND).unwrap();
    }
    two
}

#[test]
fn a_server_that_comes_back_is_used_by_those_that_wait() {
    let mut two = with_paused();
    assert_eq!((two.call(0), two.due_ns(0)), (None, Some(10 * SECOND)));
    let now_ns = 10 * SECOND;
    // One request tries it, and once it was answered there are places for two more.
    assert_eq!((two.call(now_ns), two.call(now_ns)), (Some(1), None));
    assert_eq!(
        two.choose(1, &ServerPreference::default(), now_ns),
        ServerChoice::Server(ServerIndex(1))
    );
    assert_eq!((two.call(now_ns), two.due_ns(now_ns)), (None, Some(11 * SECOND)));
    two.on_head(ServerIndex(1), 1, now_ns);
    assert_eq!((two.call(now_ns), two.call(now_ns)), (Some(2), None));
    two.judge(ServerIndex(1), RequestOutcome::Answered { first_byte_ns: 1 }, now_ns);
    two.release(ServerIndex(1));
    assert_eq!((two.call(now_ns), two.call(now_ns)), (Some(3), None));
}

#[test]
fn one_whose_server_is_full_does_not_stop_those_behind_it() {
    let mut few = rules(Balance::RoundRobin, &[1, 1]);
    few.connections = 1;
    let mut two = Upstream::new(few, 7, 0);
    assert_eq!(ask(&mut two, 20), ServerChoice::Server(ServerIndex(0)));
    assert_eq!(ask(&mut two, 21), ServerChoice::Server(ServerIndex(1)));
    let mut tried = Tried::default();
    tried.add(ServerIndex(0));
    two.wait(1, tried, 0).unwrap();
    wait(&mut two, 2, 0).unwrap();
    two.release(ServerIndex(0));
    assert_eq!((two.call(0), two.call(0)), (Some(2), None));
    assert_eq!(ask(&mut two, 2), ServerChoice::Server(ServerIndex(0)));
    two.release(ServerIndex(1));
    assert_eq!(ask(&mut two, 3), ServerChoice::Full, "it came later");
    assert_eq!((two.call(0), two.call(0)), (Some(1), None));
}

#[test]
fn a_trial_without_an_end_lets_another_request_try_after_a_pause() {
    let mut two = with_paused();
    let now_ns = 10 * SECOND;
    assert_eq!(two.call(now_ns), Some(1));
    assert_eq!(
        two.choose(1, &ServerPreference::default(), now_ns),
        ServerChoice::Server(ServerIndex(1))
    );
    assert_eq!(two.call(now_ns), None);
    assert_eq!(two.views().nth(1).unwrap().standing, ServerStanding::OnTrial);
    assert_eq!((two.call(2 * now_ns), two.call(2 * now_ns)), (Some(2), None));
    assert_eq!(
        two.choose(2, &ServerPreference::default(), 2 * now_ns),
        ServerChoice::Server(ServerIndex(1))
    );
}

#[test]
fn one_that_waits_too_long_is_told() {
    let mut one = full();
    wait(&mut one, 1, 0).unwrap();
    wait(&mut one, 2, SECOND).unwrap();
    assert_eq!(one.due_ns(0), Some(10 * SECOND));
    assert_eq!(one.take_late(10 * SECOND - 1), None);
    assert_eq!(one.take_late(10 * SECOND), Some(1));
    assert_eq!(one.take_late(10 * SECOND), None);
    assert_eq!((one.due_ns(0), one.waiting()), (Some(11 * SECOND), 1));
}
