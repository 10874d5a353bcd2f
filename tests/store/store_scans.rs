//! Goal: a scan returns every key that exists during the whole scan, and ends, whatever happens to the server and
//! however many scans run. Method: scans of Redis clients over restarts, on several schedulers, amid thousands of
//! others, and while keys are deleted.

use std::collections::BTreeSet;
use std::net::TcpStream;

use crate::server::channel::{connect, resp, say};
use crate::server::{Plan, Server};

fn start(arguments: &[&str]) -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0");
    let store = format!("--store={}", plan.directory.join("store").display());
    let plan = arguments.iter().fold(plan.argument(&store), |plan, word| plan.argument(word));
    plan.config("[store]\nsync = \"none\"\n").start()
}

/// Sends lines and returns the replies, up to that of a final ping.
fn ask(stream: &mut TcpStream, lines: &str) -> String {
    let heard = say(stream, format!("{lines}PING the-end\r\n").as_bytes(), b"the-end\r\n");
    let text = String::from_utf8_lossy(&heard).into_owned();
    text.strip_suffix("$7\r\nthe-end\r\n").unwrap().to_owned()
}

/// Writes that many keys: some with one common prefix longer than any cursor, some of one byte, some binary.
fn fill(client: &mut TcpStream, count: usize) -> BTreeSet<String> {
    let names = (0..count).map(|number| match number % 50 {
        0 => format!("{}", char::from(b'!' + (number / 50 % 90) as u8)),
        1 => format!("u{number}"),
        _ => format!("user:session:0000000000000000:{number:06}"),
    });
    let names: BTreeSet<String> = names.filter(|name| !"\"'".contains(&**name)).collect();
    for part in names.iter().collect::<Vec<_>>().chunks(1_000) {
        let pairs: String = part.iter().map(|name| format!(" {name} x")).collect();
        assert_eq!(ask(client, &format!("MSET{pairs}\r\n")), "+OK\r\n");
    }
    names
}

/// One `SCAN`: the next cursor and the keys.
fn scan(client: &mut TcpStream, cursor: &str, options: &str) -> (String, Vec<String>) {
    let heard = ask(client, &format!("SCAN {cursor} {options}\r\n"));
    let lines: Vec<&str> = heard.split("\r\n").collect();
    assert_eq!(lines[0], "*2", "{heard}");
    let keys = lines[4..].chunks(2).filter(|key| key.len() == 2).map(|key| key[1].to_owned());
    let cursor = lines[2].to_owned();
    assert!(cursor.parse::<i64>().is_ok_and(|cursor| cursor >= 0), "{cursor}");
    (cursor, keys.collect())
}

/// The rest of a scan.
fn rest(client: &mut TcpStream, mut cursor: String, options: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for _ in 0..20_000 {
        if cursor == "0" {
            return found;
        }
        let keys;
        (cursor, keys) = scan(client, &cursor, options);
        found.extend(keys);
    }
    panic!("the scan does not end");
}

#[test]
fn a_scan_goes_on_over_a_restart() {
    let mut server = start(&["--schedulers=1"]);
    let mut client = connect(resp(&server));
    let names = fill(&mut client, 3_000);
    let (mut cursor, mut found) = ("0".to_owned(), BTreeSet::new());
    for _ in 0..60 {
        let keys;
        (cursor, keys) = scan(&mut client, &cursor, "COUNT 10");
        found.extend(keys);
    }
    assert_ne!(cursor, "0");
    let before = found.len();
    server = server.kill_and_restart();
    let mut client = connect(resp(&server));
    let mut other = "0".to_owned();
    for _ in 0..10 {
        other = scan(&mut client, &other, "COUNT 60").0;
    }
    let rest = rest(&mut client, cursor, "COUNT 100");
    // No key is returned twice, because the scan has found its place.
    assert_eq!(rest.len(), names.len() - before);
    found.extend(rest);
    assert_eq!(found, names);
}

