//! Goal: an operator sees HTTP/2 in logs, numbers and lists, and can drain and reload under it. Method: the built
//! server, `velodrome ctl`, frames by hand.

use std::process::Command;

use crate::server::certificates::Authority;
use crate::server::client::{Client, text};
use crate::server::patience::until;
use crate::server::{Plan, free_address, has, printed_by, run};
use crate::site::{PLAIN, answer, content, plan, play, status, target};

#[test]
fn the_access_log_names_the_protocol() {
    let plan = plan("[log]\naccess = \"access.log\"\n").file("a.txt", "four");
    let server = plan.start();
    let target = target(&server, "/b.txt");
    let mut client = target.client().unwrap();
    play(
        &mut client,
        "request 1 GET /a.txt?q=1 | user-agent: test/1.0 | referer: http://from.example/\nwait end 1",
    );
    play(&mut client, "request 3 GET /none\nwait end 3\nheaders 5 end | @ BREW /a.txt\nwait end 5");
    let log = until("the lines of the log", || {
        let log = server.directory().text("access.log");
        (log.matches("\" 4").count() >= 1 && log.contains("BREW")).then_some(log)
    });
    let line = log.lines().find(|line| line.contains("/a.txt?q=1")).unwrap();
    let told = "\"GET /a.txt?q=1 HTTP/2.0\" 200 4 \"http://from.example/\" \"test/1.0\"";
    assert!(line.starts_with("127.0.0.1 - - [") && line.ends_with(told), "{line}");
    assert!(log.contains("\"GET /none HTTP/2.0\" 404 "), "{log}");
    assert!(log.contains("\"BREW /a.txt HTTP/2.0\" 501 "), "{log}");
}

#[test]
fn a_line_of_a_hostile_request_is_one_line() {
    let server = plan("[log]\naccess = \"access.log\"\n").file("a.txt", "four").start();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 GET /%0a%22x | user-agent: \"\\\\ \\xff\nwait end 1");
    play(&mut client, "request 3 GET /last\nwait end 3");
    let log = until("the last line", || {
        let log = server.directory().text("access.log");
        log.contains("/last").then_some(log)
    });
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("%0a")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    // Bytes above 127 are escaped.
    assert!(log.is_ascii(), "{log}");
}

#[test]
fn a_malformed_request_is_counted_and_logged() {
    let server = plan("[log]\naccess = \"access.log\"\n").file("a.txt", "four").start();
    let target = target(&server, "/a.txt");
    let before = server.count("/http/refused");
    let mut client = target.client().unwrap();
    for (stream, field) in
        [(1, "connection: close"), (3, "x-a: \\x1b[31m\\r\\nGET /forged"), (5, ":b: c")]
    {
        play(&mut client, &format!("request {stream} GET /probe | {field}\nwait end {stream}"));
    }
    server.reaches("/http/refused", before + 3);
    let log = until("three lines of refusals", || {
        let log = server.directory().text("access.log");
        (log.matches("\" 400 ").count() >= 3).then_some(log)
    });
    assert!(!log.contains('\u{1b}') && !log.lines().any(|line| line.starts_with("GET")), "{log}");
}

#[test]
fn numbers_and_lists_show_streams() {
    let server = plan("[[channel]]\npattern = \"room\"\n").file("a.txt", "four").start();
    let target = target(&server, "/b.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 GET /channels/room | accept: text/event-stream\nwait answer 1");
    play(&mut client, "request 3 GET /a.txt\nwait end 3");
    server.reaches("/processes/http2", 1);
    let mut admin = Client::connect_unix(&server.plan.socket()).unwrap();
    let metrics = admin.get("/metrics").unwrap();
    assert!(text(&metrics).contains("kind=\"http2\"} 1\n"), "{}", text(&metrics));
    // One asked for the file that says what this server is; then came these two.
    assert!(server.count("/http/http2_requests") >= 1, "{}", text(&metrics));
    let live = admin.get("/live").unwrap();
    assert!(text(&live).contains("http2"), "{}", text(&live));
    drop(client);
    server.reaches("/connections", 0);
    server.reaches("/processes/http2", 0);
}

