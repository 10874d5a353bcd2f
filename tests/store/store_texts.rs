//! Goal: whatever bytes come into the store, on whatever way, they come out as what each way out promises: bytes
//! unchanged, text that is UTF-8, JSON that is JSON. Method: the product of all ways in, odd values and keys, and all
//! ways out, with the built server and `velodrome store`.

use std::collections::BTreeMap;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use wire::json;

use crate::server::channel::{connect, say};
use crate::server::client::{field, text};
use crate::server::{PROGRAM, Plan, printed_by, run};
use crate::texts::{CONFIG, Place, RUN, Takes, WAYS, WayIn, encoded};

fn values() -> Vec<Vec<u8>> {
    let nested = |levels: usize| [vec![b'['; levels], vec![b']'; levels]].concat();
    let mut values: Vec<Vec<u8>> = [
        &b"text"[..],
        "\u{e9}\u{1f600}".as_bytes(),
        b"\xff\xfe",
        b"a\0b",
        b"",
        b" ",
        b"\"",
        b"\"\"",
        b"5",
        b"-0",
        b"null",
        b"{\"a\":[1,\"x\"]}",
        b"{\"a\":\"\xff\"}",
        b"{\"\xff\":1}",
        b"\"\\ud800\"",
        b"{\"a\":\"\\udc00\\ud800\"}",
        b"\"\xed\xa0\x80\"",
        b"\"\\u0000\"",
        b"1e999",
        b"{\"a\":-1e999}",
        b"\xef\xbb\xbf{}",
    ]
    .map(<[u8]>::to_vec)
    .to_vec();
    values.extend([
        nested(100),
        nested(101),
        nested(124),
        nested(125),
        vec![b'7'; 1_000],
        vec![b'7'; 1_001],
    ]);
    values.push([&b"0."[..], &[b'1'; 999]].concat());
    values
}

fn keys() -> Vec<Vec<u8>> {
    let odd = [
        &b"k"[..],
        "\u{e9}".as_bytes(),
        b"\xff",
        b"a\0b",
        b"\"",
        b"\\",
        b"{\"a\":1}",
        b"a b",
        b"a/b?c#d",
        b"",
    ];
    odd.map(<[u8]>::to_vec).to_vec()
}

/// Whether the way has to refuse it.
fn is_refused(takes: Takes, key: &[u8], value: &[u8]) -> bool {
    key.is_empty()
        || match takes {
            Takes::Bytes | Takes::Replaced => false,
            Takes::Json => json::check(value).is_err(),
            Takes::JsonOfPage => json::check_of_page(value).is_err(),
            Takes::Field => str::from_utf8(value).is_err(),
        }
}

/// Writes all odd values and keys; returns what is stored, by key.
fn fill(place: &mut Place, way: &WayIn) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let values = values().into_iter().enumerate();
    let mut cases: Vec<_> =
        values.map(|(number, value)| (format!("v{number}").into_bytes(), value)).collect();
    cases.extend(keys().into_iter().map(|key| (key, b"1".to_vec())));
    let mut stored = BTreeMap::new();
    for (key, value) in cases {
        let told = format!("{}: {:?} = {:?}", way.name, key.escape_ascii(), value.escape_ascii());
        let taken = (way.put)(place, &key, &value);
        if is_refused(way.takes, &key, &value) {
            let why = taken.expect_err(&told);
            assert!(why.len() > 10, "{told}: {why}");
            let names = ["UTF-8", "name", "byte", "key"];
            assert!(names.iter().any(|name| why.contains(name)), "{told}: {why}");
            continue;
        }
        taken.unwrap_or_else(|why| panic!("{told}: {why}"));
        let bytes = place.bytes_of(&key);
        match way.takes {
            Takes::Bytes => assert_eq!(bytes, value, "{told}"),
            // A string that a page has decoded is a string.
            Takes::Json | Takes::JsonOfPage => assert!(
                json::check_of_page(&bytes).is_ok() || value.starts_with(b"\""),
                "{told}: {bytes:?}"
            ),
            Takes::Field | Takes::Replaced => {
                let table: Value = serde_json::from_slice(&bytes).unwrap();
                assert_eq!(table["name"], &*String::from_utf8_lossy(&value), "{told}");
            }
        }
        stored.insert(key, bytes);
    }
    stored
}

/// The bytes of a field of a listed record, or of its form in base64.
fn bytes_in(record: &Value, name: &str) -> Option<Vec<u8>> {
    if let Some(text) = record.get(name) {
        return Some(text.as_str().map_or_else(|| text.to_string(), str::to_owned).into_bytes());
    }
    let encoded = record.get(format!("{name}_base64"))?;
    Some(STANDARD.decode(encoded.as_str().unwrap()).unwrap())
}

