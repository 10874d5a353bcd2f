//! Each rule of the verdict, on both sides of its limit.

use bench::host::HostFacts;
use bench::report::{
    EncryptionPlanReport, Ended, Measured, PlanReport, ReasonCode, Report, ResultTrust,
    RunMeasured, StageReport,
};
use bench::tally::{FailureKind, Loop, Opening, Tally};

use crate::report::sample::{
    SECOND_NS, closed_plan, closed_run, encrypt, encryption_plan, host, measured, of, open,
    open_plan, open_run, send_and_answer, stage,
};

/// The reasons against a run, and the notes.
fn codes(measured: Measured) -> (Vec<ReasonCode>, Vec<ReasonCode>) {
    let verdict = Report::of(measured).verdict;
    assert_eq!(verdict.state == ResultTrust::Valid, verdict.reasons.is_empty());
    let of = |reasons: &[bench::report::VerdictReason]| {
        reasons.iter().map(|reason| reason.code).collect()
    };
    (of(&verdict.reasons), of(&verdict.notes))
}

/// The codes after one change to a good run.
fn after(
    plan: PlanReport,
    mut run: RunMeasured,
    change: impl Fn(&mut RunMeasured),
) -> Vec<ReasonCode> {
    change(&mut run);
    codes(of(plan, vec![run])).0
}

fn after_closed(change: impl Fn(&mut RunMeasured)) -> Vec<ReasonCode> {
    after(closed_plan(), closed_run(), change)
}

#[test]
fn a_good_run_is_valid_and_needs_no_remark() {
    assert_eq!(codes(of(closed_plan(), vec![closed_run()])), (Vec::new(), Vec::new()));
    assert_eq!(codes(of(open_plan(), vec![open_run()])), (Vec::new(), Vec::new()));
}

#[test]
fn a_handshake_that_fails_counts_against_it_and_what_was_not_checked_or_resumed_is_noted() {
    let encrypted = |change: &dyn Fn(&mut PlanReport)| {
        let mut plan = open_plan();
        plan.tls = Some(encryption_plan());
        change(&mut plan);
        let mut run = open_run();
        encrypt(&mut run.tally);
        codes(of(plan, vec![run]))
    };
    let failed = vec![ReasonCode::HandshakesFailed];
    assert_eq!(encrypted(&|_| {}), (failed.clone(), Vec::new()), "kept connections");
    let resuming = |plan: &mut PlanReport| plan.requests_per_connection = Some(1);
    assert_eq!(encrypted(&resuming), (failed.clone(), vec![ReasonCode::NotResumed]), "1 of 4");
    let full = |plan: &mut PlanReport| {
        resuming(plan);
        let unchecked = EncryptionPlanReport {
            insecure: true,
            handshakes: "full".to_owned(),
            ..encryption_plan()
        };
        plan.tls = Some(unchecked);
    };
    assert_eq!(encrypted(&full), (failed, vec![ReasonCode::NotChecked]));
}

#[test]
fn a_busy_generator_counts_against_it_unless_the_server_was_busy_too() {
    let busy = |cpu_ns: u64| {
        move |run: &mut RunMeasured| {
            run.generator[0].cpu_ns = cpu_ns;
            run.generator[0].spun_ns = 50_000_000;
        }
    };
    // 950 ms of which 50 were spinning: exactly 90 %.
    assert_eq!(after_closed(busy(950_000_000)), []);
    assert_eq!(after_closed(busy(951_000_000)), [ReasonCode::GeneratorBusy]);
    let server_busy = |run: &mut RunMeasured| {
        busy(999_000_000)(run);
        run.server.as_mut().unwrap().busiest_thread_ns = 901_000_000;
    };
    assert_eq!(after_closed(server_busy), []);
    let server_unseen = |run: &mut RunMeasured| {
        busy(999_000_000)(run);
        run.server = None;
    };
    assert_eq!(after_closed(server_unseen), [ReasonCode::GeneratorBusy]);
    let one_of_two = |run: &mut RunMeasured| {
        run.generator.push(run.generator[0]);
        run.generator[1].cpu_ns = 999_000_000;
    };
    assert_eq!(after_closed(one_of_two), [ReasonCode::GeneratorBusy]);
}

