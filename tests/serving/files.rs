//! Goal: clients get the files of the directory: complete, current, in the form they request, and nothing from
//! outside. Method: the built binary and a raw client.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{FileExt, symlink};
use std::time::{Duration, Instant};

use crate::server::client::{field, head, read, text};
use crate::server::patience::until;
use crate::server::{Plan, Server};
use conformance::ParsedResponse;
use serde_json::Value;

fn get_with(server: &Server, path: &str, name: &str, value: &str) -> ParsedResponse {
    server.request("GET", path, &[(name, value)])
}

#[test]
fn a_file_that_is_stored_compressed_says_so() {
    let plan = Plan::new().file("logo.svgz", [0x1f, 0x8b, 8, 0]).file("film.ts", "x");
    let server = plan.start();
    for accept in ["", "gzip", "br, gzip", "identity"] {
        let answer = get_with(&server, "/logo.svgz", "Accept-Encoding", accept);
        assert_eq!(field(&answer, "Content-Type"), "image/svg+xml; charset=utf-8");
        assert_eq!(field(&answer, "Content-Encoding"), "gzip", "{accept}");
        assert_eq!(answer.body, [0x1f, 0x8b, 8, 0], "{accept}");
    }
    assert_eq!(field(&server.get("/film.ts"), "Content-Type"), "video/mp2t");
}

/// Fails unless every request gets the new answer from one second after the change on. Sends requests all the time, so
/// that cached answers are always in use.
fn assert_seen_in_a_second(server: &Server, path: &str, is_new: impl Fn(&ParsedResponse) -> bool) {
    let changed = Instant::now();
    until("a second to pass", || {
        let _either = server.get(path);
        (changed.elapsed() >= Duration::from_secs(1)).then_some(())
    });
    // Often enough to reach every scheduler.
    for _ in 0..20 {
        let response = server.get(path);
        assert!(is_new(&response), "{path}: {} {}", response.status, text(&response));
    }
}

#[test]
fn a_changed_file_is_served_within_a_second() {
    let server = Plan::new().file("a.txt", "one\n").start();
    assert_eq!(text(&server.get("/a.txt")), "one\n");
    server.directory().write("site/a.txt", "replaced\n");
    assert_seen_in_a_second(&server, "/a.txt", |response| response.body == b"replaced\n");
    let file = File::options().write(true).open(server.directory().join("site/a.txt")).unwrap();
    file.write_all_at(b"in place\n", 0).unwrap();
    assert_seen_in_a_second(&server, "/a.txt", |response| response.body == b"in place\n");
    std::fs::remove_file(server.directory().join("site/a.txt")).unwrap();
    assert_seen_in_a_second(&server, "/a.txt", |response| response.status == 404);
    server.directory().write("site/a.txt", "back\n");
    assert_seen_in_a_second(&server, "/a.txt", |response| response.body == b"back\n");
}

#[test]
fn validators_change_with_the_file() {
    let server = Plan::new().file("a.txt", "one\n").argument("--schedulers=1").start();
    let first = server.get("/a.txt");
    let tag = field(&first, "ETag").to_owned();
    assert!(tag.starts_with('"'), "strong: {tag}");
    assert_eq!(get_with(&server, "/a.txt", "If-None-Match", &tag).status, 304);
    server.directory().write("site/a.txt", "two\n");
    until("the change", || (server.get("/a.txt").body == b"two\n").then_some(()));
    let second = get_with(&server, "/a.txt", "If-None-Match", &tag);
    assert_eq!((second.status, text(&second)), (200, "two\n"));
    assert_ne!(field(&second, "ETag"), tag);
    assert_eq!(get_with(&server, "/a.txt", "If-Match", &tag).status, 412);
}

#[test]
fn conditional_requests_are_answered_by_what_they_ask() {
    let server = Plan::new().file("a.txt", "one\n").start();
    let plain = server.get("/a.txt");
    let (tag, modified) = (field(&plain, "ETag"), field(&plain, "Last-Modified"));
    for (name, value, status) in [
        ("If-None-Match", tag, 304),
        ("If-None-Match", "\"another\"", 200),
        ("If-None-Match", "*", 304),
        ("If-Modified-Since", modified, 304),
        ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT", 200),
        ("If-Unmodified-Since", modified, 200),
        ("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT", 412),
        ("If-Match", tag, 200),
        ("If-Match", "\"another\"", 412),
    ] {
        let response = get_with(&server, "/a.txt", name, value);
        assert_eq!(response.status, status, "{name}: {value}");
        if status == 304 {
            assert_eq!(field(&response, "ETag"), tag);
            assert!(response.field("Date").is_some());
        }
    }
}

