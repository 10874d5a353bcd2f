//! Requests that follow each other on a connection are found one behind the other (RFC 9112, 9.3.2).

use proptest::prelude::*;
use proptest::sample::Index;
use wire::http::body::{BodyDecoder, BodyLimits, BodyPiece, write_chunk, write_last_chunk};
use wire::http::head::{FieldSlots, Fields, Framing, Head, HeadLimits, RequestTarget, parse};
use wire::http::method::Method;
use wire::http::url::Scheme;

/// A request that was sent, and must be found again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sent {
    method: &'static str,
    path: String,
    body: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Wrapping {
    Length,
    Chunks(usize),
}

fn request() -> impl Strategy<Value = (Sent, Vec<u8>)> {
    let wrapping = prop_oneof![Just(Wrapping::Length), (1..20usize).prop_map(Wrapping::Chunks)];
    let body = prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(any::<u8>(), 1..60)];
    let filler = prop::collection::vec("[A-Z][a-z-]{0,8}: [!-~]{0,30}\r\n", 0..4);
    ("/[a-z0-9]{0,12}", body, wrapping, filler, any::<bool>()).prop_map(
        |(path, body, wrapping, filler, has_empty_line)| {
            let method = if body.is_empty() { "GET" } else { "POST" };
            let lead = if has_empty_line { "\r\n" } else { "" };
            let filler = filler.concat();
            let mut bytes =
                format!("{lead}{method} {path} HTTP/1.1\r\nHost: a\r\n{filler}").into_bytes();
            match wrapping {
                Wrapping::Length if body.is_empty() => bytes.extend_from_slice(b"\r\n"),
                Wrapping::Length => {
                    bytes.extend_from_slice(
                        format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(),
                    );
                    bytes.extend_from_slice(&body);
                }
                Wrapping::Chunks(size) => {
                    bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                    body.chunks(size).for_each(|chunk| write_chunk(&mut bytes, chunk));
                    write_last_chunk(&mut bytes, Fields::default());
                }
            }
            (Sent { method, path, body }, bytes)
        },
    )
}

/// A connection as a server keeps it: unused bytes, and perhaps a body that is being read.
struct Connection {
    waiting: Vec<u8>,
    body: Option<BodyDecoder>,
    found: Vec<Sent>,
}

impl Connection {
    fn receive(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        let mut slots = FieldSlots::new();
        loop {
            let used =
                if self.body.is_some() { self.read_body() } else { self.read_head(&mut slots) };
            let Some(used) = used else { return };
            self.waiting.drain(..used);
        }
    }

    fn read_head(&mut self, slots: &mut FieldSlots) -> Option<usize> {
        let (request, length) =
            match parse(&self.waiting, Scheme::Http, &HeadLimits::default(), slots) {
                Ok(Head::Partial) => return None,
                Ok(Head::Complete { request, length }) => (request, length),
                Err(refusal) => panic!("{refusal:?}"),
            };
        let RequestTarget::Origin(path) = request.target else { panic!("{:?}", request.target) };
        // A body of GET ends the connection, because parsers disagree about its meaning.
        assert_eq!(
            request.persistent,
            request.method != Method::Get || request.framing == Framing::None
        );
        self.found.push(Sent {
            method: request.method.as_str(),
            path: String::from_utf8_lossy(path).into_owned(),
            body: vec![],
        });
        let decoder = BodyDecoder::new(request.framing, &BodyLimits::default());
        self.body = Some(decoder.expect("the body is within its limits"));
        Some(length)
    }

    fn read_body(&mut self) -> Option<usize> {
        let decoder = self.body.as_mut().expect("a body is being read");
        let (used, piece) = decoder.next(&self.waiting).expect("the body is valid");
        match piece {
            BodyPiece::Data(data) => {
                let request = self.found.last_mut().expect("a body follows a head");
                request.body.extend_from_slice(data);
            }
            BodyPiece::End => self.body = None,
            BodyPiece::NeedMore if used == 0 => return None,
            BodyPiece::NeedMore => {}
        }
        Some(used)
    }
}

proptest! {
    #[test]
    fn requests_are_found_in_order_however_they_are_cut(
        requests in prop::collection::vec(request(), 1..12),
        cuts in prop::collection::vec(any::<Index>(), 0..30),
    ) {
        let bytes: Vec<u8> = requests.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let sent: Vec<Sent> = requests.into_iter().map(|(sent, _)| sent).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut connection = Connection { waiting: vec![], body: None, found: vec![] };
        for pair in cuts.windows(2) {
            connection.receive(&bytes[pair[0]..pair[1]]);
        }
        prop_assert_eq!(connection.found, sent);
        prop_assert!(connection.waiting.is_empty());
        prop_assert!(connection.body.is_none());
    }
}

#[test]
fn sixteen_requests_in_one_read() {
    let one = b"GET /json HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
    let input = one.repeat(16);
    let mut slots = FieldSlots::new();
    let mut at = 0;
    for _ in 0..16 {
        let Ok(Head::Complete { request, length }) =
            parse(&input[at..], Scheme::Http, &HeadLimits::default(), &mut slots)
        else {
            panic!("not a request at {at}");
        };
        assert_eq!(length, one.len());
        assert_eq!(request.target, RequestTarget::Origin(b"/json"));
        assert_eq!(request.fields.first("host"), Some(&b"127.0.0.1:8080"[..]));
        assert!(request.persistent);
        at += length;
    }
    assert_eq!(at, input.len());
}
