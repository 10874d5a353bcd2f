//! Goal: a request that says to which trace it belongs is found by that name in the log, by its page and by the servers
//! that are asked because of it; what says so wrongly counts for nothing. Method: the built binary, with a server
//! behind it that returns what it has got.

use std::io::Write;

use serde_json::Value;

use crate::server::other::{Heard, always};
use crate::server::patience::{PATIENCE, until};
use crate::server::upstreams::{OK, all_to, by_hand, connect, next, read_to, start};
use crate::server::{Plan, Server, free_address, printed_by};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

const LOG: &str = "[log]\naccess = \"access.log\"\nformat = \"$path $trace_id\"\n";

fn parent(trace: &str) -> String {
    format!("traceparent: 00-{trace}-00f067aa0ba902b7-01\r\ntracestate: a=1,b=2\r\n")
}

/// The line of the log about this path.
fn logged(server: &Server, path: &str) -> String {
    until("the line of the log", || {
        let text = server.directory().text("access.log");
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(path));
        lines.next().map(|line| line.trim().to_owned())
    })
}

/// The values of a field in a head.
fn values<'h>(head: &'h str, name: &str) -> Vec<&'h str> {
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    fields.filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

#[test]
fn a_server_of_an_upstream_gets_the_trace_as_it_came() {
    let (address, connections) = by_hand();
    let server = start(&format!("{}{LOG}", all_to(&[address], "")));
    let mut client = connect(&server);
    let mut backend = None;
    let mut ask = |path: &str, fields: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        client.write_all(request.as_bytes()).unwrap();
        let backend = backend.get_or_insert_with(|| next(&connections));
        let head = read_to(backend, "\r\n\r\n");
        backend.write_all(OK.as_bytes()).unwrap();
        read_to(&mut client, "\r\n\r\nok");
        head
    };
    // A span of this server that no collector gets would be a parent that is missing.
    let head = ask("/one", &parent(TRACE));
    assert_eq!(values(&head, "traceparent"), [format!("00-{TRACE}-00f067aa0ba902b7-01")]);
    assert_eq!(values(&head, "tracestate"), ["a=1,b=2"]);
    assert_eq!(logged(&server, "/one"), TRACE);
    for (path, fields) in [
        ("/none", String::new()),
        ("/upper", parent(&TRACE.to_uppercase())),
        ("/twice", parent(TRACE).repeat(2)),
        ("/zero", parent(&"0".repeat(32))),
    ] {
        let head = ask(path, &fields);
        let told = [values(&head, "traceparent"), values(&head, "tracestate")].concat();
        assert!(told.is_empty(), "{path}: {head}");
        assert_eq!(logged(&server, path), "-", "{path}");
    }
}

#[test]
fn a_page_knows_the_trace_and_its_fetches_go_on_with_it() {
    let echo = "<%\nlocal headers = request.headers\n\
        response:write(headers.traceparent or 'none', ' ', headers.tracestate or 'none')\n%>";
    let page = "<%\nlocal url = 'http://' .. request.query.at .. '/echo'\n\
        local own = request.query.own\n\
        local headers = own and { Traceparent = own } or nil\n\
        response:write(request.trace or 'none', ' ', assert(fetch(url, { headers = headers })).body)\n%>";
    let server = Plan::new().file("echo.page.html", echo).file("page.page.html", page).start();
    let ask = |more: &str, fields: &[(&str, &str)]| {
        let path = format!("/page?at={}{more}", server.address());
        let answer = server.request("GET", &path, fields);
        String::from_utf8_lossy(&answer.body).trim().to_owned()
    };
    assert_eq!(ask("", &[]), "none none none");
    let value = format!("00-{TRACE}-00f067aa0ba902b7-00");
    let fields = [("traceparent", &*value), ("tracestate", "a=1")];
    let told = ask("", &fields);
    let words: Vec<&str> = told.split(' ').collect();
    let [trace, passed, "a=1"] = words[..] else { panic!("{told}") };
    assert_eq!((trace, passed), (TRACE, &*value));
    // A value of the page itself counts.
    assert_eq!(ask("&own=mine", &fields), format!("{TRACE} mine none"));
}

