//! A ladder: steps measured one after the other, each in alternation with the previous state.
//!
//! Owns the order of measurements and the conclusion about a step. The caller runs a server in a
//! state, and prepares a state. An invalid run is repeated or discarded; it never counts as a gain.

mod command;
mod html;
mod rung;
mod server;
mod state;
mod text;
mod turns;

use bench::compare::{Comparison, Difference, Judgement};
use bench::host::HostFacts;
use bench::report::{Ended, PlanReport, Report, Tool};
use serde::Serialize;

pub use command::{CommandLineError, command_line};
pub use html::write_html;
pub use rung::{Rung, RungChange, RungError};
pub use server::{LadderServer, ServerError};
pub use state::HostState;
pub use text::write_text;
use turns::Turns;

/// The outcome of one measurement in one state.
#[derive(Debug)]
pub enum StateOutcome {
    /// A report, valid or not.
    Measured(Box<Report>),
    /// The state cannot be set up, or the server does not run in it: the reason.
    Refused(String),
    /// The user ended it.
    Stopped,
}

/// The conclusion about a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// It is better, and is kept for the steps after it.
    Kept,
    /// No difference was found; it is reverted.
    NoDifference,
    /// It is worse, and is reverted.
    Worse,
    /// Too few valid runs for a conclusion; it is reverted.
    TooFewRuns,
    /// It cannot be set up here.
    Refused,
}

/// One step and its result.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    /// Its name.
    pub name: String,
    /// The change, in words.
    pub change: String,
    /// The conclusion.
    pub conclusion: Conclusion,
    /// The reason why it cannot be set up; empty if it can.
    pub refused: String,
    /// Runs that were invalid, and are not counted.
    pub thrown_away: u32,
    /// The reason of the first invalid run; empty if there is none.
    pub invalid: String,
    /// The state before it (A) and with it (B); null if it cannot be set up.
    pub comparison: Option<Comparison>,
}

/// All kept steps but one, compared with all of them.
#[derive(Clone, Debug, Serialize)]
pub struct WithoutReport {
    /// The step that is left out.
    pub name: String,
    /// All (A), and all without it (B).
    pub comparison: Comparison,
}

/// The report of a ladder.
#[derive(Clone, Debug, Serialize)]
pub struct LadderReport {
    /// The version of this format: 1.
    pub schema: u32,
    /// The program that wrote it.
    pub tool: Tool,
    /// The time it began, in seconds since 1970-01-01 00:00 UTC.
    pub begun_unix_s: u64,
    /// The command line of `velodrome tune`, word by word.
    pub command: Vec<String>,
    /// The server's command line, without any step.
    pub server: String,
    /// The load of each run.
    pub plan: PlanReport,
    /// Where it ran.
    pub host: HostFacts,
    /// Runs of each side of each comparison.
    pub rounds: u32,
    /// Whether it was measured completely.
    pub ended: Ended,
    /// The baseline compared with itself: the noise of this host.
    pub noise: Comparison,
    /// The steps, in their order.
    pub steps: Vec<StepReport>,
    /// The baseline (A) and all kept steps together (B); null if no step was kept.
    pub total: Option<Comparison>,
    /// The gain of each kept step in the presence of the others; empty with fewer than two.
    pub without: Vec<WithoutReport>,
}

/// Why there is no report.
#[derive(Debug)]
pub enum ClimbError<E> {
    /// A measurement failed.
    Measure(E),
    /// The server does not run in the baseline state: the reason.
    Baseline(String),
    /// No run of the baseline is valid: the reasons.
    Invalid(Vec<String>),
    /// The user ended it before the baseline was measured.
    Stopped,
}

impl<E> From<E> for ClimbError<E> {
    fn from(error: E) -> Self {
        Self::Measure(error)
    }
}

/// The command lines in the heading of a report.
#[derive(Clone, Debug)]
pub struct Title {
    /// The command line of `velodrome tune`, word by word.
    pub command: Vec<String>,
    /// The server's command line, without any step.
    pub server: String,
}

/// Measures a ladder. `measure` sets up the state in which these steps are applied, given by their index, and measures
/// one run in it; its second argument is a line for the terminal.
///
/// # Errors
/// The baseline cannot be measured, or `measure` fails.
pub fn climb<E>(
    rungs: &[Rung],
    rounds: u32,
    title: Title,
    measure: impl FnMut(&[usize], &str) -> Result<StateOutcome, E>,
) -> Result<LadderReport, ClimbError<E>> {
    let mut turns = Turns::new(rounds, measure);
    let (noise, first) = baseline(&mut turns)?;
    let mut report = LadderReport {
        schema: 1,
        tool: first.tool,
        begun_unix_s: first.begun_unix_s,
        command: title.command,
        server: title.server,
        plan: first.plan,
        host: first.host,
        rounds,
        ended: Ended::Interrupted,
        noise,
        steps: Vec::new(),
        total: None,
        without: Vec::new(),
    };
    if turns.is_stopped() {
        return Ok(report);
    }
    let kept = steps(rungs, &mut turns, &mut report)?;
    if !turns.is_stopped() {
        attribute(rungs, &kept, &mut turns, &mut report)?;
    }
    if !turns.is_stopped() {
        report.ended = Ended::Complete;
    }
    Ok(report)
}

