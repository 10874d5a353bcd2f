//! Goal: a client that asks for too much harms itself alone, and the server keeps its memory. Method: the dearest commands, in masses, beside a client that
//! wants little.
#![expect(clippy::disallowed_types, reason = "a test has sockets of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::io::{Read, Write};
use std::net::TcpStream;

use server::channel::{connect, resp, say};
use server::{Plan, Server};

const LARGE: usize = 16 * 1024 * 1024;

fn start() -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0").argument("--schedulers=1");
    let store = format!("--store={}", plan.directory.join("store").display());
    let server = plan.argument(&store).config("[store]\nsync = \"none\"\n").start();
    let mut client = connect(resp(&server));
    client.write_all(format!("*3\r\n$3\r\nSET\r\n$1\r\nv\r\n${LARGE}\r\n").as_bytes()).unwrap();
    client.write_all(&vec![b'v'; LARGE]).unwrap();
    assert_eq!(say(&mut client, b"\r\n", b"\r\n"), b"+OK\r\n");
    server
}

/// What of the machine's memory is the server's own, in bytes: not the pages of the store, which the kernel takes back.
fn memory(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// Another client is answered, and the server has not grown beyond a bound.
fn is_well(server: &Server) {
    let mut client = connect(resp(server));
    for _ in 0..20 {
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
        // What the server does not read, it need not keep.
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
        "EXPIRE v 1000\r\nEXPIRE v 1001\r\n".repeat(1_000),
        "APPEND v x\r\nINCR v\r\n".repeat(1_000),
    ] {
        let _clients = crowd(&server, 12, &commands);
        is_well(&server);
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
        client.write_all(b"PING\r\n").unwrap();
        clients.push(client);
    }
    let mut refused = 0;
    for client in &mut clients {
        let heard = say(client, b"", b"PING is not allowed in transactions\r\n");
        refused += usize::from(String::from_utf8_lossy(&heard).contains("too large"));
    }
    assert!((20..60).contains(&refused), "{refused} of 100 clients");
    is_well(&server);
    let kept = server.count("/store/kept_bytes");
    assert!((32..80).contains(&(kept >> 20)), "{kept}");
    drop(clients);
    // What they kept is given back.
    let mut client = connect(resp(&server));
    server::patience::until("room for a transaction", || {
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
    // Some go before it is their turn.
    drop(clients.split_off(7));
    for client in &mut clients {
        let mut heard = Vec::new();
        let mut piece = [0; 65_536];
        while !heard.ends_with(b"end\r\n") {
            let count = client.read(&mut piece).unwrap();
            assert!(count > 0);
            heard.extend_from_slice(&piece[..count]);
        }
        assert!(heard.starts_with(b"*611\r\n"), "{:?}", String::from_utf8_lossy(&heard[..10]));
    }
}
