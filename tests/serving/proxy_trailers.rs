//! Goal: a field that a route sets or removes in the answer of a server does not come from behind its body. Method: the
//! built binary, and a server with trailers.

use crate::server::other::always;
use crate::server::upstreams::{exchange, get, start};

#[test]
fn removed_field_of_an_answer_does_not_come_from_behind_its_body() {
    let (address, _heard) = always(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Secret: 1\r\nX-Set: \
         theirs\r\nX-Kept: 2\r\n\r\n",
    );
    let server = start(&format!(
        "[[upstream]]\nname = \"a\"\nservers = [\"{address}\"]\n[[route]]\nprefix = \"/\"\nproxy = {{ upstream = \
         \"a\", remove_response_headers = [\"x-secret\"], response_headers = {{ X-Set = \"ours\" }} }}\n"
    ));
    let answer = exchange(&server, &get("/", ""));
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("\r\nX-Set: ours"), "{answer}");
    assert_eq!(body, "2\r\nok\r\n0\r\nX-Kept: 2\r\n\r\n");
}
