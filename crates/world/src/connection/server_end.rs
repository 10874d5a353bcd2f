//! The server's end of a connection.
//!
//! Owns where it is, how it is watched, and what a kernel would answer about it.

use std::io;

use sys::pollset::{Connecting, Interest, Ready, Rest, Token};

use super::{Connection, End, Mark, Position, Watch};

/// The result of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Bytes(usize, Rest),
    Blocked,
    End,
    Failed(io::ErrorKind),
}

/// The last segment of a server that closes its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// The end of its output, unless that was sent before.
    End,
    /// A reset.
    Reset,
    /// None: the connection no longer exists.
    Nothing,
}

/// Its place: a listener's queue, a scheduler, or nowhere.
impl Connection {
    /// It joins the queue of its listener, which is the result; `None` if it was not held back.
    pub(crate) fn end_deferral(&mut self) -> Option<u32> {
        self.leave_deferral(Position::Queued)
    }

    /// It is lost while its listener, which is the result, holds it back; `None` if no listener does.
    pub(crate) fn lose_deferred(&mut self) -> Option<u32> {
        self.leave_deferral(Position::Closed)
    }

    fn leave_deferral(&mut self, place: Position) -> Option<u32> {
        let leaves = self.place == Position::Deferred;
        if leaves {
            self.place = place;
        }
        leaves.then_some(self.listener)
    }

    /// Its listener is closed; `false` if it does not wait there.
    pub(crate) fn lose_listener(&mut self, listener: u32) -> bool {
        let waits = matches!(self.place, Position::Deferred | Position::Queued)
            && self.listener == listener;
        if waits {
            self.place = Position::Closed;
        }
        waits
    }

    /// A scheduler owns it from now on.
    pub(crate) fn give_to(&mut self, scheduler: u16) {
        self.place = Position::Accepted;
        self.scheduler = scheduler;
    }

    /// The scheduler that owns it; `u16::MAX` before one does.
    pub(crate) fn scheduler(&self) -> u16 {
        self.scheduler
    }

    /// Whether it is closed, or was never accepted.
    pub(crate) fn is_closed(&self) -> bool {
        self.place == Position::Closed
    }

    pub(crate) fn close(&mut self) {
        self.place = Position::Closed;
    }
}

/// The handshake of one that a scheduler opens.
impl Connection {
    pub(crate) fn begin_connecting(&mut self, token: Token) {
        self.set(Mark::CONNECTING);
        self.watch = Some(Watch { token, interest: Interest::ReadWrite });
    }

    pub(crate) fn is_connecting(&self) -> bool {
        self.has(Mark::CONNECTING)
    }

    /// The handshake has succeeded.
    pub(crate) fn establish(&mut self) {
        self.take(Mark::CONNECTING);
    }

    /// The remote refuses it.
    pub(crate) fn refuse(&mut self) {
        self.give_up_connecting();
        self.error = Some(io::ErrorKind::ConnectionRefused);
    }

    /// The remote never learns of it.
    pub(crate) fn give_up_connecting(&mut self) {
        self.take(Mark::CONNECTING);
        self.set(Mark::GONE);
        self.release();
    }

    /// The result of the handshake; an error is reported once.
    pub(crate) fn outcome(&mut self) -> Result<Connecting, io::ErrorKind> {
        if self.is_connecting() {
            return Ok(Connecting::Pending);
        }
        self.error.take().map_or(Ok(Connecting::Done), Err)
    }
}

/// Its readiness, and the report of it.
impl Connection {
    /// As in epoll, it is an error if it is watched already.
    pub(crate) fn watch(&mut self, token: Token) -> io::Result<()> {
        if self.watch.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.watch = Some(Watch { token, interest: Interest::Read });
        Ok(())
    }

    pub(crate) fn set_interest(&mut self, token: Token, interest: Interest) -> io::Result<()> {
        if self.watch.is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.watch = Some(Watch { token, interest });
        Ok(())
    }

