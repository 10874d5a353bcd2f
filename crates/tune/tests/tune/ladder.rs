//! Goal: a ladder keeps what is better, reverts what is not, discards invalid runs, and reports the gain of each step.
//! Method: results made from a recorded one, so that nothing depends on the host.

use bench::report::{Ended, Report};
use tune::ladder::{
    ClimbError, Conclusion, LadderReport, Rung, StateOutcome, Title, climb, write_html, write_text,
};

const ROUNDS: u32 = 5;

/// A valid result with this many requests per second; `turn` makes all of them differ slightly.
fn result(rate: f64, turn: u32) -> Report {
    let mut report = Report::from_json(include_str!("ladder/report.json")).unwrap();
    report.runs[0].rate_per_s = rate * (1.0 + f64::from(turn % 7) / 1_000.0);
    report
}

fn invalid() -> Report {
    let text = include_str!("ladder/report.json").replacen("\"valid\"", "\"invalid\"", 1);
    Report::from_json(&text).unwrap()
}

fn rungs(names: &[&str]) -> Vec<Rung> {
    names.iter().map(|name| Rung::of_words(&format!("{name}: --{name}")).unwrap()).collect()
}

/// Runs a ladder with a rate for each state; `None` cannot be set up.
fn climbed(
    names: &[&str],
    mut rate: impl FnMut(&[usize]) -> Option<f64>,
) -> Result<LadderReport, ClimbError<()>> {
    let mut turn = 0;
    let title = Title {
        command: ["velodrome", "--step", "a: --b"].map(str::to_owned).to_vec(),
        server: "server".to_owned(),
    };
    climb(&rungs(names), ROUNDS, title, |state, _| {
        turn += 1;
        Ok(match rate(state) {
            Some(rate) => StateOutcome::Measured(Box::new(result(rate, turn))),
            None => StateOutcome::Refused("it is read-only".to_owned()),
        })
    })
}

fn conclusions(report: &LadderReport) -> Vec<Conclusion> {
    report.steps.iter().map(|step| step.conclusion).collect()
}

#[test]
fn ladder_keeps_gains_and_reverts_the_rest() {
    let mut seen = Vec::new();
    let report = climbed(&["fast", "nothing", "slow", "missing", "more"], |state| {
        seen.push(state.to_vec());
        let has = |step| state.contains(&step);
        if has(3) {
            return None;
        }
        let factors = [(0, 2.0), (2, 0.5), (4, 1.5)];
        Some(factors.iter().filter(|(step, _)| has(*step)).fold(1_000.0, |rate, (_, by)| rate * by))
    });
    let report = report.unwrap();
    assert_eq!(
        conclusions(&report),
        [
            Conclusion::Kept,
            Conclusion::NoDifference,
            Conclusion::Worse,
            Conclusion::Refused,
            Conclusion::Kept
        ]
    );
    // Each is measured on top of the kept ones, and alternately with them.
    assert_eq!(seen[10..12], [vec![], vec![0]]);
    assert_eq!(seen[20..22], [vec![0], vec![0, 1]]);
    assert!(!seen.contains(&vec![0, 1, 2]));
    let factor = |comparison: &bench::compare::Comparison| {
        let rate = comparison.figures.iter().find(|figure| figure.figure == "rate").unwrap();
        (rate.ratio.unwrap() * 10.0).round() / 10.0
    };
    assert_eq!(factor(report.total.as_ref().unwrap()), 3.0);
    let without: Vec<(&str, f64)> =
        report.without.iter().map(|one| (&*one.name, factor(&one.comparison))).collect();
    assert_eq!(without, [("fast", 0.5), ("more", 0.7)]);
    assert_eq!(report.ended, Ended::Complete);
    let mut text = String::new();
    write_text(&report, &mut text).unwrap();
    for words in [
        "x2.00 (",
        "no significant difference, taken back",
        "x0.50",
        "it is read-only",
        "p99 CPU/request  against",
    ] {
        assert!(text.contains(words), "{words} in {text}");
    }
    let page = write_html(&report);
    assert!(page.contains("velodrome --step &#39;a: --b&#39;"), "a line that can be typed: {page}");
    assert!(
        page.contains("<figure><div><svg") && page.contains("missing") && !page.contains("<script")
    );
}

#[test]
fn a_run_that_is_not_valid_is_measured_again_or_thrown_away() {
    let title = Title { command: Vec::new(), server: "server".to_owned() };
    let mut runs = 0;
    let report = climb(&rungs(&["fast"]), ROUNDS, title.clone(), |state, _| {
        runs += 1;
        // An invalid result shows a gain that does not exist.
        let outcome = match (state.is_empty(), runs % 4) {
            (false, 0) => invalid(),
            _ => result(1_000.0, runs),
        };
        Ok::<_, ()>(StateOutcome::Measured(Box::new(outcome)))
    });
    let report = report.unwrap();
    assert_eq!(conclusions(&report), [Conclusion::NoDifference]);
    assert!(report.steps[0].thrown_away > 0);
    let side = &report.steps[0].comparison.as_ref().unwrap().second;
    assert_eq!((side.runs, side.reasons.len()), (u64::from(ROUNDS), 0));

    let report = climb(&rungs(&["never"]), ROUNDS, title.clone(), |state, _| {
        let outcome = if state.is_empty() { result(1_000.0, 1) } else { invalid() };
        Ok::<_, ()>(StateOutcome::Measured(Box::new(outcome)))
    });
    assert_eq!(conclusions(&report.unwrap()), [Conclusion::TooFewRuns]);

    let report = climb(&rungs(&["a"]), ROUNDS, title, |_, _| {
        Ok::<_, ()>(StateOutcome::Measured(Box::new(invalid())))
    });
    assert!(matches!(report, Err(ClimbError::Invalid(_))));
}

#[test]
fn stopped_ladder_reports_measurements_so_far() {
    for after in [0, 3, 12, 25] {
        let mut runs = 0;
        let title = Title { command: Vec::new(), server: "server".to_owned() };
        let report = climb(&rungs(&["a", "b"]), ROUNDS, title, |state, _| {
            runs += 1;
            let rate = 1_000.0 * (1.0 + state.len() as f64);
            Ok::<_, ()>(match runs <= after {
                true => StateOutcome::Measured(Box::new(result(rate, runs))),
                false => StateOutcome::Stopped,
            })
        });
        match (after, report) {
            (0, report) => assert!(matches!(report, Err(ClimbError::Stopped))),
            (_, report) => {
                let report = report.unwrap();
                assert_eq!(report.ended, Ended::Interrupted);
                assert_eq!(report.steps.len(), if after == 25 { 1 } else { 0 });
            }
        }
        assert_eq!(runs, after + 1, "nothing is measured behind it");
    }
}

#[test]
fn a_server_that_does_not_run_is_no_ladder() {
    let report = climbed(&["a"], |_| None);
    assert!(matches!(report, Err(ClimbError::Baseline(why)) if why == "it is read-only"));
}
