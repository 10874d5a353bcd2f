//! The server's operations on a connection: a kernel's answers, in memory.
//!
//! Owns the system calls on sockets. Never tells a server what a kernel would not.

use std::io;

use sys::pollset::{Corking, Interest, Ready, Rest, Sent, Token};

use super::agenda::Event;
use super::connection::{Mark, Position, Watch};
use super::fingerprint::Happening;
use super::pipe::End;
use super::state::{State, Way};
use crate::limits::{CORK_NS, SEGMENT};

/// The result of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Bytes(usize, Rest),
    Blocked,
    End,
    Failed(io::ErrorKind),
}

impl State {
    pub(super) fn watch(&mut self, index: u32, token: Token) -> io::Result<()> {
        self.settle();
        if self.random.chance(self.faults.watch_refused) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let connection = self.connection(index);
        if connection.watch.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        connection.watch = Some(Watch { token, interest: Interest::Read });
        self.fingerprint.note(Happening::Watched, index.into(), token.0);
        self.change_if_ready(index);
        Ok(())
    }

    pub(super) fn set_interest(
        &mut self,
        index: u32,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        self.settle();
        let connection = self.connection(index);
        if connection.watch.is_none() {
            return Err(io::ErrorKind::NotFound.into());
        }
        connection.watch = Some(Watch { token, interest });
        let detail = u64::from(interest == Interest::ReadWrite);
        self.fingerprint.note(Happening::Interested, index.into(), detail);
        self.change_if_ready(index);
        Ok(())
    }

    /// As in epoll, adding and modifying check the socket: the next wait reports what is there.
    fn change_if_ready(&mut self, index: u32) {
        if self.look(index).is_some() {
            self.change(index);
        }
    }

    /// The readiness that the kernel would report: if there is no room, room is reported later.
    pub(super) fn look(&mut self, index: u32) -> Option<Ready> {
        let connection = self.connection(index);
        if !connection.has_room() {
            connection.set(Mark::WANTS_ROOM);
        }
        connection.readiness()
    }

    pub(super) fn receive(&mut self, index: u32, buffer: &mut [u8]) -> Taken {
        self.settle();
        if self.connection(index).has(Mark::CONNECTING) {
            return Taken::Blocked;
        }
        if self.random.chance(self.faults.cut_connection) {
            self.cut(index);
        }
        let taken = self.take_received(index, buffer);
        let detail = match taken {
            Taken::Bytes(count, rest) => {
                self.fingerprint.note_bytes(&buffer[..count]);
                u64::from(rest == Rest::No)
            }
            Taken::Blocked => 2,
            Taken::End => 3,
            Taken::Failed(_) => 4,
        };
        self.fingerprint.note(Happening::Received, index.into(), detail);
        taken
    }

    fn take_received(&mut self, index: u32, buffer: &mut [u8]) -> Taken {
        let connection = &mut self.connections[index as usize];
        if connection.visible == 0 {
            return match connection.error {
                _ if connection.to_server.end == End::Arrived => Taken::End,
                Some(kind) => {
                    connection.error = None;
                    Taken::Failed(kind)
                }
                None if connection.has(Mark::GONE) => Taken::End,
                None => Taken::Blocked,
            };
        }
        let mut count = buffer.len().min(connection.visible as usize);
        let mut rest = if count == buffer.len() { Rest::Perhaps } else { Rest::No };
        let mut hides = false;
        if count > 1 && self.random.chance(self.faults.cut_receive) {
            count = 1 + self.random.index(count - 1);
            // Once the end has arrived nothing can come later: a kernel never blocks then.
            let over = connection.to_server.end == End::Arrived || connection.has(Mark::GONE);
            hides = !over && self.random.below(2) == 0;
            rest = if hides { Rest::No } else { Rest::Perhaps };
        }
        connection.to_server.arrived.take_into(&mut buffer[..count]);
        connection.visible -= u32::try_from(count).expect("it was counted");
        if hides {
            connection.visible = 0;
            let at_ns = self.now_ns + self.span_ns(self.faults.delay_ns_maximum);
            self.agenda.put(at_ns, self.key(index), Event::Reveal);
        }
        self.pump(index);
        Taken::Bytes(count, rest)
    }