#[test]
fn ranges_are_the_bytes_asked_for() {
    let server = Plan::new().file("digits.txt", "0123456789").start();
    for (range, status, body, content_range) in [
        ("bytes=0-3", 206, "0123", "bytes 0-3/10"),
        ("bytes=7-", 206, "789", "bytes 7-9/10"),
        ("bytes=-2", 206, "89", "bytes 8-9/10"),
        ("bytes=8-100", 206, "89", "bytes 8-9/10"),
        ("bytes=3-1", 200, "0123456789", ""),
        ("lines=0-3", 200, "0123456789", ""),
    ] {
        let response = get_with(&server, "/digits.txt", "Range", range);
        let got = (response.status, text(&response), field(&response, "Content-Range"));
        assert_eq!(got, (status, body, content_range), "{range}");
    }
    let beyond = get_with(&server, "/digits.txt", "Range", "bytes=10-");
    assert_eq!((beyond.status, field(&beyond, "Content-Range")), (416, "bytes */10"));
    let several = get_with(&server, "/digits.txt", "Range", "bytes=0-1,8-9");
    assert_eq!(several.status, 206);
    assert!(field(&several, "Content-Type").starts_with("multipart/byteranges; boundary="));
    assert!(text(&several).contains("bytes 8-9/10\r\n\r\n89\r\n--"), "{}", text(&several));
    let tag = field(&server.get("/digits.txt"), "ETag").to_owned();
    for (validator, status) in [(tag.as_str(), 206), ("\"another\"", 200)] {
        let fields = [("Range", "bytes=0-1"), ("If-Range", validator)];
        assert_eq!(server.request("GET", "/digits.txt", &fields).status, status, "{validator}");
    }
}

#[test]
fn head_says_what_get_says() {
    let server =
        Plan::new().file("a.txt", "a\n".repeat(5000)).file("b.bin", vec![0; 2_000_000]).start();
    for path in ["/a.txt", "/b.bin", "/none", "/"] {
        let get = server.get(path);
        let head = server.request("HEAD", path, &[]);
        assert_eq!(head.status, get.status, "{path}");
        let without_date = |response: &ParsedResponse| {
            let mut fields = response.fields.clone();
            fields.retain(|(name, _)| name != "Date");
            fields
        };
        assert_eq!(without_date(&head), without_date(&get), "{path}");
    }
}

#[test]
fn directories_are_listed_for_people_and_programs_where_allowed() {
    let server = Plan::new()
        .config("[files]\nlisting = true\nhide = [\"*.bak\"]\n")
        .file("list/file 10.txt", "ten")
        .file("list/file 9.txt", "nine.")
        .file("list/<b>&.txt", "")
        .file("list/sub/x", "")
        .file("list/.secret", "")
        .file("list/old.bak", "")
        .start();
    let page = server.get("/list/");
    assert_eq!((page.status, field(&page, "Content-Type")), (200, "text/html; charset=utf-8"));
    let html = text(&page);
    assert!(html.contains("file%209.txt") && html.contains("file 9.txt"), "{html}");
    assert!(html.contains("&lt;b&gt;&amp;.txt") && !html.contains("<b>&"), "{html}");
    assert!(!html.contains(".secret") && !html.contains("old.bak"), "{html}");
    let data = get_with(&server, "/list/", "Accept", "application/json");
    assert_eq!(field(&data, "Content-Type"), "application/json; charset=utf-8");
    assert!(data.lists("Vary", "accept"), "{:?}", data.fields);
    let data: Value = serde_json::from_slice(&data.body).unwrap();
    let names: Vec<&str> = data["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["sub", "<b>&.txt", "file 9.txt", "file 10.txt"]);
    assert_eq!(data["entries"][2]["size"], 5);
    // Every link of the page works.
    let links: Vec<&str> =
        html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() >= 4, "{links:?}");
    for link in links.iter().filter(|link| !link.starts_with("..") && !link.starts_with('/')) {
        let target = format!("/list/{}", link.replace("&amp;", "&"));
        assert_eq!(server.get(&target).status, 200, "{target}");
    }
}

#[test]
fn directories_are_not_listed_unless_allowed() {
    let server = Plan::new().file("list/a.txt", "").file("indexed/index.html", "<p>here").start();
    assert_eq!(server.get("/list/").status, 404);
    assert_eq!(text(&server.get("/indexed/")), "<p>here");
    let redirect = server.get("/indexed?a=b");
    assert!([301, 308].contains(&redirect.status), "{}", redirect.status);
    assert_eq!(field(&redirect, "Location"), "/indexed/?a=b");
}

