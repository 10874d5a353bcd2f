//! Goal: requests that a server of an upstream answers reach it as they should, and the answers come back whole.
//! Method: the built binary, and servers played by threads that read and write exactly what a test says.

use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Instant;

use crate::authority::Authority;
use crate::foreign_tls::Foreign;
use crate::server::other::{always, other};
use crate::server::patience::PATIENCE;
use crate::server::upstreams::{
    OK, all_to, by_hand, connect, exchange, get, next, read_to, rest, start,
};
use crate::server::{Plan, has};

#[test]
fn a_server_gets_the_request_and_who_has_sent_it() {
    let (address, heard) = always(OK);
    let server = start(&all_to(&[address], ""));
    let forged = "X-Forwarded-For: 1.2.3.4\r\nx_forwarded-proto: https\r\nForwarded: \
                  for=1.2.3.4\r\nKeep_Alive: 1\r\nVia: 1.0 other\r\nX-Real-IP: 1.2.3.4\r\nProxy: \
                  http://evil.test\r\nX_Request-Id: 1234\r\n";
    let own = "X-A: b\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nCookie: \
               c=d\r\n";
    let text = format!("GET /a/%62?x=%20&y HTTP/1.1\r\nHost: site.test:81\r\n{forged}{own}\r\n");
    let answer = exchange(&server, &text);
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok"),
        "{answer}"
    );
    let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
    let (request, id) = without_id(&request);
    assert_eq!((id.len(), id.contains("1234")), (32, false), "{id}");
    assert_eq!(
        request,
        "GET /a/%62?x=%20&y HTTP/1.1\r\nHost: site.test:81\r\nX-A: b\r\nCookie: c=d\r\n\
         X-Forwarded-For: 127.0.0.1\r\nX-Real-IP: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: site.test:81\r\n\
         Forwarded: for=127.0.0.1;host=\"site.test:81\";proto=http\r\nVia: 1.1 velodrome\r\n\r\n"
    );
}

/// A request without its number, and the number.
fn without_id(request: &str) -> (String, String) {
    let (before, rest) = request.split_once("X-Request-Id: ").unwrap();
    let (id, after) = rest.split_once("\r\n").unwrap();
    (format!("{before}{after}"), id.to_owned())
}

#[test]
fn a_route_changes_paths_and_fields_on_the_way() {
    let (address, heard) = always(
        "HTTP/1.1 200 OK\r\nServer: s\r\nX-Powered-By: p\r\nX-Keep: k\r\nX-Own: theirs\r\nContent-Length: \
         0\r\n\r\n",
    );
    let server = start(&format!(
        "[headers]\nX-Own = \"ours\"\nX-More = \"more\"\n[[route]]\nprefix = \
         \"/api\"\n[route.proxy]\nupstream = \"a\"\nstrip_prefix = true\nrequest_headers = {{ Host = \
         \"inner.test\", X-Set = \"set\" }}\nremove_request_headers = [\"cookie\"]\nresponse_headers = {{ \
         Server = \"front\" }}\nremove_response_headers = [\"X-Powered-By\"]\n[[route]]\nglob = \
         \"/old/*\"\nrewrite = {{ to = \"/new/$1\" }}\n[[route]]\nprefix = \"/new\"\nproxy = \
         \"a\"\n[[upstream]]\nname = \"a\"\nservers = [\"{address}\"]\n"
    ));
    let answer = exchange(&server, &get("/api/users?q", "Cookie: c\r\nx-set: client\r\n"));
    let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
    assert!(request.starts_with("GET /users?q HTTP/1.1\r\n"), "{request}");
    assert!(!request.contains("ookie") && !request.contains("client"), "{request}");
    assert!(request.contains("\r\nHost: inner.test\r\nX-Set: set\r\n\r\n"), "{request}");
    for line in ["X-Keep: k", "Server: front", "X-Own: theirs", "X-More: more"] {
        assert!(answer.contains(&format!("\r\n{line}\r\n")), "{line} in {answer}");
    }
    assert!(!answer.contains("Powered") && !answer.contains("ours"), "{answer}");
    exchange(&server, &get("/api", ""));
    assert!(heard.recv_timeout(PATIENCE).unwrap().1.starts_with("GET / HTTP/1.1\r\n"));
    exchange(&server, &get("/old/x%20y?z", ""));
    assert!(heard.recv_timeout(PATIENCE).unwrap().1.starts_with("GET /new/x%20y?z HTTP/1.1\r\n"));
    exchange(&server, &get("/x/../new//y", ""));
    assert!(heard.recv_timeout(PATIENCE).unwrap().1.starts_with("GET /new/y HTTP/1.1\r\n"));
}

