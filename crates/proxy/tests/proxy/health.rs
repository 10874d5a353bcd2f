//! Failures, pauses, and the last server.

use proxy::{
    Balance, Checks, HealthCheck, HealthReason, Readiness, RequestOutcome, ServerChoice,
    ServerIndex, ServerPreference, ServerStanding, Upstream,
};

use super::{SECOND, choose, rules, upstream, visit};

/// A request that goes to this server, and its outcome.
fn meet(upstream: &mut Upstream<u32>, server: u8, outcome: RequestOutcome, now_ns: u64) {
    let wish =
        ServerPreference { sticky: Some(ServerIndex(server)), ..ServerPreference::default() };
    assert_eq!(choose(upstream, &wish, now_ns), server);
    upstream.judge(ServerIndex(server), outcome, now_ns);
    upstream.release(ServerIndex(server));
}

fn fail(upstream: &mut Upstream<u32>, server: u8, times: u32, now_ns: u64) {
    for _ in 0..times {
        meet(upstream, server, RequestOutcome::Failed, now_ns);
    }
}

const ANSWERED: RequestOutcome = RequestOutcome::Answered { first_byte_ns: 1 };

fn standing(upstream: &Upstream<u32>, server: usize) -> ServerStanding {
    upstream.views().nth(server).unwrap().standing
}

#[test]
fn failures_in_a_row_pause_a_server_and_an_answer_between_them_does_not() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    fail(&mut two, 0, 2, 0);
    meet(&mut two, 0, ANSWERED, 0);
    fail(&mut two, 0, 2, 0);
    assert_eq!(standing(&two, 0), ServerStanding::Up);
    fail(&mut two, 0, 1, 5);
    assert_eq!(standing(&two, 0), ServerStanding::Paused { until_ns: 5 + 10 * SECOND });
    let view = two.views().next().unwrap();
    assert_eq!((view.reason, view.since_ns, view.failures), (HealthReason::Failures, 5, 5));
    assert!((0..10).all(|_| visit(&mut two, 9 * SECOND) == 1));
}

#[test]
fn after_a_pause_one_request_tries_a_server() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    fail(&mut two, 0, 3, 0);
    let now_ns = 10 * SECOND;
    let first: Vec<u8> =
        (0..6).map(|_| choose(&mut two, &ServerPreference::default(), now_ns)).collect();
    assert_eq!(first.iter().filter(|server| **server == 0).count(), 1, "{first:?}");
    assert_eq!(standing(&two, 0), ServerStanding::OnTrial);
    two.judge(ServerIndex(0), ANSWERED, now_ns);
    assert_eq!(standing(&two, 0), ServerStanding::Up);
    assert_eq!(two.views().next().unwrap().reason, HealthReason::Answered);
}

/// A server that sends a head and then breaks off its answer.
#[test]
fn answers_that_break_off_pause_a_server_although_their_heads_came() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    let to_first = ServerPreference { sticky: Some(ServerIndex(0)), ..ServerPreference::default() };
    let mut break_off = |times: u32, now_ns: u64| {
        for _ in 0..times {
            assert_eq!(choose(&mut two, &to_first, now_ns), 0);
            two.on_head(ServerIndex(0), 1, now_ns);
            two.judge(ServerIndex(0), RequestOutcome::Cut, now_ns);
            two.release(ServerIndex(0));
        }
        standing(&two, 0)
    };
    assert_eq!(break_off(2, 0), ServerStanding::Up);
    assert_eq!(break_off(1, 0), ServerStanding::Paused { until_ns: 10 * SECOND });
    // The head ends a trial, and its end begins the next pause, which is longer.
    assert_eq!(break_off(1, 10 * SECOND), ServerStanding::Paused { until_ns: 30 * SECOND });
    meet(&mut two, 0, ANSWERED, 30 * SECOND);
    assert_eq!(standing(&two, 0), ServerStanding::Up);
}

/// The end of an answer may be hours away, as of an event stream.
#[test]
fn a_head_ends_a_row_of_failures() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    fail(&mut two, 0, 2, 0);
    two.on_head(ServerIndex(0), 1, 0);
    fail(&mut two, 0, 2, 0);
    assert_eq!(standing(&two, 0), ServerStanding::Up);
}

