//! Goal: a client gets a coding it accepts, from a sibling file or compressed on request. Method: the built
//! binary, and gzip and zstd to decode what it sends.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use crate::server::client::{field, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, has};
use conformance::ParsedResponse;

/// Long enough to be compressed on request.
fn prose() -> String {
    (0..500).map(|line| format!("{line} bottles of beer on the wall\n")).collect()
}

/// The output of a program for this input.
fn filtered(program: &str, bytes: &[u8]) -> Vec<u8> {
    let mut command = Command::new(program);
    command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || input.write_all(&bytes));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
    output.stdout
}

fn get_with(server: &Server, path: &str, name: &str, value: &str) -> ParsedResponse {
    server.request("GET", path, &[(name, value)])
}

#[test]
fn precompressed_siblings_are_sent_to_who_takes_them() {
    let server = Plan::new()
        .file("a.css", prose())
        .file("a.css.gz", "as gzip")
        .file("a.css.br", "as brotli")
        .file("a.css.zst", "as zstd")
        .start();
    for (accepted, coding, body) in [
        ("gzip", "gzip", "as gzip"),
        ("br", "br", "as brotli"),
        ("zstd", "zstd", "as zstd"),
        ("gzip;q=0.5, br", "br", "as brotli"),
        ("gzip;q=0, br;q=0", "", &prose()),
        ("identity", "", &prose()),
        ("", "", &prose()),
    ] {
        let response = get_with(&server, "/a.css", "Accept-Encoding", accepted);
        let got = (field(&response, "Content-Encoding"), text(&response));
        assert_eq!(got, (coding, body), "{accepted}");
        assert!(response.lists("Vary", "accept-encoding"), "{accepted}: {:?}", response.fields);
        assert!(field(&response, "Content-Type").starts_with("text/css"), "{accepted}");
    }
    let all = get_with(&server, "/a.css", "Accept-Encoding", "gzip, br, zstd");
    assert_ne!(field(&all, "Content-Encoding"), "");
    let tag = |accepted| {
        let response = get_with(&server, "/a.css", "Accept-Encoding", accepted);
        field(&response, "ETag").to_owned()
    };
    assert_ne!(tag("gzip"), tag("br"), "each representation has its own validator");
    assert_ne!(tag("gzip"), tag("identity"));
}

#[test]
fn a_sibling_older_than_its_file_is_not_sent() {
    let plan = Plan::new().file("a.css", prose()).file("a.css.br", "of yesterday");
    let sibling = File::options().append(true).open(plan.directory.join("site/a.css.br")).unwrap();
    sibling.set_modified(UNIX_EPOCH + Duration::from_secs(1_600_000_000)).unwrap();
    let server = plan.start();
    let response = get_with(&server, "/a.css", "Accept-Encoding", "br");
    assert_eq!((field(&response, "Content-Encoding"), text(&response)), ("", prose().as_str()));
}

#[test]
fn text_is_compressed_when_asked_for() {
    let server = Plan::new()
        .file("a.txt", prose())
        .file("short.txt", "short")
        .argument("--schedulers=1")
        .start();
    let image = server.directory();
    image.write("site/image.png", prose());
    let plain = server.get("/a.txt");
    assert_eq!((text(&plain), field(&plain, "Content-Encoding")), (prose().as_str(), ""));
    for (coding, program) in [("gzip", "gzip"), ("zstd", "zstd")] {
        // The first client may get it uncompressed, while it is compressed for later ones.
        let response = until("the compressed text", || {
            let response = get_with(&server, "/a.txt", "Accept-Encoding", coding);
            assert!(["", coding].contains(&field(&response, "Content-Encoding")));
            (field(&response, "Content-Encoding") == coding).then_some(response)
        });
        assert!(response.body.len() < prose().len() / 4, "{coding}: {}", response.body.len());
        assert!(response.lists("Vary", "accept-encoding"));
        assert_ne!(field(&response, "ETag"), field(&plain, "ETag"), "{coding}");
        if has(program, "text_is_compressed_when_asked_for") {
            assert_eq!(filtered(program, &response.body), prose().as_bytes(), "{coding}");
        }
        let tag = field(&response, "ETag");
        let fields = [("Accept-Encoding", coding), ("If-None-Match", tag)];
        assert_eq!(server.request("GET", "/a.txt", &fields).status, 304, "{coding}");
        let fields = [("Accept-Encoding", "identity"), ("If-None-Match", tag)];
        assert_eq!(server.request("GET", "/a.txt", &fields).status, 200, "{coding}");
    }
    for path in ["/short.txt", "/image.png"] {
        let response = get_with(&server, path, "Accept-Encoding", "gzip, zstd");
        assert_eq!(field(&response, "Content-Encoding"), "", "{path}");
    }
}