/// The head of an answer without its date, and its body.
fn parts(answer: &str) -> (Vec<&str>, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let lines = head.lines().filter(|line| !line.starts_with("Date: ")).collect();
    (lines, body)
}

#[test]
fn answers_come_back_in_every_form_that_servers_have() {
    for (sent, lines, body) in [
        (
            "HTTP/1.1 404 No Such\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nok",
            &[
                "HTTP/1.1 404 Not Found",
                "Connection: close",
                "Content-Length: 2",
                "X-A: 1",
                "X-A: 2",
            ][..],
            "ok",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: \
             T\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nT: x\r\nHost: y\r\n\r\n",
            &["HTTP/1.1 200 OK", "Connection: close", "Transfer-Encoding: chunked", "Trailer: T"],
            "3\r\nabc\r\n0\r\nT: x\r\n\r\n",
        ),
        (
            "HTTP/1.0 200 OK\r\n\r\nuntil the end",
            &["HTTP/1.1 200 OK", "Connection: close", "Transfer-Encoding: chunked"],
            "d\r\nuntil the end\r\n0\r\n\r\n",
        ),
        (
            "HTTP/1.1 204 None\r\nX-A: b\r\n\r\n",
            &["HTTP/1.1 204 No Content", "Connection: close", "X-A: b"],
            "",
        ),
        (
            "HTTP/1.1 304 Same\r\nETag: \"e\"\r\nContent-Length: 9\r\n\r\n",
            &["HTTP/1.1 304 Not Modified", "Connection: close", "ETag: \"e\""],
            "",
        ),
        (
            "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nUpgrade: \
             h2c\r\nContent-Length: 0\r\n\r\n",
            &["HTTP/1.1 200 OK", "Connection: close", "Content-Length: 0"],
            "",
        ),
    ] {
        let (address, _heard) = always(sent);
        let server = start(&all_to(&[address], ""));
        let answer = exchange(&server, &get("/", ""));
        assert_eq!(parts(&answer), (lines.to_vec(), body), "{sent}");
    }
}

#[test]
fn the_date_of_a_server_is_kept() {
    let (address, _heard) = always(
        "HTTP/1.1 200 OK\r\nDate: Tue, 01 Jan 2019 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n",
    );
    let server = start(&all_to(&[address], ""));
    let answer = exchange(&server, &get("/", ""));
    assert_eq!(answer.matches("Date: ").count(), 1, "{answer}");
    assert!(answer.contains("\r\nDate: Tue, 01 Jan 2019 00:00:00 GMT\r\n"), "{answer}");
}

#[test]
fn head_has_the_fields_of_get_and_no_body() {
    let (address, heard) = always("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    let server = start(&all_to(&[address], ""));
    let text = get("/", "").replace("GET", "HEAD");
    let answer = exchange(&server, &text);
    assert!(
        answer.contains("Content-Length: 1000\r\n") && answer.ends_with("\r\n\r\n"),
        "{answer}"
    );
    assert!(heard.recv_timeout(PATIENCE).unwrap().1.starts_with("HEAD / "));
}

#[test]
fn interim_answers_are_passed_on_but_not_to_old_clients() {
    let (address, _heard) = always(
        "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    );
    let server = start(&all_to(&[address], ""));
    let answer = exchange(&server, &get("/", ""));
    let (interim, last) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(interim, "HTTP/1.1 103 Early Hints\r\nLink: </a.css>");
    assert!(last.starts_with("HTTP/1.1 200 OK\r\n") && last.ends_with("\r\n\r\nok"), "{last}");
    let answer = exchange(&server, "GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

/// A route changes all heads of an answer.
#[test]
fn interim_answers_and_changes_of_the_protocol_are_changed_like_answers() {
    let head = "Link: l\r\nX-Powered-By: p\r\nServer: s\r\n";
    let change = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    let (address, _heard) =
        always(format!("HTTP/1.1 103 E\r\n{head}\r\nHTTP/1.1 101 S\r\n{change}{head}\r\n"));
    let server = start(&format!(
        "[[route]]\nprefix = \"/\"\n[route.proxy]\nupstream = \"a\"\n\
         response_headers = {{ Server = \"front\" }}\nremove_response_headers = [\"X-Powered-By\"]\n\
         [[upstream]]\nname = \"a\"\nservers = [\"{address}\"]\nsticky = \"at\"\n"
    ));
    let mut client = connect(&server);
    let text = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    client.write_all(text.as_bytes()).unwrap();
    for status in ["103", "101"] {
        let answer = read_to(&mut client, "\r\n\r\n");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("\r\nLink: l\r\n"), "{answer}");
        assert!(answer.contains("\r\nServer: front\r\n"), "{answer}");
        assert!(!answer.contains("X-Powered-By") && !answer.contains("Server: s"), "{answer}");
        assert_eq!(answer.contains("\r\nSet-Cookie: at="), status == "101", "{answer}");
    }
}

/// More requests than the client of pages has connections to one server.
#[test]
fn as_many_requests_are_at_a_server_as_its_upstream_says() {
    const REQUESTS: usize = 1_030;
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], "connections = 1100"));
    let mut clients: Vec<_> = (0..REQUESTS).map(|_| connect(&server)).collect();
    for client in &mut clients {
        client.write_all(get("/", "").as_bytes()).unwrap();
    }
    let mut backends: Vec<_> = (0..REQUESTS).map(|_| next(&connections)).collect();
    for backend in &mut backends {
        read_to(backend, "\r\n\r\n");
        backend.write_all(OK.as_bytes()).unwrap();
    }
    assert!(clients.iter_mut().all(|client| rest(client).ends_with("\r\n\r\nok")));
}

