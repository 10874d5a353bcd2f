//! Goal: unread bytes of a body are never taken for a request. Method: a refused POST whose body looks
//! like a second request, with an error page that no scheduler has opened yet, so that the answer has to wait.

use crate::server::Server;

/// A body that is larger than what the server reads to keep the connection, and begins like a request.
fn smuggled(expect: &str) -> Vec<u8> {
    let mut request = format!(
        "POST /first.txt HTTP/1.1\r\nHost: test\r\n{expect}Content-Length: 200000\r\n\r\n\
         GET /second.txt HTTP/1.1\r\nHost: test\r\n\r\n"
    )
    .into_bytes();
    request.resize(request.len() + 1000, b'x');
    request
}

fn answers_once(expect: &str) {
    let server = Server::start("[error_pages]\n405 = \"/first.txt\"\n");
    server.directory().write("site/first.txt", "first");
    server.directory().write("site/second.txt", "second");
    let mut client = server.client();
    client.send(smuggled(expect)).unwrap();
    let (answer, _end) = client.rest().unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "one request, one answer: {answer}");
    assert!(answer.starts_with("HTTP/1.1 405 Method Not Allowed\r\n"), "{answer}");
    assert!(answer.contains("Connection: close\r\n"), "{answer}");
    assert!(answer.ends_with("first"), "{answer}");
}

#[test]
fn a_body_too_large_to_skip_is_not_a_request() {
    answers_once("");
}

#[test]
fn a_body_that_was_never_asked_for_is_not_a_request() {
    answers_once("Expect: 100-continue\r\n");
}
