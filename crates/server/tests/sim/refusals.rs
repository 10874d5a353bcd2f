//! Refusals as the refused client sees them.

use http::HttpSettings;

use crate::client::{Client, Ending, Step};
use crate::expected::Expected;
use crate::small::stage;
use crate::world::Setting;

/// Plays one request that is refused: the client reads the answer by its own method, then nothing more comes.
fn refuse(request: &str, expected: Expected) {
    let mut stage = stage(&Setting::quiet(1), HttpSettings::default());
    let script = [
        Step::Send(request.replace('\n', "\r\n").into_bytes()),
        Step::Expect(expected.last()),
        Step::ExpectEnd,
        Step::Close,
    ];
    let mut clients = [Client::new(stage.now_ns(), script)];
    let over = stage.run_until(&mut clients, |_, clients| clients[0].is_over());
    assert!(over, "it hangs: {:?}", clients[0]);
    assert_eq!(clients[0].ending(), Some(Ending::Satisfied), "{:?}", clients[0]);
    stage.run_until(&mut [], |stage, _| stage.processes() == 0);
    stage.assert_nothing_is_left();
}

/// RFC 9110 section 9.3.2: no body, and the length that one would have.
#[test]
fn a_refusal_of_head_has_no_body() {
    let long = "HEAD /echo HTTP/1.1\nHost: a\nContent-Length: 99999999\n\n";
    refuse(long, Expected::new(413, *b"413 Content Too Large\n").head());
    let odd = "HEAD /echo HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\nx\n";
    refuse(odd, Expected::new(400, *b"400 Bad Request\n").head());
    let late = "\nHEAD /echo HTTP/1.1\nHost: a\nContent-Length: 5\n\nab";
    refuse(late, Expected::new(408, *b"408 Request Timeout\n").head());
    let waiting = "HEAD /wait?40000 HTTP/1.1\nHost: a\n\n";
    refuse(waiting, Expected::new(504, *b"504 Gateway Timeout\n").head());
}

#[test]
fn a_refusal_of_another_method_has_its_body() {
    let long = "POST /echo HTTP/1.1\nHost: a\nContent-Length: 99999999\n\n";
    refuse(long, Expected::new(413, *b"413 Content Too Large\n"));
    let late = "POST /echo?HEAD HTTP/1.1\nHost: a\nContent-Length: 5\n\nab";
    refuse(late, Expected::new(408, *b"408 Request Timeout\n"));
}