    /// Whether both directions have ended, or it was reset.
    fn is_hung_up(&self) -> bool {
        let both = self.to_server.end == End::Arrived && self.to_client.end != End::Open;
        both || self.has(Mark::GONE)
    }

    /// The readiness that epoll would report of it now; `None` if there is none.
    pub(crate) fn readiness(&self) -> Option<Ready> {
        let watch = self.watch.filter(|_| !self.is_connecting())?;
        let hung_up = self.is_hung_up();
        let ended = hung_up || self.to_server.end == End::Arrived;
        let wants_room = watch.interest == Interest::ReadWrite;
        let has_room = self.has_room() || self.to_client.end != End::Open;
        let ready = Ready {
            token: watch.token,
            readable: ended || self.visible > 0,
            writable: hung_up || (wants_room && has_room),
            ended,
            over: hung_up,
        };
        (ready.readable || ready.writable).then_some(ready)
    }

    /// The readiness that the kernel would report: if there is no room, room is reported later.
    pub(crate) fn look(&mut self) -> Option<Ready> {
        if !self.has_room() {
            self.want_room();
        }
        self.readiness()
    }

    /// It has changed: if it is watched, it joins the list of its scheduler, which is the result, once.
    pub(crate) fn change(&mut self) -> Option<u16> {
        let joins = self.watch.is_some() && !self.has(Mark::CHANGED);
        if joins {
            self.set(Mark::CHANGED);
        }
        joins.then_some(self.scheduler)
    }

    /// Whether it is in the list of this scheduler.
    pub(crate) fn has_changed_for(&self, scheduler: u16) -> bool {
        self.has(Mark::CHANGED) && self.scheduler == scheduler
    }

    /// Whether its change was held back once already.
    pub(crate) fn is_held_back(&self) -> bool {
        self.has(Mark::HELD)
    }

    /// A fault holds its change back.
    pub(crate) fn hold_back(&mut self) {
        self.set(Mark::HELD);
    }

    /// It leaves the list of changes; the result is what is reported.
    pub(crate) fn report(&mut self) -> Option<Ready> {
        self.take(Mark::CHANGED);
        self.take(Mark::HELD);
        self.look()
    }

    /// A report to this scheduler without a cause; `None` if it does not watch the connection.
    pub(crate) fn spurious(&self, scheduler: u16) -> Option<Ready> {
        let Watch { token, interest } = self.watch.filter(|_| self.scheduler == scheduler)?;
        let writable = interest == Interest::ReadWrite;
        Some(Ready { token, readable: true, writable, ended: false, over: false })
    }
}

/// Its input.
impl Connection {
    /// Bytes arrive.
    pub(crate) fn deliver_to_server(&mut self, bytes: &[u8]) {
        self.to_server.arrived.append(bytes);
        self.reveal();
    }

    /// The end of the client's output arrives.
    pub(crate) fn end_to_server(&mut self) {
        self.to_server.end = End::Arrived;
        self.reveal();
    }

    /// Makes all bytes that have arrived receivable; `false` if they are.
    pub(crate) fn reveal(&mut self) -> bool {
        let arrived = u32::try_from(self.to_server.arrived.len()).expect("bounded by a capacity");
        std::mem::replace(&mut self.visible, arrived) < arrived
    }

    /// The bytes that have arrived come later.
    pub(crate) fn hide(&mut self) {
        self.visible = 0;
    }

    /// Bytes that a receive can return.
    pub(crate) fn visible(&self) -> usize {
        self.visible as usize
    }

    /// Receives bytes that are visible.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) {
        self.to_server.arrived.take_into(buffer);
        self.visible -= u32::try_from(buffer.len()).expect("it was counted");
    }

    /// The answer to a receive when no bytes are visible.
    pub(crate) fn receive_nothing(&mut self) -> Taken {
        if self.to_server.end == End::Arrived {
            return Taken::End;
        }
        match self.error.take() {
            Some(kind) => Taken::Failed(kind),
            None if self.is_gone() => Taken::End,
            None => Taken::Blocked,
        }
    }

    /// Whether nothing can arrive any more.
    pub(crate) fn has_input_ended(&self) -> bool {
        self.to_server.end == End::Arrived || self.is_gone()
    }
}