#[test]
fn a_client_of_a_unix_socket_has_no_address_to_be_told_of() {
    let (address, heard) = always(OK);
    let directory = crate::server::directory::Directory::new();
    let socket = directory.join("front.sock");
    let _server = Plan::new()
        .argument("--schedulers=1")
        .listen(&format!("unix:{}", socket.display()))
        .config(&all_to(&[address], ""))
        .start();
    let mut client = UnixStream::connect(&socket).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(get("/", "").as_bytes()).unwrap();
    assert!(read_to(&mut client, "\r\n\r\nok").starts_with("HTTP/1.1 200 OK\r\n"));
    let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
    assert!(!request.contains("X-Forwarded-For"), "{request}");
    assert!(request.contains("\r\nForwarded: for=unknown;host="), "{request}");
}

#[test]
fn connections_to_a_server_are_used_again() {
    let (address, heard) = always(OK);
    let server = start(&all_to(&[address], ""));
    let mut client = server.client();
    for _ in 0..3 {
        assert_eq!(client.get("/").unwrap().status, 200);
        assert_eq!(heard.recv_timeout(PATIENCE).unwrap().0, 0);
    }
}

#[test]
fn bodies_are_limited_as_for_pages() {
    let (address, connections) = by_hand();
    let server =
        start(&format!("limits = {{ body_size = \"1 KiB\" }}\n{}", all_to(&[address], "")));
    let answer = exchange(&server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1025\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let mut client = connect(&server);
    let long = format!("401\r\n{}\r\n", "x".repeat(1025));
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.write_all(format!("{head}{long}").as_bytes()).unwrap();
    assert!(rest(&mut client).starts_with("HTTP/1.1 413 "));
    // The server has not got a whole request.
    let heard = rest(&mut next(&connections));
    assert!(!heard.contains("\r\n0\r\n"), "{heard}");
}

#[test]
fn a_server_may_listen_on_a_unix_socket() {
    let directory = crate::server::directory::Directory::new();
    let path = directory.join("app.sock");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            read_to(&mut stream, "\r\n\r\n");
            stream.write_all(OK.as_bytes()).unwrap();
        }
    });
    let server = start(&format!(
        "[[route]]\nprefix = \"/\"\nproxy = \"a\"\n[[upstream]]\nname = \"a\"\nservers = [\"unix:{}\"]\n",
        path.display()
    ));
    assert!(exchange(&server, &get("/", "")).ends_with("\r\n\r\nok"));
}

#[test]
fn names_of_servers_are_looked_up() {
    let (address, _heard) = always(OK);
    let config = all_to(&[address], "").replace("127.0.0.1", "localhost");
    let server = start(&config);
    assert!(exchange(&server, &get("/", "")).ends_with("\r\n\r\nok"));
}

