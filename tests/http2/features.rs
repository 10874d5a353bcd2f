//! Goal: every feature answers over HTTP/2 as over HTTP/1.1. Method: one server with all of them, frames by hand; each
//! answer is compared with the one over HTTP/1.1 where both have it.

use std::io::Write;

use conformance::h2::FrameTarget;

use crate::server::Server;
use crate::server::channel::API_KEY;
use crate::server::client::field as field_of;
use crate::server::upstreams::{connect, rest};
use crate::site::{answer, content, field, plan, play, status, target};

const CONFIG: &str = "[error_pages]\n404 = \"/none.html\"\n\
    [[route]]\npath = \"/echo\"\nmodule = \"echo\"\n\
    [[route]]\npath = \"/moved\"\nredirect = { to = \"/a.txt\", status = 301 }\n\
    [[route]]\nprefix = \"/limited\"\nmodule = \"echo\"\nbody_size = \"1 KiB\"\n\
    [[channel]]\npattern = \"room.*\"\nhistory = 10\n[channels]\napi_keys = \"keys\"\n\
    [store]\ndatabases = [\"cards\"]\nsync = \"none\"\n[[database]]\nname = \"cards\"\nhttp = true\n";

fn site() -> Server {
    let plan = plan(CONFIG)
        .file("a.txt", "a\n")
        .file("none.html", "<p>nothing here\n")
        .file("numbers.txt", (0..1000).map(|number| format!("{number:04}\n")).collect::<String>())
        .file("page.page.html", "<p><%= request.query.name or 'nobody' %> <%= request.method %>\n")
        .file("slow.page.txt", "one <% response:flush() sleep(0.05) %>two")
        .file("fail.page.txt", "<% error('broken') %>")
        .file("form.page.txt", "<%= request.form.title %> <%= request.cookies.b %>");
    plan.directory.write("keys", API_KEY);
    plan.directory.write("app/echo.lua", "return function(request) return request.body end");
    let store = format!("--store={}", plan.directory.join("store").display());
    plan.argument(&store).start()
}

/// One request on a connection of its own, with nothing but its fields: the status, the content, and this field.
fn get(target: &FrameTarget, path: &str, fields: &str, name: &str) -> (u16, String, String) {
    let mut client = target.client().unwrap();
    play(&mut client, &format!("window 0 1000000\nrequest 1 GET {path}{fields}\nwait end 1"));
    (status(&client, 1), content(&client, 1), field(&client, 1, name))
}

#[test]
fn answers_are_those_of_http1() {
    let server = site();
    let target = target(&server, "/a.txt");
    for (path, method) in [
        ("/a.txt", "GET"),
        ("/a.txt", "HEAD"),
        ("/a.txt", "DELETE"),
        ("/moved", "GET"),
        ("/none", "GET"),
        ("/page?name=ann", "GET"),
        ("/page", "POST"),
        ("/slow", "GET"),
        ("/fail", "GET"),
        ("/numbers.txt", "GET"),
        ("/store/cards/none", "GET"),
        ("/channels/room.a", "OPTIONS"),
    ] {
        let first = server.request(method, path, &[("Content-Length", "0")]);
        let mut client = target.client().unwrap();
        play(&mut client, &format!("request 1 {method} {path} | content-length: 0\nwait end 1"));
        assert_eq!(status(&client, 1), first.status, "{method} {path}");
        // The page of an error of ours has the number of its request.
        if first.status != 500 {
            assert_eq!(answer(&client, 1).content(), first.body, "{method} {path}");
        }
        let names = ["content-type", "etag", "location", "cache-control", "allow", "last-modified"];
        for name in names {
            let before = first.field(name).unwrap_or_default();
            let before = String::from_utf8_lossy(before).into_owned();
            assert_eq!(field(&client, 1, name), before, "{method} {path}: {name}");
        }
        if first.field("content-length").is_some() {
            let length = field_of(&first, "content-length");
            assert_eq!(field(&client, 1, "content-length"), length, "{method} {path}");
        }
    }
}

#[test]
fn refused_request_for_a_head_gets_no_content() {
    let server = site();
    let target = target(&server, "/a.txt");
    let (path, value) = (format!("/{}", "a".repeat(9_000)), "b".repeat(9_000));
    for (path, value, refused) in [("/\u{e9}", "", 400), (&path, "", 414), ("/a.txt", &value, 431)]
    {
        let mut client = target.client().unwrap();
        play(&mut client, &format!("request 1 HEAD {path} | x: {value}\nwait end 1"));
        assert_eq!((status(&client, 1), content(&client, 1)), (refused, String::new()));
        let mut first = connect(&server);
        first
            .write_all(format!("HEAD {path} HTTP/1.1\r\nHost: a\r\nX: {value}\r\n\r\n").as_bytes())
            .unwrap();
        let answer = rest(&mut first);
        assert!(answer.starts_with(&format!("HTTP/1.1 {refused} ")), "{answer}");
        assert!(answer.contains("Content-Length: ") && answer.ends_with("\r\n\r\n"), "{answer}");
    }
}

