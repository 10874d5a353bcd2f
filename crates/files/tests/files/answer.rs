//! The answer to a request for a file: every status, field and part.

use std::rc::Rc;

use files::answer::{AnswerFields, BodyPart, FileAnswer, FileRequest, Parts, answer};
use files::rules::{CacheControlRule, ListingRule};
use files::{CachedEntry, FileRules, NamePattern};
use wire::http::conditional::{Preconditions, SafeMethod};
use wire::http::status::Status;

use super::site::{Site, accepts};

const MODIFIED: u64 = 784_111_777;
const MODIFIED_TEXT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const BEFORE_TEXT: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const NOW: u64 = 1_700_000_000;
const CONTENT: &str = "0123456789abcdefghij";

fn site() -> Site {
    let site = Site::new(FileRules {
        listing: ListingRule::On,
        cache_control: vec![CacheControlRule {
            files: NamePattern::new("*.txt"),
            value: "max-age=60".to_owned(),
        }],
        held_size: 20_000,
        ..FileRules::default()
    });
    site.write("a.txt", CONTENT);
    site.date("a.txt", MODIFIED);
    site
}

/// A request from its lines, `Name: value`.
fn request<'r>(method: SafeMethod, path: &'r str, lines: &[&'r str]) -> FileRequest<'r> {
    let mut preconditions = Preconditions::default();
    let mut accept = None;
    let mut accepted = accepts("");
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        preconditions.note(name.as_bytes(), value.as_bytes());
        match name {
            "Accept" => accept = Some(value.as_bytes()),
            "Accept-Encoding" => accepted.read_line(value.as_bytes()),
            _ => {}
        }
    }
    FileRequest { method, preconditions, accepted, accept, path, query: None, unique: 7 }
}

fn get<'e>(entry: &'e CachedEntry, lines: &[&str]) -> FileAnswer<'e> {
    answer(&request(SafeMethod::Get, "/a.txt", lines), entry, NOW)
}

fn field<'a>(answer: &'a FileAnswer<'_>, name: &str) -> Option<&'a str> {
    let value = answer.fields.fields().first(&name.to_ascii_lowercase());
    value.map(|value| std::str::from_utf8(value).unwrap())
}

/// The body, after checking that it is as long as the answer says.
fn body(answer: &FileAnswer<'_>) -> String {
    let mut all = Vec::new();
    for part in answer.parts.as_slice() {
        match part {
            BodyPart::Memory { bytes, range } => all.extend_from_slice(&bytes[range.clone()]),
            BodyPart::File { length, .. } => {
                all.extend(std::iter::repeat_n(b'F', usize::try_from(*length).unwrap()));
            }
        }
    }
    assert_eq!(all.len() as u64, answer.length);
    String::from_utf8(all).unwrap()
}

fn etag_of(entry: &CachedEntry) -> String {
    field(&get(entry, &[]), "ETag").unwrap().to_owned()
}

#[test]
fn a_plain_answer_is_ready_made() {
    let entry = site().entry("/a.txt", "");
    let plain = get(&entry, &[]);
    assert_eq!(plain.status, Status::OK);
    assert_eq!(body(&plain), CONTENT);
    assert!(
        matches!(plain.fields, AnswerFields::Prepared(_)) && matches!(plain.parts, Parts::One(_))
    );
    assert!(!plain.wants_page());
    for (name, value) in [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", "20"),
        ("Accept-Ranges", "bytes"),
        ("Last-Modified", MODIFIED_TEXT),
        ("Cache-Control", "max-age=60"),
    ] {
        assert_eq!(field(&plain, name), Some(value));
    }

    let head = answer(&request(SafeMethod::Head, "/a.txt", &["Range: bytes=0-1"]), &entry, NOW);
    assert_eq!(head.status, Status::OK);
    assert_eq!(head.fields.fields().lines(), plain.fields.fields().lines());
    assert_eq!(body(&head), "");
}

