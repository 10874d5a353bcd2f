//! Owns the collection of HTTP/2 cases: the embedded files, their parser, and the rules for cases.
//! Never plays a case.

use std::collections::BTreeSet;

use super::case::{Condition, FrameCase};
use super::expectation::{self, Fact};
use super::script::Script;
use crate::case::CaseHead;
use crate::facts::Facts;
use crate::suite::{self, SuiteCase, SuiteError};

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
        Self::read(FILES)
    }

    /// Cases from one text, for a caller with requirements of its own.
    ///
    /// # Errors
    /// A mistake in the data.
    pub fn parse(name: &str, text: &str) -> Result<Self, SuiteError> {
        Self::read(&[(name, text)])
    }

    fn read(files: &[(&str, &str)]) -> Result<Self, SuiteError> {
        let cases: Vec<FrameCase> = suite::read(files)?;
        let mut plays = BTreeSet::new();
        for case in &cases {
            if !plays.insert((case.script.as_str(), &case.right)) {
                let message = "another case does the same".to_owned();
                return Err(SuiteError::Rule { id: case.id.clone(), message });
            }
        }
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

impl SuiteCase for FrameCase {
    fn head(&self) -> CaseHead<'_> {
        let Self { id, section, level, requirement, .. } = self;
        CaseHead { id, section, level: *level, requirement }
    }

    fn check(&self) -> Result<(), String> {
        check(self)
    }
}

fn check(case: &FrameCase) -> Result<(), String> {
    if !case.id.starts_with("h2-") || !suite::is_id(&case.id) {
        return Err("an id is h2- and a-z, 0-9, '-' and '.'".to_owned());
    }
    suite::check_section(&case.section, case.level, &DOCUMENTS)?;
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