#[test]
fn error_pages_are_those_of_the_site() {
    let config = "[error_pages]\n404 = \"/errors/none.html\"\n405 = \"/errors/missing.html\"\n";
    let server = Plan::new().config(config).file("errors/none.html", "<p>ours: none").start();
    let none = server.get("/nothing");
    assert_eq!((none.status, text(&none)), (404, "<p>ours: none"));
    assert_eq!(field(&none, "Content-Type"), "text/html; charset=utf-8");
    assert!(none.field("ETag").is_none(), "an error has no validator: {:?}", none.fields);
    let head = server.request("HEAD", "/nothing", &[]);
    assert_eq!((head.status, field(&head, "Content-Length")), (404, "13"));
    // A missing error page is replaced by the built-in text.
    let refused = server.request("DELETE", "/errors/none.html", &[]);
    assert_eq!(refused.status, 405);
    assert!(text(&refused).contains("405"), "{}", text(&refused));
    assert!(field(&refused, "Allow").contains("GET"));
}

#[test]
fn hidden_files_and_files_outside_are_not_there() {
    let plan = Plan::new()
        .file(".env", "secret")
        .file(".git/config", "secret")
        .file("velodrome.toml", "")
        .file("error.page.html", "secret")
        .file(".well-known/acme", "open")
        .file("inside.txt", "inside");
    plan.directory.write("outside.txt", "secret");
    let site = plan.directory.join("site");
    symlink(plan.directory.join("outside.txt"), site.join("absolute.txt")).unwrap();
    symlink("../outside.txt", site.join("relative.txt")).unwrap();
    symlink("..", site.join("up")).unwrap();
    symlink("inside.txt", site.join("within.txt")).unwrap();
    symlink("loop", site.join("loop")).unwrap();
    let server = plan.argument("--schedulers=1").start();
    for path in [
        "/.env",
        "/%2eenv",
        "/.git/config",
        "/velodrome.toml",
        "/error.page.html",
        "/absolute.txt",
        "/relative.txt",
        "/up/outside.txt",
        "/up/site/inside.txt",
        "/loop",
        "/inside.txt/",
        "/inside.txt/x",
        "/none/../inside.txt/../../outside.txt",
        "/..%2foutside.txt",
        "/%2e%2e/outside.txt",
        "/../outside.txt",
    ] {
        let response = server.get(path);
        assert!([400, 404].contains(&response.status), "{path}: {}", response.status);
        assert!(!text(&response).contains("secret"), "{path}");
    }
    assert_eq!(server.get("/.env").status, 404, "hidden looks like missing");
    assert_eq!(server.get("/absolute.txt").status, 404, "outside looks like missing");
    assert_eq!(text(&server.get("/.well-known/acme")), "open");
    assert_eq!(text(&server.get("/within.txt")), "inside");
}

#[test]
fn symbolic_links_can_be_refused_altogether() {
    let plan = Plan::new().config("[files]\nsymlinks = false\n").file("inside.txt", "inside");
    symlink("inside.txt", plan.directory.join("site/within.txt")).unwrap();
    let server = plan.start();
    assert_eq!(server.get("/within.txt").status, 404);
    assert_eq!(text(&server.get("/inside.txt")), "inside");
}

#[test]
fn names_of_every_kind_are_found_and_impossible_ones_are_not() {
    let server = Plan::new()
        .file("ä ö.txt", "umlauts")
        .file("100%.txt", "percent")
        .file("a+b&c=d;e.txt", "signs")
        .file("q?.txt", "question")
        .start();
    for (path, body) in [
        ("/%C3%A4%20%c3%b6.txt", "umlauts"),
        ("/100%25.txt", "percent"),
        ("/a+b&c=d;e.txt", "signs"),
        ("/q%3F.txt?really", "question"),
        ("//a+b&c=d;e.txt", "signs"),
    ] {
        let response = server.get(path);
        if path.starts_with("//") {
            // Merged, redirected or refused, but never interpreted as a host name.
            assert!(!field(&response, "Location").starts_with("//"), "{path}");
        } else {
            assert_eq!(text(&response), body, "{path}");
        }
    }
    let long = format!("/{}", "n".repeat(300));
    let deep = "/d".repeat(1000);
    for path in [long.as_str(), deep.as_str(), "/%00", "/a%0ab", "/%ff%fe", "/%"] {
        let status = server.get(path).status;
        assert!([400, 404].contains(&status), "{path}: {status}");
    }
}

