//! Two states, measured alternately, so that changes on the host affect both.
//!
//! Owns which runs count. An invalid run is repeated while reruns are left; after that its round is
//! discarded.

use bench::compare::{Comparison, Side};
use bench::limits::COMPARE_RERUNS_PER_ROUND;
use bench::report::{Ended, Report, ResultTrust};

use super::StateOutcome;

/// Alternating measurements, and whether the user has ended them.
#[derive(Debug)]
pub(super) struct Turns<M> {
    rounds: u32,
    measure: M,
    stopped: bool,
}

/// The result of a comparison. Plain data.
#[derive(Debug)]
pub(crate) struct Compared {
    pub(crate) comparison: Comparison,
    /// The first valid report of the first state.
    pub(crate) first: Option<Report>,
    /// The reason why one of its states cannot be set up.
    pub(crate) refused: Option<String>,
    /// Runs that are not counted, and the reason.
    pub(crate) thrown_away: u32,
    pub(crate) invalid: Vec<String>,
}

/// The result of one state in one round.
enum Run {
    Valid(Box<Report>),
    /// Every try was invalid.
    Invalid,
    Refused(String),
    Stopped,
}

impl<M> Turns<M> {
    pub(super) fn new(rounds: u32, measure: M) -> Self {
        Self { rounds, measure, stopped: false }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Measures two states alternately and compares them.
    pub(super) fn compare<E>(
        &mut self,
        names: [&str; 2],
        states: [&[usize]; 2],
        noise: Option<&Comparison>,
    ) -> Result<Compared, E>
    where
        M: FnMut(&[usize], &str) -> Result<StateOutcome, E>,
    {
        let mut sides: [Vec<Report>; 2] = Default::default();
        let mut bad = Bad { reruns: self.rounds * COMPARE_RERUNS_PER_ROUND, ..Bad::default() };
        let mut refused = None;
        'rounds: for round in 1..=self.rounds {
            let mut pair = Vec::new();
            for (name, state) in names.iter().zip(states) {
                let label = format!("{name}, {round} of {}", self.rounds);
                match self.once(state, &label, &mut bad)? {
                    Run::Valid(report) => pair.push(*report),
                    Run::Invalid => continue 'rounds,
                    Run::Refused(why) => {
                        refused = Some(why);
                        break 'rounds;
                    }
                    Run::Stopped => {
                        self.stopped = true;
                        break 'rounds;
                    }
                }
            }
            for (side, report) in sides.iter_mut().zip(pair) {
                side.push(report);
            }
        }
        let [first, second] = &sides;
        let side = |at: usize, reports| Side { name: names[at], reports };
        let ended = if self.stopped { Ended::Interrupted } else { Ended::Complete };
        let comparison = Comparison::of(side(0, first), side(1, second), noise, ended);
        bad.reasons.sort_unstable();
        bad.reasons.dedup();
        let first = sides.into_iter().flatten().next();
        Ok(Compared { comparison, first, refused, thrown_away: bad.count, invalid: bad.reasons })
    }

    fn once<E>(&mut self, state: &[usize], label: &str, bad: &mut Bad) -> Result<Run, E>
    where
        M: FnMut(&[usize], &str) -> Result<StateOutcome, E>,
    {
        loop {
            let report = match (self.measure)(state, label)? {
                StateOutcome::Measured(report) if report.ended == Ended::Interrupted => {
                    return Ok(Run::Stopped);
                }
                StateOutcome::Measured(report) => report,
                StateOutcome::Refused(why) => return Ok(Run::Refused(why)),
                StateOutcome::Stopped => return Ok(Run::Stopped),
            };
            if report.verdict.state == ResultTrust::Valid {
                return Ok(Run::Valid(report));
            }
            bad.count += 1;
            bad.reasons.extend(report.verdict.reasons.into_iter().map(|reason| reason.text));
            if bad.reruns == 0 {
                return Ok(Run::Invalid);
            }
            bad.reruns -= 1;
        }
    }
}

/// Invalid runs.
#[derive(Debug, Default)]
struct Bad {
    reruns: u32,
    count: u32,
    reasons: Vec<String>,
}