/// RFC 9110 sections 13.1 and 13.2.2.
#[test]
fn preconditions_are_kept() {
    let entry = site().entry("/a.txt", "");
    let tag = etag_of(&entry);
    let weak = format!("W/{tag}");
    let several = format!("\"x\", {tag}");
    let table: &[(&[(&str, &str)], Status)] = &[
        (&[("If-None-Match", &tag)], Status::NOT_MODIFIED),
        (&[("If-None-Match", &weak)], Status::NOT_MODIFIED),
        (&[("If-None-Match", &several)], Status::NOT_MODIFIED),
        (&[("If-None-Match", "*")], Status::NOT_MODIFIED),
        (&[("If-None-Match", "\"x\"")], Status::OK),
        (&[("If-None-Match", "\"x\""), ("If-Modified-Since", MODIFIED_TEXT)], Status::OK),
        (&[("If-Modified-Since", MODIFIED_TEXT)], Status::NOT_MODIFIED),
        (&[("If-Modified-Since", BEFORE_TEXT)], Status::OK),
        (&[("If-Modified-Since", "yesterday")], Status::OK),
        (&[("If-Match", &tag)], Status::OK),
        (&[("If-Match", "*")], Status::OK),
        (&[("If-Match", &weak)], Status::PRECONDITION_FAILED),
        (&[("If-Match", "\"x\"")], Status::PRECONDITION_FAILED),
        (&[("If-Match", &tag), ("If-None-Match", &tag)], Status::NOT_MODIFIED),
        (&[("If-Unmodified-Since", MODIFIED_TEXT)], Status::OK),
        (&[("If-Unmodified-Since", BEFORE_TEXT)], Status::PRECONDITION_FAILED),
        (&[("If-None-Match", &tag), ("Range", "bytes=0-1")], Status::NOT_MODIFIED),
    ];
    for (fields, expected) in table {
        let lines: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        for method in [SafeMethod::Get, SafeMethod::Head] {
            let got = answer(&request(method, "/a.txt", &lines), &entry, NOW);
            assert_eq!(got.status, *expected, "{lines:?}");
            if got.status == Status::NOT_MODIFIED {
                assert_eq!(field(&got, "ETag"), Some(tag.as_str()));
                assert_eq!(field(&got, "Cache-Control"), Some("max-age=60"));
                assert_eq!(field(&got, "Content-Length"), None);
                assert!(matches!(got.fields, AnswerFields::Prepared(_)), "it is ready-made");
                assert!(!got.wants_page() && body(&got).is_empty());
            } else {
                assert_eq!(got.wants_page(), got.status == Status::PRECONDITION_FAILED);
            }
        }
    }
}

/// RFC 9110 section 14.
#[test]
fn ranges_are_cut() {
    let entry = site().entry("/a.txt", "");
    let tag = etag_of(&entry);
    let (if_tag, if_weak) = (format!("If-Range: {tag}"), format!("If-Range: W/{tag}"));
    let if_date = format!("If-Range: {MODIFIED_TEXT}");
    let if_before = format!("If-Range: {BEFORE_TEXT}");
    let part = Status::PARTIAL_CONTENT;
    let table: &[(&[&str], Status, &str, Option<&str>)] = &[
        (&["Range: bytes=0-4"], part, "01234", Some("bytes 0-4/20")),
        (&["Range: bytes=15-"], part, "fghij", Some("bytes 15-19/20")),
        (&["Range: bytes=-3"], part, "hij", Some("bytes 17-19/20")),
        (&["Range: bytes=-99"], part, CONTENT, Some("bytes 0-19/20")),
        (&["Range: bytes=18-99"], part, "ij", Some("bytes 18-19/20")),
        (&["Range: bytes=0-1,1-3"], part, "0123", Some("bytes 0-3/20")),
        (&["Range: bytes=20-"], Status::RANGE_NOT_SATISFIABLE, "", Some("bytes */20")),
        (&["Range: bytes=-0"], Status::RANGE_NOT_SATISFIABLE, "", Some("bytes */20")),
        (&["Range: lines=0-4"], Status::OK, CONTENT, None),
        (&["Range: bytes=4-0"], Status::OK, CONTENT, None),
        (&["Range: bytes=0-1", &if_tag], part, "01", Some("bytes 0-1/20")),
        (&["Range: bytes=0-1", &if_date], part, "01", Some("bytes 0-1/20")),
        (&["Range: bytes=0-1", &if_weak], Status::OK, CONTENT, None),
        (&["Range: bytes=0-1", &if_before], Status::OK, CONTENT, None),
        (&["Range: bytes=0-1", "If-Range: \"x\""], Status::OK, CONTENT, None),
        (&["Range: bytes=99-", "If-Range: \"x\""], Status::OK, CONTENT, None),
    ];
    for (lines, status, expected, content_range) in table {
        let got = get(&entry, lines);
        assert_eq!(got.status, *status, "{lines:?}");
        assert_eq!(body(&got), *expected, "{lines:?}");
        assert_eq!(field(&got, "Content-Range"), *content_range, "{lines:?}");
        if *status == part {
            assert_eq!(field(&got, "Content-Length"), Some(expected.len().to_string().as_str()));
            assert_eq!(field(&got, "Content-Type"), Some("text/plain; charset=utf-8"));
            assert_eq!(field(&got, "ETag"), Some(tag.as_str()));
            assert_eq!(field(&got, "Cache-Control"), Some("max-age=60"));
        }
    }
}

