//! Goal: what a client sees when the servers of an upstream fail is what docs/proxy.md says. Method: the built binary,
//! and servers that break in one way each; each row of the table there is a test here.

use std::io::Write;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::server::other::{Heard, always, other};
use crate::server::patience::{PATIENCE, until};
use crate::server::upstreams::{
    OK, all_to, by_hand, connect, exchange, get, next, read_to, rest, start,
};
use crate::server::{Server, free_address};

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or(answer)
}

/// Waits until the log of the server says this.
fn logged(server: &Server, what: &str) {
    until(what, || server.printed_errors().contains(what).then_some(()));
}

#[test]
fn answers_that_could_be_read_in_two_ways_are_no_answers() {
    let long = format!("HTTP/1.1 200 OK\r\nX-A: {}\r\n\r\n", "a".repeat(100_000));
    for (sent, reason) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok", "Content-Length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", "Content-Length"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ""),
        ("HTTP/1.1 200 OK\r\nX A: b\r\nContent-Length: 2\r\n\r\nok", ""),
        ("HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n", "101"),
        ("SSH-2.0-OpenSSH_9.6\r\n", "HTTP/"),
        (&long, "too large"),
    ] {
        let (address, heard) = always(sent);
        let server = start(&all_to(&[address], ""));
        let answer = exchange(&server, &get("/", ""));
        assert_eq!(status(&answer), "502", "{sent:.80}: {answer}");
        logged(&server, &format!("upstream a, {address}: "));
        logged(&server, reason);
        // The connection is not used again.
        exchange(&server, &get("/", ""));
        assert_eq!(heard.recv_timeout(PATIENCE).unwrap().0, 0, "{sent:.80}");
        let others = std::iter::from_fn(|| heard.recv_timeout(PATIENCE).ok());
        let next = others.into_iter().find(|(_, request)| request != "end").unwrap();
        assert_eq!(next.0, 1, "{sent:.80}");
    }
}

#[test]
fn a_status_that_no_client_knows_is_no_answer() {
    let (address, _heard) = always("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n");
    let server = start(&all_to(&[address], ""));
    assert_eq!(status(&exchange(&server, &get("/", ""))), "502");
    logged(&server, &format!("upstream a, {address}: a status above 599"));
}

#[test]
fn bytes_after_an_answer_end_its_connection() {
    let (address, heard) =
        always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n");
    let server = start(&all_to(&[address], ""));
    for number in 0..2 {
        assert!(exchange(&server, &get("/", "")).ends_with("\r\n\r\nok"));
        let requests = std::iter::from_fn(|| heard.recv_timeout(PATIENCE).ok());
        let (connection, _) = requests.into_iter().find(|(_, request)| request != "end").unwrap();
        assert_eq!(connection, number);
    }
}

#[test]
fn a_body_that_is_cut_is_cut_for_the_client_too() {
    for (head, body) in [("Transfer-Encoding: chunked", "5\r\nxyz"), ("Content-Length: 10", "xyz")]
    {
        let (address, connections) = by_hand();
        let server = start(&all_to(&[address], ""));
        let mut client = connect(&server);
        client.write_all(get("/", "").as_bytes()).unwrap();
        let mut backend = next(&connections);
        read_to(&mut backend, "\r\n\r\n");
        backend.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}").as_bytes()).unwrap();
        assert!(read_to(&mut client, "xyz").starts_with("HTTP/1.1 200 OK\r\n"));
        drop(backend);
        let end = rest(&mut client);
        assert!(!end.contains("0\r\n\r\n"), "{head}: {end}");
        logged(&server, "closed before the answer was whole");
    }
}

#[test]
fn a_server_that_cuts_every_answer_is_paused() {
    let (cutting, connections) = by_hand();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for mut backend in connections {
            counted.fetch_add(1, Ordering::SeqCst);
            read_to(&mut backend, "\r\n\r\n");
            backend.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nxyz").unwrap();
        }
    });
    let (alive, _heard) = always(OK);
    let server = start(&all_to(&[cutting, alive], "failures = 2\nbalance = \"round-robin\""));
    for _ in 0..12 {
        exchange(&server, &get("/", ""));
    }
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[test]
fn a_server_that_refuses_a_body_is_heard_before_its_end() {
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], ""));
    let mut client = connect(&server);
    client.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nxyz").unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "xyz");
    backend.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno").unwrap();
    let answer = rest(&mut client);
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.ends_with("\r\n\r\nno"), "{answer}");
    assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    // Its connection is not used again, because the rest of the body would be taken for a request.
    assert_eq!(rest(&mut backend), "");
}

#[test]
fn a_server_that_does_not_listen_is_passed_over() {
    let (alive, _heard) = always(OK);
    let server =
        start(&all_to(&[free_address(), alive, free_address()], "retries = 2\nfailures = 1000"));
    for text in [
        get("/", ""),
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\nxyz".into(),
    ] {
        // So few that the repetitions do not exceed their budget, whichever servers are chosen.
        for _ in 0..2 {
            assert_eq!(status(&exchange(&server, &text)), "200");
        }
    }
    let server = start(&all_to(&[free_address(), free_address()], ""));
    assert_eq!(status(&exchange(&server, &get("/", ""))), "502");
    logged(&server, "connection refused");
}

