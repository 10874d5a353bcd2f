//! Goal: HTTP/2 works with everything that listeners, proxies and operators can combine it with.
//! Method: a PROXY header before the preface, Unix sockets, the admin service, a server behind; drain, reload and end
//! of one connection with a hundred streams; limits at their smallest.

use std::net::SocketAddr;
use std::process::Command;

use conformance::TestedServer;
use conformance::h2::FrameTarget;
use serde_json::Value;

use crate::server::patience::{PATIENCE, until};
use crate::server::{Plan, Server, errors_of, has, printed_by, run};
use crate::site::{
    ENCRYPTED, PLAIN, answer, content, encrypted, options, plan, play, status, target,
};
use crate::websockets::{TALK, hears, opening, text};

const LOGGED: &str = "[log]\naccess = \"access.log\"\n";

/// The output of curl.
fn curl(words: &[&str]) -> String {
    let output = run(Command::new("curl").arg("-sS").args(words));
    assert!(output.status.success(), "{words:?}: {}", errors_of(&output));
    printed_by(&output)
}

/// The log, once it has this.
fn log_with(server: &Server, text: &str) -> String {
    until(text, || Some(server.directory().text("access.log")).filter(|log| log.contains(text)))
}

/// A server without knowledge of its files: it is not asked before the test does.
fn unasked(address: SocketAddr) -> FrameTarget {
    FrameTarget::learn(&TestedServer::new(address), &options())
}

#[test]
fn a_client_behind_a_proxy_header_begins_with_http2() {
    let listener = PLAIN.replace('}', "") + "proxy_protocol_from = [\"127.0.0.0/8\"]\n";
    let plan = Plan::new().config(&format!("{listener}{LOGGED}")).listen_as_configured(1);
    let server = plan.argument("--schedulers=1").file("a.txt", "a\n").start();
    let target = unasked(server.address());
    let mut client = target.silent_client().unwrap();
    let header = "raw | PROXY TCP4 192.0.2.7 192.0.2.1 1234 80\\r\\n";
    play(&mut client, &format!("{header}\npreface\nsettings\nrequest 1 GET /a.txt\nwait end 1"));
    assert_eq!((status(&client, 1), content(&client, 1)), (200, "a\n".to_owned()));
    let log = log_with(&server, "192.0.2.7");
    assert!(log.contains("\"GET /a.txt HTTP/2.0\" 200 2 "), "{log}");
}

#[test]
fn a_client_behind_a_proxy_header_agrees_on_http2() {
    const TEST: &str = "a_client_behind_a_proxy_header_agrees_on_http2";
    if !has("curl", TEST) {
        return;
    }
    let listener = format!("{ENCRYPTED}proxy_protocol_from = [\"127.0.0.0/8\"]\n{LOGGED}");
    let (server, address, ca) =
        encrypted(Plan::new().config(&listener).argument("--schedulers=1").file("a.txt", "a\n"));
    let url = format!("https://localhost:{}/a.txt", address.port());
    let ca = ca.display().to_string();
    let words = ["--haproxy-protocol", "--cacert", &ca, "-w", "%{http_version}", &url];
    assert_eq!(curl(&words), "a\n2");
    let log = log_with(&server, "/a.txt");
    assert!(log.starts_with("127.0.0.1 ") && log.contains(" HTTP/2.0\" 200 2 "), "{log}");
}

#[test]
fn a_unix_socket_speaks_http2() {
    const TEST: &str = "a_unix_socket_speaks_http2";
    if !has("curl", TEST) {
        return;
    }
    let plan = Plan::new();
    let socket = plan.directory.join("http2.sock").display().to_string();
    let listener = format!("{PLAIN}[[listener]]\naddress = \"unix:{socket}\"\nh2c = true\n");
    let plan = plan.config(&listener).listen_as_configured(2).file("a.txt", "a\n");
    let server = plan.argument("--schedulers=1").start();
    let words = ["--http2-prior-knowledge", "--unix-socket", &socket, "-w", "%{http_version}"];
    assert_eq!(curl(&[&words[..], &["http://localhost/a.txt"]].concat()), "a\n2");
    server.reaches("/connections", 0);
}

#[test]
fn a_websocket_on_a_stream_reaches_a_server_that_speaks_http1() {
    let behind = Plan::new().config("[[route]]\npath = \"/talk\"\nmodule = \"talk\"\n");
    behind.directory.write("app/talk.lua", TALK);
    let behind = behind.start();
    let config = format!(
        "[[upstream]]\nname = \"behind\"\nservers = [\"{}\"]\n[[route]]\npath = \"/talk\"\nproxy = \"behind\"\n",
        behind.address()
    );
    let server = plan(&config).file("a.txt", "a\n").start();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    for (stream, name) in [(1, "ann"), (3, "bob")] {
        play(&mut client, &opening(stream, &format!("/talk?name={name}")));
        assert_eq!(status(&client, stream), 200, "{}", client.frames());
        assert_eq!(answer(&client, stream).field("sec-websocket-accept"), None);
        hears(&mut client, stream, &format!("hello {name}"));
    }
    behind.reaches("/connections", 2);
    play(&mut client, &format!("data 1 | {}\ndata 3 | {}", text("one"), text("two")));
    hears(&mut client, 1, "ONE");
    hears(&mut client, 3, "TWO");
    play(&mut client, &format!("data 1 | {}\nwait end 1", text("close")));
    play(&mut client, "reset 3 CANCEL");
    behind.reaches("/connections", 0);
    play(&mut client, "request 5 GET /a.txt\nwait end 5");
    assert_eq!(status(&client, 5), 200);
    assert_eq!(
        (server.printed_troubles(), behind.printed_troubles()),
        (String::new(), String::new())
    );
}