/// The spans that a collector has got, once there are this many.
fn spans_of(heard: &Heard, count: usize) -> Vec<Value> {
    let mut spans = Vec::new();
    while spans.len() < count {
        let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
        let Some((head, body)) = request.split_once("\r\n\r\n") else { continue };
        assert!(head.starts_with("POST /v1/traces HTTP/1.1"), "{head}");
        assert_eq!(values(head, "content-type"), ["application/json"]);
        let told: Value = serde_json::from_str(body).unwrap();
        let resource = &told["resourceSpans"][0];
        let service = &resource["resource"]["attributes"][0]["value"]["stringValue"];
        assert_eq!(service, "shop");
        spans.extend(resource["scopeSpans"][0]["spans"].as_array().unwrap().iter().cloned());
    }
    spans
}

#[test]
fn a_collector_gets_the_spans_of_sampled_requests() {
    let (address, heard) = always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
    let config =
        format!("[trace]\notlp = \"http://{address}\"\nsample = \"100 %\"\nservice = \"shop\"\n");
    let page = "<% sleep(0.001) response:write(request.trace) %>";
    let asking = "<%= assert(fetch(request.query.url)).body %>";
    let (other, asked) = always(OK);
    let plan = Plan::new().config(&config).file("page.page.html", page);
    let server = plan.file("asking.page.html", asking).start();
    let value = format!("00-{TRACE}-00f067aa0ba902b7-00");
    let fields = [("traceparent", &*value), ("Authorization", "secret")];
    let answer = server.request("GET", "/page?key=secret", &fields);
    assert_eq!(String::from_utf8_lossy(&answer.body).trim(), TRACE);
    let spans = spans_of(&heard, 2);
    assert!(spans.iter().all(|span| span["traceId"] == TRACE), "{spans:?}");
    let (of_request, of_page) = (&spans[0], &spans[1]);
    assert_eq!((&of_request["name"], &of_request["kind"]), (&"GET (files)".into(), &2.into()));
    assert_eq!(of_request["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(of_page["parentSpanId"], of_request["spanId"]);
    let time = |span: &Value, name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
    let took = |span: &Value| time(span, "endTimeUnixNano") - time(span, "startTimeUnixNano");
    assert!(took(of_request) >= took(of_page) && took(of_page) > 0, "{spans:?}");
    assert!(!format!("{spans:?}").contains("secret"), "{spans:?}");
    // One that names no trace gets one.
    let trace = server.get("/page");
    let spans = spans_of(&heard, 2);
    assert_eq!(spans[0]["traceId"], String::from_utf8_lossy(&trace.body).trim());
    assert_eq!(spans[0]["parentSpanId"], "");
    until("the answer of the collector", || (server.count("/spans/sent") == 4).then_some(()));
    // What it asks others is within its span.
    server.request("GET", &format!("/asking?url=http://{other}/"), &fields);
    let spans = spans_of(&heard, 2);
    let own = spans.iter().find(|span| span["parentSpanId"] == "00f067aa0ba902b7").unwrap();
    let (_, request) = asked.recv_timeout(PATIENCE).unwrap();
    let passed = format!("00-{TRACE}-{}-01", own["spanId"].as_str().unwrap());
    assert_eq!(values(&request, "traceparent"), [passed]);
}

#[test]
fn a_collector_that_is_gone_delays_nothing_and_what_it_would_have_got_is_counted() {
    let config = format!("[trace]\notlp = \"http://{}\"\nsample = \"100 %\"\n", free_address());
    let plan = Plan::new().argument("--schedulers=1").config(&config);
    let server = plan.file("a.txt", "a").start();
    let mut client = server.client();
    for _ in 0..20 {
        assert_eq!(client.get("/a.txt").unwrap().status, 200);
    }
    until("the spans to be given up", || (server.count("/spans/dropped") == 20).then_some(()));
    assert_eq!(server.count("/spans/sent"), 0);
    let told = until("an event", || {
        let told = printed_by(&server.ctl(&["events"]));
        told.contains("spans_lost").then_some(told)
    });
    assert!(told.contains(" spans were lost: http://127.0.0.1:"), "{told}");
    assert!(told.contains("/v1/traces: connection refused"), "{told}");
}
