//! Each step of a search for a knee: what is the server's fault, and what is a fault of the measurement.
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

use bench::knee::{KneeFound, KneeReport, KneeStep, Objective, SearchResult, search, write_text};
use bench::report::{Percentile, ReasonCode, Report, ResultTrust, RunMeasured};
use bench::tally::{Answering, FailureKind, Loop, Opening, Sending, Tally};

use crate::report::sample::{SECOND_NS, measured, of, open_plan, open_run};

const OBJECTIVES: [Objective; 1] = [Objective { percentile: Percentile::P99, limit_ns: 5_000_000 }];

/// Half of the cores' time was stolen.
fn stolen(run: RunMeasured) -> RunMeasured {
    RunMeasured { steal_share: Some(0.5), ..run }
}

/// Answers take longer than the objective allows.
fn slow() -> RunMeasured {
    let mut run = open_run();
    for _ in 0..20 {
        let (due_ns, sent_ns) = (100 * SECOND_NS, 100 * SECOND_NS);
        run.tally.ask();
        run.tally.send(Sending { due_ns, free_ns: due_ns, sent_ns });
        run.tally.answer(Answering { due_ns, sent_ns, answered_ns: sent_ns + 50_000_000 });
    }
    run
}

/// Nothing listens: one request was tried.
fn refused() -> RunMeasured {
    let mut tally = Tally::new(Loop::Open, 1, SECOND_NS);
    tally.begin(100 * SECOND_NS, Opening::Kept);
    tally.ask();
    tally.fail(FailureKind::Connect, 100 * SECOND_NS);
    measured(tally, SECOND_NS)
}

fn report(run: RunMeasured) -> Report {
    Report::of(of(open_plan(), vec![run]))
}

fn step(run: RunMeasured) -> KneeStep {
    KneeStep::of(1000.0, &report(run), &OBJECTIVES)
}

#[test]
fn busy_host_makes_result_untrusted() {
    assert_eq!(step(open_run()).outcome, KneeFound::Held);
    assert_eq!(step(stolen(open_run())).outcome, KneeFound::Held, "it kept its time all the same");
    let step = step(stolen(slow()));
    assert_eq!(step.outcome, KneeFound::Untrusted);
    assert_eq!(step.reasons.len(), 1, "{:?}", step.reasons);
    assert!(step.reasons[0].starts_with("the hypervisor gave 50.0 %"), "{:?}", step.reasons);
}

#[test]
fn that_nobody_answered_is_a_fact_on_every_host_and_is_told_first() {
    let doubtful = report(stolen(refused()));
    let codes: Vec<_> = doubtful.verdict.reasons.iter().map(|reason| reason.code).collect();
    assert_eq!((codes[0], codes.last()), (ReasonCode::NothingAnswered, Some(&ReasonCode::Steal)));
    for run in [refused(), stolen(refused())] {
        let step = step(run);
        assert_eq!(step.outcome, KneeFound::Broken, "{:?}", step.reasons);
        assert!(step.reasons[0].starts_with("no request was answered"), "{:?}", step.reasons);
    }
    assert!(step(stolen(refused())).reasons.iter().any(|reason| reason.contains("hypervisor")));
}

#[test]
fn a_generator_that_hardly_asked_is_an_excuse_for_silence() {
    let mut run = refused();
    run.generator[0].cpu_ns = SECOND_NS;
    let step = step(run);
    assert_eq!(step.outcome, KneeFound::Untrusted);
    assert!(step.reasons[0].starts_with("no request was answered"), "{:?}", step.reasons);
}

/// Searches with these measurements in order; the last one is repeated.
fn concluded(runs: &[RunMeasured]) -> (ResultTrust, String) {
    let mut steps = Vec::new();
    let found: Result<SearchResult, std::fmt::Error> = search(1000.0, 1e6, |rate| {
        let run = &runs[steps.len().min(runs.len() - 1)];
        let step = KneeStep::of(rate, &report(run.clone()), &OBJECTIVES);
        let outcome = step.outcome;
        steps.push(step);
        Ok(outcome)
    });
    let found = found.unwrap();
    let first = report(runs[0].clone());
    let report = KneeReport::of(&OBJECTIVES, [1000.0, 1e6], found, first, steps);
    let mut text = String::new();
    write_text(&report, &mut text).unwrap();
    (report.state(), text.lines().last().unwrap().to_owned())
}

#[test]
fn a_search_that_met_nobody_says_so_whatever_the_host_did_meanwhile() {
    let silent = "INVALID: no request was answered at 1,000 requests/s, the lowest rate tried";
    let mut busy = refused();
    busy.generator[0].cpu_ns = SECOND_NS;
    for runs in [
        &[refused()][..],
        &[refused(), stolen(refused())],
        &[stolen(refused()), refused()],
        &[refused(), busy],
    ] {
        assert_eq!(concluded(runs), (ResultTrust::Invalid, silent.to_owned()));
    }
    // It has answered before: then the host is doubted.
    let (state, told) = concluded(&[stolen(slow())]);
    assert_eq!(state, ResultTrust::Invalid);
    assert!(told.contains("the generator or its host is the limit"), "{told}");
    // A server that ended after a good rate broke, on a busy host, too.
    let (state, told) = concluded(&[open_run(), stolen(refused())]);
    assert_eq!(state, ResultTrust::Valid);
    assert!(told.starts_with("KNEE: holds at 1,000 requests/s, broken at "), "{told}");
}
