//! A pollset that adds a transport to the connections of some listeners of another pollset.
//!
//! Owns the bytes between both. Never interprets them.

use std::cell::RefCell;
use std::io::{self, IoSlice};

use sys::file::FileHandle;
use sys::pollset::{
    AcceptError, ConnectOptions, Connecting, Follows, Interest, ListenOptions, Patience, Pollset,
    Ready, Received, Rest, Sent, Token,
};
use sys::socket::{ListenAddress, Peer};

use crate::limits::{LAYER_EARLY_BYTES, LAYER_RECEIVES, LAYER_SEAL_BYTES};

use super::{Transport, Violation};

/// A transport and the bytes it has not sent yet.
struct Layer<T> {
    transport: T,
    /// Output of the process from before the end of the handshake.
    early: Vec<u8>,
    /// Encoded bytes for which the socket had no room; sent up to `sent`.
    wire: Vec<u8>,
    sent: usize,
    end: End,
}

/// Whether our end of stream has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Said,
}

impl<T: Transport> Layer<T> {
    /// Sends the encoded bytes. Returns whether all were sent.
    fn flush<P: Pollset>(
        &mut self,
        pollset: &mut P,
        socket: &P::Socket,
        follows: Follows,
    ) -> Result<bool, io::ErrorKind> {
        let bytes = &self.wire[self.sent..];
        if bytes.is_empty() {
            return Ok(true);
        }
        match pollset.send_bytes(socket, bytes, follows) {
            Sent::All => {
                self.wire.clear();
                self.wire.shrink_to(LAYER_SEAL_BYTES);
                self.sent = 0;
                Ok(true)
            }
            Sent::Part(count) => {
                self.sent += count;
                Ok(false)
            }
            Sent::Failed(kind) => Err(kind),
            Sent::Cold => Ok(false),
        }
    }

    /// Encodes and sends bytes of the process.
    fn send<P: Pollset>(
        &mut self,
        pollset: &mut P,
        socket: &P::Socket,
        bytes: &[u8],
        follows: Follows,
    ) -> Sent {
        let mut taken = 0;
        loop {
            match self.flush(pollset, socket, follows) {
                Ok(true) if taken == bytes.len() => return Sent::All,
                Ok(true) => {}
                // Encoded bytes count as sent; `owed` has the rest.
                Ok(false) if taken == bytes.len() && taken > 0 => return Sent::All,
                Ok(false) => return Sent::Part(taken),
                Err(kind) => return Sent::Failed(kind),
            }
            let rest = &bytes[taken..];
            if !self.transport.is_ready() {
                let fits = rest.len().min(LAYER_EARLY_BYTES.saturating_sub(self.early.len()));
                self.early.extend_from_slice(&rest[..fits]);
                return if fits == rest.len() { Sent::All } else { Sent::Part(taken + fits) };
            }
            let piece = &rest[..rest.len().min(LAYER_SEAL_BYTES)];
            self.transport.seal(piece, &mut self.wire);
            taken += piece.len();
        }
    }

    fn owed(&self) -> usize {
        self.wire.len() - self.sent + self.early.len()
    }
}

/// A connection, with or without a layer.
pub struct Socket<K, T> {
    inner: K,
    layer: Option<Box<RefCell<Layer<T>>>>,
}

/// A listener and the address that was requested for it.
pub struct Listener<L> {
    inner: L,
    address: ListenAddress,
}

/// Makes the transport of a connection of that listener.
type Choose<T> = Box<dyn FnMut(&ListenAddress) -> Option<T>>;

/// A pollset whose connections may have a transport each.
pub struct Layered<P, T> {
    inner: P,
    choose: Choose<T>,
    /// The decoded bytes of the last receive.
    plain: Vec<u8>,
}

impl<P: Pollset, T: Transport> Layered<P, T> {
    /// Wraps a pollset. `choose` makes the transport for connections of the listener with this address; `None`: they have
    /// none.
    pub fn new(inner: P, choose: impl FnMut(&ListenAddress) -> Option<T> + 'static) -> Self {
        Self { inner, choose: Box::new(choose), plain: Vec::new() }
    }
}

