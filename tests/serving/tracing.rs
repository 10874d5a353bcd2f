//! Goal: a trace shows each step of what it is about and nothing that a client has sent as a field or a body; it ends
//! by itself, keeps its rate under load, and says what it has left out. Method: the built binary, traces over its
//! control socket while requests run, and `velodrome ctl trace`.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;

use crate::server::channel;
use crate::server::other::always;
use crate::server::patience::{PATIENCE, until};
use crate::server::upstreams::{OK, all_to};
use crate::server::{Plan, Server, errors_of};

/// A trace under way.
struct Trace(BufReader<UnixStream>);

impl Trace {
    /// Begins one; it has begun on all schedulers when this returns.
    fn begin(server: &Server, query: &str) -> Self {
        // One whose reader has just left may not have ended.
        let mut trace = until("the last trace to have ended", || {
            let mut trace = Self(ask(server, query));
            (trace.line().trim() == "HTTP/1.1 200 OK").then_some(trace)
        });
        while !trace.line().trim().is_empty() {}
        let begun: Value = serde_json::from_str(&trace.line()).unwrap();
        assert_eq!(begun["line"], "begun", "{begun}");
        trace
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Steps up to the one that has this word.
    fn steps_to(&mut self, last: &str) -> Vec<Value> {
        let mut steps = Vec::new();
        while steps.last().is_none_or(|step: &Value| step["what"] != last) {
            steps.push(self.next());
        }
        steps
    }

    /// The rest of the steps, and the last line.
    fn end(mut self) -> (Vec<Value>, Value) {
        let mut steps = Vec::new();
        loop {
            let line = self.next();
            if line["line"] == "ended" {
                assert_eq!(self.line(), "");
                return (steps, line);
            }
            steps.push(line);
        }
    }
}

fn ask(server: &Server, query: &str) -> BufReader<UnixStream> {
    let mut stream = UnixStream::connect(server.directory().join("run/control.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "POST /trace?{query} HTTP/1.0\r\nHost: control\r\n\r\n").unwrap();
    BufReader::new(stream)
}

fn words(steps: &[Value]) -> Vec<&str> {
    steps.iter().map(|step| step["what"].as_str().unwrap()).collect()
}

fn details(steps: &[Value]) -> Vec<&str> {
    steps.iter().map(|step| step["detail"].as_str().unwrap()).collect()
}

#[test]
fn a_request_is_followed_from_its_head_to_its_answer() {
    let page = "<% sleep(0.001) response:write('page') %>";
    let server = Plan::new().argument("--schedulers=2").file("page.page.html", page).start();
    let mut trace = Trace::begin(&server, "what=url&pattern=/pa*");
    assert_eq!(server.get("/none").status, 404);
    assert_eq!(server.get("/page?a=b").status, 200);
    let steps = trace.steps_to("answer");
    let told: Vec<_> = words(&steps).into_iter().zip(details(&steps)).collect();
    assert_eq!(told[0], ("request", "GET /page of test"));
    assert_eq!(
        told[1..4],
        [("route", "(files)"), ("page begins", "page.page.html"), ("waits for", "time (sleep)")]
    );
    assert_eq!(
        told[told.len() - 3..],
        [("goes on", ""), ("page ends", ""), ("answer", "200, 4 bytes")]
    );
    let of = &steps[0]["of"];
    assert!(steps.iter().all(|step| step["of"] == *of), "{steps:?}");
    let times: Vec<u64> = steps.iter().map(|step| step["at_ns"].as_u64().unwrap()).collect();
    assert!(times.is_sorted() && times[times.len() - 1] > times[0], "{times:?}");
}

#[test]
fn nothing_that_a_client_sends_as_a_field_or_a_body_is_shown_unless_it_is_asked_for() {
    let page = "<% response:write(request.body) %>";
    // With several, the steps of the two requests come in any order.
    let server = Plan::new().argument("--schedulers=1").file("page.page.html", page).start();
    let ask = || {
        let fields = [("Authorization", "Basic secret"), ("Cookie", "a=secret")];
        assert_eq!(server.request("GET", "/page?key=secret", &fields).status, 200);
        let mut client = server.client();
        let body = "POST /page HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nsecret";
        client.send(body).unwrap();
        client.receive().unwrap();
    };
    for what in
        ["what=url&pattern=*", "what=conn&pattern=127.*", "what=page&pattern=page.page.html"]
    {
        let mut trace = Trace::begin(&server, what);
        ask();
        let steps = [trace.steps_to("answer"), trace.steps_to("answer")].concat();
        let text = format!("{steps:?}");
        assert!(!text.contains("secret") && text.contains("POST /page of a"), "{text}");
    }
    let mut trace = Trace::begin(&server, "what=url&pattern=*&content=yes");
    ask();
    let steps = trace.steps_to("answer");
    let shown = details(&steps)[0];
    assert!(shown.contains("/page?key=secret") && shown.contains("Basic secret"), "{shown}");
}

#[test]
fn a_trace_keeps_its_rate_under_load_ends_and_says_what_it_left_out() {
    let server = Plan::new().argument("--schedulers=2").file("a.txt", "a").start();
    let stops = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (mut client, stops) = (server.client(), Arc::clone(&stops));
            thread::spawn(move || {
                let mut count = 0_u64;
                while !stops.load(Ordering::Relaxed) {
                    assert_eq!(client.get("/a.txt").unwrap().status, 200);
                    count += 1;
                }
                count
            })
        })
        .collect();
    let (steps, ended) = Trace::begin(&server, "what=url&pattern=/a.txt&max=10&for=2").end();
    stops.store(true, Ordering::Relaxed);
    let sent: u64 = clients.into_iter().map(|client| client.join().unwrap()).sum();
    let requests = words(&steps).iter().filter(|word| **word == "request").count() as u64;
    // A second's worth at once, and two seconds: no more, however long the machine takes.
    assert!((1..=30).contains(&requests), "{requests}");
    let left_out = ended["left_out"].as_u64().unwrap();
    assert!(left_out > 0 && left_out + requests <= sent, "{left_out} and {requests} of {sent}");
    assert_eq!((&ended["steps"], &ended["silent"]), (&steps.len().into(), &Value::Array(vec![])));
}

#[test]
fn there_is_one_trace_at_a_time_and_it_ends_when_its_reader_leaves() {
    let server = Plan::new().file("a.txt", "a").start();
    let first = Trace::begin(&server, "what=user&pattern=ann");
    let second = server.ctl(&["trace", "url", "*"]);
    let told = errors_of(&second);
    assert!(told.contains("there is a trace of user ann, for another "), "{told}");
    drop(first);
    let mut third = Trace::begin(&server, "what=url&pattern=/a.txt");
    assert_eq!(server.get("/a.txt").status, 200);
    assert!(!third.steps_to("answer").is_empty());
}

#[test]
fn a_request_that_is_passed_on_shows_its_server() {
    let (address, _heard) = always(OK);
    let server = Plan::new().config(&all_to(&[address], "")).start();
    let mut trace = Trace::begin(&server, "what=url&pattern=*");
    assert_eq!(server.get("/x").status, 200);
    let steps = trace.steps_to("answer");
    let mut told = words(&steps).into_iter().zip(details(&steps));
    let passed = told.find(|(word, _)| *word == "passed on");
    assert_eq!(passed, Some(("passed on", &*format!("a, {address}"))));
    assert_eq!(told.find(|(word, _)| *word == "answer begins"), Some(("answer begins", "200")));
}

#[test]
fn a_trace_is_printed_while_it_runs_or_written_as_a_file() {
    let server = Plan::new().file("a.txt", "a").start();
    for (file, told) in [("trace.html", "<svg"), ("trace.json", "\"traceEvents\"")] {
        let path = server.directory().join(file);
        let words = ["trace", "url", "/a.txt", "--for", "1s", "-o", path.to_str().unwrap()];
        let output = asked_meanwhile(&server, &words);
        assert!(output.contains("left out: 0 that came too fast, 0 steps"), "{output}");
        assert!(server.directory().text(file).contains(told));
    }
    let output = asked_meanwhile(&server, &["trace", "url", "/a.txt", "--for", "1s"]);
    let answer = output.lines().find(|line| line.contains("answer"));
    assert!(answer.is_some_and(|line| line.ends_with("200, 1 bytes")), "{output}");
    let output = asked_meanwhile(
        &server,
        &["trace", "url", "/a.txt", "--for", "1s", "--max", "100/s", "--json"],
    );
    assert!(output.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{output}");
    let wrong = server.ctl(&["trace", "url", "*", "--for", "11m"]);
    assert!(errors_of(&wrong).contains("`for=660` is not 1 to 600 seconds"), "{wrong:?}");
}

/// The output of a command while one request is answered, which is sent once the command says that it traces.
fn asked_meanwhile(server: &Server, words: &[&str]) -> String {
    let mut child = server.ctl_command(words).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    output.read_line(&mut text).unwrap();
    assert_eq!(server.get("/a.txt").status, 200);
    output.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    text
}

#[test]
fn a_key_is_followed_in_every_command_and_page_that_names_it() {
    let page = "<% local act = request.query.act \
        if act == 'put' then store.put('k', 1) elseif act == 'delete' then store.delete('k') \
        else store.transaction(function(t) t:put('other', 1) t:put('k', 2) end) end %>";
    let plan = Plan::new().file("page.page.txt", page).argument("--listen-resp=127.0.0.1:0");
    let store = plan.directory.join("store").display().to_string();
    let server = plan.argument(&format!("--store={store}")).argument("--schedulers=1").start();
    for act in ["put", "delete", "transaction"] {
        let mut trace = Trace::begin(&server, "what=key&pattern=k");
        assert_eq!(server.get(&format!("/page?act={act}")).status, 200);
        let steps = trace.steps_to("answer");
        let told = words(&steps);
        assert!(told[0] == "request" && told.contains(&"order"), "{act}: {steps:?}");
    }
    let mut client = channel::connect(channel::resp(&server));
    for (command, reply) in [
        ("MGET a k\r\n", "*2\r\n$-1\r\n$1\r\n2\r\n"),
        ("EXISTS a k\r\n", ":1\r\n"),
        ("MSET a 1 k 2\r\n", "+OK\r\n"),
        ("WATCH a k\r\n", "+OK\r\n"),
        ("DEL b k\r\n", ":1\r\n"),
    ] {
        let mut trace = Trace::begin(&server, "what=key&pattern=k");
        channel::say(&mut client, command.as_bytes(), reply.as_bytes());
        let steps = trace.steps_to("reply");
        let verb = command.split(' ').next().unwrap();
        assert_eq!(details(&steps)[0], format!("{verb} k"), "{steps:?}");
    }
    channel::say(&mut client, b"UNWATCH\r\n", b"+OK\r\n");
    let mut trace = Trace::begin(&server, "what=key&pattern=k");
    channel::say(&mut client, b"MULTI\r\nSET k 3\r\nEXEC\r\n", b"+OK\r\n+QUEUED\r\n*1\r\n+OK\r\n");
    let queued = trace.steps_to("reply");
    assert_eq!(details(&queued), ["SET k", ""]);
    let executed = trace.steps_to("reply");
    assert_eq!(details(&executed)[0], "EXEC k");
    assert_eq!(words(&executed), ["command", "order", "done", "reply"]);
}

#[test]
fn an_interrupted_trace_says_what_it_has_got() {
    let server = Plan::new().file("a.txt", "a").argument("--schedulers=1").start();
    let interrupted = |words: &[&str], until: &str| {
        let mut child = server.ctl_command(words).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        while !text.contains(until) {
            assert!(output.read_line(&mut text).unwrap() > 0, "no `{until}` in {text}");
            if text.lines().count() == 1 {
                assert_eq!(server.get("/a.txt").status, 200);
            }
        }
        sys::signal::send(child.id(), sys::signal::Signal::Interrupt).unwrap();
        output.read_to_string(&mut text).unwrap();
        assert!(child.wait().unwrap().success(), "{text}");
        text
    };
    let told = interrupted(&["trace", "url", "/a.txt", "--for", "10m"], " answer ");
    let last = told.lines().last().unwrap();
    assert!(last.contains(" steps of 1; left out: "), "{told}");
    assert!(last.ends_with("nothing is known of schedulers 0"), "{told}");
    let path = server.directory().join("trace.html");
    let words = ["trace", "url", "/a.txt", "--for", "10m", "-o", path.to_str().unwrap()];
    interrupted(&words, "url /a.txt: ");
    let file = server.directory().text("trace.html");
    assert!(file.contains("nothing is known of schedulers 0"), "{file}");
}

#[test]
fn a_page_is_named_by_its_file_alone_or_with_its_directory_and_a_host_without_its_port() {
    let server = Plan::new().file("a.page.txt", "a").argument("--schedulers=1").start();
    let full = server.directory().join("site/a.page.txt").display().to_string();
    for pattern in [
        "what=page&pattern=a.page.txt",
        &format!("what=page&pattern={full}"),
        "pattern=localhost/a",
    ] {
        let mut trace = Trace::begin(&server, pattern);
        let mut client = server.client();
        client.send("GET /a HTTP/1.1\r\nHost: localhost:8080\r\n\r\n").unwrap();
        client.receive().unwrap();
        assert_eq!(words(&trace.steps_to("answer"))[0], "request", "{pattern}");
    }
}
