//! Goal: a client that asks for too much harms only itself, and the server's memory stays bounded. Method: the most
//! expensive commands, many times, beside a client that asks for little.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::server::channel::{connect, resp, say};
use crate::server::client::read;
use crate::server::{Plan, Server};

const LARGE: usize = 16 * 1024 * 1024;

fn start() -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0").argument("--schedulers=1");
    let store = format!("--store={}", plan.directory.join("store").display());
    let config = "[store]\nsync = \"none\"\n[[database]]\nname = \"0\"\nhttp = true\n";
    let server = plan.argument(&store).config(config).start();
    let mut client = connect(resp(&server));
    client.write_all(format!("*3\r\n$3\r\nSET\r\n$1\r\nv\r\n${LARGE}\r\n").as_bytes()).unwrap();
    client.write_all(&vec![b'v'; LARGE]).unwrap();
    assert_eq!(say(&mut client, b"\r\n", b"\r\n"), b"+OK\r\n");
    server
}

/// The server's own memory in bytes, without the pages of the store, which the kernel can take back.
fn memory(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// Checks that another client is answered and that the server stays below a memory bound.
fn is_well(server: &Server) {
    let mut client = connect(resp(server));
    for _ in 0..8 {
        assert_eq!(say(&mut client, b"INCR n\r\nECHO end\r\n", b"end\r\n").first(), Some(&b':'));
        let memory = memory(server);
        assert!(memory < 600 * 1024 * 1024, "{} MiB", memory >> 20);
    }
}

/// Clients that send this and read nothing.
fn crowd(server: &Server, count: usize, commands: &str) -> Vec<TcpStream> {
    let clients = (0..count).map(|_| {
        let mut client = connect(resp(server));
        client.set_nonblocking(true).unwrap();
        // The server does not have to keep what it does not read.
        let _rest_unsent = client.write(commands.as_bytes());
        client
    });
    clients.collect()
}

#[test]
fn masses_of_large_replies_are_not_held() {
    let server = start();
    for commands in [
        format!("MGET{}\r\n", " v".repeat(4_000)),
        "GETEX v PERSIST\r\n".repeat(3_000),
        format!("SET w 1\r\n{}", "GET v\r\n".repeat(3_000)),
        format!("MULTI\r\n{}EXEC\r\n", "GET v\r\n".repeat(3_000)),
        format!("MULTI\r\n{}EXEC\r\n", "GETEX v PERSIST\r\n".repeat(2_000)),
        "SCAN 0 COUNT 100000\r\n".repeat(2_000),
        "KEYS *\r\n".repeat(2_000),
        "EXPIRE v 1000\r\nEXPIRE v 1001\r\n".repeat(200),
        "APPEND v x\r\nINCR v\r\n".repeat(200),
    ] {
        let _clients = crowd(&server, 40, &commands);
        is_well(&server);
    }
}

#[test]
fn clients_that_do_not_take_large_values_hold_no_memory() {
    let server = start();
    let mut other = connect(resp(&server));
    assert_eq!(say(&mut other, b"PING\r\n", b"\r\n"), b"+PONG\r\n");
    let mut clients = crowd(&server, 60, "GET v\r\n");
    clients.extend(crowd(&server, 10, "MGET v v v\r\n"));
    clients.extend(crowd(&server, 10, "GETRANGE v 1 -2\r\n"));
    let of_http = (0..60).map(|_| {
        let mut client = connect(server.address());
        client.write_all(b"GET /store/0/v HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        client
    });
    clients.extend(of_http);
    for client in &clients {
        // The reply has started, so it contains the current value.
        client.set_nonblocking(false).unwrap();
        assert_eq!(client.peek(&mut [0]).unwrap(), 1);
    }
    // Earlier clients are still served, and the value has changed.
    assert_eq!(say(&mut other, b"SET v short\r\nGET v\r\n", b"short\r\n").len(), 16);
    let memory = memory(&server);
    assert!(memory < 150 * 1024 * 1024, "{} MiB", memory >> 20);
    // A reply that has started ends with the same value.
    for (at, length) in [(0, LARGE), (60, 3 * LARGE), (70, LARGE - 2), (80, LARGE)] {
        let mut taken = vec![0; length];
        let head: &[u8] = if at == 80 { b"\r\n\r\n" } else { b"\r\nv" };
        let mut found = Vec::new();
        while !found.ends_with(head) {
            let mut byte = [0];
            clients[at].read_exact(&mut byte).unwrap();
            found.push(byte[0]);
        }
        clients[at].read_exact(&mut taken[..length - 1]).unwrap();
        let values = taken.iter().filter(|byte| **byte == b'v').count();
        // The heads of the next list come between the values.
        assert!(values + 60 > length, "{values} of {length}");
    }
    drop(clients);
    server.reaches("/store/lent_snapshots", 0);
}

#[test]
fn large_replies_that_are_copied_have_a_share() {
    let server = start();
    let mut other = connect(resp(&server));
    assert_eq!(say(&mut other, b"PING\r\n", b"\r\n"), b"+PONG\r\n");
    let mut refused = 0;
    let mut clients = Vec::new();
    for _ in 0..20 {
        let mut client = connect(resp(&server));
        client.write_all(b"GETEX v PERSIST\r\n").unwrap();
        let mut first = [0];
        client.read_exact(&mut first).unwrap();
        refused += usize::from(first[0] == b'-');
        clients.push(client);
    }
    assert_eq!(refused, 16);
    assert_eq!(say(&mut other, b"PING\r\n", b"\r\n"), b"+PONG\r\n");
    // One client closes, one receives its reply.
    drop(clients.remove(0));
    let mut rest = vec![0; LARGE + 11];
    clients[0].read_exact(&mut rest).unwrap();
    let ask = "GETEX v PERSIST\r\n";
    for _ in 0..2 {
        crate::server::patience::until("room for a large reply", || {
            let mut client = connect(resp(&server));
            client.write_all(ask.as_bytes()).unwrap();
            let mut first = [0];
            client.read_exact(&mut first).unwrap();
            clients.push(client);
            (first[0] == b'$').then_some(())
        });
    }
}

#[test]
fn transactions_that_are_not_executed_have_a_share() {
    let server = start();
    let value = "x".repeat(60_000);
    let commands = format!("MULTI\r\n{}", format!("SET k {value}\r\n").repeat(16));
    let mut clients = Vec::new();
    for _ in 0..100 {
        let mut client = connect(resp(&server));
        client.write_all(commands.as_bytes()).unwrap();
        client.write_all(b"HELLO\r\n").unwrap();
        clients.push(client);
    }
    let mut refused = 0;
    for client in &mut clients {
        let heard = say(client, b"", b"HELLO is not allowed in transactions\r\n");
        refused += usize::from(String::from_utf8_lossy(&heard).contains("too large"));
    }
    assert!((20..60).contains(&refused), "{refused} of 100 clients");
    is_well(&server);
    let kept = server.count("/store/kept_bytes");
    assert!((32..80).contains(&(kept >> 20)), "{kept}");
    drop(clients);
    // The memory that they held is free again.
    let mut client = connect(resp(&server));
    crate::server::patience::until("room for a transaction", || {
        let heard = say(&mut client, b"MULTI\r\nSET a 1\r\nEXEC\r\nECHO end\r\n", b"end\r\n");
        (heard == b"+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n$3\r\nend\r\n").then_some(())
    });
}

#[test]
fn a_list_of_all_keys_waits_for_that_of_another() {
    let server = start();
    let mut client = connect(resp(&server));
    let pairs: String = (0..1_500).map(|number| format!(" key:{number} x")).collect();
    say(&mut client, format!("MSET{pairs}\r\n").as_bytes(), b"+OK\r\n");
    for number in 1..15 {
        let more = pairs.replace("key:", &format!("k{number}:"));
        say(&mut client, format!("MSET{more}\r\n").as_bytes(), b"+OK\r\n");
    }
    let mut clients: Vec<TcpStream> = (0..10).map(|_| connect(resp(&server))).collect();
    for client in &mut clients {
        client.write_all(b"KEYS key:1*\r\nECHO end\r\n").unwrap();
    }
    // Some clients close before their turn.
    drop(clients.split_off(7));
    for client in &mut clients {
        let mut heard = Vec::new();
        let mut piece = [0; 65_536];
        while !heard.ends_with(b"end\r\n") {
            let count = read(client, &mut piece).unwrap();
            assert!(count > 0);
            heard.extend_from_slice(&piece[..count]);
        }
        assert!(heard.starts_with(b"*611\r\n"), "{:?}", String::from_utf8_lossy(&heard[..10]));
    }
}
