//! Goal: the fields behind the body of a request reach pages and servers behind the proxy, whichever version of HTTP
//! brings them, and none that means something else there. Method: a module that tells what it got, directly and behind
//! a proxy that speaks either version with it.

use crate::server::Server;
use crate::server::upstreams::exchange;
use crate::site::{answer, content, plan, play, status, target};

const TELL: &str = "return function(request) local told = {} for name, value in pairs(request.trailers) do told[#told + 1] \
                    = name .. '=' .. value end table.sort(told) return #request.body .. ' ' .. table.concat(told, ' ') end";

/// The module, and a proxy in front of it: `/direct`, `/http1/direct`, `/http2/direct`.
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
    let config = format!("{own}{}{}", route("http1", ""), route("http2", "h2c = true\n"));
    let front = plan(&config).file("a.txt", "a\n");
    front.directory.write("app/tell.lua", TELL);
    (front.start(), origin)
}

const PATHS: [&str; 3] = ["/direct", "/http1/direct", "/http2/direct"];

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
    for (stream, path) in [1, 3, 5].into_iter().zip(PATHS) {
        let begun = format!("request {stream} open POST {path}\ndata {stream} | hello");
        let ended = format!("headers {stream} end | {}\nwait end {stream}", fields.join(" | "));
        play(&mut client, &format!("{begun}\n{ended}"));
        let told = content(&client, stream);
        assert_eq!(told, "5 x-list=a, b x-sum=7", "{path}: {}", client.frames());
    }
    // Without content, too; and none are none.
    play(&mut client, "request 7 open POST /http2/direct\nheaders 7 end | x-sum: 7\nwait end 7");
    assert_eq!(content(&client, 7), "0 x-sum=7");
    play(&mut client, "request 9 open POST /http1/direct\ndata 9 end | hello\nwait end 9");
    assert_eq!(content(&client, 9), "5 ");
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
                 chunked\r\n\r\n5\r\nhello\r\n0\r\n{trailers}\r\n"
            );
            let answer = exchange(&front, &request);
            assert!(
                answer.starts_with("HTTP/1.1 200 ") && answer.ends_with(told),
                "{path}: {answer}"
            );
        }
    }
    let request = "POST /http1/direct HTTP/1.1\r\nHost: a\r\nConnection: close, x-hop\r\nTransfer-Encoding: \
                   chunked\r\n\r\n0\r\nX-Hop: 1\r\nX-Sum: 7\r\n\r\n";
    let answer = exchange(&front, request);
    assert!(answer.ends_with("\r\n\r\n0 x-sum=7"), "of one connection: {answer}");
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
