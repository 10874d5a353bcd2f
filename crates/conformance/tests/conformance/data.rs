//! Tests of the embedded cases as data: the properties of a case, without a server.

use std::collections::BTreeMap;

use conformance::{CaseStep, Need, RequirementLevel, Suite};

#[test]
fn the_embedded_suite_is_valid() {
    let suite = Suite::embedded().unwrap_or_else(|error| panic!("{error}"));
    assert!(suite.cases().len() >= 500, "{} cases", suite.cases().len());
}

#[test]
fn every_level_and_every_capability_is_used() {
    let suite = Suite::embedded().unwrap();
    for level in RequirementLevel::ALL {
        let count = suite.cases().iter().filter(|case| case.level == level).count();
        assert!(count >= 20, "{count} cases of level {level}");
    }
    for capability in conformance::Capability::ALL {
        let need = Need::Offers(capability);
        assert!(suite.cases().iter().any(|case| case.needs.contains(&need)), "{capability}");
    }
}

#[test]
fn requirements_are_sentences_and_no_two_cases_do_the_same() {
    let suite = Suite::embedded().unwrap();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for case in suite.cases() {
        let requirement = case.requirement.trim();
        assert!(requirement.ends_with('.'), "{}: {requirement}", case.id);
        assert!(requirement.len() > 20, "{}: {requirement}", case.id);
        let expected = format!("{:?} {:?} {:?}", case.script(), case.responses, case.connection);
        if let Some(other) = seen.insert(expected, &case.id) {
            panic!("{} does the same as {other}", case.id);
        }
    }
}

#[test]
fn slow_attacks_are_declared() {
    for case in Suite::embedded().unwrap().cases() {
        let drips = case.script().iter().any(|step| matches!(step, CaseStep::Drip(_)));
        assert_eq!(drips, case.needs.contains(&Need::SlowDeadline), "{}", case.id);
    }
}

/// A suite of one case, with some of its lines replaced.
fn with(from: &str, to: &str) -> Result<Suite, String> {
    let case = r#"
[[case]]
id = "rfc9112-3-sample"
section = "RFC 9112 3"
level = "must"
requirement = "A sample of a case."
send = 'GET / HTTP/1.1\r\n\r\n'
responses = [{ status = ["400", "2xx", "close"] }]
"#;
    assert!(case.contains(from), "{from}");
    Suite::parse("sample", &case.replace(from, to)).map_err(|error| error.to_string())
}

#[test]
fn a_valid_case_is_taken() {
    assert_eq!(with("sample", "sample").unwrap().cases().len(), 1);
}

#[test]
fn mistakes_in_a_case_are_told() {
    for (from, to, told) in [
        ("rfc9112-3-sample", "Sample!", "an id is made of"),
        ("rfc9112-3-sample", "sample", "starts with its RFC"),
        ("RFC 9112 3", "RFC 1 3", "unknown section"),
        ("RFC 9112 3", "RFC 9112 three", "unknown section"),
        ("RFC 9112 3", "policy x", "names its RFC"),
        ("A sample of a case.", " ", "requirement is empty"),
        ("[{ status = [\"400\", \"2xx\", \"close\"] }]", "[]", "nothing is expected"),
        ("\"400\", \"2xx\", \"close\"", "", "without an allowed status"),
        ("\"400\"", "\"4000\"", "neither a status"),
        ("\"400\"", "\"9xx\"", "neither a status"),
        ("'GET / HTTP/1.1\\r\\n\\r\\n'", "''", "without bytes"),
        ("GET / HTTP", "GET \\q HTTP", "unknown escape"),
        ("GET / HTTP", "GET {nothing} HTTP", "nothing is known about {nothing}"),
        ("GET / HTTP", "GET {file HTTP", "brace without end"),
        ("GET / HTTP", "GET {file} HTTP", "not declared in needs"),
        ("GET / HTTP", "GET {repeat x y} HTTP", "does not say what to repeat"),
        ("GET / HTTP", "GET {repeat 99999999 y} HTTP", "longer than"),
        ("GET / HTTP", "HEAD / HTTP", "no response with method"),
        ("send = ", "steps = [\"half-close\"] #", "no bytes are sent"),
        ("send = ", "steps = [\"half-close\"]\nsend = ", "both send and steps"),
        ("send = ", "steps = [{ drip = 'x' }] #", "without the need slow-deadline"),
        ("send = ", "sent = ", "unknown field"),
    ] {
        let error = with(from, to).expect_err(told);
        assert!(error.contains(told), "'{to}' gives '{error}' instead of '{told}'");
    }
}

#[test]
fn an_id_used_twice_is_told() {
    let case = "[[case]]\nid = \"policy-a\"\nsection = \"policy a\"\nlevel = \"policy\"\n\
        requirement = \"So.\"\nsend = 'x'\nresponses = [{ status = [\"400\"] }]\n";
    assert!(Suite::parse("once", case).is_ok());
    let error = Suite::parse("twice", &case.repeat(2)).expect_err("twice").to_string();
    assert!(error.contains("used twice"), "{error}");
}
