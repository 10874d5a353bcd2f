//! Another server that speaks HTTP/2, played frame by frame in the simulated world.
//!
//! Owns its end of one connection. Does not know the expected results.

use client::{
    Deadlines, ExchangeId, Forward, ForwardTarget, HeadWriter, OriginHost, OriginTransport,
    OutgoingBody, Requester, ServerOrigin,
};
use wire::h2::{
    AfterFrame, FrameHead, FrameKind, H2Frame, PREFACE, SettingId, begin_headers, end_headers,
    read_frame, write_data_head, write_settings, write_window_update,
};
use wire::hpack::{Decoder, Encoder, Indexing};
use world::ClientId;

use crate::caller::Calls;

/// The server's end of a connection.
pub(crate) struct Origin {
    pub(crate) socket: ClientId,
    decoder: Decoder,
    encoder: Encoder,
    input: Vec<u8>,
    has_preface: bool,
    /// Frames that are sent next.
    pub(crate) out: Vec<u8>,
}

/// A server that is known to speak HTTP/2.
pub(crate) fn target() -> ForwardTarget {
    let host = OriginHost::Address([10, 0, 0, 9].into());
    let origin = ServerOrigin { transport: OriginTransport::Plain, host, port: 80 };
    ForwardTarget::new(origin, None, None).unwrap().with_prior_knowledge()
}

/// A request to it.
pub(crate) fn forward(method: &'static str, path: &str, body: OutgoingBody) -> Forward {
    let mut head = HeadWriter::new(method, path, 0).unwrap();
    head.field("Host", b"a.example").unwrap();
    Forward {
        to: target(),
        method,
        head,
        body,
        upgrade: None,
        deadlines: Deadlines::default(),
        requester: Requester::Service,
        lead: None,
    }
}

/// Writes a frame of any kind.
pub(crate) fn frame(kind: FrameKind, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    FrameHead { length: payload.len() as u32, kind, flags, stream }.write(out);
    out.extend_from_slice(payload);
}

impl Calls {
    /// Begins an exchange, and runs turns until there is nothing to do.
    pub(crate) fn forward(&mut self, forward: Forward) -> ExchangeId {
        let now_ns = self.world.now_ns();
        let id = self.client().forward(forward, now_ns).unwrap();
        self.turn();
        id
    }

    /// The same for a GET.
    pub(crate) fn get(&mut self, path: &str) -> ExchangeId {
        self.forward(forward("GET", path, OutgoingBody::None))
    }
}

impl Origin {
    /// The other end of a new connection, which has not said anything.
    pub(crate) fn accept(calls: &mut Calls) -> Self {
        Self::at(calls.accept().unwrap())
    }

    pub(crate) fn at(socket: ClientId) -> Self {
        Self {
            socket,
            decoder: Decoder::new(4_096),
            encoder: Encoder::new(),
            input: Vec::new(),
            has_preface: false,
            out: Vec::new(),
        }
    }

    /// The same after both have said their settings; returns the requests so far.
    pub(crate) fn greeted(calls: &mut Calls, settings: &[(SettingId, u32)]) -> (Self, Vec<String>) {
        let mut origin = Self::accept(calls);
        write_settings(settings, &mut origin.out);
        origin.send(calls);
        let heard = origin.heard(calls);
        (origin, heard)
    }

    /// Sends the frames that were prepared.
    pub(crate) fn send(&mut self, calls: &mut Calls) {
        calls.answer(self.socket, &std::mem::take(&mut self.out));
    }

    /// The frames that have come, in words; without those about settings and the window of the connection.
    pub(crate) fn heard(&mut self, calls: &mut Calls) -> Vec<String> {
        calls.turn();
        let bytes = calls.world.client_received(self.socket);
        self.take(&bytes)
    }

    /// The same for bytes that came in another way.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<String> {
        self.input.extend_from_slice(bytes);
        if !self.has_preface && self.input.len() >= PREFACE.len() {
            assert!(self.input.starts_with(PREFACE), "{}", self.input.escape_ascii());
            self.input.drain(..PREFACE.len());
            self.has_preface = true;
        }
        let input = std::mem::take(&mut self.input);
        let (mut rest, mut heard) = (&input[..], Vec::new());
        while let Some((frame, length)) = read_frame(rest, 16_384).unwrap() {
            rest = &rest[length..];
            heard.extend(self.words(frame));
        }
        self.input = rest.to_vec();
        heard
    }

    fn words(&mut self, frame: H2Frame<'_>) -> Option<String> {
        let end = |is_end: bool| if is_end { " end" } else { "" };
        Some(match frame {
            H2Frame::Headers { stream, fragment, end_stream, end_headers, .. } => {
                assert!(end_headers, "these requests are short");
                let mut fields = String::new();
                let visit = |name: &[u8], value: &[u8]| {
                    fields += &format!(" {}={}", name.escape_ascii(), value.escape_ascii());
                };
                self.decoder.decode(fragment, visit).unwrap();
                format!("HEADERS {stream}{fields}{}", end(end_stream))
            }
            H2Frame::Data { stream, content, end_stream, .. } => {
                format!("DATA {stream} {}{}", content.len(), end(end_stream))
            }
            H2Frame::Reset { stream, code } => format!("RST_STREAM {stream} {code}"),
            H2Frame::GoAway { code, debug, .. } => {
                format!("GOAWAY {code} {}", debug.escape_ascii()).trim_end().to_owned()
            }
            H2Frame::WindowUpdate { stream: 0, .. }
            | H2Frame::Settings(_)
            | H2Frame::SettingsAck => return None,
            H2Frame::WindowUpdate { stream, increment } => format!("OPEN {stream} {increment}"),
            H2Frame::PingAck { .. } => "PONG".to_owned(),
            other => format!("{other:?}"),
        })
    }

    /// Prepares a head or trailers.
    pub(crate) fn head(&mut self, stream: u32, fields: &[(&str, &str)], after: AfterFrame) {
        let begin = begin_headers(&mut self.out);
        self.encoder.begin_block(&mut self.out);
        for (name, value) in fields {
            self.encoder.encode(name, value.as_bytes(), Indexing::Skip, &mut self.out);
        }
        end_headers(begin, stream, after, 16_384, &mut self.out);
    }

    /// Prepares content.
    pub(crate) fn data(&mut self, stream: u32, content: &[u8], after: AfterFrame) {
        for piece in content.chunks(16_384) {
            write_data_head(stream, piece.len() as u32, AfterFrame::More, &mut self.out);
            self.out.extend_from_slice(piece);
        }
        if after == AfterFrame::Nothing {
            write_data_head(stream, 0, after, &mut self.out);
        }
    }

    /// Prepares an opening of a window.
    pub(crate) fn open(&mut self, stream: u32, increment: u32) {
        write_window_update(stream, increment, &mut self.out);
    }

    /// Answers a request with `ok`.
    pub(crate) fn ok(&mut self, calls: &mut Calls, stream: u32) {
        self.head(stream, &[(":status", "200"), ("content-length", "2")], AfterFrame::More);
        write_data_head(stream, 2, AfterFrame::Nothing, &mut self.out);
        self.out.extend_from_slice(b"ok");
        self.send(calls);
    }
}
