//! The server's operations on a connection: a kernel's answers, in memory.
//!
//! Owns the system calls on sockets. Never tells a server what a kernel would not.

use std::io;

use sys::pollset::{Corking, Interest, Rest, Sent, Token};

use super::State;
use crate::agenda::Event;
use crate::connection::{Farewell, Taken, Way};
use crate::fingerprint::Happening;
use crate::limits::{CORK_NS, SEGMENT};

impl State {
    pub(crate) fn watch(&mut self, index: u32, token: Token) -> io::Result<()> {
        self.settle();
        if self.random.chance(self.faults.watch_refused) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.connection(index).watch(token)?;
        self.fingerprint.note(Happening::Watched, index.into(), token.0);
        self.change_if_ready(index);
        Ok(())
    }

    pub(crate) fn set_interest(
        &mut self,
        index: u32,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        self.settle();
        self.connection(index).set_interest(token, interest)?;
        let detail = u64::from(interest == Interest::ReadWrite);
        self.fingerprint.note(Happening::Interested, index.into(), detail);
        self.change_if_ready(index);
        Ok(())
    }

    /// As in epoll, adding and modifying check the socket: the next wait reports what is there.
    fn change_if_ready(&mut self, index: u32) {
        if self.connection(index).look().is_some() {
            self.change(index);
        }
    }

    pub(crate) fn receive(&mut self, index: u32, buffer: &mut [u8]) -> Taken {
        self.settle();
        if self.connection(index).is_connecting() {
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
        if connection.visible() == 0 {
            return connection.receive_nothing();
        }
        let mut count = buffer.len().min(connection.visible());
        let mut rest = if count == buffer.len() { Rest::Perhaps } else { Rest::No };
        let mut hides = false;
        if count > 1 && self.random.chance(self.faults.cut_receive) {
            count = 1 + self.random.index(count - 1);
            // Once the end has arrived nothing can come later: a kernel never blocks then.
            hides = !connection.has_input_ended() && self.random.below(2) == 0;
            rest = if hides { Rest::No } else { Rest::Perhaps };
        }
        connection.receive(&mut buffer[..count]);
        if hides {
            connection.hide();
            let at_ns = self.now_ns + self.span_ns(self.faults.delay_ns_maximum);
            self.agenda.put(at_ns, self.key(index), Event::Reveal);
        }
        self.pump(index);
        Taken::Bytes(count, rest)
    }

    /// How many of the bytes of a send are taken; otherwise its answer.
    pub(crate) fn begin_send(&mut self, index: u32, asked: usize) -> Result<usize, Sent> {
        self.settle();
        if self.connection(index).is_connecting() {
            return Ok(0);
        }
        if self.random.chance(self.faults.cut_connection) {
            self.cut(index);
        }
        let connection = self.connection(index);
        if !connection.can_send() {
            let kind = connection.send_error();
            self.fingerprint.note(Happening::Sent, index.into(), u64::MAX);
            return Err(Sent::Failed(kind));
        }
        let mut count = connection.room().min(asked);
        if count > 0 && self.random.chance(self.faults.cut_send) {
            count = self.random.index(count);
            self.connection(index).choke();
            let at_ns = self.now_ns + self.span_ns(self.faults.delay_ns_maximum);
            self.agenda.put(at_ns, self.key(index), Event::Unchoke);
        }
        if count < asked {
            self.connection(index).want_room();
        }
        Ok(count)
    }

    /// Takes the bytes that a send was granted.
    pub(crate) fn finish_send(&mut self, index: u32, bytes: &[u8], follows: Corking) {
        self.fingerprint.note(Happening::Sent, index.into(), u64::from(follows == Corking::On));
        self.fingerprint.note_bytes(bytes);
        let held = self.connection(index).cork(bytes);
        if follows == Corking::Off || held >= SEGMENT {
            self.uncork(index);
        } else if !bytes.is_empty() && held == bytes.len() {
            let at_ns = self.now_ns + CORK_NS;
            self.agenda.put(at_ns, self.key(index), Event::Uncork);
        }
    }

    /// Bytes sent that the client has not read.
    pub(crate) fn outstanding(&mut self, index: u32) -> u64 {
        self.settle();
        self.connection(index).outstanding() as u64
    }

    /// Whether a region of a file has to be read first.
    pub(crate) fn is_cold(&mut self, index: u32) -> bool {
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

    pub(crate) fn end_output(&mut self, index: u32) {
        self.settle();
        self.fingerprint.note(Happening::OutputEnded, index.into(), 0);
        if !self.connection(index).can_send() {
            return;
        }
        self.uncork(index);
        let has_ended = self.connection(index).end_output();
        self.dispatch_end(index, Way::ToClient);
        if has_ended {
            self.change(index);
        }
    }

    pub(crate) fn reset_on_close(&mut self, index: u32) {
        self.connection(index).reset_on_close();
    }

    pub(crate) fn close_socket(&mut self, index: u32) {
        self.settle();
        self.fingerprint.note(Happening::Closed, index.into(), 0);
        self.cold.remove(&index);
        let connection = self.connection(index);
        if connection.is_connecting() {
            connection.give_up_connecting();
        }
        let scheduler = usize::from(connection.scheduler());
        match connection.begin_close() {
            Farewell::End => self.end_output(index),
            Farewell::Reset => self.dispatch_reset(index, Way::ToClient),
            Farewell::Nothing => {}
        }
        self.connection(index).close();
        self.sides[scheduler].descriptors -= 1;
        self.pump(index);
        self.free_if_over(index);
    }
}
