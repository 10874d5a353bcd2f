//! Goal: a module decides which server answers a request, with which path and fields, and what it has set goes out with
//! that answer. Method: the built binary, and servers that tell what they heard.

use crate::server::forms::{TYPE, part};
use crate::server::other::always;
use crate::server::patience::PATIENCE;
use crate::server::upstreams::{exchange, get};
use crate::server::{Plan, Server, free_address};

const MODULE: &str = "local function forward(request) return request:proxy('api') end
return {
  { '/plain', forward },
  { 'GET', '/:name/changed', function(request, response)
    response.headers['X-Module'] = 'm'
    response.headers['Server'] = 'ours'
    response:cookie('a', 'b')
    local fields = { ['X-User'] = 'ann', Host = 'inner.test' }
    return request:proxy('api', { path = '/to/' .. request.parameters.name, headers = fields })
  end },
  { 'GET', '/query', function(request) return request:proxy('api', { path = '/q?own=1' }) end },
  { 'GET', '/waits', function(request) sleep(0.05) return request:proxy('api') end },
  { 'GET', '/missing', function(request) return request:proxy('nowhere') end },
  { 'GET', '/down', function(request) return request:proxy('down') end },
  { '/form', function(request) local _ = request.files return request:proxy('api') end },
}";

fn site(api: std::net::SocketAddr) -> Server {
    let config = format!(
        "[headers]\nX-Route = \"r\"\n[[route]]\nprefix = \"/m\"\nmodule = \"gate\"\n\
         [[upstream]]\nname = \"api\"\nservers = [\"{api}\"]\n\
         [[upstream]]\nname = \"down\"\nservers = [\"{}\"]\n\
         [pages]\napp = \"app\"\nuploads = \"up\"\n",
        free_address()
    );
    let plan = Plan::new().argument("--schedulers=1").config(&config);
    std::fs::create_dir(plan.directory.join("up")).unwrap();
    plan.directory.write("app/gate.lua", MODULE);
    plan.start()
}

const ANSWER: &str =
    "HTTP/1.1 201 Made\r\nServer: theirs\r\nSet-Cookie: c=d\r\nContent-Length: 5\r\n\r\nanswer";

#[test]
fn a_server_answers_the_request_that_a_module_gives_it() {
    let (api, heard) = always(ANSWER.replace("answer", "there"));
    let server = site(api);
    let next = || heard.recv_timeout(PATIENCE).unwrap().1;
    let answer = exchange(&server, &get("/m/plain?q=%20", "X-A: b\r\n"));
    assert!(answer.starts_with("HTTP/1.1 201 ") && answer.ends_with("\r\n\r\nthere"), "{answer}");
    assert!(answer.contains("\r\nX-Route: r\r\n") && answer.contains("Server: theirs"), "{answer}");
    let request = next();
    assert!(request.starts_with("GET /m/plain?q=%20 HTTP/1.1\r\nHost: site.test\r\n"), "{request}");
    assert!(request.contains("\r\nX-A: b\r\n"), "{request}");
    let post = "POST /m/plain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
                4\r\nbody\r\n0\r\n\r\n";
    assert!(exchange(&server, post).ends_with("\r\n\r\nthere"));
    let request = next();
    assert!(
        request.starts_with("POST /m/plain ") && request.ends_with("\r\n\r\nbody"),
        "{request}"
    );
    exchange(&server, &get("/m/query?theirs=1", ""));
    assert!(next().starts_with("GET /q?own=1 HTTP/1.1\r\n"));
    exchange(&server, &get("/m/waits", ""));
    assert!(next().starts_with("GET /m/waits HTTP/1.1\r\n"));
}

#[test]
fn a_module_changes_the_path_and_fields_of_request_and_answer() {
    let (api, heard) = always(ANSWER.replace("answer", "there"));
    let server = site(api);
    let answer = exchange(&server, &get("/m/one/changed?q", "x-user: root\r\n"));
    let request = heard.recv_timeout(PATIENCE).unwrap().1;
    assert!(request.starts_with("GET /to/one?q HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("\r\nX-User: ann\r\n") && !request.contains("root"), "{request}");
    assert!(request.contains("\r\nHost: inner.test\r\n"), "{request}");
    assert!(!request.contains("\r\nHost: site.test"), "{request}");
    for line in ["Server: theirs", "X-Module: m", "X-Route: r", "Set-Cookie: c=d"] {
        assert!(answer.contains(&format!("\r\n{line}\r\n")), "{line}: {answer}");
    }
    assert!(answer.contains("\r\nSet-Cookie: a=b") && !answer.contains("ours"), "{answer}");
}

#[test]
fn a_request_that_cannot_go_on_is_answered_with_an_error() {
    let (api, heard) = always(ANSWER.replace("answer", "there"));
    let server = site(api);
    assert!(exchange(&server, &get("/m/down", "")).starts_with("HTTP/1.1 502 "));
    assert!(exchange(&server, &get("/m/missing", "")).starts_with("HTTP/1.1 500 "));
    let told = server.printed_errors();
    assert!(told.contains("there is no [[upstream]] with the name \"nowhere\""), "{told}");
    let form = part("name=file; filename=a", "data") + "--B--\r\n";
    let post = format!(
        "POST /m/form HTTP/1.1\r\nHost: a\r\nContent-Type: {TYPE}\r\nContent-Length: {}\r\nConnection: \
         close\r\n\r\n{form}",
        form.len()
    );
    assert!(exchange(&server, &post).starts_with("HTTP/1.1 500 "));
    assert!(server.printed_errors().contains("a form with files cannot go on"));
    assert_eq!(heard.try_iter().count(), 0);
}