#[test]
fn fields_types_and_caching_are_as_configured() {
    let config = "[headers]\nX-Frame-Options = \"DENY\"\nX-From = \"site\"\n\
        [mime]\nlog = \"text/x-log; charset=utf-8\"\n\
        [[files.cache_control]]\nglob = \"*.css\"\nvalue = \"public, max-age=60\"\n\
        [[files.cache_control]]\nglob = \"/assets/*\"\nvalue = \"immutable\"\n\
        [[route]]\nprefix = \"/special/\"\nfiles = { cache_control = \"no-store\" }\n\
        headers = { X-From = \"route\" }\n";
    let server = Plan::new()
        .config(config)
        .file("a.css", "")
        .file("assets/deep/b.js", "")
        .file("special/a.css", "")
        .file("c.log", "")
        .start();
    for (path, cached, from) in [
        ("/a.css", "public, max-age=60", "site"),
        ("/assets/deep/b.js", "immutable", "site"),
        ("/special/a.css", "no-store", "route"),
        ("/c.log", "", "site"),
        ("/none", "", "site"),
    ] {
        let response = server.get(path);
        let got = (field(&response, "Cache-Control"), field(&response, "X-From"));
        assert_eq!(got, (cached, from), "{path}");
        assert_eq!(response.values("X-From").count(), 1, "{path}");
        assert_eq!(field(&response, "X-Frame-Options"), "DENY", "{path}");
    }
    assert_eq!(field(&server.get("/c.log"), "Content-Type"), "text/x-log; charset=utf-8");
    assert!(field(&server.get("/assets/deep/b.js"), "Content-Type").contains("javascript"));
}

/// A sparse file that contains numbers, so that a part in the wrong place is noticed.
fn sparse_file(path: &std::path::Path, size: u64) {
    let file = File::create(path).unwrap();
    file.set_len(size).unwrap();
    for offset in (0..size - 8).step_by(999_983) {
        file.write_all_at(&offset.to_be_bytes(), offset).unwrap();
    }
    file.write_all_at(b"the end.", size - 8).unwrap();
}

#[test]
fn a_large_file_arrives_whole() {
    const SIZE: u64 = 100 * 1024 * 1024;
    let plan = Plan::new();
    let path = plan.directory.join("site/large.bin");
    sparse_file(&path, SIZE);
    let server = plan.start();
    let mut client = server.client();
    client.send(head("GET", "/large.bin", &[("Connection", "close")])).unwrap();
    let mut answer = [0; 256 * 1024];
    let mut begin = Vec::new();
    let end_of_head = loop {
        let count = read(&mut client.stream, &mut answer).unwrap();
        assert_ne!(count, 0, "{}", begin.escape_ascii());
        begin.extend_from_slice(&answer[..count]);
        let end = begin.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            break end + 4;
        }
    };
    let told = String::from_utf8_lossy(&begin[..end_of_head]).into_owned();
    assert!(told.contains(&format!("Content-Length: {SIZE}\r\n")), "{told}");
    let mut original = File::open(&path).unwrap();
    let mut expected = [0; 256 * 1024];
    let mut compare = |got: &[u8], at: u64| {
        original.read_exact(&mut expected[..got.len()]).unwrap();
        assert!(expected[..got.len()] == *got, "differs after byte {at}");
        at + got.len() as u64
    };
    let mut at = compare(&begin[end_of_head..], 0);
    loop {
        match read(&mut client.stream, &mut answer) {
            Ok(0) => break,
            Ok(count) => at = compare(&answer[..count], at),
            Err(error) => panic!("after {at} bytes: {error}"),
        }
    }
    assert_eq!(at, SIZE);
    let part = get_with(&server, "/large.bin", "Range", "bytes=99998290-99998309");
    assert_eq!(part.status, 206);
    assert_eq!(part.body[10..18], 99_998_300_u64.to_be_bytes());
}

/// The announced length cannot be sent any more: the connection ends early, and no other one is affected.
#[test]
fn a_file_cut_while_it_is_sent_ends_that_connection_only() {
    const SIZE: u64 = 50 * 1024 * 1024;
    let plan = Plan::new().file("a.txt", "a\n");
    let path = plan.directory.join("site/large.bin");
    sparse_file(&path, SIZE);
    let mut server = plan.start();
    let mut client = server.client();
    client.send(head("GET", "/large.bin", &[])).unwrap();
    assert_ne!(client.receive().unwrap(), 0);
    File::options().write(true).open(&path).unwrap().set_len(1024 * 1024).unwrap();
    let (received, _) = client.rest().unwrap();
    assert!((received.len() as u64) < SIZE, "{} bytes", received.len());
    assert_eq!(text(&server.get("/a.txt")), "a\n");
    assert!(server.is_running());
}
