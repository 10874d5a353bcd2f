//! Owns the collection of cases: the embedded files, their parser, and the rules for cases.
//! Never plays a case.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::case::{Case, CaseHead, CaseStep, Need, RequirementLevel};
use crate::facts::Facts;
use crate::template;

/// The embedded files, in the order in which they are played.
const FILES: &[(&str, &str)] = &[
    ("request_line.toml", include_str!("../cases/request_line.toml")),
    ("target.toml", include_str!("../cases/target.toml")),
    ("host.toml", include_str!("../cases/host.toml")),
    ("fields.toml", include_str!("../cases/fields.toml")),
    ("content_length.toml", include_str!("../cases/content_length.toml")),
    ("transfer_encoding.toml", include_str!("../cases/transfer_encoding.toml")),
    ("chunked.toml", include_str!("../cases/chunked.toml")),
    ("chunked_refused.toml", include_str!("../cases/chunked_refused.toml")),
    ("chunked_trailers.toml", include_str!("../cases/chunked_trailers.toml")),
    ("expect.toml", include_str!("../cases/expect.toml")),
    ("connection.toml", include_str!("../cases/connection.toml")),
    ("methods.toml", include_str!("../cases/methods.toml")),
    ("response.toml", include_str!("../cases/response.toml")),
    ("conditional.toml", include_str!("../cases/conditional.toml")),
    ("precondition.toml", include_str!("../cases/precondition.toml")),
    ("ranges.toml", include_str!("../cases/ranges.toml")),
    ("range_sets.toml", include_str!("../cases/range_sets.toml")),
    ("traversal.toml", include_str!("../cases/traversal.toml")),
    ("redirect.toml", include_str!("../cases/redirect.toml")),
    ("limits.toml", include_str!("../cases/limits.toml")),
    ("slow.toml", include_str!("../cases/slow.toml")),
];

/// Why a suite cannot be played. Always an error in the data.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// Not TOML, or not the form of a case.
    #[error("{file}: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// The parser's message.
        message: String,
    },
    /// A case that breaks a rule.
    #[error("case {id}: {message}")]
    Rule {
        /// The case.
        id: String,
        /// The rule.
        message: String,
    },
}

/// The documents that a section may name.
const DOCUMENTS: &[&str] = &["9110", "9112", "9111", "3986", "6585", "7231"];

/// A case of one of the protocols.
pub(crate) trait SuiteCase: DeserializeOwned + Sync {
    fn head(&self) -> CaseHead<'_>;

    /// The rules of one case, each an early return.
    fn check(&self) -> Result<(), String>;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile<C> {
    case: Vec<C>,
}

/// The cases of these files, which keep the rules.
pub(crate) fn read<C: SuiteCase>(files: &[(&str, &str)]) -> Result<Vec<C>, SuiteError> {
    let mut cases: Vec<C> = Vec::new();
    for (name, text) in files {
        let file: CaseFile<C> = toml::from_str(text).map_err(|error| SuiteError::Syntax {
            file: (*name).to_owned(),
            message: error.to_string(),
        })?;
        cases.extend(file.case);
    }
    let mut ids = BTreeSet::new();
    for case in &cases {
        let id = case.head().id;
        let rule = |message: String| SuiteError::Rule { id: id.to_owned(), message };
        if !ids.insert(id) {
            return Err(rule("the id is used twice".to_owned()));
        }
        case.check().map_err(rule)?;
    }
    Ok(cases)
}

/// The cases, in order.
#[derive(Clone, Debug)]
pub struct Suite {
    cases: Vec<Case>,
}

impl Suite {
    /// The cases that come with the crate.
    pub fn embedded() -> Result<Self, SuiteError> {
        Ok(Self { cases: read(FILES)? })
    }

    /// Cases from one text, for a caller with requirements of its own.
    pub fn parse(name: &str, text: &str) -> Result<Self, SuiteError> {
        Ok(Self { cases: read(&[(name, text)])? })
    }

