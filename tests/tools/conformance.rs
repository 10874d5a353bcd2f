//! Goal: the server meets the HTTP/1.1 requirements suite. Method: the suite of `crates/conformance`, first against
//! `velodrome serve`, then, for what a file server does not offer (an echo), against a service of the library.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use crate::server::client::Client;
use crate::server::patience::until;
use crate::server::{Plan, Server, used_port};
use conformance::{
    Capability, CaseResult, ConformanceReport, Need, Options, RequirementLevel, Suite,
    TestedServer, run,
};
use velodrome::http::{
    Answer, AnswerContext, Application, BodyPolicy, FieldList, Http, HttpSettings, Method, Reply,
    Request, Status,
};
use velodrome::launch::Speaks;

/// Cases that fail, and why that is right. Never a MUST or an attack; each case here must really fail.
const DEVIATIONS: &[(&str, &str)] = &[];

/// The time that the suite waits for an answer, for an end, and for a slow client to be closed, whose deadline is one
/// second: far longer than any takes, because tests share their cores.
const PATIENT: Duration = Duration::from_secs(20);

/// The largest body that the echo accepts.
const ECHO_BYTES: u64 = 65_536;

/// Validators of the echo's file, so that every case can be run.
const VALIDATORS: [(&str, &str); 3] = [
    ("Content-Type", "text/plain"),
    ("ETag", "\"sample\""),
    ("Last-Modified", "Tue, 05 Jan 2021 08:34:56 GMT"),
];

/// 200 times the word packed, by gzip.
const PACKED_GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\x48\x4c\xce\x4e\x4d\x51\x28\x18\xa5\x46\xa9\x51\x6a\x94\x1a\xa5\xe8\x43\x01\x00\xe7\x28\x76\xa7\x78\x05\x00\x00";

#[test]
fn deviations_are_no_musts_and_no_attacks() {
    let suite = Suite::embedded().unwrap();
    for (id, reason) in DEVIATIONS {
        let case = suite.cases().iter().find(|case| case.id == *id);
        let case = case.unwrap_or_else(|| panic!("no case {id}"));
        assert!(
            matches!(case.level, RequirementLevel::Should | RequirementLevel::Policy),
            "{id} is a {}",
            case.level
        );
        assert!(reason.len() > 20, "{id}: a reason is a sentence");
    }
}

#[test]
fn the_file_server_meets_the_suite() {
    let server = file_server();
    let report = run(&file_target(&server), &options(Vec::new()));
    let echo = needing_echo();
    let unexpected = surprises(&report, |id, reason| {
        assert!(echo.iter().any(|known| known == id), "{id} was not tried: {reason}");
    });
    assert!(unexpected.is_empty(), "{} surprises\n{}", unexpected.len(), unexpected.join("\n"));
}

#[test]
fn a_service_of_the_library_meets_the_cases_about_bodies() {
    let address = echo_service();
    let target = TestedServer::new(address)
        .with(Capability::File, "/file")
        .with(Capability::Missing, "/missing")
        .with(Capability::Echo, "/echo")
        .with(Capability::BodyLimit, ECHO_BYTES.to_string());
    let mut report = run(&target, &options(needing_echo()));
    report.cases.retain(|case| needing_echo().contains(&case.id));
    assert!(report.cases.len() >= 50, "{} cases", report.cases.len());
    let unexpected = surprises(&report, |id, reason| panic!("{id} was not tried: {reason}"));
    assert!(unexpected.is_empty(), "{} surprises\n{}", unexpected.len(), unexpected.join("\n"));
}

fn options(only: Vec<String>) -> Options {
    Options {
        slow_deadline: Some(PATIENT),
        response_timeout: PATIENT,
        close_timeout: PATIENT,
        only,
        ..Options::default()
    }
}

/// The names of the cases that need an echo.
fn needing_echo() -> Vec<String> {
    let suite = Suite::embedded().unwrap();
    let wants =
        |need: &Need| matches!(need, Need::Offers(Capability::Echo | Capability::BodyLimit));
    let cases = suite.cases().iter().filter(|case| case.needs.iter().any(wants));
    cases.map(|case| case.id.clone()).collect()
}

