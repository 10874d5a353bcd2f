//! Goal: a client that writes much before it reads is served, or ended with a reason, and holds up no other client.
//! Method: large pipelines, and commands whose work the client chooses, beside a client that asks for little.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use crate::server::channel::{connect, frame, resp, say, websocket};
use crate::server::client::read;
use crate::server::patience::until;
use crate::server::{Plan, Server};

fn start(config: &str) -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0").argument("--schedulers=1");
    let store = format!("--store={}", plan.directory.join("store").display());
    let config = format!("[store]\nsync = \"none\"\n{config}");
    plan.argument(&store).config(&config).file("a.txt", [b'a'; 2_000]).start()
}

/// Sends lines and returns the replies, up to that of a final ping.
fn ask(stream: &mut TcpStream, lines: &str) -> String {
    let heard = say(stream, format!("{lines}PING the-end\r\n").as_bytes(), b"the-end\r\n");
    let text = String::from_utf8_lossy(&heard).into_owned();
    text.strip_suffix("$7\r\nthe-end\r\n").unwrap().to_owned()
}

const GET: &[u8] = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";

#[test]
fn a_pipeline_that_is_written_before_the_first_read_is_answered() {
    const COUNT: usize = 300_000;
    let server = start("");
    for ends in [false, true] {
        let mut client = connect(resp(&server));
        let value = "x".repeat(100);
        assert_eq!(ask(&mut client, &format!("SET k {value}\r\n")), "+OK\r\n");
        client.write_all(&GET.repeat(COUNT)).unwrap();
        if ends {
            client.shutdown(Shutdown::Write).unwrap();
        }
        let reply = format!("$100\r\n{value}\r\n");
        let mut heard = vec![0; reply.len() * COUNT];
        client.read_exact(&mut heard).unwrap();
        assert!(heard.chunks(reply.len()).all(|heard| heard == reply.as_bytes()));
        if ends {
            assert_eq!(read(&mut client, &mut [0]).unwrap(), 0);
        }
    }
    server.reaches("/network/buffered_bytes", 0);
}

#[test]
fn a_pipeline_of_large_replies_is_answered() {
    const COUNT: usize = 100_000;
    let server = start("");
    let mut client = connect(resp(&server));
    ask(&mut client, &format!("SET k {}\r\n", "x".repeat(50_000)));
    ask(&mut client, &"APPEND k 1234567890\r\n".repeat(2_000));
    // Replies of 70,010 bytes: from the file, and copied.
    for command in ["GET k\r\n", "GETEX k PERSIST\r\n"] {
        client.write_all(command.repeat(COUNT / 1_000).as_bytes()).unwrap();
    }
    client.write_all(&b"GET none\r\n".repeat(COUNT)).unwrap();
    let mut heard = vec![0; 2 * COUNT / 1_000 * 70_010 + 5 * COUNT];
    client.read_exact(&mut heard).unwrap();
    assert!(heard.ends_with(b"$-1\r\n$-1\r\n"));
}

#[test]
fn a_pipeline_without_end_is_ended_with_a_reason() {
    let server = start("");
    let mut other = connect(resp(&server));
    ask(&mut other, &format!("SET k {}\r\n", "x".repeat(100)));
    let mut client = connect(resp(&server));
    let pipeline = GET.repeat(10_000);
    // The write fails when the server has closed the connection.
    for _ in 0..1_000 {
        if client.write_all(&pipeline).is_err() {
            break;
        }
    }
    until("it to be counted", || (server.count("/closed/inbox-full") == 1).then_some(()));
    assert_eq!(ask(&mut other, "GET none\r\n"), "$-1\r\n");
    server.reaches("/network/buffered_bytes", 0);
}

