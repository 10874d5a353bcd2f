//! Goal: the fields behind the body of a request reach pages and servers behind the proxy, whichever version of HTTP
//! brings them and as far as there is a place for them, and none that means something else there. Method: a module that
//! tells what it got, directly and behind a proxy that speaks either version with it; and Go's server.

use crate::origins::Other;
use crate::server::upstreams::{all_to, exchange, get};
use crate::server::{Server, has};
use crate::site::{answer, content, field, plan, play, status, target};

const TELL: &str = "return function(request, response) local told = {} for name, value in pairs(request.trailers) do \
                    told[#told + 1] = name .. '=' .. value end table.sort(told) response.headers['x-declared'] = \
                    request.headers.trailer or 'nothing' return #request.body .. ' ' .. table.concat(told, ' ') end";

/// The module, and a proxy in front of it: see `PATHS`.
fn sites() -> (Server, Server) {
    let origin = plan("[[route]]\npath = \"/direct\"\nmodule = \"tell\"\n");
    origin.directory.write("app/tell.lua", TELL);
    let origin = origin.start();
    let address = origin.address();
    let route = |name: &str, keys: &str| {
        format!(
            "[[upstream]]\nname = \"{name}\"\nservers = [\"{address}\"]\n{keys}[[route]]\nprefix = \
             \"/{name}\"\nproxy = {{ upstream = \"{name}\", strip_prefix = true }}\n"
        )
    };
    let own = "[[route]]\npath = \"/direct\"\nmodule = \"tell\"\n";
    let config = [
        own.to_owned(),
        route("http1", ""),
        route("http2", "h2c = true\n"),
        route("whole1", "buffer_request = true\n"),
        route("whole2", "h2c = true\nbuffer_request = true\n"),
    ]
    .concat();
    let front = plan(&config).file("a.txt", "a\n");
    front.directory.write("app/tell.lua", TELL);
    (front.start(), origin)
}

/// Directly, and behind the proxy by version, as the body arrives or whole.
const PATHS: [&str; 5] =
    ["/direct", "/http1/direct", "/http2/direct", "/whole1/direct", "/whole2/direct"];

/// Trailers, of which two mean nothing behind a body.
const TRAILERS: [(&str, &str); 5] = [
    ("x-sum", "7"),
    ("x-list", "a"),
    ("x-list", "b"),
    ("host", "other.test"),
    ("x-forwarded-for", "192.0.2.7"),
];

#[test]
fn trailers_over_http2_are_told_and_passed_on() {
    let (front, _origin) = sites();
    let target = target(&front, "/a.txt");
    let mut client = target.client().unwrap();
    let fields: Vec<_> = TRAILERS.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    for (stream, path) in [1, 3, 5, 7, 9].into_iter().zip(PATHS) {
        let head = format!("request {stream} open POST {path} | trailer: x-sum, x-list");
        let begun = format!("{head}\ndata {stream} | hello");
        let ended = format!("headers {stream} end | {}\nwait end {stream}", fields.join(" | "));
        play(&mut client, &format!("{begun}\n{ended}"));
        let told = content(&client, stream);
        assert_eq!(told, "5 x-list=a, b x-sum=7", "{path}: {}", client.frames());
        assert_eq!(field(&client, stream, "x-declared"), "x-sum, x-list", "{path}");
    }
    // Without content, too; and none are none.
    play(&mut client, "request 11 open POST /http2/direct\nheaders 11 end | x-sum: 7\nwait end 11");
    assert_eq!(content(&client, 11), "0 x-sum=7");
    play(&mut client, "request 13 open POST /http1/direct\ndata 13 end | hello\nwait end 13");
    assert_eq!(content(&client, 13), "5 ");
}

/// A server of HTTP/1.1 gets the length, behind which nothing can stand.
#[test]
fn trailers_behind_a_body_whose_length_is_said_stay_over_http2() {
    let (front, _origin) = sites();
    let target = target(&front, "/a.txt");
    let mut client = target.client().unwrap();
    let mut streams = (1..).step_by(2);
    for path in PATHS {
        let has_place = !path.contains('1');
        for body in ["hello", ""] {
            let stream = streams.next().unwrap();
            let length = body.len();
            let head = format!("request {stream} open POST {path} | content-length: {length}");
            let data = format!("data {stream} | {body}\n");
            let data = if body.is_empty() { "" } else { &data };
            let end = format!("wait ping\nheaders {stream} end | x-sum: 7\nwait end {stream}");
            play(&mut client, &format!("{head} | trailer: x-sum\n{data}{end}"));
            let expected = if has_place { ("x-sum=7", "x-sum") } else { ("", "nothing") };
            assert_eq!(content(&client, stream), format!("{length} {}", expected.0), "{path}");
            assert_eq!(field(&client, stream, "x-declared"), expected.1, "{path}");
        }
    }
}

