//! The simulated pollset: a seeded network and clock in memory.
//!
//! Owns [`World`], in which a test drives the clients and [`Sim`] drives the schedulers, all in one thread, one
//! after the other. Never blocks: [`Pollset::wait`] returns what is there now, whatever its patience, and time passes
//! only by [`World::advance`]. As strict as a kernel: a change is reported once, so that a scheduler that forgets
//! bytes hangs here. The possible faults are listed in [`Faults`]; what the contract forbids never happens.
//!
//! Where Linux is more specific than the contract, the world does as Linux does: without a free descriptor the accept
//! queue is not read; a close with unread bytes is a reset; bytes to a closed socket are answered by a reset;
//! closing a listener resets its queue; an error is reported once; room is reported once a third of the buffer is free.
//!
//! A connection that a scheduler opens leads to a remote that the test plays ([`World::listen_remote`]); two schedulers
//! are not connected with each other.
//!
//! Not simulated: processes that inherit one listener share its queue in a kernel; here each has its own.

mod agenda;
mod alone;
mod bytes;
mod connection;
mod descriptor;
mod faults;
mod fingerprint;
pub mod limits;
mod random;
mod stage;
mod state;
mod world;

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::rc::Rc;

use sys::file::FileHandle;
use sys::pollset::epoll::{FILE_PIECE, RECEIVE_BUFFER};
use sys::pollset::{
    AcceptError, ConnectOptions, Connecting, Corking, Interest, ListenOptions, Pollset, Ready,
    Received, Sent, Token, WaitLimit,
};
use sys::socket::{ListenAddress, Peer};

use connection::Taken;
use state::State;

pub use connection::{ClientState, Stall};
pub use descriptor::SimulatedSocket;
pub use faults::Faults;
pub use random::{ALWAYS, Random};
pub use stage::Stage;
pub use world::{ClientId, World};

/// A simulated listener. Dropping it closes it.
#[derive(Debug)]
pub struct SimulatedListener {
    world: Rc<RefCell<State>>,
    number: u32,
}

impl SimulatedListener {
    /// Its address, with the assigned port if the requested one was 0.
    pub fn local_address(&self) -> ListenAddress {
        self.world.borrow().listener_address(self.number)
    }
}

impl Drop for SimulatedListener {
    fn drop(&mut self) {
        self.world.borrow_mut().close_listener(self.number);
    }
}

/// The pollset of one scheduler in a world.
#[derive(Debug)]
pub struct Sim {
    world: Rc<RefCell<State>>,
    scheduler: u16,
    events: Vec<Ready>,
    buffer: Box<[u8]>,
}

impl Sim {
    fn new(world: Rc<RefCell<State>>, scheduler: u16) -> Self {
        let buffer = vec![0; RECEIVE_BUFFER].into_boxed_slice();
        Self { world, scheduler, events: Vec::new(), buffer }
    }

    /// The world and the index of a connection in it.
    fn look_up(&self, socket: &SimulatedSocket) -> (std::cell::RefMut<'_, State>, u32) {
        let index = socket.connection(&self.world);
        let mut world = self.world.borrow_mut();
        let owner = world.connection(index).scheduler();
        assert_eq!(owner, self.scheduler, "a socket stays with the scheduler that accepted it");
        (world, index)
    }
}

impl Pollset for Sim {
    type Listener = SimulatedListener;
    type Socket = SimulatedSocket;

    fn listen(&mut self, options: &ListenOptions, token: Token) -> io::Result<SimulatedListener> {
        let number = self.world.borrow_mut().listen(self.scheduler, options, token)?;
        Ok(SimulatedListener { world: self.world.clone(), number })
    }

    fn accept(
        &mut self,
        listener: &SimulatedListener,
    ) -> Result<(SimulatedSocket, Peer), AcceptError> {
        let (index, peer) = self.world.borrow_mut().accept(listener.number)?;
        Ok((SimulatedSocket::new(self.world.clone(), index), peer))
    }

    fn connect(
        &mut self,
        options: &ConnectOptions,
        token: Token,
    ) -> Result<(SimulatedSocket, Connecting), io::ErrorKind> {
        let begun = self.world.borrow_mut().begin_connect(self.scheduler, options, token);
        begun.map(|(index, connecting)| {
            (SimulatedSocket::new(self.world.clone(), index), connecting)
        })
    }

    fn outcome(&mut self, socket: &SimulatedSocket) -> Result<Connecting, io::ErrorKind> {
        let (mut world, index) = self.look_up(socket);
        world.outcome(index)
    }

