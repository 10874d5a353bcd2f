//! A server of HTTP/2 that behaves as a test wants: one thread per connection.
#![expect(clippy::disallowed_types, reason = "a test holds sockets of its own")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use wire::h2::{
    AfterFrame, FrameHead, FrameKind, H2Frame, PREFACE, SettingId, begin_headers, end_headers,
    read_frame, write_data_head, write_settings,
};
use wire::hpack::{Decoder, Encoder, Indexing};

/// A server that announces these settings and has this conversation on every connection, and then closes it. It runs
/// until the tests end.
pub(crate) fn serve(
    settings: &'static [(SettingId, u32)],
    converse: impl Fn(&mut Session) + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let converse = Arc::new(converse);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let converse = Arc::clone(&converse);
            let mut session = Session::new(stream.unwrap());
            thread::spawn(move || {
                let mut out = Vec::new();
                write_settings(settings, &mut out);
                if session.hears_preface() && session.says(&out) {
                    converse(&mut session);
                }
            });
        }
    });
    address
}

/// A server that answers each request with `hello`.
pub(crate) fn greeting(settings: &'static [(SettingId, u32)]) -> SocketAddr {
    serve(settings, |session| {
        while let Some(stream) = session.request() {
            if !session.answers(stream, b"hello") {
                return;
            }
        }
    })
}

/// A server that does this with each request.
pub(crate) fn with_each(act: impl Fn(&mut Session, u32) + Send + Sync + 'static) -> SocketAddr {
    serve(&[], move |session| {
        while let Some(stream) = session.request() {
            act(session, stream);
        }
    })
}

/// The parts of requests.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A head; whether content follows.
    Head { stream: u32, has_content: bool },
    /// Content, and whether it is the last.
    Content { stream: u32, is_last: bool },
    /// Anything else.
    Other,
}

/// A connection, from the server's side.
pub(crate) struct Session {
    stream: TcpStream,
    input: Vec<u8>,
    decoder: Decoder,
    encoder: Encoder,
}

impl Session {
    fn new(stream: TcpStream) -> Self {
        let (decoder, encoder) = (Decoder::new(4_096), Encoder::new());
        Self { stream, input: Vec::new(), decoder, encoder }
    }

    fn hears_preface(&mut self) -> bool {
        let mut preface = [0; 24];
        self.stream.read_exact(&mut preface).is_ok() && &preface == PREFACE
    }

    /// The next frame; `None`: the client has closed.
    pub(crate) fn hears(&mut self) -> Option<Heard> {
        loop {
            if let Some((frame, length)) = read_frame(&self.input, 16_384).expect("frames") {
                let heard = match frame {
                    H2Frame::Headers { stream, fragment, end_stream, .. } => {
                        self.decoder.decode(fragment, |_, _| {}).expect("HPACK");
                        Heard::Head { stream, has_content: !end_stream }
                    }
                    H2Frame::Data { stream, end_stream, .. } => {
                        Heard::Content { stream, is_last: end_stream }
                    }
                    _ => Heard::Other,
                };
                self.input.drain(..length);
                return Some(heard);
            }
            let mut room = [0; 4_096];
            match self.stream.read(&mut room) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.input.extend_from_slice(&room[..count]),
            }
        }
    }

    /// The stream of the next request, when all of it has come.
    pub(crate) fn request(&mut self) -> Option<u32> {
        loop {
            match self.hears()? {
                Heard::Head { stream, has_content: false }
                | Heard::Content { stream, is_last: true, .. } => return Some(stream),
                _ => {}
            }
        }
    }

    /// Sends bytes; returns whether the peer still reads.
    pub(crate) fn says(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends a frame, right or wrong.
    pub(crate) fn frame(
        &mut self,
        kind: FrameKind,
        flags: u8,
        stream: u32,
        payload: &[u8],
    ) -> bool {
        let mut out = Vec::new();
        FrameHead { length: payload.len() as u32, kind, flags, stream }.write(&mut out);
        out.extend_from_slice(payload);
        self.says(&out)
    }

    /// Sends a head with these fields.
    pub(crate) fn head(&mut self, stream: u32, fields: &[(&str, &str)], after: AfterFrame) -> bool {
        let mut out = Vec::new();
        let begin = begin_headers(&mut out);
        self.encoder.begin_block(&mut out);
        for (name, value) in fields {
            self.encoder.encode(name, value.as_bytes(), Indexing::Add, &mut out);
        }
        end_headers(begin, stream, after, 16_384, &mut out);
        self.says(&out)
    }

    /// Sends content.
    pub(crate) fn content(&mut self, stream: u32, content: &[u8], after: AfterFrame) -> bool {
        let mut out = Vec::new();
        write_data_head(stream, content.len() as u32, after, &mut out);
        out.extend_from_slice(content);
        self.says(&out)
    }

    /// Sends a whole answer with status 200.
    pub(crate) fn answers(&mut self, stream: u32, content: &[u8]) -> bool {
        let length = content.len().to_string();
        let fields = [(":status", "200"), ("server", "test"), ("content-length", &length)];
        self.head(stream, &fields, AfterFrame::More)
            && self.content(stream, content, AfterFrame::Nothing)
    }

    /// Waits until the peer closes.
    pub(crate) fn outlasts(&mut self) {
        while self.hears().is_some() {}
    }
}