#[test]
fn requests_on_one_connection_keep_their_order() {
    let (address, _heard) = other(|_, _, request| {
        let path = request.split(' ').nth(1).unwrap().to_owned();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{path}", path.len()).into_bytes()
    });
    let server = start(&all_to(&[address], ""));
    let pipelined: String =
        (0..20).map(|number| format!("GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    let answer = exchange(&server, &format!("{pipelined}{}", get("/end", "")));
    let bodies: Vec<&str> =
        answer.split("\r\n\r\n").skip(1).map(|part| part.split("HTTP").next().unwrap()).collect();
    let expected: Vec<String> =
        (0..20).map(|number| format!("/{number}")).chain(["/end".into()]).collect();
    assert_eq!(bodies, expected);
}

#[test]
fn a_reload_changes_the_servers_and_ends_no_request() {
    let (one, connections) = by_hand();
    let (two, _heard) = always("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo");
    let server = start(&all_to(&[one], ""));
    let mut client = connect(&server);
    client.write_all(get("/", "").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    server.directory().write("velodrome.toml", crate::server::configuration(&all_to(&[two], "")));
    let reloaded = server.ctl(&["reload"]);
    assert!(reloaded.status.success(), "{reloaded:?}");
    assert!(exchange(&server, &get("/", "")).ends_with("\r\n\r\ntwo"));
    backend.write_all(OK.as_bytes()).unwrap();
    assert!(rest(&mut client).ends_with("\r\n\r\nok"));
}

#[test]
fn an_operator_sees_the_servers_and_drains_one() {
    let named =
        |name: &'static str| always(format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{name}"));
    let ((one, _h1), (two, _h2)) = (named("1"), named("2"));
    let began = Instant::now();
    let server = start(&all_to(&[one, two], "balance = \"round-robin\""));
    let for_s = server.told("/upstreams")[0]["servers"][0]["for_s"].as_u64();
    assert!(for_s.unwrap() <= began.elapsed().as_secs(), "{for_s:?}");
    let order = |action: &str, address: &str| server.ctl(&["upstream", "a", action, address]);
    let states = || -> Vec<(String, u64)> {
        let upstreams = server.told("/upstreams");
        let servers = upstreams[0]["servers"].as_array().unwrap().clone();
        let state = |server: &serde_json::Value| server["state"].as_str().unwrap().to_owned();
        servers.iter().map(|server| (state(server), server["requests"].as_u64().unwrap())).collect()
    };
    assert_eq!(states(), [("up".to_owned(), 0), ("up".to_owned(), 0)]);
    assert!(order("drain", &one.to_string()).status.success());
    for _ in 0..4 {
        assert!(exchange(&server, &get("/", "")).ends_with('2'));
    }
    assert_eq!(states(), [("drained".to_owned(), 0), ("up".to_owned(), 4)]);
    assert!(order("up", &one.to_string()).status.success());
    let both: String =
        (0..4).map(|_| exchange(&server, &get("/", "")).chars().last().unwrap()).collect();
    assert_eq!(both.matches('1').count(), 2, "{both}");
    let unknown = order("drain", "127.0.0.1:1");
    let told = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(told.contains("there is no server `127.0.0.1:1` in an upstream `a`"), "{told}");
    let text = server.ctl(&["upstreams"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains(&one.to_string()), "{text:?}");
}

#[test]
fn the_example_is_valid_and_explained() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/proxy");
    let config = format!("--config={folder}/velodrome.toml");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_velodrome"))
        .args(["check", &format!("{folder}/public"), &config, "--explain", "/api/users"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let expected = "a server of the upstream `app`, asked for `/users`";
    assert!(output.status.success() && told.contains(expected), "{output:?}");
}

#[test]
fn servers_are_reached_over_tls_and_known_by_their_certificates() {
    if !has("python3", "servers_are_reached_over_tls_and_known_by_their_certificates") {
        return;
    }
    let (authority, stranger) = (Authority::new("Test"), Authority::new("Stranger"));
    for (name, more) in [("127.0.0.1", ""), ("app.test", "\nserver_name = \"app.test\"")] {
        let other = Foreign::python(&authority.issue(&[name]), None, "TLSv1_3");
        let reach = |ca: &Authority, more: &str| {
            let keys = format!("tls = true\nca = \"{}\"{more}", ca.file().display());
            let server = start(&all_to(&[other.address()], &keys));
            let answer = exchange(&server, &get("/", ""));
            (answer, server.printed_errors())
        };
        let (answer, _) = reach(&authority, more);
        assert!(answer.contains("TLSv1.3"), "{name}: {answer}");
        let (answer, told) = reach(&stranger, more);
        assert!(answer.starts_with("HTTP/1.1 502 "), "{name}: {answer}");
        assert!(told.contains("is by an unknown authority"), "{told}");
        if name != "127.0.0.1" {
            let (answer, told) = reach(&authority, "");
            assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
            assert!(told.contains("is for another name"), "{told}");
        }
    }
}