#[test]
fn a_failed_trial_makes_the_pause_longer_up_to_a_limit() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    fail(&mut two, 0, 3, 0);
    let mut lengths = Vec::new();
    for _ in 0..8 {
        let ServerStanding::Paused { until_ns } = standing(&two, 0) else { panic!("{two:?}") };
        fail(&mut two, 0, 1, until_ns);
        let ServerStanding::Paused { until_ns: next_ns } = standing(&two, 0) else {
            panic!("{two:?}")
        };
        lengths.push((next_ns - until_ns) / SECOND);
    }
    assert_eq!(lengths, [20, 40, 80, 160, 320, 320, 320, 320]);
}

#[test]
fn a_trial_that_the_client_gives_up_says_nothing() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    fail(&mut two, 0, 3, 0);
    meet(&mut two, 0, RequestOutcome::Abandoned, 10 * SECOND);
    assert_eq!(standing(&two, 0), ServerStanding::Paused { until_ns: 10 * SECOND });
    meet(&mut two, 0, ANSWERED, 10 * SECOND);
    assert_eq!(standing(&two, 0), ServerStanding::Up);
}

#[test]
fn the_last_server_is_never_paused() {
    let mut one = upstream(Balance::TwoChoices, &[1]);
    fail(&mut one, 0, 100, 0);
    assert_eq!(standing(&one, 0), ServerStanding::Up);
    let mut two = upstream(Balance::TwoChoices, &[1, 1]);
    fail(&mut two, 0, 3, 0);
    fail(&mut two, 1, 100, 0);
    assert_eq!(standing(&two, 1), ServerStanding::Up);
    // Nor if the other one was drained.
    let mut two = upstream(Balance::TwoChoices, &[1, 1]);
    two.set_readiness(ServerIndex(1), Readiness::Drained, 0);
    fail(&mut two, 0, 100, 0);
    assert_eq!(standing(&two, 0), ServerStanding::Up);
}

#[test]
fn a_paused_server_is_better_than_none() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    fail(&mut two, 0, 3, 0);
    two.set_readiness(ServerIndex(1), Readiness::Drained, 0);
    assert_eq!(visit(&mut two, 1), 0);
    two.set_readiness(ServerIndex(0), Readiness::Drained, 0);
    assert_eq!(two.choose(0, &ServerPreference::default(), 1), ServerChoice::Nobody);
}

#[test]
fn slow_answers_are_failures_of_the_server() {
    let mut with_slow = rules(Balance::RoundRobin, &[1, 1]);
    with_slow.health.slow_ns = Some(SECOND);
    let mut two = Upstream::<u32>::new(with_slow, 7, 0);
    for first_byte_ns in [SECOND, SECOND + 1, SECOND + 1] {
        meet(&mut two, 0, RequestOutcome::Answered { first_byte_ns }, 0);
    }
    assert_eq!(standing(&two, 0), ServerStanding::Up);
    meet(&mut two, 0, RequestOutcome::Answered { first_byte_ns: SECOND + 1 }, 0);
    let view = two.views().next().unwrap();
    assert_eq!((view.reason, view.failures), (HealthReason::Slow, 0));
    assert_ne!(view.standing, ServerStanding::Up);
}

#[test]
fn a_fifth_of_the_requests_may_be_repeated() {
    let mut one = upstream(Balance::RoundRobin, &[1]);
    let saved = std::iter::from_fn(|| one.may_repeat().then_some(())).count();
    assert_eq!(saved, 10);
    let mut repeated = 0;
    for _ in 0..100 {
        visit(&mut one, 0);
        repeated += u32::from(one.may_repeat());
    }
    assert_eq!(repeated, 20);
}

