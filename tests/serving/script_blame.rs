//! Goal: wrong input of a client is reported as the client's fault, not the page's or the operator's. Method: the built
//! binary, raw clients that send more than a page accepts, or invalid input.

use crate::server::client::{head, text};
use crate::server::forms::{TYPE, part, plan, post};
use crate::server::patience::until;
use crate::server::{Plan, Server};
use conformance::RequestKind;

fn start(pages: &[(&str, &str)]) -> Server {
    Plan::new().files(pages).start()
}

#[test]
fn a_form_of_very_many_files_is_refused_where_a_page_looks() {
    let server = plan().file("count.page.txt", "<%= #request.files %>").start();
    let file = part("name=\"file\"; filename=\"a\"", "x");
    let send = |count| post(&server, "/count", TYPE, &(file.repeat(count) + "--B--\r\n"));
    // Three values of each file, because the client sends no type, and two of the form.
    assert_eq!(text(&send(666)), "666");
    assert_eq!(send(667).status, 413);
    assert_eq!(send(1000).status, 413);
    assert_eq!(server.printed_troubles(), "", "the client alone is at fault");
}

#[test]
fn a_form_of_very_many_fields_is_refused_where_a_page_looks() {
    let page = "<% local count = 0\nfor _ in pairs(request.form_lists) do count = count + 1 end -%>\n<%= \
                count %>";
    let server = start(&[("form.page.txt", page)]);
    let mut client = server.client();
    let mut post = |count: usize| {
        let body: String = (0..count).map(|number| format!("{number:x}=&")).collect();
        let length = body.len().to_string();
        let kind = "application/x-www-form-urlencoded";
        let fields = [("Content-Length", length.as_str()), ("Content-Type", kind)];
        client.send(head("POST", "/form", &fields) + &body).unwrap();
        client.response(RequestKind::Other).unwrap()
    };
    assert_eq!(text(&post(2000)), "2000");
    assert_eq!(post(2001).status, 413);
    assert_eq!(post(150_000).status, 413);
    assert_eq!(server.printed_troubles(), "", "the client alone is at fault");
    let many: String = (0..2001).map(|number| format!("{number:x}&")).collect();
    let answer = client.request("GET", &format!("/form?{many}"), &[]).unwrap();
    assert_eq!((answer.status, text(&answer)), (200, "0"));
}

#[test]
fn invalid_client_input_is_not_counted_as_page_failure() {
    let pages = [
        ("query.page.txt", "<% local query = request.query -%>\n<%= query.a %>"),
        ("json.page.txt", "<%= request.json.a %>"),
        ("careful.page.txt", "<%= select(2, pcall(function() return request.json end)) %>"),
    ];
    let server = start(&pages);
    let many: String = (0..2001).map(|number| format!("{number:x}&")).collect();
    let mut client = server.client();
    assert_eq!(client.request("GET", &format!("/query?{many}"), &[]).unwrap().status, 400);
    let mut post = |path: &str, body: &str| {
        let length = body.len().to_string();
        client.send(head("POST", path, &[("Content-Length", length.as_str())]) + body).unwrap();
        client.response(RequestKind::Other).unwrap()
    };
    assert_eq!(text(&post("/json", "{\"a\":7}")), "7");
    assert_eq!(post("/json", "{\"a\":").status, 400);
    let told = "careful.page.txt:1: request.json: a value expected at byte 6";
    assert_eq!(text(&post("/careful", "{\"a\":")), told);
    assert_eq!(server.printed_troubles(), "", "the client alone is at fault");
    until("them to be counted", || (server.count("/pages/refused") == 2).then_some(()));
    assert_eq!(server.count("/pages/failures"), 0);
}
