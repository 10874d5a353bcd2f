//! A client that sends many requests at once on one connection.
//!
//! Owns its side of the windows and what it does in the middle of a request. Requests and expected answers are those of
//! HTTP/1, as values.

use std::collections::BTreeMap;

use http::HeadBlock;
use world::{ClientId, ClientState, Random, World};

use crate::expected::Expected;
use crate::mux_frames::{
    DATA, END, HEAD, INPUT_WINDOW, OPEN, OUTPUT_WINDOW, RESET, WINDOW, credit_of, first_frame,
    frame,
};
use crate::mux_http2::Http2Side;
use crate::mux_socket::MuxSocket;
use crate::response::Response;
use crate::small::Exchange;
use crate::world::address;

/// The way in which a client treats one of its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// Sends and reads all of it.
    Whole,
    /// Resets it after so many bytes of the answer's body.
    Resets(usize),
    /// Resets it before its body is sent.
    ResetsBefore,
    /// Gives room only after it was out of room for a while.
    Slow,
    /// Listens to an answer without end, and resets it when all others are over.
    Listens,
}

/// The number of the first stream that changes to WebSocket.
pub(crate) const FIRST_SOCKET: u16 = 1_000;

/// How a stream ended for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is not over.
    Nothing,
    /// The whole answer came, and is the expected one.
    Answered,
    /// The server reset it.
    Reset,
    /// This client reset it.
    LetGo,
}

/// A request, and its answer so far.
struct Call {
    expected: Expected,
    open: Vec<u8>,
    body: Vec<u8>,
    manner: Manner,
    is_open: bool,
    has_ended: bool,
    sent: usize,
    window: usize,
    /// Bytes that the server may still send.
    granted: usize,
    head: Option<Response>,
    seen: Seen,
}

/// The request as values: the content of its OPEN frame, and its body.
fn values_of(request: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let mut lines = std::str::from_utf8(&request[..end - 4]).unwrap().split("\r\n");
    let mut line = lines.next().unwrap().split(' ');
    let (method, target) = (line.next().unwrap(), line.next().unwrap());
    let (mut authority, mut fields, mut body) = ("", String::new(), request[end..].to_vec());
    let mut follows = 0;
    for field in lines {
        let (name, value) = field.split_once(": ").unwrap();
        match name.to_ascii_lowercase().as_str() {
            "host" => authority = value,
            "transfer-encoding" => (body, follows) = (unchunk(&request[end..]), 1),
            name if name == "content-length" => {
                follows = 1;
                fields.extend(["\n", name, "\n", value]);
            }
            name => fields.extend(["\n", name, "\n", value]),
        }
    }
    let mut open = vec![follows];
    open.extend(format!("{method}\n{target}\n{authority}{fields}").bytes());
    (open, body)
}

/// A body without its chunks.
fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let size = std::str::from_utf8(&rest[..line]).unwrap().split(';').next().unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 2 + size + 2..];
    }
}

impl Call {
    fn new(exchange: Exchange, random: &mut Random) -> Self {
        let (open, body) = values_of(&exchange.request);
        let listens = open.ends_with(b"\naccept\ntext/event-stream");
        let manner = match random.below(10) {
            _ if listens => Manner::Listens,
            0 => Manner::Resets(random.index(3_000)),
            1 if !body.is_empty() => Manner::ResetsBefore,
            2 | 3 => Manner::Slow,
            _ => Manner::Whole,
        };
        Self {
            expected: exchange.expected,
            open,
            body,
            manner,
            is_open: false,
            has_ended: false,
            sent: 0,
            window: INPUT_WINDOW,
            granted: OUTPUT_WINDOW,
            head: None,
            seen: Seen::Nothing,
        }
    }

    /// The answer is complete.
    fn check(&mut self) {
        let response = self.head.take().expect("a head comes before the end");
        self.expected.check(&response);
        self.seen = Seen::Answered;
    }

