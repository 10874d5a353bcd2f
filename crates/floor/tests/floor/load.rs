//! The load against servers that answer correctly, wrongly, in pieces, and not at all.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};

const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Serves each connection with `answer(number of the request on it, its socket)` until the client closes.
fn serve(answer: fn(u64, &mut TcpStream) -> std::io::Result<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            socket.set_nodelay(true).unwrap();
            std::thread::spawn(move || {
                let mut buffer = [0; 1024];
                let mut number = 0;
                while socket.read(&mut buffer).is_ok_and(|received| received > 0) {
                    if answer(number, &mut socket).is_err() {
                        break;
                    }
                    number += 1;
                }
            });
        }
    });
    address
}

fn load(address: SocketAddr, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_floor-load"));
    command.arg(address.to_string()).arg("/json").args(words).output().unwrap()
}

/// A number in the line that the load prints.
fn number(output: &Output, name: &str) -> f64 {
    let line = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let (_, rest) =
        line.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{complaint}"));
    rest.split([',', '}']).next().unwrap().parse().unwrap()
}

#[test]
fn good_answers_are_counted_and_timed() {
    let address = serve(|_, socket| socket.write_all(GOOD));
    let output = load(address, &["3", "0.2"]);
    assert!(number(&output, "requests") > 0.0);
    assert_eq!(number(&output, "errors"), 0.0);
    let rate = number(&output, "requests_per_second");
    // On a busy host the last answers come late.
    let of_requests = rate * 0.2 / number(&output, "requests");
    assert!(of_requests > 0.0 && of_requests < 1.5, "{rate}");
    let quantiles = ["p50", "p99", "p999", "max"].map(|name| format!("latency_{name}_ns"));
    let times = quantiles.map(|name| number(&output, &name));
    assert!(times[0] > 0.0 && times.is_sorted(), "{times:?}");
}

#[test]
fn an_answer_in_pieces_is_one_answer() {
    let address = serve(|_, socket| {
        let (head, rest) = GOOD.split_at(20);
        socket.write_all(head)?;
        socket.write_all(rest)
    });
    let output = load(address, &["2", "0.2"]);
    assert!(number(&output, "requests") > 0.0);
    assert_eq!(number(&output, "errors"), 0.0);
}

#[test]
fn wrong_answers_are_errors() {
    // Each after one good answer to learn from and another one.
    let of_status = serve(|number, socket| match number {
        0..2 => socket.write_all(GOOD),
        _ => socket.write_all(b"HTTP/1.1 503 OK\r\nContent-Length: 5\r\n\r\nhello"),
    });
    let of_length = serve(|number, socket| match number {
        0..2 => socket.write_all(GOOD),
        _ => socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello!"),
    });
    let of_end = serve(|number, socket| match number {
        0..2 => socket.write_all(GOOD),
        _ => Err(std::io::ErrorKind::BrokenPipe.into()),
    });
    for address in [of_status, of_length, of_end] {
        let output = load(address, &["2", "1"]);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(complaint.contains("every connection failed (2 errors)"), "{complaint}");
    }
}

#[test]
fn an_answer_that_never_comes_is_an_error() {
    let address = serve(|number, socket| match number {
        0..2 => socket.write_all(GOOD),
        // One byte short for ever.
        _ => socket.write_all(&GOOD[..GOOD.len() - 1]),
    });
    let output = load(address, &["1", "1"]);
    assert_eq!(number(&output, "errors"), 1.0);
}

#[test]
fn a_first_answer_to_learn_nothing_from_is_refused() {
    let address = serve(|_, socket| socket.write_all(b"HTTP/1.1 404 No\r\n\r\n"));
    let output = load(address, &["1", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("its status is not 200"));
}
