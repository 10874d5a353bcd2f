//! Goal: the client of channels survives everything that fails. Method: node runs it in a world whose clock, network
//! and page are the test's (`browser_client/`); without node the test is skipped and says so.

use std::path::Path;
use std::process::Command;

use crate::server::channel::{frame, say, websocket};
use crate::server::{Server, errors_of, has, printed_by, run};

const CASES: usize = 29;

#[test]
fn the_client_survives_everything_that_fails() {
    if !has("node", "the_client_survives_everything_that_fails") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = root.join("tests/serving/browser_client/cases.js");
    let client = root.join("crates/server/src/site/client/velodrome.js");
    let output = run(Command::new("node").arg(cases).arg(client));
    let printed = printed_by(&output);
    assert!(output.status.success(), "{printed}{}", errors_of(&output));
    let passed = printed.lines().filter(|line| line.starts_with("passed ")).count();
    assert_eq!(passed, CASES, "{printed}");
}

#[test]
fn a_client_that_cannot_send_the_pings_of_the_protocol_has_an_order_for_it() {
    let server = Server::start("[[channel]]\npattern = \"a\"\n");
    let mut socket = websocket(&server, "/channels");
    say(&mut socket, &frame("{\"ping\":true}"), b"{\"pong\":true}");
    say(&mut socket, &frame("{\"ping\":true,\"id\":7}"), b"{\"pong\":true,\"id\":7}");
    for other in ["{\"ping\":false}", "{\"ping\":true,\"subscribe\":\"a\",\"members\":\"a\"}"] {
        say(&mut socket, &frame(other), b"{\"error\":\"no order: one of ");
    }
}

#[test]
fn a_refusal_for_now_is_told_as_temporary() {
    let config = "[[channel]]\npattern = \"broken\"\nmodule = \"broken\"\n[[channel]]\npattern = \
                  \"no\"\nmodule = \"no\"\n";
    let plan = crate::server::Plan::new().config(config);
    plan.directory.write("app/broken.lua", "return { SUBSCRIBE = function() error('oops') end }");
    plan.directory.write("app/no.lua", "return { SUBSCRIBE = function() return 403, 'no' end }");
    let server = plan.start();
    let mut socket = websocket(&server, "/channels");
    let failed = b"\"error\":\"the module of this channel has \
                   failed\",\"temporary\":true,\"channel\":\"broken\"}";
    say(&mut socket, &frame("{\"subscribe\":\"broken\"}"), failed);
    say(&mut socket, &frame("{\"subscribe\":\"no\"}"), b"{\"error\":\"no\",\"channel\":\"no\"}");
}