/// RFC 9110 section 14.6.
#[test]
fn several_ranges_are_a_multipart() {
    let entry = site().entry("/a.txt", "");
    let got = get(&entry, &["Range: bytes=0-1, 10-12"]);
    assert_eq!(got.status, Status::PARTIAL_CONTENT);
    assert_eq!(field(&got, "Content-Range"), None);
    let media_type = field(&got, "Content-Type").unwrap();
    let boundary = media_type.strip_prefix("multipart/byteranges; boundary=").unwrap();
    let expected = format!(
        "\r\n--{boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes \
         0-1/20\r\n\r\n01\r\n--{boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: \
         bytes 10-12/20\r\n\r\nabc\r\n--{boundary}--\r\n"
    );
    assert_eq!(body(&got), expected);
    assert_eq!(field(&got, "Content-Length"), Some(expected.len().to_string().as_str()));
}

#[test]
fn the_coding_is_the_clients_choice() {
    let mut site = site();
    site.write("b.txt", "text ".repeat(1000));
    let identity = site.entry("/b.txt", "");
    let packed = site.entry("/b.txt", "gzip");
    let get = |entry, lines: &[&str]| answer_owned(entry, lines);

    let plain = get(&packed, &[]);
    let gzip = get(&packed, &["Accept-Encoding: gzip"]);
    assert_eq!(plain.coding, None);
    assert_eq!(gzip.coding.as_deref(), Some("gzip"));
    assert_ne!(plain.etag, gzip.etag);
    for got in [&plain, &gzip] {
        assert_eq!(got.vary.as_deref(), Some("Accept-Encoding"));
    }
    // It could have been gzip, and caches have to know.
    assert_eq!(get(&identity, &[]).vary.as_deref(), Some("Accept-Encoding"));
    assert_eq!(get(&packed, &["Accept-Encoding: br"]).coding, None);
    assert_eq!(get(&packed, &["Accept-Encoding: identity;q=0"]).status, Status::OK);

    // The tag of one representation does not match the other.
    let not_modified = format!("If-None-Match: {}", gzip.etag.as_deref().unwrap());
    let status = |lines: &[&str]| get(&packed, lines).status;
    assert_eq!(status(&[&not_modified, "Accept-Encoding: gzip"]), Status::NOT_MODIFIED);
    assert_eq!(status(&[&not_modified]), Status::OK);

    // RFC 9110 section 14.2: ranges apply to the chosen representation.
    let range = get(&packed, &["Accept-Encoding: gzip", "Range: bytes=0-1"]);
    assert_eq!(range.status, Status::PARTIAL_CONTENT);
    assert_eq!((range.body.as_slice(), range.coding.as_deref()), (&[0x1F, 0x8B][..], Some("gzip")));
    let several = get(&packed, &["Accept-Encoding: gzip", "Range: bytes=0-1,9-10"]);
    assert_eq!(several.status, Status::OK, "parts of something coded are not told apart");
}

struct Owned {
    status: Status,
    coding: Option<String>,
    vary: Option<String>,
    etag: Option<String>,
    body: Vec<u8>,
}

fn answer_owned(entry: &Rc<CachedEntry>, lines: &[&str]) -> Owned {
    let got = answer(&request(SafeMethod::Get, "/b.txt", lines), entry, NOW);
    let owned = |name| field(&got, name).map(str::to_owned);
    let body = match got.parts.as_slice() {
        [BodyPart::Memory { bytes, range }] => bytes[range.clone()].to_vec(),
        _ => Vec::new(),
    };
    Owned {
        status: got.status,
        coding: owned("Content-Encoding"),
        vary: owned("Vary"),
        etag: owned("ETag"),
        body,
    }
}

