//! Every request that a known detector of request smuggling finds dangerous is refused.
//!
//! `http_desync_guardian` sorts requests into tiers. What it calls severe must be refused; what it calls
//! ambiguous must be refused or must be the last request on its connection. Its case collection is read from
//! the source of the dependency where cargo keeps that, and is no part of this repository.

use std::path::PathBuf;
use std::process::{Command, Output};

use http_desync_guardian::RequestSafetyTier;
use http_desync_guardian::request_analyzer::HttpRequestData;
use proptest::prelude::*;
use wire::http::head::{FieldSlots, Head, HeadLimits, parse};
use wire::http::refusal::Reason;
use wire::http::url::Scheme;

/// The verdict of this server on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Accepted { persistent: bool },
    Refused(Reason),
    Partial,
}

fn verdict(input: &[u8]) -> Verdict {
    match parse(input, Scheme::Http, &HeadLimits::default(), &mut FieldSlots::new()) {
        Ok(Head::Complete { request, .. }) => Verdict::Accepted { persistent: request.persistent },
        Ok(Head::Partial) => Verdict::Partial,
        Err(refusal) => Verdict::Refused(refusal.reason()),
    }
}

/// Whether a verdict is safe for the detector's tier.
fn is_safe(verdict: Verdict, tier: RequestSafetyTier) -> bool {
    match (tier, verdict) {
        (_, Verdict::Refused(_) | Verdict::Partial) => true,
        (RequestSafetyTier::Severe, Verdict::Accepted { .. }) => false,
        (RequestSafetyTier::Ambiguous, Verdict::Accepted { persistent }) => !persistent,
        (RequestSafetyTier::Compliant | RequestSafetyTier::Acceptable, _) => true,
    }
}

/// One case of the collection.
#[derive(Default)]
struct Case {
    name: String,
    method: String,
    target: String,
    version: String,
    fields: Vec<(String, String)>,
    tier: String,
}

impl Case {
    /// The case as bytes, with a Host added if it has none, because otherwise every case would be refused for that.
    fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} {}\r\n", self.method, self.target, self.version);
        if !self.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text.push_str("Host: a.example\r\n");
        }
        for (name, value) in &self.fields {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        text.into_bytes()
    }
}

fn cargo(words: &[&str]) -> Option<Output> {
    let mut command = Command::new(env!("CARGO"));
    command.args(words).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()
}

/// The folder of the collection, if cargo has it.
fn collection() -> Option<PathBuf> {
    let version = String::from_utf8(cargo(&["-vV"])?.stdout).ok()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "))?;
    // For other platforms it would name packages that were not fetched, and fail offline.
    let words = ["metadata", "--format-version", "1", "--offline", "--filter-platform", host];
    let output = cargo(&words)?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let packages = metadata.get("packages")?.as_array()?;
    let package = packages.iter().find(|package| package["name"] == "http_desync_guardian")?;
    let folder = PathBuf::from(package["manifest_path"].as_str()?).parent()?.join("tests");
    folder.is_dir().then_some(folder)
}

/// Reads the little of YAML that the collection uses: `key: value` lines and their indentation.
fn read_cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let indentation = line.len() - line.trim_start().len();
        let entry = line.trim_start();
        let (is_item, entry) =
            entry.strip_prefix("- ").map_or((false, entry), |rest| (true, rest.trim_start()));
        let Some((key, value)) = entry.split_once(':') else { continue };
        let value = scalar(value);
        if is_item && indentation == 0 {
            cases.push(Case::default());
        }
        let Some(case) = cases.last_mut() else { continue };
        match (indentation, key) {
            (0, "name") => case.name = value,
            (2, "uri") => case.target = value,
            (2, "method") => case.method = value,
            (2, "version") => case.version = value,
            (4, "name") if is_item => case.fields.push((value, String::new())),
            (6, "value") => case.fields.last_mut().expect("a value belongs to a field").1 = value,
            (4, "tier") => case.tier = value,
            _ => {}
        }
    }
    cases
}

