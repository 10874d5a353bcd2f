//! Goal: an operator learns why the checks of a server fail, and that they pass again. Method: the built binary, a
//! server that answers what a test says, and the log.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::server::patience::until;
use crate::server::upstreams::{all_to, by_hand, read_to, start};
use crate::server::{Server, free_address};

fn logged(server: &Server, what: &str) {
    until(what, || server.printed_errors().contains(what).then_some(()));
}

#[test]
fn reason_of_failed_checks_and_their_end_are_in_the_log() {
    let (address, connections) = by_hand();
    let said = Arc::new(Mutex::new("HTTP/1.1 500 No\r\nContent-Length: 0\r\n"));
    let answer = Arc::clone(&said);
    thread::spawn(move || {
        for mut backend in connections {
            read_to(&mut backend, "\r\n\r\n");
            let head = *answer.lock().unwrap();
            let _gone = backend.write_all(format!("{head}Connection: close\r\n\r\nUP").as_bytes());
        }
    });
    let dead = free_address();
    let keys = "check = \"/h\"\ncheck_body = \"UP\"\ncheck_interval = \"100ms\"\nfailures = 2";
    let server = start(&all_to(&[address, dead], keys));
    logged(&server, &format!("upstream a, {address}: its checks fail: status 500"));
    logged(&server, &format!("upstream a, {dead}: its checks fail: connection refused"));
    let passed = format!("info: upstream a, {address}: its checks pass again");
    *said.lock().unwrap() = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";
    logged(&server, &passed);
    *said.lock().unwrap() = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n";
    logged(
        &server,
        &format!("{address}: its checks fail: its answer does not have the text of `check_body`"),
    );
    // Once for each turn, however often it is checked.
    assert_eq!(server.printed_errors().matches(": status 500").count(), 1);
    assert_eq!(server.printed_errors().matches(&passed).count(), 1);
}