/// Its output.
impl Connection {
    /// Bytes that a send can take now.
    pub(crate) fn room(&self) -> usize {
        if self.has(Mark::CHOKED) {
            return 0;
        }
        (self.to_client.capacity as usize).saturating_sub(self.outstanding())
    }

    /// Bytes sent that the client has not read.
    pub(crate) fn outstanding(&self) -> usize {
        self.corked.len() + self.to_client.flying as usize + self.unread as usize
    }

    /// Linux reports room once a third of the buffer is free, so that a writer is not woken for every byte.
    fn has_room(&self) -> bool {
        self.room() * 3 >= self.to_client.capacity as usize
    }

    /// A send found no room.
    pub(crate) fn want_room(&mut self) {
        self.set(Mark::WANTS_ROOM);
    }

    /// Whether a send found no room, there is some now, and the scheduler asked for it. One that did not ask is not
    /// woken: the change would report unread bytes once more.
    pub(crate) fn gains_room(&mut self) -> bool {
        self.has_room()
            && self.take(Mark::WANTS_ROOM)
            && self.watch.is_some_and(|watch| watch.interest == Interest::ReadWrite)
    }

    /// A fault: there is no room for some time.
    pub(crate) fn choke(&mut self) {
        self.set(Mark::CHOKED);
    }

    /// That time is over.
    pub(crate) fn end_choke(&mut self) {
        self.take(Mark::CHOKED);
    }

    /// Whether a send can succeed.
    pub(crate) fn can_send(&self) -> bool {
        self.to_client.end == End::Open && !self.is_gone()
    }

    /// The error of a send that cannot succeed.
    pub(crate) fn send_error(&mut self) -> io::ErrorKind {
        self.error.take().unwrap_or(io::ErrorKind::BrokenPipe)
    }

    /// Holds sent bytes back; the result is how many are held back.
    pub(crate) fn cork(&mut self, bytes: &[u8]) -> usize {
        self.corked.append(bytes);
        self.corked.len()
    }

    /// Takes the bytes that were held back.
    pub(crate) fn uncork(&mut self) -> Vec<u8> {
        self.corked.take(usize::MAX)
    }

    /// The server ends its output; the result is whether both directions have ended.
    pub(crate) fn end_output(&mut self) -> bool {
        self.to_client.end = End::Sent;
        self.to_server.end == End::Arrived
    }
}

/// Its end.
impl Connection {
    /// Whether the connection no longer exists for the server.
    pub(crate) fn is_gone(&self) -> bool {
        self.has(Mark::GONE)
    }

    /// It is reset; `false` if the server has nothing to lose. What arrived before can still be received, as in Linux.
    pub(crate) fn lose_server_end(&mut self) -> bool {
        if self.is_closed() || self.is_gone() {
            return false;
        }
        self.set(Mark::GONE);
        self.take(Mark::CHOKED);
        self.error = Some(if self.to_server.end == End::Arrived {
            io::ErrorKind::BrokenPipe
        } else {
            io::ErrorKind::ConnectionReset
        });
        self.reveal();
        self.corked.clear();
        true
    }

    pub(crate) fn reset_on_close(&mut self) {
        self.set(Mark::RESET_ON_CLOSE);
    }

    /// The server closes its socket: it is watched no longer, and what it has not received is lost.
    pub(crate) fn begin_close(&mut self) -> Farewell {
        self.watch = None;
        self.take(Mark::CHANGED);
        // Unread bytes: by RFC 2525 section 2.17 the peer should be told by a reset.
        let resets = self.has(Mark::RESET_ON_CLOSE) || !self.to_server.arrived.is_empty();
        self.to_server.arrived.clear();
        self.visible = 0;
        if self.is_gone() {
            Farewell::Nothing
        } else if resets {
            self.corked.clear();
            Farewell::Reset
        } else {
            Farewell::End
        }
    }
}
