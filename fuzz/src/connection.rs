//! A whole HTTP/1.1 connection, from the reads of a socket to the bytes that are sent: the answers depend on the
//! bytes and never on how they were cut, each request gets its own answer, and every connection
//! ends.
//!
//! The last byte 0xFF of an input ends the stream; the bytes after it say where the stream is cut.

mod answers;
pub(crate) mod application;
mod expected;
mod stage;

use world::{ClientId, ClientState};

use answers::{Answers, read};
use expected::{Conversation, End, converse};
use stage::Stage;

/// The code that it runs.
pub const COVERS: &[&str] =
    &["crates/http/src", "crates/runtime/src", "crates/server/src", "crates/world/src"];

/// Streams of all kinds, with cuts.
pub const SEEDS: &[&[u8]] = &[
    b"GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b?c=d HTTP/1.1\r\nHost: a\r\n\r\n\xff\x05\x10",
    b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloHEAD /b HTTP/1.1\r\nHost: \
      a\r\n\r\n\xff\x2d",
    b"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n\
      GET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /c HTTP/1.1\r\n\xff\x3a\x02",
    b"PUT /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc\xff\x42\x01",
    b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\nPOST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab\
      GET /stream HTTP/1.1\r\nHost: a\r\n\r\n\xff\x30\x07",
    b"POST /ignored HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nGET GET /many HTTP/1.1\r\nHost: \
      a\r\n\r\n",
    b"POST /taken HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: \
      chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\nPOST /taken HTTP/1.1\r\nHost: a\r\nContent-Length: \
      0\r\n\r\nGET /taken HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /ignored HTTP/1.1\r\nHost: a\r\nContent-Length: 400\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /very-late HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nGET /nothing \
      HTTP/1.1",
    b"GET /stream HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / \
      HTTP/1.1\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 999\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n\r\nBREW /nothing HTTP/1.1\r\nHost: a\r\n\r\n\xff\x01",
];

/// Pieces of streams.
pub const WORDS: &[&[u8]] = &[
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /many HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /very-late HTTP/1.1\r\nHost: a\r\n",
    b"POST /ignored HTTP/1.1\r\nHost: a\r\n",
    b"POST /taken HTTP/1.1\r\nHost: a\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\n",
    b"HEAD / HTTP/1.1\r\nHost: a\r\n",
    b"GET /nothing HTTP/1.0\r\n",
    b"Content-Length: 3\r\n\r\nabc",
    b"Content-Length: 101\r\n\r\n",
    b"Content-Length: 301\r\n\r\n",
    b"Content-Length: 0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n",
    b"1\r\na\r\n",
    b"0\r\n\r\n",
    b"Expect: 100-continue\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"X: y\r\n",
    b"GET ",
    b" HTTP/1.1\r\n",
    b"abcdefghijklmnopqrstuvwxyz",
    b"\xff\x00",
    b"\xff\x1f\x02",
];

/// Ends the stream in an input; the cuts follow.
const END_OF_STREAM: u8 = 0xFF;

/// Follows every stream. A head that arrives byte by byte is parsed when a line ends, so no line may stay
/// incomplete: an error in it would be refused with one cut and waited for with another.
const LINE_ENDS: &[u8] = b"\r\n\r\n";

/// Bytes of a stream that one of the clients sends one by one; it sends the rest at once.
const SINGLE_BYTES_MAX: usize = 2_048;

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    let (stream, cuts) = match data.iter().rposition(|byte| *byte == END_OF_STREAM) {
        Some(place) => (&data[..place], &data[place + 1..]),
        None => (data, &[][..]),
    };
    let stream = &[stream, LINE_ENDS].concat();
    let expected = converse(stream);
    let (single, rest) = stream.split_at(stream.len().min(SINGLE_BYTES_MAX));
    let mut stage = Stage::new();
    // All at the same time, so that each meets the leftovers of the others in shared parts.
    let mut clients = [
        Client::new(&stage, vec![stream]),
        Client::new(&stage, cut(stream, cuts)),
        Client::new(&stage, single.chunks(1).chain([rest]).collect()),
    ];
    while clients.iter().any(|client| !client.pieces.is_empty()) {
        for client in &mut clients {
            client.send_next(&mut stage);
        }
    }
    let answered: usize =
        clients.iter().map(|client| client.assert_answers(&stage, &expected)).sum();
    assert_eq!(stage.replies(), answered as u64, "replies counted and replies received");
    assert_ends(&mut stage, &mut clients, &expected);
}