    fn pause(&mut self, listener: &SimulatedListener, _token: Token) -> io::Result<()> {
        self.world.borrow_mut().report_listener(listener.number, None)
    }

    fn resume(&mut self, listener: &SimulatedListener, token: Token) -> io::Result<()> {
        self.world.borrow_mut().report_listener(listener.number, Some(token))
    }

    fn refuse_new(&mut self, listener: &mut SimulatedListener) -> io::Result<()> {
        self.world.borrow_mut().refuse_new(listener.number);
        Ok(())
    }

    fn watch(&mut self, socket: &SimulatedSocket, token: Token) -> io::Result<()> {
        let (mut world, index) = self.look_up(socket);
        world.watch(index, token)
    }

    fn set_interest(
        &mut self,
        socket: &SimulatedSocket,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        let (mut world, index) = self.look_up(socket);
        world.set_interest(index, token, interest)
    }

    /// A simulated connection has one send buffer size, whatever its peer does.
    fn note_fast_peer(&mut self, _socket: &SimulatedSocket) {}

    fn receive(&mut self, socket: &SimulatedSocket) -> Received<'_> {
        let index = self.look_up(socket).1;
        match self.world.borrow_mut().receive(index, &mut self.buffer) {
            Taken::Bytes(count, rest) => Received::Bytes(&mut self.buffer[..count], rest),
            Taken::Blocked => Received::Blocked,
            Taken::End => Received::End,
            Taken::Failed(kind) => Received::Failed(kind),
        }
    }

    fn send(&mut self, socket: &SimulatedSocket, parts: &[IoSlice<'_>], follows: Corking) -> Sent {
        let mut bytes = Vec::new();
        for part in parts {
            bytes.extend_from_slice(part);
        }
        self.send_bytes(socket, &bytes, follows)
    }

    fn send_bytes(&mut self, socket: &SimulatedSocket, bytes: &[u8], follows: Corking) -> Sent {
        let (mut world, index) = self.look_up(socket);
        let count = match world.begin_send(index, bytes.len()) {
            Ok(count) => count,
            Err(answer) => return answer,
        };
        // Bytes that a cut send took are transmitted even if more was announced, as in Linux: the rest may come late.
        let follows = if count == bytes.len() { follows } else { Corking::Off };
        world.finish_send(index, &bytes[..count], follows);
        if count == bytes.len() { Sent::All } else { Sent::Part(count) }
    }

    fn send_file(
        &mut self,
        socket: &SimulatedSocket,
        file: &FileHandle,
        offset: u64,
        length: usize,
    ) -> Sent {
        let (mut world, index) = self.look_up(socket);
        if world.is_cold(index) {
            return Sent::Cold;
        }
        let room = match world.begin_send(index, length.min(FILE_PIECE)) {
            Ok(0) if length > 0 => return Sent::Part(0),
            Ok(room) => room,
            Err(answer) => return answer,
        };
        let mut bytes = vec![0; room];
        match file.read_at(&mut bytes, offset) {
            Ok(0) => Sent::Failed(io::ErrorKind::UnexpectedEof),
            Ok(count) => {
                world.finish_send(index, &bytes[..count], Corking::Off);
                if count == length { Sent::All } else { Sent::Part(count) }
            }
            Err(error) => Sent::Failed(error.kind()),
        }
    }

    fn outstanding(&mut self, socket: &SimulatedSocket) -> u64 {
        let (mut world, index) = self.look_up(socket);
        world.outstanding(index)
    }

    fn end_output(&mut self, socket: &SimulatedSocket) {
        let (mut world, index) = self.look_up(socket);
        world.end_output(index);
    }

    fn reset_on_close(&mut self, socket: &SimulatedSocket) {
        let (mut world, index) = self.look_up(socket);
        world.reset_on_close(index);
    }

    fn wait(&mut self, _patience: WaitLimit) -> io::Result<usize> {
        self.world.borrow_mut().collect(self.scheduler, &mut self.events);
        Ok(self.events.len())
    }

    fn event(&self, index: usize) -> Ready {
        self.events[index]
    }

    fn monotonic_ns(&mut self) -> u64 {
        self.world.borrow().now_ns()
    }

    fn unix_ns(&mut self) -> u64 {
        self.world.borrow().unix_ns()
    }

    fn tick_counter(&mut self) -> u64 {
        // A processor of 1 GHz.
        self.monotonic_ns()
    }
}
