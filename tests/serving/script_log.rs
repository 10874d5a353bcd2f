//! Goal: what pages log is written in order, and a slow reader of the log delays nobody. Method: the built binary with
//! a pipe for its standard error, which is read late.

use std::io::{BufRead, BufReader, Write};
use std::process::ChildStderr;

use crate::server::channel::connect;
use crate::server::client::{read, text};
use crate::server::patience::until;
use crate::server::{Plan, Server};

/// Lines of about a kilobyte: more than fit into a pipe and the server's queue.
const LINES: usize = 3000;

/// Pages that log.
const PAGES: usize = 6;

/// A server with a page that logs this many lines, and its standard error.
fn talkative() -> (Server, BufReader<ChildStderr>) {
    let page = "<% local query = request.query
        for n = tonumber(query.from), tonumber(query.to) do log.info(n .. ' ' .. ('x'):rep(1000)) end -%>\ndone";
    let mut plan = Plan::new().argument("--schedulers=1").file("hello.page.txt", "hello");
    for number in 0..PAGES {
        plan = plan.file(&format!("talk{number}.page.txt"), page);
    }
    plan.start_with_piped_errors()
}

/// Requests all pages: each logs as much as one may at once.
fn talk(server: &Server) {
    for number in 0..PAGES {
        let (from, to) = (number * LINES / PAGES + 1, (number + 1) * LINES / PAGES);
        assert_eq!(text(&server.get(&format!("/talk{number}?from={from}&to={to}"))), "done");
    }
}

/// The numbers of the lines that were written, and the reported numbers of lost lines, in order.
fn numbers(errors: impl BufRead) -> Vec<Result<usize, usize>> {
    let of_line = |line: String| {
        let number = |text: &str| text.split(' ').next().unwrap().parse().unwrap();
        let logged = line.strip_prefix("velodrome: info: /talk");
        let logged = logged.and_then(|rest| Some(Ok(number(rest.split_once(": ")?.1))));
        let lost =
            line.strip_prefix("velodrome: warn: ").filter(|rest| rest.contains(" lost here"));
        logged.or_else(|| lost.map(|rest| Err(number(rest))))
    };
    errors.lines().filter_map(|line| of_line(line.unwrap())).collect()
}

#[test]
fn unread_log_does_not_delay_requests() {
    let (mut server, errors) = talkative();
    talk(&server);
    assert_eq!(text(&server.get("/hello")), "hello");
    // A late reader also gets the lines in order, and is told how many are missing at which place.
    let reader = std::thread::spawn(move || numbers(errors));
    server.signal("TERM");
    assert!(server.wait().success());
    let seen = reader.join().unwrap();
    let mut next = 1;
    for number in &seen {
        match number {
            Ok(number) => assert_eq!((*number, next), (next, *number), "{seen:?}"),
            Err(lost) => next += lost - 1,
        }
        next += 1;
    }
    assert_eq!(next, LINES + 1, "{seen:?}");
    assert!(seen.iter().any(Result::is_err), "all of it had room: {}", seen.len());
    assert!(seen.len() > 500, "{seen:?}");
}

#[test]
fn unread_log_does_not_delay_shutdown() {
    let (mut server, _errors) = talkative();
    talk(&server);
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn lines_that_are_read_are_all_there() {
    let (mut server, errors) = talkative();
    let reader = std::thread::spawn(move || numbers(errors));
    for _ in 0..20 {
        assert_eq!(text(&server.get("/talk0?from=1&to=10")), "done");
    }
    server.signal("TERM");
    assert!(server.wait().success());
    let ten: Vec<_> = (1..=10).map(Ok).collect();
    assert_eq!(reader.join().unwrap(), ten.repeat(20));
}

/// A page that logs in a loop, a process that does, and a page that fails repeatedly: each may write a limited amount.
#[test]
fn endless_logging_is_bounded_and_reported() {
    let pages = [
        ("chatty.page.txt", "<% for i = 1, 20000 do log.warn('chatty line ' .. i) end -%>on"),
        (
            "child.page.txt",
            "<% spawn(function() for i = 1, 20000 do log.warn('child line') end end) -%>on",
        ),
        ("fails.page.txt", "<% error('fails line') -%>"),
        ("quiet.page.txt", "<% log.warn('quiet line') -%>quiet"),
    ];
    let server = Plan::new().argument("--schedulers=1").files(&pages).start();
    assert_eq!(text(&server.get("/chatty")), "on");
    assert_eq!(text(&server.get("/child")), "on");
    // Many at once, because some lines of every second are written.
    let mut client = connect(server.address());
    for _ in 0..10 {
        client.write_all("GET /fails HTTP/1.1\r\nHost: a\r\n\r\n".repeat(300).as_bytes()).unwrap();
        let (mut heard, mut piece) = (String::new(), [0; 65_536]);
        while heard.matches("HTTP/1.1 500 ").count() < 300 {
            let count = read(&mut client, &mut piece).unwrap();
            assert!(count > 0, "it ended");
            heard.push_str(str::from_utf8(&piece[..count]).unwrap());
        }
    }
    assert_eq!(text(&server.get("/quiet")), "quiet");
    until("the quiet page's line", || server.printed_errors().contains("quiet line").then_some(()));
    let lines = |what: &str| server.printed_errors().matches(what).count();
    for what in ["chatty line", "child line", "fails line"] {
        until(what, || (lines(what) >= 1_000).then_some(()));
        assert!(lines(what) < 2_500, "{} of {what}", lines(what));
    }
    for name in ["/chatty", "child.page.txt", "page fails.page.txt"] {
        let told =
            |line: &str| line.contains(&format!("warn: {name}: ")) && line.contains("left out");
        until(name, || server.printed_errors().lines().any(told).then_some(()));
    }
}
