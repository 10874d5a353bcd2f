//! The exact cost of an idle connection: very many of them in the simulator, each after one answered request.
//!
//! Counts the heap bytes of the scheduler, its service and its tables. The world's memory for the other ends is
//! counted separately; the kernel's own memory for a socket is not included.

mod apart;

use std::net::SocketAddr;
use std::sync::Arc;

use runtime::mailbox::{EndpointRole, Waking, mesh};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::Service;
use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::ListenAddress;
use wire::h2::{AfterFrame, PREFACE, begin_headers, end_headers, write_settings};
use world::{Faults, World};

use apart::{Apart, measure};
use http::{
    BothVersions, Function, Http, HttpSettings, ListenerRules, PriorKnowledge, Reply, Request,
};

#[global_allocator]
static ALLOCATOR: sys::allocation::CountingAllocator = sys::allocation::CountingAllocator;

/// Connections that are opened before the scheduler runs.
const BATCH: usize = 250;

type Hello = Function<fn(&Request<'_>, &mut Reply<'_>)>;

fn hello(_: &Request<'_>, reply: &mut Reply<'_>) {
    reply.text("Hello, World!");
}

/// The bytes of user memory of an idle connection of this service, after one request and its answer.
fn bytes_of_each<S: Service>(
    service: impl FnOnce() -> S,
    connections: usize,
    request: &[u8],
) -> f64 {
    let world = World::new(1, Faults::none());
    let address = ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)));
    let mut live_bytes = 0;
    let (mut scheduler, made) = measure(|| {
        let seat = mesh(&[EndpointRole::Scheduler], Waking::Driven);
        let seat = seat.expect("a mesh of one").pop().expect("it has one seat");
        let pollset = Apart(world.pollset(0));
        // Requests of HTTP/2 have processes of their own.
        let most = connections + BATCH;
        let settings = SchedulerSettings { connections: most, ..SchedulerSettings::default() };
        let mut scheduler = Scheduler::new(pollset, service(), seat.mailbox, settings);
        let options = ListenOptions {
            address: address.clone(),
            backlog: 4096,
            first: Speaks::CLIENT,
            silent: Silence::Trusted,
        };
        scheduler.listen(&options).expect("nobody else listens");
        scheduler
    });
    live_bytes += made.live_bytes;
    let mut clients = Vec::with_capacity(BATCH);
    let mut run = |scheduler: &mut Scheduler<Apart, S>| {
        let (_, turned) = measure(|| while scheduler.turn(TurnWait::Forbidden).expect("a turn") {});
        live_bytes += turned.live_bytes;
    };
    for _ in 0..connections / BATCH {
        clients.extend((0..BATCH).map(|_| world.connect(&address).expect("somebody listens")));
        for client in &clients {
            world.client_send(*client, request);
        }
        run(&mut scheduler);
        for client in clients.drain(..) {
            assert!(world.client_received(client).ends_with(b"Hello, World!"));
        }
        world.advance(1_000_000);
    }
    // Until they have given back what they keep for a request that follows at once.
    world.advance(3_000_000_000);
    run(&mut scheduler);
    assert_eq!(scheduler.processes(), connections, "all of them are there");
    assert_eq!(scheduler.stats().buffered_bytes, 0);
    live_bytes as f64 / connections as f64
}

#[test]
fn a_million_idle_connections() {
    let service = || Http::new(Function(hello), Arc::new(HttpSettings::default()), None);
    let request = b"GET / HTTP/1.1\r\nHost: example.test\r\n\r\n";
    let each = bytes_of_each(service, 1_000_000, request);
    let slot = Scheduler::<Apart, Http<Hello>>::slot_bytes();
    eprintln!("an idle connection: {each:.1} bytes of user memory, of which {slot} are its slot");
    assert!(each <= 256.0, "{each:.1} bytes");
    assert!(each >= slot as f64, "a slot for each is counted");
}

/// Preface, settings and a request as a browser sends them, whose authority the table of HPACK keeps.
fn request_of_http2() -> Vec<u8> {
    let mut sent = PREFACE.to_vec();
    write_settings(&[], &mut sent);
    let place = begin_headers(&mut sent);
    // RFC 7541, 6.1 and 6.2.1: GET, http, the path /, and an authority that comes with incremental indexing.
    sent.extend_from_slice(b"\x82\x86\x84\x41\x0cexample.test");
    end_headers(place, 1, AfterFrame::Nothing, 16_384, &mut sent);
    sent
}

#[test]
fn many_idle_connections_of_http2() {
    let rules = ListenerRules { prior_knowledge: PriorKnowledge::Served, ..Default::default() };
    let settings = Arc::new(HttpSettings { listeners: vec![rules], ..HttpSettings::default() });
    let service = || BothVersions::new(Http::new(Function(hello), settings, None));
    let each = bytes_of_each(service, 50_000, &request_of_http2());
    eprintln!("an idle connection of HTTP/2: {each:.1} bytes of user memory");
    assert!(each <= 640.0, "{each:.1} bytes");
}
