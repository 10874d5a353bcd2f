//! The environment of the simulated pollset: a world.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use sys::connect::RemoteAddress;
use sys::socket::ListenAddress;
use world::{ALWAYS, ClientId, ClientState, Faults, Sim, Stall, World};

use crate::pollset_contract::harness::{Harness, Seen};

/// The simulated pollset in a world.
pub(crate) struct Simulated {
    world: World,
    faults: Faults,
    sim: Sim,
    ports: u16,
}

impl Simulated {
    pub(crate) fn new(faults: Faults) -> Self {
        let world = World::new(1, faults.clone());
        let sim = world.pollset(0);
        Self { world, faults, sim, ports: 1 }
    }

    fn listen_at(&mut self, address: RemoteAddress) -> RemoteAddress {
        self.world.listen_remote(&address);
        address
    }
}

impl Harness for Simulated {
    type Pollset = Sim;
    type Client = ClientId;

    fn pollset(&mut self) -> &mut Sim {
        &mut self.sim
    }

    fn free_address(&mut self) -> ListenAddress {
        self.ports += 1;
        ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], self.ports)))
    }

    fn connect(&mut self, listener: &world::SimulatedListener) -> ClientId {
        self.world.connect(&listener.local_address()).expect("there is a listener with room")
    }

    fn client_send(&mut self, client: &ClientId, bytes: &[u8]) {
        self.world.client_send(*client, bytes);
    }

    fn client_received(&mut self, client: &ClientId) -> Vec<u8> {
        self.world.client_stall(*client, Stall::Nothing);
        self.world.client_received(*client)
    }

    fn client_seen(&mut self, client: &ClientId) -> Seen {
        match self.world.client_state(*client) {
            ClientState::Open => Seen::Nothing,
            ClientState::EndedByServer => Seen::End,
            ClientState::Reset => Seen::Reset,
            other => panic!("no test does this: {other:?}"),
        }
    }

    fn client_stall(&mut self, client: &ClientId) {
        self.world.client_stall(*client, Stall::Reading);
    }

    fn client_end_output(&mut self, client: &ClientId) {
        self.world.client_end_output(*client);
    }

    fn client_reset(&mut self, client: ClientId) {
        self.world.client_reset(client);
    }

    fn remote(&mut self) -> RemoteAddress {
        self.ports += 1;
        let address = SocketAddr::from(([127, 0, 0, 1], self.ports));
        self.listen_at(RemoteAddress::Tcp(address))
    }

    fn remote_v6(&mut self) -> RemoteAddress {
        self.ports += 1;
        let address = SocketAddr::from((Ipv6Addr::LOCALHOST, self.ports));
        self.listen_at(RemoteAddress::Tcp(address))
    }

    fn remote_unix(&mut self) -> RemoteAddress {
        self.listen_at(RemoteAddress::Unix(std::path::Path::new("/remote.sock").into()))
    }

    fn deaf_remote(&mut self) -> RemoteAddress {
        self.ports += 1;
        RemoteAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], self.ports)))
    }

    fn slow_remote(&mut self) -> RemoteAddress {
        let late =
            Faults { connect_late: ALWAYS, delay_ns_maximum: 1_000_000_000, ..self.faults.clone() };
        self.world.set_faults(late);
        self.remote()
    }

    fn let_remote_answer(&mut self) {
        self.world.set_faults(self.faults.clone());
    }

    fn close_remote(&mut self, remote: &RemoteAddress) {
        self.world.close_remote(remote);
    }

    fn accept_remote(&mut self, remote: &RemoteAddress) -> Option<(ClientId, IpAddr)> {
        self.world.accept_remote(remote).map(|(client, peer)| (client, peer.address))
    }

    fn leave_descriptors(&mut self, count: usize) {
        self.world.set_descriptor_limit(0, self.world.open_descriptors(0) + count);
    }

    fn pass(&mut self, nanoseconds: u64) {
        self.world.advance(nanoseconds);
    }
}
