//! Goal: pages fetch from other servers, which can harm only the page that fetches. Method: the built
//! binary, and other servers played by threads that answer as the test says.

use std::fmt::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::server::client::{head, read, text};
use crate::server::other::{always, other, whole_request};
use crate::server::patience::{PATIENCE, until};
use crate::server::{Plan, Server};
use conformance::RequestKind;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A page that shows the result of fetching the URL in its query.
const SHOW: &str = "<% local a, why = fetch(request.query.url) if not a then response:write(why) return end \
                    -%>\n<%= a.status %>|<%= a.headers['x-a'] %>|<%= #a.body %>|<%- a.body:sub(1, 100) %>";

fn start(pages: &[(&str, &str)]) -> Server {
    Plan::new().argument("--schedulers=1").file("show.page.txt", SHOW).files(pages).start()
}

fn show(server: &Server, url: &str) -> String {
    let response = server.get(&format!("/show?url={url}"));
    assert_eq!(response.status, 200, "{}", server.printed_errors());
    text(&response).to_owned()
}

#[test]
fn answers_come_in_every_form_that_servers_have() {
    let server = start(&[]);
    for (answer, shown) in [
        ("HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2 3\r\nContent-Length: 2\r\n\r\nok", "200|1, 2 3|2|ok"),
        (
            "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
            "404||3|abc",
        ),
        ("HTTP/1.0 200 OK\r\n\r\nuntil the end", "200||13|until the end"),
        ("HTTP/1.1 204 None\r\nX-A: b\r\n\r\n", "204|b|0|"),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nX-A: early\r\n\r\n\
             HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1",
            "200||1|1",
        ),
        // A folded line is a space (RFC 9112 section 5.2).
        ("HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length:\r\n 2\r\n\r\nok", "200|b c|2|ok"),
        // Redirects are left to the page.
        ("HTTP/1.1 302 Found\r\nX-A: r\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", "302|r|0|"),
    ] {
        let (address, _) = always(answer);
        assert_eq!(show(&server, &format!("http://{address}/")), shown);
    }
}

#[test]
fn requests_say_what_the_page_says() {
    let (address, heard) = always(OK);
    let page = "<% local u = 'http://' .. request.query.to\n\
        fetch(u .. '/plain?x=1&y')\n\
        fetch(u, { headers = { ['X-A'] = 'b', ['content-length'] = '99', connection = 'close', age = 7 } })\n\
        fetch(u, { body = 'text' })\n\
        fetch(u, { method = 'put', json = { 1, 'x' }, timeout = 2.5 })\n\
        fetch(u, { json = 'j', headers = { ['Content-Type'] = 'x/y' } })\n\
        local a = fetch(u, { method = 'HEAD' })\n\
        response:write(#a.body)\n%>";
    let server = start(&[("ask.page.txt", page)]);
    assert_eq!(text(&server.get(&format!("/ask?to={address}"))), "0");
    let agent = concat!("velodrome/", env!("CARGO_PKG_VERSION"));
    let usual = format!("Host: {address}\r\nUser-Agent: {agent}\r\nAccept-Encoding: identity\r\n");
    let expect = |first: &str, rest: &str| {
        let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
        assert_eq!(request, format!("{first} HTTP/1.1\r\n{usual}{rest}"));
    };
    expect("GET /plain?x=1&y", "\r\n");
    let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
    let mut lines: Vec<&str> = request.split_terminator("\r\n").skip(4).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["", "X-A: b", "age: 7"]);
    expect("POST /", "Content-Length: 4\r\n\r\ntext");
    expect("PUT /", "content-type: application/json\r\nContent-Length: 7\r\n\r\n[1,\"x\"]");
    expect("POST /", "Content-Type: x/y\r\nContent-Length: 3\r\n\r\n\"j\"");
    expect("HEAD /", "\r\n");
}

#[test]
fn a_url_is_as_long_as_the_documentation_says_and_no_longer() {
    let (address, heard) = always(OK);
    let page = "<% local size = tonumber(request.query.size)\n\
        local url = 'http://' .. request.query.to .. '/'\n\
        url = url .. ('x'):rep(size - #url)\n\
        local fine, a, why = pcall(function()\n return fetch(url) end) -%>\n\
        <%= tostring(fine) %>|<%= fine and a and a.status or tostring(a) %>|<%= tostring(why) %>";
    let server = start(&[("long.page.txt", page)]);
    let shown =
        |size: usize| text(&server.get(&format!("/long?to={address}&size={size}"))).to_owned();
    for size in [8 * 1024 + 1, 16 * 1024] {
        assert_eq!(shown(size), "true|200|nil", "{size}");
        let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
        let path = request.split(' ').nth(1).unwrap();
        assert_eq!(path.len() + format!("http://{address}").len(), size);
    }
    let longer = shown(16 * 1024 + 1);
    assert!(longer.starts_with("false|") && longer.contains("longer than 16384 bytes"), "{longer}");
}

