//! A server that echoes what it receives, as a scheduler must do it: edges, rests, partial sends, pauses.
//!
//! Owns one pollset and its connections. With [`Care::Forgetful`] it makes the mistake that edge triggering punishes.

use std::collections::BTreeMap;

use sys::pollset::{
    AcceptError, Corking, Interest, ListenOptions, Pollset, Ready, Received, Rest, Sent, Silence,
    Speaks, Token, WaitLimit,
};
use sys::socket::ListenAddress;
use world::{
    ClientId, ClientState, Faults, Random, Sim, SimulatedListener, SimulatedSocket, World,
};

const LISTENER: Token = Token(0);
const PAUSE_NS: u64 = 10_000_000;

/// Whether the server obeys the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    Careful,
    /// Receives once per event, whatever the rest.
    Forgetful,
}

struct Connection {
    socket: SimulatedSocket,
    output: Vec<u8>,
    interest: Interest,
    input_ended: bool,
    end_announced: bool,
}

/// One scheduler's echo server.
struct Echo {
    pollset: Sim,
    listener: SimulatedListener,
    paused_until_ns: Option<u64>,
    connections: BTreeMap<u64, Connection>,
    accepted: u64,
    care: Care,
    stale: u64,
    refused: u64,
    unwatched: u64,
}

impl Echo {
    fn new(world: &World, scheduler: usize, address: &ListenAddress, care: Care) -> Self {
        let mut pollset = world.pollset(scheduler);
        let options = ListenOptions {
            address: address.clone(),
            backlog: 1_000,
            first: Speaks::CLIENT,
            silent: Silence::Trusted,
        };
        let listener = pollset.listen(&options, LISTENER).unwrap();
        Self {
            pollset,
            listener,
            paused_until_ns: None,
            connections: BTreeMap::new(),
            accepted: 0,
            care,
            stale: 0,
            refused: 0,
            unwatched: 0,
        }
    }

    fn open(&self) -> usize {
        self.connections.len()
    }

    /// When the server does something without an event.
    fn next_due_ns(&self) -> Option<u64> {
        self.paused_until_ns
    }

    /// Runs one turn; returns the number of events.
    fn turn(&mut self) -> usize {
        let count = self.pollset.wait(WaitLimit::None).unwrap();
        if self.paused_until_ns.is_some_and(|until_ns| until_ns <= self.pollset.monotonic_ns()) {
            self.paused_until_ns = None;
            self.pollset.resume(&self.listener, LISTENER).unwrap();
        }
        for index in 0..count {
            let event = self.pollset.event(index);
            if event.token == LISTENER { self.accept() } else { self.on_event(event) }
        }
        count
    }

    fn accept(&mut self) {
        loop {
            match self.pollset.accept(&self.listener) {
                Ok((socket, _peer)) => self.open_connection(socket),
                Err(AcceptError::Blocked) => return,
                Err(AcceptError::Aborted) => {}
                Err(AcceptError::NoDescriptor) => {
                    self.refused += 1;
                    // The listener's event may come twice in the same batch.
                    if self.paused_until_ns.is_none() {
                        self.pollset.pause(&self.listener, LISTENER).unwrap();
                    }
                    self.paused_until_ns = Some(self.pollset.monotonic_ns() + PAUSE_NS);
                    return;
                }
                Err(AcceptError::Listener(kind)) => panic!("{kind}"),
            }
        }
    }

    fn open_connection(&mut self, socket: SimulatedSocket) {
        self.accepted += 1;
        let id = self.accepted;
        if self.pollset.watch(&socket, Token(id)).is_err() {
            self.unwatched += 1;
            return;
        }
        let connection = Connection {
            socket,
            output: Vec::new(),
            interest: Interest::Read,
            input_ended: false,
            end_announced: false,
        };
        self.connections.insert(id, connection);
    }

    fn on_event(&mut self, event: Ready) {
        let id = event.token.0;
        let Some(connection) = self.connections.get_mut(&id) else {
            self.stale += 1;
            return;
        };
        connection.end_announced |= event.ended;
        let alive = self.receive(id) && self.send(id);
        if !alive {
            self.connections.remove(&id);
        }
    }

    /// Receives what is there; `false` if the connection is closed.
    fn receive(&mut self, id: u64) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        while !connection.input_ended {
            match self.pollset.receive(&connection.socket) {
                Received::Bytes(bytes, rest) => {
                    assert!(!bytes.is_empty(), "no bytes is not bytes");
                    connection.output.extend_from_slice(bytes);
                    if rest == Rest::No && !connection.end_announced {
                        return true;
                    }
                    if self.care == Care::Forgetful {
                        return true;
                    }
                }
                Received::Blocked => {
                    assert!(!connection.end_announced, "an announced end is there to be received");
                    return true;
                }
                Received::End => connection.input_ended = true,
                Received::Failed(_) => return false,
            }
        }
        true
    }

    /// Sends what there is; `false` if the connection has ended.
    fn send(&mut self, id: u64) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        if !connection.output.is_empty() {
            let output = &connection.output;
            match self.pollset.send_bytes(&connection.socket, output, Corking::Off) {
                Sent::All => connection.output.clear(),
                Sent::Part(count) => drop(connection.output.drain(..count)),
                Sent::Cold => panic!("bytes are not cold"),
                Sent::Failed(_) => return false,
            }
        }
        let wanted =
            if connection.output.is_empty() { Interest::Read } else { Interest::ReadWrite };
        if wanted != connection.interest {
            connection.interest = wanted;
            self.pollset.set_interest(&connection.socket, Token(id), wanted).unwrap();
        }
        !connection.input_ended || !connection.output.is_empty()
    }
}

