//! Goal: a request that something was asked about and that ends without its answer has one line in the access log like
//! any other, with what is known of it, and is counted. Method: the built binary with its log in a file, servers by
//! hand and a module that waits, and clients that leave.

use std::io::Write;
use std::net::SocketAddr;

use serde_json::Value;

use crate::server::patience::until;
use crate::server::upstreams::{
    all_to, by_hand, connect, exchange, get, next, read_to, rest, start,
};
use crate::server::{Plan, Server};

const LOG: &str = "[log]\naccess = \"access.log\"\nfields = [\"status\", \"method\", \"bytes\", \
                   \"bytes_in\", \"request_id\", \"route\", \"upstream\", \"upstream_address\", \
                   \"upstream_status\", \"upstream_ms\", \"first_byte_ms\", \"duration_ms\"]\n";

const OWN: &str = "[[route]]\npath = \"/own\"\njson = 1\n";

fn passing_on(address: SocketAddr, keys: &str) -> Server {
    start(&format!("{OWN}{}{keys}{LOG}", all_to(&[address], "")))
}

/// The lines of the log, once there is one more: of a request that is sent now. Each that came before has its line.
fn lines(server: &Server) -> Vec<Value> {
    assert!(exchange(server, &get("/own", "")).ends_with("\r\n\r\n1"));
    let mut lines = until("the last line", || {
        let text = server.directory().text("access.log");
        let whole = text.ends_with('\n').then(|| text.lines().map(str::to_owned))?;
        let lines: Vec<Value> = whole.map(|line| serde_json::from_str(&line).unwrap()).collect();
        lines.last().is_some_and(|line| line["route"] == "/own").then_some(lines)
    });
    lines.pop();
    lines
}

fn is_complete(line: &Value, (status, bytes_in): (u64, u64), address: SocketAddr) {
    assert_eq!((&line["status"], &line["bytes_in"]), (&status.into(), &bytes_in.into()), "{line}");
    assert_eq!((&line["route"], &line["upstream"]), (&"/".into(), &"a".into()), "{line}");
    assert_eq!(line["upstream_address"], address.to_string(), "{line}");
    assert_eq!(line["request_id"].as_str().map(str::len), Some(32), "{line}");
    let [upstream_ms, duration_ms] =
        ["upstream_ms", "duration_ms"].map(|name| line[name].as_f64().unwrap());
    assert!(upstream_ms <= duration_ms + 0.001, "{line}");
}

#[test]
fn a_client_that_leaves_before_the_answer_has_a_line_however_it_leaves() {
    let (address, connections) = by_hand();
    let server = passing_on(address, "");
    let post = "POST / HTTP/1.1\r\nHost: a\r\n";
    // With the last bytes that a server gets before the client leaves.
    let cases = [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), "", "\r\n\r\n"),
        (format!("{post}Content-Length: 5\r\n\r\nabcde"), "", "abcde"),
        (format!("{post}Content-Length: 9\r\n\r\nabcde"), "", "abcde"),
        (format!("{post}Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"), "", "abcde"),
        // It leaves 100 unread, so its end is a reset.
        (format!("{post}Content-Length: 9\r\nExpect: 100-continue\r\n\r\n"), "abcde", "abcde"),
    ];
    for (number, (head, body, seen)) in (1..).zip(cases) {
        let mut client = connect(&server);
        client.write_all(head.as_bytes()).unwrap();
        let mut backend = next(&connections);
        client.write_all(body.as_bytes()).unwrap();
        read_to(&mut backend, seen);
        drop(client);
        server.reaches("/http/by_class/4xx", number);
    }
    assert_eq!(server.count("/http/requests"), 5);
    let lines = lines(&server);
    assert_eq!(lines.len(), 5);
    for (line, bytes_in) in lines.iter().zip([0, 5, 5, 5, 5]) {
        is_complete(line, (499, bytes_in), address);
        assert_eq!(line["bytes"], 0, "{line}");
        for name in ["upstream_status", "first_byte_ms"] {
            assert_eq!(line[name], Value::Null, "{name} of {line}");
        }
    }
}

#[test]
fn a_body_that_is_malformed_after_its_head_was_passed_on_has_a_whole_line() {
    let (address, connections) = by_hand();
    let server = passing_on(address, "");
    let mut client = connect(&server);
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.write_all(format!("{head}5\r\nabcde\r\n").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "abcde");
    client.write_all(b"ZZ\r\n").unwrap();
    assert!(rest(&mut client).starts_with("HTTP/1.1 400 "));
    let lines = lines(&server);
    assert_eq!(lines.len(), 1);
    is_complete(&lines[0], (400, 5), address);
}

#[test]
fn an_answer_that_its_client_does_not_wait_for_has_a_whole_line() {
    let (address, connections) = by_hand();
    let server = passing_on(address, "");
    let mut client = connect(&server);
    client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabcde").unwrap();
    read_to(&mut client, "abcd");
    drop(client);
    server.reaches("/http/by_class/2xx", 1);
    let lines = lines(&server);
    assert_eq!(lines.len(), 1);
    is_complete(&lines[0], (200, 0), address);
    assert_eq!((&lines[0]["bytes"], &lines[0]["upstream_status"]), (&5.into(), &200.into()));
}

#[test]
fn a_module_that_waits_for_a_client_that_has_left_has_a_line_unless_its_route_has_none() {
    let module = "return { { '/', function(request) sleep(600) return 'late' end } }";
    let route =
        |prefix, keys| format!("[[route]]\nprefix = \"{prefix}\"\nmodule = \"slow\"\n{keys}");
    let routes = format!("{OWN}{}{}", route("/slow", ""), route("/quiet", "log = false\n"));
    let plan = Plan::new().argument("--schedulers=1");
    let plan = plan.config(&format!("{routes}[pages]\napp = \"app\"\n{LOG}"));
    plan.directory.write("app/slow.lua", module);
    let server = plan.start();
    for (number, path) in (1..).zip(["/quiet", "/slow"]) {
        let mut client = connect(&server);
        client.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
        server.reaches("/pages/waiting", 1);
        drop(client);
        server.reaches("/http/by_class/4xx", number);
    }
    let lines = lines(&server);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = &lines[0];
    assert_eq!((&line["status"], &line["route"]), (&499.into(), &"/slow".into()), "{line}");
    assert_eq!((&line["bytes"], &line["upstream"]), (&0.into(), &Value::Null), "{line}");
}