fn baseline<E, M>(turns: &mut Turns<M>) -> Result<(Comparison, Report), ClimbError<E>>
where
    M: FnMut(&[usize], &str) -> Result<StateOutcome, E>,
{
    let same = turns.compare(["baseline", "baseline again"], [&[], &[]], None)?;
    if let Some(why) = same.refused {
        return Err(ClimbError::Baseline(why));
    }
    match same.first {
        Some(first) if same.comparison.first.runs > 0 => Ok((same.comparison, first)),
        _ if turns.is_stopped() => Err(ClimbError::Stopped),
        _ => Err(ClimbError::Invalid(same.invalid)),
    }
}

/// Measures each step on top of those that were kept; returns the kept ones.
fn steps<E, M>(
    rungs: &[Rung],
    turns: &mut Turns<M>,
    report: &mut LadderReport,
) -> Result<Vec<usize>, E>
where
    M: FnMut(&[usize], &str) -> Result<StateOutcome, E>,
{
    let mut kept: Vec<usize> = Vec::new();
    let mut before = "baseline".to_owned();
    for (place, rung) in rungs.iter().enumerate() {
        let with: Vec<usize> = kept.iter().copied().chain([place]).collect();
        let compared = turns.compare([&before, &rung.name], [&kept, &with], Some(&report.noise))?;
        if turns.is_stopped() {
            break;
        }
        let conclusion = match &compared.refused {
            Some(_) => Conclusion::Refused,
            None => concluded(&compared.comparison),
        };
        if conclusion == Conclusion::Kept {
            (kept, before) = (with, format!("with {}", rung.name));
        }
        report.steps.push(StepReport {
            name: rung.name.clone(),
            change: rung.what.to_string(),
            conclusion,
            comparison: compared.refused.is_none().then_some(compared.comparison),
            refused: compared.refused.unwrap_or_default(),
            thrown_away: compared.thrown_away,
            invalid: compared.invalid.into_iter().next().unwrap_or_default(),
        });
    }
    Ok(kept)
}

/// Compares all kept steps with the baseline, and with all but one of them: this shows steps that need each other.
fn attribute<E, M>(
    rungs: &[Rung],
    kept: &[usize],
    turns: &mut Turns<M>,
    report: &mut LadderReport,
) -> Result<(), E>
where
    M: FnMut(&[usize], &str) -> Result<StateOutcome, E>,
{
    if kept.is_empty() {
        return Ok(());
    }
    let total = turns.compare(["baseline", "all"], [&[], kept], Some(&report.noise))?;
    if turns.is_stopped() {
        return Ok(());
    }
    report.total = Some(total.comparison);
    if kept.len() < 2 {
        return Ok(());
    }
    for place in kept {
        let name = &rungs[*place].name;
        let others: Vec<usize> = kept.iter().copied().filter(|other| other != place).collect();
        let label = format!("all without {name}");
        let compared = turns.compare(["all", &label], [kept, &others], Some(&report.noise))?;
        if turns.is_stopped() {
            break;
        }
        report.without.push(WithoutReport { name: name.clone(), comparison: compared.comparison });
    }
    Ok(())
}

/// The figure by which a step is judged: of those that differ, the rate, else the 99th percentile, else the server's
/// CPU time, else any.
fn telling(comparison: &Comparison) -> Option<&Difference> {
    let differs = |figure: &&Difference| {
        figure.judged && matches!(figure.judgement, Judgement::Faster | Judgement::Slower)
    };
    let rank = |figure: &&Difference| match &*figure.figure {
        "rate" => 0,
        "response p99" | "service p99" => 1,
        "server CPU" => 2,
        _ => 3,
    };
    comparison.figures.iter().filter(differs).min_by_key(rank)
}

fn concluded(comparison: &Comparison) -> Conclusion {
    let is_better =
        || telling(comparison).is_some_and(|figure| figure.judgement == Judgement::Faster);
    match comparison.overall {
        Judgement::Faster => Conclusion::Kept,
        // Better in one figure and worse in another.
        Judgement::Mixed if is_better() => Conclusion::Kept,
        Judgement::Slower | Judgement::Mixed => Conclusion::Worse,
        Judgement::NoDifference => Conclusion::NoDifference,
        Judgement::TooFewRuns => Conclusion::TooFewRuns,
    }
}
