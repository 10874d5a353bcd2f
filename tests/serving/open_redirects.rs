//! Goal: a target that comes from the client never leads to another site, whichever way a page or a module sends it.
//! Method: the shapes of open redirects that are known, each sent through every way; what comes back in `Location` is
//! resolved as a browser does (WHATWG URL), by a reader that shares no code with the server.

use crate::server::client::{Client, field, head};
use crate::server::{Plan, Server};
use conformance::RequestKind;

/// The host that the client asks for.
const HOST: &str = "example.org:8080";

/// Targets; `HOST` stands for the site's own host.
const TARGETS: &str = include_str!("open_redirects.txt");

/// How a browser resolves a reference on a page of `http://HOST/` or `https://HOST/`: the host and port it goes to, or
/// `None` if that is no request of HTTP at all.
fn destination(base_scheme: &str, reference: &str) -> Option<String> {
    let text: String = reference
        .trim_matches(|character: char| character <= ' ')
        .chars()
        .filter(|character| !"\t\r\n".contains(*character))
        .collect();
    let mut scheme = base_scheme.to_owned();
    let mut rest = text.as_str();
    let mut is_relative = true;
    if let Some((before, after)) = text.split_once(':')
        && before.starts_with(|first: char| first.is_ascii_alphabetic())
        && before.chars().all(|one| one.is_ascii_alphanumeric() || "+-.".contains(one))
    {
        scheme = before.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https") {
            return Some(format!("{scheme}:"));
        }
        rest = after;
        // "special relative or authority state": the same scheme without two slashes is a relative reference.
        let slashes = after.starts_with("//");
        is_relative = scheme == base_scheme && !slashes;
    }
    let is_slash = |character: char| matches!(character, '/' | '\\');
    let begins_host = rest.chars().take(2).filter(|one| is_slash(*one)).count() == 2;
    if is_relative && !begins_host {
        return Some(HOST.to_owned());
    }
    let rest = rest.trim_start_matches(is_slash);
    let end = rest.find(|one: char| is_slash(one) || matches!(one, '?' | '#'));
    let authority = &rest[..end.unwrap_or(rest.len())];
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host =
        percent_decoded(host).to_lowercase().replace(['\u{3002}', '\u{ff0e}', '\u{ff61}'], ".");
    let default_port = if scheme == "http" { ":80" } else { ":443" };
    Some(host.strip_suffix(default_port).unwrap_or(&host).to_owned())
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| first == b'%')
        {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The target of a line: escapes of Rust's, so that the list shows control characters.
fn target_of(line: &str) -> Vec<u8> {
    let mut text = line.replace("HOST", HOST).into_bytes();
    for (written, byte) in [("\\t", 9), ("\\r", 13), ("\\n", 10), ("\\0", 0), ("\\e", 27)] {
        while let Some(at) = text.windows(2).position(|two| two == written.as_bytes()) {
            text.splice(at..at + 2, [byte]);
        }
    }
    while let Some(at) = text.windows(2).position(|two| two == b"\\\\") {
        text.splice(at..at + 2, [1]);
    }
    text.iter().map(|byte| if *byte == 1 { b'\\' } else { *byte }).collect()
}

fn ask(client: &mut Client, way: &str, target: &[u8]) -> (u16, String) {
    let escaped: String = target.iter().map(|byte| format!("%{byte:02X}")).collect();
    client.send(head("GET", &format!("/{way}?v={escaped}"), &[("Host", HOST)])).unwrap();
    let answer = client.response(RequestKind::Other).unwrap();
    let location = field(&answer, "location");
    (answer.status, location.to_owned())
}

fn server() -> Server {
    let field = "response.status = 302 response.headers.LOCATION = request.query.v";
    let list = "response.status = 303 response.headers.location = { request.query.v }";
    let module = "return function(request, response) response.status = 302 \
                  response.headers['Location'] = request.query.v return '' end";
    let plan = Plan::new()
        .file("redirect.page.txt", "<% response:redirect(request.query.v) %>")
        .file("field.page.txt", format!("<% {field} %>"))
        .file("list.page.txt", format!("<% {list} %>"))
        .config("[[route]]\nprefix = \"/module\"\nmodule = \"leads\"\n");
    plan.directory.write("app/leads.lua", module);
    plan.argument("--schedulers=1").start()
}

#[test]
fn no_target_of_a_client_leaves_the_site() {
    let server = server();
    let mut client = server.client();
    let targets: Vec<&str> =
        TARGETS.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")).collect();
    assert!(targets.len() >= 200, "{}", targets.len());
    for line in targets {
        let target = target_of(line);
        for way in ["redirect", "field", "list", "module"] {
            let (status, location) = ask(&mut client, way, &target);
            if location.is_empty() {
                assert_eq!(status, 500, "{way}: {line}");
                continue;
            }
            for scheme in ["http", "https"] {
                let host = destination(scheme, &location);
                assert_eq!(host.as_deref(), Some(HOST), "{way}: {line}: {location}");
            }
            assert!(location.bytes().all(|byte| byte.is_ascii_graphic()), "{line}: {location}");
        }
    }
}

#[test]
fn targets_of_the_site_itself_are_sent() {
    let server = server();
    let mut client = server.client();
    for (target, sent) in [
        ("/", "/"),
        ("/a/b?c=//d#e", "/a/b?c=//d#e"),
        (" /a ", "/a"),
        ("there?next=http://evil.example/", "there?next=http://evil.example/"),
        ("../x", "../x"),
        ("?a=b\\c", "?a=b%5Cc"),
        ("http://example.org:8080/x", "http://example.org:8080/x"),
        ("HTTPS://Example.ORG:8080?x", "HTTPS://Example.ORG:8080?x"),
        ("/ä b", "/%C3%A4%20b"),
    ] {
        for way in ["redirect", "field", "list", "module"] {
            let (status, location) = ask(&mut client, way, target.as_bytes());
            assert!((302..=303).contains(&status), "{way}: {target}: {status}");
            assert_eq!(location, sent, "{way}: {target}");
        }
    }
}

#[test]
fn the_port_of_the_scheme_may_be_written() {
    let server = server();
    let mut client = server.client();
    for (host, target, is_own) in [
        ("a.example", "https://a.example:443/x", true),
        ("a.example:443", "https://a.example/x", true),
        ("a.example", "http://a.example:80", true),
        ("a.example:80", "http://a.example/x", true),
        ("a.example", "https://a.example:80/x", false),
        ("a.example:443", "http://a.example/x", false),
    ] {
        let escaped = target.replace(':', "%3A");
        let path = format!("/redirect?v={escaped}");
        client.send(head("GET", &path, &[("Host", host)])).unwrap();
        let answer = client.response(RequestKind::Other).unwrap();
        assert_eq!(answer.status == 302, is_own, "{host} {target}: {}", answer.status);
    }
}

#[test]
fn the_reader_of_this_test_sees_what_browsers_see() {
    for (reference, host) in [
        ("//evil.example", "evil.example"),
        ("/\\evil.example", "evil.example"),
        ("\\/\t/evil.example", "evil.example"),
        ("https:evil.example", "evil.example"),
        ("http:/x", HOST),
        ("http:///evil.example", "evil.example"),
        ("http://example.org:8080@evil.example", "evil.example"),
        ("http://example.org:8080\\@evil.example", HOST),
        ("http://evil\u{3002}example/", "evil.example"),
        ("javascript:x", "javascript:"),
        ("/a:b", HOST),
    ] {
        assert_eq!(destination("http", reference).as_deref(), Some(host), "{reference}");
    }
}
