//! Goal: what pages log is written in order, and nobody waits for whoever reads it. Method: the built binary with a pipe
//! for its standard error, which is read late.
#![expect(clippy::disallowed_types, reason = "a test holds sockets and files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::io::{BufRead, BufReader};
use std::process::ChildStderr;

use server::client::text;
use server::{Plan, Server};

/// Lines of about a kilobyte: more than a pipe holds, and more than waits for it.
const LINES: usize = 3000;

/// A server with a page that logs so many lines, and its standard error.
fn talkative() -> (Server, BufReader<ChildStderr>) {
    let page = "<% for n = 1, tonumber(request.query.lines) do log.info(n .. ' ' .. ('x'):rep(1000)) end -%>\ndone";
    let plan = Plan::new().argument("--schedulers=1").file("talk.page.txt", page);
    plan.file("hello.page.txt", "hello").start_with_piped_errors()
}

/// The numbers of the lines that were written, and how many were said to be lost, in the order of both.
fn numbers(errors: impl BufRead) -> Vec<Result<usize, usize>> {
    let of_line = |line: String| {
        let number = |text: &str| text.split(' ').next().unwrap().parse().unwrap();
        let logged = line.strip_prefix("velodrome: info: /talk: ").map(|rest| Ok(number(rest)));
        let lost =
            line.strip_prefix("velodrome: warn: ").filter(|rest| rest.contains(" lost here"));
        logged.or_else(|| lost.map(|rest| Err(number(rest))))
    };
    errors.lines().filter_map(|line| of_line(line.unwrap())).collect()
}

#[test]
fn nobody_waits_for_who_reads_the_log() {
    let (mut server, errors) = talkative();
    assert_eq!(text(&server.get(&format!("/talk?lines={LINES}"))), "done");
    assert_eq!(text(&server.get("/hello")), "hello");
    // Also who reads late has the lines in their order, and is told how many are missing, where they are.
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
fn what_nobody_ever_reads_does_not_hold_up_the_end() {
    let (mut server, _errors) = talkative();
    assert_eq!(text(&server.get(&format!("/talk?lines={LINES}"))), "done");
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn lines_that_are_read_are_all_there() {
    let (mut server, errors) = talkative();
    let reader = std::thread::spawn(move || numbers(errors));
    for _ in 0..20 {
        assert_eq!(text(&server.get("/talk?lines=10")), "done");
    }
    server.signal("TERM");
    assert!(server.wait().success());
    let ten: Vec<_> = (1..=10).map(Ok).collect();
    assert_eq!(reader.join().unwrap(), ten.repeat(20));
}