/// A hundred pages that wait for a word.
const WAITING: &str = "<% register(request.query.name) receive(30) %>told";
/// A module that says it to all of them, later.
const WORD: &str = "return function(request) sleep(1) \
    for number = 1, 100 do send('w' .. number, 'go') end return 'said' end";

fn crowd() -> Server {
    let plan = plan("[[route]]\npath = \"/say\"\nmodule = \"say\"\n").file("a.txt", "a\n");
    let plan = plan.file("wait.page.txt", WAITING);
    plan.directory.write("app/say.lua", WORD);
    plan.start()
}

fn begin_crowd(client: &mut conformance::h2::FrameClient<'_>, server: &Server) {
    let lines: Vec<String> = (1..=100)
        .map(|number| format!("request {} GET /wait?name=w{number}", 2 * number - 1))
        .collect();
    play(client, &lines.join("\n"));
    server.reaches("/pages/waiting", 100);
}

#[test]
fn a_hundred_streams_outlast_a_reload_and_a_drain() {
    let mut server = crowd();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    begin_crowd(&mut client, &server);
    assert!(server.ctl(&["reload"]).status.success());
    let mut other = target.client().unwrap();
    play(&mut other, "request 1 GET /say");
    server.reaches("/pages/waiting", 101);
    server.signal("TERM");
    play(&mut client, "wait goaway");
    for number in 1..=100 {
        let stream = 2 * number - 1;
        play(&mut client, &format!("wait end {stream}"));
        assert_eq!((status(&client, stream), content(&client, stream)), (200, "told".to_owned()));
    }
    assert!(client.ends_within(PATIENCE), "{}", client.frames());
    assert!(server.wait().success());
}

#[test]
fn ctl_ends_a_connection_with_a_hundred_streams() {
    let server = crowd();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    // Later it is one of many.
    let live = crate::server::client::Client::connect_unix(&server.plan.socket());
    let live = live.unwrap().get("/live?list=connections").unwrap();
    let live: Value = serde_json::from_slice(&live.body).unwrap();
    let row = live["list"]["rows"].as_array().unwrap().iter();
    let mut row = row.filter(|row| row["values"]["kind"] == "http2");
    let id = row.next().unwrap_or_else(|| panic!("{live}"))["id"].as_str().unwrap();
    begin_crowd(&mut client, &server);
    let ended = printed_by(&server.ctl(&["kill", id]));
    assert!(ended.starts_with(&format!("ended {id}\n")), "{ended}");
    assert!(client.ends_within(PATIENCE), "{}", client.frames());
    server.reaches("/pages/waiting", 0);
    server.reaches("/connections", 0);
    server.reaches("/network/buffered_bytes", 0);
}

#[test]
fn with_limits_at_their_smallest_requests_are_answered_or_refused() {
    let config = "[limits]\nhead_size = 300\nfield_count = 4\nfield_size = 100\nfield_name_size = 20\n\
        target_size = 16\nbody_size = 1\nunread_body_size = 0\nheader_deadline = \"1s\"\nbody_idle = \"1s\"\n\
        send_idle = \"1s\"\nkeep_alive = \"1s\"\nrequests_per_connection = 1\nconnections = 2\n\
        [[route]]\npath = \"/echo\"\nmodule = \"echo\"\n";
    let plan = plan(config).file("a.txt", "a\n");
    plan.directory.write("app/echo.lua", "return function(request) return request.body end");
    let server = plan.start();
    let target = unasked(server.address());
    for (request, expected) in [
        ("GET /a.txt", 200),
        ("GET /a.txt | x: 1 | y: 2 | z: 3 | a: 4 | b: 5", 431),
        ("GET /a.txt | x: {repeat 200 a}", 431),
        ("GET /a-long-path-of-it", 414),
    ] {
        let mut client = target.client().unwrap();
        play(&mut client, &format!("request 1 {request}\nwait end 1"));
        assert_eq!(status(&client, 1), expected, "{request}: {}", client.frames());
    }
    for (body, expected) in [("a", 200), ("ab", 413)] {
        let mut client = target.client().unwrap();
        play(
            &mut client,
            &format!("request 1 open POST /echo\ndata 1 end | {body}\nwait answer 1"),
        );
        assert_eq!(status(&client, 1), expected, "{body}: {}", client.frames());
    }
    // All streams at once, on the only connection: a stream counts as one.
    let mut client = target.client().unwrap();
    play(&mut client, "repeat 100 request next GET /a.txt\nwait end 199\nwait end 1");
    let statuses: Vec<u16> =
        (1..200).step_by(2).filter_map(|stream| client.answer(stream)?.status()).collect();
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
    assert!(!statuses.is_empty(), "{}", client.frames());
    drop(client);
    server.reaches("/connections", 0);
    server.reaches("/network/buffered_bytes", 0);
}
