//! Goal: a page sends what it has and continues, at the pace of its client. Method: the built binary, raw clients.

use std::process::Command;

use crate::server::client::{Client, End, field, head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, has, printed_by, run};
use conformance::RequestKind;

/// A page that sends its first line and then waits for longer than any test.
const TWO: &str = "one\n<% response:flush() sleep(25) -%>\ntwo\n";

fn start(pages: &[(&str, &str)]) -> Server {
    Plan::new().argument("--schedulers=1").files(pages).start()
}

/// Reads until the received text ends with this.
fn read_to(client: &mut Client, end: &str) -> String {
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    while !received.ends_with(end.as_bytes()) {
        let count = crate::server::client::read(&mut client.stream, &mut buffer).unwrap();
        assert!(count > 0, "it ended: {}", received.escape_ascii());
        received.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(received).unwrap()
}

/// Reads to the last chunk; returns the number of bytes.
fn read_all_chunks(client: &mut Client) -> usize {
    let (mut total, mut last) = (0, Vec::new());
    let mut buffer = vec![0; 1 << 20];
    while !last.ends_with(b"\r\n0\r\n\r\n") {
        let count = crate::server::client::read(&mut client.stream, &mut buffer).unwrap();
        assert!(count > 0, "cut after {total}");
        total += count;
        last.extend_from_slice(&buffer[..count]);
        last.drain(..last.len().saturating_sub(7));
    }
    total
}

#[test]
fn flushed_output_arrives_before_page_ends() {
    let page = "<% response.status = 201 response.headers['X-One'] = 'two' -%>\nfirst <% response:flush() \
                sleep(25) -%>";
    let server = start(&[("slow.page.txt", page)]);
    let mut client = server.client();
    client.send(head("GET", "/slow", &[])).unwrap();
    let received = read_to(&mut client, "\r\n\r\n6\r\nfirst \r\n");
    assert!(received.starts_with("HTTP/1.1 201 Created\r\n"), "{received}");
    for line in
        ["Transfer-Encoding: chunked", "X-One: two", "Content-Type: text/plain; charset=utf-8"]
    {
        assert!(received.contains(&format!("\r\n{line}\r\n")), "{line}: {received}");
    }
    server.reaches("/pages/waiting", 1);
}

#[test]
fn a_stream_is_one_answer_and_the_connection_goes_on() {
    let page =
        "<% for number = 1, 3 do -%>\n<%= number %>\n<% response:flush() sleep(0.01) end -%>\nend";
    let rest = "<% response:flush() -%>\nafter the head";
    let server =
        start(&[("count.page.txt", page), ("rest.page.txt", rest), ("plain.page.txt", "plain")]);
    let mut client = server.client();
    // The next requests have arrived while the stream runs.
    let requests = ["/count", "/plain", "/rest", "/plain"].map(|path| head("GET", path, &[]));
    client.send(requests.concat()).unwrap();
    let stream = client.response(RequestKind::Other).unwrap();
    assert_eq!((stream.status, text(&stream)), (200, "1\n2\n3\nend"));
    assert_eq!(field(&stream, "Transfer-Encoding"), "chunked");
    for expected in ["plain", "after the head", "plain"] {
        assert_eq!(text(&client.response(RequestKind::Other).unwrap()), expected);
    }
    assert_eq!(text(&client.get("/count").unwrap()), "1\n2\n3\nend");
}

#[test]
fn head_and_statuses_without_a_body_have_none() {
    let page = "<% response.status = tonumber(request.query.status) or 200 -%>\nbody<% response:flush() \
                -%>\n more<% response:flush() log('ran', request.method) -%>";
    let server = start(&[("page.page.txt", page)]);
    let mut client = server.client();
    let answer = client.request("HEAD", "/page", &[]).unwrap();
    assert_eq!((answer.status, field(&answer, "Transfer-Encoding")), (200, "chunked"));
    for status in [204, 304] {
        let answer = client.get(&format!("/page?status={status}")).unwrap();
        assert_eq!((answer.status, field(&answer, "Transfer-Encoding")), (status, ""));
    }
    let answer = client.get("/page?status=205").unwrap();
    assert_eq!((answer.status, text(&answer), field(&answer, "Content-Length")), (205, "", "0"));
    assert_eq!(text(&client.get("/page").unwrap()), "body more");
    let printed = server.printed_errors();
    assert_eq!(printed.matches("/page: ran").count(), 4, "{printed}");
    assert!(!printed.contains("/page: ran HEAD"), "its head was the whole answer: {printed}");
}

#[test]
fn after_the_head_of_an_endless_stream_the_connection_goes_on() {
    let endless = "<% while true do response:write('tick') response:flush() sleep(0.01) end %>";
    let server = start(&[("endless.page.txt", endless), ("plain.page.txt", "plain")]);
    let mut client = server.client();
    client.send(head("HEAD", "/endless", &[]) + &head("GET", "/plain", &[])).unwrap();
    let answer = client.response(RequestKind::Head).unwrap();
    assert_eq!((answer.status, text(&answer)), (200, ""));
    assert_eq!(text(&client.response(RequestKind::Other).unwrap()), "plain");
    server.reaches("/pages/waiting", 0);
    assert_eq!(server.count("/pages/cancelled"), 0, "its client has what it wanted");
}

#[test]
fn http_1_0_has_its_stream_until_the_close() {
    let server = start(&[
        ("page.page.txt", "one <% response:flush() -%>\ntwo"),
        ("fail.page.txt", "one <% response:flush() error('no') %>"),
    ]);
    let mut client = server.client();
    client.send("GET /page HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").unwrap();
    let (received, end) = client.rest().unwrap();
    let received = String::from_utf8(received).unwrap();
    assert!(
        received.contains("\r\nConnection: close\r\n") && !received.contains("Transfer"),
        "{received}"
    );
    assert!(received.ends_with("\r\n\r\none two"), "{received}");
    assert_eq!(end, End::Closed);
    let mut client = server.client();
    client.send("GET /fail HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(client.rest().unwrap().1, End::Reset, "a close would be the end of the body");
}

#[test]
fn error_after_flush_cuts_answer_and_is_logged() {
    let config = "[pages]\ncpu_budget = \"20ms\"\ndeadline = \"400ms\"\n";
    let plan = Plan::new().config(config).argument("--schedulers=1");
    let server = plan
        .file("fail.page.html", "one<% response:flush() %>\n<% local x = nil; x.y = 1 %>")
        .file("loop.page.html", "one<% response:flush() %>\n<% while true do end %>")
        .file("late.page.html", "one<% response:flush() sleep(20) %>")
        .file("head.page.html", "one<% response:flush() %>\n<% response.headers['X-A'] = 'b' %>")
        .file("good.page.html", "good")
        .start();
    for (path, told) in [
        ("/fail", "page fail.page.html: fail.page.html:2: attempt to index local 'x'"),
        ("/loop", "page loop.page.html: loop.page.html:2: used more than 20 ms of CPU time"),
        ("/late", "page late.page.html: late.page.html:1: took longer than "),
        (
            "/head",
            "page head.page.html: head.page.html:2: the head was sent: status and headers are set before \
             the first flush",
        ),
    ] {
        let mut client = server.client();
        client.send(head("GET", path, &[]) + &head("GET", "/good", &[])).unwrap();
        let (received, end) = client.rest().unwrap();
        assert!(
            received.ends_with(b"\r\n3\r\none\r\n") || received.ends_with(b"\r\n1\r\n\n\r\n"),
            "{path}: {}",
            received.escape_ascii()
        );
        assert_eq!(end, End::Closed, "{path}: what was sent arrives");
        until(told, || server.printed_errors().contains(told).then_some(()));
    }
    assert_eq!(text(&server.get("/good")), "good");
    for (number, pointer) in [(2, "failures"), (1, "kills/cpu_budget"), (1, "kills/deadline")] {
        server.reaches(&format!("/pages/{pointer}"), number);
    }
    if has("curl", "error_after_flush_cuts_answer_and_is_logged") {
        let url = format!("http://{}/fail", server.address());
        let output = run(Command::new("curl").args(["--silent", &url]));
        assert_eq!(output.status.code(), Some(18), "a partial file: {output:?}");
        assert_eq!(printed_by(&output).trim_end(), "one");
    }
}

#[test]
fn the_access_log_has_one_line_for_each_stream_with_what_was_sent() {
    let config = "[log]\naccess = \"access.log\"\n";
    let server = Plan::new()
        .config(config)
        .argument("--schedulers=1")
        .file("whole.page.txt", "one<% response:flush() -%>\ntwo")
        .file(
            "cut.page.txt",
            "<% response.status = 202 -%>\nfour<% response:flush() error('no') %>",
        )
        .file("left.page.txt", "<% response.status = 203 -%>\nwent<% response:flush() sleep(20) %>")
        .start();
    assert_eq!(text(&server.get("/whole")), "onetwo");
    server.request("HEAD", "/whole", &[]);
    assert!(server.client().get("/cut").is_err());
    let mut client = server.client();
    client.send(head("GET", "/left", &[("User-Agent", "gone/1")])).unwrap();
    read_to(&mut client, "4\r\nwent\r\n");
    drop(client);
    until("all lines", || {
        let log = server.directory().text("access.log");
        (log.lines().count() == 4).then_some(())
    });
    let log = server.directory().text("access.log");
    for expected in [
        "\"GET /whole HTTP/1.1\" 200 6 ",
        "\"HEAD /whole HTTP/1.1\" 200 0 ",
        "\"GET /cut HTTP/1.1\" 202 4 ",
        "\"GET /left HTTP/1.1\" 203 4 \"-\" \"gone/1\"",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
}

#[test]
fn a_client_that_goes_away_ends_its_stream() {
    let events = "<% response.headers['Content-Type'] = 'text/event-stream'\nlocal number = 0\nwhile true \
                  do\nnumber = number + 1\nresponse:write('data: ', number, \
                  '\\n\\n')\nresponse:flush()\nsleep(0.02)\nend %>";
    let server = start(&[("events.page.txt", events), ("two.page.txt", TWO)]);
    for (path, gone) in [("/events", 1), ("/two", 2)] {
        let mut client = server.client();
        client.send(head("GET", path, &[])).unwrap();
        if path == "/events" {
            let received = read_to(&mut client, "data: 3\n\n\r\n");
            assert!(received.contains("\r\nContent-Type: text/event-stream\r\n"), "{received}");
            assert!(received.contains("data: 1\n\n\r\n"), "{received}");
        } else {
            read_to(&mut client, "one\n\r\n");
        }
        server.reaches("/pages/waiting", 1);
        drop(client);
        server.reaches("/pages/cancelled", gone);
        server.reaches("/pages/waiting", 0);
    }
}

#[test]
fn events_come_from_other_pages_and_only_who_has_a_client_sends_them() {
    let events = "<% response.headers['Content-Type'] = 'text/event-stream'\n\
        response:write('data: ', self(), '\\n\\n') response:flush()\n\
        for number = 1, 2 do response:write('data: ', receive(), '\\n\\n') response:flush() end -%>";
    let tell = "<%= send(request.query.to, request.query.what) -%>";
    let spawned = "<% spawn(function() response:flush() end) -%>";
    let plan = Plan::new().argument("--schedulers=2").file("events.page.txt", events);
    let server = plan.file("tell.page.txt", tell).file("spawned.page.txt", spawned).start();
    let mut client = server.client();
    client.send(head("GET", "/events", &[])).unwrap();
    let received = read_to(&mut client, "\n\n\r\n");
    let name = received.rsplit("data: ").next().unwrap().trim();
    for (what, end) in [("one", ""), ("two", "0\r\n\r\n")] {
        assert_eq!(text(&server.get(&format!("/tell?to={name}&what={what}"))), "true");
        let expected = format!("b\r\ndata: {what}\n\n\r\n{end}");
        assert_eq!(read_to(&mut client, &expected), expected);
    }
    assert_eq!(server.get("/spawned").status, 500);
    let told = "spawned.page.txt:1: spawn cannot copy `response` (the variable 'response' of the function): \
                a process makes no answer";
    until(told, || server.printed_errors().contains(told).then_some(()));
}

#[test]
fn a_stream_lasts_longer_than_a_page_may_as_long_as_its_client_takes_it() {
    let config = "[pages]\ncpu_budget = \"200ms\"\ndeadline = \"1s\"\n";
    // Four times as long as a page may take, and more CPU time than it may use in that time.
    let page = "<% local sum = 0 for turn = 1, 22 do\n\
        for index = 1, 15000000 do sum = sum + index end\n\
        sleep(0.2) response:write('.') response:flush() end -%>";
    let idle = "<% response.status = tonumber(request.query.status) or 200\n\
        while true do sleep(0.05) response:flush() end -%>";
    let plan = Plan::new().config(config).argument("--schedulers=1");
    let server = plan.file("long.page.txt", page).file("idle.page.txt", idle).start();
    assert_eq!(text(&server.get("/long")), ".".repeat(22));
    let used_us = server.count("/pages/cpu_us");
    assert!(used_us > 200_000, "{used_us}");
    // No connection is accepted any more.
    assert!(server.client().get("/idle").is_err());
    let mut client = server.client();
    assert_eq!(client.get("/idle?status=204").unwrap().status, 204);
    until("what sends nothing ends", || (server.count("/pages/kills/deadline") == 2).then_some(()));
}

#[test]
fn a_page_is_no_faster_than_its_client_and_memory_is_bounded() {
    let page = "<% local piece = ('x'):rep(65536) for part = 1, 3200 do response:write(piece) \
                response:flush() end %>";
    let server = start(&[("large.page.txt", page), ("hello.page.txt", "hello")]);
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
    };
    let mut client = server.client();
    client.send(head("GET", "/large", &[])).unwrap();
    // The client does not read, so the page stops.
    let waits = || server.count("/network/buffered_bytes");
    until("the page waits for its client", || (waits() > 0).then_some(()));
    server.reaches("/pages/waiting", 1);
    assert!(waits() < 256 * 1024, "{}", waits());
    assert_eq!(text(&server.get("/hello")), "hello", "others are served");
    let begun = memory();
    let total = read_all_chunks(&mut client);
    assert!(total > 3200 * 65536, "{total}");
    assert!(memory() < begun + (8 << 20), "{begun} bytes, then {}", memory());
    assert_eq!(text(&client.get("/hello").unwrap()), "hello", "the connection goes on");
}

#[test]
fn a_part_larger_than_any_queue_arrives() {
    let page = "<% local piece = ('x'):rep(12 * 1024 * 1024) response:write(piece) response:flush() \
                response:write(piece) -%>";
    // The text, its buffers and the output together are three times as much.
    let plan = Plan::new().config("[pages]\nmemory_per_request = \"64 MiB\"\n");
    let server = plan.file("large.page.txt", page).start();
    let mut client = server.client();
    client.send(head("GET", "/large", &[])).unwrap();
    let total = read_all_chunks(&mut client);
    assert!(total > 24 << 20, "{total}");
}

#[test]
fn a_stream_that_runs_is_given_the_time_of_the_drain() {
    let page =
        "<% for number = 1, 10 do response:write('.') response:flush() sleep(0.05) end -%>\nend";
    let mut server = start(&[("page.page.txt", page)]);
    let mut client = server.client();
    client.send(head("GET", "/page", &[])).unwrap();
    read_to(&mut client, "1\r\n.\r\n");
    server.signal("TERM");
    let (rest, end) = client.rest().unwrap();
    assert!(rest.ends_with(b"3\r\nend\r\n0\r\n\r\n"), "{}", rest.escape_ascii());
    assert_eq!(end, End::Closed);
    assert!(server.wait().success());
}

#[test]
fn a_page_that_streams_ends_as_it_began_when_it_is_edited() {
    let page = "<% if request.query.go_by ~= 'yes' then response:write(self(), ' old') response:flush() \
                receive() end -%>\n old";
    let tell = "<%= tostring(send(request.query.to, 'go on')) %>";
    let server = start(&[("page.page.txt", page), ("tell.page.txt", tell)]);
    let mut client = server.client();
    client.send(head("GET", "/page", &[])).unwrap();
    let begun = read_to(&mut client, " old\r\n");
    let process = begun.lines().last().and_then(|line| line.strip_suffix(" old")).unwrap();
    server.directory().write("site/page.page.txt", "new");
    until("the new one", || (text(&server.get("/page?go_by=yes")) == "new").then_some(()));
    assert_eq!(text(&server.get(&format!("/tell?to={process}"))), "true");
    assert_eq!(read_to(&mut client, "0\r\n\r\n"), "4\r\n old\r\n0\r\n\r\n");
}
