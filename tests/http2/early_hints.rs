//! Goal: a client that waits gets links before its answer, if it can use them; the answer is as without them.
//! Method: pages, a module and a server behind the proxy that wait; raw HTTP/1, frames, and real clients.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::server::browser::Browser;
use crate::server::channel::{connect, say};
use crate::server::client::head;
use crate::server::patience::until;
use crate::server::{Plan, Server, errors_of, has, printed_by, run};
use crate::site::{ENCRYPTED, answer, content, encrypted, field, plan, play, status, target};

const LINK: &str = "</style.css>; rel=preload; as=style";
const NAVIGATES: (&str, &str) = ("Sec-Fetch-Mode", "navigate");

const CONFIG: &str = "[log]\naccess = \"access.log\"\n\
    [[route]]\npath = \"/both\"\nfiles = {}\nearly_hints = [\"</first.css>; rel=preload; as=style\"]\n\
    [[route]]\nprefix = \"/module\"\nmodule = \"slow\"\nearly_hints = [\"</of-route.js>; rel=preload; as=script\"]\n";

/// A page that gives one link and waits, then this.
fn page(rest: &str) -> String {
    format!("<% response:early_hints(\"{LINK}\") sleep(0.001) {rest} %>done")
}

fn with_pages(plan: Plan) -> Plan {
    let many = "for _ = 1, 33 do response:early_hints('</a>; rel=x') end";
    let large = "response:early_hints('</' .. ('a'):rep(9000) .. '>; rel=x')";
    let plan = plan
        .file("slow.page.html", page(""))
        .file("both.page.html", page(&page("").replace("<% ", "").replace(" %>done", "")))
        .file("same.page.html", page("response.status = 304"))
        .file("fail.page.html", page("error('broken')"))
        .file("late.page.html", "a <% response:flush() response:early_hints('</a>; rel=x') %>")
        .file("ready.page.html", format!("<% response:early_hints(\"{LINK}\") %>done"))
        .file("wrong.page.html", "<% response:early_hints('style.css') %>")
        .file("many.page.html", format!("<% {many} %>"))
        .file("large.page.html", format!("<% {large} %>"))
        .file("a.txt", "a");
    let module = format!(
        "return function(request, response) response:early_hints('{LINK}') sleep(0.001) return 'done' end"
    );
    plan.directory.write("app/slow.lua", module);
    plan
}

fn site() -> Server {
    with_pages(plan(CONFIG)).start()
}

/// All that a client of HTTP/1 gets for these bytes, with the time of each head left out.
fn all(server: &Server, bytes: &str) -> String {
    let mut client = server.client();
    client.send(bytes).unwrap();
    let (all, _) = client.rest().unwrap();
    let all = String::from_utf8(all).unwrap();
    let lines: Vec<&str> = all.split("\r\n").filter(|line| !line.starts_with("Date: ")).collect();
    lines.join("\n")
}

fn get(path: &str, fields: &[(&str, &str)]) -> String {
    head("GET", path, &[fields, &[("Connection", "close")]].concat())
}

#[test]
fn links_of_the_route_behind_files_are_sent() {
    let files = "files = { root = \"site\", try = [\"$path\", \"next\"] }\n";
    let server =
        with_pages(plan(&format!("[[route]]\nprefix = \"/module\"\n{files}{CONFIG}"))).start();
    let early = "HTTP/1.1 103 Early Hints\nLink: </of-route.js>; rel=preload; as=script\n";
    // With the disk asked first, and with what it said before.
    for _ in 0..2 {
        let told = all(&server, &get("/module/a", &[NAVIGATES]));
        assert!(told.starts_with(early), "{told}");
    }
}

#[test]
fn a_browser_of_http1_gets_links_while_a_page_waits() {
    let server = site();
    let early = format!("HTTP/1.1 103 Early Hints\nLink: {LINK}\n\n");
    let last = "HTTP/1.1 200 OK\nConnection: close\nContent-Type: text/html; charset=utf-8\nContent-Length: 4\n\ndone";
    assert_eq!(all(&server, &get("/slow", &[NAVIGATES])), format!("{early}{last}"));
    let first = "HTTP/1.1 103 Early Hints\nLink: </first.css>; rel=preload; as=style\n";
    let twice = format!("{first}Link: {LINK}\n\n{early}{last}");
    assert_eq!(all(&server, &get("/both", &[NAVIGATES])), twice, "links of the route once");
    // Clients that may take the first head for the answer, or ask for no document.
    assert_eq!(all(&server, &get("/slow", &[])), last);
    assert_eq!(all(&server, &get("/slow", &[("Sec-Fetch-Mode", "cors")])), last);
    assert_eq!(all(&server, &get("/ready", &[NAVIGATES])), last, "its answer is ready at once");
    let old = "GET /slow HTTP/1.0\r\nHost: a\r\nSec-Fetch-Mode: navigate\r\n\r\n";
    assert!(!all(&server, old).contains("103"), "{}", all(&server, old));
    let head = get("/slow", &[NAVIGATES]).replace("GET", "HEAD");
    assert!(!all(&server, &head).contains("103"), "{}", all(&server, &head));
    // Requests that were sent ahead are answered in order.
    let ahead = self::head("GET", "/slow", &[NAVIGATES]);
    let told = all(&server, &format!("{ahead}{}", get("/a.txt", &[])));
    let order: Vec<&str> = told.split("HTTP/1.1 ").map(|head| &head[..head.len().min(3)]).collect();
    assert_eq!(order, ["", "103", "200", "200"]);
}

