//! A subscriber of any kind, which checks the form of what it gets: text is UTF-8, and JSON is JSON.

use std::net::TcpStream;

use serde_json::Value;
use wire::websocket::{Extension, MessageKind, MessageLimits, MessageReader, PeerRole, ReadStep};

use crate::server::client::read;

/// A subscriber, and what it has received but not looked at.
pub(super) struct Ear {
    pub(super) name: &'static str,
    stream: TcpStream,
    form: Form,
    received: Vec<u8>,
    reader: MessageReader,
}

/// The form of what a subscriber gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Frames,
    Objects,
    Lines,
    Resp,
}

impl Ear {
    pub(super) fn new(
        name: &'static str,
        form: Form,
        extension: Extension,
        stream: TcpStream,
    ) -> Self {
        Self { name, stream, form, received: Vec::new(), reader: MessageReader::new(extension) }
    }

    /// The messages before the one with this text; `None` for a form that does not tell them apart.
    pub(super) fn before(&mut self, mark: &str) -> Option<usize> {
        let mut messages = 0;
        loop {
            if matches!(self.form, Form::Frames | Form::Objects) {
                while let Some(message) = self.frame() {
                    if message.windows(mark.len()).any(|part| part == mark.as_bytes()) {
                        return Some(messages);
                    }
                    messages += 1;
                }
            } else if let Some(end) =
                self.received.windows(mark.len()).position(|part| part == mark.as_bytes())
            {
                let seen: Vec<u8> = self.received.drain(..end + mark.len()).collect();
                if self.form == Form::Lines {
                    assert!(
                        str::from_utf8(&seen).is_ok(),
                        "{}: {}",
                        self.name,
                        seen.escape_ascii()
                    );
                }
                return None;
            }
            let mut piece = [0; 8_192];
            let count = read(&mut self.stream, &mut piece).unwrap_or_else(|error| {
                panic!("{}: {error} before {mark}, {}", self.name, self.received.escape_ascii())
            });
            assert!(count > 0, "{} was closed before {mark}", self.name);
            self.received.extend_from_slice(&piece[..count]);
        }
    }

    /// The next message, which is checked by the reader of frames: text that is not UTF-8 is a failure.
    fn frame(&mut self) -> Option<Vec<u8>> {
        loop {
            let mut scratch = Vec::new();
            let step = self.reader.next(
                PeerRole::Client,
                &MessageLimits::default(),
                &self.received,
                &mut scratch,
            );
            let (used, message) = match step {
                Err(failure) => panic!("{}: {failure:?}", self.name),
                Ok((_, ReadStep::NeedMore)) => return None,
                Ok((_, ReadStep::Close(code))) => panic!("{} was closed with {code:?}", self.name),
                Ok((used, ReadStep::Message(kind, bytes))) => {
                    if self.form == Form::Objects {
                        assert!(kind == MessageKind::Text && parsed(bytes).is_object());
                    }
                    (used, Some(bytes.to_vec()))
                }
                Ok((used, ReadStep::Ping(_) | ReadStep::Pong)) => (used, None),
            };
            self.received.drain(..used);
            if message.is_some() {
                return message;
            }
        }
    }
}

/// JSON, which is valid UTF-8. The parser of this test refuses an escaped surrogate, which RFC 8259 allows (section
/// 8.2).
pub(super) fn parsed(bytes: &[u8]) -> Value {
    let text = str::from_utf8(bytes).unwrap_or_else(|_| panic!("{}", bytes.escape_ascii()));
    let text = text.replace("\\ud800", "\\ufffd");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