#[test]
fn threads_that_share_a_core_share_its_bound() {
    let two = |core: u32| {
        after_closed(move |run| {
            run.generator[0].cpu_ns = 500_000_000;
            run.generator[0].spun_ns = 0;
            run.generator.push(run.generator[0]);
            run.generator[1].core = Some(core);
        })
    };
    assert_eq!(two(2), [], "each has half of its own");
    assert_eq!(two(1), [ReasonCode::GeneratorBusy], "they have one together");
}

#[test]
fn a_generator_that_waits_for_its_core_counts_against_a_closed_loop() {
    let waits = |waited_ns: u64, longest_wait_ns: u64| {
        move |run: &mut RunMeasured| {
            run.generator[0].waited_ns = waited_ns;
            run.generator[0].longest_wait_ns = longest_wait_ns;
        }
    };
    assert_eq!(after_closed(waits(100_000_000, 10_000_000)), []);
    assert_eq!(after_closed(waits(100_000_001, 10_000_000)), [ReasonCode::Starved]);
    assert_eq!(after_closed(waits(10_000_001, 10_000_001)), [ReasonCode::Starved], "at a stretch");
    // In an open loop lateness shows it, and a thread that polls loses nothing while it waits.
    assert_eq!(after(open_plan(), open_run(), waits(500_000_000, 400_000_000)), []);
}

#[test]
fn a_rate_that_was_not_kept_counts_against_it() {
    let unsent = |before: u64, after: u64| {
        move |run: &mut RunMeasured| {
            run.tally.unsent_start = before;
            run.tally.unsent_end = after;
        }
    };
    assert_eq!(open_run().tally.asked, 1000);
    let changed = |before, late| after(open_plan(), open_run(), unsent(before, late));
    assert_eq!(changed(0, 10), []);
    assert_eq!(changed(0, 11), [ReasonCode::RateMissed]);
    assert_eq!(changed(500, 510), [], "as many waited before");
}

#[test]
fn ages_of_what_was_left_are_response_times_and_noted() {
    let mut run = open_run();
    (0..11).for_each(|_| run.tally.leave(100 * SECOND_NS, 103 * SECOND_NS));
    let report = Report::of(of(open_plan(), vec![run]));
    assert_eq!(report.runs[0].response.max_ns / 100_000_000, 30);
    assert_eq!(report.runs[0].requests.answered, 1000);
    let codes: Vec<_> = report.verdict.notes.iter().map(|note| note.code).collect();
    assert_eq!(codes, [ReasonCode::LeftOver]);
    let mut closed = closed_run();
    let count = closed.tally.response().count();
    closed.tally.leave(100 * SECOND_NS, 103 * SECOND_NS);
    assert_eq!(closed.tally.response().count(), count, "service times are of whole answers");
}

#[test]
fn a_server_without_a_core_is_noted() {
    let mut run = closed_run();
    run.server.as_mut().unwrap().longest_waiting_thread_ns = 50_000_001;
    assert_eq!(codes(of(closed_plan(), vec![run])), (vec![], vec![ReasonCode::ServerWaited]));
}

#[test]
fn held_connections_may_be_asked_later_than_others() {
    let held = PlanReport { verb: "hold".to_owned(), ..open_plan() };
    assert_eq!(after(held.clone(), late_run(19_000_000), |_| ()), []);
    assert_eq!(after(held, late_run(21_000_000), |_| ()), [ReasonCode::SentLate]);
}

#[test]
fn failures_and_connects_are_time_under_way() {
    // Three of four connections waited for an answer that never came.
    let failing = |failed_ns: u64| {
        after_closed(move |run| {
            run.wall_ns *= 4;
            run.clock.monotonic_ns = run.wall_ns;
            run.clock.realtime_ns = i64::try_from(run.wall_ns).unwrap();
            (0..3).for_each(|_| {
                run.tally.fail_sent(
                    FailureKind::Timeout,
                    100 * SECOND_NS,
                    100 * SECOND_NS + failed_ns,
                );
            });
        })
    };
    assert_eq!(failing(4 * SECOND_NS), [], "four seconds each");
    assert_eq!(failing(0), [ReasonCode::LittlesLaw]);
}