#[test]
fn clients_that_write_without_reading_are_given_up() {
    let config = "[limits]\nsend_idle = \"1s\"\n[[channel]]\npattern = \"*\"\n";
    let server = start(config);
    let mut redis = connect(resp(&server));
    ask(&mut redis, &format!("SET k {}\r\n", "x".repeat(100)));
    // Far more replies than sockets hold, and not more commands than the server keeps.
    redis.write_all(&GET.repeat(300_000)).unwrap();
    until("the Redis client", || (server.count("/closed/slow-reader") == 1).then_some(()));
    let mut http = connect(server.address());
    let requests = b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1_000);
    while http.write_all(&requests).is_ok() {}
    until("the HTTP client", || (server.count("/closed/slow-reader") == 2).then_some(()));
    let mut socket = websocket(&server, "/channels");
    let orders = frame("{\"members\":\"a\",\"id\":1}").repeat(1_000);
    while socket.write_all(&orders).is_ok() {}
    until("the WebSocket", || (server.count("/closed/slow-reader") == 3).then_some(()));
    server.reaches("/network/buffered_bytes", 0);
}

#[test]
fn long_work_is_done_in_slices() {
    let server = start("[[channel]]\npattern = \"*\"\n");
    let mut client = connect(resp(&server));
    let pairs = |from: usize| -> String {
        (from..from + 1_000).map(|number| format!(" {}{number:06} x", "a".repeat(450))).collect()
    };
    for from in (0..8_000).step_by(1_000) {
        // Longer than an inline command may be.
        let words: Vec<String> =
            format!("MSET{}", pairs(from)).split(' ').map(str::to_owned).collect();
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
        }
        assert_eq!(say(&mut client, &bytes, b"\r\n"), b"+OK\r\n");
    }
    let rests = |server: &Server| server.count("/resp/rests");
    let mut before = rests(&server);
    let costly = format!("*{}z", "a?".repeat(200));
    let keys: String = (0..1_000).map(|number| format!(" k{number}")).collect();
    for (lines, least) in [
        (format!("MGET{keys}\r\n").repeat(200), 1),
        (format!("EXISTS{keys}\r\n").repeat(200), 1),
        ("PUBLISH name text\r\n".repeat(50_000), 1),
        (format!("SCAN 0 COUNT 4000 MATCH {costly}\r\n").repeat(20), 1),
        (
            format!(
                "MULTI\r\n{}EXEC\r\n",
                format!("SCAN 0 COUNT 4000 MATCH {costly}\r\n").repeat(20)
            ),
            1,
        ),
    ] {
        ask(&mut client, &lines);
        // A report may be that of the turn before.
        until(&lines[..10], || (rests(&server) >= before + least).then_some(()));
        before = rests(&server);
    }
    // Each scan takes the slice of a turn, also if its reply is sent in that turn.
    let turns = server.count("/turns/count");
    ask(&mut client, &format!("SCAN 0 COUNT 4000 MATCH {costly}\r\n").repeat(400));
    until("the rests", || (rests(&server) >= before + 300).then_some(()));
    assert!(server.count("/turns/count") - turns >= 300, "several slices in one turn");
    assert_eq!(ask(&mut client, &format!("KEYS {costly}\r\n")), "*0\r\n");
    assert!(ask(&mut client, "KEYS *\r\n").starts_with("*8000\r\n"));
}

/// A command as an array, which may have more words than a line.
fn array(words: impl Iterator<Item = String>) -> Vec<u8> {
    let words: Vec<String> = words.collect();
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
    }
    bytes
}

/// A verb and many words.
fn long(verb: &str, count: usize, word: impl Fn(usize) -> String) -> Vec<u8> {
    array(std::iter::once(verb.to_owned()).chain((0..count).map(word)))
}