    /// Sends what it may, at most so many bytes of the body. Returns whether that was anything.
    fn send(&mut self, number: u16, most: usize, wire: &mut Vec<u8>) -> bool {
        if self.seen != Seen::Nothing {
            return false;
        }
        if !self.is_open {
            self.is_open = true;
            frame(OPEN, number, &self.open, wire);
            if self.body.is_empty() {
                self.has_ended = true;
                frame(END, number, b"", wire);
            }
            return true;
        }
        if self.has_ended {
            return false;
        }
        if self.manner == Manner::ResetsBefore {
            self.let_go(number, wire);
            return true;
        }
        let left = self.body.len() - self.sent;
        let bytes = left.min(self.window).min(most);
        if bytes == 0 {
            return false;
        }
        frame(DATA, number, &self.body[self.sent..self.sent + bytes], wire);
        self.sent += bytes;
        self.window -= bytes;
        if bytes == left {
            self.has_ended = true;
            frame(END, number, b"", wire);
        }
        true
    }

    fn let_go(&mut self, number: u16, wire: &mut Vec<u8>) {
        self.seen = Seen::LetGo;
        frame(RESET, number, b"", wire);
    }

    fn take_head(&mut self, block: &[u8]) {
        let (block, rest) = HeadBlock::split(block).expect("a whole head");
        assert!(rest.is_empty(), "a head on its own");
        let status = block.status().expect("no trailers").code();
        if status < 200 {
            return;
        }
        assert!(self.head.is_none(), "one head");
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let fields = block.fields().map(|(name, value)| (name.to_owned(), text(value))).collect();
        self.head = Some(Response { status, fields, body: Vec::new(), length: 0 });
    }

    fn take_data(&mut self, number: u16, content: &[u8], wire: &mut Vec<u8>) {
        self.granted = self.granted.checked_sub(content.len()).expect("within the window");
        let head = self.head.as_mut().expect("a head comes before the body");
        head.body.extend_from_slice(content);
        match self.manner {
            Manner::Resets(after) if head.body.len() > after => self.let_go(number, wire),
            Manner::Slow => {}
            _ => self.grant(number, content.len(), wire),
        }
    }

    fn grant(&mut self, number: u16, bytes: usize, wire: &mut Vec<u8>) {
        self.granted += bytes;
        frame(WINDOW, number, &u32::try_from(bytes).unwrap().to_be_bytes(), wire);
    }
}

/// A client.
pub(crate) struct MuxClient {
    id: Option<ClientId>,
    pub(crate) side: Http2Side,
    calls: BTreeMap<u16, Call>,
    /// Streams that change to WebSocket.
    pub(crate) sockets: BTreeMap<u16, MuxSocket>,
    received: Vec<u8>,
    random: Random,
    has_closed: bool,
    /// Resets the whole connection once so many of its streams are over.
    resets_after: Option<usize>,
    /// Event streams that brought an event.
    pub(crate) heard: usize,
    pub(crate) was_cut: bool,
}

impl MuxClient {
    pub(crate) fn new(exchanges: Vec<Exchange>, resets_after: Option<usize>, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let calls = exchanges.into_iter().map(|exchange| Call::new(exchange, &mut random));
        let calls = (1..).zip(calls).collect();
        let (id, received, heard, has_closed, was_cut) = (None, Vec::new(), 0, false, false);
        let sockets = BTreeMap::new();
        let side = Http2Side::new();
        Self {
            heard,
            id,
            side,
            calls,
            sockets,
            received,
            random,
            has_closed,
            resets_after,
            was_cut,
        }
    }

    /// With these streams, too.
    pub(crate) fn with_sockets(self, sockets: impl IntoIterator<Item = MuxSocket>) -> Self {
        Self { sockets: (FIRST_SOCKET..).zip(sockets).collect(), ..self }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.has_closed
    }

    /// How many of its streams ended in this way.
    pub(crate) fn count(&self, seen: Seen) -> usize {
        self.calls.values().filter(|call| call.seen == seen).count()
    }

