//! Goal: a reload that changes an upstream loses no request of it. Method: the built binary with room for one request
//! at a server that answers when a test says so, requests that wait for it, and a new configuration.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use crate::server::other::always;
use crate::server::patience::until;
use crate::server::upstreams::{OK, all_to, by_hand, connect, get, next, read_to, rest, start};
use crate::server::{Server, configuration};

/// A client whose request was sent.
fn asking(server: &Server, path: &str) -> TcpStream {
    let mut client = connect(server);
    client.write_all(get(path, "").as_bytes()).unwrap();
    client
}

fn waiting(server: &Server, count: u64) {
    until("requests wait", || (server.told("/upstreams")[0]["waiting"] == count).then_some(()));
}

fn reload(server: &Server, servers: &[SocketAddr], keys: &str) {
    server.directory().write("velodrome.toml", configuration(&all_to(servers, keys)));
    let reloaded = server.ctl(&["reload"]);
    assert!(reloaded.status.success(), "{reloaded:?}");
}

/// One request at a time, and nobody waits longer than a test.
const NARROW: &str = "connections = 1\nqueue_timeout = \"1h\"";

#[test]
fn request_that_waits_goes_to_a_server_that_a_reload_adds() {
    let (busy, connections) = by_hand();
    let (added, _heard) = always(OK);
    let server = start(&all_to(&[busy], NARROW));
    let mut first = asking(&server, "/first");
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    let mut second = asking(&server, "/second");
    waiting(&server, 1);
    reload(&server, &[added], NARROW);
    assert!(rest(&mut second).ends_with("\r\n\r\nok"));
    // The server that is no longer there ends the request that it has.
    backend.write_all(OK.as_bytes()).unwrap();
    assert!(rest(&mut first).ends_with("\r\n\r\nok"));
}

#[test]
fn request_at_a_server_keeps_its_place_there_over_a_reload() {
    let (busy, connections) = by_hand();
    let server = start(&all_to(&[busy], NARROW));
    let mut first = asking(&server, "/first");
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    let mut second = asking(&server, "/second");
    waiting(&server, 1);
    for again in 0..2 {
        reload(&server, &[busy], &format!("{NARROW}\nretries = {again}"));
        waiting(&server, 1);
        assert_eq!(server.told("/upstreams")[0]["servers"][0]["open"], 1);
    }
    backend.write_all(OK.as_bytes()).unwrap();
    assert!(rest(&mut first).ends_with("\r\n\r\nok"));
    assert!(read_to(&mut backend, "\r\n\r\n").starts_with("GET /second "));
    backend.write_all(OK.as_bytes()).unwrap();
    assert!(rest(&mut second).ends_with("\r\n\r\nok"));
}

#[test]
fn request_whose_server_a_reload_has_removed_goes_to_another_one_when_that_fails() {
    let (failing, connections) = by_hand();
    let (added, _heard) = always(OK);
    let server = start(&all_to(&[failing], ""));
    let mut client = asking(&server, "/");
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    reload(&server, &[added], "");
    drop(backend);
    assert!(rest(&mut client).ends_with("\r\n\r\nok"));
}