#[test]
fn a_drain_says_goodbye_twice_and_ends_what_has_begun() {
    let page = "one <% response:flush() sleep(1) %>two";
    let mut server = plan("").file("slow.page.txt", page).file("a.txt", "a\n").start();
    let target = target(&server, "/a.txt");
    let mut idle = target.client().unwrap();
    play(&mut idle, "request 1 GET /a.txt\nwait end 1");
    let mut busy = target.client().unwrap();
    play(&mut busy, "request 1 GET /slow\nwait content 1 4");
    server.signal("TERM");
    play(&mut busy, "wait goaway\nwait end 1");
    assert_eq!(content(&busy, 1), "one two");
    assert_eq!(busy.farewell().as_deref(), Some("NO_ERROR"), "{}", busy.frames());
    assert!(answer(&busy, 1).reset_code().is_none(), "{}", busy.frames());
    for client in [&mut busy, &mut idle] {
        assert!(client.ends_within(crate::server::patience::PATIENCE), "{}", client.frames());
        assert_eq!(client.farewell().as_deref(), Some("NO_ERROR"), "{}", client.frames());
        let goodbyes = client.frames().matches("GOAWAY").count();
        assert_eq!(goodbyes, 2, "{}", client.frames());
    }
    assert!(server.wait().success());
}

#[test]
fn a_reload_keeps_connections_and_changes_what_they_get() {
    let server = plan("").file("a.txt", "a\n").start();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 GET /new\nwait end 1");
    assert_eq!(status(&client, 1), 404);
    let route = "[[route]]\npath = \"/new\"\nredirect = { to = \"/a.txt\", status = 302 }\n";
    let config = crate::server::configuration(&format!("{PLAIN}{route}"));
    server.directory().write("velodrome.toml", config);
    let reloaded = server.ctl(&["reload"]);
    assert!(reloaded.status.success(), "{reloaded:?}");
    play(&mut client, "request 3 GET /new\nwait end 3");
    assert_eq!(status(&client, 3), 302);
}

#[test]
fn a_listener_speaks_what_it_is_told() {
    // Without `h2c` the preface is a method that nobody knows.
    let server = Plan::new().file("a.txt", "a\n").start();
    let tested = conformance::TestedServer::new(server.address());
    let target = conformance::h2::FrameTarget::learn(&tested, &crate::site::options());
    let mut client = target.silent_client().unwrap();
    client.play("preface\nsettings").unwrap();
    assert!(client.ends_within(crate::server::patience::PATIENCE));
    // The form of RFC 7540 is ignored: the answer is HTTP/1.1.
    let server = plan("").file("a.txt", "a\n").start();
    let fields = [
        ("Connection", "Upgrade, HTTP2-Settings"),
        ("Upgrade", "h2c"),
        ("HTTP2-Settings", "AAMAAABk"),
    ];
    let response = server.request("GET", "/a.txt", &fields);
    assert_eq!((response.status, response.body.as_slice()), (200, &b"a\n"[..]));
}

#[test]
fn the_admin_service_speaks_http2_where_it_is_encrypted() {
    const TEST: &str = "the_admin_service_speaks_http2_where_it_is_encrypted";
    if !has("curl", TEST) {
        return;
    }
    let address = free_address();
    let tls = "tls = { certificate = \"admin.pem\", key = \"admin.key\" }";
    let config = format!("[admin]\nlisten = \"{address}\"\nkeys = \"admin.keys\"\n{tls}\n");
    let plan = Plan::new().config(&config);
    Authority::in_directory(&plan.directory).issue(&plan.directory, "admin", &["127.0.0.1"]);
    plan.directory.write("admin.keys", "a key of those who may control it\n");
    let server = plan.start();
    let curl = |words: &[&str]| {
        let mut command = Command::new("curl");
        command.args(["-sS", "-w", " %{http_version} %{http_code}", "--cacert"]);
        command.arg(server.directory().join("ca.pem")).args(words);
        printed_by(&run(&mut command))
    };
    let url = |path: &str| format!("https://{address}{path}");
    let key = ["-H", "Authorization: Bearer a key of those who may control it"];
    assert_eq!(curl(&[&url("/status")]), " 2 401");
    for path in ["/status", "/stats", "/metrics", "/_velodrome/"] {
        let answer = curl(&[&key[..], &[&url(path)]].concat());
        assert!(answer.ends_with(" 2 200"), "{path}: {answer}");
    }
    let answer = curl(&[&key[..], &["-X", "POST", &url("/reload")]].concat());
    assert!(answer.ends_with(" 2 200"), "{answer}");
    let answer = curl(&[&key[..], &["--http1.1", &url("/status")]].concat());
    assert!(answer.contains(&format!("\"process\":{}", server.id())), "{answer}");
    assert!(answer.ends_with(" 1.1 200"), "{answer}");
}
