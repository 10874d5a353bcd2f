//! Goal: the runner can fail. Method: a tiny server with one fault, and the failure that it must cause.

use std::time::Duration;

use crate::scripted::{Script, Scripted, Then};
use conformance::{Capability, CaseResult, Options, Suite, TestedServer, run, run_suite};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A case as the tests write it.
fn suite(body: &str) -> Suite {
    let head = "[[case]]\nid = \"policy-a\"\nsection = \"policy a\"\nlevel = \"policy\"\n";
    let text = format!("{head}requirement = \"It is so.\"\n{body}");
    Suite::parse("test", &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Long timeouts where a wait is the exception, short ones where it is the rule.
fn options() -> Options {
    Options {
        response_timeout: Duration::from_millis(400),
        close_timeout: Duration::from_millis(200),
        settle_timeout: Duration::from_millis(100),
        slow_deadline: Some(Duration::from_millis(500)),
        ..Options::default()
    }
}

/// Plays one case; `Ok` if it passed, otherwise the problem.
fn play(script: Script, case: &str) -> Result<(), String> {
    let server = Scripted::start(script);
    let target = TestedServer::new(server.address()).with(Capability::File, "/file");
    let report = run_suite(&suite(case), &target, &options());
    assert_eq!(report.counts.total(), 1);
    match &report.cases[0].outcome {
        CaseResult::Passed => {
            assert!(!report.cases[0].sent.is_empty(), "what was sent is told of every case");
            Ok(())
        }
        CaseResult::Failed(failure) => {
            assert!(!failure.expected.is_empty());
            Err(format!("{} {}", failure.problem, report.cases[0].received))
        }
        CaseResult::Skipped { reason } => Err(format!("skipped: {reason}")),
    }
}

fn assert_told(outcome: Result<(), String>, told: &str) {
    let problem = outcome.expect_err(told);
    assert!(problem.contains(told), "'{problem}' instead of '{told}'");
}

fn keeps(_: &str) -> (Vec<u8>, Then) {
    (OK.into(), Then::Keep)
}

fn closes(_: &str) -> (Vec<u8>, Then) {
    (OK.into(), Then::Close)
}

fn silent(_: &str) -> (Vec<u8>, Then) {
    (Vec::new(), Then::Keep)
}

fn answers_twice(_: &str) -> (Vec<u8>, Then) {
    (OK.repeat(2).into(), Then::Close)
}

const GET: &str = "send = 'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'\n";

#[test]
fn a_right_answer_passes() {
    let case = format!("{GET}responses = [{{ status = [\"200\"], body = {{ is = \"hello\" }} }}]");
    assert_eq!(play(keeps, &case), Ok(()));
    let class = format!("{GET}responses = [{{ status = [\"404\", \"2xx\"] }}]");
    assert_eq!(play(keeps, &class), Ok(()));
}

#[test]
fn a_wrong_status_is_told() {
    let case = format!("{GET}responses = [{{ status = [\"4xx\", \"close\"] }}]");
    assert_told(play(keeps, &case), "status 200");
}

#[test]
fn an_alternative_is_enough() {
    let case = format!(
        "{GET}responses = [{{ status = [\"404\"], or = [{{ status = [\"200\"], absent = [\"Date\"] }}] }}]"
    );
    assert_eq!(play(keeps, &case), Ok(()));
    let neither = case.replace("absent", "present");
    assert_told(play(keeps, &neither), "status 200");
}

#[test]
fn fields_are_compared() {
    fn fields(_: &str) -> (Vec<u8>, Then) {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAllow: GET, HEAD\r\nDate: now\r\n\
            ETag: W/\"x\"\r\nLocation: //evil.invalid/\r\n\r\n";
        (answer.into(), Then::Keep)
    }
    let expect =
        |what: &str| play(fields, &format!("{GET}responses = [{{ status = [\"200\"], {what} }}]"));
    assert_eq!(expect("present = [\"allow\"], absent = [\"Vary\"]"), Ok(()));
    assert_eq!(
        expect("contains = { Allow = \"head\" }, equals = { Content-Length = \"0\" }"),
        Ok(())
    );
    assert_eq!(expect("format = { ETag = \"entity-tag\", Allow = \"methods\" }"), Ok(()));
    assert_told(expect("present = [\"Vary\"]"), "no Vary");
    assert_told(expect("absent = [\"Allow\"]"), "Allow: GET, HEAD");
    assert_told(expect("equals = { Content-Length = \"1\" }"), "0 instead of 1");
    assert_told(expect("contains = { Allow = \"HEA\" }"), "no HEA in Allow");
    assert_told(expect("lacks = { Location = \"evil\" }"), "'evil' in Location");
    assert_told(expect("format = { Date = \"http-date\" }"), "not a valid Date: now");
    assert_told(expect("format = { ETag = \"strong-entity-tag\" }"), "not a valid ETag");
    assert_told(expect("format = { Location = \"local-reference\" }"), "not a valid Location");
    assert_told(expect("body = { is = \"x\" }"), "0 bytes of content instead of 1");
}

#[test]
fn a_second_response_to_one_request_is_told() {
    for connection in ["either", "closed", "open", "as-announced"] {
        let case =
            format!("{GET}responses = [{{ status = [\"200\"] }}]\nconnection = \"{connection}\"");
        assert_told(play(answers_twice, &case), "HTTP/1.1 200 OK");
    }
}

#[test]
fn silence_is_not_a_close() {
    let case = format!("{GET}responses = [{{ status = [\"400\", \"close\"] }}]");
    assert_told(play(silent, &case), "no complete response within");
}

#[test]
fn a_close_without_answer_passes_only_where_it_is_allowed() {
    fn gone(_: &str) -> (Vec<u8>, Then) {
        (Vec::new(), Then::Close)
    }
    let case = |allowed: &str| format!("{GET}responses = [{{ status = [{allowed}] }}]");
    assert_eq!(play(gone, &case("\"400\", \"close\"")), Ok(()));
    assert_told(play(gone, &case("\"400\"")), "the connection was closed");
}

#[test]
fn the_connection_afterwards_is_judged() {
    let after = |script: Script, connection: &str| {
        let expected = "responses = [{ status = [\"200\"] }]";
        play(script, &format!("{GET}{expected}\nconnection = \"{connection}\""))
    };
    assert_eq!(after(keeps, "open"), Ok(()));
    assert_eq!(after(keeps, "as-announced"), Ok(()));
    assert_eq!(after(closes, "closed"), Ok(()));
    assert_eq!(after(closes, "closed-cleanly"), Ok(()));
    assert_eq!(after(closes, "kept-if-said"), Ok(()));
    assert_told(after(keeps, "closed"), "it stayed open");
    assert_told(after(keeps, "kept-if-said"), "it stayed open");
    assert_told(after(closes, "open"), "one more request on it");
}

#[test]
fn a_close_that_was_announced_has_to_come() {
    fn announces(_: &str) -> (Vec<u8>, Then) {
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        (answer.into(), Then::Keep)
    }
    let case =
        format!("{GET}responses = [{{ status = [\"200\"] }}]\nconnection = \"as-announced\"");
    assert_told(play(announces, &case), "it stayed open");
}

#[test]
fn a_server_that_lost_its_place_is_told() {
    // It answers the first request of a connection and treats everything later as content.
    fn swallows(head: &str) -> (Vec<u8>, Then) {
        if head.contains("first") { (OK.into(), Then::Keep) } else { (Vec::new(), Then::Keep) }
    }
    let case = "send = 'GET /first HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'\n\
        responses = [{ status = [\"200\"] }]\nconnection = \"as-announced\"";
    assert_told(play(swallows, case), "one more request on it: no complete response");
}

#[test]
fn a_body_after_head_is_told() {
    let case = "send = 'HEAD / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'\n\
        responses = [{ method = \"HEAD\", status = [\"200\"] }]";
    assert_told(play(keeps, case), "more came: hello");
}

#[test]
fn interim_responses_are_counted() {
    fn continues(_: &str) -> (Vec<u8>, Then) {
        (format!("HTTP/1.1 100 Continue\r\n\r\n{OK}").into(), Then::Keep)
    }
    fn continues_twice(_: &str) -> (Vec<u8>, Then) {
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(2);
        (format!("{interim}{OK}").into(), Then::Keep)
    }
    fn processes(_: &str) -> (Vec<u8>, Then) {
        (format!("HTTP/1.1 102 Processing\r\n\r\n{OK}").into(), Then::Keep)
    }
    let expect = |script: Script, interim: &str| {
        let expected = format!("status = [\"200\"], interim = \"{interim}\"");
        play(script, &format!("{GET}responses = [{{ {expected} }}]"))
    };
    assert_eq!(expect(continues, "continue"), Ok(()));
    assert_eq!(expect(continues, "continue-or-none"), Ok(()));
    assert_eq!(expect(keeps, "continue-or-none"), Ok(()));
    assert_told(expect(keeps, "continue"), "interim responses []");
    assert_told(expect(continues, "forbidden"), "interim responses [100]");
    assert_eq!(expect(continues, "continue-once"), Ok(()));
    assert_eq!(expect(continues_twice, "continue"), Ok(()));
    assert_eq!(expect(continues_twice, "continue-or-none"), Ok(()));
    assert_told(expect(continues_twice, "continue-once"), "interim responses [100, 100]");
    assert_told(expect(processes, "continue-or-none"), "interim responses [102]");
}

#[test]
fn a_pipeline_out_of_order_is_told() {
    fn by_path(head: &str) -> (Vec<u8>, Then) {
        let name = if head.contains("/one") { "two" } else { "one" };
        (format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{name}").into(), Then::Keep)
    }
    let case = "send = 'GET /one HTTP/1.1\\r\\n\\r\\nGET /two HTTP/1.1\\r\\n\\r\\n'\n\
        responses = [{ status = [\"200\"], body = { is = \"one\" } }, { status = [\"200\"] }]";
    assert_told(play(by_path, case), "3 bytes of content instead of 3: two");
}

#[test]
fn a_slow_client_that_is_never_given_up_is_told() {
    let case = "needs = [\"slow-deadline\"]\nsteps = [{ drip = 'x' }]\n\
        responses = [{ status = [\"408\", \"close\"] }]\nconnection = \"closed\"";
    assert_told(play(silent, case), "no complete response within 500ms");
}

#[test]
fn unsupported_requirement_is_skipped_with_reason() {
    let server = Scripted::start(keeps);
    let target = TestedServer::new(server.address());
    let suite = suite(&format!("needs = [\"echo\"]\n{GET}responses = [{{ status = [\"200\"] }}]"));
    let report = run_suite(&suite, &target, &options());
    assert_eq!((report.counts.skipped, report.counts.total()), (1, 1));
    assert!(report.to_string().contains("(no 'echo' was named)"), "{report}");
    let json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(json["cases"][0]["result"], "skipped");
    assert_eq!(json["levels"]["policy"]["skipped"], 1);
}

#[test]
fn a_server_that_is_not_there_fails_every_case() {
    // The first of the privileged ports, which no test server can get.
    let address = ([127, 0, 0, 1], 1).into();
    let options = Options { only: vec!["rfc9112-3.2.4".to_owned()], ..options() };
    let report = run(&TestedServer::new(address), &options);
    assert!(report.counts.total() >= 2);
    assert_eq!(report.counts.failed, report.counts.total(), "{report}");
}

/// Goal: the embedded suite finds a careless server. Method: one that answers 200 to everything.
#[test]
fn a_server_that_says_yes_to_everything_fails_the_attacks() {
    let server = Scripted::start(keeps);
    let target = TestedServer::new(server.address()).with(Capability::File, "/file");
    let parts = ["content-length-", "host-", "policy-coding-"].map(str::to_owned);
    let report = run(&target, &Options { only: parts.to_vec(), threads: 32, ..options() });
    assert!(report.counts.failed > 50, "{:?}", report.counts);
    let ids: Vec<&str> = report.failures().map(|case| case.id.as_str()).collect();
    for id in ["rfc9112-3.2-host-missing", "policy-content-length-and-transfer-encoding"] {
        assert!(ids.contains(&id), "{id} is not among {ids:?}");
    }
}