#[test]
fn checks_pause_a_server_until_one_passes() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    let first = ServerIndex(0);
    for _ in 0..2 {
        two.on_check(first, HealthCheck::Failed, 1);
    }
    two.on_check(first, HealthCheck::Passed, 2);
    for _ in 0..2 {
        two.on_check(first, HealthCheck::Failed, 3);
    }
    assert_eq!(standing(&two, 0), ServerStanding::Up);
    two.on_check(first, HealthCheck::Failed, 4);
    assert_eq!(standing(&two, 0), ServerStanding::Paused { until_ns: u64::MAX });
    assert_eq!(two.views().next().unwrap().reason, HealthReason::CheckFailed);
    assert!((0..10).all(|_| visit(&mut two, 1000 * SECOND) == 1));
    // The other one is the last, and stays whatever the checks say.
    for _ in 0..10 {
        two.on_check(ServerIndex(1), HealthCheck::Failed, 5);
    }
    assert_eq!(standing(&two, 1), ServerStanding::Up);
    two.on_check(first, HealthCheck::Passed, 6);
    let view = two.views().next().unwrap();
    assert_eq!((view.standing, view.reason), (ServerStanding::Up, HealthReason::CheckPassed));
    // Now it is no longer the last.
    two.on_check(ServerIndex(1), HealthCheck::Failed, 7);
    assert_ne!(standing(&two, 1), ServerStanding::Up);
}

/// A program that shuts down fails its checks first, and finishes the requests that it has.
#[test]
fn an_answer_does_not_end_the_pause_of_checks() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    let first = ServerIndex(0);
    let to_first = ServerPreference { sticky: Some(first), ..ServerPreference::default() };
    assert_eq!(choose(&mut two, &to_first, 0), 0);
    for _ in 0..3 {
        two.on_check(first, HealthCheck::Failed, 1);
    }
    two.on_head(first, 1, 2);
    two.judge(first, ANSWERED, 2);
    two.release(first);
    assert_eq!(standing(&two, 0), ServerStanding::Paused { until_ns: u64::MAX });
    assert_eq!(two.views().next().unwrap().reason, HealthReason::CheckFailed);
    assert!((0..10).all(|_| visit(&mut two, 3) == 1));
    // Nor if it answers requests because there is no other server.
    two.set_readiness(ServerIndex(1), Readiness::Drained, 4);
    meet(&mut two, 0, ANSWERED, 4);
    assert_eq!(standing(&two, 0), ServerStanding::Paused { until_ns: u64::MAX });
    two.on_check(first, HealthCheck::Passed, 5);
    assert_eq!(standing(&two, 0), ServerStanding::Up);
}

/// A server may answer its checks and fail its requests.
#[test]
fn a_check_does_not_end_the_pause_of_failures() {
    let mut two = upstream(Balance::RoundRobin, &[1, 1]);
    fail(&mut two, 0, 3, 0);
    two.on_check(ServerIndex(0), HealthCheck::Passed, 1);
    assert_eq!(standing(&two, 0), ServerStanding::Paused { until_ns: 10 * SECOND });
}

/// A reload changes the rules of an upstream.
#[test]
fn a_server_stays_what_it_was_under_other_rules() {
    let mut old = upstream(Balance::RoundRobin, &[1, 1, 1]);
    for _ in 0..3 {
        old.on_check(ServerIndex(2), HealthCheck::Failed, 0);
    }
    fail(&mut old, 0, 3, 0);
    old.set_readiness(ServerIndex(1), Readiness::Drained, 0);
    let mut other = rules(Balance::Least, &[5, 5, 5]);
    other.servers.swap(0, 1);
    for checks in [Checks::Made, Checks::None] {
        let mut new = Upstream::<u32>::new(other.clone(), 7, 5);
        new.inherit(&old, checks);
        let views: Vec<_> = new.views().collect();
        assert_eq!(
            (views[0].readiness, views[0].standing),
            (Readiness::Drained, ServerStanding::Up)
        );
        assert_eq!(views[1].standing, ServerStanding::Paused { until_ns: 10 * SECOND });
        assert_eq!((views[1].requests, views[1].failures), (3, 3));
        // Without checks, none would end this pause.
        let waits = views[2].standing == ServerStanding::Paused { until_ns: u64::MAX };
        assert_eq!(waits, checks == Checks::Made);
        assert_eq!(new.open(), 0);
    }
}
