//! Goal: requests are routed as configured: hosts, redirects, rewrites, fixed answers, and the client's address from
//! the PROXY header. Method: the built binary and a raw client.

use crate::server::Plan;
use crate::server::client::{field, head, text};
use crate::server::patience::until;
use conformance::RequestKind;

/// The signature of the binary PROXY header (PROXY protocol 2.2).
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

#[test]
fn hosts_have_their_own_files() {
    let config = "[[host]]\nnames = [\"one.example\"]\nroot = \"one\"\n\
        [[host]]\nnames = [\"*.wild.example\"]\nroot = \"wild\"\nheaders = { X-Host = \"wild\" }\n";
    let plan = Plan::new().config(config).file("name.txt", "default");
    plan.directory.write("one/name.txt", "one");
    plan.directory.write("wild/name.txt", "wild");
    let server = plan.start();
    for (host, body) in [
        ("one.example", "one"),
        ("ONE.example", "one"),
        ("one.example:8080", "one"),
        ("a.wild.example", "wild"),
        ("a.b.wild.example", "wild"),
        ("wild.example", "default"),
        ("two.example", "default"),
        ("127.0.0.1", "default"),
    ] {
        let response = server.request("GET", "/name.txt", &[("Host", host)]);
        assert_eq!(text(&response), body, "{host}");
        assert_eq!(field(&response, "X-Host"), if body == "wild" { "wild" } else { "" }, "{host}");
    }
    // RFC 9112 section 3.2.2: an absolute target names the host, and Host must agree.
    let target = "http://one.example/name.txt";
    let response = server.request("GET", target, &[("Host", "one.example")]);
    assert_eq!(text(&response), "one");
}

#[test]
fn redirects_lead_where_they_say() {
    let config = "[[route]]\nglob = \"/blog/*/*\"\nredirect = { to = \"/articles/$1-$2$query\", status = \
                  301 }\n[[route]]\nprefix = \"/old\"\nredirect = { to = \"https://old.example/$1\" \
                  }\n[[route]]\npath = \"/see\"\nredirect = { to = \"/other\", status = 303 }\n";
    let server = Plan::new().config(config).start();
    for (path, status, location) in [
        ("/blog/2026/november?a=b", 301, "/articles/2026-november?a=b"),
        ("/blog/a%20b/%C3%A4", 301, "/articles/a%20b-%C3%A4"),
        ("/old/a/b", 302, "https://old.example/a/b"),
        ("/see", 303, "/other"),
    ] {
        let response = server.get(path);
        assert_eq!((response.status, field(&response, "Location")), (status, location), "{path}");
    }
    // Text from the request can neither split the head nor name another host.
    for path in ["/blog/a%0d%0aSet-Cookie:x/b", "/old//evil.example", "/old/%0d%0aX:y"] {
        let response = server.get(path);
        assert!(response.field("Set-Cookie").is_none() && response.field("X").is_none(), "{path}");
        let location = field(&response, "Location");
        assert!(!location.starts_with("//"), "{path}: {location}");
    }
}

