//! Tests of the embedded HTTP/2 cases as data, without a server.

use conformance::h2::FrameSuite;

#[test]
fn the_embedded_frame_suite_is_valid() {
    let suite = FrameSuite::embedded().unwrap_or_else(|error| panic!("{error}"));
    assert!(suite.ids().count() >= 300, "{} cases", suite.ids().count());
}

/// A suite of one case, with some of its text replaced.
fn with(from: &str, to: &str) -> Result<FrameSuite, String> {
    let case = r#"
[[case]]
id = "h2-rfc9113-6-sample"
section = "RFC 9113 6"
level = "must"
requirement = "A sample of a case."
script = '''
request 1 GET /
'''
right = ["answer 1 200 + alive"]
"#;
    assert!(case.contains(from), "{from}");
    FrameSuite::parse("sample", &case.replace(from, to)).map_err(|error| error.to_string())
}

#[test]
fn a_valid_frame_case_is_taken() {
    assert_eq!(with("sample", "sample").unwrap().ids().count(), 1);
}

#[test]
fn mistakes_in_a_frame_case_are_told() {
    for (from, to, told) in [
        ("h2-rfc9113-6-sample", "rfc9113-6", "an id is h2-"),
        ("RFC 9113 6", "RFC 9113 six", "unknown section"),
        ("RFC 9113 6", "RFC 1 6", "unknown section"),
        ("RFC 9113 6", "policy x", "names its RFC"),
        ("A sample of a case.", "So", "no sentence"),
        ("[\"answer 1 200 + alive\"]", "[]", "nothing is expected"),
        ("answer 1 200 + alive", "answer 1", "is no outcome"),
        ("answer 1 200 + alive", "file 1", "not declared in needs"),
        ("request 1 GET /", "request 1 GET {file}", "not declared in needs"),
        ("request 1 GET /", "request 1 GET", "request STREAM [open] METHOD PATH"),
        ("request 1 GET /", "jump 1", "nothing that a client does"),
        ("request 1 GET /", "data one | x", "is no stream"),
        ("request 1 GET /", "data 1 start | x", "is no flag"),
        ("request 1 GET /", "data 1 | hex 0", "pairs of digits"),
        ("request 1 GET /", "headers 1 | name", "is no field"),
        ("request 1 GET /", "settings SPEED=1", "is no setting"),
        ("request 1 GET /", "reset 1 MAYBE", "no code"),
        ("request 1 GET /", "priority 1 2", "is not STREAM/WEIGHT"),
        ("request 1 GET /", "repeat 999999999 ping 0", "repeated too often"),
        ("request 1 GET /", "repeat 200000 data 1 | {repeat 900 a}", "longer than"),
        ("request 1 GET /", "wait forever", "no such wait"),
        ("script = ", "text = ", "unknown field"),
    ] {
        let error = with(from, to).expect_err(told);
        assert!(error.contains(told), "'{to}' gives '{error}' instead of '{told}'");
    }
}