    /// The cases.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }
}

impl SuiteCase for Case {
    fn head(&self) -> CaseHead<'_> {
        let Self { id, section, level, requirement, .. } = self;
        CaseHead { id, section, level: *level, requirement }
    }

    fn check(&self) -> Result<(), String> {
        check(self)
    }
}

/// Whether a text is made of the characters of an id.
pub(crate) fn is_id(text: &str) -> bool {
    let id_byte =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    !text.is_empty() && text.bytes().all(id_byte)
}

fn check(case: &Case) -> Result<(), String> {
    if !is_id(&case.id) {
        return Err("an id is made of a-z, 0-9, '-' and '.'".to_owned());
    }
    let bound = matches!(case.level, RequirementLevel::Must | RequirementLevel::Should);
    if bound && !case.id.starts_with("rfc") {
        return Err("the id of a must or a should starts with its RFC".to_owned());
    }
    check_section(&case.section, case.level, DOCUMENTS)?;
    if case.requirement.trim().is_empty() {
        return Err("the requirement is empty".to_owned());
    }
    if case.responses.is_empty() {
        return Err("nothing is expected".to_owned());
    }
    if case.responses.iter().any(|response| response.status.is_empty()) {
        return Err("a response without an allowed status".to_owned());
    }
    if case.send.is_some() && !case.steps.is_empty() {
        return Err("both send and steps".to_owned());
    }
    check_script(case)
}

/// Checks that a section names one of these RFCs, or a topic of our own.
pub(crate) fn check_section(
    section: &str,
    level: RequirementLevel,
    documents: &[&str],
) -> Result<(), String> {
    if let Some(number) = section.strip_prefix("RFC ") {
        let (document, part) = number.split_once(' ').ok_or("a section is 'RFC number part'")?;
        let known = documents.contains(&document);
        let numbers = part.split('.').all(|piece| piece.parse::<u16>().is_ok());
        return if known && numbers { Ok(()) } else { Err(format!("unknown section '{section}'")) };
    }
    let topic = section.strip_prefix("policy ").unwrap_or_default();
    if topic.is_empty() {
        return Err(format!("unknown section '{section}'"));
    }
    match level {
        RequirementLevel::Attack | RequirementLevel::Policy => Ok(()),
        RequirementLevel::Must | RequirementLevel::Should => {
            Err("a must or a should names its RFC".to_owned())
        }
    }
}

fn check_script(case: &Case) -> Result<(), String> {
    let facts = Facts::sample();
    let mut sends = 0;
    let mut mentions_head = false;
    for step in case.script() {
        let (CaseStep::Send(text) | CaseStep::Drip(text)) = &step else { continue };
        let bytes = template::expand(text, &facts).map_err(|error| error.to_string())?;
        if bytes.is_empty() && matches!(step, CaseStep::Send(_)) {
            return Err("a send without bytes".to_owned());
        }
        mentions_head |= bytes.starts_with(b"HEAD ") || text.contains("\nHEAD ");
        sends += 1;
        check_needs(case, text)?;
        if matches!(step, CaseStep::Drip(_)) && !case.needs.contains(&Need::SlowDeadline) {
            return Err("a drip without the need slow-deadline".to_owned());
        }
    }
    if sends == 0 {
        return Err("no bytes are sent".to_owned());
    }
    let expects_head =
        case.responses.iter().any(|response| response.method.as_deref() == Some("HEAD"));
    if mentions_head && !expects_head {
        return Err("a HEAD request, but no response with method = \"HEAD\"".to_owned());
    }
    Ok(())
}

/// Checks that every capability in a template is declared as a need, so that a case without it is skipped instead of
/// failing.
fn check_needs(case: &Case, text: &str) -> Result<(), String> {
    for (placeholder, need) in template::NEEDS {
        if text.contains(placeholder) && !case.needs.contains(need) {
            return Err(format!("{placeholder} is used but not declared in needs"));
        }
    }
    Ok(())
}
