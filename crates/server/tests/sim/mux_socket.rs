//! A stream that becomes a WebSocket (RFC 8441), as its client sees it.
//!
//! Owns what the client says, how its bytes are cut, and what it has heard. It shares no code with the server.

use std::collections::VecDeque;

use http::HeadBlock;
use world::Random;

use crate::mux_frames::{
    DATA, END, Frame, HEAD, INPUT_WINDOW, OPEN, OUTPUT_WINDOW, RESET, WINDOW, credit_of, frame,
};
use crate::subscriber;

/// Opcodes of frames (RFC 6455 section 5.2).
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// The next step of the client on its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Sends a message, in so many fragments.
    Say(u8, Vec<u8>, usize),
    /// Waits until it has heard so many messages.
    Await(usize),
    /// Closes the WebSocket with this code.
    Close(u16),
    /// Ends its side of the stream.
    End,
    /// Resets the stream.
    Reset,
}

/// How a stream ended for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Open,
    /// The server ended it.
    Ended,
    /// The server reset it.
    Reset,
    /// This client reset it.
    LetGo,
}

/// Whether the client gives the server room for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// At once.
    Fast,
    /// Not at all, until it is told to.
    Nothing,
}

/// Whether the client answers pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pongs {
    Sent,
    Withheld,
}

/// Whether the client sends before its request is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    AwaitsHead,
    Eager,
}

/// The client's side of the stream.
#[derive(Debug)]
pub(crate) struct MuxSocket {
    open: Vec<u8>,
    is_open: bool,
    acts: VecDeque<Act>,
    /// Bytes that wait for a place in the server's window.
    pending: VecDeque<u8>,
    /// Bytes that the server takes.
    pub(crate) window: usize,
    /// Bytes that the server may still send.
    granted: usize,
    input: Vec<u8>,
    pub(crate) reading: Reading,
    pub(crate) pongs: Pongs,
    pub(crate) patience: Patience,
    /// The status and fields of the answer.
    pub(crate) head: Option<(u16, Vec<(String, String)>)>,
    /// Messages, in order.
    pub(crate) heard: Vec<(u8, Vec<u8>)>,
    /// The body of an answer that accepts no WebSocket.
    pub(crate) body: Vec<u8>,
    pub(crate) pings: usize,
    /// Code and reason of the server's close.
    pub(crate) closed: Option<(u16, String)>,
    pub(crate) fate: Fate,
}

impl MuxSocket {
    /// A request for a WebSocket at this path.
    pub(crate) fn new(path: &str, acts: impl IntoIterator<Item = Act>) -> Self {
        Self::asking("websocket", path, &[("sec-websocket-version", "13")], acts)
    }

    /// A request for a protocol, with these fields.
    pub(crate) fn asking(
        protocol: &str,
        path: &str,
        fields: &[(&str, &str)],
        acts: impl IntoIterator<Item = Act>,
    ) -> Self {
        let mut open = vec![2];
        open.extend(format!("GET\n{path}\nexample.test\n{protocol}").bytes());
        for (name, value) in fields {
            open.extend(format!("\n{name}\n{value}").bytes());
        }
        Self {
            open,
            is_open: false,
            acts: acts.into_iter().collect(),
            pending: VecDeque::new(),
            window: INPUT_WINDOW,
            granted: OUTPUT_WINDOW,
            input: Vec::new(),
            reading: Reading::Fast,
            pongs: Pongs::Sent,
            patience: Patience::AwaitsHead,
            head: None,
            heard: Vec::new(),
            body: Vec::new(),
            pings: 0,
            closed: None,
            fate: Fate::Open,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.fate != Fate::Open
    }

    /// It stands, and has done and sent everything.
    pub(crate) fn is_idle(&self) -> bool {
        self.head.is_some() && self.acts.is_empty() && self.pending.is_empty()
    }

    /// Does this after everything else.
    pub(crate) fn act(&mut self, act: Act) {
        self.acts.push_back(act);
    }

    /// The messages as text.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.heard.iter().map(|(_, text)| String::from_utf8_lossy(text).into_owned()).collect()
    }

    /// A field of the answer.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let (_, fields) = self.head.as_ref()?;
        fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn status(&self) -> Option<u16> {
        self.head.as_ref().map(|(status, _)| *status)
    }

