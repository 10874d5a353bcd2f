//! Goal: a stranger uploads only where the site wants files, and only as much as the route allows. Method: forms of
//! several sizes to pages and modules that read files and that do not, with and without a `body_size`.

use crate::server::client::{head, text};
use crate::server::{Plan, Server};
use conformance::{ParsedResponse, RequestKind};

const CONFIG: &str = "[pages]\nuploads = \"up\"\nupload_size = \"2 MiB\"\n\
    [[route]]\npath = \"/small\"\nmodule = \"reads\"\nbody_size = \"1 KiB\"\n\
    [[route]]\npath = \"/large\"\nmodule = \"reads\"\n\
    [[route]]\npath = \"/huge\"\nmodule = \"reads\"\nbody_size = \"10 MiB\"\n\
    [[route]]\npath = \"/none\"\nmodule = \"ignores\"\n\
    [[route]]\npath = \"/indirect\"\nmodule = \"calls\"\n";

fn server() -> Server {
    let plan = Plan::new()
        .config(CONFIG)
        .file("page.page.txt", "<%= #request.files %> files")
        .file("plain.page.txt", "<%= request.form.title or 'no title' %>")
        .file("whole.page.txt", "<% include('_part.txt') %>")
        .file("_part.page.txt", "<%= #request.files %> files");
    std::fs::create_dir(plan.directory.join("up")).unwrap();
    plan.directory.write("app/reads.lua", "return function(r) return #r.files .. ' files' end");
    plan.directory.write("app/ignores.lua", "return function(r) return 'ran' end");
    plan.directory.write("app/calls.lua", "return function(r) return require('reads')(r) end");
    plan.argument("--schedulers=1").start()
}

fn form(size: usize) -> String {
    let data = "x".repeat(size);
    format!(
        "--X\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nFirst\r\n\
         --X\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\n\r\n{data}\r\n--X--\r\n"
    )
}

fn send(server: &Server, path: &str, body: &str, framing: (&str, &str)) -> ParsedResponse {
    let fields = [("Content-Type", "multipart/form-data; boundary=X"), framing];
    let mut client = server.client();
    client.send(head("POST", path, &fields)).unwrap();
    // The server may answer before it has read the body.
    let _refused_early = client.send(body);
    client.response(RequestKind::Other).unwrap()
}

#[test]
fn the_smaller_limit_holds_and_only_readers_get_files() {
    let server = server();
    for (path, size, expected) in [
        ("/small", 100, 200),
        ("/small", 200_000, 413),
        ("/large", 200_000, 200),
        ("/large", 1_500_000, 200),
        ("/large", 3_000_000, 413),
        ("/huge", 1_500_000, 200),
        ("/huge", 3_000_000, 413),
        ("/indirect", 1_500_000, 200),
        ("/page", 1_500_000, 200),
        ("/page", 3_000_000, 413),
        ("/whole", 1_500_000, 200),
        ("/none", 100, 415),
        ("/none", 1_500_000, 413),
        ("/plain", 100, 415),
        ("/plain", 1_500_000, 413),
    ] {
        let body = form(size);
        let length = body.len().to_string();
        let answer = send(&server, path, &body, ("Content-Length", &length));
        assert_eq!(answer.status, expected, "{path} {size}: {}", text(&answer));
        if expected == 200 {
            assert_eq!(text(&answer).trim(), "1 files", "{path} {size}");
        }
        let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        let answer = send(&server, path, &chunked, ("Transfer-Encoding", "chunked"));
        let either = expected == 413 && answer.status == 415;
        assert!(answer.status == expected || either, "{path} {size}: {}", answer.status);
    }
    assert!(server.printed_errors().contains("reads no `request.files`"));
}

#[test]
fn fields_of_a_form_are_read_by_all() {
    let server = server();
    let body = "--X\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nFirst\r\n--X--\r\n";
    let length = body.len().to_string();
    let answer = send(&server, "/plain", body, ("Content-Length", &length));
    assert_eq!((answer.status, text(&answer)), (200, "First"));
}

#[test]
fn a_part_with_an_extended_name_alone_is_a_file() {
    let server = server();
    let body = "--X\r\nContent-Disposition: form-data; name=\"f\"; \
                filename*=UTF-8''%e2%82%ac.txt\r\n\r\nDATA\r\n--X--\r\n";
    let length = body.len().to_string();
    let answer = send(&server, "/page", body, ("Content-Length", &length));
    assert_eq!((answer.status, text(&answer)), (200, "1 files"));
}