#[test]
fn ranges_and_conditions_are_answered() {
    let server = site();
    let target = target(&server, "/a.txt");
    let range = get(&target, "/numbers.txt", " | range: bytes=5-8", "content-range");
    assert_eq!(range, (206, "0001".to_owned(), "bytes 5-8/5000".to_owned()));
    let both = get(&target, "/numbers.txt", " | range: bytes=0-1,-2", "content-type");
    assert!(both.0 == 206 && both.2.starts_with("multipart/byteranges"), "{both:?}");
    let beyond = get(&target, "/numbers.txt", " | range: bytes=9000-", "content-range");
    assert_eq!((beyond.0, beyond.2.as_str()), (416, "bytes */5000"));
    let (_, _, tag) = get(&target, "/numbers.txt", "", "etag");
    let same = get(&target, "/numbers.txt", &format!(" | if-none-match: {tag}"), "etag");
    assert_eq!(same, (304, String::new(), tag));
}

#[test]
fn a_page_gets_forms_and_cookies() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    let fields = "content-type: application/x-www-form-urlencoded | cookie: a=1 | cookie: b=2";
    play(
        &mut client,
        &format!(
            "request 1 open POST /form | {fields}\ndata 1 | title=\ndata 1 end | First\nwait end 1"
        ),
    );
    assert_eq!((status(&client, 1), content(&client, 1)), (200, "First 2".to_owned()));
}

#[test]
fn bodies_are_collected_up_to_their_limit() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 open POST /echo\nrepeat 20 data 1 | {repeat 10000 a}\ndata 1 end");
    play(&mut client, "window 0 1000000\nwindow 1 1000000\nwait end 1");
    assert_eq!((status(&client, 1), answer(&client, 1).content().len()), (200, 200_000));
    // One too long says so at once, or when it has come.
    play(&mut client, "request 3 open POST /limited | content-length: 2000\nwait answer 3");
    assert_eq!(status(&client, 3), 413);
    play(
        &mut client,
        "request 5 open POST /limited\nrepeat 3 data 5 | {repeat 1000 a}\nwait answer 5",
    );
    assert_eq!(status(&client, 5), 413);
    play(&mut client, "request 7 open POST /limited\ndata 7 end | {repeat 1000 a}\nwait end 7");
    assert_eq!(status(&client, 7), 200);
}

#[test]
fn a_hundred_event_streams_share_a_connection() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut listener = target.client().unwrap();
    let request = "request next GET /channels/room.a | accept: text/event-stream";
    play(
        &mut listener,
        &format!("window 0 1000000\nrepeat 99 {request}\nwait answer 1\nwait answer 197"),
    );
    assert_eq!(field(&listener, 1, "content-type"), "text/event-stream");
    server.reaches("/channels/subscriptions", 99);
    let mut publisher = target.client().unwrap();
    let key = format!("authorization: Bearer {API_KEY}");
    play(
        &mut publisher,
        &format!("request 1 open POST /channels/room.a | {key}\ndata 1 end | news\nwait end 1"),
    );
    assert!(status(&publisher, 1) < 300, "{}", content(&publisher, 1));
    crate::server::patience::until("the news on every stream", || {
        listener.play("wait quiet").unwrap();
        let heard = |stream: &u32| content(&listener, *stream).contains("data: news");
        (1..198).step_by(2).all(|stream| heard(&stream)).then_some(())
    });
    // One that leaves is unsubscribed, and the others stay.
    play(&mut listener, "reset 1 CANCEL");
    server.reaches("/channels/subscriptions", 98);
    drop(listener);
    server.reaches("/channels/subscriptions", 0);
}

#[test]
fn the_store_answers() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 open PUT /store/cards/a%20b\ndata 1 end | value\nwait end 1");
    assert_eq!(status(&client, 1), 204);
    play(
        &mut client,
        "request 3 GET /store/cards/a%20b\nwait end 3\nrequest 5 DELETE /store/cards/a%20b\nwait end 5",
    );
    assert_eq!((status(&client, 3), content(&client, 3)), (200, "value".to_owned()));
    assert_eq!(status(&client, 5), 204);
}

#[test]
fn answers_overtake_each_other() {
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 GET /slow\nrequest 3 GET /a.txt\nwait end 3");
    assert_eq!(content(&client, 3), "a\n");
    play(&mut client, "wait end 1");
    assert_eq!(content(&client, 1), "one two");
    // A client that resets a page that runs gets the next answer.
    play(&mut client, "request 5 GET /slow\nreset 5 CANCEL\nrequest 7 GET /page\nwait end 7");
    assert_eq!(status(&client, 7), 200);
}

#[test]
fn a_request_whose_tls_ended_before_is_served() {
    // A proxy that ends TLS passes on the scheme that its client used.
    let server = site();
    let target = target(&server, "/a.txt");
    let mut client = target.client().unwrap();
    let pseudo = ":method: GET | :scheme: https | :authority: one.example | :path: /a.txt";
    play(&mut client, &format!("headers 1 end | {pseudo}\nwait end 1"));
    assert_eq!((status(&client, 1), content(&client, 1)), (200, "a\n".to_owned()));
}
