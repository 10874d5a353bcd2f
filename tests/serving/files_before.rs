//! Goal: a route of files asks those after it for what it has no file for. Method: the built binary, files on a real
//! disk, and servers played by threads.

use std::io::Write;
use std::net::SocketAddr;

use crate::log::lines;
use crate::route_choices::explained;
use crate::server::client::text;
use crate::server::other::always;
use crate::server::patience::PATIENCE;
use crate::server::upstreams::{OK, all_to, by_hand, connect, exchange, get, read_to, rest};
use crate::server::{Plan, configuration};

/// Files, and behind them a page and a server.
fn files_before_server(server: SocketAddr) -> String {
    format!(
        "[[route]]\nprefix = \"/\"\nfiles = {{ root = \"site\", try = [\"$path\", \"$path/\", \"next\"] }}\n\
         {}",
        all_to(&[server], "")
    )
}

#[test]
fn request_without_a_file_goes_on_to_the_next_route() {
    let (address, heard) = always(OK);
    let plan = Plan::new().config(&files_before_server(address));
    let plan = plan.file("a.css", "a {}").file("docs/index.html", "<p>docs");
    let server = plan.file("form.page.html", "<%= request.method %>").start();
    for (path, body) in [("/a.css", "a {}"), ("/docs/", "<p>docs"), ("/form", "GET")] {
        assert_eq!(text(&server.get(path)), body, "{path}");
    }
    assert_eq!(server.get("/docs?a=b").status, 301);
    // With the disk asked first, and with what it said before.
    for path in ["/users/7", "/users/7", "/empty/", "/"] {
        assert_eq!(text(&server.get(path)), "ok", "{path}");
        let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
        assert!(request.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{request}");
    }
    // No body is read for files, so one goes where it is: also for the path of a file, but not for that of a page.
    for (method, path) in [("POST", "/users"), ("GET", "/users"), ("POST", "/a.css")] {
        let answer = exchange(
            &server,
            &format!(
                "{method} {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc"
            ),
        );
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
        assert!(request.starts_with(&format!("{method} {path} HTTP/1.1\r\n")), "{request}");
        assert!(request.ends_with("\r\n\r\nabc"), "{request}");
    }
    let post = server.request("POST", "/form", &[("Content-Length", "0")]);
    assert_eq!(text(&post), "POST");
    let explained = explained(&server, &["--explain", "/users/7"]);
    for line in ["try `$path/`: `/users/7/` is not there", "result: a server of the upstream `a`"] {
        assert!(explained.contains(line), "{line}: {explained}");
    }
}

#[test]
fn next_route_has_its_own_access_and_limits_count_once() {
    let server = Plan::new()
        .config(
            "[[route]]\nprefix = \"/\"\nfiles = { root = \"site\", try = [\"$path\", \"next\"] }\n\
             [[route]]\nprefix = \"/closed\"\naccess = [{ allow = \"10.0.0.0/8\" }]\njson = 1\n\
             [[route]]\nprefix = \"/\"\njson = 2\n\
             [[limit]]\nname = \"few\"\nrequests = \"1/h\"\nburst = 5\n",
        )
        .file("closed/a", "file")
        .start();
    assert_eq!(text(&server.get("/closed/a")), "file");
    assert_eq!(server.get("/closed/b").status, 403);
    let post = server.request("POST", "/closed/a", &[("Content-Length", "0")]);
    assert_eq!(post.status, 403);
    assert_eq!(text(&server.get("/b")), "2");
    assert_eq!(text(&server.get("/c")), "2");
    assert_eq!(server.get("/b").status, 429, "five were allowed");
}

/// A route of files that leads on.
fn leading_on(prefix: &str, settings: &str) -> String {
    format!(
        "[[route]]\nprefix = \"{prefix}\"\n{settings}\
         files = {{ root = \"site\", try = [\"$path\", \"next\"] }}\n"
    )
}

#[test]
fn next_route_says_whether_the_log_has_a_line() {
    let quiet = "log = false\n";
    let server = Plan::new()
        .config(&format!(
            "{}[[route]]\nprefix = \"/told\"\njson = 1\n\
             {}[[route]]\nprefix = \"/quiet\"\n{quiet}json = 1\n\
             [log]\naccess = \"access.log\"\nformat = \"$path $status $route\"\n",
            leading_on("/told", quiet),
            leading_on("/quiet", ""),
        ))
        .file("a", "file")
        .start();
    // Each twice: with the disk asked first, and with what it said before.
    let mut client = server.client();
    for path in ["/told/a", "/quiet/b", "/told/b", "/told/b", "/quiet/b", "/quiet/a"] {
        assert_eq!(client.request("GET", path, &[]).unwrap().status, 200, "{path}");
    }
    let told = ["/told/b 200 /told", "/told/b 200 /told", "/quiet/a 200 /quiet"];
    assert_eq!(lines(&server, "access.log", 3), told);
}

#[test]
fn access_behind_files_guards_channels() {
    let server = Plan::new()
        .config(&format!(
            "{}[[route]]\nprefix = \"/\"\naccess = [{{ allow = \"10.0.0.0/8\" }}]\njson = 1\n\
             [[channel]]\npattern = \"a\"\n",
            leading_on("/", "")
        ))
        .start();
    for method in ["GET", "POST"] {
        let answer = server.request(method, "/channels/a", &[("Content-Length", "0")]);
        assert_eq!(answer.status, 403, "{method}");
    }
}

#[test]
fn request_at_the_server_behind_the_files_outlives_a_reload() {
    let (address, connections) = by_hand();
    let server = Plan::new().config(&files_before_server(address)).file("a.css", "a {}").start();
    let mut client = connect(&server);
    client.write_all(get("/slow", "").as_bytes()).unwrap();
    let mut stream = connections.recv_timeout(PATIENCE).unwrap();
    read_to(&mut stream, "\r\n\r\n");
    let changed = format!("[headers]\nX-New = \"new\"\n{}", files_before_server(address));
    server.directory().write("velodrome.toml", configuration(&changed));
    assert!(server.ctl(&["reload"]).status.success());
    stream.write_all(OK.as_bytes()).unwrap();
    let answer = rest(&mut client);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("ok"), "{answer}");
    assert!(answer.contains("X-New: new"), "{answer}");
}

#[test]
fn websocket_to_the_path_of_a_file_goes_to_the_server() {
    let (address, connections) = by_hand();
    let server =
        Plan::new().config(&files_before_server(address)).file("index.html", "<p>").start();
    assert_eq!(text(&server.get("/")), "<p>");
    let mut client = connect(&server);
    let fields = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                  Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    client.write_all(format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n").as_bytes()).unwrap();
    let request = read_to(&mut connections.recv_timeout(PATIENCE).unwrap(), "\r\n\r\n");
    assert!(request.contains("Upgrade: websocket\r\n"), "{request}");
}