impl<P: Pollset, T: Transport> Pollset for Layered<P, T> {
    type Listener = Listener<P::Listener>;
    type Socket = Socket<P::Socket, T>;

    const LAYERED: bool = true;

    fn listen(&mut self, options: &ListenOptions, token: Token) -> io::Result<Self::Listener> {
        let inner = self.inner.listen(options, token)?;
        Ok(Listener { inner, address: options.address.clone() })
    }

    fn accept(&mut self, listener: &Self::Listener) -> Result<(Self::Socket, Peer), AcceptError> {
        let (inner, peer) = self.inner.accept(&listener.inner)?;
        let layer = (self.choose)(&listener.address).map(|transport| {
            let (early, wire) = (Vec::new(), Vec::new());
            Box::new(RefCell::new(Layer { transport, early, wire, sent: 0, end: End::Open }))
        });
        Ok((Socket { inner, layer }, peer))
    }

    fn connect(
        &mut self,
        options: &ConnectOptions,
        token: Token,
    ) -> Result<(Self::Socket, Connecting), io::ErrorKind> {
        let (inner, connecting) = self.inner.connect(options, token)?;
        Ok((Socket { inner, layer: None }, connecting))
    }

    fn outcome(&mut self, socket: &Self::Socket) -> Result<Connecting, io::ErrorKind> {
        self.inner.outcome(&socket.inner)
    }

    fn pause(&mut self, listener: &Self::Listener, token: Token) -> io::Result<()> {
        self.inner.pause(&listener.inner, token)
    }

    fn resume(&mut self, listener: &Self::Listener, token: Token) -> io::Result<()> {
        self.inner.resume(&listener.inner, token)
    }

    fn refuse_new(&mut self, listener: &mut Self::Listener) -> io::Result<()> {
        self.inner.refuse_new(&mut listener.inner)
    }

    fn watch(&mut self, socket: &Self::Socket, token: Token) -> io::Result<()> {
        self.inner.watch(&socket.inner, token)
    }

    fn set_interest(
        &mut self,
        socket: &Self::Socket,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        self.inner.set_interest(&socket.inner, token, interest)
    }

    fn note_fast_peer(&mut self, socket: &Self::Socket) {
        self.inner.note_fast_peer(&socket.inner);
    }

