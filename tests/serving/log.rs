//! Goal: the access log is complete, cannot be forged by a client, survives rotation, and never delays a
//! request. Method: the built binary with its log in a file of the test, a full device, and hostile requests.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::process::Command;

use crate::server::client::{head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server};
use serde_json::Value;

const COMBINED: &str = "[log]\naccess = \"access.log\"\n";
const JSON: &str = "[log]\naccess = \"access.log\"\nformat = \"json\"\n";

/// The lines of a log once there are this many.
pub(crate) fn lines(server: &Server, name: &str, count: usize) -> Vec<String> {
    until("the lines of the log", || {
        let log = server.directory().text(name);
        let lines: Vec<String> = log.lines().map(str::to_owned).collect();
        (lines.len() >= count && log.ends_with('\n')).then_some(lines)
    })
}

#[test]
fn combined_lines_are_as_every_analyser_reads_them() {
    let server = Plan::new().config(COMBINED).file("a.txt", "four").start();
    let mut client = server.client();
    let fields = [("Referer", "http://from.example/"), ("User-Agent", "test/1.0")];
    assert_eq!(client.request("GET", "/a.txt?q=1", &fields).unwrap().status, 200);
    assert_eq!(client.request("HEAD", "/a.txt", &[]).unwrap().status, 200);
    assert_eq!(client.get("/none").unwrap().status, 404);
    let lines = lines(&server, "access.log", 3);
    let (address, rest) = lines[0].split_once(" - - [").unwrap();
    assert_eq!(address, "127.0.0.1");
    let (date, rest) = rest.split_once("] ").unwrap();
    assert_eq!((date.len(), &date[2..3], &date[20..]), (26, "/", " +0000"), "{date}");
    assert_eq!(rest, "\"GET /a.txt?q=1 HTTP/1.1\" 200 4 \"http://from.example/\" \"test/1.0\"");
    assert!(lines[1].ends_with("\"HEAD /a.txt HTTP/1.1\" 200 0 \"-\" \"-\""), "{}", lines[1]);
    assert!(lines[2].contains("\"GET /none HTTP/1.1\" 404 "), "{}", lines[2]);
}

#[test]
fn json_lines_are_objects() {
    let server = Plan::new().config(JSON).file("a.txt", "four").start();
    let fields = [("User-Agent", "say \"hi\" \\ bye"), ("Host", "one.example")];
    assert_eq!(server.request("GET", "/a.txt", &fields).status, 200);
    let lines = lines(&server, "access.log", 1);
    let line: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(line["peer"], "127.0.0.1");
    assert_eq!(line["host"], "one.example");
    assert_eq!(line["request"], "GET /a.txt HTTP/1.1");
    assert_eq!((&line["status"], &line["bytes"]), (&200.into(), &4.into()));
    assert_eq!(line["user_agent"], "say \"hi\" \\ bye");
    assert!(line["time"].as_str().unwrap().ends_with('Z'), "{line}");
}

/// Text that a client can put into a field or a target without being refused, and that could break a log.
const HOSTILE: &[&str] = &[
    "quote\" 200 0 \"-\" \"forged",
    "back\\slash\\",
    "\\x22",
    "tab\tin the middle",
    "h\u{f6}h\u{e9} \u{1f6b4} \u{85}\u{9b}31m",
    "\u{2028}line\u{2029}",
    "<script>alert(1)</script>",
    "${jndi:ldap://x}",
    "%0d%0aGET /forged",
];

#[test]
fn no_client_can_forge_a_line() {
    for (config, is_json) in [(COMBINED, false), (JSON, true)] {
        let server = Plan::new().config(config).file("a.txt", "a\n").start();
        let mut client = server.client();
        for hostile in HOSTILE {
            let fields = [("User-Agent", *hostile), ("Referer", *hostile)];
            assert_eq!(client.request("GET", "/a.txt", &fields).unwrap().status, 200, "{hostile}");
        }
        // Bytes that are not text.
        client
            .send(b"GET /a.txt HTTP/1.1\r\nHost: a\r\nUser-Agent: \xff\xfe\xc3\x28\r\n\r\n")
            .unwrap();
        assert_eq!(client.response(conformance::RequestKind::Other).unwrap().status, 200);
        // Bytes that are not a request are logged as a refused one.
        let mut broken = server.client();
        broken.send(b"G\x1b[31mT / HTTP/1.1\r\nX: \"\r\n\r\n").unwrap();
        broken.rest().unwrap();
        let expected = HOSTILE.len() + 2;
        let lines = lines(&server, "access.log", expected);
        assert_eq!(lines.len(), expected, "{lines:#?}");
        for line in &lines {
            assert!(!line.chars().any(char::is_control), "{line:?}");
            if is_json {
                let line: Value = serde_json::from_str(line).unwrap_or_else(|error| {
                    panic!("{error}: {line}");
                });
                let request = line["request"].as_str().unwrap();
                let told = ["GET /a.txt HTTP/1.1", "G\u{1b}[31mT / HTTP/1.1"];
                assert!(told.contains(&request), "{request:?}");
            } else {
                assert!(line.is_ascii(), "{line}");
                // Three quoted parts, whatever they contain.
                assert_eq!(line.matches('"').count(), 6, "{line}");
            }
        }
        if is_json {
            let agents: Vec<Value> =
                lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            for hostile in HOSTILE {
                let told = agents.iter().any(|line| line["user_agent"] == *hostile);
                assert!(told, "{hostile} is told as it was");
            }
        }
    }
}