#[test]
fn trailers_of_a_body_in_chunks_are_told_and_passed_on() {
    let (front, _origin) = sites();
    let fields: String =
        TRAILERS.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    for path in PATHS {
        for (trailers, told) in [(&fields[..], "5 x-list=a, b x-sum=7"), ("", "5 ")] {
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close, x-hop\r\nTransfer-Encoding: \
                 chunked\r\nTrailer: X-Sum\r\nTrailer: X-List\r\n\r\n5\r\nhello\r\n0\r\n{trailers}\r\n"
            );
            let answer = exchange(&front, &request);
            assert!(
                answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(told),
                "{path}: {answer}"
            );
            // A whole body without trailers goes with its length.
            let is_sized = path == "/whole1/direct" && trailers.is_empty();
            let declared = if is_sized { "nothing" } else { "X-Sum, X-List" };
            assert!(
                answer.contains(&format!("\r\nX-Declared: {declared}\r\n")),
                "{path}: {answer}"
            );
        }
    }
    for path in &PATHS[1..] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close, x-hop, trailer\r\nTransfer-Encoding: \
             chunked\r\nTrailer: X-Sum\r\n\r\n0\r\nX-Hop: 1\r\nX-Sum: 7\r\n\r\n"
        );
        let answer = exchange(&front, &request);
        assert!(answer.ends_with("\r\n\r\n0 x-sum=7"), "of one connection: {path}: {answer}");
        assert!(answer.contains("\r\nX-Declared: nothing\r\n"), "of one connection: {answer}");
    }
}

#[test]
fn a_server_of_go_gets_trailers_and_those_of_a_counted_answer_are_declared_where_they_pass() {
    let name =
        "a_server_of_go_gets_trailers_and_those_of_a_counted_answer_are_declared_where_they_pass";
    if !has("go", name) {
        return;
    }
    let go = Other::go();
    for (keys, version) in [("", 1), ("h2c = true", 2), ("h2c = true\nbuffer_request = true", 2)] {
        let front = plan(&all_to(&[go.address], keys)).start();
        let request = "POST /trailers HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: \
                       chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n";
        let told = "5 map[X-Sum:[]] map[X-Sum:[7]]";
        let answer = exchange(&front, request);
        assert!(answer.ends_with(told), "{keys}: {answer}");
        let target = target(&front, "/early");
        let mut client = target.client().unwrap();
        for (stream, length) in [(1, ""), (3, " | content-length: 5")] {
            let head = format!("request {stream} open POST /trailers | trailer: x-sum{length}");
            let rest = format!("data {stream} | hello\nheaders {stream} end | x-sum: 7");
            play(&mut client, &format!("{head}\n{rest}\nwait end {stream}"));
            let told = if version == 1 && stream == 3 { "5 map[] map[]" } else { told };
            assert_eq!(content(&client, stream), told, "{keys}");
        }
        if version == 1 {
            continue;
        }
        // A head that says the length leaves no place for trailers in HTTP/1.
        for (method, content) in [("GET", "ok"), ("HEAD", "")] {
            let answer = exchange(&front, &get("/counted", "").replacen("GET", method, 1));
            assert!(answer.contains("\r\nContent-Length: 2\r\n"), "{answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{content}")), "{answer}");
            assert!(!answer.contains("\r\nTrailer: "), "{answer}");
        }
        play(&mut client, "request 5 GET /counted\nwait end 5");
        assert_eq!(
            (content(&client, 5), field(&client, 5, "trailer")),
            ("ok".into(), "X-Sum".into())
        );
        assert_eq!(crate::site::answer(&client, 5).trailer("x-sum"), Some(&b"7"[..]));
    }
}

#[test]
fn trailers_have_the_bounds_of_fields() {
    let (front, _origin) = sites();
    let target = target(&front, "/a.txt");
    let many = |count: usize, line: &str| -> String { line.repeat(count) };
    for (count, is_right) in [(100, true), (101, false)] {
        let request = format!(
            "POST /direct HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: \
             chunked\r\n\r\n0\r\n{}\r\n",
            many(count, "x: y\r\n")
        );
        let expected = if is_right { "HTTP/1.1 200 " } else { "HTTP/1.1 431 " };
        assert!(exchange(&front, &request).starts_with(expected), "{count}");
        let mut client = target.client().unwrap();
        let fields = many(count, " | x: y");
        play(
            &mut client,
            &format!("request 1 open POST /direct\nheaders 1 end{fields}\nwait end 1"),
        );
        let reset = answer(&client, 1).reset_code();
        match is_right {
            true => assert_eq!((status(&client, 1), reset), (200, None)),
            false => assert_eq!(reset, Some(11), "ENHANCE_YOUR_CALM"),
        }
    }
}

/// Trailers count as heads do: 100 streams with the longest ones stay within the bound of their connection.
#[test]
fn trailers_of_many_streams_hold_no_more_than_heads_may() {
    let config = "[[route]]\npath = \"/wait\"\nmodule = \"wait\"\n";
    let plan = plan(config).file("a.txt", "a\n");
    plan.directory.write("app/wait.lua", "return function() sleep(30) return '' end");
    let server = plan.start();
    let target = target(&server, "/a.txt");
    let mut attacker = target.client().unwrap();
    play(&mut attacker, "repeat 100 request next open POST /wait\nwait ping");
    let ends =
        (1..200).step_by(2).map(|stream| format!("headers {stream} end | x: {{repeat 8000 y}}"));
    play(&mut attacker, &format!("{}\nwait ping", ends.collect::<Vec<_>>().join("\n")));
    crate::floods::is_served(&target);
    let held = crate::floods::held(&server);
    assert!(held <= 1024 * 1024, "{held} bytes were held");
    let refused = attacker.frames().matches("ENHANCE_YOUR_CALM").count();
    assert!(refused > 20, "{refused}: {}", attacker.frames());
}
