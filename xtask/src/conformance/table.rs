//! The results of several servers as Markdown tables, and their place in a document.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::conformance::servers::Protocol;
use crate::failure::Failure;

/// The lines in the document between which the tables are.
const BEGIN: &str = "<!-- written by cargo xtask conformance --write -->";
const BEGIN_FRAMES: &str = "<!-- HTTP/2, written by cargo xtask conformance --write -->";
const END: &str = "<!-- end of what is written -->";

/// The results of one server.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) note: String,
    pub(crate) cases: Vec<Case>,
}

/// One requirement on one server.
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) section: String,
    pub(crate) level: String,
    /// Failed only if it failed in every round.
    pub(crate) outcome: Verdict,
    /// Whether rounds differed.
    unsteady: bool,
}

impl Case {
    /// Adds another round.
    pub(crate) fn join(&mut self, other: &Case) {
        if other.id == self.id && other.outcome != self.outcome {
            self.unsteady = true;
            self.outcome = Verdict::Passed;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed,
    NotApplicable,
}

/// Reads the cases of `velodrome bench conformance --json`.
pub(crate) fn read_cases(json: &[u8]) -> Option<Vec<Case>> {
    let report: Value = serde_json::from_slice(json).ok()?;
    let case = |case: &Value| {
        let text = |key: &str| case[key].as_str().map(str::to_owned);
        let outcome = match case["result"].as_str()? {
            "passed" => Verdict::Passed,
            "failed" => Verdict::Failed,
            "skipped" => Verdict::NotApplicable,
            _ => return None,
        };
        let (id, section, level) = (text("id")?, text("section")?, text("level")?);
        Some(Case { id, section, level, outcome, unsteady: false })
    };
    report["cases"].as_array()?.iter().map(case).collect()
}

/// The tables of these servers.
pub(crate) fn markdown(columns: &[Column], date: &str) -> String {
    let mut text = format!("Tried on {date}:\n\n");
    for column in columns {
        text.push_str(&format!("- **{}** {}: {}\n", column.name, column.version, column.note));
    }
    text.push_str("\nPassed / failed / not applicable:\n\n");
    let levels = ["must", "should", "attack", "policy"].map(str::to_owned);
    table(&mut text, "level", columns, &levels, |case| &case.level);
    text.push('\n');
    let mut sections: Vec<String> = Vec::new();
    for case in columns.iter().flat_map(|column| &column.cases) {
        if !sections.contains(&case.section) {
            sections.push(case.section.clone());
        }
    }
    sections.sort_by_cached_key(|section| section_key(section));
    table(&mut text, "section", columns, &sections, |case| &case.section);
    text.push_str("\nEvery MUST that was not met:\n\n");
    list(&mut text, columns, |case| case.level == "must" && case.outcome == Verdict::Failed);
    if columns.iter().flat_map(|column| &column.cases).any(|case| case.unsteady) {
        text.push_str("\nMet in some rounds only, and counted as passed:\n\n");
        list(&mut text, columns, |case| case.unsteady);
    }
    text
}

fn list(text: &mut String, columns: &[Column], belongs: impl Fn(&Case) -> bool) {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for column in columns {
        for case in column.cases.iter().filter(|case| belongs(case)) {
            found.entry(&case.id).or_default().push(&column.name);
        }
    }
    for (id, names) in found {
        text.push_str(&format!("- `{id}`: {}\n", names.join(", ")));
    }
}

fn table(
    text: &mut String,
    heading: &str,
    columns: &[Column],
    keys: &[String],
    key_of: impl Fn(&Case) -> &String,
) {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    text.push_str(&format!("| {heading} | {} |\n", names.join(" | ")));
    text.push_str(&format!("| --- |{}\n", " ---: |".repeat(columns.len())));
    for key in keys {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| cell(column.cases.iter().filter(|case| key_of(case) == key)))
            .collect();
        text.push_str(&format!("| {key} | {} |\n", cells.join(" | ")));
    }
    let cells: Vec<String> = columns.iter().map(|column| cell(column.cases.iter())).collect();
    text.push_str(&format!("| all | {} |\n", cells.join(" | ")));
}

fn cell<'c>(cases: impl Iterator<Item = &'c Case>) -> String {
    let (mut passed, mut failed, mut not_applicable) = (0, 0, 0);
    for case in cases {
        match case.outcome {
            Verdict::Passed => passed += 1,
            Verdict::Failed => failed += 1,
            Verdict::NotApplicable => not_applicable += 1,
        }
    }
    format!("{passed} / {failed} / {not_applicable}")
}

