//! A transport for tests: it scrambles, re-frames, has a handshake of three flights, and announces its end.
//!
//! A frame is its kind, the length of its content in two bytes, and the content, each byte changed by a key that continues from
//! byte to byte: a lost or repeated byte breaks the rest. The handshake is a hello of the client, one of the server that is longer
//! than small socket buffers, and a word of the client.

use runtime::transport::{Transport, Violation};

const HELLO: u8 = 1;
const DATA: u8 = 2;
const END: u8 = 3;

/// Most bytes of a frame: far fewer than arrive at once.
const FRAME_BYTES: usize = 1000;

/// Bytes of the server's hello.
const SERVER_HELLO_BYTES: usize = 6000;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

pub(crate) struct Scramble {
    side: Side,
    /// Bytes of the peer that are not a complete frame yet.
    held: Vec<u8>,
    /// Bytes of the other side's hello that are still missing.
    hello_left: usize,
    sealed: u8,
    opened: u8,
    ended: bool,
}

impl Scramble {
    pub(crate) fn server() -> Self {
        Self::new(Side::Server, 10)
    }

    /// A client and its hello.
    pub(crate) fn client() -> (Self, Vec<u8>) {
        let mut client = Self::new(Side::Client, SERVER_HELLO_BYTES);
        let mut wire = Vec::new();
        client.frame(HELLO, &[7; 6], &mut wire);
        (client, wire)
    }

    fn new(side: Side, hello_left: usize) -> Self {
        Self { side, held: Vec::new(), hello_left, sealed: 0, opened: 0, ended: false }
    }

    fn frame(&mut self, kind: u8, content: &[u8], wire: &mut Vec<u8>) {
        wire.push(kind);
        wire.extend_from_slice(&u16::try_from(content.len()).unwrap().to_be_bytes());
        for byte in content {
            self.sealed = self.sealed.wrapping_mul(5).wrapping_add(3);
            wire.push(byte ^ self.sealed);
        }
    }

    /// Handles a complete frame.
    fn take(
        &mut self,
        kind: u8,
        content: &[u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let opened: Vec<u8> = content
            .iter()
            .map(|byte| {
                self.opened = self.opened.wrapping_mul(5).wrapping_add(3);
                byte ^ self.opened
            })
            .collect();
        match (kind, self.hello_left) {
            (HELLO, 1..) => {
                self.hello_left = self.hello_left.checked_sub(opened.len()).ok_or(Violation)?;
                self.greet(wire);
                Ok(())
            }
            (DATA, 0) => {
                plain.extend(opened);
                Ok(())
            }
            (END, 0) => {
                self.ended = true;
                Ok(())
            }
            _ => Err(Violation),
        }
    }

    /// Answers a part of the other side's hello.
    fn greet(&mut self, wire: &mut Vec<u8>) {
        match (self.side, self.hello_left) {
            (Side::Server, 4) => {
                for piece in [9; SERVER_HELLO_BYTES].chunks(FRAME_BYTES) {
                    self.frame(HELLO, piece, wire);
                }
            }
            (Side::Client, 0) => self.frame(HELLO, &[8; 4], wire),
            _ => {}
        }
    }
}

impl Transport for Scramble {
    fn open(
        &mut self,
        bytes: &[u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_slice();
        while let [kind, high, low, behind @ ..] = rest {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            if length > FRAME_BYTES {
                return Err(Violation);
            }
            let Some((content, others)) = behind.split_at_checked(length) else { break };
            self.take(*kind, content, plain, wire)?;
            rest = others;
        }
        self.held = rest.to_vec();
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.hello_left == 0
    }

    fn seal(&mut self, bytes: &[u8], wire: &mut Vec<u8>) {
        for piece in bytes.chunks(FRAME_BYTES) {
            self.frame(DATA, piece, wire);
        }
    }

    fn end(&mut self, wire: &mut Vec<u8>) {
        self.frame(END, &[], wire);
    }

    fn has_ended(&self) -> bool {
        self.ended
    }
}
