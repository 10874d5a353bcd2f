//! Goal: a request of a route with `forward_auth` passes only if a server says so, whatever answers it: files, pages,
//! texts and other servers. Method: the built binary, a server that lets one cookie pass, and servers that fail.

use std::io::Write;
use std::net::SocketAddr;

use crate::server::forms::{TYPE, part};
use crate::server::other::{Heard, always, other};
use crate::server::patience::PATIENCE;
use crate::server::upstreams::{OK, by_hand, connect, exchange, get, next, read_to, rest, start};
use crate::server::{Plan, Server, free_address};

/// A server that lets requests with the cookie `in` pass as those of Ann, and refuses all others.
fn guard() -> (SocketAddr, Heard) {
    other(|_, _, request| {
        let answer = if request.contains("\r\nCookie: in\r\n") {
            "HTTP/1.1 204 Fine\r\nX-User: ann\r\nX-Group: one\r\nX-Group: two\r\nX-Other: o\r\n\r\n"
        } else {
            "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"r\"\r\nX-Why: w\r\nContent-Length: \
             5\r\n\r\nlogin"
        };
        answer.into()
    })
}

const IN: &str = "Cookie: in\r\n";

/// A site all of which asks this server, with a page, a module, a file, a text, and another server.
fn site(guard: SocketAddr, keys: &str, behind: SocketAddr) -> Server {
    let asked = "forward_auth = { upstream = \"guard\", path = \"/verify?a=b\", \
                 copy = [\"X-User\", \"X-Group\", \"X-None\"] }\n";
    let route = |matcher: &str, action: &str| format!("[[route]]\n{matcher}\n{action}\n{asked}");
    let config = [
        route("path = \"/text\"", "respond = { body = \"text\" }"),
        route("prefix = \"/behind\"", "proxy = \"behind\""),
        route("prefix = \"/module\"", "module = \"who\""),
        route("prefix = \"/\"", "files = {}"),
        format!("[[upstream]]\nname = \"guard\"\nservers = [\"{guard}\"]\n{keys}\n"),
        format!("[[upstream]]\nname = \"behind\"\nservers = [\"{behind}\"]\n"),
        "[pages]\nuploads = \"up\"\napp = \"app\"\n".to_owned(),
    ];
    let page = "<%= request.headers['x-user'] or '-' %> <%= request.headers['x-none'] or '-' %> \
                <%= request.headers['x-other'] or '-' %> <%= request.headers['x_user'] or '-' %>";
    let plan = Plan::new().argument("--schedulers=1").config(&config.concat());
    std::fs::create_dir(plan.directory.join("up")).unwrap();
    plan.directory.write(
        "app/who.lua",
        "return { { 'GET', '/', function(request) return request.headers['x-user'] or '-' end } }",
    );
    plan.file("a.txt", "file").file("who.page.txt", page).file("form.page.txt", FORM).start()
}

const FORM: &str = "<%= request.files.file and request.files.file.size or 'none' %>";

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap_or((answer, "")).1
}

fn requests(heard: &Heard) -> Vec<String> {
    heard.try_iter().map(|(_, request)| request).filter(|request| request != "end").collect()
}

#[test]
fn a_request_that_may_pass_has_the_fields_of_the_server_that_said_so() {
    let ((guard, asked), (behind, heard)) = (guard(), always(OK));
    let server = site(guard, "", behind);
    // Nor can a client have removed what it is given, as a field for one connection.
    let forged = "X-User: root\r\nx_user: root\r\nX-None: n\r\nX-Group: zero\r\nX-Other: own\r\n\
                  Connection: X-User, x_group\r\n";
    let fields = format!("{IN}{forged}");
    for (path, answer) in [
        ("/text", "text"),
        ("/a.txt", "file"),
        ("/who", "ann - own -"),
        ("/module", "ann"),
        ("/behind/x", "ok"),
    ] {
        let told = exchange(&server, &get(path, &fields));
        assert!(told.starts_with("HTTP/1.1 200 ") && body(&told) == answer, "{path}: {told}");
    }
    let request = heard.recv_timeout(PATIENCE).unwrap().1;
    let lower = request.to_ascii_lowercase();
    assert!(request.contains("\r\nX-User: ann\r\n") && !lower.contains("root"), "{request}");
    assert!(request.contains("\r\nX-Group: one\r\nX-Group: two\r\n"), "{request}");
    assert!(!request.contains("zero") && !lower.contains("x-none"), "{request}");
    assert!(request.contains("\r\nX-Other: own\r\n"), "{request}");
    assert_eq!(requests(&asked).len(), 5, "each request was asked about");
}