/// 9.10 comes after 9.2, and policies come after every RFC.
fn section_key(section: &str) -> (bool, Vec<u32>, String) {
    let Some(rest) = section.strip_prefix("RFC ") else {
        return (true, Vec::new(), section.to_owned());
    };
    let numbers = rest.split([' ', '.']).filter_map(|number| number.parse().ok()).collect();
    (false, numbers, String::new())
}

/// The document with the tables in their place.
pub(crate) fn put(document: &str, protocol: Protocol, tables: &str) -> Result<String, Failure> {
    let begin = match protocol {
        Protocol::One => BEGIN,
        Protocol::Two => BEGIN_FRAMES,
    };
    let places = document
        .split_once(begin)
        .and_then(|(before, rest)| rest.split_once(END).map(|(_, behind)| (before, behind)));
    let Some((before, behind)) = places else {
        return Err(Failure::Work(format!("the document has no `{begin}` with `{END}` behind it")));
    };
    Ok(format!("{before}{begin}\n\n{tables}\n{END}{behind}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &[u8] = br#"{"cases": [
        {"id": "a", "section": "RFC 9112 9.10", "level": "must", "result": "failed", "problem": "x"},
        {"id": "b", "section": "RFC 9112 9.2", "level": "must", "result": "passed"},
        {"id": "c", "section": "policy x", "level": "policy", "result": "skipped", "reason": "y"}
    ]}"#;

    #[test]
    fn outcomes_are_counted_by_level_and_section() {
        let column = |name: &str| Column {
            name: name.to_owned(),
            version: "1".to_owned(),
            note: "as it is".to_owned(),
            cases: read_cases(JSON).expect("three cases"),
        };
        let text = markdown(&[column("x"), column("y")], "2026-11-21");
        let has = |line: &str| assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        has("- **x** 1: as it is");
        has("| must | 1 / 1 / 0 | 1 / 1 / 0 |");
        has("| RFC 9112 9.10 | 0 / 1 / 0 | 0 / 1 / 0 |");
        has("| all | 1 / 1 / 1 | 1 / 1 / 1 |");
        has("- `a`: x, y");
        assert!(text.find("9112 9.2 ") < text.find("9112 9.10 "));
        assert!(!text.contains("some rounds"));
        assert!(read_cases(b"{\"cases\": [{\"id\": \"a\"}]}").is_none());
    }

    #[test]
    fn rounds_that_differ_are_told() {
        let mut cases = read_cases(JSON).expect("three cases");
        let mut again = read_cases(JSON).expect("three cases");
        again[0].outcome = Verdict::Passed;
        cases.iter_mut().zip(&again).for_each(|(case, other)| case.join(other));
        let (name, version, note) = ("x".to_owned(), "1".to_owned(), String::new());
        let text = markdown(&[Column { name, version, note, cases }], "2026-11-21");
        assert!(text.contains("| must | 2 / 0 / 0 |"), "{text}");
        assert!(text.ends_with("counted as passed:\n\n- `a`: x\n"), "{text}");
    }

    #[test]
    fn tables_are_put_where_the_old_ones_were() {
        let document = format!("before\n{BEGIN}\nold\n{END}\nbehind\n");
        let put_in = put(&document, Protocol::One, "new\n").expect("both marks are there");
        assert_eq!(put_in, format!("before\n{BEGIN}\n\nnew\n\n{END}\nbehind\n"));
        assert!(put("before", Protocol::Two, "new").is_err());
    }
}