#[test]
fn rewrites_fixed_answers_and_json() {
    let config = "[[route]]\nprefix = \"/pictures\"\nrewrite = { to = \"/img/$1\" }\n[[route]]\npath = \
                  \"/health\"\nrespond = { body = \"ok\\n\" }\nheaders = { X-Health = \"yes\" \
                  }\n[[route]]\npath = \"/gone\"\nrespond = { status = 410, body = \"<p>gone\", \
                  content_type = \"text/html\" }\n[[route]]\npath = \"/nothing\"\nrespond = { status = 204 \
                  }\n[[route]]\npath = \"/again\"\nrespond = { status = 205 }\n[[route]]\npath = \
                  \"/version\"\njson = { name = \"velodrome\", version = [0, 1], stable = false \
                  }\n[[route]]\nglob = \"/loop/**\"\nrewrite = { to = \"/loop/$1/x\" }\n";
    let server = Plan::new().config(config).file("img/a.txt", "picture").start();
    assert_eq!(text(&server.get("/pictures/a.txt")), "picture");
    let health = server.get("/health");
    assert_eq!((health.status, text(&health), field(&health, "X-Health")), (200, "ok\n", "yes"));
    let gone = server.get("/gone");
    assert_eq!(
        (gone.status, text(&gone), field(&gone, "Content-Type")),
        (410, "<p>gone", "text/html")
    );
    let nothing = server.get("/nothing");
    assert_eq!((nothing.status, nothing.body.len()), (204, 0));
    // Without a length it would end with the connection.
    let again = server.get("/again");
    assert_eq!((again.status, field(&again, "Content-Length")), (205, "0"));
    let version = server.get("/version");
    assert_eq!(field(&version, "Content-Type"), "application/json");
    assert_eq!(text(&version), "{\"name\":\"velodrome\",\"version\":[0,1],\"stable\":false}");
    let told = server.get("/loop/a");
    assert!([404, 500].contains(&told.status), "{}", told.status);
}

#[test]
fn methods_that_no_route_takes_are_told_which_it_does() {
    let config =
        "[[route]]\npath = \"/form\"\nmethods = [\"POST\"]\nrespond = { body = \"thanks\" }\n";
    let server = Plan::new().config(config).file("a.txt", "a").start();
    let post = server.request("POST", "/form", &[("Content-Length", "0")]);
    assert_eq!((post.status, text(&post)), (200, "thanks"));
    let delete = server.request("DELETE", "/form", &[]);
    assert_eq!(delete.status, 405);
    assert!(delete.lists("Allow", "POST"), "{:?}", delete.fields);
    let file = server.request("POST", "/a.txt", &[("Content-Length", "0")]);
    assert_eq!(file.status, 405);
    assert!(file.lists("Allow", "GET") && file.lists("Allow", "HEAD"), "{:?}", file.fields);
}