#[test]
fn a_single_long_command_is_done_in_slices() {
    let server = start("[[channel]]\npattern = \"*\"\n");
    let mut client = connect(resp(&server));
    ask(&mut client, "SET k value\r\n");
    let key = |number: usize| {
        if number.is_multiple_of(2) { "k".to_owned() } else { format!("k{number}") }
    };
    let pattern = |number: usize| format!("*[{}]{number}", "a-b".repeat(300));
    let name = |number: usize| format!("{}{number}", "n".repeat(200));
    let end = |verb: &str, number: usize| {
        format!(
            "{}\r\n:{number}\r\n",
            match verb {
                "SUBSCRIBE" => name(999),
                _ => pattern(999),
            }
        )
    };
    for (command, end) in [
        (long("EXISTS", 16_000, key), ":8000\r\n".to_owned()),
        (long("TOUCH", 16_000, key), ":8000\r\n".to_owned()),
        (long("MGET", 16_000, key), "$-1\r\n".to_owned()),
        (long("SUBSCRIBE", 1_000, name), end("SUBSCRIBE", 1_000)),
        (long("PSUBSCRIBE", 1_000, pattern), end("PSUBSCRIBE", 1_000)),
    ] {
        let before = server.count("/resp/rests");
        let verb = String::from_utf8_lossy(&command[..30]).into_owned();
        // A command works at least as long as it took to read, so a cheap one rests less often; on a busy machine
        // perhaps not at the first time.
        let least = if verb.contains("SUBSCRIBE") { 3 } else { 1 };
        until(&verb, || {
            client.write_all(&command).unwrap();
            if verb.contains("MGET") {
                let expected = format!("*16000\r\n{}", "$5\r\nvalue\r\n$-1\r\n".repeat(8_000));
                let mut heard = vec![0; expected.len()];
                client.read_exact(&mut heard).unwrap();
                assert!(heard == expected.as_bytes());
            } else {
                let heard = say(&mut client, b"", end.as_bytes());
                assert!(heard.ends_with(end.as_bytes()));
            }
            (server.count("/resp/rests") >= before + least).then_some(())
        });
        if verb.contains("SUBSCRIBE") {
            client = connect(resp(&server));
        }
    }
    let heard = say(
        &mut client,
        &array("PUBSUB NUMSUB".split(' ').map(str::to_owned).chain((0..1_001).map(name))),
        b"\r\n",
    );
    assert_eq!(String::from_utf8_lossy(&heard), "-ERR at most 1000 names at once\r\n");
}

#[test]
fn a_reply_of_several_turns_shows_one_moment() {
    let server = start("");
    let (mut client, mut other) = (connect(resp(&server)), connect(resp(&server)));
    ask(&mut client, "SET n 1000000\r\n");
    let before = server.count("/resp/rests");
    other.write_all(&b"INCR n\r\n".repeat(20_000)).unwrap();
    let many = long("MGET", 16_000, |_| "n".to_owned());
    let mut values = Vec::new();
    until("the slices", || {
        let mut heard = vec![0; "*16000\r\n".len() + 16_000 * "$7\r\n1000000\r\n".len()];
        client.write_all(&many).unwrap();
        client.read_exact(&mut heard).unwrap();
        let value = heard[12..19].to_vec();
        assert!(heard[8..].chunks(13).all(|one| one[4..11] == value), "values of several moments");
        values.push(value);
        (values.len() >= 5 && server.count("/resp/rests") >= before + 5).then_some(())
    });
    assert!(values.iter().any(|value| *value != values[0]), "nothing was written meanwhile");
}

#[test]
fn many_clients_with_long_commands_are_all_answered() {
    let server = start("");
    let mut clients: Vec<TcpStream> = (0..30).map(|_| connect(resp(&server))).collect();
    let many = long("EXISTS", 16_000, |number| format!("k{number}"));
    // A client that closes its connection before it has the reply.
    connect(resp(&server)).write_all(&many).unwrap();
    for client in &mut clients {
        client.write_all(&many).unwrap();
    }
    for client in &mut clients {
        assert_eq!(say(client, b"", b"\r\n"), b":0\r\n");
        assert_eq!(ask(client, "GET none\r\n"), "$-1\r\n");
    }
}

