//! The exact cost of an idle connection: a million of them in the simulator, each after one answered request.
//!
//! Counts the heap bytes of the scheduler, its service and its tables. The world's memory for the other ends is
//! counted separately; the kernel's own memory for a socket is not included.

mod apart;

use std::net::SocketAddr;
use std::sync::Arc;

use runtime::mailbox::{EndpointRole, Waking, mesh};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::ListenAddress;
use world::{Faults, World};

use apart::{Apart, measure};
use http::{Function, Http, HttpSettings, Reply, Request};

#[global_allocator]
static ALLOCATOR: sys::allocation::CountingAllocator = sys::allocation::CountingAllocator;

const CONNECTIONS: usize = 1_000_000;

/// Connections that are opened before the scheduler runs.
const BATCH: usize = 250;

/// Most bytes of user memory of an idle connection.
const BYTES_MAXIMUM: f64 = 256.0;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: example.test\r\n\r\n";

fn hello(_: &Request<'_>, reply: &mut Reply<'_>) {
    reply.text("Hello, World!");
}

#[test]
fn a_million_idle_connections() {
    let world = World::new(1, Faults::none());
    let address = ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)));
    let mut live_bytes = 0;
    let (mut scheduler, made) = measure(|| {
        let seat = mesh(&[EndpointRole::Scheduler], Waking::Driven).unwrap().pop().unwrap();
        let service = Http::new(Function(hello), Arc::new(HttpSettings::default()), None);
        let pollset = Apart(world.pollset(0));
        let settings =
            SchedulerSettings { connections: CONNECTIONS, ..SchedulerSettings::default() };
        let mut scheduler = Scheduler::new(pollset, service, seat.mailbox, settings);
        let options = ListenOptions {
            address: address.clone(),
            backlog: 4096,
            first: Speaks::CLIENT,
            silent: Silence::Trusted,
        };
        scheduler.listen(&options).unwrap();
        scheduler
    });
    live_bytes += made.live_bytes;
    let mut clients = Vec::with_capacity(BATCH);
    for _ in 0..CONNECTIONS / BATCH {
        clients.extend((0..BATCH).map(|_| world.connect(&address).unwrap()));
        for client in &clients {
            world.client_send(*client, REQUEST);
        }
        let (_, turned) = measure(|| while scheduler.turn(TurnWait::Forbidden).unwrap() {});
        live_bytes += turned.live_bytes;
        for client in clients.drain(..) {
            assert!(world.client_received(client).ends_with(b"Hello, World!"));
        }
        world.advance(1_000_000);
    }
    assert_eq!(scheduler.processes(), CONNECTIONS, "all of them are there");
    assert_eq!(scheduler.stats().buffered_bytes, 0);
    let each = live_bytes as f64 / CONNECTIONS as f64;
    let slot = Scheduler::<Apart, Http<Function<fn(&Request<'_>, &mut Reply<'_>)>>>::slot_bytes();
    eprintln!("an idle connection: {each:.1} bytes of user memory, of which {slot} are its slot");
    assert!(each <= BYTES_MAXIMUM, "{each:.1} bytes");
    assert!(each >= slot as f64, "a slot for each is counted");
}
