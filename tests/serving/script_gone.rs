//! Clients that end their side of the connection while a page answers them: a client that only sends no more gets its
//! answer; for a client that has closed, the page ends where it waits.

use std::net::{Shutdown, TcpListener};

use crate::server::client::{Client, head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server};
use conformance::RequestKind;

/// A page that continues when it is told to.
const TOLD: &str = "<% log.info('name', self()) %>got <%= receive() %>";
const TELL: &str = "<%= send(request.query.to, 'word') -%>";

fn start(files: &[(&str, &str)]) -> Server {
    Plan::new().argument("--schedulers=1").files(files).start()
}

/// The name that the page logged last.
fn name_in(server: &Server) -> String {
    until("the page has said its name", || {
        let told = server.printed_errors();
        let line = told.lines().rev().find_map(|line| line.split_once("name "));
        line.map(|(_, name)| name.trim().to_owned())
    })
}

#[test]
fn half_closed_client_receives_answer() {
    let server = start(&[("told.page.txt", TOLD), ("tell.page.txt", TELL)]);
    // The end arrives with the request, or later while the page waits.
    for at_once in [true, false] {
        for method in ["GET", "HEAD"] {
            let mut client = server.client();
            client.send(head(method, "/told", &[("Connection", "close")])).unwrap();
            if !at_once {
                server.reaches("/pages/waiting", 1);
            }
            client.stream.shutdown(Shutdown::Write).unwrap();
            server.reaches("/pages/waiting", 1);
            // The first bytes of the answer: the server has seen the end.
            assert_ne!(client.receive().unwrap(), 0);
            server.get(&format!("/tell?to={}", name_in(&server)));
            let answer = client.response(RequestKind::of_method(Some(method))).unwrap();
            assert_eq!(answer.status, 200);
            assert_eq!(text(&answer), if method == "GET" { "got word" } else { "" });
            let (more, _) = client.rest().unwrap();
            assert!(more.is_empty(), "{}", more.escape_ascii());
            server.reaches("/pages/waiting", 0);
        }
    }
    assert_eq!(server.count("/pages/cancelled"), 0);
}

#[test]
fn an_answer_in_parts_goes_on_for_who_sends_no_more() {
    let parts =
        "<% response:write('one') response:flush() log.info('name', self()) %><%= receive() %>";
    let server = start(&[("parts.page.txt", parts), ("tell.page.txt", TELL)]);
    let mut client = server.client();
    client.send(head("GET", "/parts", &[])).unwrap();
    let name = name_in(&server);
    server.reaches("/pages/waiting", 1);
    assert_ne!(client.receive().unwrap(), 0, "head and part come together");
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.receive().unwrap(), 1, "the server has seen the end");
    server.get(&format!("/tell?to={name}"));
    let answer = client.response(RequestKind::of_method(Some("GET"))).unwrap();
    assert_eq!(text(&answer), "oneword");
}

#[test]
fn a_page_that_fails_late_has_one_head() {
    let late = "<% sleep(0.05) error('no') %>";
    let server =
        start(&[("late.page.txt", late), ("loop.page.txt", "<% sleep(0.05) while true do end %>")]);
    for (path, status) in [("/late", 500), ("/loop", 503)] {
        let mut client = server.client();
        client.send(head("GET", path, &[])).unwrap();
        client.stream.shutdown(Shutdown::Write).unwrap();
        let answer = client.response(RequestKind::of_method(Some("GET"))).unwrap();
        assert_eq!(answer.status, status);
    }
}

#[test]
fn a_page_ends_where_it_waits_when_its_client_closes_or_resets() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let fetch = format!("<% fetch('http://{}/') %>", silent.local_addr().unwrap());
    let server = start(&[
        ("short.page.txt", "short"),
        ("sleep.page.txt", "<% sleep(20) %>"),
        ("receive.page.txt", "<% receive() %>"),
        ("fetch.page.txt", &fetch),
        ("part.page.txt", "part<% response:flush() receive() %>"),
    ]);
    let mut gone = 0;
    for path in ["/sleep", "/receive", "/fetch", "/part"] {
        for end in [Gone::AtOnce, Gone::WhileItWaits, Gone::Reset] {
            let mut client = server.client();
            if end == Gone::Reset {
                // Its answer is unread: then the kernel resets a connection that is closed.
                client.send(head("GET", "/short", &[])).unwrap();
            }
            client.send(head("GET", path, &[])).unwrap();
            if end != Gone::AtOnce {
                server.reaches("/pages/waiting", 1);
                if path == "/part" && end == Gone::WhileItWaits {
                    client.receive().unwrap();
                }
            }
            drop(client);
            gone += 1;
            server.reaches("/pages/cancelled", gone);
            assert_eq!(server.count("/pages/waiting"), 0, "{path} {end:?}");
        }
    }
    server.reaches("/connections", 0);
}

/// How a client ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    /// It closes together with its request.
    AtOnce,
    /// It closes later.
    WhileItWaits,
    /// It resets.
    Reset,
}

#[test]
fn over_a_unix_socket_a_close_is_told_from_an_end_of_output() {
    let plan = Plan::new().argument("--schedulers=1").file("told.page.txt", TOLD);
    let socket = plan.directory.join("run/http.sock");
    let plan = plan.listen(&format!("unix:{}", socket.display())).file("tell.page.txt", TELL);
    let server = plan.start();
    let client = || Client::connect_unix(&socket).unwrap();
    let mut half = client();
    half.send(head("GET", "/told", &[])).unwrap();
    half.stream.shutdown(Shutdown::Write).unwrap();
    server.reaches("/pages/waiting", 1);
    client().get(&format!("/tell?to={}", name_in(&server))).unwrap();
    assert_eq!(text(&half.response(RequestKind::of_method(Some("GET"))).unwrap()), "got word");
    let mut whole = client();
    whole.send(head("GET", "/told", &[])).unwrap();
    drop(whole);
    server.reaches("/pages/cancelled", 1);
}