/// Two servers that read a request and close, and count how often.
fn deaf() -> (SocketAddr, Heard) {
    other(|_, _, _| Vec::new())
}

#[test]
fn only_a_request_that_does_no_harm_twice_goes_to_a_second_server() {
    for (method, body, total) in [
        ("GET", "", 2),
        ("DELETE", "", 2),
        ("PUT", "xyz", 2),
        ("POST", "xyz", 1),
        ("PATCH", "xyz", 1),
    ] {
        let (one, heard_one) = deaf();
        let (two, heard_two) = deaf();
        let server = start(&all_to(&[one, two], ""));
        let text = format!(
            "{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(status(&exchange(&server, &text)), "502", "{method}");
        let heard: Vec<String> =
            heard_one.try_iter().chain(heard_two.try_iter()).map(|(_, request)| request).collect();
        assert_eq!(heard.len(), total, "{method}: {heard:?}");
        assert!(
            heard.iter().all(|request| request.ends_with(&format!("\r\n\r\n{body}"))),
            "{heard:?}"
        );
    }
}

#[test]
fn a_stale_connection_is_not_a_failure() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    // Each connection ends when its second request comes.
    let (address, _heard) = other(move |_, on_connection, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        if on_connection == 0 { OK.into() } else { Vec::new() }
    });
    let server = start(&all_to(&[address], ""));
    for _ in 0..4 {
        assert_eq!(status(&exchange(&server, &get("/", ""))), "200");
    }
    assert!(count.load(Ordering::SeqCst) >= 7, "{count:?}");
}

#[test]
fn a_server_that_says_nothing_is_waited_for_as_long_as_configured() {
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], "first_byte_timeout = \"200ms\"\nretries = 0"));
    let asked = thread::spawn(move || next(&connections));
    assert_eq!(status(&exchange(&server, &get("/", ""))), "504");
    logged(&server, "timeout: no first byte of an answer");
    drop(asked.join().unwrap());
}

#[test]
fn a_server_that_stops_within_its_answer_is_cut_off() {
    for keys in ["idle_timeout = \"200ms\"", "timeout = \"200ms\""] {
        let (address, connections) = by_hand();
        let server = start(&all_to(&[address], keys));
        let mut client = connect(&server);
        client.write_all(get("/", "").as_bytes()).unwrap();
        let mut backend = next(&connections);
        read_to(&mut backend, "\r\n\r\n");
        backend.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nxyz").unwrap();
        assert!(rest(&mut client).ends_with("\r\n\r\nxyz"), "{keys}");
        assert_eq!(rest(&mut backend), "");
    }
}

#[test]
fn requests_wait_in_line_for_a_place() {
    let (address, connections) = by_hand();
    let keys = "connections = 1\nqueue = 1\nqueue_timeout = \"30s\"";
    let server = start(&all_to(&[address], keys));
    let mut first = connect(&server);
    first.write_all(get("/first", "").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    let mut second = connect(&server);
    second
        .write_all(
            b"POST /second HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: \
                       close\r\n\r\nxyz",
        )
        .unwrap();
    // Once the second one waits, there is no room for a third.
    let answer = until("the line is full", || {
        let answer = exchange(&server, &get("/third", ""));
        (status(&answer) == "503").then_some(answer)
    });
    assert!(answer.contains("\r\nRetry-After: 1\r\n"), "{answer}");
    backend.write_all(OK.as_bytes()).unwrap();
    assert!(rest(&mut first).ends_with("\r\n\r\nok"));
    let request = read_to(&mut backend, "xyz");
    assert!(request.starts_with("POST /second "), "{request}");
    backend.write_all(OK.as_bytes()).unwrap();
    assert!(rest(&mut second).ends_with("\r\n\r\nok"));
}

#[test]
fn a_request_in_line_is_refused_after_its_deadline() {
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], "connections = 1\nqueue_timeout = \"200ms\""));
    let mut first = connect(&server);
    first.write_all(get("/", "").as_bytes()).unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    assert_eq!(status(&exchange(&server, &get("/", ""))), "503");
    // A client that goes makes room for the next one.
    let mut second = connect(&server);
    second.write_all(get("/", "").as_bytes()).unwrap();
    drop(first);
    assert_eq!(rest(&mut backend), "");
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend.write_all(OK.as_bytes()).unwrap();
    assert!(rest(&mut second).ends_with("\r\n\r\nok"));
}

#[test]
fn a_failed_server_is_left_alone_but_never_the_last_one() {
    let (bad, heard_bad) = deaf();
    let (good, heard_good) = always(OK);
    let keys = "failures = 2\nfailure_pause = \"1h\"\nbalance = \"round-robin\"";
    let server = start(&all_to(&[bad, good], keys));
    for _ in 0..10 {
        assert_eq!(status(&exchange(&server, &get("/", ""))), "200");
    }
    assert_eq!(heard_bad.try_iter().count(), 2);
    assert_eq!(heard_good.try_iter().filter(|(_, request)| request != "end").count(), 10);
    // The only server fails, and is asked every time.
    let (bad, heard) = deaf();
    let server = start(&all_to(&[bad], keys));
    for _ in 0..5 {
        assert_eq!(status(&exchange(&server, &get("/", ""))), "502");
    }
    assert_eq!(heard.try_iter().count(), 5);
}

