//! Owns the run: which cases are played, on how many threads, and the report. Does not know the meaning of a case.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::case::{Case, CaseHead};
use crate::escape::quote;
use crate::facts::Facts;
use crate::judge::judge;
use crate::limits::THREADS_MAX;
use crate::play::play;
use crate::report::{CaseFailure, CaseReport, CaseResult, ConformanceReport};
use crate::suite::{Suite, SuiteCase};
use crate::target::{Options, TestedServer};

/// Plays the embedded suite against a server.
pub fn run(target: &TestedServer, options: &Options) -> ConformanceReport {
    let suite = Suite::embedded().expect("a test of this crate reads the embedded suite");
    run_suite(&suite, target, options)
}

/// Plays a suite against a server.
pub fn run_suite(suite: &Suite, target: &TestedServer, options: &Options) -> ConformanceReport {
    let facts = Facts::learn(target, options);
    let reports = play_all(suite.cases(), options, |case| run_case(case, target, &facts, options));
    ConformanceReport::new("HTTP/1.1", target.address.to_string(), reports)
}

/// The reports of the chosen cases, in their order, each played by one of some threads.
pub(crate) fn play_all<C: SuiteCase>(
    cases: &[C],
    options: &Options,
    play: impl Fn(&C) -> CaseReport + Sync,
) -> Vec<CaseReport> {
    let cases: Vec<&C> = cases.iter().filter(|case| wanted(&case.head(), options)).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut reports = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else { return reports };
            reports.push((index, play(case)));
        }
    };
    let mut reports = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..options.threads.clamp(1, THREADS_MAX)).map(|_| scope.spawn(worker)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.flat_map(|reports| reports.expect("a worker never panics")).collect::<Vec<_>>()
    });
    reports.sort_by_key(|(index, _)| *index);
    reports.into_iter().map(|(_, report)| report).collect()
}

fn wanted(case: &CaseHead<'_>, options: &Options) -> bool {
    let named = options.only.is_empty() || options.only.iter().any(|part| case.id.contains(part));
    named && (options.levels.is_empty() || options.levels.contains(&case.level))
}

fn run_case(case: &Case, target: &TestedServer, facts: &Facts, options: &Options) -> CaseReport {
    let lack = case.needs.iter().find_map(|need| facts.lacks(*need, options));
    let (outcome, [sent, received]) = match lack {
        Some(reason) => (CaseResult::Skipped { reason }, Default::default()),
        None => outcome_of(case, target, facts, options),
    };
    CaseReport::new(&case.head(), outcome, [sent, received])
}

/// The outcome, what was sent, and what was received.
fn outcome_of(
    case: &Case,
    target: &TestedServer,
    facts: &Facts,
    options: &Options,
) -> (CaseResult, [String; 2]) {
    let failed = |expected, problem| CaseResult::Failed(CaseFailure { expected, problem });
    let played = match play(case, target, facts, options) {
        Ok(played) => played,
        Err(error) => {
            return (failed("a connection".to_owned(), error.to_string()), Default::default());
        }
    };
    let outcome = match judge(case, &played, facts) {
        Ok(()) => CaseResult::Passed,
        Err(complaint) => failed(complaint.expected, complaint.problem),
    };
    (outcome, [quote(&played.sent), quote(&played.received)])
}
