//! Goal: a client that begins something and does not go on is let go, and keeps nothing from others. Method: each kind
//! of unfinished input, with deadlines of a second.

use conformance::h2::FrameClient;

use crate::server::patience::PATIENCE;
use crate::site::{plan, play, status, target};

const DEADLINES: &str = "[[route]]\npath = \"/echo\"\nmodule = \"echo\"\n[limits]\nheader_deadline = \
                         \"1s\"\nkeep_alive = \"1s\"\nbody_idle = \"1s\"\n";

const ECHO: &str = "return function(request) return request.body end";

fn site() -> crate::server::Server {
    let plan = plan(DEADLINES).file("a.txt", "a\n");
    plan.directory.write("app/echo.lua", ECHO);
    plan.start()
}

#[test]
fn a_beginning_that_does_not_go_on_is_let_go() {
    let server = site();
    let target = target(&server, "/a.txt");
    for begun in [
        "raw | PRI * HT",
        "raw | PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n",
        "preface\nraw | hex 00 00 06 04",
        "preface\nsettings\nraw | hex 00 00",
        "preface\nsettings\nheaders 1 end part | @ GET /a.txt",
        "preface\nsettings\nheaders 1 end length=500 | @ GET /a.txt",
        "preface\nsettings\nheaders 1 end part | @ GET /a.txt\nraw | hex 00 00 05 09 04 00 00 00 01 00",
        "preface\nsettings\nping 0 length=8 | 1234",
        "preface\nsettings",
    ] {
        let mut client = target.silent_client().unwrap();
        client.play(begun).unwrap();
        assert!(client.ends_within(PATIENCE), "{begun}: {}", client.frames());
    }
    server.reaches("/connections", 0);
}

#[test]
fn a_connection_without_streams_is_closed_after_keep_alive() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 GET /a.txt\nwait end 1");
    assert!(client.ends_within(PATIENCE), "{}", client.frames());
    assert_eq!(client.farewell().as_deref(), Some("NO_ERROR"), "{}", client.frames());
}

#[test]
fn a_body_that_does_not_come_costs_its_stream_only() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(
        &mut client,
        "request 1 open POST /echo | content-length: 100\ndata 1 | begun\nwait end 1",
    );
    let refused = client.answer(1).and_then(conformance::h2::StreamAnswer::status);
    let reset = client.answer(1).and_then(conformance::h2::StreamAnswer::reset_code);
    assert!(refused == Some(408) || reset.is_some(), "{}", client.frames());
    is_alive(&mut client);
}

fn is_alive(client: &mut FrameClient<'_>) {
    let stream = client.last_stream() + 2;
    play(client, &format!("request {stream} GET /a.txt\nwait end {stream}"));
    assert_eq!(status(client, stream), 200);
}

#[test]
fn a_body_that_comes_slowly_costs_its_stream_only() {
    let config = "[[route]]\npath = \"/echo\"\nmodule = \"echo\"\n[limits]\nbody_rate = \"100 KiB/s\"\nbody_idle = \"20s\"\n";
    let plan = plan(config).file("a.txt", "a\n");
    plan.directory.write("app/echo.lua", ECHO);
    let server = plan.start();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 open POST /echo | content-length: 100000");
    crate::server::patience::until("the end of the slow stream", || {
        client.play("data 1 | x\nwait quiet").unwrap();
        let answer = client.answer(1)?;
        (answer.status() == Some(408) || answer.reset_code().is_some()).then_some(())
    });
    is_alive(&mut client);
}
