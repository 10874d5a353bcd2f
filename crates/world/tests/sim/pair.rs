//! One simulated scheduler with a listener and, in a [`Pair`], one watched connection.

use std::net::SocketAddr;

use sys::pollset::{ListenOptions, Pollset, Ready, Silence, Speaks, Token, WaitLimit};
use sys::socket::ListenAddress;
use world::{ClientId, Faults, Sim, SimulatedListener, SimulatedSocket, World};

pub(crate) const LISTENER: Token = Token(0);
pub(crate) const FIRST: Token = Token(7);
pub(crate) const MILLISECOND_NS: u64 = 1_000_000;

pub(crate) fn address() -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)))
}

pub(crate) fn listen(sim: &mut Sim, first: Speaks) -> SimulatedListener {
    let options =
        ListenOptions { address: address(), backlog: 100, first, silent: Silence::Trusted };
    sim.listen(&options, LISTENER).unwrap()
}

pub(crate) fn events(sim: &mut Sim) -> Vec<Ready> {
    let count = sim.wait(WaitLimit::Unbounded).unwrap();
    (0..count).map(|index| sim.event(index)).collect()
}

/// One scheduler with one watched connection.
pub(crate) struct Pair {
    pub(crate) world: World,
    pub(crate) sim: Sim,
    pub(crate) listener: SimulatedListener,
    pub(crate) socket: SimulatedSocket,
    pub(crate) client: ClientId,
}

/// The faults begin once the connection is established.
pub(crate) fn pair(seed: u64, faults: Faults) -> Pair {
    let world = World::new(seed, Faults::none());
    let mut sim = world.pollset(0);
    let listener = listen(&mut sim, Speaks::Either);
    let client = world.connect(&address()).unwrap();
    let (socket, _peer) = sim.accept(&listener).unwrap();
    sim.watch(&socket, FIRST).unwrap();
    world.set_faults(faults);
    Pair { world, sim, listener, socket, client }
}
