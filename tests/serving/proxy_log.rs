//! Goal: the access log says which servers had a request, how each step went and how long it took; the number of the
//! request is the same in the log, on error pages and for the servers. Method: the built binary with its log in a file,
//! and servers that answer as a test says.

use std::io::Write;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::other::always;
use crate::server::patience::{PATIENCE, until};
use crate::server::upstreams::{
    OK, all_to, by_hand, connect, exchange, get, next, read_to, rest, start,
};
use crate::server::{Server, free_address};

const LOG: &str = "[log]\naccess = \"access.log\"\nfields = [\"status\", \"request_id\", \"upstream\", \
                   \"upstream_address\", \"upstream_status\", \"upstream_connect_ms\", \
                   \"upstream_first_byte_ms\", \"upstream_ms\", \"duration_ms\"]\n";

fn logging(servers: &[SocketAddr], keys: &str) -> Server {
    start(&format!("{}{LOG}", all_to(servers, keys)))
}

/// The line of the request with this number, from 0.
fn line(server: &Server, number: usize) -> Value {
    until("the line of the log", || {
        let text = server.directory().text("access.log");
        let line = text.lines().nth(number).filter(|_| text.ends_with('\n'))?;
        Some(serde_json::from_str(line).unwrap())
    })
}

fn milliseconds(line: &Value, name: &str) -> f64 {
    line[name].as_f64().unwrap_or_else(|| panic!("{name} of {line}"))
}

#[test]
fn the_log_has_the_server_and_its_times() {
    let (address, connections) = by_hand();
    let server = logging(&[address], "");
    let mut client = connect(&server);
    client.write_all(get("/", "").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    let pause = Duration::from_millis(60);
    let passed = |since: Instant| until("some time", || (since.elapsed() >= pause).then_some(()));
    passed(Instant::now());
    backend.write_all(b"HTTP/1.1 404 N\r\nContent-Length: 4\r\n\r\nxy").unwrap();
    read_to(&mut client, "xy");
    passed(Instant::now());
    backend.write_all(b"cd").unwrap();
    assert_eq!(rest(&mut client), "cd");
    let line = line(&server, 0);
    assert_eq!(line["upstream"], "a", "{line}");
    assert_eq!(line["upstream_address"], address.to_string(), "{line}");
    assert_eq!((&line["status"], &line["upstream_status"]), (&404.into(), &404.into()), "{line}");
    let times = ["upstream_connect_ms", "upstream_first_byte_ms", "upstream_ms"];
    let [connect_ms, first_ms, whole_ms] = times.map(|name| milliseconds(&line, name));
    assert!(connect_ms >= 0.0 && connect_ms <= first_ms - 55.0, "{line}");
    assert!(first_ms >= 55.0 && first_ms <= whole_ms - 55.0, "{line}");
    assert!(whole_ms <= milliseconds(&line, "duration_ms") + 0.001, "{line}");
}

#[test]
fn the_log_has_all_servers_that_were_tried() {
    let (closed, (alive, _heard)) = (free_address(), always(OK));
    let server = logging(&[closed, alive], "balance = \"round-robin\"");
    assert!(exchange(&server, &get("/", "")).ends_with("\r\n\r\nok"));
    let both = line(&server, 0);
    assert_eq!(both["upstream_address"], format!("{closed}, {alive}"), "{both}");
    assert_eq!((&both["status"], &both["upstream_status"]), (&200.into(), &200.into()), "{both}");
}

#[test]
fn absent_log_value_is_null() {
    let closed = free_address();
    let respond = "[[route]]\npath = \"/own\"\nrespond = { body = \"own\" }\n";
    // The page of the error is looked up, so the request waits once more when its servers are known.
    let page = "[error_pages]\n502 = \"/502.html\"\n";
    let server = start(&format!("{page}{respond}{}{LOG}", all_to(&[closed], "")));
    assert!(exchange(&server, &get("/", "")).starts_with("HTTP/1.1 502 "));
    let failed = line(&server, 0);
    assert_eq!(failed["upstream"], "a", "{failed}");
    assert_eq!(failed["upstream_address"], closed.to_string(), "{failed}");
    milliseconds(&failed, "upstream_ms");
    for name in ["upstream_status", "upstream_connect_ms", "upstream_first_byte_ms"] {
        assert_eq!(failed[name], Value::Null, "{name} of {failed}");
    }
    assert!(exchange(&server, &get("/own", "")).ends_with("own"));
    let own = line(&server, 1);
    let fields = own.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("upstream"));
    let fields: Vec<&Value> = fields.map(|(_, value)| value).collect();
    assert_eq!(fields, [&Value::Null; 6], "{own}");
}

#[test]
fn a_request_has_the_same_number_everywhere() {
    let (address, heard) = always(OK);
    let server = logging(&[address], "");
    exchange(&server, &get("/", "X-Request-Id: forged\r\n"));
    let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
    let id = line(&server, 0)["request_id"].as_str().unwrap().to_owned();
    assert!(request.contains(&format!("\r\nX-Request-Id: {id}\r\n")), "{id}: {request}");
    assert_eq!(request.to_ascii_lowercase().matches("request-id").count(), 1, "{request}");
    let trusting = format!("trusted_proxies = [\"127.0.0.1\"]\n{}{LOG}", all_to(&[address], ""));
    let server = start(&trusting);
    exchange(&server, &get("/", "X-Request-Id: of-the-proxy\r\n"));
    let requests = std::iter::from_fn(|| heard.recv_timeout(PATIENCE).ok());
    let request = requests.into_iter().find(|(_, request)| request != "end").unwrap().1;
    assert!(request.contains("\r\nX-Request-Id: of-the-proxy\r\n"), "{request}");
    assert_eq!(line(&server, 0)["request_id"], "of-the-proxy");
}

#[test]
fn the_number_on_an_error_page_is_the_one_of_the_server_that_failed() {
    let (address, connections) = by_hand();
    let server = logging(&[address], "retries = 0");
    let failing = thread::spawn(move || read_to(&mut next(&connections), "\r\n\r\n"));
    let answer = exchange(&server, &get("/", "Accept: application/json\r\n"));
    let request = failing.join().unwrap();
    let (_, id) = request.split_once("X-Request-Id: ").unwrap();
    let (id, _) = id.split_once("\r\n").unwrap();
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains(id), "{id}: {answer}");
}