    /// Does what it can now, and cuts its bytes anywhere.
    pub(crate) fn send(&mut self, number: u16, random: &mut Random, wire: &mut Vec<u8>) {
        if self.is_over() {
            return;
        }
        if !self.is_open {
            self.is_open = true;
            frame(OPEN, number, &self.open, wire);
        }
        if self.reading == Reading::Fast && self.granted < OUTPUT_WINDOW {
            self.grant(number, OUTPUT_WINDOW - self.granted, wire);
        }
        if self.patience == Patience::AwaitsHead && self.head.is_none() {
            return;
        }
        if self.pending.is_empty() {
            match self.acts.front() {
                Some(Act::Await(count)) if self.heard.len() < *count => return,
                Some(_) => self.begin_act(number, random, wire),
                None => return,
            }
        }
        let most = [3, 40, 2_000][random.index(3)];
        let bytes = self.pending.len().min(self.window).min(1 + random.index(most));
        if bytes > 0 && !self.is_over() {
            let piece: Vec<u8> = self.pending.drain(..bytes).collect();
            self.window -= bytes;
            frame(DATA, number, &piece, wire);
        }
    }

    fn begin_act(&mut self, number: u16, random: &mut Random, wire: &mut Vec<u8>) {
        match self.acts.pop_front() {
            Some(Act::Say(opcode, payload, fragments)) => {
                self.say(opcode, &payload, fragments, random)
            }
            Some(Act::Close(code)) => {
                self.pending.extend(subscriber::frame(CLOSE, &code.to_be_bytes()));
            }
            Some(Act::End) => frame(END, number, b"", wire),
            Some(Act::Reset) => {
                frame(RESET, number, b"", wire);
                self.fate = Fate::LetGo;
            }
            Some(Act::Await(_)) | None => {}
        }
    }

    fn say(&mut self, opcode: u8, payload: &[u8], fragments: usize, random: &mut Random) {
        let mut rest = payload;
        for number in 0..fragments {
            let is_last = number + 1 == fragments;
            let size = if is_last { rest.len() } else { random.index(rest.len() + 1) };
            let (fragment, behind) = rest.split_at(size);
            rest = behind;
            let mut bytes = subscriber::frame(if number == 0 { opcode } else { 0 }, fragment);
            if !is_last {
                bytes[0] &= 0x7f;
            }
            self.pending.extend(bytes);
            // Control frames may come between fragments (RFC 6455 section 5.4).
            if !is_last && random.below(3) == 0 {
                self.pending.extend(subscriber::frame(PING, b"between"));
            }
        }
    }

    fn grant(&mut self, number: u16, bytes: usize, wire: &mut Vec<u8>) {
        self.granted += bytes;
        frame(WINDOW, number, &u32::try_from(bytes).unwrap().to_be_bytes(), wire);
    }

    /// Takes a frame of the server.
    pub(crate) fn take(&mut self, frame: Frame<'_>) {
        if self.fate == Fate::LetGo {
            return;
        }
        assert_eq!(self.fate, Fate::Open, "nothing after the end");
        match frame.kind {
            HEAD => self.take_head(frame.content),
            DATA => {
                self.granted =
                    self.granted.checked_sub(frame.content.len()).expect("within the window");
                self.take_data(frame.content);
            }
            WINDOW => self.window += credit_of(frame).expect("a credit"),
            END => {
                assert!(self.input.is_empty(), "a frame is cut");
                self.fate = Fate::Ended;
            }
            RESET => self.fate = Fate::Reset,
            kind => panic!("a frame of kind {kind}"),
        }
    }

    fn take_head(&mut self, block: &[u8]) {
        let (block, rest) = HeadBlock::split(block).expect("a whole head");
        assert!(rest.is_empty() && self.head.is_none(), "one head on its own");
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let fields: Vec<_> =
            block.fields().map(|(name, value)| (name.to_owned(), text(value))).collect();
        for (name, _) in &fields {
            let is_wrong = ["connection", "upgrade", "sec-websocket-accept"].contains(&&**name);
            assert!(!is_wrong, "{name} says nothing on a stream");
        }
        self.head = Some((block.status().expect("no trailers").code(), fields));
    }

    fn take_data(&mut self, content: &[u8]) {
        if self.status() != Some(200) {
            return self.body.extend_from_slice(content);
        }
        self.input.extend_from_slice(content);
        while let Some((opcode, payload)) = subscriber::take_frame(&mut self.input) {
            assert_eq!(self.closed, None, "nothing after a close");
            match opcode {
                TEXT | BINARY => self.heard.push((opcode, payload)),
                CLOSE => {
                    let code = payload.first_chunk().map_or(1005, |code| u16::from_be_bytes(*code));
                    let reason = payload.get(2..).unwrap_or_default();
                    self.closed = Some((code, String::from_utf8(reason.to_vec()).unwrap()));
                    self.pending.clear();
                }
                PING => {
                    self.pings += 1;
                    if self.pongs == Pongs::Sent {
                        self.pending.extend(subscriber::frame(PONG, &payload));
                    }
                }
                PONG => assert_eq!(payload, b"between"),
                other => panic!("a frame of opcode {other}"),
            }
        }
    }
}
