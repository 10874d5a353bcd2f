//! Owns the collection of HTTP/2 cases: the embedded files, their parser, and the rules for cases.
//! Never plays a case.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::case::{Condition, FrameCase};
use super::expectation::{self, Fact};
use super::script::Script;
use crate::case::RequirementLevel;
use crate::facts::Facts;
use crate::suite::SuiteError;

/// The embedded files, in the order in which they are played.
const FILES: &[(&str, &str)] = &[
    ("preface.toml", include_str!("../../cases/h2/preface.toml")),
    ("frames.toml", include_str!("../../cases/h2/frames.toml")),
    ("hpack.toml", include_str!("../../cases/h2/hpack.toml")),
    ("streams.toml", include_str!("../../cases/h2/streams.toml")),
    ("data_headers.toml", include_str!("../../cases/h2/data_headers.toml")),
    ("small_frames.toml", include_str!("../../cases/h2/small_frames.toml")),
    ("settings.toml", include_str!("../../cases/h2/settings.toml")),
    ("windows.toml", include_str!("../../cases/h2/windows.toml")),
    ("requests.toml", include_str!("../../cases/h2/requests.toml")),
    ("fields.toml", include_str!("../../cases/h2/fields.toml")),
    ("extensions.toml", include_str!("../../cases/h2/extensions.toml")),
    ("attacks.toml", include_str!("../../cases/h2/attacks.toml")),
    ("states.toml", include_str!("../../cases/h2/states.toml")),
];

/// RFCs that a section may name.
const DOCUMENTS: [&str; 6] = ["9113", "7541", "8441", "9218", "9110", "6585"];

/// Placeholders, and what they need.
const PLACEHOLDERS: &[(&str, Condition)] = &[
    ("{file}", Condition::File),
    ("{echo}", Condition::Echo),
    ("{missing}", Condition::Missing),
    ("{over-body-limit}", Condition::BodyLimit),
    ("{stream-limit}", Condition::StreamLimit),
    ("{list-limit}", Condition::ListLimit),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    case: Vec<FrameCase>,
}

/// The HTTP/2 cases, in order.
#[derive(Clone, Debug)]
pub struct FrameSuite {
    cases: Vec<FrameCase>,
}

impl FrameSuite {
    /// The cases that come with the crate.
    ///
    /// # Errors
    /// A mistake in the data.
    pub fn embedded() -> Result<Self, SuiteError> {
        let mut cases = Vec::new();
        for (name, text) in FILES {
            cases.extend(read(name, text)?);
        }
        check_all(&cases)?;
        Ok(Self { cases })
    }

    /// Cases from one text, for a caller with requirements of its own.
    ///
    /// # Errors
    /// A mistake in the data.
    pub fn parse(name: &str, text: &str) -> Result<Self, SuiteError> {
        let cases = read(name, text)?;
        check_all(&cases)?;
        Ok(Self { cases })
    }

    /// The names of the cases.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.cases.iter().map(|case| case.id.as_str())
    }

    pub(super) fn cases(&self) -> &[FrameCase] {
        &self.cases
    }
}

fn read(name: &str, text: &str) -> Result<Vec<FrameCase>, SuiteError> {
    let file: CaseFile = toml::from_str(text).map_err(|error| SuiteError::Syntax {
        file: name.to_owned(),
        message: error.to_string(),
    })?;
    Ok(file.case)
}

fn check_all(cases: &[FrameCase]) -> Result<(), SuiteError> {
    let mut ids = BTreeSet::new();
    let mut plays = BTreeSet::new();
    for case in cases {
        let rule = |message: String| SuiteError::Rule { id: case.id.clone(), message };
        if !ids.insert(case.id.as_str()) {
            return Err(rule("the id is used twice".to_owned()));
        }
        if !plays.insert((case.script.as_str(), &case.right)) {
            return Err(rule("another case does the same".to_owned()));
        }
        check(case).map_err(rule)?;
    }
    Ok(())
}

/// The rules of one case, each an early return.
fn check(case: &FrameCase) -> Result<(), String> {
    let id_byte =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    if !case.id.starts_with("h2-") || !case.id.bytes().all(id_byte) {
        return Err("an id is h2- and a-z, 0-9, '-' and '.'".to_owned());
    }
    check_section(&case.section, case.level)?;
    if !case.requirement.ends_with('.') || case.requirement.len() <= 15 {
        return Err("the requirement is no sentence".to_owned());
    }
    let outcomes = expectation::read(&case.right)?;
    if outcomes.is_empty() {
        return Err("nothing is expected".to_owned());
    }
    let needs_file = outcomes.iter().flatten().any(|fact| matches!(fact, Fact::File(_)));
    if needs_file && !case.needs.contains(&Condition::File) {
        return Err("the content of the file is expected, but not declared in needs".to_owned());
    }
    for (placeholder, need) in PLACEHOLDERS {
        if case.script.contains(placeholder) && !case.needs.contains(need) {
            return Err(format!("{placeholder} is used but not declared in needs"));
        }
    }
    let facts = Facts::sample();
    let mut script = Script::new(&facts);
    for line in case.lines() {
        script.compile(line).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn check_section(section: &str, level: RequirementLevel) -> Result<(), String> {
    let bound = matches!(level, RequirementLevel::Must | RequirementLevel::Should);
    if let Some((document, part)) =
        section.strip_prefix("RFC ").and_then(|rest| rest.split_once(' '))
    {
        let numbers = part.split('.').all(|piece| piece.parse::<u16>().is_ok());
        let known = DOCUMENTS.contains(&document) && numbers;
        return if known { Ok(()) } else { Err(format!("unknown section '{section}'")) };
    }
    match section.strip_prefix("policy ") {
        Some(topic) if !topic.is_empty() && !bound => Ok(()),
        _ => Err(format!("unknown section '{section}' for this level")),
    }
}
