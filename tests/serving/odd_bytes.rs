//! Goal: bytes that clients choose come out of every log, counter and listing as text: valid UTF-8 without control
//! characters, and JSON where JSON is promised. Method: the built server; odd bytes in every part of requests and
//! commands, then all that the server tells its operator.

use serde_json::Value;

use crate::server::channel::{connect, resp, say};
use crate::server::client::{Client, head};
use crate::server::{Plan, Server, printed_by};

const CONFIG: &str = "[log]\naccess = \"access.log\"\nformat = \"json\"\nlevel = \"debug\"\n\
    [store]\nsync = \"none\"\n[[database]]\nname = \"0\"\nhttp = true\n[[channel]]\npattern = \"open.*\"\n";

/// Logs what it gets, and fails with it.
const PAGE: &str = "<% log.warn(request.query.x) log.info({ [request.query.x] = 1 }) print(request.query.x) \
                    error(request.query.x) %>";

/// Starts a process whose name the client chooses.
const PROCESS: &str = "<% local fine, why = pcall(spawn, function() error(request.query.x) end) \
                       response:write(tostring(fine)) %>";

/// Odd bytes: not UTF-8, line ends, terminal sequences, quotes, NUL, a C1 control, an encoded surrogate.
const ODD: [&[u8]; 8] = [
    b"\xff\xfe",
    b"a\nvelodrome: error: forged",
    b"a\r\n+OK",
    b"\x1b[31m",
    b"\"}\\",
    b"a\0b",
    "\u{9b}31m\u{2028}".as_bytes(),
    b"\xed\xa0\x80",
];

fn encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}

/// The bytes that a header field may have.
fn for_field(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|byte| *byte >= 0x20 && *byte != 0x7f).collect()
}

/// Sends odd bytes in everything that a client can choose.
fn send_all(server: &Server) {
    for odd in ODD {
        let part = encoded(odd);
        let field = for_field(odd);
        for path in [
            format!("/{part}?{part}"),
            format!("/page?x={part}"),
            format!("/process?x={part}"),
            format!("/channels/open.{part}"),
            format!("/store/0/{part}"),
            format!("/store/{part}/a"),
        ] {
            let mut client = server.client();
            let mut request = head("GET", &path, &[("Connection", "close")]).into_bytes();
            request.truncate(request.len() - 2);
            for name in [&b"User-Agent"[..], b"Referer", b"X-Odd", b"Cookie"] {
                request.extend([name, b": ", &field, b"\r\n"].concat());
            }
            request.extend(b"\r\n");
            client.send(request).unwrap();
            let _any_answer = client.rest();
        }
        for request in [
            [b"GET /", odd, b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"].concat(),
            [odd, b" / HTTP/1.1\r\nHost: a\r\n\r\n"].concat(),
            [b"GET / HTTP/1.1\r\nHost: ", odd, b"\r\nConnection: close\r\n\r\n"].concat(),
        ] {
            let mut client = server.client();
            client.send(request).unwrap();
            client.stream.shutdown(std::net::Shutdown::Write).unwrap();
            let _any_answer = client.rest();
        }
        let mut redis = connect(resp(server));
        for name in ["CLIENT", "SELECT", "CONFIG", "PUBLISH", "SUBSCRIBE", "AUTH", "GETX", "SET"] {
            let words: [&[u8]; 3] = [name.as_bytes(), odd, odd];
            let mut command = b"*3\r\n".to_vec();
            for word in words {
                command.extend(format!("${}\r\n", word.len()).bytes());
                command.extend(word);
                command.extend(b"\r\n");
            }
            redis.set_nodelay(true).unwrap();
            std::io::Write::write_all(&mut redis, &command).unwrap();
        }
        // The subscriptions do not matter: each error is one line, and the reply to the last command comes.
        let replies = say(&mut redis, b"PING odd-bytes-end\r\n", b"odd-bytes-end\r\n");
        let is_error = |line: &&[u8]| line.starts_with(b"-");
        for error in replies.split(|byte| *byte == b'\n').filter(is_error) {
            str::from_utf8(error).unwrap_or_else(|_| panic!("{:?}", error.escape_ascii()));
        }
    }
}

/// Checks that a text has no control characters except line ends.
fn is_text(what: &str, bytes: &[u8]) -> String {
    let text = str::from_utf8(bytes);
    let text = text.unwrap_or_else(|error| panic!("{what}: {error}: {}", bytes.escape_ascii()));
    for line in text.split('\n') {
        assert!(!line.contains(char::is_control), "{what}: {line:?}");
        assert!(!line.starts_with("velodrome: error: forged"), "{what}: {line:?}");
    }
    text.to_owned()
}

#[test]
fn odd_bytes_of_clients_are_reported_as_text() {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    let plan = plan.argument(&store).file("page.page.txt", PAGE).file("process.page.txt", PROCESS);
    let mut server = plan.config(CONFIG).start();
    send_all(&server);
    for words in [&["status"][..], &["stats"]] {
        let printed = server.ctl(words);
        is_text(&words.join(" "), &printed.stdout);
        let as_json = server.ctl(&[words, &["--json"]].concat());
        let json = is_text(&words.join(" "), printed_by(&as_json).as_bytes());
        serde_json::from_str::<Value>(&json).unwrap();
    }
    let scrape = Client::connect_unix(&server.plan.socket()).unwrap().get("/metrics").unwrap();
    is_text("metrics", &scrape.body);
    server.signal("TERM");
    assert!(server.wait().success());
    is_text("stderr", server.printed_errors().as_bytes());
    let log = std::fs::read(server.directory().join("access.log")).unwrap();
    let lines = is_text("access log", &log);
    assert!(lines.lines().count() > ODD.len() * 6);
    for line in lines.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}