/// Runs servers in seeded order, and advances the time, until nothing happens any more. Returns the number of turns.
fn run(world: &World, servers: &mut [Echo], random: &mut Random, turns_maximum: usize) -> usize {
    for turn in 0..turns_maximum {
        let chosen = random.index(servers.len());
        servers[chosen].turn();
        let now_ns = world.now_ns();
        let due = servers.iter().filter_map(Echo::next_due_ns).min();
        match world.next_event_ns().into_iter().chain(due).min() {
            Some(next_ns) => world.advance(next_ns.saturating_sub(now_ns)),
            None => return turn,
        }
    }
    panic!("the world did not come to rest in {turns_maximum} turns");
}

/// The result of clients that send to echo servers.
pub(crate) struct Outcome {
    pub(crate) fingerprint: u64,
    pub(crate) clients: usize,
    /// Clients that got everything back and then the end.
    pub(crate) echoed: usize,
    /// Clients whose connection was reset.
    pub(crate) cut: usize,
    pub(crate) stale: u64,
    pub(crate) refused: u64,
    pub(crate) unwatched: u64,
}

/// A client, what it sent and what it got back.
struct Talk {
    client: ClientId,
    sent: Vec<u8>,
    received: Vec<u8>,
}

const CLIENTS: usize = 20;
const TURNS_MAXIMUM: usize = 100_000;

/// Three echo servers and some clients. One half ends its output at once, the other half after it got everything back.
pub(crate) fn echo_world(
    address: &ListenAddress,
    seed: u64,
    faults: Faults,
    care: Care,
) -> Outcome {
    let world = World::new(seed, faults);
    let mut random = Random::new(!seed);
    let mut servers: Vec<Echo> =
        (0..3).map(|scheduler| Echo::new(&world, scheduler, address, care)).collect();
    let mut talks: Vec<Talk> = (0..CLIENTS).map(|_| talk(&world, address, &mut random)).collect();
    for (number, talk) in talks.iter().enumerate() {
        let (front, back) = talk.sent.split_at(talk.sent.len() / 2);
        world.client_send(talk.client, front);
        let chosen = random.index(servers.len());
        servers[chosen].turn();
        world.client_send(talk.client, back);
        if number % 2 == 0 {
            world.client_end_output(talk.client);
        }
    }
    run(&world, &mut servers, &mut random, TURNS_MAXIMUM);
    for talk in &mut talks {
        talk.received = world.client_received(talk.client);
        let open = world.client_state(talk.client) == ClientState::Open;
        let whole = talk.received == talk.sent;
        assert!(!open || whole || care == Care::Forgetful, "seed {seed}: a client hangs");
        if whole {
            world.client_end_output(talk.client);
        }
    }
    run(&world, &mut servers, &mut random, TURNS_MAXIMUM);
    let open: usize = servers.iter().map(Echo::open).sum();
    assert!(open == 0 || care == Care::Forgetful, "seed {seed}: {open} connections hang");
    for talk in &mut talks {
        talk.received.extend(world.client_received(talk.client));
    }
    judge(&world, &servers, &talks)
}

fn talk(world: &World, address: &ListenAddress, random: &mut Random) -> Talk {
    let client = world.connect(address).unwrap();
    let length = random.index(9_000) + 1;
    let sent = (0..length).map(|_| random.bits().to_le_bytes()[0]).collect();
    Talk { client, sent, received: Vec::new() }
}

fn judge(world: &World, servers: &[Echo], talks: &[Talk]) -> Outcome {
    let state = |talk: &&Talk| world.client_state(talk.client);
    for Talk { client, sent, received } in talks {
        assert!(sent.starts_with(received), "{client:?}: nothing else, nothing out of order");
    }
    let ended = talks.iter().filter(|talk| state(talk) == ClientState::EndedByServer);
    Outcome {
        clients: talks.len(),
        echoed: ended.filter(|talk| talk.received == talk.sent).count(),
        cut: talks.iter().filter(|talk| state(talk) == ClientState::Cut).count(),
        stale: servers.iter().map(|server| server.stale).sum(),
        refused: servers.iter().map(|server| server.refused).sum(),
        unwatched: servers.iter().map(|server| server.unwatched).sum(),
        fingerprint: world.fingerprint(),
    }
}