/// Failures and unexpected skips, in detail.
fn surprises(report: &ConformanceReport, on_skipped: impl Fn(&str, &str)) -> Vec<String> {
    let mut surprises = Vec::new();
    for case in &report.cases {
        let known = DEVIATIONS.iter().any(|(id, _)| *id == case.id);
        match &case.outcome {
            CaseResult::Passed if known => surprises.push(format!("{} passes", case.id)),
            CaseResult::Failed(_) if !known => surprises.push(format!("fails: {case:#?}")),
            CaseResult::Skipped { reason } => on_skipped(&case.id, reason),
            CaseResult::Passed | CaseResult::Failed(_) => {}
        }
    }
    surprises
}

fn sample() -> String {
    (0..100).map(|line| format!("line {line:03} of the sample file\n")).collect()
}

fn file_server() -> Server {
    let plan = Plan::new()
        .config(
            "[[route]]\nprefix = \"/moved\"\nredirect = { to = \"/elsewhere$path\", status = 301 }\n\
             [limits]\nheader_deadline = \"1s\"\nbody_idle = \"1s\"\nkeep_alive = \"1s\"\n",
        )
        .file("sample.txt", sample())
        .file("empty.txt", "")
        .file(".hidden", "hidden\n")
        .file("directory/index.html", "<p>index\n")
        .file("packed.txt", "packed ".repeat(200))
        .file("packed.txt.gz", PACKED_GZIP);
    plan.directory.write("outside.txt", "outside\n");
    let site = plan.directory.join("site");
    symlink(plan.directory.join("outside.txt"), site.join("link.txt")).unwrap();
    // Old enough to be a strong validator (RFC 9110 section 8.8.2.2), on a day with one digit.
    let modified = UNIX_EPOCH + Duration::from_secs(1_609_835_696);
    for name in ["sample.txt", "packed.txt", "packed.txt.gz"] {
        let file = File::options().append(true).open(site.join(name)).unwrap();
        file.set_modified(modified).unwrap();
    }
    plan.start()
}

fn file_target(server: &Server) -> TestedServer {
    let mut target = TestedServer::new(server.address())
        .with(Capability::File, "/sample.txt")
        .with(Capability::EmptyFile, "/empty.txt")
        .with(Capability::Directory, "/directory")
        .with(Capability::Missing, "/missing")
        .with(Capability::Redirect, "/moved")
        .with(Capability::Dotfile, "/.hidden")
        .with(Capability::OutsideLink, "/link.txt")
        .with(Capability::Precompressed, "/packed.txt");
    target.file_content = Some(sample().into_bytes());
    target
}

/// Echoes bodies.
struct Echo;

/// A message type without values.
enum NoMessage {}

impl Application for Echo {
    type Message = NoMessage;

    fn body_policy(
        &mut self,
        _request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        BodyPolicy::Collect { limit: ECHO_BYTES }
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        _context: &mut AnswerContext<'_, NoMessage>,
    ) -> Answer {
        match (request.method(), request.path()) {
            (Method::Post, "/echo") => {
                reply.send(Status::OK, "application/octet-stream", request.body);
            }
            (Method::Get | Method::Head, "/file") => {
                let sample = sample();
                reply.begin(Status::OK);
                reply.fields(FieldList::of(&VALIDATORS).fields());
                reply.end_head_with_length(sample.len() as u64);
                reply.body(sample.as_bytes());
            }
            _ => reply.empty(Status::NOT_FOUND),
        }
        Answer::Done
    }
}

/// The address of an echo service, which runs until the test process ends.
fn echo_service() -> SocketAddr {
    let (listener, address) = used_port();
    drop(listener);
    let settings = HttpSettings {
        header_deadline_ms: 1000,
        body_idle_ms: 1000,
        keep_alive_ms: Some(1000),
        ..HttpSettings::default()
    };
    let settings = Arc::new(settings);
    std::thread::spawn(move || {
        let make = move || Http::new(Echo, Arc::clone(&settings), None);
        velodrome::launch::serve(&address.to_string(), Speaks::CLIENT, make)
    });
    until("the echo", || Client::connect(address).ok());
    address
}
