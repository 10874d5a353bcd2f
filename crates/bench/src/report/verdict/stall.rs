//! The note on a time without any answer.
//!
//! Owns what counts as such a time. A requested pause does not.

use crate::limits::STALL_ANSWERS_PER_TENTH;
use crate::report::figures::duration;
use crate::report::measured::{PlanReport, StageReport};
use crate::report::run::RunReport;

use super::{Finding, ReasonCode};

const TENTH_NS: u64 = 100_000_000;

/// The longest time without an answer, if there are answers in nearly every tenth of a second.
pub(super) fn stalled(run: &RunReport, plan: &PlanReport) -> Option<Finding> {
    // An incomplete tenth means nothing.
    let whole = usize::try_from(run.wall_ns / TENTH_NS).unwrap_or(usize::MAX);
    let mut tenths: Vec<u64> =
        run.seconds.iter().flat_map(|second| second.answered_tenths).take(whole).collect();
    // Unanswered requests at the end have their own note.
    let end = tenths.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    tenths.truncate(end);
    let answered: u64 = tenths.iter().sum();
    if answered < STALL_ANSWERS_PER_TENTH * tenths.len() as u64 {
        return None;
    }
    let is_stall = |(tenth, count): (usize, &u64)| *count == 0 && is_asked_for(plan, tenth as u64);
    let stalls: Vec<bool> = tenths.iter().enumerate().map(is_stall).collect();
    let mut longest = (0, 0);
    let mut begin = 0;
    for stretch in stalls.chunk_by(|left, right| left == right) {
        if stretch[0] && stretch.len() > longest.0 {
            longest = (stretch.len(), begin);
        }
        begin += stretch.len();
    }
    let (length, begin) = longest;
    let text = format!(
        "nothing was answered for {}, {} after the begin",
        duration((length as u64 * TENTH_NS) as f64),
        duration((begin as u64 * TENTH_NS) as f64),
    );
    (length > 0).then_some((ReasonCode::Stalled, text))
}

/// Whether so many requests were due in a tenth of a second that no answer is worth a note.
fn is_asked_for(plan: &PlanReport, tenth: u64) -> bool {
    let middle_ns = tenth * TENTH_NS + TENTH_NS / 2;
    let mut begin_ns = 0;
    let is_in = |stage: &&StageReport| {
        begin_ns += stage.duration_ns;
        middle_ns < begin_ns
    };
    // A closed loop always sends. After the last stage its rate continues.
    let Some(stage) = plan.stages.iter().find(is_in).or(plan.stages.last()) else { return true };
    let left_ns = begin_ns.saturating_sub(middle_ns).min(stage.duration_ns);
    let from_end = left_ns as f64 / stage.duration_ns.max(1) as f64;
    let per_second = stage.to_per_s + (stage.from_per_s - stage.to_per_s) * from_end;
    per_second * TENTH_NS as f64 / 1e9 >= STALL_ANSWERS_PER_TENTH as f64
}