#[test]
fn an_answer_is_read_as_json() {
    let body = r#"{"lap": [14.2, null]}"#;
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let (address, _) = always(answer);
    let page = "<% local a = fetch(request.query.url) -%>\n\
        <%= a:json().lap[1], ' ', tostring(a:json().lap[2] == json.null) %>\n\
        <% a.body = '{' local fine, why = pcall(function()\n return 1 + a:json() end) -%>\n\
        <%= why %>";
    let server = start(&[("json.page.txt", page)]);
    let shown = server.get(&format!("/json?url=http://{address}/"));
    let shown = text(&shown);
    assert!(shown.starts_with("14.2 true\njson.page.txt:4: "), "{shown}");
}

#[test]
fn connections_are_used_again_and_replaced_when_they_were_given_up() {
    // Each connection answers two requests, and closes at the third without an answer.
    let (address, heard) = other(|_, count, _| if count < 2 { OK.into() } else { Vec::new() });
    let server = start(&[]);
    for _ in 0..4 {
        assert_eq!(show(&server, &format!("http://{address}/")), "200||2|ok");
    }
    let numbers: Vec<usize> = heard.try_iter().map(|(number, _)| number).collect();
    assert_eq!(numbers, [0, 0, 0, 1, 1]);
    until("the idle one alone", || (server.count("/connections") == 1).then_some(()));
    // A request that must not be sent twice is not.
    let server = start(&[(
        "post.page.txt",
        "<% for i = 1, 3 do local a, why = fetch(request.query.url, { body = 'x' }) response:write(why or \
         a.status, ' ') end %>",
    )]);
    let shown = server.get(&format!("/post?url=http://{address}/"));
    assert_eq!(text(&shown), "200 200 closed before the answer was whole ");
}

#[test]
fn failed_fetch_gives_nil_and_reason() {
    let server = start(&[(
        "late.page.txt",
        "<% local a, why = fetch(request.query.url, { timeout = 0.1 }) %><%= tostring(a), ' ', why %>",
    )]);
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    assert_eq!(show(&server, &format!("http://{closed}/")), "connection refused");
    // Longer than a label of a host name may be: no name server is asked.
    assert_eq!(show(&server, &format!("http://{}.test/", "a".repeat(64))), "host not found");
    assert!(show(&server, "example.org").starts_with("not a URL: "));
    assert!(show(&server, "http://127.0.0.1/a%20b").starts_with("not a URL: "));
    let (garbage, _) = always("SSH-2.0-OpenSSH\r\nConnection: close\r\n");
    let told = show(&server, &format!("http://{garbage}/"));
    assert!(told.starts_with("not an HTTP answer: it does not begin with HTTP/"), "{told}");
    let (cut, _) = always("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nshort");
    assert_eq!(show(&server, &format!("http://{cut}/")), "closed before the answer was whole");
    let mut endless = String::from("HTTP/1.1 200 OK\r\n");
    for number in 0..80 {
        write!(endless, "X-{number}: {}\r\n", "x".repeat(1000)).unwrap();
    }
    let (endless, _) = always(endless);
    let told = show(&server, &format!("http://{endless}/"));
    assert!(told.starts_with("not an HTTP answer: "), "{told}");
    let long = [b"HTTP/1.0 200 OK\r\n\r\n".to_vec(), vec![b'x'; (8 << 20) + 1]].concat();
    let (long, _) = always(long);
    let told = show(&server, &format!("http://{long}/"));
    assert_eq!(told, "the body of the answer is longer than 8388608 bytes");
    // It listens and never accepts.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let shown = server.get(&format!("/late?url=http://{}/", silent.local_addr().unwrap()));
    assert_eq!(text(&shown), "nil timeout");
    until("no connection is left", || (server.count("/connections") == 0).then_some(()));
}

