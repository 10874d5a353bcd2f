//! Owns the report for people: a table by section, then the failures at length. Never prints it anywhere.

use std::fmt::{self, Display, Formatter};

use crate::case::Level;
use crate::report::{CaseReport, Counts, Outcome, Report};

impl Display for Report {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "HTTP/1.1 requirements, tried on {}", self.target)?;
        for (section, cases) in by_section(&self.cases) {
            writeln!(formatter, "\n{section}")?;
            for case in cases {
                line(formatter, case)?;
            }
        }
        if self.counts.failed > 0 {
            writeln!(formatter, "\nFailures")?;
        }
        for case in self.failures() {
            at_length(formatter, case)?;
        }
        writeln!(formatter)?;
        for level in Level::ALL {
            if let Some(counts) = self.levels.get(&level) {
                summary(formatter, level.name(), counts)?;
            }
        }
        summary(formatter, "all", &self.counts)
    }
}

fn line(formatter: &mut Formatter<'_>, case: &CaseReport) -> fmt::Result {
    match &case.outcome {
        Outcome::Passed => writeln!(formatter, "  pass  {:<6}  {}", case.level, case.id),
        Outcome::Failed(_) => writeln!(formatter, "  FAIL  {:<6}  {}", case.level, case.id),
        Outcome::Skipped { reason } => {
            writeln!(formatter, "  skip  {:<6}  {} ({reason})", case.level, case.id)
        }
    }
}

fn at_length(formatter: &mut Formatter<'_>, case: &CaseReport) -> fmt::Result {
    let Outcome::Failed(failure) = &case.outcome else { return Ok(()) };
    writeln!(formatter, "\n  {} ({}, {})", case.id, case.section, case.level)?;
    writeln!(formatter, "    {}", case.requirement.trim())?;
    writeln!(formatter, "    expected  {}", failure.expected)?;
    writeln!(formatter, "    but       {}", failure.problem)?;
    writeln!(formatter, "    sent      {}", failure.sent)?;
    writeln!(formatter, "    received  {}", failure.received)
}

fn summary(formatter: &mut Formatter<'_>, name: &str, counts: &Counts) -> fmt::Result {
    let Counts { passed, failed, skipped } = counts;
    writeln!(
        formatter,
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
    use crate::report::Failure;

    fn case(id: &str, section: &str, outcome: Outcome) -> CaseReport {
        CaseReport {
            id: id.to_owned(),
            section: section.to_owned(),
            level: Level::Must,
            requirement: "It has to be so.".to_owned(),
            outcome,
        }
    }

    #[test]
    fn sections_stand_in_the_order_of_their_numbers() {
        let failure = Failure {
            expected: "status 400".to_owned(),
            problem: "status 200".to_owned(),
            sent: "GET".to_owned(),
            received: "HTTP".to_owned(),
        };
        let cases = vec![
            case("a", "policy framing", Outcome::Passed),
            case("b", "RFC 9112 9.10", Outcome::Failed(failure)),
            case("c", "RFC 9112 9.2", Outcome::Skipped { reason: "no echo".to_owned() }),
        ];
        let text = Report::new("here".to_owned(), cases).to_string();
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"));
        assert!(place("RFC 9112 9.2\n") < place("RFC 9112 9.10\n"));
        assert!(place("RFC 9112 9.10\n") < place("policy framing\n"));
        assert!(place("(no echo)") > 0);
        assert!(text.contains("1 passed     1 failed     1 skipped  of 3"), "{text}");
    }
}