/// A scalar with its quotes and escapes undone; the collection escapes in unquoted ones too.
fn scalar(text: &str) -> String {
    let text = text.trim();
    let inside =
        ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    let mut out = String::new();
    let mut rest = inside.unwrap_or(text).chars();
    while let Some(character) = rest.next() {
        out.push(match character {
            '\\' => match rest.next() {
                Some('x') => {
                    let digits: String = rest.by_ref().take(2).collect();
                    char::from(u8::from_str_radix(&digits, 16).expect("two hexadecimal digits"))
                }
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    out
}

#[test]
fn no_case_of_the_collection_is_taken_for_safe_that_is_not() {
    let Some(folder) = collection() else {
        eprintln!(
            "SKIPPED no_case_of_the_collection_is_taken_for_safe_that_is_not: the source of \
             http_desync_guardian is not where cargo says"
        );
        return;
    };
    let (mut count, mut kept, mut wrong) = (0, 0, Vec::new());
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        for case in read_cases(&std::fs::read_to_string(&path).unwrap()) {
            let bytes = case.bytes();
            let verdict = verdict(&bytes);
            let stated = match case.tier.as_str() {
                "Severe" => RequestSafetyTier::Severe,
                "Ambiguous" => RequestSafetyTier::Ambiguous,
                "Acceptable" => RequestSafetyTier::Acceptable,
                "Compliant" => RequestSafetyTier::Compliant,
                other => panic!("{file}: {}: tier {other:?}", case.name),
            };
            let judged = HttpRequestData::analyze_raw_request(&bytes).tier;
            count += 1;
            kept += usize::from(verdict == Verdict::Accepted { persistent: true });
            if !is_safe(verdict, stated) || !is_safe(verdict, judged) {
                wrong.push(format!("{file}: {}: {stated:?}, {judged:?}, {verdict:?}", case.name));
            }
            let must_pass =
                stated == RequestSafetyTier::Compliant && judged == RequestSafetyTier::Compliant;
            if must_pass && !is_accepted_or_refused_by_choice(verdict) {
                wrong.push(format!("{file}: {}: compliant, yet {verdict:?}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The collection has 159 cases; fewer mean that the file was not read correctly.
    assert!(count >= 159 && kept > 20, "{count} cases, {kept} accepted and kept");
}

/// Whether a request that the detector finds compliant is accepted, or refused for a rule of this server:
/// no transfer coding but a bare chunked, and a target of visible ASCII without a fragment.
fn is_accepted_or_refused_by_choice(verdict: Verdict) -> bool {
    match verdict {
        Verdict::Accepted { .. } => true,
        Verdict::Refused(reason) => matches!(
            reason,
            Reason::CodingUnknown
                | Reason::InvalidTransferEncoding
                | Reason::FragmentInTarget
                | Reason::InvalidTarget
                | Reason::MissingTarget
        ),
        Verdict::Partial => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_generated_request_is_taken_for_safe_that_is_not(input in crate::generate::head()) {
        // The detector takes an empty line at the front for an empty request line. RFC 9112,
        // 2.2 says that a server should skip it, and this one does: the detector is given the input after it.
        let begin = input.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or_default();
        let tier = HttpRequestData::analyze_raw_request(&input[begin..]).tier;
        let verdict = verdict(&input);
        prop_assert!(is_safe(verdict, tier), "{tier:?} {verdict:?} {}", input.escape_ascii());
    }

    #[test]
    fn no_disguised_framing_is_taken_for_safe(
        first in crate::generate::framing_field(),
        second in crate::generate::framing_field(),
        method in prop::sample::select(vec!["GET", "POST"]),
    ) {
        let input = format!("{method} / HTTP/1.1\r\nHost: a\r\n{first}\r\n{second}\r\n\r\n");
        let tier = HttpRequestData::analyze_raw_request(input.as_bytes()).tier;
        let verdict = verdict(input.as_bytes());
        prop_assert!(is_safe(verdict, tier), "{tier:?} {verdict:?} {input:?}");
    }
}