#[test]
fn a_renamed_log_is_reopened_on_usr1() {
    let server = Plan::new().config(COMBINED).file("a.txt", "a\n").start();
    assert_eq!(server.get("/a.txt?one").status, 200);
    lines(&server, "access.log", 1);
    std::fs::rename(server.directory().join("access.log"), server.directory().join("old.log"))
        .unwrap();
    assert_eq!(server.get("/a.txt?two").status, 200);
    let old = lines(&server, "old.log", 2);
    assert!(old[1].contains("?two"), "until it is told, it writes where it did: {old:?}");
    server.signal("USR1");
    until("the new log", || server.directory().join("access.log").exists().then_some(()));
    assert_eq!(server.get("/a.txt?three").status, 200);
    let new = lines(&server, "access.log", 1);
    assert!(new[0].contains("?three"), "{new:?}");
    assert_eq!(lines(&server, "old.log", 2).len(), 2);
}

#[test]
fn the_last_lines_are_written_before_the_end() {
    let mut server = Plan::new().config(COMBINED).file("a.txt", "a\n").start();
    let mut client = server.client();
    for number in 0..50 {
        assert_eq!(client.get(&format!("/a.txt?{number}")).unwrap().status, 200);
    }
    server.signal("TERM");
    assert!(server.wait().success());
    let log = server.directory().text("access.log");
    assert_eq!(log.lines().count(), 50, "{log}");
}

/// `/dev/full` accepts no byte: every write fails as on a full disk.
#[test]
fn a_full_disk_loses_lines_and_no_request() {
    const REQUESTS: u64 = 300;
    let plan = Plan::new().config(COMBINED).file("a.txt", "a\n");
    symlink("/dev/full", plan.directory.join("access.log")).unwrap();
    let mut server = plan.start();
    let mut client = server.client();
    for _ in 0..REQUESTS {
        assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n");
    }
    let stats = until("all lines to be counted as lost", || {
        let stats = server.told("/stats");
        let dropped = server.count("/http/log_lines_dropped");
        let lost = stats["log"]["lines_lost"].as_u64().unwrap();
        (lost + dropped == REQUESTS).then_some(stats)
    });
    assert_eq!(stats["log"]["lines_written"], 0);
    let told = server.printed_errors();
    assert!(told.contains("access log lines are lost"), "{told}");
    assert!(told.lines().count() < 5, "said, but not for every line: {told}");
    // Space again: a file in the place of the device, and the signal.
    let path = server.directory().join("access.log");
    std::fs::remove_file(&path).unwrap();
    server.signal("USR1");
    until("the new log", || path.is_file().then_some(()));
    assert_eq!(text(&client.get("/a.txt?after").unwrap()), "a\n");
    assert!(lines(&server, "access.log", 1)[0].contains("?after"));
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn a_log_that_cannot_be_opened_is_told_at_the_start() {
    let output = Plan::new().config("[log]\naccess = \"missing/access.log\"\n").fail();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = crate::server::errors_of(&output);
    assert!(told.contains("missing/access.log") && told.contains("access log"), "{told}");
}

#[test]
fn a_log_can_go_to_standard_error() {
    let server = Plan::new().config("[log]\naccess = \"stderr\"\n").file("a.txt", "a\n").start();
    let mut client = server.client();
    client.send(head("GET", "/a.txt?told", &[])).unwrap();
    assert_eq!(client.response(conformance::RequestKind::Other).unwrap().status, 200);
    until("the line", || server.printed_errors().contains("GET /a.txt?told").then_some(()));
}

/// A FIFO in the directory of the test, open for reading, which nobody reads.
fn unread_fifo(plan: &Plan) -> File {
    let path = plan.directory.join("access.log");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    // Opened for both, because the server has not opened its end yet.
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

/// More lines than a pipe holds.
fn fill(server: &Server) {
    let mut client = server.client();
    for number in 0..60 {
        let path = format!("/a.txt?{number}{}", "y".repeat(3000));
        assert_eq!(client.get(&path).unwrap().status, 200);
    }
}

#[test]
fn a_log_that_nobody_reads_keeps_no_server_from_ending() {
    let plan = Plan::new().config(COMBINED).file("a.txt", "a\n");
    let mut fifo = unread_fifo(&plan);
    let mut server = plan.start();
    fill(&server);
    // The writer still takes orders.
    server.signal("USR1");
    until("the order", || {
        server.printed_errors().contains("the access log is reopened").then_some(())
    });
    server.signal("TERM");
    assert!(server.wait().success(), "{}", server.printed_errors());
    let told = server.printed_errors();
    let lost = told.split_once("access log lines were lost (").expect(&told).1;
    let lost: usize = lost.split(' ').next().unwrap().parse().unwrap();
    // The written text is whole lines.
    let mut written = vec![0; 1 << 20];
    let count = fifo.read(&mut written).unwrap();
    let written = &written[..count];
    assert_eq!(written.last(), Some(&b'\n'));
    let lines = written.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines + lost, 60, "{told}");
}

#[test]
fn the_reader_of_a_log_gets_every_line_when_it_goes_on() {
    let plan = Plan::new().config(COMBINED).file("a.txt", "a\n");
    let fifo = unread_fifo(&plan);
    let mut server = plan.start();
    fill(&server);
    let mut reader = BufReader::new(fifo);
    for number in 0..60 {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.contains(&format!("GET /a.txt?{number}yyy")), "{number}: {line}");
    }
    until("the count", || (server.told("/stats")["log"]["lines_written"] == 60).then_some(()));
    server.signal("TERM");
    assert!(server.wait().success());
    assert_eq!(server.printed_troubles(), "");
}