#[test]
fn the_server_is_asked_with_the_fields_of_the_client_and_what_it_wants() {
    let ((guard, asked), (behind, _heard)) = (guard(), always(OK));
    let server = site(guard, "", behind);
    let forged = "X-Forwarded-Uri: /x\r\nX-Forwarded-Method: TRACE\r\nX-Forwarded-For: 1.2.3.4\r\n";
    let own = "X-A: b\r\nIf-None-Match: \"e\"\r\nRange: bytes=0-1\r\nTE: trailers\r\n";
    let post = format!(
        "POST /a/../behind/%62?q=%20 HTTP/1.1\r\nHost: a.test\r\n{IN}{forged}{own}Content-Length: \
         4\r\nConnection: close\r\n\r\nbody"
    );
    assert_eq!(body(&exchange(&server, &post)), "ok");
    let question = asked.recv_timeout(PATIENCE).unwrap().1;
    let (before, rest) = question.split_once("X-Request-Id: ").unwrap();
    let after = rest.split_once("\r\n").unwrap().1;
    assert_eq!(
        format!("{before}{after}"),
        "GET /verify?a=b HTTP/1.1\r\nHost: a.test\r\nCookie: in\r\nX-A: b\r\nX-Forwarded-For: 127.0.0.1\r\n\
         X-Real-IP: 127.0.0.1\r\n\
         X-Forwarded-Proto: http\r\nX-Forwarded-Host: a.test\r\n\
         Forwarded: for=127.0.0.1;host=\"a.test\";proto=http\r\nVia: 1.1 velodrome\r\n\
         X-Forwarded-Method: POST\r\nX-Forwarded-Uri: /behind/b?q=%20\r\n\r\n"
    );
}

#[test]
fn any_other_answer_is_the_clients_and_nobody_else_hears_of_the_request() {
    let ((guard, _asked), (behind, heard)) = (guard(), always(OK));
    let server = site(guard, "", behind);
    for path in ["/text", "/a.txt", "/who", "/module", "/behind/x", "/none"] {
        for framing in ["", "Content-Length: 4\r\n", "Transfer-Encoding: chunked\r\n"] {
            let body_sent = match framing {
                "" => "",
                "Content-Length: 4\r\n" => "body",
                _ => "4\r\nbody\r\n0\r\n\r\n",
            };
            let method = if framing.is_empty() { "GET" } else { "POST" };
            let text = format!(
                "{method} {path} HTTP/1.1\r\nHost: a\r\n{framing}Connection: close\r\n\r\n{body_sent}"
            );
            let answer = exchange(&server, &text);
            assert!(answer.starts_with("HTTP/1.1 401 "), "{path} {framing}: {answer}");
            assert_eq!(body(&answer), "login", "{path} {framing}: {answer}");
            for field in ["WWW-Authenticate: Basic realm=\"r\"", "X-Why: w"] {
                assert!(answer.contains(&format!("\r\n{field}\r\n")), "{path}: {answer}");
            }
        }
    }
    let head = exchange(&server, &get("/a.txt", "").replace("GET", "HEAD"));
    assert!(head.starts_with("HTTP/1.1 401 ") && body(&head).is_empty(), "{head}");
    // The first that it hears of is one that may pass.
    assert_eq!(body(&exchange(&server, &get("/behind/last", IN))), "ok");
    let passed = requests(&heard);
    assert!(passed.len() == 1 && passed[0].starts_with("GET /behind/last "), "{passed:?}");
}

#[test]
fn a_long_answer_comes_whole_and_a_redirect_leads_to_the_login() {
    let long = "x".repeat(300_000);
    let answer = format!(
        "HTTP/1.1 302 Found\r\nLocation: https://login.test/?to=a\r\nSet-Cookie: s=1\r\nContent-Length: \
         {}\r\n\r\n{long}",
        long.len()
    );
    let ((guard, _asked), (behind, _heard)) = (always(answer), always(OK));
    let server = site(guard, "", behind);
    let told = exchange(&server, &get("/behind/x", IN));
    assert!(told.starts_with("HTTP/1.1 302 ") && body(&told) == long);
    assert!(told.contains("\r\nLocation: https://login.test/?to=a\r\nSet-Cookie: s=1\r\n"));
}