/// An open loop in which one request in 50 was sent late.
fn late_run(late_ns: u64) -> RunMeasured {
    let mut tally = Tally::new(Loop::Open, 4, SECOND_NS);
    open(&mut tally, 4, 50_000);
    tally.begin(100 * SECOND_NS, Opening::Kept);
    for request in 0..1000u64 {
        send_and_answer(&mut tally, request, if request % 50 == 0 { late_ns } else { 1000 });
    }
    measured(tally, SECOND_NS)
}

#[test]
fn sends_later_than_due_count_against_it() {
    let late = |late_ns: u64| after(open_plan(), late_run(late_ns), |_| ());
    assert_eq!(late(99_000), [], "always allowed, however short the answers are");
    assert_eq!(late(150_000), [ReasonCode::SentLate], "more than a tenth of the response time");
}

#[test]
fn waiting_for_the_server_is_not_late() {
    let mut run = open_run();
    // The server stalled for half a second; the requests due in it were sent as soon as a connection was free.
    for request in 0..100u64 {
        let due_ns = 100 * SECOND_NS + request * 5_000_000;
        let sent_ns = 100 * SECOND_NS + 500_000_000;
        run.tally.ask();
        run.tally.send(bench::tally::Sending { due_ns, free_ns: sent_ns, sent_ns });
        let answered_ns = sent_ns + 100_000;
        run.tally.answer(bench::tally::Answering { due_ns, sent_ns, answered_ns });
    }
    let report = Report::of(of(open_plan(), vec![run]));
    assert_eq!(report.verdict.reasons, []);
    assert!(report.runs[0].response.p99_ns > 400_000_000, "the response times show the stall");
    assert!(report.runs[0].service.p99_ns < 101_000, "the service times do not");
    assert_eq!(report.runs[0].requests.waited, 100);
}

#[test]
fn missing_connections_count_against_it() {
    let missing = after_closed(|run| run.tally.connections.asked = 5);
    assert_eq!(missing, [ReasonCode::ConnectionsMissing]);
}

#[test]
fn clocks_count_against_it() {
    assert_eq!(after_closed(|run| run.clock.went_back = 1), [ReasonCode::Clock]);
    assert_eq!(after_closed(|run| run.clock.realtime_ns += 100_000_000), []);
    assert_eq!(after_closed(|run| run.clock.realtime_ns += 100_000_001), [ReasonCode::Clock]);
    assert_eq!(after_closed(|run| run.clock.realtime_ns = -1), [ReasonCode::Clock]);
    let with_source = |source: &str| {
        let host = HostFacts { clock_source: Some(source.to_owned()), ..host() };
        codes(Measured { host, ..of(closed_plan(), vec![closed_run()]) })
    };
    assert_eq!(with_source("refined-jiffies"), (vec![ReasonCode::Clock], vec![]));
    assert_eq!(with_source("hpet"), (vec![], vec![ReasonCode::Clock]));
    assert_eq!(with_source("kvm-clock"), (vec![], vec![]));
}

#[test]
fn stolen_time_counts_against_it() {
    assert_eq!(after_closed(|run| run.steal_share = Some(0.01)), []);
    assert_eq!(after_closed(|run| run.steal_share = Some(0.0101)), [ReasonCode::Steal]);
    assert_eq!(after_closed(|run| run.steal_share = None), []);
}

#[test]
fn a_contradiction_with_littles_law_counts_against_it() {
    // Four requests in flight by the times; the tolerance is 1.204.
    let with_length = |wall_ns: u64| {
        after_closed(|run| {
            run.wall_ns = wall_ns;
            run.clock.monotonic_ns = wall_ns;
            run.clock.realtime_ns = i64::try_from(wall_ns).unwrap();
        })
    };
    assert_eq!(with_length(SECOND_NS * 4 / 5 + 1_000_000), [], "4.99 under way");
    assert_eq!(with_length(SECOND_NS * 3 / 4), [ReasonCode::LittlesLaw], "5.33 under way");
    assert_eq!(with_length(SECOND_NS * 4 / 3), [], "3.00 under way");
    assert_eq!(with_length(SECOND_NS * 3 / 2), [ReasonCode::LittlesLaw], "2.67 under way");
    // A pipeline that is refilled as a whole uses less than its depth, but never more.
    let mut plan = closed_plan();
    plan.pipeline = 2;
    assert_eq!(after(plan.clone(), closed_run(), |_| ()), []);
    let crowded = |run: &mut RunMeasured| {
        run.wall_ns = SECOND_NS / 3;
        run.clock = bench::report::ClockBehaviour::default();
    };
    assert_eq!(after(plan, closed_run(), crowded), [ReasonCode::LittlesLaw], "12 of 8");
}

