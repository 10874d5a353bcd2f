//! A transport for tests: it scrambles, re-frames, has a handshake of three flights with a server name and protocols,
//! and announces its end.
//!
//! A frame is its kind, the length of its content in two bytes, and the content, each byte changed by a key that
//! continues from byte to byte: a lost or repeated byte breaks the rest. The handshake is a hello of the client (name
//! and protocols), one of the server (a certificate and the protocol it chose) that is longer than small socket
//! buffers, and a word of the client.

use std::rc::Rc;

use runtime::transport::{Agreed, Transport, Violation};

const HELLO: u8 = 1;
const DATA: u8 = 2;
const END: u8 = 3;
const ALERT: u8 = 4;

/// Most bytes of a frame: far fewer than arrive at once.
const FRAME_BYTES: usize = 1000;

/// Bytes of the server's hello.
const SERVER_HELLO_BYTES: usize = 6000;

/// The only name for which the server has a certificate.
pub(crate) const NAME: &str = "velodrome.example";

/// The alert for an unknown name.
const UNKNOWN_NAME: u8 = 112;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// The next frame that the handshake waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wants {
    /// The server: the client's name and protocols.
    Name,
    /// The server: the client's word.
    Word,
    /// The client: this many more bytes of the server's hello.
    Hello(usize),
    /// Nothing: it is over.
    Nothing,
}

pub(crate) struct Scramble {
    side: Side,
    /// Bytes of the peer that are not a complete frame yet.
    held: Vec<u8>,
    wants: Wants,
    /// Protocols that this side knows, its favourite first.
    protocols: &'static [&'static str],
    protocol: Vec<u8>,
    name: String,
    certificate: Vec<u8>,
    has_greeted: bool,
    sealed: u8,
    opened: u8,
    ended: bool,
    agreed: Option<Rc<Agreed>>,
}

impl Scramble {
    pub(crate) fn server() -> Self {
        Self::new(Side::Server, Wants::Name, String::new(), &["loud", "quiet"])
    }

    /// A client that asks for a name and offers protocols.
    pub(crate) fn client(name: &str, protocols: &'static [&'static str]) -> Self {
        Self::new(Side::Client, Wants::Hello(SERVER_HELLO_BYTES), name.to_owned(), protocols)
    }

    fn new(side: Side, wants: Wants, name: String, protocols: &'static [&'static str]) -> Self {
        Self {
            side,
            held: Vec::new(),
            wants,
            protocols,
            protocol: Vec::new(),
            name,
            certificate: Vec::new(),
            has_greeted: false,
            sealed: 0,
            opened: 0,
            ended: false,
            agreed: None,
        }
    }

    /// Refuses the peer.
    pub(crate) fn alert(&mut self, number: u8, wire: &mut Vec<u8>) {
        self.frame(ALERT, &[number], wire);
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.wants == Wants::Nothing
    }

    fn frame(&mut self, kind: u8, content: &[u8], wire: &mut Vec<u8>) {
        wire.push(kind);
        wire.extend_from_slice(&u16::try_from(content.len()).unwrap().to_be_bytes());
        for byte in content {
            self.sealed = self.sealed.wrapping_mul(5).wrapping_add(3);
            wire.push(byte ^ self.sealed);
        }
    }

    fn agreement(&self) -> Agreed {
        let certificate = Some(&*self.certificate).filter(|certificate| !certificate.is_empty());
        Agreed {
            protocol: Some(self.protocol.as_slice().into()),
            server_name: Some(self.name.as_str().into()),
            peer_certificate: certificate.map(Into::into),
            ..Agreed::default()
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
        match (kind, self.wants) {
            (HELLO, Wants::Name) => self.greet_client(&opened, wire),
            (HELLO, Wants::Word) if opened == [8; 4] => {
                self.wants = Wants::Nothing;
                Ok(())
            }
            (HELLO, Wants::Hello(left)) => {
                self.certificate.extend(opened);
                let got = SERVER_HELLO_BYTES - left + content.len();
                let left = SERVER_HELLO_BYTES.checked_sub(got).ok_or(Violation::Protocol)?;
                self.wants = Wants::Hello(left);
                if left == 0 {
                    self.read_server_hello();
                    self.frame(HELLO, &[8; 4], wire);
                }
                Ok(())
            }
            (DATA, Wants::Nothing) => {
                plain.extend(opened);
                Ok(())
            }
            (END, Wants::Nothing) => {
                self.ended = true;
                Ok(())
            }
            (ALERT, _) => Err(Violation::Alert(opened.first().copied().unwrap_or(0))),
            _ => Err(Violation::Protocol),
        }
    }

    /// The server reads the client's name and protocols, and answers.
    fn greet_client(&mut self, hello: &[u8], wire: &mut Vec<u8>) -> Result<(), Violation> {
        let hello = str::from_utf8(hello).map_err(|_| Violation::Protocol)?;
        let (name, offered) = hello.split_once('\n').ok_or(Violation::Protocol)?;
        name.clone_into(&mut self.name);
        if name != NAME {
            self.frame(ALERT, &[UNKNOWN_NAME], wire);
            return Err(Violation::UnknownName);
        }
        let chosen = self.protocols.iter().find(|ours| offered.split(',').any(|one| one == **ours));
        let chosen = chosen.ok_or(Violation::NothingInCommon)?;
        self.protocol = chosen.as_bytes().to_vec();
        let mut answer = format!("certificate of {name}\n{chosen}\n").into_bytes();
        answer.resize(SERVER_HELLO_BYTES, b'.');
        for piece in answer.chunks(FRAME_BYTES) {
            self.frame(HELLO, piece, wire);
        }
        self.wants = Wants::Word;
        Ok(())
    }

    /// The client reads the certificate and the chosen protocol.
    fn read_server_hello(&mut self) {
        let hello = std::mem::take(&mut self.certificate);
        let mut lines = hello.split(|byte| *byte == b'\n');
        self.certificate = lines.next().unwrap_or_default().to_vec();
        self.protocol = lines.next().unwrap_or_default().to_vec();
        self.wants = Wants::Nothing;
    }
}

impl Transport for Scramble {
    fn open(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        if self.side == Side::Client && !self.has_greeted {
            self.has_greeted = true;
            let hello = format!("{}\n{}", self.name, self.protocols.join(","));
            self.frame(HELLO, hello.as_bytes(), wire);
        }
        self.held.extend_from_slice(bytes);
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_slice();
        while let [kind, high, low, behind @ ..] = rest {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            if length > FRAME_BYTES {
                return Err(Violation::Protocol);
            }
            let Some((content, others)) = behind.split_at_checked(length) else { break };
            self.take(*kind, content, plain, wire)?;
            rest = others;
        }
        self.held = rest.to_vec();
        if self.is_ready() && self.agreed.is_none() {
            self.agreed = Some(Rc::new(self.agreement()));
        }
        Ok(())
    }

    fn agreed(&self) -> Option<&Rc<Agreed>> {
        self.agreed.as_ref()
    }

    fn seal(&mut self, bytes: &[u8], wire: &mut Vec<u8>) -> Result<(), Violation> {
        for piece in bytes.chunks(FRAME_BYTES) {
            self.frame(DATA, piece, wire);
        }
        Ok(())
    }

    fn end(&mut self, wire: &mut Vec<u8>) {
        self.frame(END, &[], wire);
    }

    fn has_ended(&self) -> bool {
        self.ended
    }

    fn held_bytes(&self) -> usize {
        self.held.len()
    }
}