#[test]
fn a_client_of_http2_gets_links_whatever_the_answer() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    let cases: [(&str, &[u16], u16); 10] = [
        ("GET /slow", &[103], 200),
        ("GET /slow | sec-fetch-mode: navigate", &[103], 200),
        ("GET /slow | sec-fetch-mode: no-cors", &[], 200),
        ("GET /both", &[103, 103], 200),
        ("GET /module", &[103], 200),
        ("GET /same", &[103], 304),
        ("GET /fail", &[103], 500),
        ("GET /ready", &[], 200),
        ("HEAD /slow", &[], 200),
        ("POST /slow", &[], 200),
    ];
    for (stream, (request, interim, final_status)) in (1..).step_by(2).zip(cases) {
        play(&mut client, &format!("request {stream} {request}\nwait end {stream}"));
        assert_eq!(answer(&client, stream).interim(), interim, "{request}");
        assert_eq!(status(&client, stream), final_status, "{request}");
        assert_eq!(field(&client, stream, "link"), "", "{request}: the answer has its own fields");
    }
    assert_eq!(content(&client, 1), "done");
    let lines = until("the lines of the log", || {
        let log = server.directory().text("access.log");
        (log.matches("/slow").count() == 5).then_some(log)
    });
    // Before are the lines of what the test learnt about the server.
    let lines: Vec<&str> = lines.lines().rev().take(cases.len()).collect();
    for (line, (request, _, final_status)) in lines.iter().rev().zip(cases) {
        assert!(line.contains(&format!("HTTP/2.0\" {final_status} ")), "{request}: {line}");
    }
}

#[test]
fn a_page_cannot_give_what_is_no_link_nor_too_many_nor_too_late() {
    let server = site();
    for (path, told) in [
        ("/wrong", "wrong.page.html:1: a link begins with its target in angle brackets"),
        ("/many", "many.page.html:1: a page gives at most 32 links with 8192 bytes"),
        ("/large", "large.page.html:1: a page gives at most 32 links with 8192 bytes"),
    ] {
        assert_eq!(server.get(path).status, 500, "{path}");
        assert!(server.printed_errors().contains(told), "{path}: {}", server.printed_errors());
    }
    assert!(server.client().get("/late").is_err(), "its answer was cut");
    let told = "late.page.html:1: the head was sent";
    assert!(server.printed_errors().contains(told), "{}", server.printed_errors());
}

/// A server that answers a request for `/slow` when it is told to, and others at once.
fn patient() -> (SocketAddr, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, may_answer) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            serve(stream, &may_answer);
        }
    });
    (address, sender)
}

