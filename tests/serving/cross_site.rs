//! Goal: a page of another site changes nothing on this one. Method: every endpoint of the server that changes
//! something, with every combination of what browsers say about where a request comes from.

use crate::server::client::{Client, field, head, text};
use crate::server::{Plan, Server};
use conformance::{ParsedResponse, RequestKind};

const CONFIG: &str = "[channels]\norigins = [\"https://friend.example:443\"]\n\
    [store]\npath = \"data\"\nsync = \"none\"\n[[database]]\nname = \"0\"\nhttp = true\n\
    [[channel]]\npattern = \"*\"\n[pages]\nuploads = \"up\"\n";

const FORM: &str =
    "--X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\nDATA\r\n--X--\r\n";

/// The statements of a browser, and whether that is a page of this site or of a listed one.
const SAID: [(&[(&str, &str)], bool); 14] = [
    (&[], true),
    (&[("Origin", "http://site")], true),
    (&[("Origin", "https://site:443"), ("Sec-Fetch-Site", "same-origin")], true),
    (&[("Sec-Fetch-Site", "none")], true),
    (&[("Origin", "null"), ("Sec-Fetch-Site", "same-origin")], true),
    (&[("Origin", "https://friend.example"), ("Sec-Fetch-Site", "cross-site")], true),
    (&[("Origin", "http://evil.example")], false),
    (&[("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")], false),
    (&[("Origin", "http://site"), ("Sec-Fetch-Site", "cross-site")], false),
    (&[("Origin", "http://other.site"), ("Sec-Fetch-Site", "same-site")], false),
    (&[("Origin", "null")], false),
    (&[("Sec-Fetch-Site", "cross-site")], false),
    (&[("Sec-Fetch-Site", "same-site")], false),
    (&[("Origin", "https://friend.example:8443")], false),
];

fn server() -> Server {
    let plan = Plan::new()
        .config(CONFIG)
        .file("up.page.txt", "<%= #request.files %> files")
        .file("plain.page.txt", "<%= request.form.a %>");
    std::fs::create_dir(plan.directory.join("up")).unwrap();
    plan.argument("--schedulers=1").start()
}

fn send(server: &Server, request: (&str, &str, &str), said: &[(&str, &str)]) -> ParsedResponse {
    let (method, path, body) = request;
    let length = body.len().to_string();
    let media_type = match body {
        FORM => "multipart/form-data; boundary=X",
        _ => "text/plain",
    };
    let mut fields = vec![("Host", "site"), ("Content-Length", length.as_str())];
    fields.push(("Content-Type", media_type));
    fields.extend(said);
    let mut client = server.client();
    client.send(head(method, path, &fields) + body).unwrap();
    client.response(RequestKind::of_method(Some(method))).unwrap()
}

#[test]
fn only_pages_of_this_site_and_of_listed_ones_change_anything() {
    let server = server();
    assert_eq!(send(&server, ("PUT", "/store/0/n", "5"), &[]).status, 204);
    for (said, is_ours) in SAID {
        for request in [
            ("POST", "/store/0/n?add=1", ""),
            ("PUT", "/store/0/k", "v"),
            ("DELETE", "/store/0/k", ""),
            ("POST", "/channels/a", "m"),
            ("POST", "/up", FORM),
        ] {
            let answer = send(&server, request, said);
            let (method, path, _) = request;
            match is_ours {
                true => assert!(answer.status < 300, "{method} {path} {said:?}: {}", answer.status),
                false => assert_eq!(answer.status, 403, "{method} {path} {said:?}"),
            }
        }
    }
    let ours = SAID.iter().filter(|(_, is_ours)| *is_ours).count();
    assert_eq!(text(&server.get("/store/0/n")), (5 + ours).to_string());
}

#[test]
fn reads_and_requests_to_pages_are_answered_to_all_sites() {
    let server = server();
    assert_eq!(send(&server, ("PUT", "/store/0/n", "5"), &[]).status, 204);
    for (said, _) in SAID {
        assert_eq!(send(&server, ("GET", "/store/0/n", ""), said).status, 200, "{said:?}");
        assert_eq!(send(&server, ("POST", "/plain", "a=1"), said).status, 200, "{said:?}");
    }
    let answer = send(&server, ("POST", "/channels/a", "m"), SAID[5].0);
    assert_eq!(field(&answer, "access-control-allow-origin"), "https://friend.example");
}

#[test]
fn the_admin_service_takes_no_orders_of_pages() {
    let server = server();
    for (said, is_ours) in SAID.into_iter().filter(|(said, _)| !said.contains(&SAID[5].0[0])) {
        let mut client = Client::connect_unix(&server.plan.socket()).unwrap();
        let mut fields = vec![("Host", "site")];
        fields.extend(said);
        let answer = client.request("POST", "/reload", &fields).unwrap();
        assert_eq!(answer.status == 403, !is_ours, "{said:?}: {}", answer.status);
    }
}

#[test]
fn a_default_port_is_the_same_origin_written_or_not() {
    let server = server();
    for (host, origin, is_own) in [
        ("example.org:443", "https://example.org", true),
        ("example.org:80", "http://example.org", true),
        ("example.org", "https://example.org:443", true),
        ("EXAMPLE.org:", "https://example.ORG", true),
        ("[::1]:80", "http://[::1]", true),
        ("example.org.", "https://example.org.", true),
        ("example.org:443", "http://example.org", false),
        ("example.org:443", "https://example.com", false),
        ("example.org:8443", "https://example.org", false),
    ] {
        for (method, path) in [("POST", "/channels/a"), ("POST", "/store/0/m?add=1")] {
            let fields = [("Host", host), ("Origin", origin), ("Content-Length", "0")];
            let status = server.request(method, path, &fields).status;
            assert_eq!(status == 200, is_own, "{path}: {host} {origin}: {status}");
        }
        let socket = [
            ("Host", host),
            ("Origin", origin),
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let mut client = server.client();
        client.send(head("GET", "/channels/a", &socket)).unwrap();
        let mut answer = [0; 12];
        std::io::Read::read_exact(&mut client.stream, &mut answer).unwrap();
        let expected: &[u8] = if is_own { b"HTTP/1.1 101" } else { b"HTTP/1.1 403" };
        assert_eq!(answer, expected, "{host} {origin}");
    }
}