#[test]
fn a_transaction_with_a_large_reply_is_sent_at_the_pace_of_its_client() {
    let server = start("");
    let mut client = connect(resp(&server));
    let value = "x".repeat(60_000);
    client.write_all(&array(["SET", "k", &value].map(str::to_owned).into_iter())).unwrap();
    assert_eq!(say(&mut client, b"", b"\r\n"), b"+OK\r\n");
    let reply = format!("$60000\r\n{value}\r\n");
    for command in ["GET k\r\n".repeat(500), format!("MGET{}\r\n", " k".repeat(500))] {
        let count = command.lines().count();
        client.write_all(format!("MULTI\r\n{command}EXEC\r\n").as_bytes()).unwrap();
        until("its reply", || (server.count("/store/held_bytes") >= 30_000_000).then_some(()));
        // The sockets hold some of it. A reply that was written at once would be in the outbox.
        let buffered = server.count("/network/buffered_bytes");
        assert!(buffered < 2_000_000, "{buffered}");
        let array = format!("*{}\r\n", count);
        let inner = if count == 1 { "*500\r\n" } else { "" };
        let expected =
            format!("+OK\r\n{}{array}{inner}{}", "+QUEUED\r\n".repeat(count), reply.repeat(500));
        let mut heard = vec![0; expected.len()];
        client.read_exact(&mut heard).unwrap();
        assert!(heard == expected.as_bytes());
        assert_eq!(ask(&mut client, "GET none\r\n"), "$-1\r\n");
        server.reaches("/store/held_bytes", 0);
    }
    // A client that leaves gives back what it has not received.
    client.write_all(format!("MULTI\r\n{}EXEC\r\n", "GET k\r\n".repeat(500)).as_bytes()).unwrap();
    until("its reply", || (server.count("/store/held_bytes") >= 30_000_000).then_some(()));
    drop(client);
    server.reaches("/store/held_bytes", 0);
}

#[test]
fn a_server_obeys_while_it_lists_keys() {
    let mut server = start("");
    let mut client = connect(resp(&server));
    let pairs: String =
        (0..700).map(|number| format!(" key:{}{number} x", "a".repeat(60))).collect();
    ask(&mut client, &format!("MSET{pairs}\r\n"));
    client.write_all(format!("KEYS *{}\r\n", "?a".repeat(30)).repeat(2_000).as_bytes()).unwrap();
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn patterns_have_a_bound() {
    let server = start("[[channel]]\npattern = \"*\"\n");
    let mut client = connect(resp(&server));
    let (most, more) = ("a".repeat(1_024), "a".repeat(1_025));
    let refused = "-ERR a pattern has at most 1024 bytes\r\n";
    for command in ["KEYS ", "SCAN 0 MATCH ", "CONFIG GET ", "PUBSUB CHANNELS ", "PSUBSCRIBE "] {
        let heard = ask(&mut client, &format!("RESET\r\n{command}{more}\r\n"));
        assert_eq!(heard, format!("+RESET\r\n{refused}"), "{command}");
        let heard = say(&mut client, format!("{command}{most}\r\n").as_bytes(), b"\r\n");
        assert_eq!(heard[0], b'*', "{command}: {}", String::from_utf8_lossy(&heard));
        client = connect(resp(&server));
    }
    let heard = ask(&mut client, &format!("CONFIG GET{}\r\n", " a".repeat(17)));
    assert_eq!(heard, "-ERR CONFIG GET takes at most 16 patterns\r\n");
    let names = " a".repeat(1_001);
    for command in ["SUBSCRIBE", "PSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE"] {
        let heard = ask(&mut client, &format!("{command}{names}\r\n"));
        assert_eq!(heard, "-ERR at most 1000 names at once\r\n", "{command}");
    }
    assert_eq!(ask(&mut client, "PUBSUB NUMPAT\r\nPUBSUB CHANNELS\r\n"), ":0\r\n*0\r\n");
}
