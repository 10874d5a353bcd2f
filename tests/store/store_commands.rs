//! Goal: what client libraries and tools of Redis rely on beyond reading and writing keys. Method: their commands, and
//! the replies of Redis.

use std::net::TcpStream;

use crate::server::channel::{connect, resp, say};
use crate::server::{Plan, Server};

fn start(config: &str, schedulers: &str) -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0").argument(schedulers);
    let store = format!("--store={}", plan.directory.join("store").display());
    let config = format!("[store]\nsync = \"none\"\n{config}");
    plan.argument(&store).argument("--no-pin").config(&config).start()
}

/// Sends lines and returns the replies, up to that of a final ping.
fn ask(stream: &mut TcpStream, lines: &str) -> String {
    let heard = say(stream, format!("{lines}PING the-end\r\n").as_bytes(), b"the-end\r\n");
    let text = String::from_utf8_lossy(&heard).into_owned();
    text.strip_suffix("$7\r\nthe-end\r\n").unwrap().to_owned()
}

/// A command in the form that libraries send.
fn encoded(words: &[String]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    bytes
}

#[test]
fn commands_that_are_no_steps_of_the_store_run_in_a_transaction() {
    for schedulers in ["--schedulers=1", "--schedulers=2"] {
        let server = start("", schedulers);
        let (mut client, mut subscriber) = (connect(resp(&server)), connect(resp(&server)));
        say(&mut subscriber, b"SUBSCRIBE ch\r\n", b":1\r\n");
        for (command, expected) in [
            ("PUBLISH ch x", ":1\r\n"),
            ("PING", "+PONG\r\n"),
            ("ECHO x", "$1\r\nx\r\n"),
            ("KEYS nosuch*", "*0\r\n"),
            ("SCAN 0 MATCH nosuch*", "*2\r\n$1\r\n0\r\n*0\r\n"),
            ("CLIENT GETNAME", "$-1\r\n"),
            ("PUBSUB NUMPAT", ":0\r\n"),
            ("CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"),
            ("OBJECT ENCODING nosuch", "$-1\r\n"),
            ("SELECT 99", "-ERR DB index is out of range\r\n"),
        ] {
            let heard = ask(&mut client, &format!("MULTI\r\n{command}\r\nEXEC\r\n"));
            assert_eq!(heard, format!("+OK\r\n+QUEUED\r\n*1\r\n{expected}"), "{command}");
        }
        // The commands of the result backend of Celery: the message comes after the value is there.
        let lines =
            "MULTI\r\nSET result 1\r\nPUBLISH ch result\r\nGET result\r\nEXEC\r\nGET result\r\n";
        let heard = ask(&mut client, lines);
        let queued = "+QUEUED\r\n".repeat(3);
        assert_eq!(heard, format!("+OK\r\n{queued}*3\r\n+OK\r\n:1\r\n$1\r\n1\r\n$1\r\n1\r\n"));
        let heard = say(&mut subscriber, b"", b"result\r\n");
        assert!(heard.ends_with(b"*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$6\r\nresult\r\n"));
        // Later commands of a transaction use the database that it has selected, and so do those behind it.
        let lines = "MULTI\r\nSELECT 1\r\nSET a one\r\nSELECT 2\r\nSET a two\r\nEXEC\r\nGET a\r\nSELECT \
                     1\r\nGET a\r\nSELECT 0\r\nGET a\r\n";
        let heard = ask(&mut client, lines);
        let results =
            "*4\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n$3\r\ntwo\r\n+OK\r\n$3\r\none\r\n+OK\r\n$-1\r\n";
        assert_eq!(heard, format!("+OK\r\n{}{results}", "+QUEUED\r\n".repeat(4)));
        // A transaction that does not run selects nothing.
        let lines = "MULTI\r\nSELECT 1\r\nNOSUCH\r\nEXEC\r\nGET a\r\nMULTI\r\nSELECT 1\r\nDISCARD\r\nGET \
                     a\r\n";
        assert!(ask(&mut client, lines).ends_with("$-1\r\n+OK\r\n+QUEUED\r\n+OK\r\n$-1\r\n"));
        for refused in ["SUBSCRIBE ch", "HELLO 3", "AUTH a", "CLIENT REPLY OFF"] {
            let heard = ask(&mut client, &format!("MULTI\r\n{refused}\r\nEXEC\r\n"));
            assert!(heard.contains("is not allowed in transactions\r\n-EXECABORT"), "{heard}");
        }
        // A watched key guards them, too.
        let heard =
            ask(&mut client, "WATCH result\r\nSET result 2\r\nMULTI\r\nPUBLISH ch no\r\nEXEC\r\n");
        assert_eq!(heard, "+OK\r\n+OK\r\n+OK\r\n+QUEUED\r\n*-1\r\n");
        let heard = ask(
            &mut client,
            "SELECT 3\r\nSET a 1\r\nSELECT 0\r\nMULTI\r\nFLUSHALL\r\nEXEC\r\nSELECT 3\r\nDBSIZE\r\n",
        );
        assert!(heard.ends_with("*1\r\n+OK\r\n+OK\r\n:0\r\n"), "{heard}");
    }
}

