//! The server's side of TLS: whatever a client sends, nothing panics, little is held and answered, a refusal is an
//! alert and lasts, and plain bytes come out only as the client has put them in.
//!
//! An input is what a client sends, or, behind a first byte of 255, changes to what a real client sends: three bytes
//! each, of which two say where and one what. Keys are new each time, so such a run comes again in its changes only.

use std::cell::RefCell;

use runtime::transport::{Transport, Violation};
use tls::limits::{RECORD_BYTES, SERVER_HELD_BYTES};
use tls::{Acceptor, Certificates, ClientCertificates, Connector, Tickets, TrustedServers};

use crate::cutting;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/tls/src/server", "crates/tls/src/session"];

/// Hellos of OpenSSL for both versions, other protocols, and changes in a handshake and in what follows it.
pub const SEEDS: &[&[u8]] = &[
    include_bytes!("tls_session/hello12.bin"),
    include_bytes!("tls_session/hello13.bin"),
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"\x16\x03\x01\x40\x00\x01\x00\xff\xff",
    b"\x15\x03\x03\x00\x02\x02\x28",
    b"\xff",
    b"\xff\x00\x05\x01",
    b"\xff\x00\x2b\x80\x01\x10\x00",
    b"\xff\x02\x00\xff",
    b"\xff\x80\x05\x01",
    b"\xff\x80\x00\xfe\x80\x20\x01",
];

/// Beginnings of records and of messages, extensions, groups, and changes.
pub const WORDS: &[&[u8]] = &[
    b"\x16\x03\x01",
    b"\x16\x03\x03\x00\x04",
    b"\x17\x03\x03\x00\x11",
    b"\x14\x03\x03\x00\x01\x01",
    b"\x15\x03\x03\x00\x02\x01\x00",
    b"\x01\x00\x00",
    b"\x02\x00\x00",
    b"\x0b\x00\x00",
    b"\x10\x00\x00",
    b"\x18\x00\x00\x01\x01",
    b"\x00\x2b\x00\x03\x02\x03\x04",
    b"\x00\x33\x00",
    b"\x00\x0a\x00\x04\x00\x02\x00\x1d",
    b"\x00\x10\x00\x0b\x00\x09\x08http/1.1",
    b"\x00\x29\x00",
    b"\xff\x80\x00\x01",
    b"\xff\xff\xff\xff",
];

/// The most that a server answers to what is no more than a handshake: its certificate and two tickets.
const ANSWER_BYTES: usize = 16 * 1024;

/// The data of a client after the handshake.
const REQUEST: &[u8] = b"GET /a/path/that/is/known HTTP/1.1\r\nHost: example.test\r\n\r\n";

thread_local! {
    static SIDES: RefCell<Option<(Acceptor, Connector)>> = const { RefCell::new(None) };
}

/// Checks the properties of this module for one input.
///
/// # Panics
/// If one does not hold.
pub fn check(data: &[u8]) {
    let (acceptor, connector) = SIDES.with_borrow_mut(|sides| {
        let made = sides.get_or_insert_with(|| make_sides().expect("fixed settings are accepted"));
        made.clone()
    });
    match data.split_first() {
        Some((255, changes)) => {
            let mut client = connector.connect("example.test").expect("it is a name");
            check_changed(&mut *client, &acceptor, changes);
        }
        _ => check_raw(data, &acceptor),
    }
}

fn make_sides() -> Option<(Acceptor, Connector)> {
    let identities = [tls::self_signed(&["example.test"]).ok()?];
    let certificates = Certificates::Fixed(&identities);
    let clients = ClientCertificates::Ignored;
    let tickets = Tickets::new().ok()?;
    let acceptor = Acceptor::new(certificates, &["http/1.1"], &clients, &tickets).ok()?;
    Some((acceptor, Connector::new(&TrustedServers::Any, &["http/1.1"], None).ok()?))
}

/// A server's session with its output and the plain text that it delivered.
struct Server {
    transport: Box<dyn Transport>,
    plain: Vec<u8>,
    wire: Vec<u8>,
    is_refused: bool,
}

impl Server {
    fn of(acceptor: &Acceptor) -> Self {
        let (plain, wire) = (Vec::new(), Vec::new());
        Self { transport: acceptor.accept(), plain, wire, is_refused: false }
    }

