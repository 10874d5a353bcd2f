//! The protocols of broadcast servers: how to join, and how to send a message.
//!
//! Owns the bytes of each protocol as constants and templates: only the end of a handshake is parsed. Each message has
//! one byte that occurs nowhere else, so that deliveries are counted whatever the protocol adds. A connection of HTTP/2
//! has many members, whose windows are so large that it never has to enlarge them.

pub(crate) const MESSAGE_BYTES: usize = 100;

/// The byte that occurs once in each message and nowhere else.
pub(crate) const MARK: u8 = b'~';

/// Streams on a connection of HTTP/2: the usual bound of servers.
const STREAMS: usize = 100;

/// The connection of a client of Centrifugo to one channel: `{"subs":{"fan":{}}}` (its manual, "Unidirectional
/// transports").
const CENTRIFUGO_FAN: &str = "cf_connect=%7B%22subs%22:%7B%22fan%22:%7B%7D%7D%7D";

/// A protocol of a broadcast server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Lines: each goes to every client.
    Lines,
    /// A WebSocket that receives what others send.
    WebSocket,
    /// Event streams of nchan, and POST to another path.
    Nchan,
    /// Event streams of Velodrome, and POST to the same path.
    EventStream,
    /// Event streams of Centrifugo, and its API over HTTP.
    Centrifugo,
    /// The same with WebSockets.
    CentrifugoSocket,
    /// The same over HTTP/2 with prior knowledge: [`STREAMS`] event streams on each connection.
    Streams,
    /// `SUBSCRIBE` and `PUBLISH` of Redis.
    Resp,
    /// `SUB` and `PUB` of NATS.
    Nats,
}

/// All protocols, by their names.
const NAMED: [(&str, Protocol); 9] = [
    ("lines", Protocol::Lines),
    ("websocket", Protocol::WebSocket),
    ("nchan", Protocol::Nchan),
    ("events", Protocol::EventStream),
    ("centrifugo", Protocol::Centrifugo),
    ("centrifugo-socket", Protocol::CentrifugoSocket),
    ("streams", Protocol::Streams),
    ("resp", Protocol::Resp),
    ("nats", Protocol::Nats),
];