#[test]
fn a_large_file_is_sent_from_its_descriptor() {
    let mut site = site();
    site.write("big.bin", vec![b'x'; 30_000]);
    let entry = site.entry("/big.bin", "");
    let whole = get(&entry, &[]);
    assert_eq!(whole.large.map(|large| &*large.relative), Some("big.bin"));
    assert!(matches!(whole.parts.as_slice(), [BodyPart::File { offset: 0, length: 30_000 }]));
    let range = get(&entry, &["Range: bytes=100-199"]);
    assert!(matches!(range.parts.as_slice(), [BodyPart::File { offset: 100, length: 100 }]));
    let several = get(&entry, &["Range: bytes=0-9,100-109"]);
    assert_eq!(several.parts.as_slice().len(), 5);
    assert_eq!(body(&several).matches('F').count(), 20);
    assert_eq!(field(&several, "Content-Length"), Some(several.length.to_string().as_str()));
}

#[test]
fn an_empty_file_has_no_parts() {
    let mut site = site();
    site.write("empty.txt", "");
    let entry = site.entry("/empty.txt", "gzip");
    let got = get(&entry, &[]);
    assert_eq!((got.status, body(&got).as_str()), (Status::OK, ""));
    assert_eq!(field(&got, "Content-Length"), Some("0"));
    assert_eq!(get(&entry, &["Range: bytes=0-"]).status, Status::RANGE_NOT_SATISFIABLE);
}

#[test]
fn a_directory_without_its_slash_is_redirected_safely() {
    let mut site = site();
    site.write("d é/x", "x");
    let entry = site.entry("/d é", "");
    let mut asked = request(SafeMethod::Get, "/d é", &[]);
    let redirect = answer(&asked, &entry, NOW);
    assert_eq!(redirect.status, Status::MOVED_PERMANENTLY);
    assert_eq!(redirect.location.as_deref(), Some("/d%20%C3%A9/"));
    assert!(redirect.wants_page());
    asked.query = Some(b"a=b&c");
    let redirect = answer(&asked, &entry, NOW);
    assert_eq!(redirect.location.as_deref(), Some("/d%20%C3%A9/?a=b&c"));
    asked.query = Some(b"a\r\nX: y");
    let redirect = answer(&asked, &entry, NOW);
    assert_eq!(redirect.location.as_deref(), Some("/d%20%C3%A9/"));
    asked.query = None;
    asked.path = "//evil.example";
    let redirect = answer(&asked, &entry, NOW);
    assert_eq!(redirect.location.as_deref(), Some("/evil.example/"));
}

#[test]
fn missing_file_is_404_for_any_reason() {
    let mut site = site();
    site.write(".hidden", "x");
    std::os::unix::fs::symlink("/etc/passwd", site.file("out")).unwrap();
    for path in ["/none", "/.hidden", "/out"] {
        let entry = site.entry(path, "");
        let got = get(&entry, &["If-Match: *", "Range: bytes=0-1"]);
        assert_eq!(got.status, Status::NOT_FOUND, "{path}");
        assert!(got.fields.fields().is_empty() && got.wants_page() && body(&got).is_empty());
    }
}

#[test]
fn a_listing_has_two_forms() {
    let mut site = site();
    let entry = site.entry("/", "");
    let html = get(&entry, &["Accept: text/html,*/*;q=0.8"]);
    assert_eq!(field(&html, "Content-Type"), Some("text/html; charset=utf-8"));
    assert_eq!(field(&html, "Vary"), Some("Accept"));
    assert_eq!(field(&html, "Cache-Control"), Some("no-cache"));
    assert_eq!(field(&html, "Last-Modified"), None);
    assert!(body(&html).starts_with("<!doctype html>"));
    let json = get(&entry, &["Accept: application/json"]);
    assert_eq!(field(&json, "Content-Type"), Some("application/json; charset=utf-8"));
    assert!(body(&json).starts_with('{'));
    assert_ne!(field(&html, "ETag"), field(&json, "ETag"));
    let tag = format!("If-None-Match: {}", field(&json, "ETag").unwrap());
    let again = get(&entry, &["Accept: application/json", &tag]);
    assert_eq!(again.status, Status::NOT_MODIFIED);
}
