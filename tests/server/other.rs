//! Other servers, from which pages fetch: each answers as its test says, with a thread per connection.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The requests to the other server, each with the number of its connection.
pub(crate) type Heard = Receiver<(usize, String)>;

/// Another server. For each complete request, `answer` gets the connection's number, the number of the request on it,
/// from 0, and the request; its result is sent, and an empty one ends the connection.
pub(crate) fn other<F>(answer: F) -> (SocketAddr, Heard)
where
    F: Fn(usize, usize, &str) -> Vec<u8> + Clone + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, heard) = channel();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (answer, tell) = (answer.clone(), tell.clone());
            thread::spawn(move || converse(stream.unwrap(), number, &answer, &tell));
        }
    });
    (address, heard)
}

fn converse(
    mut stream: TcpStream,
    number: usize,
    answer: &dyn Fn(usize, usize, &str) -> Vec<u8>,
    tell: &Sender<(usize, String)>,
) {
    let mut count = 0;
    while let Some(request) = whole_request(&mut stream) {
        let _nobody_listens = tell.send((number, request.clone()));
        let reply = answer(number, count, &request);
        count += 1;
        if reply.is_empty() || stream.write_all(&reply).is_err() {
            return;
        }
        if !is_kept(&reply) {
            return;
        }
    }
    let _nobody_listens = tell.send((number, "end".to_owned()));
}

/// Whether the connection stays open after this answer.
fn is_kept(reply: &[u8]) -> bool {
    let reply = String::from_utf8_lossy(reply);
    !reply.contains("Connection: close") && !reply.starts_with("HTTP/1.0")
}

/// The next request of a connection, header and body; `None` if it has ended.
pub(crate) fn whole_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        request.push(byte[0]);
    }
    let mut request = String::from_utf8(request).unwrap();
    let length = request.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    request.push_str(&String::from_utf8(body).unwrap());
    Some(request)
}

/// Another server that always sends the same answer.
pub(crate) fn always(answer: impl Into<Vec<u8>>) -> (SocketAddr, Heard) {
    let answer = answer.into();
    other(move |_, _, _| answer.clone())
}