#[test]
fn every_reason_is_told_and_names_its_run() {
    let mut bad = closed_run();
    bad.steal_share = Some(0.5);
    bad.clock.went_back = 3;
    let verdict = Report::of(of(closed_plan(), vec![closed_run(), bad])).verdict;
    let told: Vec<_> =
        verdict.reasons.iter().map(|reason| (reason.run, reason.text.as_str())).collect();
    let expected = [
        (Some(2), "the monotonic clock went back 3 times"),
        (
            Some(2),
            "the hypervisor gave 50.0 % of the time of a core in use to others (at most 1.0 %)",
        ),
    ];
    assert_eq!(told, expected);
}

#[test]
fn without_answers_nothing_is_valid() {
    let empty = measured(Tally::new(Loop::Closed, 0, SECOND_NS), SECOND_NS);
    assert_eq!(codes(of(closed_plan(), vec![empty])).0, [ReasonCode::NothingAnswered]);
    assert_eq!(codes(of(closed_plan(), Vec::new())).0, [ReasonCode::NothingAnswered]);
}

#[test]
fn report_notes_conditions_that_qualify_the_result() {
    let mut run = closed_run();
    run.tally.fail(FailureKind::Reset, 100 * SECOND_NS);
    run.generator[0].waited_ns = 51_000_000;
    open(&mut run.tally, 1, 61 * SECOND_NS);
    run.tally.spent = bench::tally::SpentTime::default();
    let measured = Measured { ended: Ended::Interrupted, ..of(closed_plan(), vec![run]) };
    let expected = [
        ReasonCode::Interrupted,
        ReasonCode::CoreShared,
        ReasonCode::Failures,
        ReasonCode::Clamped,
    ];
    assert_eq!(codes(measured), (Vec::new(), expected.to_vec()));
}

/// An open loop that answers a request every 0.9 ms, except for a pause.
fn pausing(from: u64, to: u64) -> RunMeasured {
    let mut tally = Tally::new(Loop::Open, 4, SECOND_NS);
    open(&mut tally, 4, 50_000);
    tally.begin(100 * SECOND_NS, Opening::Kept);
    for request in (0..1000).filter(|request| !(from..to).contains(request)) {
        send_and_answer(&mut tally, request, 1000);
    }
    measured(tally, SECOND_NS)
}

#[test]
fn a_pause_of_a_tenth_of_a_second_is_noted() {
    let notes = |run| Report::of(of(open_plan(), vec![run])).verdict.notes;
    assert_eq!(notes(pausing(0, 0)), []);
    // The pause must contain a whole tenth of a second.
    assert_eq!(notes(pausing(410, 550)), []);
    let told = notes(pausing(310, 510));
    assert_eq!((told.len(), told[0].code), (1, ReasonCode::Stalled));
    assert_eq!(told[0].text, "nothing was answered for 100 ms, 300 ms after the begin");
}

#[test]
fn a_pause_that_was_asked_for_is_not_noted() {
    let stage = |per_second, tenths| StageReport {
        duration_ns: tenths * SECOND_NS / 10,
        ..stage(per_second, per_second)
    };
    let notes = |stages| {
        let plan = PlanReport { stages, ..open_plan() };
        Report::of(of(plan, vec![pausing(310, 750)])).verdict.notes
    };
    let paused = notes(vec![stage(1000.0, 3), stage(0.0, 4), stage(1000.0, 3)]);
    assert_eq!(paused, []);
    let told = notes(vec![stage(1000.0, 3), stage(0.0, 1), stage(1000.0, 6)]);
    assert_eq!(told[0].text, "nothing was answered for 200 ms, 400 ms after the begin");
}