#[test]
fn invalid_fetch_argument_is_error_with_line() {
    let calls = [
        ("fetch(1)", "fetch takes a URL, not a number"),
        ("fetch('http://a/', 1)", "fetch: the options must be a table, not a number"),
        ("fetch('http://a/', { methd = 'GET' })", "fetch has no option 'methd'"),
        ("fetch('http://a/', { method = 'G T' })", "fetch: not a method: G T"),
        ("fetch('http://a/', { headers = { ['a b'] = 'c' } })", "fetch: not a header name: a b"),
        (
            "fetch('http://a/', { headers = { a = 'b\\r\\nX-Evil: 1' } })",
            "fetch: the value of 'a' must be a string of one line",
        ),
        ("fetch('http://a/', { body = {} })", "fetch: 'body' must be a string, not a table"),
        ("fetch('http://a/', { body = '', json = 1 })", "fetch takes 'body' or 'json', not both"),
        ("fetch('http://a/', { json = print })", "a function has no form in JSON"),
        ("fetch('http://a/', { timeout = 0 })", "fetch: 'timeout' must be seconds above 0, not 0"),
    ];
    let page: String = calls.iter().fold(String::from("<%\n"), |page, (call, _)| {
        page + &format!(
            "response:write(select(2, pcall(function() local a = {call} end)), '\\n')\n"
        )
    });
    let server = start(&[("wrong.page.txt", &(page + "%>"))]);
    let shown = server.get("/wrong");
    for ((number, (_, expected)), line) in (2..).zip(&calls).zip(text(&shown).lines()) {
        assert!(line.starts_with(&format!("wrong.page.txt:{number}: ")), "{line}");
        assert!(line.contains(expected), "{line}");
    }
    assert_eq!(text(&shown).lines().count(), calls.len());
}

#[test]
fn many_pages_wait_at_once() {
    // No request is answered before all have arrived.
    let (all, barrier) = (100, std::sync::Arc::new(std::sync::Barrier::new(100)));
    let (address, _) = other(move |number, _, _| {
        barrier.wait();
        let number = number.to_string();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{number}", number.len()).into()
    });
    let server = start(&[]);
    let mut clients: Vec<_> = (0..all).map(|_| server.client()).collect();
    let target = format!("/show?url=http://{address}/");
    for client in &mut clients {
        client.send(head("GET", &target, &[])).unwrap();
    }
    let mut numbers: Vec<usize> = clients
        .iter_mut()
        .map(|client| {
            let response = client.response(RequestKind::Other).unwrap();
            text(&response).rsplit('|').next().unwrap().parse().unwrap()
        })
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..all).collect::<Vec<_>>());
    // All connections are kept, for the pages that come next.
    server.reaches("/connections", 2 * all as u64);
}

#[test]
fn a_page_whose_client_goes_away_gives_its_fetch_up() {
    let (tell, ended) = channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let request = whole_request(&mut stream);
        tell.send(request.is_some()).unwrap();
        let rest = read(&mut stream, &mut [0; 10]);
        tell.send(!matches!(rest, Ok(1..))).unwrap();
    });
    let server = start(&[]);
    let mut client = server.client();
    client.send(head("GET", &format!("/show?url=http://{address}/"), &[])).unwrap();
    assert!(ended.recv_timeout(PATIENCE).unwrap(), "it was asked");
    drop(client);
    assert!(ended.recv_timeout(PATIENCE).unwrap(), "its connection has ended");
    until("nothing is left", || (server.count("/connections") == 0).then_some(()));
}

#[test]
fn a_page_fetches_from_its_own_server_wherever_it_stands() {
    let page = "<% local function get(what)\n\
        local a = assert(fetch('http://' .. request.query.at .. '/part?x=' .. what))\n\
        return a.body end\n\
        local inner = coroutine.wrap(function() coroutine.yield(get('a')) end)\n\
        local list = { 3, 1, 2 }\n\
        table.sort(list, function(one, two) return get(one) < get(two) end)\n\
        local fine, result = pcall(get, 'b')\n\
        response:write(inner(), ' ', result, ' ', list[1], list[2], list[3], ' ',\n\
        (('c'):gsub('c', get)))\n%>";
    let part = "<% sleep(0.001) %>[<%= request.query.x %>]";
    let server = start(&[("all.page.txt", page), ("part.page.txt", part)]);
    for _ in 0..2 {
        let shown = server.get(&format!("/all?at={}", server.address()));
        assert_eq!(text(&shown), "[a] [b] 123 [c]", "{}", server.printed_errors());
    }
}