#[test]
fn bodies_larger_than_their_route_takes_are_refused() {
    let config = "[[route]]\npath = \"/small\"\nrespond = { body = \"ok\" }\nbody_size = 10\n\
        [[route]]\npath = \"/usual\"\nrespond = { body = \"ok\" }\n";
    let server = Plan::new().config(config).start();
    let post = |path: &str, body: &str, framing: &str| {
        let mut client = server.client();
        let head = head("POST", path, &[framing.split_once(": ").unwrap()]);
        client.send(head + body).unwrap();
        client.response(RequestKind::Other).unwrap().status
    };
    assert_eq!(post("/small", "0123456789", "Content-Length: 10"), 200);
    assert_eq!(post("/small", "0123456789X", "Content-Length: 11"), 413);
    assert_eq!(post("/small", "a\r\n0123456789\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 200);
    assert_eq!(post("/small", "b\r\n0123456789X\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 413);
    assert_eq!(post("/usual", "0123456789X", "Content-Length: 11"), 200);
    assert_eq!(post("/usual", "", "Content-Length: 2000000"), 413);
}

/// A binary PROXY header: IPv4, TCP, from 192.0.2.9:4000 to 192.0.2.1:80.
fn binary_header() -> Vec<u8> {
    let mut header = SIGNATURE.to_vec();
    header.extend([0x21, 0x11, 0, 12]);
    header.extend([192, 0, 2, 9, 192, 0, 2, 1]);
    header.extend(4000_u16.to_be_bytes());
    header.extend(80_u16.to_be_bytes());
    header
}

#[test]
fn the_address_of_a_proxy_header_is_the_clients() {
    let config = "[[listener]]\naddress = \"127.0.0.1:0\"\nproxy_protocol_from = [\"127.0.0.0/8\"]\n\
        [log]\naccess = \"access.log\"\n";
    let plan = Plan::new().config(config).file("a.txt", "a\n");
    let server = plan.listen_as_configured(1).start();
    for (name, header) in [
        ("v1", b"PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n".to_vec()),
        ("v1-ipv6", b"PROXY TCP6 2001:db8::7 2001:db8::1 4000 80\r\n".to_vec()),
        ("v2", binary_header()),
        ("own", b"PROXY UNKNOWN\r\n".to_vec()),
    ] {
        let mut client = server.client();
        client.send(header).unwrap();
        let response = client.get(&format!("/a.txt?{name}")).unwrap();
        assert_eq!(text(&response), "a\n", "{name}");
        assert_eq!(client.get("/a.txt?again").unwrap().status, 200, "{name}: kept alive");
    }
    let line = |name: &str| {
        let log = server.directory().text("access.log");
        log.lines().find(|line| line.contains(&format!("?{name} "))).map(str::to_owned)
    };
    for (name, address) in [
        ("v1", "192.0.2.7 "),
        ("v1-ipv6", "2001:db8::7 "),
        ("v2", "192.0.2.9 "),
        ("own", "127.0.0.1 "),
    ] {
        let line = until("its line in the log", || line(name));
        assert!(line.starts_with(address), "{name}: {line}");
    }
}

#[test]
fn strangers_and_missing_headers_are_closed() {
    let config = "[[listener]]\naddress = \"127.0.0.1:0\"\nproxy_protocol_from = [\"127.0.0.0/8\"]\n\
        [[listener]]\naddress = \"127.0.0.1:0\"\nproxy_protocol_from = [\"192.0.2.0/24\"]\n\
        [limits]\nheader_deadline = \"500ms\"\n";
    let plan = Plan::new().config(config).file("a.txt", "a\n");
    let server = plan.listen_as_configured(2).start();
    let [ours, strangers] = server.addresses()[..] else { panic!("{:?}", server.announced) };
    let valid: &[u8] = b"PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n";
    for (address, header) in [
        (ours, &b""[..]),
        (ours, b"PROXY TCP4 192.0.2.7 192.0.2.1 4000\r\n"),
        (ours, b"PROXY TCP4 300.0.2.7 192.0.2.1 4000 80\r\n"),
        (ours, b"PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\n"),
        (ours, b"\r\n\r\n\0\r\nQUIT\x0a\x31\x11\0\x0c"),
        (strangers, valid),
    ] {
        let mut client = crate::server::client::Client::connect(address).unwrap();
        // If the server has closed already this fails, which is fine.
        let _refused = client.send([header, head("GET", "/a.txt", &[]).as_bytes()].concat());
        let (answer, _) = client.rest().unwrap();
        assert!(answer.is_empty(), "{}: {}", header.escape_ascii(), answer.escape_ascii());
    }
    let mut silent = crate::server::client::Client::connect(ours).unwrap();
    silent.send("PROXY TCP4").unwrap();
    let (answer, _) = silent.rest().unwrap();
    assert!(answer.is_empty(), "given up without a word: {}", answer.escape_ascii());
}

#[test]
fn a_listing_is_stored_nowhere_where_its_files_are_not() {
    let route = |name: &str, value: &str| {
        format!(
            "[[route]]\nprefix = \"/{name}\"\nfiles = {{ listing = true, cache_control = \"{value}\" }}\n\n"
        )
    };
    let config = route("secret", "no-store") + &route("open", "max-age=60");
    let plan = Plan::new().config(&config).file("secret/a.txt", "a").file("open/a.txt", "a");
    let server = plan.start();
    // A listing is always revalidated, whatever is configured for its files.
    for (path, expected) in [
        ("/secret/", "no-store"),
        ("/secret/a.txt", "no-store"),
        ("/open/", "no-cache"),
        ("/open/a.txt", "max-age=60"),
    ] {
        assert_eq!(field(&server.get(path), "Cache-Control"), expected, "{path}");
    }
}