/// When everything fails, repetitions must not double the load: a fifth of the requests, and ten at the beginning.
#[test]
fn repetitions_stop_when_the_budget_is_used() {
    let (one, heard_one) = deaf();
    let (two, heard_two) = deaf();
    let server = start(&all_to(&[one, two], "failures = 1000"));
    for _ in 0..50 {
        assert_eq!(status(&exchange(&server, &get("/", ""))), "502");
    }
    let heard = heard_one.try_iter().count() + heard_two.try_iter().count();
    assert!((65..=72).contains(&heard), "{heard} for 50 requests");
}

#[test]
fn a_cookie_keeps_a_client_at_its_server() {
    let named =
        |name: &'static str| always(format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{name}"));
    let ((one, _h1), (two, _h2), (three, _h3)) = (named("1"), named("2"), named("3"));
    let server =
        start(&all_to(&[one, two, three], "sticky = \"server\"\nbalance = \"round-robin\""));
    let answer = exchange(&server, &get("/", ""));
    let cookie = answer.lines().find_map(|line| line.strip_prefix("Set-Cookie: ")).unwrap();
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax");
    for _ in 0..5 {
        let again = exchange(&server, &get("/", &format!("Cookie: a=b; {pair}\r\n")));
        assert_eq!(again.chars().last(), answer.chars().last());
        assert!(!again.contains("Set-Cookie"), "{again}");
    }
}

#[test]
fn a_hash_and_weights_choose_the_server() {
    let named =
        |name: &'static str| always(format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{name}"));
    let ((one, _h1), (two, _h2)) = (named("1"), named("2"));
    let chosen = |server: &Server, path: &str, fields: &str| {
        exchange(server, &get(path, fields)).chars().last().unwrap()
    };
    let server = start(&all_to(&[one, two], "balance = \"hash\"\nhash = \"path\""));
    let by_path: String =
        (0..16).map(|number| chosen(&server, &format!("/{number}"), "")).collect();
    let again: String = (0..16).map(|number| chosen(&server, &format!("/{number}"), "")).collect();
    assert_eq!(by_path, again);
    assert!(by_path.contains('1') && by_path.contains('2'), "{by_path}");
    let weighted = format!("{{ address = \"{one}\", weight = 3 }}, \"{two}\"");
    let config = all_to(&[one, two], "balance = \"round-robin\"");
    let server = start(&config.replace(&format!("\"{one}\", \"{two}\""), &weighted));
    let in_turn: String = (0..8).map(|_| chosen(&server, "/", "")).collect();
    assert_eq!(in_turn.matches('1').count(), 6, "{in_turn}");
}

#[test]
fn a_protocol_that_was_not_asked_for_is_not_begun() {
    let (address, connections) = by_hand();
    let server = start(&all_to(&[address], ""));
    let mut client = connect(&server);
    client
        .write_all(
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        )
        .unwrap();
    let mut backend = next(&connections);
    read_to(&mut backend, "\r\n\r\n");
    backend.write_all(b"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n").unwrap();
    assert!(read_to(&mut client, "\r\n\r\n").starts_with("HTTP/1.1 502 "));
    assert_eq!(rest(&mut backend), "");
    client.shutdown(Shutdown::Both).unwrap();
}

#[test]
fn servers_are_asked_whether_they_are_well() {
    let is_well = Arc::new(AtomicUsize::new(0));
    let state = Arc::clone(&is_well);
    let (one, _heard_one) = other(move |_, _, request| {
        let body = if request.starts_with("GET /health ") && state.load(Ordering::SeqCst) == 0 {
            "sick"
        } else {
            "well"
        };
        format!("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{body}").into_bytes()
    });
    let (two, heard_two) = always("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell");
    let keys =
        "check = \"/health\"\ncheck_interval = \"100ms\"\ncheck_body = \"well\"\nfailures = 1";
    let server = start(&all_to(&[one, two], keys));
    let states = |wanted: [&str; 2]| {
        until(wanted[0], || {
            let upstreams = server.told("/upstreams");
            let state = |number: usize| upstreams[0]["servers"][number]["state"].clone();
            (state(0) == wanted[0] && state(1) == wanted[1]).then_some(upstreams)
        })
    };
    let upstreams = states(["paused", "up"]);
    assert_eq!(upstreams[0]["servers"][0]["why"], "its checks fail");
    let before = heard_two.try_iter().filter(|(_, request)| request.starts_with("GET / ")).count();
    assert_eq!(before, 0);
    for _ in 0..5 {
        assert_eq!(status(&exchange(&server, &get("/", ""))), "200");
    }
    let asked = heard_two.try_iter().filter(|(_, request)| request.starts_with("GET / ")).count();
    assert_eq!(asked, 5);
    is_well.store(1, Ordering::SeqCst);
    states(["up", "up"]);
}