fn serve(mut stream: TcpStream, may_answer: &Receiver<()>) {
    let mut buffer = [0; 4096];
    // Requests without bodies come in one piece.
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
        if buffer.starts_with(b"GET /slow ") && may_answer.recv().is_err() {
            return;
        }
        let early = format!("HTTP/1.1 103 Early Hints\r\nLink: {LINK}\r\n\r\n");
        let last = "HTTP/1.1 200 OK\r\nDate: a\r\nContent-Length: 2\r\n\r\nok";
        if stream.write_all((early + last).as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn links_of_a_route_come_before_a_server_answers_and_those_of_the_server_pass() {
    let (address, may_answer) = patient();
    let config = format!(
        "[[upstream]]\nname = \"behind\"\nservers = [\"{address}\"]\n[[route]]\nprefix = \"/\"\nproxy = \"behind\"\n\
         early_hints = [\"</of-route.css>; rel=preload; as=style\"]\n"
    );
    let server = plan(&config).start();
    let mut client = connect(server.address());
    let interim = say(&mut client, get("/slow", &[NAVIGATES]).as_bytes(), b"\r\n\r\n");
    let of_route = "Link: </of-route.css>; rel=preload; as=style";
    let expected = format!("HTTP/1.1 103 Early Hints\r\n{of_route}\r\n\r\n");
    assert_eq!(String::from_utf8(interim).unwrap(), expected);
    may_answer.send(()).unwrap();
    let rest = String::from_utf8(say(&mut client, b"", b"\r\n\r\nok")).unwrap();
    let passed = format!("HTTP/1.1 103 Early Hints\r\nLink: {LINK}\r\n\r\nHTTP/1.1 200 OK\r\n");
    assert!(rest.starts_with(&passed) && rest.ends_with("\r\n\r\nok"), "{rest}");
    let target = target(&server, "/");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 GET /slow");
    may_answer.send(()).unwrap();
    play(&mut client, "wait end 1");
    assert_eq!(
        (answer(&client, 1).interim(), content(&client, 1).as_str()),
        (&[103, 103][..], "ok")
    );
}

const GO: &str = r#"package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
)

func main() {
	pool := x509.NewCertPool()
	file, _ := os.ReadFile(os.Args[2])
	pool.AppendCertsFromPEM(file)
	for _, second := range []bool{true, false} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: second}
		if !second {
			transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		}
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, fields textproto.MIMEHeader) error {
			fmt.Println(code, fields["Link"])
			return nil
		}}
		context := httptrace.WithClientTrace(context.Background(), trace)
		request, _ := http.NewRequestWithContext(context, "GET", os.Args[1]+"/slow", nil)
		request.Header.Set("Sec-Fetch-Mode", "navigate")
		answer, err := transport.RoundTrip(request)
		if err != nil {
			panic(err)
		}
		text, _ := io.ReadAll(answer.Body)
		fmt.Println(answer.Proto, answer.StatusCode, string(text))
	}
}
"#;

#[test]
fn clients_see_links_before_the_answer() {
    const TEST: &str = "clients_see_links_before_the_answer";
    let (server, address, ca) = encrypted(with_pages(Plan::new().config(ENCRYPTED)));
    let url = format!("https://localhost:{}", address.port());
    if has("go", TEST) {
        server.directory().write("client.go", GO);
        let mut go = Command::new("go");
        go.arg("run").arg(server.directory().join("client.go")).arg(&url).arg(&ca);
        let output = run(&mut go);
        let early = format!("103 [{LINK}]\n");
        let expected = format!("{early}HTTP/2.0 200 done\n{early}HTTP/1.1 200 done\n");
        assert_eq!(printed_by(&output), expected, "{}", errors_of(&output));
    }
    if has("curl", TEST) {
        for (version, word) in [("--http2", "HTTP/2 103"), ("--http1.1", "HTTP/1.1 103")] {
            let mut curl = Command::new("curl");
            curl.args(["-sS", version, "-H", "Sec-Fetch-Mode: navigate", "-D", "-", "--cacert"]);
            let output = run(curl.arg(&ca).arg(format!("{url}/slow")));
            let told = printed_by(&output);
            assert!(told.starts_with(word) && told.ends_with("\r\n\r\ndone"), "{version}: {told}");
        }
    }
}

#[test]
fn a_browser_fetches_what_is_hinted_before_the_page_is_there() {
    const TEST: &str = "a_browser_fetches_what_is_hinted_before_the_page_is_there";
    if !has("chromium", TEST) {
        return;
    }
    // The page is complete when its style sheet was asked for.
    let page = "<% register('page') local style = '/hinted.css?' .. request.query.n \
        response:early_hints('<' .. style .. '>; rel=preload; as=style') local told = receive(5) \
        %><!doctype html><link rel=stylesheet href=\"<%= style %>\"><p id=told><%= told or 'not asked' %>\n";
    let module = "return function(request, response) local page = whereis('page') \
        if page then send(page, 'asked before') end response.headers['Content-Type'] = 'text/css' \
        response.headers['Cache-Control'] = 'max-age=60' return 'p { color: green }' end";
    let config = format!("{ENCRYPTED}[[route]]\npath = \"/hinted.css\"\nmodule = \"style\"\n");
    let plan = Plan::new().config(&config).file("index.page.html", page);
    plan.directory.write("app/style.lua", module);
    let (server, address, _) = encrypted(plan.argument("--schedulers=1"));
    let url = format!("https://localhost:{}/?n=", address.port());
    let mut browser = Browser::open(server.directory(), &format!("{url}1"));
    // Chromium misses the hints of one page in ten, of which its own record of the network has no word.
    let follows = |visit: usize| {
        if visit > 1 {
            browser.visit(&format!("{url}{visit}"));
        }
        let is_there = format!(
            "location.search === '?n={visit}' && document.readyState === 'complete' && \
             !!document.querySelector('#told')"
        );
        browser.until("the page", &is_there);
        browser.value("document.querySelector('#told').innerText") == "asked before"
    };
    assert!((1..=5).any(follows), "no hint of five pages was followed");
    assert_eq!(server.printed_troubles(), "");
}