#[test]
fn a_fifo_without_a_reader_is_told_at_the_start() {
    let plan = Plan::new().config(COMBINED);
    drop(unread_fifo(&plan));
    let output = plan.fail();
    let told = crate::server::errors_of(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("access.log: it is a FIFO that nobody reads"), "{told}");
}

/// The directory of the log was moved, for example: the new file cannot be opened.
#[test]
fn a_log_that_cannot_be_reopened_goes_on() {
    let plan = Plan::new().config("[log]\naccess = \"logs/access.log\"\n").file("a.txt", "a\n");
    std::fs::create_dir(plan.directory.join("logs")).unwrap();
    let server = plan.start();
    assert_eq!(server.get("/a.txt?before").status, 200);
    lines(&server, "logs/access.log", 1);
    let move_to = |from: &str, to: &str| {
        std::fs::rename(server.directory().join(from), server.directory().join(to)).unwrap();
    };
    move_to("logs", "moved");
    server.signal("USR1");
    until("the error", || {
        let told = server.printed_errors();
        let error = told.lines().find(|line| line.contains("cannot be reopened"))?.to_owned();
        assert!(error.contains("logs/access.log") && error.contains("lines go on"), "{error}");
        Some(())
    });
    assert_eq!(server.get("/a.txt?after").status, 200);
    assert!(lines(&server, "moved/access.log", 2)[1].contains("?after"));
    move_to("moved", "logs");
    std::fs::remove_file(server.directory().join("logs/access.log")).unwrap();
    server.signal("USR1");
    until("the new log", || server.directory().join("logs/access.log").exists().then_some(()));
    assert_eq!(server.get("/a.txt?anew").status, 200);
    assert!(lines(&server, "logs/access.log", 1)[0].contains("?anew"));
    let stats = server.told("/stats");
    assert_eq!(
        (&stats["log"]["lines_written"], &stats["log"]["lines_lost"]),
        (&3.into(), &0.into())
    );
}

#[test]
fn a_line_has_the_fields_that_its_format_names() {
    let format = "format = \"$peer $proxy $method $path $query $scheme $status $bytes $bytes_in $route $user $tls ${field:x-key} $$\"\n";
    let routes = "[[route]]\nprefix = \"/r\"\njson = 1\n[[route]]\npath = \"/quiet\"\njson = 1\nlog = false\n";
    let config = format!("trusted_proxies = [\"127.0.0.1\"]\n{routes}{COMBINED}{format}");
    let server = Plan::new().config(&config).file("a.txt", "four").start();
    let mut client = server.client();
    let told =
        [("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-Proto", "https"), ("X-Key", "a \"b\"")];
    assert_eq!(client.request("GET", "/a.txt?q=1", &told).unwrap().status, 200);
    assert_eq!(client.request("GET", "/quiet", &[]).unwrap().status, 200);
    assert_eq!(client.request("HEAD", "/r/x", &[]).unwrap().status, 200);
    let lines = lines(&server, "access.log", 2);
    let first = "192.0.2.1 127.0.0.1 GET /a.txt q=1 https 200 4 0 - - - a \\x22b\\x22 $";
    assert_eq!(lines, [first, "127.0.0.1 - HEAD /r/x - http 200 0 0 /r - - - $"]);
}

