//! The simulated pollset with its own allocations counted separately from the scheduler's.
//!
//! Owns the counts of what the world allocates while a scheduler calls it. Changes nothing else.

use std::cell::Cell;
use std::io::{self, IoSlice};

use sys::allocation::{allocations_of_this_thread, live_bytes_of_this_thread};
use sys::file::FileHandle;
use sys::pollset::{
    AcceptError, ConnectOptions, Connecting, Corking, Interest, ListenOptions, Pollset, Ready,
    Received, Sent, Token, WaitLimit,
};
use sys::socket::Peer;
use world::{Sim, SimulatedListener, SimulatedSocket};

/// Allocations and live bytes of a piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) allocations: u64,
    pub(crate) live_bytes: i64,
}

impl Memory {
    fn now() -> Self {
        Self { allocations: allocations_of_this_thread(), live_bytes: live_bytes_of_this_thread() }
    }

    fn since(self, before: Self) -> Self {
        Self {
            allocations: self.allocations - before.allocations,
            live_bytes: self.live_bytes - before.live_bytes,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            allocations: self.allocations + other.allocations,
            live_bytes: self.live_bytes + other.live_bytes,
        }
    }
}

thread_local! {
    /// The memory that the worlds of this thread used while schedulers called them.
    static ASIDE: Cell<Memory> = const { Cell::new(Memory { allocations: 0, live_bytes: 0 }) };
}

/// The memory that `work` used, without the world's part.
pub(crate) fn measure<T>(work: impl FnOnce() -> T) -> (T, Memory) {
    let (aside, before) = (ASIDE.get(), Memory::now());
    let done = work();
    let (all, world) = (Memory::now().since(before), ASIDE.get().since(aside));
    (done, all.since(world))
}

fn set_aside(before: Memory) {
    ASIDE.set(ASIDE.get().plus(Memory::now().since(before)));
}

/// A socket whose close counts as the world's work.
pub(crate) struct ApartSocket(Option<SimulatedSocket>);

impl ApartSocket {
    fn socket(&self) -> &SimulatedSocket {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for ApartSocket {
    fn drop(&mut self) {
        let before = Memory::now();
        drop(self.0.take());
        set_aside(before);
    }
}

/// The pollset.
pub(crate) struct Apart(pub(crate) Sim);

impl Apart {
    fn call<T>(&mut self, call: impl FnOnce(&mut Sim) -> T) -> T {
        let before = Memory::now();
        let done = call(&mut self.0);
        set_aside(before);
        done
    }
}

impl Pollset for Apart {
    type Listener = SimulatedListener;
    type Socket = ApartSocket;

    fn listen(&mut self, options: &ListenOptions, token: Token) -> io::Result<SimulatedListener> {
        self.call(|sim| sim.listen(options, token))
    }

    fn accept(&mut self, listener: &SimulatedListener) -> Result<(ApartSocket, Peer), AcceptError> {
        let (socket, peer) = self.call(|sim| sim.accept(listener))?;
        Ok((ApartSocket(Some(socket)), peer))
    }

    fn connect(
        &mut self,
        options: &ConnectOptions,
        token: Token,
    ) -> Result<(ApartSocket, Connecting), io::ErrorKind> {
        let (socket, connecting) = self.call(|sim| sim.connect(options, token))?;
        Ok((ApartSocket(Some(socket)), connecting))
    }

    fn outcome(&mut self, socket: &ApartSocket) -> Result<Connecting, io::ErrorKind> {
        self.call(|sim| sim.outcome(socket.socket()))
    }

    fn pause(&mut self, listener: &SimulatedListener, token: Token) -> io::Result<()> {
        self.call(|sim| sim.pause(listener, token))
    }

    fn resume(&mut self, listener: &SimulatedListener, token: Token) -> io::Result<()> {
        self.call(|sim| sim.resume(listener, token))
    }

    fn refuse_new(&mut self, listener: &mut Self::Listener) -> io::Result<()> {
        self.call(|sim| sim.refuse_new(listener))
    }

    fn watch(&mut self, socket: &ApartSocket, token: Token) -> io::Result<()> {
        self.call(|sim| sim.watch(socket.socket(), token))
    }

    fn set_interest(
        &mut self,
        socket: &ApartSocket,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        self.call(|sim| sim.set_interest(socket.socket(), token, interest))
    }

    fn note_fast_peer(&mut self, socket: &ApartSocket) {
        self.call(|sim| sim.note_fast_peer(socket.socket()));
    }

    fn receive(&mut self, socket: &ApartSocket) -> Received<'_> {
        let before = Memory::now();
        let received = self.0.receive(socket.socket());
        set_aside(before);
        received
    }

    fn send(&mut self, socket: &ApartSocket, parts: &[IoSlice<'_>], follows: Corking) -> Sent {
        self.call(|sim| sim.send(socket.socket(), parts, follows))
    }

    fn send_bytes(&mut self, socket: &ApartSocket, bytes: &[u8], follows: Corking) -> Sent {
        self.call(|sim| sim.send_bytes(socket.socket(), bytes, follows))
    }

    fn send_file(
        &mut self,
        socket: &ApartSocket,
        file: &FileHandle,
        offset: u64,
        length: usize,
    ) -> Sent {
        self.call(|sim| sim.send_file(socket.socket(), file, offset, length))
    }

    fn outstanding(&mut self, socket: &ApartSocket) -> u64 {
        self.call(|sim| sim.outstanding(socket.socket()))
    }

    fn end_output(&mut self, socket: &ApartSocket) {
        self.call(|sim| sim.end_output(socket.socket()));
    }

    fn reset_on_close(&mut self, socket: &ApartSocket) {
        self.call(|sim| sim.reset_on_close(socket.socket()));
    }

    fn wait(&mut self, patience: WaitLimit) -> io::Result<usize> {
        self.call(|sim| sim.wait(patience))
    }

    fn event(&self, index: usize) -> Ready {
        self.0.event(index)
    }

    fn monotonic_ns(&mut self) -> u64 {
        self.call(Sim::monotonic_ns)
    }

    fn unix_ns(&mut self) -> u64 {
        self.call(Sim::unix_ns)
    }
}