    /// Streams that are not over, for the reader of a failure.
    pub(crate) fn waiting(&self) -> String {
        let open = self.calls.iter().filter(|(_, call)| call.seen == Seen::Nothing);
        let open = open.map(|(number, call)| {
            let line = String::from_utf8_lossy(&call.open[1..]);
            let (sent, whole, got) = (call.sent, call.body.len(), &call.head);
            let got = got.as_ref().map(|head| (head.status, head.body.len()));
            format!("\n{number}: {:?} sent {sent} of {whole}, got {got:?}, {:?}", line, call.manner)
        });
        let sockets = self.sockets.iter().filter(|(_, socket)| !socket.is_over());
        open.chain(sockets.map(|(number, socket)| format!("\n{number}: {socket:?}"))).collect()
    }

    /// Does what it can now.
    pub(crate) fn step(&mut self, world: &World) {
        if self.has_closed {
            return;
        }
        let Some(id) = self.id else {
            self.id = world.connect(&address());
            (self.has_closed, self.was_cut) = (self.id.is_none(), self.id.is_none());
            return;
        };
        let mut wire = Vec::new();
        let before = self.received.len();
        let heard = self.side.hear(&world.client_received(id), &mut self.random);
        self.received.extend(heard);
        let is_silent = self.received.len() == before;
        self.read(&mut wire);
        self.send(is_silent, &mut wire);
        self.leave(&mut wire);
        self.side.say(&wire, &mut self.random);
        let output = self.side.take_output();
        if !output.is_empty() {
            world.client_send(id, &output);
        }
        let is_over =
            self.count(Seen::Nothing) == 0 && self.sockets.values().all(MuxSocket::is_over);
        let resets = self
            .resets_after
            .is_some_and(|most| self.calls.len() - self.count(Seen::Nothing) >= most);
        if resets {
            world.client_reset(id);
        } else if is_over {
            world.client_close(id);
        } else if world.client_state(id) != ClientState::Open {
            self.was_cut = true;
            world.client_close(id);
        } else {
            return;
        }
        self.has_closed = true;
    }

    fn read(&mut self, wire: &mut Vec<u8>) {
        let mut at = 0;
        while let Some(frame) = first_frame(&self.received[at..]) {
            at += frame.length;
            let number = frame.number;
            if let Some(socket) = self.sockets.get_mut(&number) {
                socket.take(frame);
                continue;
            }
            let call = self.calls.get_mut(&number).expect("a stream of this client");
            if call.seen == Seen::LetGo {
                continue;
            }
            assert_eq!(call.seen, Seen::Nothing, "nothing after the end");
            match frame.kind {
                HEAD => call.take_head(frame.content),
                DATA => call.take_data(number, frame.content, wire),
                WINDOW => call.window += credit_of(frame).expect("a credit"),
                END => call.check(),
                RESET => call.seen = Seen::Reset,
                kind => panic!("a frame of kind {kind}"),
            }
        }
        self.received.drain(..at);
    }

    /// Listeners leave when all other streams are over.
    fn leave(&mut self, wire: &mut Vec<u8>) {
        let is_open = |call: &Call| call.seen == Seen::Nothing;
        if self.calls.values().any(|call| is_open(call) && call.manner != Manner::Listens) {
            return;
        }
        for (number, call) in self.calls.iter_mut().filter(|(_, call)| is_open(call)) {
            // One that has not begun yet would never be seen.
            if let Some(head) = &call.head {
                assert_eq!(head.status, 200);
                self.heard += usize::from(head.body.windows(6).any(|part| part == b"data: "));
                call.let_go(*number, wire);
            }
        }
    }

    /// Sends in an order of its own. Slow streams get room when the server is silent.
    fn send(&mut self, is_silent: bool, wire: &mut Vec<u8>) {
        let mut numbers: Vec<u16> = self.calls.keys().copied().collect();
        self.random.shuffle(&mut numbers);
        for number in numbers {
            let most = 1 + self.random.index(1_500);
            let Some(call) = self.calls.get_mut(&number) else { continue };
            call.send(number, most, wire);
            if is_silent && call.seen == Seen::Nothing && call.granted < OUTPUT_WINDOW {
                call.grant(number, OUTPUT_WINDOW - call.granted, wire);
            }
        }
        for (number, socket) in &mut self.sockets {
            socket.send(*number, &mut self.random, wire);
        }
    }
}
