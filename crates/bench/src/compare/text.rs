//! A comparison as text for a terminal.

use std::fmt::{self, Write};

use super::{Comparison, Difference, Judgement, SideReport};
use crate::report::figures::{count, duration, numbered, percent, rate};
use crate::report::{Ended, ResultTrust};

/// Writes the comparison.
///
/// # Errors
/// Those of the writer.
pub fn write_text(comparison: &Comparison, out: &mut impl Write) -> fmt::Result {
    side(out, "A", &comparison.first)?;
    side(out, "B", &comparison.second)?;
    writeln!(out)?;
    writeln!(
        out,
        "{:14}{:>12}{:>12}{:>8}{:>18}{:>9}{:>9}",
        "", "A", "B", "B/A", "95 % interval", "p", "noise"
    )?;
    for figure in &comparison.figures {
        line(out, figure)?;
    }
    writeln!(out)?;
    for note in &comparison.notes {
        writeln!(out, "note: {note}")?;
    }
    if comparison.ended == Ended::Interrupted {
        writeln!(out, "PARTIAL: it was stopped; the rounds that were whole are compared")?;
    }
    if comparison.state == ResultTrust::Invalid {
        return invalid(out, comparison);
    }
    writeln!(out, "{}", conclusion(comparison.overall))
}

fn side(out: &mut impl Write, name: &str, side: &SideReport) -> fmt::Result {
    write!(out, "{name}  {}: {}, ", side.name, numbered(side.runs, "run"))?;
    writeln!(out, "{} requests answered, {} failed", count(side.answered), count(side.failed))
}

fn line(out: &mut impl Write, figure: &Difference) -> fmt::Result {
    let value = |value: f64| {
        if figure.figure == "rate" { format!("{}/s", rate(value)) } else { duration(value) }
    };
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let [first, second] = [figure.first, figure.second].map(|known| or_dash(known.map(value)));
    write!(out, "{:14}{first:>12}{second:>12}", figure.figure)?;
    write!(out, "{:>8}", or_dash(figure.ratio.map(|ratio| format!("{ratio:.3}"))))?;
    let interval = figure.interval.map(|ends| format!("{:.3} to {:.3}", ends.low, ends.high));
    write!(out, "{:>18}{:>9.4}", or_dash(interval), figure.probability)?;
    write!(out, "{:>9}", or_dash(figure.noise.map(|noise| percent(noise - 1.0))))?;
    writeln!(out, "  {}", word(figure.judgement))
}

fn word(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Faster => "faster",
        Judgement::Slower => "slower",
        Judgement::Mixed => "faster and slower",
        Judgement::NoDifference => "no significant difference",
        Judgement::TooFewRuns => "too few runs",
    }
}

fn conclusion(overall: Judgement) -> &'static str {
    match overall {
        Judgement::Faster => "FASTER: B is significantly better than A",
        Judgement::Slower => "SLOWER: B is significantly worse than A",
        Judgement::Mixed => {
            "MIXED: B is significantly better than A in one figure and worse in another"
        }
        Judgement::NoDifference => "NO SIGNIFICANT DIFFERENCE: the difference may be chance",
        Judgement::TooFewRuns => "NOTHING CAN BE SAID: there are too few runs",
    }
}

fn invalid(out: &mut impl Write, comparison: &Comparison) -> fmt::Result {
    writeln!(out, "INVALID: do not trust this comparison")?;
    for (name, side) in [("A", &comparison.first), ("B", &comparison.second)] {
        if side.runs == 0 {
            writeln!(out, "  - {name}: there is no run")?;
        }
        for reason in &side.reasons {
            writeln!(out, "  - {name}: {reason}")?;
        }
    }
    Ok(())
}