#[test]
fn json_has_typed_values_and_chosen_fields() {
    let config = format!(
        "{JSON}fields = [\"time\", \"status\", \"duration_ms\", \"first_byte_ms\", \"bytes\", \"tls\", \"upstream\", \"field:x\"]\n"
    );
    let page = "<% sleep(0.2) %>slow";
    let server = Plan::new().config(&config).file("slow.page.txt", page).start();
    assert_eq!(server.get("/slow").status, 200);
    let lines = lines(&server, "access.log", 1);
    let line: Value = serde_json::from_str(&lines[0]).unwrap();
    let duration_ms = line["duration_ms"].as_f64().unwrap();
    assert!((190.0..30_000.0).contains(&duration_ms), "{line}");
    assert_eq!(line["first_byte_ms"], line["duration_ms"]);
    assert_eq!((&line["status"], &line["bytes"]), (&200.into(), &4.into()));
    assert_eq!((&line["tls"], &line["field:x"]), (&Value::Null, &Value::Null));
    let time = line["time"].as_str().unwrap();
    assert_eq!((time.len(), &time[19..20], &time[23..]), (24, ".", "Z"), "{time}");
}

#[test]
fn a_request_has_one_name_in_log_page_and_error_page() {
    let config =
        format!("trusted_proxies = [\"127.0.0.1\"]\n{COMBINED}format = \"$request_id $status\"\n");
    let server = Plan::new()
        .config(&config)
        .file("id.page.txt", "<%= request.id %>")
        .file("bad.page.html", "<% error('x') %>")
        .start();
    let mut client = server.client();
    let mut ask = |path: &str, fields: &[(&str, &str)]| {
        text(&client.request("GET", path, fields).unwrap()).to_owned()
    };
    let (one, two) = (ask("/id", &[]), ask("/id", &[]));
    assert!(
        one.len() == 32 && one != two && one.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{one}"
    );
    assert_eq!(ask("/id", &[("X-Request-Id", "from-proxy.7")]), "from-proxy.7");
    for forged in ["a b", "<script>", "", &"x".repeat(129)] {
        assert_eq!(ask("/id", &[("X-Request-Id", forged)]).len(), 32, "{forged}");
    }
    let page = ask("/bad", &[("X-Request-Id", "broken-8")]);
    assert!(page.contains("<p>Request broken-8</p>"), "{page}");
    let problem = ask("/bad", &[("X-Request-Id", "broken-9"), ("Accept", "application/json")]);
    assert!(problem.contains("\"request_id\":\"broken-9\""), "{problem}");
    let lines = lines(&server, "access.log", 9);
    assert_eq!(
        lines[..3],
        [format!("{one} 200"), format!("{two} 200"), "from-proxy.7 200".to_owned()]
    );
    assert_eq!(lines[7..], ["broken-8 500", "broken-9 500"]);
    // A stranger does not name its requests.
    let config = format!("{COMBINED}format = \"$request_id\"\n");
    let server = Plan::new().config(&config).file("id.page.txt", "<%= request.id %>").start();
    let told = text(&server.request("GET", "/id", &[("X-Request-Id", "mine")])).to_owned();
    assert_eq!(told.len(), 32, "{told}");
}

#[test]
fn messages_of_the_server_have_a_time_if_asked() {
    for (form, is_json) in [("timed", false), ("json", true)] {
        let server = Server::start(&format!("[log]\nmessages = \"{form}\"\n"));
        assert!(server.ctl(&["reload"]).status.success());
        let printed = until("the line", || {
            let printed = server.printed_errors();
            printed.contains("reloaded").then_some(printed)
        });
        let line = printed.lines().find(|line| line.contains("reloaded")).unwrap();
        if is_json {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["level"], "info");
            assert!(line["time"].as_str().unwrap().ends_with('Z'));
            assert!(line["message"].as_str().unwrap().starts_with("reloaded"));
        } else {
            let rest = line.strip_prefix("velodrome: 20").unwrap();
            assert!(rest.contains("Z info: reloaded"), "{line}");
        }
    }
}