    fn receive(&mut self, socket: &Self::Socket) -> Received<'_> {
        let Some(layer) = &socket.layer else { return self.inner.receive(&socket.inner) };
        let layer = &mut *layer.borrow_mut();
        if layer.transport.has_ended() {
            return Received::End;
        }
        self.plain.clear();
        for _ in 0..LAYER_RECEIVES {
            let (opened, rest) = match self.inner.receive(&socket.inner) {
                Received::Bytes(bytes, rest) => {
                    (layer.transport.open(bytes, &mut self.plain, &mut layer.wire), rest)
                }
                Received::Blocked => return Received::Blocked,
                Received::End => return Received::Failed(io::ErrorKind::UnexpectedEof),
                Received::Failed(kind) => return Received::Failed(kind),
            };
            if layer.transport.is_ready() && !layer.early.is_empty() {
                let early = std::mem::take(&mut layer.early);
                layer.transport.seal(&early, &mut layer.wire);
            }
            let flushed = layer.flush(&mut self.inner, &socket.inner, Follows::Nothing);
            match (opened, flushed) {
                (Err(Violation), _) => return Received::Failed(io::ErrorKind::InvalidData),
                (Ok(()), Err(kind)) => return Received::Failed(kind),
                (Ok(()), Ok(_)) => {}
            }
            let rest = if layer.transport.has_ended() { Rest::Perhaps } else { rest };
            if !self.plain.is_empty() {
                return Received::Bytes(&self.plain, rest);
            }
            if layer.transport.has_ended() {
                return Received::End;
            }
            if rest == Rest::No {
                return Received::Blocked;
            }
        }
        Received::Bytes(&[], Rest::Perhaps)
    }

    fn send(&mut self, socket: &Self::Socket, parts: &[IoSlice<'_>], follows: Follows) -> Sent {
        let Some(layer) = &socket.layer else {
            return self.inner.send(&socket.inner, parts, follows);
        };
        let layer = &mut *layer.borrow_mut();
        let mut taken = 0;
        for (index, part) in parts.iter().enumerate() {
            let follows = if index + 1 < parts.len() { Follows::More } else { follows };
            match layer.send(&mut self.inner, &socket.inner, part, follows) {
                Sent::All => taken += part.len(),
                Sent::Part(count) => return Sent::Part(taken + count),
                failed => return failed,
            }
        }
        Sent::All
    }

    fn send_bytes(&mut self, socket: &Self::Socket, bytes: &[u8], follows: Follows) -> Sent {
        let Some(layer) = &socket.layer else {
            return self.inner.send_bytes(&socket.inner, bytes, follows);
        };
        layer.borrow_mut().send(&mut self.inner, &socket.inner, bytes, follows)
    }

    fn send_file(
        &mut self,
        socket: &Self::Socket,
        file: &FileHandle,
        offset: u64,
        length: usize,
    ) -> Sent {
        let Some(layer) = &socket.layer else {
            return self.inner.send_file(&socket.inner, file, offset, length);
        };
        let layer = &mut *layer.borrow_mut();
        match layer.flush(&mut self.inner, &socket.inner, Follows::More) {
            Ok(true) => {}
            Ok(false) => return Sent::Part(0),
            Err(kind) => return Sent::Failed(kind),
        }
        // The file has to be encoded, so its bytes are read, if that does not wait for the disk.
        let mut bytes = vec![0; length.min(LAYER_SEAL_BYTES)];
        if !file.read_ready(offset, bytes.len()) {
            return Sent::Cold;
        }
        let count = match file.read_at(&mut bytes, offset) {
            Ok(0) => return Sent::Failed(io::ErrorKind::UnexpectedEof),
            Ok(count) => count,
            Err(error) => return Sent::Failed(error.kind()),
        };
        match layer.send(&mut self.inner, &socket.inner, &bytes[..count], Follows::Nothing) {
            Sent::All if count < length => Sent::Part(count),
            sent => sent,
        }
    }

    fn outstanding(&mut self, socket: &Self::Socket) -> u64 {
        self.inner.outstanding(&socket.inner)
    }

    fn owed(&self, socket: &Self::Socket) -> usize {
        socket.layer.as_ref().map_or(0, |layer| layer.borrow().owed())
    }

    fn take_leave(&mut self, socket: &Self::Socket) -> bool {
        let Some(layer) = &socket.layer else { return false };
        let layer = &mut *layer.borrow_mut();
        if layer.end == End::Open {
            layer.end = End::Said;
            layer.transport.end(&mut layer.wire);
        }
        // The connection has failed: its last bytes cannot be sent, and the error changes nothing.
        !layer.flush(&mut self.inner, &socket.inner, Follows::More).unwrap_or(true)
    }

    fn end_output(&mut self, socket: &Self::Socket) {
        self.inner.end_output(&socket.inner);
    }

    fn reset_on_close(&mut self, socket: &Self::Socket) {
        self.inner.reset_on_close(&socket.inner);
    }

    fn wait(&mut self, patience: Patience) -> io::Result<usize> {
        self.inner.wait(patience)
    }

    fn event(&self, index: usize) -> Ready {
        self.inner.event(index)
    }

    fn monotonic_ns(&mut self) -> u64 {
        self.inner.monotonic_ns()
    }

    fn unix_ns(&mut self) -> u64 {
        self.inner.unix_ns()
    }

    fn tick_counter(&mut self) -> u64 {
        self.inner.tick_counter()
    }
}