impl Protocol {
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        NAMED.iter().find(|(known, _)| *known == name).map(|(_, protocol)| *protocol)
    }

    /// The names of all, as a usage shows them.
    pub(crate) fn names() -> String {
        NAMED.map(|(name, _)| name).join("|")
    }

    /// The first bytes of a member, and the end of the answer.
    pub(crate) fn entry(self) -> (Vec<u8>, &'static [u8]) {
        match self {
            Self::Lines => (Vec::new(), b""),
            Self::WebSocket => (socket("/channels/fan"), b"\r\n\r\n"),
            Self::Nchan => (stream("/sub/fan"), b"\r\n\r\n"),
            Self::EventStream => (stream("/channels/fan"), b"\n\n"),
            Self::Centrifugo => (stream(&format!("/connection/uni_sse?{CENTRIFUGO_FAN}")), b"\n\n"),
            // The end of its first message.
            Self::CentrifugoSocket => {
                (socket(&format!("/connection/uni_websocket?{CENTRIFUGO_FAN}")), b"\"}}")
            }
            Self::Streams => (streams("/channels/fan"), b"\n\n"),
            Self::Resp => (b"SUBSCRIBE fan\r\n".to_vec(), b":1\r\n"),
            Self::Nats => {
                (b"CONNECT {\"verbose\":false}\r\nSUB fan 1\r\nPING\r\n".to_vec(), b"PONG\r\n")
            }
        }
    }

    /// The first bytes of the speaker, and the end of the answer.
    pub(crate) fn speaker_entry(self) -> (Vec<u8>, &'static [u8]) {
        match self {
            Self::Lines | Self::WebSocket => self.entry(),
            Self::Nchan
            | Self::EventStream
            | Self::Centrifugo
            | Self::CentrifugoSocket
            | Self::Streams
            | Self::Resp => (Vec::new(), b""),
            Self::Nats => (b"CONNECT {\"verbose\":false}\r\nPING\r\n".to_vec(), b"PONG\r\n"),
        }
    }

    /// The members on one connection; each of them gets the end of an answer.
    pub(crate) fn members_together(self) -> usize {
        if self == Self::Streams { STREAMS } else { 1 }
    }

    /// Whether the speaker receives its own messages.
    pub(crate) fn speaker_hears(self) -> bool {
        matches!(self, Self::Lines | Self::WebSocket)
    }

    /// One message as the speaker sends it.
    pub(crate) fn message(self) -> Vec<u8> {
        let mut message = vec![b'x'; MESSAGE_BYTES];
        message[0] = MARK;
        let post = |path: &str, body: &[u8]| {
            let length = body.len();
            let head =
                format!("POST {path} HTTP/1.1\r\nHost: fan\r\nContent-Length: {length}\r\n\r\n");
            [head.as_bytes(), body].concat()
        };
        match self {
            Self::Lines => {
                message[MESSAGE_BYTES - 1] = b'\n';
                message
            }
            // Masked with zeros, which do not change it.
            Self::WebSocket => {
                [&[0x81, 0x80 | MESSAGE_BYTES as u8, 0, 0, 0, 0][..], &message].concat()
            }
            Self::Nchan => post("/pub/fan", &message),
            Self::EventStream | Self::Streams => post("/channels/fan", &message),
            Self::Centrifugo | Self::CentrifugoSocket => {
                let order = [&br#"{"channel":"fan","data":""#[..], &message, br#""}"#].concat();
                post("/api/publish", &order)
            }
            Self::Resp => {
                let head = format!("*3\r\n$7\r\nPUBLISH\r\n$3\r\nfan\r\n${MESSAGE_BYTES}\r\n");
                [head.as_bytes(), &message, b"\r\n"].concat()
            }
            Self::Nats => {
                [format!("PUB fan {MESSAGE_BYTES}\r\n").as_bytes(), &message, b"\r\n"].concat()
            }
        }
    }
}

fn socket(path: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: fan\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .into_bytes()
}

fn stream(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: fan\r\nAccept: text/event-stream\r\n\r\n").into_bytes()
}

/// The preface of HTTP/2, the largest windows, and the heads of that many requests (RFC 9113, RFC 7541).
fn streams(path: &str) -> Vec<u8> {
    const WINDOW: [u8; 4] = (i32::MAX as u32).to_be_bytes();
    const ENLARGED: [u8; 4] = (i32::MAX as u32 - 65_535).to_be_bytes();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS with INITIAL_WINDOW_SIZE, WINDOW_UPDATE of the connection.
    bytes.extend_from_slice(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4]);
    bytes.extend_from_slice(&WINDOW);
    bytes.extend_from_slice(&[0, 0, 4, 8, 0, 0, 0, 0, 0]);
    bytes.extend_from_slice(&ENLARGED);
    // GET and http from the static table; the others are kept in no table.
    let mut fields = vec![0x82, 0x86];
    for (index, value) in [(0x04, path), (0x01, "fan")] {
        fields.extend_from_slice(&[index, value.len() as u8]);
        fields.extend_from_slice(value.as_bytes());
    }
    let accepted = "text/event-stream";
    // `accept` is number 19 of the static table.
    fields.extend_from_slice(&[0x0f, 0x04, accepted.len() as u8]);
    fields.extend_from_slice(accepted.as_bytes());
    for stream in 0..STREAMS as u32 {
        bytes.extend_from_slice(&[0, 0, fields.len() as u8, 1, 5]);
        bytes.extend_from_slice(&(2 * stream + 1).to_be_bytes());
        bytes.extend_from_slice(&fields);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_has_its_mark_once() {
        for (name, protocol) in NAMED {
            let marks = protocol.message().iter().filter(|byte| **byte == MARK).count();
            let entry = protocol.entry().0.iter().filter(|byte| **byte == MARK).count();
            assert_eq!((marks, entry), (1, 0), "{name}");
        }
    }
}