/// Pieces with the lengths that the cuts say, repeatedly; two halves if there are none.
fn cut<'s>(stream: &'s [u8], cuts: &[u8]) -> Vec<&'s [u8]> {
    if cuts.is_empty() {
        let (first, second) = stream.split_at(stream.len() / 2);
        return vec![first, second];
    }
    let mut pieces = Vec::new();
    let mut rest = stream;
    for length in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(rest.len().min(1 + usize::from(*length)));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// A client with the bytes it still has to send and those it has received.
struct Client<'s> {
    id: ClientId,
    pieces: std::collections::VecDeque<&'s [u8]>,
    received: Vec<u8>,
}

impl<'s> Client<'s> {
    fn new(stage: &Stage, pieces: Vec<&'s [u8]>) -> Self {
        Self { id: stage.connect(), pieces: pieces.into(), received: Vec::new() }
    }

    /// Sends one piece and lets the server finish its work.
    fn send_next(&mut self, stage: &mut Stage) {
        if let Some(piece) = self.pieces.pop_front() {
            stage.world.client_send(self.id, piece);
            self.come_to_rest(stage);
        }
    }

    fn come_to_rest(&mut self, stage: &mut Stage) {
        loop {
            let turned = stage.turn();
            let bytes = stage.world.client_received(self.id);
            if !turned && bytes.is_empty() {
                return;
            }
            self.received.extend(bytes);
        }
    }

    /// Checks that the answers are the expected ones, and that the connection is open if it should be. Returns the
    /// number of final answers.
    fn assert_answers(&self, stage: &Stage, expected: &Conversation<'_>) -> usize {
        let Answers { interims, finals } = read(&self.received, expected);
        assert!(interims <= expected.expectations, "more was to be continued than was asked");
        assert_eq!(finals.len(), expected.answers(), "answers, by the requests sent");
        for (request, answer) in expected.requests.iter().zip(&finals) {
            application::assert_answer(request, answer);
        }
        let last = finals.last();
        if let End::Refused(status) = expected.end {
            assert_eq!(last.map(|answer| answer.status), Some(status.code()), "the refusal");
        }
        let closed = stage.world.client_state(self.id) != ClientState::Open;
        assert_eq!(closed, expected.end != End::Open, "whether the server has ended it");
        let says_so = last.is_some_and(|answer| answer.lists("connection", "close"));
        assert_eq!(
            says_so,
            expected.end != End::Open,
            "whether the last answer says it is the last"
        );
        let before = finals.iter().rev().skip(1);
        assert!(before.into_iter().all(|answer| !answer.lists("connection", "close")));
        finals.len()
    }
}

/// Checks that every connection ends: two with their clients, one by its deadlines, possibly with a 408.
fn assert_ends(stage: &mut Stage, clients: &mut [Client<'_>; 3], expected: &Conversation<'_>) {
    let [whole, cut, patient] = clients;
    for client in [whole, cut] {
        let before = client.received.len();
        stage.world.client_end_output(client.id);
        client.come_to_rest(stage);
        assert_eq!(client.received.len(), before, "nothing is said to who has ended");
        assert_ne!(stage.world.client_state(client.id), ClientState::Open, "it stands for nobody");
    }
    let before = patient.received.len();
    stage.pass_deadlines(|stage| patient.come_to_rest(stage));
    assert_ne!(stage.world.client_state(patient.id), ClientState::Open, "no deadline ended it");
    let last = &patient.received[before..];
    if !last.is_empty() {
        assert_eq!(expected.end, End::Open, "it was over, and more was said");
        assert!(last.starts_with(b"HTTP/1.1 408 "), "{:?}", last.escape_ascii().to_string());
    }
    stage.assert_nothing_is_left();
}