#[test]
fn nothing_passes_when_the_server_does_not_answer() {
    let (behind, heard) = always(OK);
    let (silent, _connections) = by_hand();
    let broken = always("HTTP/1.1 2000 Odd\r\nContent-Length: 0\r\n\r\n").0;
    let odd = always("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n").0;
    let deaf = other(|_, _, _| Vec::new()).0;
    for (guard, status) in
        [(free_address(), "502"), (silent, "504"), (broken, "502"), (odd, "502"), (deaf, "502")]
    {
        let server = site(guard, "first_byte_timeout = \"300ms\"", behind);
        for path in ["/text", "/a.txt", "/who", "/module", "/behind/x"] {
            let answer = exchange(&server, &get(path, IN));
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
        }
    }
    assert_eq!(requests(&heard), Vec::<String>::new());
}

#[test]
fn another_server_is_asked_when_one_fails() {
    let ((guard, _asked), (behind, _heard)) = (guard(), always(OK));
    let text = format!(
        "[[route]]\nprefix = \"/\"\nproxy = \"behind\"\nforward_auth = {{ upstream = \"guard\" }}\n\
         [[upstream]]\nname = \"guard\"\nservers = [\"{}\", \"{guard}\"]\nbalance = \"round-robin\"\n\
         [[upstream]]\nname = \"behind\"\nservers = [\"{behind}\"]\n",
        free_address()
    );
    let server = start(&text);
    for _ in 0..4 {
        assert_eq!(body(&exchange(&server, &get("/", IN))), "ok");
    }
}