#[test]
fn compression_can_be_switched_off() {
    let server = Plan::new().config("[files]\ncompress = false\n").file("a.txt", prose()).start();
    let response = get_with(&server, "/a.txt", "Accept-Encoding", "gzip");
    assert_eq!((field(&response, "Content-Encoding"), text(&response)), ("", prose().as_str()));
}

/// A page that prints this many lines after a first text.
fn lines(first: &str, count: u32) -> String {
    format!("<% {first} for line = 1, {count} do response:write(line, ' bottles\\n') end -%>")
}

fn bottles(count: u32) -> Vec<u8> {
    (1..=count).flat_map(|line| format!("{line} bottles\n").into_bytes()).collect()
}

fn compressing() -> Plan {
    Plan::new().argument("--schedulers=1").config("[pages]\ncompress = true\n")
}

#[test]
fn page_output_is_compressed_if_accepted() {
    let server = compressing()
        .file("short.page.txt", lines("", 500))
        .file("long.page.txt", lines("", 100_000))
        .file("tiny.page.txt", "tiny")
        .start();
    for (path, count) in [("/short", 500), ("/long", 100_000)] {
        for coding in ["gzip", "zstd"] {
            let response = get_with(&server, path, "Accept-Encoding", coding);
            let told = (field(&response, "Content-Encoding"), field(&response, "Vary"));
            assert_eq!((response.status, told), (200, (coding, "Accept-Encoding")), "{path}");
            assert!(response.body.len() < bottles(count).len() / 2, "{path} {coding}");
            if has(coding, "what a page makes is compressed") {
                assert!(filtered(coding, &response.body) == bottles(count), "{path} {coding}");
            }
        }
        let plain = server.get(path);
        let told = (field(&plain, "Content-Encoding"), field(&plain, "Vary"));
        assert_eq!(told, ("", "Accept-Encoding"), "{path}");
        assert!(plain.body == bottles(count), "{path}");
        let asked = [("Accept-Encoding", "gzip")];
        let head = server.request("HEAD", path, &asked);
        assert_eq!((field(&head, "Content-Encoding"), head.body.len()), ("gzip", 0), "{path}");
    }
    let tiny = get_with(&server, "/tiny", "Accept-Encoding", "gzip");
    assert_eq!((text(&tiny), field(&tiny, "Vary")), ("tiny", ""));
}

#[test]
fn page_output_with_own_coding_is_not_compressed() {
    let plan = compressing();
    let cases = [
        ("coded", "response.headers['Content-Encoding'] = 'x-own'"),
        ("part", "response.status = 206 response.headers['Content-Range'] = 'bytes 0-9/*'"),
        ("named", "response.headers.ETag = '\"1\"'"),
        ("secret", "response.headers['Cache-Control'] = 'no-store, No-Transform'"),
        ("image", "response.headers['Content-Type'] = 'image/png'"),
        ("stream", "response:flush()"),
    ];
    let with = |plan: Plan, (name, first): &(&str, &str)| {
        plan.file(&format!("{name}.page.txt"), lines(first, 500))
    };
    let server = cases.iter().fold(plan, with).start();
    for (name, _) in cases {
        let response = get_with(&server, &format!("/{name}"), "Accept-Encoding", "gzip, zstd");
        assert!(response.body == bottles(500), "{name}");
        assert!(field(&response, "Vary").is_empty(), "{name}");
    }
    let untold = Plan::new().file("short.page.txt", lines("", 500)).start();
    let response = get_with(&untold, "/short", "Accept-Encoding", "gzip");
    assert!(response.body == bottles(500) && field(&response, "Vary").is_empty());
}

#[test]
fn clients_that_close_and_a_drain_leave_nothing_behind_of_what_is_compressed() {
    let mut server = compressing().file("long.page.txt", lines("", 300_000)).start();
    let ask = |accepted: &str| {
        let mut client = server.client();
        let fields = [("Accept-Encoding", accepted)];
        client.send(crate::server::client::head("GET", "/long", &fields)).unwrap();
        client
    };
    let mut wanted = ask("gzip");
    for index in 0..20 {
        let mut client = ask(if index % 2 == 0 { "gzip" } else { "zstd" });
        if index % 3 == 0 {
            client.receive().unwrap();
        }
    }
    let response = wanted.response(conformance::RequestKind::Other).unwrap();
    assert_eq!(field(&response, "Content-Encoding"), "gzip");
    if has("gzip", "clients that close leave nothing behind") {
        assert!(filtered("gzip", &response.body) == bottles(300_000));
    }
    let mut last = ask("zstd");
    last.receive().unwrap();
    server.signal("TERM");
    let (rest, _) = last.rest().unwrap();
    assert!(rest.ends_with(b"0\r\n\r\n"), "a drain lets it come to its end");
    assert!(server.wait().success());
    assert_eq!(server.printed_troubles(), "");
}
