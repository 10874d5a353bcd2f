//! The chat of `examples/chat.rs` on two schedulers of a simulated world: each line reaches all members.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

#[allow(dead_code, reason = "its `main` is for people")]
#[path = "../examples/chat.rs"]
mod chat;

use std::net::SocketAddr;

use runtime::mailbox::{Role, Waking, mesh};
use runtime::scheduler::{Scheduler, Settings, Waiting};
use sys::pollset::{ListenOptions, Speaks};
use sys::socket::ListenAddress;
use world::{ClientId, Faults, Sim, World};

use chat::Chat;

struct Stage {
    world: World,
    schedulers: Vec<Scheduler<Sim, Chat>>,
}

impl Stage {
    fn new() -> Self {
        let world = World::new(1, Faults::none());
        let seats = mesh(&[Role::Scheduler; 2], Waking::Driven).unwrap();
        let listen = ListenOptions { address: address(), backlog: 10, first: Speaks::Either };
        let schedulers = seats.into_iter().enumerate().map(|(number, seat)| {
            let settings = Settings { connections: 100, ..Settings::default() };
            let pollset = world.pollset(number);
            let mut scheduler = Scheduler::new(pollset, Chat::default(), seat.mailbox, settings);
            scheduler.listen(&listen).unwrap();
            scheduler
        });
        Self { schedulers: schedulers.collect(), world }
    }

    /// Turns both, twice each at least: mail takes a turn.
    fn rest(&mut self) {
        for _ in 0..10 {
            for scheduler in &mut self.schedulers {
                while scheduler.turn(Waiting::Forbidden).unwrap() {}
            }
        }
    }

    fn say(&mut self, client: ClientId, text: &str) {
        self.world.client_send(client, text.as_bytes());
        self.rest();
    }

    fn heard(&self, client: ClientId) -> String {
        String::from_utf8(self.world.client_received(client)).unwrap()
    }
}

fn address() -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)))
}

#[test]
fn everybody_hears_everybody_on_both_schedulers() {
    let mut stage = Stage::new();
    let members: Vec<ClientId> = (0..8).map(|_| stage.world.connect(&address()).unwrap()).collect();
    stage.rest();
    for scheduler in &stage.schedulers {
        assert!(scheduler.processes() > 0, "members are on both");
    }
    stage.say(members[0], "one\ntw");
    stage.say(members[7], "three\n");
    stage.say(members[0], "o\n");
    for member in &members {
        assert_eq!(stage.heard(*member), "one\nthree\ntwo\n");
    }
    stage.world.client_close(members[0]);
    stage.rest();
    stage.say(members[1], "four\n");
    assert_eq!(stage.heard(members[7]), "four\n");
    let members = stage.schedulers.iter().map(Scheduler::processes).sum::<usize>();
    assert_eq!(members, 7);
}