/// Checks the records of a list: each is JSON with its key, and with its value if that is text or bytes.
fn compare(way: &str, lines: &[&str], stored: &BTreeMap<Vec<u8>, Vec<u8>>) {
    assert_eq!(lines.len(), stored.len(), "{way}");
    for line in lines {
        json::check_around(line.as_bytes(), 1)
            .unwrap_or_else(|problem| panic!("{way}: {problem}: {line}"));
        // A surrogate without its partner is JSON, and not a text that this reader can hold.
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            assert!(line.contains("\\ud800"), "{way}: {line}");
            continue;
        };
        let key = bytes_in(&record, "key").unwrap();
        let bytes = stored.get(&key).unwrap_or_else(|| panic!("{way}: {line}"));
        match bytes_in(&record, "value") {
            Some(value) if record["value"].is_string() || record.get("value").is_none() => {
                assert_eq!(value, *bytes, "{way}: {line}");
            }
            _ => assert!(json::check_of_page(bytes).is_ok(), "{way}: {line}"),
        }
    }
}

/// Reads everything on all ways out.
fn check(place: &mut Place, way: &WayIn, stored: &BTreeMap<Vec<u8>, Vec<u8>>) {
    for (key, bytes) in stored {
        let response = place.server.get(&format!("/store/cards?key={}", encoded(key)));
        let told = format!("{}: GET of {:?}", way.name, key.escape_ascii());
        assert_eq!((response.status, &response.body), (200, bytes), "{told}");
        if field(&response, "content-type") == "application/json" {
            assert!(json::check_of_page(bytes).is_ok(), "{told}");
        }
    }
    let list = place.server.get("/store/cards?limit=1000");
    assert_eq!(list.status, 200, "{}", way.name);
    json::check_around(&list.body, 3).unwrap_or_else(|problem| panic!("{}: {problem}", way.name));
    let lines = place.server.request(
        "GET",
        "/store/cards?limit=1000",
        &[("Accept", "application/x-ndjson")],
    );
    compare(way.name, &text(&lines).lines().collect::<Vec<_>>(), stored);
    let (count, size) = (stored.len(), stored.values().map(Vec::len).sum::<usize>());
    let scanned = place.page(
        "local count = 0 for key, value in store.database('cards'):scan('') do \
         store.database('cards'):get(key) count = count + 1 end return tostring(count)",
    );
    assert_eq!(scanned, count.to_string(), "{}", way.name);
    let all: Vec<&[u8]> =
        std::iter::once(&b"MGET"[..]).chain(stored.keys().map(|key| &**key)).collect();
    let heard = place.command(&all).unwrap();
    assert!(heard.len() > size, "{}", way.name);
    let mut export = Command::new(PROGRAM);
    let exported = run(export.args(["store", "export", "--database=cards", &place.store]));
    compare(way.name, &printed_by(&exported).lines().collect::<Vec<_>>(), stored);
}

#[test]
fn every_accepted_value_is_returned_as_the_document_says() {
    let mut place = Place::new();
    for way in WAYS {
        let mut watch = connect(place.server.address());
        say(&mut watch, b"GET /watch HTTP/1.1\r\nHost: a\r\n\r\n", b"watches;");
        let stored = fill(&mut place, way);
        assert!(stored.len() > 15, "{}", way.name);
        check(&mut place, way, &stored);
        place.command(&[b"SET", b"~end", b""]).unwrap();
        let seen = String::from_utf8(say(&mut watch, b"", b";\r\n")).unwrap();
        assert!(seen.contains("saw "), "{}: {seen}", way.name);
        place.command(&[b"FLUSHDB"]).unwrap();
    }
    assert!(!place.server.printed_errors().contains("error"), "{}", place.server.printed_errors());
}

#[test]
fn a_value_of_an_earlier_version_ends_no_list() {
    let plan = Plan::new().file("run.page.txt", RUN);
    let directory = plan.directory.join("store");
    let databases = vec!["cards".to_owned()];
    let settings = ::store::StoreOptions { databases, ..::store::StoreOptions::new(&directory) };
    let store = ::store::Store::open(&settings).unwrap();
    for value in values() {
        let key = value.get(..value.len().min(100)).unwrap();
        let value = ::store::Value { kind: ::store::ValueKind::Table, bytes: value.clone().into() };
        let put = ::store::DatabaseChange::put(&[b"k", key].concat(), value);
        store
            .writer()
            .execute(&[::store::Order::of(::store::Database(0), put)], 0)
            .remove(0)
            .unwrap();
    }
    drop(store);
    let server = plan.argument(&format!("--store={}", directory.display())).config(CONFIG).start();
    let list = server.get("/store/cards?limit=1000");
    assert_eq!(list.status, 200);
    json::check_around(&list.body, 3).unwrap();
    let code = "local count = 0 for key, value in store.database('cards'):scan('') do count = count + 1 end \
                return tostring(count)";
    let response = server.get(&format!("/run?code={}", encoded(code.as_bytes())));
    assert_eq!((response.status, text(&response)), (200, "24"), "{}", server.printed_errors());
}