    /// Gives it bytes, unless it has refused others; checks what every answer must be.
    fn take(&mut self, bytes: &[u8]) {
        if self.is_refused {
            return;
        }
        let opened = self.transport.open(&mut bytes.to_vec(), &mut self.plain, &mut self.wire);
        let is_agreed = self.transport.agreed().is_some();
        assert!(is_agreed || self.plain.is_empty(), "plain bytes before the handshake is over");
        assert!(self.transport.held_bytes() <= 2 * SERVER_HELD_BYTES + RECORD_BYTES, "it is held");
        assert!(self.wire.len() <= ANSWER_BYTES, "{} bytes are answered", self.wire.len());
        let kinds = records(&self.wire);
        let Err(why) = opened else { return };
        self.is_refused = true;
        if matches!(why, Violation::Alert(_)) {
            // A side that has refused the session gets no alert of the other (RFC 8446 section 6.2).
            return;
        }
        // Behind the server's hello an alert is encrypted, and looks like data.
        assert!(matches!(kinds.last(), Some(21 | 23)), "{why:?} without an alert: {kinds:?}");
        let before = self.wire.len();
        let again = self.transport.open(&mut [22], &mut self.plain, &mut self.wire);
        assert!(again.is_err() && self.wire.len() == before, "it goes on after a refusal");
    }
}

/// The kinds of the records in these bytes, all of which are complete.
fn records(mut wire: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    while let [kind, _, _, high, low, rest @ ..] = wire {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        assert!(length <= rest.len(), "a record is cut");
        kinds.push(*kind);
        wire = &rest[length..];
    }
    assert!(wire.is_empty(), "a record has no head");
    kinds
}

/// The bytes as they are, at once and cut in two.
fn check_raw(data: &[u8], acceptor: &Acceptor) {
    let mut whole = Server::of(acceptor);
    whole.take(data);
    // A cut costs a signature.
    let positions = cutting::positions(data.len());
    let step = positions.len().div_ceil(6).max(1);
    for position in positions.into_iter().step_by(step) {
        let mut server = Server::of(acceptor);
        server.take(&data[..position]);
        server.take(&data[position..]);
        assert_eq!(server.is_refused, whole.is_refused, "cut at {position}");
        assert_eq!(server.transport.agreed().is_some(), whole.transport.agreed().is_some());
    }
}

/// A real handshake and a request, with changes on the way. Places below 32768 are in what the client sends before the
/// handshake is over, the others in what it sends then.
fn check_changed(client: &mut dyn Transport, acceptor: &Acceptor, changes: &[u8]) {
    let changes: Vec<(usize, u8)> = changes
        .chunks_exact(3)
        .map(|change| (usize::from(u16::from_be_bytes([change[0], change[1]])), change[2]))
        .collect();
    let mut server = Server::of(acceptor);
    let (mut sent, mut told) = (0, 0);
    let (mut nothing, mut hello) = (Vec::new(), Vec::new());
    if client.open(&mut [], &mut nothing, &mut hello).is_err() {
        return;
    }
    let mut has_changed = false;
    let mut flight = hello;
    // Two flights, in TLS 1.2 with answers between them, or a second hello (RFC 8446 section 4.1.4).
    for _ in 0..4 {
        has_changed |= give(&mut server, flight, &changes, sent..);
        sent += 1000;
        let mut answer = server.wire[told..].to_vec();
        told = server.wire.len();
        flight = Vec::new();
        if client.open(&mut answer, &mut nothing, &mut flight).is_err() {
            // It has said so in its last flight.
            give(&mut server, flight, &[], 0..);
            return;
        }
    }
    if client.agreed().is_none() {
        assert!(has_changed, "a handshake that nobody has changed is over");
        return;
    }
    let mut request = Vec::new();
    assert!(client.seal(REQUEST, &mut request).is_ok(), "a new key is good for a request");
    has_changed |= give(&mut server, request, &changes, 32768..);
    assert!(REQUEST.starts_with(&server.plain), "plain bytes that the client has not sent");
    assert!(has_changed || server.plain == REQUEST, "what nobody has changed arrives");
}

/// Gives bytes whose first has this place, with the changes that apply to them; returns whether there were any.
fn give(
    server: &mut Server,
    mut bytes: Vec<u8>,
    changes: &[(usize, u8)],
    places: std::ops::RangeFrom<usize>,
) -> bool {
    let before = bytes.clone();
    for (place, what) in changes {
        let Some(place) = place.checked_sub(places.start).filter(|place| *place < bytes.len())
        else {
            continue;
        };
        match what {
            255 => bytes.truncate(place),
            254 => drop(bytes.remove(place)),
            253 => bytes.insert(place, 0),
            what => bytes[place] ^= what,
        }
    }
    server.take(&bytes);
    bytes != before
}
