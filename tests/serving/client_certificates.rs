//! Goal: what a client's certificate says is seen by pages, the log, `access` and channels, and decides. Method:
//! clients of rustls with a certificate of the test's authority, of another one, and with none.

use std::net::SocketAddr;

use serde_json::Value;

use crate::server::Server;
use crate::server::certificates::{Authority, Shown};
use crate::server::patience::{PATIENCE, until};
use crate::tls::{LISTENER, NAME, addresses, failed, site};

#[test]
fn over_tls_pages_see_the_clients_certificate_and_files_arrive_whole() {
    let asked = "client_ca = \"ca.pem\"\nclient_certificates = \"asked\"\n";
    let (plan, authority) = site(&format!("{LISTENER}{asked}{LISTENER}client_ca = \"ca.pem\"\n"));
    let ann = authority.issue(&plan.directory, "ann", &["ann"]);
    let strangers = crate::server::directory::Directory::new();
    let stranger = Authority::in_directory(&strangers).issue(&strangers, "bob", &["bob"]);
    let server = plan.listen_as_configured(2).start();
    let [asking, requiring] = addresses(&server, "https://")[..] else {
        panic!("{:?}", server.announced);
    };
    let (anyone, known) = (authority.client(None), authority.client(Some(&ann)));
    let answer = anyone.get(asking, NAME, "/tls").unwrap();
    assert!(answer.ends_with(&format!("https\nTLSv1.3 X25519MLKEM768 {NAME} - 0")), "{answer}");
    for address in [asking, requiring] {
        let answer = known.get(address, NAME, "/tls").unwrap();
        assert!(
            answer.ends_with(&format!("https\nTLSv1.3 X25519MLKEM768 {NAME} CN=ann 64")),
            "{answer}"
        );
    }
    // Also not with the ticket of a listener that only asks.
    assert!(anyone.get(requiring, NAME, "/tls").is_err());
    assert!(authority.client(Some(&stranger)).get(asking, NAME, "/tls").is_err());
    failed(&server, "certificate_missing");
    // Its issuer has the name of the known one, but another key.
    failed(&server, "certificate_invalid");
    // Kept alive, and a large file.
    let content = vec![b'x'; 3_000_000];
    server.directory().write("site/large.txt", &content);
    let mut kept = anyone.connect(asking, NAME).unwrap();
    for _ in 0..3 {
        assert!(kept.get(NAME, "/a.txt").unwrap().ends_with("\r\n\r\na\n"));
        let large = kept.get(NAME, "/large.txt").unwrap();
        assert_eq!(large.split_once("\r\n\r\n").unwrap().1.len(), content.len());
    }
    server.reaches("/network/handshakes_under_way", 0);
}

#[test]
fn the_log_has_what_certificates_of_clients_say_as_pages_see_it() {
    let fields =
        "[\"path\", \"tls_client_subject\", \"tls_client_issuer\", \"tls_client_fingerprint\"]";
    let json = format!("[log]\naccess = \"access.log\"\nformat = \"json\"\nfields = {fields}\n");
    let text = "[log]\naccess = \"access.log\"\n\
        format = \"$path <$tls_client_subject> <$tls_client_issuer> <$tls_client_fingerprint>\"\n";
    let asked = "client_ca = \"ca.pem\"\nclient_certificates = \"asked\"\n";
    let page = "<%= request.tls.subject or '-' %>|<%= request.tls.issuer or '-' %>|<%= \
                request.tls.fingerprint or '-' %>";
    for log in [&*json, text] {
        let (plan, authority) = site(&format!("{log}{LISTENER}{asked}"));
        let plan = plan.file("shown.page.txt", page);
        let ann = authority.issue(&plan.directory, "ann", &["ann"]);
        let server = plan.listen_as_configured(1).start();
        let [address] = addresses(&server, "https://")[..] else {
            panic!("{:?}", server.announced)
        };
        let answer = authority.client(Some(&ann)).get(address, NAME, "/shown").unwrap();
        let shown: Vec<&str> = answer.split_once("\r\n\r\n").unwrap().1.split('|').collect();
        assert_eq!(shown[..2], ["CN=ann", "CN=Authority of the tests"]);
        assert_eq!(shown[2].len(), 64, "{answer}");
        authority.client(None).get(address, NAME, "/none").unwrap();
        let lines = until("two lines of the log", || {
            let log = server.directory().text("access.log");
            let lines: Vec<String> = log.lines().map(str::to_owned).collect();
            (lines.len() == 2 && log.ends_with('\n')).then_some(lines)
        });
        let [subject, issuer, fingerprint] = shown[..] else { panic!("{answer}") };
        if log == text {
            let first = format!("/shown <{subject}> <{issuer}> <{fingerprint}>");
            assert_eq!(lines, [&*first, "/none <-> <-> <->"]);
            continue;
        }
        let lines = lines.iter().map(|line| serde_json::from_str(line).unwrap());
        let expected = |path, values: [Value; 3]| {
            let [subject, issuer, fingerprint] = values;
            serde_json::json!({ "path": path, "tls_client_subject": subject, "tls_client_issuer": issuer, "tls_client_fingerprint": fingerprint })
        };
        let known = [subject, issuer, fingerprint].map(Value::from);
        let nothing = [Value::Null, Value::Null, Value::Null];
        assert_eq!(
            lines.collect::<Vec<Value>>(),
            [expected("/shown", known), expected("/none", nothing)]
        );
    }
}

