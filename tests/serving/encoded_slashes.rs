//! Goal: a path with an encoded slash reaches a server as it came, and only where both readings of it have the same
//! guards. Method: the built binary, and a server that tells what it heard.

use std::io::Write;

use crate::server::Server;
use crate::server::other::always;
use crate::server::patience::PATIENCE;
use crate::server::upstreams::{OK, connect, rest};

/// Sends a request, and returns the whole answer.
fn ask(server: &Server, line: &str, body: &str) -> String {
    let mut client = connect(server);
    let length = body.len();
    let head = format!(
        "{line} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    client.write_all(head.as_bytes()).unwrap();
    rest(&mut client)
}

fn routes(address: std::net::SocketAddr) -> String {
    format!(
        "[[upstream]]\nname = \"a\"\nservers = [\"{address}\"]\n[[route]]\nprefix = \"/open\"\nproxy = \
         \"a\"\n[[route]]\nprefix = \"/files\"\nfiles = {{}}\n[[route]]\nprefix = \"/api\"\nproxy = {{ \
         upstream = \"a\", strip_prefix = true }}\n[[route]]\nprefix = \"/mixed\"\nfiles = {{ try = \
         [\"$path\", \"next\"] }}\n[[route]]\nprefix = \"/\"\naccess = [{{ deny = \"127.0.0.0/8\" }}, {{ allow = \"all\" }}]\nproxy = \"a\"\n"
    )
}

#[test]
fn encoded_slash_is_passed_on_where_both_readings_have_one_route() {
    let (address, heard) = always(OK);
    let mixed = "[[route]]\nprefix = \"/mixed\"\nproxy = \"a\"\n[[route]]\nprefix = \"/\"\naccess";
    let config = routes(address).replace("[[route]]\nprefix = \"/\"\naccess", mixed);
    let server = crate::server::Plan::new().config(&config).file("mixed/b/c", "a file").start();
    for (line, passed_on) in [
        ("GET /open/group%2Fname?q=%2F", "GET /open/group%2Fname?q=%2F "),
        ("POST /open/group%2fname/%41", "POST /open/group%2fname/%41 "),
        ("GET /api/group%2Fname", "GET /group%2Fname "),
        // There is a file for one reading.
        ("GET /mixed/b%2Fc", "GET /mixed/b%2Fc "),
    ] {
        let body = if line.starts_with("POST") { "body" } else { "" };
        let answer = ask(&server, line, body);
        assert!(answer.ends_with("\r\n\r\nok"), "{line}: {answer}");
        let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
        assert!(request.starts_with(passed_on) && request.ends_with(body), "{line}: {request}");
    }
    assert!(ask(&server, "GET /mixed/b/c", "").ends_with("\r\n\r\na file"));
}

#[test]
fn path_whose_readings_differ_is_refused_and_no_server_hears_of_it() {
    let (address, heard) = always(OK);
    let server =
        crate::server::Plan::new().config(&routes(address)).file("files/b/c", "a file").start();
    for target in [
        // As a slash it would be below the open route, as a letter below the guarded one.
        "/open%2Fx",
        "/open%2F..%2Fx",
        "/open/..%2F..%2Fx",
        "/open/%2F",
        "/open/a%2F/b",
        "/open/.%2Fb",
        "/open/a%2F%2e%2e%2Fb",
        "/open/a%2Fb%5C",
        "/open/a%2Fb%00",
        "/files/b%2Fc",
        "/api%2Fx",
        "%2Fopen/x",
    ] {
        for line in ["GET", "POST"] {
            let answer = ask(&server, &format!("{line} {target}"), "");
            assert!(answer.starts_with("HTTP/1.1 400 "), "{line} {target}: {answer}");
        }
    }
    let denied = ask(&server, "GET /else%2Fx", "");
    assert!(denied.starts_with("HTTP/1.1 403 "), "{denied}");
    assert_eq!(heard.try_iter().count(), 0);
}