#[test]
fn files_of_a_form_wait_until_the_server_has_answered() {
    let ((behind, _heard), (guard, connections)) = (always(OK), by_hand());
    let server = site(guard, "", behind);
    let form = part("name=file; filename=a", "data") + "--B--\r\n";
    let head = format!(
        "POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: {TYPE}\r\nContent-Length: {}\r\nConnection: \
         close\r\n\r\n",
        form.len()
    );
    for (verdict, status, told) in [("401 No", "401", "no"), ("200 Yes", "200", "4")] {
        let mut client = connect(&server);
        client.write_all(head.as_bytes()).unwrap();
        // It is asked although nothing of the body has come.
        let mut asked = next(&connections);
        let question = read_to(&mut asked, "\r\n\r\n");
        assert!(
            question.contains("X-Forwarded-Method: POST\r\nX-Forwarded-Uri: /form\r\n"),
            "{question}"
        );
        assert!(!question.contains("Content-Length"), "{question}");
        asked
            .write_all(
                format!("HTTP/1.1 {verdict}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
                    .as_bytes(),
            )
            .unwrap();
        if status == "200" {
            client.write_all(form.as_bytes()).unwrap();
        }
        let answer = rest(&mut client);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert_eq!(body(&answer), told, "{answer}");
    }
}

#[test]
fn a_refusal_waits_for_no_body_and_asks_for_none() {
    let ((behind, heard), (guard, asked)) = (always(OK), guard());
    let server = site(guard, "", behind);
    for path in ["/behind", "/module", "/who"] {
        for expects in ["", "Expect: 100-continue\r\n"] {
            let mut client = connect(&server);
            let head = |fields: &str| {
                format!(
                    "POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nConnection: \
                     close\r\n{expects}{fields}\r\n"
                )
            };
            client.write_all(head("").as_bytes()).unwrap();
            let answer = rest(&mut client);
            assert!(answer.starts_with("HTTP/1.1 401 ") && body(&answer) == "login", "{answer}");
            let mut client = connect(&server);
            client.write_all(head(IN).as_bytes()).unwrap();
            if !expects.is_empty() {
                assert_eq!(read_to(&mut client, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
            }
            client.write_all(b"body").unwrap();
            let answer = rest(&mut client);
            assert!(!answer.contains(" 401 ") && !answer.contains(" 100 "), "{answer}");
            // Each is asked about once.
            assert_eq!(requests(&asked).len(), 2, "{path}");
        }
    }
    let passed = requests(&heard);
    assert_eq!(passed.len(), 2);
    for request in passed {
        assert!(
            request.contains("\r\nX-User: ann\r\n") && request.ends_with("\r\n\r\nbody"),
            "{request}"
        );
    }
}

#[test]
fn fields_that_a_server_gives_are_passed_on_whatever_they_are_called() {
    let (guard, _asked) = other(|_, _, _| {
        "HTTP/1.1 204 Fine\r\nX-Forwarded-User: ann\r\nX-Real-IP: 192.0.2.9\r\n\r\n".into()
    });
    let (behind, heard) = always(OK);
    let server = Plan::new()
        .config(&format!(
            "[[upstream]]\nname = \"guard\"\nservers = [\"{guard}\"]\n[[upstream]]\nname = \"behind\"\nservers = \
             [\"{behind}\"]\n[[route]]\nprefix = \"/\"\nproxy = \"behind\"\nforward_auth = {{ upstream = \
             \"guard\", copy = [\"X-Forwarded-User\", \"X-Forwarded-Groups\", \"X-Real-IP\"] }}\n"
        ))
        .start();
    let claims = "X-Forwarded-User: eve\r\nX_Forwarded_User: eve\r\nX-Forwarded-Groups: admin\r\nX-Forwarded-Other: \
                  eve\r\nX-Real-IP: 192.0.2.1\r\n";
    let answer = exchange(&server, &get("/", claims));
    assert!(answer.ends_with("ok"), "{answer}");
    let request = heard.recv_timeout(PATIENCE).unwrap().1;
    for (name, values) in [
        ("X-Forwarded-User:", &["ann"][..]),
        ("X_Forwarded_User:", &[]),
        ("X-Forwarded-Groups:", &[]),
        ("X-Forwarded-Other:", &[]),
        ("X-Real-IP:", &["192.0.2.9"]),
        ("X-Forwarded-For:", &["127.0.0.1"]),
    ] {
        let lines = request.lines().filter_map(|line| line.strip_prefix(name));
        assert_eq!(lines.map(str::trim).collect::<Vec<_>>(), values, "{name} {request}");
    }
}

#[test]
fn fields_of_a_route_are_not_taken_from_behind_a_body() {
    let (guard, _asked) = other(|_, _, _| "HTTP/1.1 204 Fine\r\nX-User: ann\r\n\r\n".into());
    let (behind, connections) = by_hand();
    let upstream = |name: &str, keys: &str| {
        format!("[[upstream]]\nname = \"{name}\"\nservers = [\"{behind}\"]\n{keys}\n")
    };
    let edits = "request_headers = { X-Key = \"k\", X-User = \"$user\" }, remove_request_headers = [\"X-Gone\"]";
    let route = |upstream: &str, keys: &str| {
        format!(
            "[[route]]\nprefix = \"/{upstream}\"\nproxy = {{ upstream = \"{upstream}\"{keys} }}\n"
        )
    };
    let config = [
        format!("[[upstream]]\nname = \"guard\"\nservers = [\"{guard}\"]\n"),
        upstream("streamed", ""),
        upstream("whole", "buffer_request = true"),
        upstream("asked", ""),
        route("streamed", &format!(", {edits}")),
        route("whole", &format!(", {edits}")),
        route("asked", ", remove_request_headers = [\"X-Gone\", \"X-Key\"]"),
        "forward_auth = { upstream = \"guard\", copy = [\"X-User\"] }\n".to_owned(),
    ];
    let server = Plan::new().config(&config.concat()).start();
    for path in ["/streamed", "/whole", "/asked"] {
        let mut client = connect(&server);
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: \
             chunked\r\n\r\n1\r\nx\r\n0\r\nX-User: eve\r\nx_key: eve\r\nX-Gone: eve\r\nX-Sum: 7\r\n\r\n"
        );
        client.write_all(request.as_bytes()).unwrap();
        let mut server = next(&connections);
        let heard = read_to(&mut server, "X-Sum: 7\r\n\r\n");
        server.write_all(OK.as_bytes()).unwrap();
        assert!(rest(&mut client).ends_with("ok"), "{path}");
        assert!(!heard.contains("eve"), "{path}: {heard}");
    }
}