    /// How many of the bytes of a send are taken; otherwise its answer.
    pub(super) fn begin_send(&mut self, index: u32, asked: usize) -> Result<usize, Sent> {
        self.settle();
        if self.connection(index).has(Mark::CONNECTING) {
            return Ok(0);
        }
        if self.random.chance(self.faults.cut_connection) {
            self.cut(index);
        }
        let connection = self.connection(index);
        let ended = connection.to_client.end != End::Open;
        if ended || connection.has(Mark::GONE) {
            let kind = connection.error.take().unwrap_or(io::ErrorKind::BrokenPipe);
            self.fingerprint.note(Happening::Sent, index.into(), u64::MAX);
            return Err(Sent::Failed(kind));
        }
        let mut count = connection.room().min(asked);
        if count > 0 && self.random.chance(self.faults.cut_send) {
            count = self.random.index(count);
            self.connection(index).set(Mark::CHOKED);
            let at_ns = self.now_ns + self.span_ns(self.faults.delay_ns_maximum);
            self.agenda.put(at_ns, self.key(index), Event::Unchoke);
        }
        if count < asked {
            self.connection(index).set(Mark::WANTS_ROOM);
        }
        Ok(count)
    }

    /// Takes the bytes that a send was granted.
    pub(super) fn finish_send(&mut self, index: u32, bytes: &[u8], follows: Corking) {
        self.fingerprint.note(Happening::Sent, index.into(), u64::from(follows == Corking::On));
        self.fingerprint.note_bytes(bytes);
        let connection = self.connection(index);
        let corks = connection.corked.is_empty() && !bytes.is_empty();
        connection.corked.append(bytes);
        if follows == Corking::Off || connection.corked.len() >= SEGMENT {
            self.uncork(index);
        } else if corks {
            let at_ns = self.now_ns + CORK_NS;
            self.agenda.put(at_ns, self.key(index), Event::Uncork);
        }
    }

    /// Bytes sent that the client has not read.
    pub(super) fn outstanding(&mut self, index: u32) -> u64 {
        self.settle();
        self.connection(index).outstanding() as u64
    }

    /// Whether a region of a file has to be read first.
    pub(super) fn is_cold(&mut self, index: u32) -> bool {
        if let Some(until_ns) = self.cold.get(&index) {
            let cold = self.now_ns < *until_ns;
            if !cold {
                self.cold.remove(&index);
            }
            return cold;
        }
        let cold = self.random.chance(self.faults.cold);
        if cold {
            let until_ns = self.now_ns + self.span_ns(self.faults.cold_ns_maximum);
            self.cold.insert(index, until_ns);
        }
        cold
    }

    pub(super) fn end_output(&mut self, index: u32) {
        self.settle();
        self.fingerprint.note(Happening::OutputEnded, index.into(), 0);
        let connection = self.connection(index);
        if connection.to_client.end != End::Open || connection.has(Mark::GONE) {
            return;
        }
        self.uncork(index);
        self.connection(index).to_client.end = End::Sent;
        self.dispatch_end(index, Way::ToClient);
        if self.connection(index).to_server.end == End::Arrived {
            self.change(index);
        }
    }

    pub(super) fn reset_on_close(&mut self, index: u32) {
        self.connection(index).set(Mark::RESET_ON_CLOSE);
    }

    pub(super) fn close_socket(&mut self, index: u32) {
        self.settle();
        self.fingerprint.note(Happening::Closed, index.into(), 0);
        self.cold.remove(&index);
        if self.connection(index).has(Mark::CONNECTING) {
            self.give_up_connecting(index);
        }
        let connection = self.connection(index);
        let scheduler = usize::from(connection.scheduler);
        connection.watch = None;
        connection.take(Mark::CHANGED);
        // Unread bytes: by RFC 2525 section 2.17 the peer should be told by a reset.
        let resets =
            connection.has(Mark::RESET_ON_CLOSE) || !connection.to_server.arrived.is_empty();
        let gone = connection.has(Mark::GONE);
        connection.to_server.arrived.clear();
        connection.visible = 0;
        if !gone && resets {
            connection.corked.clear();
            self.dispatch_reset(index, Way::ToClient);
        } else if !gone {
            self.end_output(index);
        }
        self.connection(index).place = Position::Closed;
        self.sides[scheduler].descriptors -= 1;
        self.pump(index);
        self.free_if_over(index);
    }
}
