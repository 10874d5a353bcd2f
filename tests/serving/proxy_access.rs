//! Goal: a server of an upstream hears of a request only when access, limits and maintenance have let it in. Method:
//! the built binary, and a server that tells what it heard.

use std::io::Write;

use crate::server::other::always;
use crate::server::patience::PATIENCE;
use crate::server::upstreams::{OK, all_to, connect, rest, start};

/// Sends a request with a body, and returns the whole answer.
fn post(server: &crate::server::Server, fields: &str, framing: (&str, &str)) -> String {
    let mut client = connect(server);
    let (field, body) = framing;
    let head =
        format!("POST /up HTTP/1.1\r\nHost: a\r\n{field}\r\n{fields}Connection: close\r\n\r\n");
    client.write_all(format!("{head}{body}").as_bytes()).unwrap();
    rest(&mut client)
}

/// With the password "secret", as `htpasswd -nbBC 4` makes it.
const USERS: &str = "ann:$2y$04$cxNsubSjesFtrb9ZjGWedOxV5eeXLjOFVf97C8bZV4YLFTz16dT76\n";

const WHOLE: (&str, &str) = ("Content-Length: 4", "body");
const CHUNKED: (&str, &str) = ("Transfer-Encoding: chunked", "4\r\nbody\r\n0\r\n\r\n");

#[test]
fn no_byte_of_a_request_that_access_refuses_reaches_a_server() {
    let (address, heard) = always(OK);
    let keys = "access = [{ token = \"any\" }]\n[channels]\napi_keys = \"keys.txt\"\n";
    let plan = crate::server::Plan::new().config(&format!("{keys}{}", all_to(&[address], "")));
    plan.directory.write("keys.txt", "0123456789abcdef0123456789abcdef\n");
    let server = plan.start();
    for framing in [WHOLE, CHUNKED] {
        assert!(post(&server, "", framing).starts_with("HTTP/1.1 401 "));
        let key = "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n";
        assert!(post(&server, key, framing).ends_with("\r\n\r\nok"));
        // The first that the server hears of is the one that was let in.
        let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
        assert!(request.contains("Bearer"), "{request}");
    }
}

#[test]
fn limits_and_maintenance_stand_before_a_server() {
    let (address, heard) = always(OK);
    let limit = "[[limit]]\nname = \"one\"\nrequests = \"1/d\"\n";
    let server = start(&format!("{limit}{}", all_to(&[address], "")));
    assert!(post(&server, "", WHOLE).ends_with("\r\n\r\nok"));
    assert!(post(&server, "", WHOLE).starts_with("HTTP/1.1 429 "));
    assert!(heard.recv_timeout(PATIENCE).unwrap().1.ends_with("\r\n\r\nbody"));
    let (address, unheard) = always(OK);
    let server = start(&all_to(&[address], ""));
    assert!(server.ctl(&["set", "maintenance", "on"]).status.success());
    assert!(post(&server, "", CHUNKED).starts_with("HTTP/1.1 503 "));
    assert!(server.ctl(&["set", "maintenance", "off"]).status.success());
    assert!(post(&server, "", WHOLE).ends_with("\r\n\r\nok"));
    // The refused requests were never passed on.
    let passed: Vec<String> = heard.try_iter().chain(unheard.try_iter()).map(|one| one.1).collect();
    assert_eq!(passed.len(), 1, "{passed:?}");
}

#[test]
fn a_server_is_told_of_the_user_who_was_let_in_and_of_no_other() {
    let (address, heard) = always(OK);
    let proxy = "proxy = { upstream = \"a\", request_headers = { X-User = \"$user\", X-Seen = \"$scheme \
                 from $peer for $host, 5$$\" } }";
    let upstream = format!("[[upstream]]\nname = \"a\"\nservers = [\"{address}\"]\n");
    let routes = format!(
        "[[route]]\npath = \"/up\"\naccess = [{{ users = \"users.txt\" }}]\n{proxy}\n[[route]]\nprefix = \
         \"/\"\n{proxy}\n"
    );
    let plan = crate::server::Plan::new().config(&format!("{upstream}{routes}"));
    plan.directory.write("users.txt", USERS);
    let server = plan.start();
    let forged = "X-User: eve\r\nX_User: eve\r\n";
    let basic = format!("Authorization: Basic YW5uOnNlY3JldA==\r\n{forged}");
    let fields = |request: &str, name: &str| -> Vec<String> {
        let lines = request.lines().filter(|line| line.to_lowercase().starts_with(name));
        lines.map(str::to_owned).collect()
    };
    for framing in [WHOLE, CHUNKED] {
        assert!(post(&server, &basic, framing).ends_with("\r\n\r\nok"));
        let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
        assert_eq!(fields(&request, "x-user"), ["X-User: ann"], "{request}");
        assert_eq!(fields(&request, "x_user"), [""; 0], "{request}");
        assert_eq!(fields(&request, "x-seen"), ["X-Seen: http from 127.0.0.1 for a, 5$"]);
    }
    // A password that nobody has checked names no user.
    let mut client = connect(&server);
    let head = format!("GET /else HTTP/1.1\r\nHost: a\r\n{basic}Connection: close\r\n\r\n");
    client.write_all(head.as_bytes()).unwrap();
    assert!(rest(&mut client).ends_with("\r\n\r\nok"));
    let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
    assert_eq!(fields(&request, "x-user"), [""; 0], "{request}");
    assert_eq!(fields(&request, "x_user"), [""; 0], "{request}");
}
