//! Owns the text report: a table by section, then details of failures or of all cases. Returns it as text.

use std::fmt::{self, Display, Formatter, Write};

use crate::case::RequirementLevel;
use crate::report::{CaseCounts, CaseReport, CaseResult, ConformanceReport, Detail};

impl ConformanceReport {
    /// The text report, with this level of detail.
    pub fn to_text(&self, detail: Detail) -> String {
        let mut text = String::new();
        self.write(&mut text, detail).expect("a string takes everything");
        text
    }

    fn write(&self, out: &mut impl Write, detail: Detail) -> fmt::Result {
        writeln!(out, "{} requirements, tried on {}", self.protocol, self.target)?;
        for (section, cases) in by_section(&self.cases) {
            writeln!(out, "\n{section}")?;
            for case in cases {
                line(out, case)?;
                if detail == Detail::Everything {
                    at_length(out, case)?;
                }
            }
        }
        if detail == Detail::Failures && self.counts.failed > 0 {
            writeln!(out, "\nFailures")?;
            for case in self.failures() {
                writeln!(out, "\n  {} ({}, {})", case.id, case.section, case.level)?;
                at_length(out, case)?;
            }
        }
        writeln!(out)?;
        for level in RequirementLevel::ALL {
            if let Some(counts) = self.levels.get(&level) {
                summary(out, level.name(), counts)?;
            }
        }
        summary(out, "all", &self.counts)
    }
}

impl Display for ConformanceReport {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.write(formatter, Detail::Failures)
    }
}

fn line(out: &mut impl Write, case: &CaseReport) -> fmt::Result {
    match &case.outcome {
        CaseResult::Passed => writeln!(out, "  pass  {:<6}  {}", case.level, case.id),
        CaseResult::Failed(_) => writeln!(out, "  FAIL  {:<6}  {}", case.level, case.id),
        CaseResult::Skipped { reason } => {
            writeln!(out, "  skip  {:<6}  {} ({reason})", case.level, case.id)
        }
    }
}

fn at_length(out: &mut impl Write, case: &CaseReport) -> fmt::Result {
    writeln!(out, "    {}", case.requirement.trim())?;
    if let CaseResult::Failed(failure) = &case.outcome {
        writeln!(out, "    expected  {}", failure.expected)?;
        writeln!(out, "    but       {}", failure.problem)?;
    }
    if !matches!(case.outcome, CaseResult::Skipped { .. }) {
        writeln!(out, "    sent      {}", case.sent)?;
        writeln!(out, "    received  {}", case.received)?;
    }
    Ok(())
}

fn summary(out: &mut impl Write, name: &str, counts: &CaseCounts) -> fmt::Result {
    let CaseCounts { passed, failed, skipped } = counts;
    writeln!(
        out,
        "{name:<6}  {passed:>4} passed  {failed:>4} failed  {skipped:>4} skipped  of {}",
        counts.total()
    )
}

/// The cases under their sections, sections in the order of their numbers.
fn by_section(cases: &[CaseReport]) -> Vec<(&str, Vec<&CaseReport>)> {
    let mut sections: Vec<(&str, Vec<&CaseReport>)> = Vec::new();
    for case in cases {
        match sections.iter_mut().find(|(section, _)| *section == case.section) {
            Some((_, found)) => found.push(case),
            None => sections.push((&case.section, vec![case])),
        }
    }
    sections.sort_by_cached_key(|(section, _)| section_key(section));
    sections
}

/// 9.10 comes after 9.2, and policies come after every RFC.
fn section_key(section: &str) -> (bool, Vec<u32>, String) {
    let Some(rest) = section.strip_prefix("RFC ") else {
        return (true, Vec::new(), section.to_owned());
    };
    let numbers = rest.split([' ', '.']).filter_map(|number| number.parse().ok()).collect();
    (false, numbers, String::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::CaseFailure;

    fn case(id: &str, section: &str, outcome: CaseResult) -> CaseReport {
        CaseReport {
            id: id.to_owned(),
            section: section.to_owned(),
            level: RequirementLevel::Must,
            requirement: "It has to be so.".to_owned(),
            outcome,
            sent: format!("GET /{id}"),
            received: String::new(),
        }
    }

    #[test]
    fn sections_stand_in_the_order_of_their_numbers() {
        let failure =
            CaseFailure { expected: "status 400".to_owned(), problem: "status 200".to_owned() };
        let cases = vec![
            case("a", "policy framing", CaseResult::Passed),
            case("b", "RFC 9112 9.10", CaseResult::Failed(failure)),
            case("c", "RFC 9112 9.2", CaseResult::Skipped { reason: "no echo".to_owned() }),
        ];
        let report = ConformanceReport::new("HTTP/1.1", "here".to_owned(), cases);
        let text = report.to_string();
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"));
        assert!(place("RFC 9112 9.2\n") < place("RFC 9112 9.10\n"));
        assert!(place("RFC 9112 9.10\n") < place("policy framing\n"));
        assert!(place("(no echo)") > 0);
        assert!(text.contains("1 passed     1 failed     1 skipped  of 3"), "{text}");
        assert!(text.contains("sent      GET /b") && !text.contains("sent      GET /a"), "{text}");
        let text = report.to_text(Detail::Everything);
        assert!(text.contains("sent      GET /a") && text.contains("sent      GET /b"), "{text}");
        assert!(
            !text.contains("sent      GET /c"),
            "a case that was not played sent nothing: {text}"
        );
    }
}
