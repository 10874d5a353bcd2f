//! Goal: the server meets every HTTP/2 requirement. Method: the suite of `crates/conformance` over a plain listener and
//! over TLS, and h2spec, which somebody else wrote.

use std::process::Command;

use conformance::h2::run_frames;
use conformance::{Capability, CaseResult, Options, TestedServer};

use crate::server::{Plan, has, printed_by, run};
use crate::site::{ENCRYPTED, encrypted, options, plan};

const ECHO: &str = "return function(request) return request.body end";

/// Answers when the request has ended: h2spec expects that of every path, and says so of files by chance.
const SPEC: &str = "return function(request) return ('x'):rep(1000) .. request.body end";

const CONFIG: &str = "[[route]]\npath = \"/echo\"\nmodule = \"echo\"\nbody_size = \"64 KiB\"\n\
                      [[route]]\npath = \"/spec\"\nmodule = \"spec\"\n";

fn sample() -> String {
    (0..100).map(|line| format!("line {line:03} of the sample file\n")).collect()
}

fn with_site(plan: Plan) -> Plan {
    plan.directory.write("app/echo.lua", ECHO);
    plan.directory.write("app/spec.lua", SPEC);
    plan.file("sample.txt", sample())
}

#[test]
fn the_server_meets_the_suite_of_http2() {
    let server = with_site(plan(CONFIG)).start();
    let mut target = TestedServer::new(server.address())
        .with(Capability::File, "/sample.txt")
        .with(Capability::Missing, "/missing")
        .with(Capability::Echo, "/echo")
        .with(Capability::BodyLimit, "65536");
    target.file_content = Some(sample().into_bytes());
    let report = run_frames(&target, &Options { threads: 16, ..options() });
    let failures: Vec<String> = report.failures().map(|case| format!("{case:#?}")).collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    for case in &report.cases {
        if let CaseResult::Skipped { reason } = &case.outcome {
            // The server's announcement decides which of two cases is played.
            assert_eq!(case.id, "h2-rfc8441-4-not-announced", "{reason}");
        }
    }
    server.reaches("/connections", 0);
    assert_eq!(server.printed_troubles(), "");
}

#[test]
fn every_case_of_h2spec_passes() {
    if !has("h2spec", "every_case_of_h2spec_passes") {
        return;
    }
    let plan = with_site(Plan::new().config(&format!("{ENCRYPTED}{CONFIG}")));
    let (server, address, _) = encrypted(plan);
    let mut command = Command::new("h2spec");
    command.args(["--host", "127.0.0.1", "--port", &address.port().to_string()]);
    command.args(["--tls", "--insecure", "--path", "/spec", "--timeout", "30"]);
    let printed = printed_by_any(&mut command);
    assert!(printed.contains("0 skipped, 0 failed"), "{printed}");
    let passed =
        printed.lines().find_map(|line| line.split_once(" tests, ")).map(|(count, _)| count);
    assert!(passed.and_then(|count| count.parse::<u32>().ok()).unwrap() >= 140, "{printed}");
    server.reaches("/connections", 0);
}

/// The output of a program, whether it succeeded or not.
fn printed_by_any(command: &mut Command) -> String {
    let output = run(command);
    if output.status.success() {
        return printed_by(&output);
    }
    String::from_utf8_lossy(&output.stdout).into_owned()
}