#[test]
fn a_client_of_resp3_gets_its_own_message_before_the_reply() {
    for schedulers in ["--schedulers=1", "--schedulers=3"] {
        let server = start("", schedulers);
        for (subscribe, push) in [
            ("SUBSCRIBE a", ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n"),
            ("PSUBSCRIBE [cd]", ">4\r\n$8\r\npmessage\r\n$4\r\n[cd]\r\n$1\r\nc\r\n$1\r\nx\r\n"),
        ] {
            let name = if subscribe == "SUBSCRIBE a" { "a" } else { "c" };
            let mut client = connect(resp(&server));
            say(&mut client, format!("HELLO 3\r\n{subscribe}\r\n").as_bytes(), b":1\r\n");
            for _ in 0..20 {
                let heard = ask(&mut client, &format!("PUBLISH {name} x\r\nPUBLISH b y\r\n"));
                assert!(heard.starts_with(push), "{heard}");
                assert!(heard[push.len()..].starts_with(":1\r\n"), "{heard}");
            }
        }
    }
}

#[test]
fn clients_set_their_names_and_switch_replies_off() {
    let server = start("", "--schedulers=1");
    let mut client = connect(resp(&server));
    let address = client.local_addr().unwrap();
    let name = "x".repeat(300);
    let lines = format!(
        "CLIENT SETNAME {name}\r\nCLIENT SETINFO LIB-NAME redis-py\r\nCLIENT SETINFO lib-ver 1.2\r\n"
    );
    assert_eq!(ask(&mut client, &lines), "+OK\r\n".repeat(3));
    for about in ["INFO", "LIST", "LIST TYPE normal"] {
        let heard = ask(&mut client, &format!("CLIENT {about}\r\n"));
        for field in [
            format!(" addr={address} "),
            format!(" name={name} "),
            " lib-name=redis-py lib-ver=1.2 ".to_owned(),
        ] {
            assert!(heard.starts_with('$') && heard.contains(&field), "{field}: {heard}");
        }
    }
    for (command, expected) in [
        (
            "CLIENT SETNAME 'a b'",
            "-ERR Client names cannot contain spaces, newlines or special characters.",
        ),
        (
            "CLIENT SETINFO lib-name 'a b'",
            "-ERR lib-name cannot contain spaces, newlines or special characters.",
        ),
        ("CLIENT SETINFO what a", "-ERR Unrecognized option 'what'"),
        ("CLIENT NO-EVICT ON", "+OK"),
        ("CLIENT TRACKING OFF", "+OK"),
        ("CLIENT KILL ID 999999999", ":0"),
        ("CLIENT KILL 1.2.3.4:5", "-ERR No such client"),
        ("CLIENT REPLY WHAT", "-ERR syntax error"),
    ] {
        assert_eq!(ask(&mut client, &format!("{command}\r\n")), format!("{expected}\r\n"));
    }
    let lines = "CLIENT REPLY SKIP\r\nSET a 1\r\nECHO x\r\nCLIENT REPLY OFF\r\nSET a 2\r\nGET \
                 a\r\nNOSUCH\r\nMULTI\r\nINCR a\r\nPUBLISH ch x\r\nEXEC\r\nCLIENT REPLY ON\r\nGET a\r\n";
    assert_eq!(ask(&mut client, lines), "$1\r\nx\r\n+OK\r\n$1\r\n3\r\n");
    let kill = format!("CLIENT KILL ADDR {address} SKIPME no\r\n");
    assert_eq!(say(&mut client, kill.as_bytes(), b"\r\n"), b":1\r\n");
    assert_eq!(std::io::Read::read(&mut client, &mut [0]).unwrap(), 0);
}

#[test]
fn a_large_reply_that_a_client_does_not_want_stops_nothing() {
    let server = start("", "--schedulers=1");
    let mut client = connect(resp(&server));
    let value = "v".repeat(100_000);
    let set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", value.len());
    for silent in ["GETDEL k\r\n", "GETEX k\r\n", "SET k 1 GET\r\n"] {
        say(&mut client, set.as_bytes(), b"+OK\r\n");
        let heard = ask(&mut client, &format!("CLIENT REPLY SKIP\r\n{silent}ECHO on\r\n"));
        assert_eq!(heard, "$2\r\non\r\n", "{silent}");
    }
    say(&mut client, set.as_bytes(), b"+OK\r\n");
    let lines = "MULTI\r\nGET k\r\nPING\r\nKEYS *\r\nCLIENT REPLY SKIP\r\nDISCARD\r\nPING\r\n";
    assert!(ask(&mut client, lines).ends_with("+PONG\r\n"));
}

#[test]
fn a_client_does_not_end_itself_in_a_transaction() {
    let server = start("", "--schedulers=1");
    let mut client = connect(resp(&server));
    let heard = ask(&mut client, "MULTI\r\nCLIENT KILL ID 1\r\nEXEC\r\nPING\r\n");
    assert!(heard.starts_with("+OK\r\n-ERR ") && heard.contains("EXECABORT"), "{heard}");
    assert!(heard.ends_with("+PONG\r\n"), "{heard}");
}

#[test]
fn commands_are_described() {
    let server = start("", "--schedulers=1");
    let mut client = connect(resp(&server));
    let count: usize = ask(&mut client, "COMMAND COUNT\r\n")[1..].trim().parse().unwrap();
    for list in ["COMMAND", "COMMAND LIST", "COMMAND INFO"] {
        let heard = ask(&mut client, &format!("{list}\r\n"));
        assert!(heard.starts_with(&format!("*{count}\r\n")), "{list}: {heard}");
    }
    let get =
        "*10\r\n$3\r\nget\r\n:2\r\n*1\r\n+readonly\r\n:1\r\n:1\r\n:1\r\n*0\r\n*0\r\n*0\r\n*0\r\n";
    assert_eq!(ask(&mut client, "COMMAND INFO GET nosuch\r\n"), format!("*2\r\n{get}*-1\r\n"));
    let docs = "*2\r\n$3\r\nget\r\n*2\r\n$7\r\nsummary\r\n$27\r\nReturns the value of a key.\r\n";
    assert_eq!(ask(&mut client, "COMMAND DOCS get nosuch\r\n"), docs);
    for (words, expected) in [
        ("get k", "*1\r\n$1\r\nk\r\n"),
        ("MSET a 1 b 2", "*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
        ("DEL a b c", "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"),
        ("COPY a b REPLACE", "*2\r\n$1\r\na\r\n$1\r\nb\r\n"),
        ("ping", "-ERR The command has no key arguments\r\n"),
        ("get", "-ERR Invalid number of arguments specified for command\r\n"),
        ("nosuch a", "-ERR Invalid command specified\r\n"),
    ] {
        assert_eq!(ask(&mut client, &format!("COMMAND GETKEYS {words}\r\n")), expected, "{words}");
    }
    // Each command of the list is one that the server knows.
    let names = ask(&mut client, "COMMAND LIST\r\n");
    for name in names.split("\r\n").skip(2).step_by(2).filter(|name| *name != "quit") {
        let heard = ask(&mut connect(resp(&server)), &format!("RESET\r\n{name} a b c d e f\r\n"));
        assert!(!heard.contains("unknown command"), "{name}: {heard}");
        // It has the number of words with which it is described.
        let described = ask(&mut client, &format!("COMMAND INFO {name}\r\n"));
        let words = described.split("\r\n").find_map(|line| line.strip_prefix(':')).unwrap();
        let words: i64 = words.parse().unwrap();
        let expected = format!("-ERR wrong number of arguments for '{name}' command\r\n");
        let too_few = words.unsigned_abs() - 1;
        let too_many = u64::try_from(words).ok().map(|words| words + 1);
        for count in Some(too_few).filter(|count| *count > 0).into_iter().chain(too_many) {
            let rest = " x".repeat(count as usize - 1);
            let heard = ask(&mut connect(resp(&server)), &format!("{name}{rest}\r\n"));
            assert_eq!(heard, expected, "{name}{rest}");
        }
    }
}

#[test]
fn a_command_may_have_many_words() {
    let server = start("", "--schedulers=1");
    let mut client = connect(resp(&server));
    let words = |name: &str, count: usize, word: &dyn Fn(usize) -> String| {
        let words: Vec<String> =
            std::iter::once(name.to_owned()).chain((0..count).map(word)).collect();
        encoded(&words)
    };
    let pair =
        |at: usize| if at.is_multiple_of(2) { format!("k{}", at / 2) } else { "v".to_owned() };
    let key = |at: usize| format!("k{at}");
    for (bytes, expected) in [
        (words("MSET", 16_382, &pair), "+OK\r\n"),
        (words("EXISTS", 16_383, &key), ":8191\r\n"),
        (words("DEL", 16_383, &key), ":8191\r\n"),
    ] {
        let heard = say(&mut client, &[&bytes[..], b"ECHO end\r\n"].concat(), b"end\r\n");
        assert_eq!(String::from_utf8_lossy(&heard), format!("{expected}$3\r\nend\r\n"));
    }
    let heard = say(&mut client, &words("MGET", 16_383, &key), &b"$-1\r\n".repeat(16_383));
    assert!(heard.starts_with(b"*16383\r\n"));
    let heard = say(&mut client, &words("MGET", 16_384, &key)[..100], b"\r\n");
    let expected =
        "-ERR Protocol error: invalid multibulk length: a command has at most 16384 words\r\n";
    assert_eq!(String::from_utf8_lossy(&heard), expected);
}

#[test]
fn small_commands_answer_as_those_of_redis() {
    let server = start("", "--schedulers=1");
    let mut client = connect(resp(&server));
    for (lines, expected) in [
        ("SET a x\"y z\"\r\nGET a\r\n", "+OK\r\n$4\r\nxy z\r\n"),
        ("RANDOMKEY\r\n", "$1\r\na\r\n"),
        (
            "MEMORY USAGE a\r\nMEMORY USAGE a SAMPLES 5\r\nMEMORY USAGE none\r\n",
            ":37\r\n:37\r\n$-1\r\n",
        ),
        (
            "OBJECT ENCODING a\r\nOBJECT REFCOUNT a\r\nSET n 12\r\nOBJECT ENCODING n\r\n",
            "$6\r\nembstr\r\n:1\r\n+OK\r\n$3\r\nint\r\n",
        ),
        ("ROLE\r\n", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"),
        ("COPY a b DB 1\r\n", "-ERR COPY has no DB here; it copies within one database\r\n"),
        ("SETRANGE big 16777216 x\r\n", "-ERR string exceeds maximum allowed size (16 MiB)\r\n"),
        ("FLUSHALL\r\nRANDOMKEY\r\n", "+OK\r\n$-1\r\n"),
    ] {
        assert_eq!(ask(&mut client, lines), expected, "{lines}");
    }
    let time = ask(&mut client, "TIME\r\n");
    let seconds: u64 = time.split("\r\n").nth(2).unwrap().parse().unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!(seconds <= now && now - seconds < 60, "{time}");
}

#[test]
fn a_changed_value_is_not_served_as_json() {
    let config = "[[database]]\nname = \"0\"\nhttp = true\n";
    let server = start(config, "--schedulers=1");
    let mut client = connect(resp(&server));
    let json = ("Content-Type", "application/json");
    for (command, kind) in [
        ("APPEND v x", "application/octet-stream"),
        ("SETRANGE v 1 x", "application/octet-stream"),
        ("EXPIRE v 1000", "application/json"),
        ("RENAME v v", "application/json"),
    ] {
        let put = crate::server::channel::ask(&server, "PUT", "/store/0/v", &[json], b"{\"a\":1}");
        assert_eq!(put.status, 204);
        assert_eq!(server.get("/store/0/v").field("Content-Type"), Some(&b"application/json"[..]));
        assert!(!ask(&mut client, &format!("{command}\r\n")).starts_with('-'));
        let answer = server.get("/store/0/v");
        assert_eq!(answer.field("Content-Type"), Some(kind.as_bytes()), "{command}");
    }
    assert_eq!(ask(&mut client, "COPY v w\r\n"), ":1\r\n");
    assert_eq!(server.get("/store/0/w").field("Content-Type"), Some(&b"application/json"[..]));
}