#[test]
fn processes_fetch_at_the_same_time() {
    // No request is answered before all have arrived.
    let barrier = std::sync::Arc::new(std::sync::Barrier::new(3));
    let (address, _) = other(move |_, _, _| {
        barrier.wait();
        OK.into()
    });
    let page = "<% local me, url = self(), request.query.url\n\
        for i = 1, 3 do spawn(function() send(me, assert(fetch(url)).body) end) end\n\
        spawn(function() send(me, select(2, fetch('ftp://a/'))) end)\n\
        local all = {}\n\
        for i = 1, 4 do all[i] = receive(10) end\n\
        table.sort(all) response:write(table.concat(all, ' ')) %>";
    let server = start(&[("all.page.txt", page)]);
    let shown = server.get(&format!("/all?url=http://{address}/"));
    assert_eq!(
        text(&shown),
        "not a URL: it does not begin with http:// or https:// ok ok ok",
        "{}",
        server.printed_errors()
    );
}

#[test]
fn names_lead_where_this_host_says() {
    let (address, heard) = always(OK);
    let server = start(&[]);
    let url = format!("http://localhost:{}/", address.port());
    assert_eq!(show(&server, &url), "200||2|ok");
    let (_, request) = heard.recv_timeout(PATIENCE).unwrap();
    assert!(request.contains(&format!("\r\nHost: localhost:{}\r\n", address.port())));
}

#[test]
fn the_configuration_says_what_may_be_fetched() {
    let (address, _) = always(OK);
    let with = |fetch: &str| {
        let plan = Plan::new().config(&format!("[pages]\nfetch = {fetch}\n"));
        plan.file("show.page.txt", SHOW).start()
    };
    let (numeric, named) =
        (format!("http://{address}/"), format!("http://localhost:{}/", address.port()));
    let refused = "not allowed by `fetch` in [pages]";
    for (fetch, by_address, by_name) in [
        ("\"all\"", "200||2|ok", "200||2|ok"),
        ("\"none\"", refused, refused),
        ("[\"localhost\"]", refused, "200||2|ok"),
        ("[\"127.0.0.0/8\"]", "200||2|ok", "200||2|ok"),
        ("[\"10.0.0.0/8\", \"*.example.org\"]", refused, refused),
    ] {
        let server = with(fetch);
        assert_eq!(show(&server, &numeric), by_address, "{fetch}");
        assert_eq!(show(&server, &named), by_name, "{fetch}");
    }
}

#[test]
fn a_server_that_stops_lets_a_page_have_its_answer() {
    let (go, may_answer) = channel::<()>();
    let may_answer = std::sync::Arc::new(std::sync::Mutex::new(may_answer));
    let (address, heard) = other(move |_, _, request| {
        if request.starts_with("GET /slow") {
            may_answer.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        }
        OK.into()
    });
    let mut server = start(&[]);
    assert_eq!(show(&server, &format!("http://{address}/quick")), "200||2|ok");
    let mut client = server.client();
    client.send(head("GET", &format!("/show?url=http://{address}/slow"), &[])).unwrap();
    let asked = until("it was asked", || heard.try_iter().find(|(_, text)| text.contains("/slow")));
    assert_eq!(asked.0, 0, "on the connection that was idle");
    server.signal("TERM");
    go.send(()).unwrap();
    let response = client.response(RequestKind::Other).unwrap();
    assert_eq!(text(&response), "200||2|ok");
    assert!(server.wait().success());
}

#[test]
fn a_page_that_runs_while_the_server_drains_fetches_on() {
    let (go, gate) = channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    // Its first answer is sent when the test says so.
    let (address, heard) = other(move |_, _, request| {
        if request.starts_with("GET /first") {
            gate.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        }
        OK.into()
    });
    let page = "<%= fetch(request.query.to .. '/first').body %> \
                <%- fetch(request.query.to .. '/second').body %>";
    let mut server = start(&[("two.page.txt", page)]);
    let mut client = server.client();
    client.send(head("GET", &format!("/two?to=http://{address}"), &[])).unwrap();
    heard.recv_timeout(PATIENCE).unwrap();
    server.signal("TERM");
    let refused = || TcpStream::connect(server.address()).is_err();
    until("the listener is closed", || refused().then_some(()));
    go.send(()).unwrap();
    let answer = client.response(RequestKind::of_method(Some("GET"))).unwrap();
    assert_eq!((answer.status, text(&answer)), (200, "ok ok"));
    assert!(server.wait().success());
}