#[test]
fn access_by_certificate_is_for_its_subjects() {
    let access = "access = [{ certificate = [\"CN=ann\"] }]\n";
    let asked = "client_ca = \"ca.pem\"\nclient_certificates = \"asked\"\n";
    let (plan, authority) = site(&format!("{access}{LISTENER}{asked}"));
    let ann = authority.issue(&plan.directory, "ann", &["ann"]);
    let bob = authority.issue(&plan.directory, "bob", &["bob"]);
    let server = plan.listen_as_configured(1).start();
    let [address] = addresses(&server, "https://")[..] else { panic!("{:?}", server.announced) };
    for (certificate, status) in [(Some(&ann), "200"), (Some(&bob), "403"), (None, "403")] {
        let answer = authority.client(certificate).get(address, NAME, "/a.txt").unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
}

#[test]
fn a_server_gets_the_subject_of_the_certificate_whatever_its_client_sends() {
    let (upstream, heard) = crate::server::other::always(crate::server::upstreams::OK);
    let proxied = format!(
        "[[upstream]]\nname = \"a\"\nservers = [\"{upstream}\"]\n[[route]]\nprefix = \"/\"\nproxy = {{ \
         upstream = \"a\", request_headers = {{ X-Client = \"$tls_client_subject over $tls\" }} }}\n"
    );
    let asked = "client_ca = \"ca.pem\"\nclient_certificates = \"asked\"\n";
    let (plan, authority) = site(&format!("{proxied}{LISTENER}{asked}"));
    let ann = authority.issue(&plan.directory, "ann", &["ann"]);
    let server = plan.listen_as_configured(1).start();
    let [address] = addresses(&server, "https://")[..] else { panic!("{:?}", server.announced) };
    for (certificate, told) in [(Some(&ann), Some("X-Client: CN=ann over TLSv1.3")), (None, None)] {
        let mut client = authority.client(certificate).connect(address, NAME).unwrap();
        // Behind the line of `Host` a line of its own.
        client.get(&format!("{NAME}\r\nX-Client: CN=eve"), "/").unwrap();
        let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
        let line = request.lines().find(|line| line.starts_with("X-Client"));
        assert_eq!(line, told, "{request}");
    }
}

/// An encrypted listener of each protocol that asks for certificates, with a channel that needs ann's to subscribe and
/// one that needs it to publish; and the certificates of ann and bob.
fn with_channels() -> (Server, [SocketAddr; 2], Authority, [Shown; 2]) {
    let asked = "client_ca = \"ca.pem\"\nclient_certificates = \"asked\"\n";
    let resp = LISTENER.replace("[[listener]]", "[[listener]]\nprotocol = \"resp\"");
    let channels = "[[channel]]\npattern = \"in\"\nhistory = 1\nsubscribe_certificate = [\"CN=ann\"]\n\
        [[channel]]\npattern = \"out\"\npublish_certificate = [\"CN=ann\"]\n";
    let (plan, authority) = site(&format!("{channels}{LISTENER}{asked}{resp}{asked}"));
    let ann = authority.issue(&plan.directory, "ann", &["ann"]);
    let bob = authority.issue(&plan.directory, "bob", &["bob"]);
    let server = plan.listen_as_configured(2).start();
    let ([http], [redis]) =
        (&addresses(&server, "https://")[..], &addresses(&server, "rediss://")[..])
    else {
        panic!("{:?}", server.announced);
    };
    (server, [*http, *redis], authority, [ann, bob])
}

/// A request for something below `/channels`.
fn get(path: &str, fields: &str) -> String {
    format!("GET /channels{path} HTTP/1.1\r\nHost: {NAME}\r\n{fields}\r\n")
}

const UPGRADE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[test]
fn channels_need_a_certificate_over_every_protocol() {
    let (_server, [http, redis], authority, [ann, bob]) = with_channels();
    // A request, and what the answer to somebody with a certificate begins with.
    let stream = "Accept: text/event-stream\r\n";
    let post = |name: &str| {
        format!("POST /channels/{name} HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 1\r\n\r\na")
    };
    let over_http = [
        (get("/in", UPGRADE), "HTTP/1.1 101", "HTTP/1.1 403"),
        (get("/in", stream), "HTTP/1.1 200", "HTTP/1.1 403"),
        (get("/in?wait=0", ""), "HTTP/1.1 200", "HTTP/1.1 403"),
        (post("out"), "HTTP/1.1 200", "HTTP/1.1 403"),
        (get("/out", UPGRADE), "HTTP/1.1 101", "HTTP/1.1 101"),
        (post("in"), "HTTP/1.1 200", "HTTP/1.1 200"),
    ];
    let over_redis = [
        ("SUBSCRIBE in\r\n".to_owned(), "*3\r\n", "-NOPE"),
        ("PUBLISH out a\r\n".to_owned(), ":0\r\n", "-NOP"),
        ("SUBSCRIBE out\r\n".to_owned(), "*3\r\n", "*3\r\n"),
        ("PSUBSCRIBE *\r\n".to_owned(), "-NOPE", "-NOPE"),
    ];
    let of = |address, requests: &[(String, &str, &str)], certificate, is_known: bool| {
        for (request, known, other) in requests {
            let mut client = authority.client(certificate).connect(address, NAME).unwrap();
            client.send(request.as_bytes()).unwrap();
            let expected = if is_known { known } else { other };
            let answer = client.receive(expected.len()).unwrap();
            assert_eq!(String::from_utf8_lossy(&answer), *expected, "{request} {is_known}");
        }
    };
    for (certificate, is_known) in [(Some(&ann), true), (Some(&bob), false), (None, false)] {
        of(http, &over_http, certificate, is_known);
        of(redis, &over_redis, certificate, is_known);
    }
}

#[test]
fn within_an_object_socket_which_anyone_may_open_channels_need_a_certificate() {
    let (_server, [http, _], authority, [ann, bob]) = with_channels();
    let order = |certificate, order: &[u8]| {
        let mut client = authority.client(certificate).connect(http, NAME).unwrap();
        let open = get("", UPGRADE);
        client.send(open.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.extend(client.receive(1).unwrap());
        }
        let masked =
            [&[0x81, 0x80 | u8::try_from(order.len()).unwrap(), 0, 0, 0, 0], order].concat();
        client.send(&masked).unwrap();
        let length = usize::from(client.receive(2).unwrap()[1]);
        String::from_utf8(client.receive(length).unwrap()).unwrap()
    };
    for (asked, known) in [
        (r#"{"subscribe":"in"}"#, r#"{"subscribed":"in""#),
        (r#"{"publish":"out","data":1,"id":7}"#, r#"{"published":""#),
    ] {
        let answer = order(Some(&ann), asked.as_bytes());
        assert!(answer.starts_with(known), "{answer}");
        let answer = order(Some(&bob), asked.as_bytes());
        assert!(answer.contains("the channel requires a certificate of the client"), "{answer}");
    }
}
