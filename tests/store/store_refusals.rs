//! Goal: a refused command leaves nothing half done. Method: commands beyond their bounds, then what the client would
//! do next.

use std::io::Write;
use std::net::TcpStream;

use crate::server::channel::{connect, resp, say};
use crate::server::{Plan, Server};

fn start(config: &str) -> Server {
    let plan = Plan::new().argument("--listen-resp=127.0.0.1:0").argument("--schedulers=1");
    let store = format!("--store={}", plan.directory.join("store").display());
    plan.argument(&store).config(config).start()
}

/// Sends lines and returns the replies, up to that of a final echo.
fn ask(stream: &mut TcpStream, lines: &str) -> String {
    let heard = say(stream, format!("{lines}ECHO the-end\r\n").as_bytes(), b"the-end\r\n");
    let text = String::from_utf8_lossy(&heard).into_owned();
    text.strip_suffix("$7\r\nthe-end\r\n").unwrap().to_owned()
}

const ABORTED: &str = "-EXECABORT Transaction discarded because of previous errors.\r\n";

/// A `WATCH` of more keys than are allowed.
fn too_many_keys() -> String {
    let keys: String = (0..=1_024).map(|number| format!(" w{number}")).collect();
    format!("WATCH{keys}\r\n")
}

#[test]
fn a_transaction_whose_watch_was_refused_does_not_run() {
    let server = start("[[database]]\nname = \"3\"\nread = \"none\"\nwrite = \"none\"\n");
    let (mut client, mut other) = (connect(resp(&server)), connect(resp(&server)));
    let most: String = (0..1_024).map(|number| format!(" w{number}")).collect();
    assert_eq!(ask(&mut client, &format!("WATCH{most}\r\nUNWATCH\r\n")), "+OK\r\n+OK\r\n");
    for (refused, database) in
        [(too_many_keys(), 0), ("WATCH\r\n".to_owned(), 0), ("WATCH a\r\n".to_owned(), 3)]
    {
        ask(&mut client, &format!("SELECT 0\r\nWATCH guard\r\nSELECT {database}\r\n"));
        let heard = ask(&mut client, &format!("{refused}SELECT 0\r\n"));
        assert!(heard.starts_with('-') && heard.ends_with("\r\n+OK\r\n"), "{heard}");
        assert_eq!(ask(&mut other, "SET guard changed\r\n"), "+OK\r\n");
        let heard = ask(&mut client, "MULTI\r\nSET r 1\r\nEXEC\r\n");
        assert_eq!(heard, format!("+OK\r\n+QUEUED\r\n{ABORTED}"), "{}", &refused[..7]);
        // The next transaction begins anew.
        let heard = ask(&mut client, "MULTI\r\nSET r 1\r\nEXEC\r\n");
        assert_eq!(heard, "+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n");
    }
    for pardon in ["UNWATCH\r\n", "MULTI\r\nDISCARD\r\n", "RESET\r\n"] {
        ask(&mut client, &too_many_keys());
        ask(&mut client, pardon);
        let heard = ask(&mut client, "MULTI\r\nSET r 1\r\nEXEC\r\n");
        assert_eq!(heard, "+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n", "{pardon}");
    }
    drop((client, other));
    server.reaches("/store/kept_bytes", 0);
}

#[test]
fn a_key_that_is_watched_again_counts_from_its_first_watch() {
    let server = start("");
    let (mut client, mut other) = (connect(resp(&server)), connect(resp(&server)));
    let again = format!("WATCH{}\r\n", " k".repeat(1_100));
    assert_eq!(ask(&mut client, &again.repeat(2)), "+OK\r\n+OK\r\n");
    assert_eq!(ask(&mut client, "MULTI\r\nGET k\r\nEXEC\r\n"), "+OK\r\n+QUEUED\r\n*1\r\n$-1\r\n");
    // The version of the first time counts.
    assert_eq!(ask(&mut client, "WATCH k\r\n"), "+OK\r\n");
    assert_eq!(ask(&mut other, "SET k 1\r\n"), "+OK\r\n");
    let heard = ask(&mut client, "WATCH k\r\nMULTI\r\nGET k\r\nEXEC\r\n");
    assert_eq!(heard, "+OK\r\n+OK\r\n+QUEUED\r\n*-1\r\n");
    // Of another database it is another key.
    assert_eq!(ask(&mut client, "WATCH k\r\nSELECT 1\r\nWATCH k\r\n"), "+OK\r\n".repeat(3));
    assert_eq!(ask(&mut other, "SELECT 1\r\nSET k 1\r\n"), "+OK\r\n+OK\r\n");
    assert_eq!(ask(&mut client, "MULTI\r\nPING\r\nEXEC\r\n"), "+OK\r\n+QUEUED\r\n*-1\r\n");
}

#[test]
fn a_place_beyond_the_longest_value_is_an_error_of_its_command_alone() {
    let server = start("");
    let mut client = connect(resp(&server));
    let long = "-ERR string exceeds maximum allowed size (16 MiB)\r\n";
    let far = "SETRANGE a 9223372036854775807 x\r\n";
    assert_eq!(ask(&mut client, far), long);
    let heard = ask(&mut client, &format!("MULTI\r\n{far}SET b 1\r\n{far}EXEC\r\n"));
    assert_eq!(heard, format!("+OK\r\n{}*3\r\n{long}+OK\r\n{long}", "+QUEUED\r\n".repeat(3)));
    // As in Redis, which writes nothing then.
    assert_eq!(
        ask(&mut client, "SETRANGE a 9223372036854775807 \"\"\r\nGET b\r\n"),
        ":0\r\n$1\r\n1\r\n"
    );
    assert_eq!(server.printed_troubles(), "");
}

#[test]
fn a_refused_hello_changes_nothing() {
    let server = start("");
    let mut client = connect(resp(&server));
    client.write_all(b"CLIENT SETNAME before\r\n").unwrap();
    for refused in [
        "HELLO 3 AUTH default wrong SETNAME after",
        "HELLO 3 SETNAME after WHAT",
        "HELLO 3 SETNAME 'a b'",
        "HELLO 4 SETNAME after",
    ] {
        let heard = ask(&mut client, &format!("{refused}\r\n"));
        assert!(heard.trim_start_matches("+OK\r\n").starts_with('-'), "{refused}: {heard}");
        assert_eq!(ask(&mut client, "CLIENT GETNAME\r\nGET none\r\n"), "$6\r\nbefore\r\n$-1\r\n");
    }
}