#[test]
fn a_scan_goes_on_amid_many_others() {
    let server = start(&["--schedulers=1"]);
    let mut client = connect(resp(&server));
    let names = fill(&mut client, 5_000);
    // More cursors than a scheduler remembers: almost every key is the next one of one of these scans.
    let beginnings: BTreeSet<&str> = names.iter().map(|name| &name[..name.len() - 1]).collect();
    let others: Vec<String> = beginnings
        .iter()
        .filter(|beginning| beginning.len() > 5)
        .flat_map(|beginning| {
            (1..10).map(move |count| format!("SCAN 0 MATCH {beginning}* COUNT {count}\r\n"))
        })
        .collect();
    assert!(others.len() > 4_200, "{}", others.len());
    let (mut cursor, mut found) = ("0".to_owned(), Vec::new());
    for round in 0.. {
        assert!(round < 100, "the scan does not end");
        let keys;
        (cursor, keys) = scan(&mut client, &cursor, "COUNT 300");
        found.extend(keys);
        if cursor == "0" {
            break;
        }
        for some in others.chunks(50) {
            ask(&mut client, &some.concat());
        }
    }
    assert_eq!(found.len(), names.len(), "no key is returned twice");
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), names);
}

#[test]
fn a_scan_on_several_connections_of_several_schedulers_returns_every_key_once() {
    let server = start(&["--schedulers=2", "--no-pin"]);
    let mut clients: Vec<TcpStream> = (0..6).map(|_| connect(resp(&server))).collect();
    let names = fill(&mut clients[0], 2_000);
    let (mut cursor, mut found) = ("0".to_owned(), Vec::new());
    for round in 0.. {
        let keys;
        (cursor, keys) = scan(&mut clients[round % 6], &cursor, "COUNT 7");
        found.extend(keys);
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(found.len(), names.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), names);
}

#[test]
fn a_scan_whose_keys_are_deleted_misses_none_and_ends() {
    let mut server = start(&["--schedulers=1"]);
    let mut client = connect(resp(&server));
    let names = fill(&mut client, 2_000);
    let (mut cursor, mut found) = ("0".to_owned(), BTreeSet::new());
    for round in 0.. {
        assert!(round < 1_000, "the scan does not end");
        let (next, keys) = scan(&mut client, &cursor, "COUNT 20");
        if round % 2 == 0 && !keys.is_empty() {
            ask(&mut client, &format!("DEL {}\r\n", keys.join(" ")));
        }
        found.extend(keys);
        if next == "0" {
            break;
        }
        if round == 10 {
            // The key at which it would go on is deleted, and the server forgets where that was.
            let (_, following) = scan(&mut client, &next, "COUNT 1");
            ask(&mut client, &format!("DEL {}\r\n", following[0]));
            found.extend(following);
            server = server.kill_and_restart();
            client = connect(resp(&server));
        }
        cursor = next;
    }
    assert_eq!(found, names);
}

#[test]
fn any_number_is_a_cursor_and_a_pattern_begins_at_its_prefix() {
    let server = start(&["--schedulers=1"]);
    let mut client = connect(resp(&server));
    assert_eq!(scan(&mut client, "0", ""), ("0".to_owned(), Vec::new()));
    let names = fill(&mut client, 1_000);
    for cursor in ["1", "17", "9223372036854775807", "18446744073709551615"] {
        rest(&mut client, cursor.to_owned(), "COUNT 500");
    }
    assert_eq!(rest(&mut client, "1".to_owned(), "COUNT 500"), names);
    for wrong in ["-1", "x", "18446744073709551616"] {
        assert_eq!(ask(&mut client, &format!("SCAN {wrong}\r\n")), "-ERR invalid cursor\r\n");
    }
    // One reply, although thousands of keys come before.
    let (cursor, keys) = scan(&mut client, "0", "MATCH user:*:00000[0-9] COUNT 100");
    assert_eq!((&*cursor == "0", keys.len()), (false, 8));
    let (cursor, keys) = scan(&mut client, "0", "MATCH u1 COUNT 10");
    assert_eq!((&*cursor, keys), ("0", vec!["u1".to_owned()]));
    let (cursor, keys) = scan(&mut client, "0", "TYPE hash");
    assert_eq!((&*cursor, keys.len()), ("0", 0));
}
