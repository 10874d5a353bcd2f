//! Goal: an answer of a server behind the proxy is the same over HTTP/2, and one that was cut is no whole one.
//! Method: a server that answers by its path, well or badly.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::server::Server;
use crate::server::patience::PATIENCE;
use crate::site::{answer, content, field, plan, play, status, target};

/// The answers by path; each ends with the connection.
const ANSWERS: &[(&str, &str)] = &[
    (
        "/early",
        "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ),
    (
        "/trailers",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n",
    ),
    (
        "/hops",
        "HTTP/1.1 200 OK\r\nX-UPPER: a\r\nUpgrade: foo\r\nConnection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n\
         Proxy-Connection: x\r\nContent-Length: 2\r\n\r\nok",
    ),
    // A request without a body comes again if its connection has ended, but one with a body does not.
    ("/nothing", "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"),
    ("/same", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"),
    ("/until-close", "HTTP/1.0 200 OK\r\n\r\nwhole"),
    ("/cut", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf"),
    ("/cut-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"),
    ("/nonsense", "HTTP/1.1 2000 OK\r\n\r\n"),
];

/// A request that the server behind the proxy does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unanswered {
    /// Its head has come.
    Came,
    /// Its connection has ended.
    Ended,
}

/// A server, and the requests that it does not answer.
fn behind() -> (SocketAddr, Receiver<Unanswered>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, unanswered) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let sender = sender.clone();
            thread::spawn(move || serve(stream, &sender));
        }
    });
    (address, unanswered)
}

fn serve(mut stream: TcpStream, unanswered: &Sender<Unanswered>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|part| part == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => request.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap();
    match ANSWERS.iter().find(|(known, _)| *known == path) {
        // The proxy may be gone.
        Some((_, answer)) => drop(stream.write_all(answer.as_bytes())),
        None => {
            // The test may be over.
            let _over = unanswered.send(Unanswered::Came);
            while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
            let _over = unanswered.send(Unanswered::Ended);
        }
    }
}

fn site() -> (Server, Receiver<Unanswered>) {
    let (address, unanswered) = behind();
    let config = format!(
        "[[upstream]]\nname = \"behind\"\nservers = [\"{address}\"]\n[[route]]\nprefix = \"/\"\nproxy = \"behind\"\n"
    );
    (plan(&config).start(), unanswered)
}

#[test]
fn answers_pass_without_what_is_about_a_connection() {
    let (server, _unanswered) = site();
    let target = target(&server, "/nothing");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 GET /hops\nwait end 1");
    assert_eq!((status(&client, 1), content(&client, 1)), (200, "ok".to_owned()));
    assert_eq!(
        (field(&client, 1, "x-upper"), field(&client, 1, "x-hop")),
        ("a".to_owned(), String::new())
    );
    play(&mut client, "request 3 GET /nothing\nwait end 3\nrequest 5 GET /same\nwait end 5");
    assert_eq!((status(&client, 3), status(&client, 5)), (204, 304));
    assert_eq!(field(&client, 5, "etag"), "\"a\"");
    play(&mut client, "request 7 GET /until-close\nwait end 7");
    assert_eq!((content(&client, 7), answer(&client, 7).reset_code()), ("whole".to_owned(), None));
    play(&mut client, "request 9 HEAD /hops\nwait end 9");
    assert_eq!(
        (field(&client, 9, "content-length"), content(&client, 9)),
        ("2".to_owned(), String::new())
    );
}

#[test]
fn interim_answers_and_trailers_pass() {
    let (server, _unanswered) = site();
    let target = target(&server, "/nothing");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 GET /early\nwait end 1");
    assert_eq!((answer(&client, 1).interim(), status(&client, 1)), (&[103][..], 200));
    play(&mut client, "request 3 GET /trailers | te: trailers\nwait end 3");
    assert_eq!(
        (content(&client, 3), answer(&client, 3).trailer("x-sum")),
        ("ok".to_owned(), Some(&b"7"[..]))
    );
}

#[test]
fn an_answer_that_was_cut_is_no_whole_one() {
    let (server, _unanswered) = site();
    let target = target(&server, "/nothing");
    for path in ["/cut", "/cut-chunk", "/nonsense"] {
        let mut client = target.client().unwrap();
        play(&mut client, &format!("request 1 GET {path}\nwait end 1"));
        let answer = answer(&client, 1);
        let told = answer.status() == Some(502) || answer.reset_code() == Some(2);
        assert!(told, "{path}: {}", client.frames());
        play(&mut client, "request 3 GET /nothing\nwait end 3");
        assert_eq!(status(&client, 3), 204);
    }
}

#[test]
fn a_request_that_is_taken_back_ends_behind_too() {
    let (server, unanswered) = site();
    let expect = |what: Unanswered, count: usize| {
        for _ in 0..count {
            assert_eq!(unanswered.recv_timeout(PATIENCE), Ok(what));
        }
    };
    let target = target(&server, "/nothing");
    let mut client = target.client().unwrap();
    play(&mut client, "request 1 open POST /slow\ndata 1 | begun\nrequest 3 GET /slow\nwait ping");
    expect(Unanswered::Came, 2);
    play(&mut client, "reset 1 CANCEL\nreset 3 CANCEL");
    expect(Unanswered::Ended, 2);
    play(&mut client, "request 5 GET /slow\nwait ping");
    expect(Unanswered::Came, 1);
    drop(client);
    expect(Unanswered::Ended, 1);
    server.reaches("/connections", 0);
}
