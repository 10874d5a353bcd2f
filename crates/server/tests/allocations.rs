//! No allocation per request on the plain path, counted.
//!
//! One scheduler in a quiet world, on this thread. The world's own allocations are counted separately.
#![expect(clippy::unwrap_used, reason = "a test stops where its preparation fails")]

mod apart;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use runtime::mailbox::{Endpoint, EndpointRole, Mailbox, Waking, mesh};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::Service;
use server::conn::Connections;
use server::file_helper::FileHelper;
use server::message::{Message, ToScheduler};
use server::site::{Helpers, Site};
use server::site_data::SiteData;
use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::ListenAddress;
use world::{ClientId, Faults, World};

use apart::{Apart, Memory, measure};
use config::{Config, Overrides};
use http::{Function, Http, HttpSettings, Reply, Request};

#[global_allocator]
static ALLOCATOR: sys::allocation::CountingAllocator = sys::allocation::CountingAllocator;

/// Requests after which every buffer has its size.
const WARM_UP: usize = 50;

/// Requests that are counted.
const REQUESTS: usize = 1000;

fn address() -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)))
}

/// HTTP answered by a function.
fn http<F: FnMut(&Request<'_>, &mut Reply<'_>)>(function: F) -> Http<Function<F>> {
    Http::new(Function(function), Arc::new(HttpSettings::default()), None)
}

/// A scheduler, its world, and the mailbox of its only helper.
struct Bench<S: Service> {
    world: World,
    scheduler: Scheduler<Apart, S>,
    helper: Mailbox<S::Message>,
}

impl<S: Service> Bench<S> {
    fn new(service: S) -> Self {
        let world = World::new(1, Faults::none());
        let mut seats = mesh(&[EndpointRole::Scheduler, EndpointRole::Helper], Waking::Driven)
            .unwrap()
            .into_iter();
        let mut mailbox = || seats.next().unwrap().mailbox;
        let pollset = Apart(world.pollset(0));
        let settings = SchedulerSettings { connections: 100, ..SchedulerSettings::default() };
        let mut scheduler = Scheduler::new(pollset, service, mailbox(), settings);
        let options = ListenOptions {
            address: address(),
            backlog: 10,
            first: Speaks::CLIENT,
            silent: Silence::Trusted,
        };
        scheduler.listen(&options).unwrap();
        Self { world, scheduler, helper: mailbox() }
    }

    /// Sends, runs turns until there is nothing to do, and checks the number of answers. Returns the memory used.
    fn ask(&mut self, client: ClientId, request: &[u8], answers: usize) -> Memory {
        self.world.client_send(client, request);
        let mut cost = Memory::default();
        loop {
            let (busy, turn) = measure(|| self.scheduler.turn(TurnWait::Forbidden).unwrap());
            cost.allocations += turn.allocations;
            cost.live_bytes += turn.live_bytes;
            if !busy {
                break;
            }
        }
        let received = self.world.client_received(client);
        let begun = received.windows(16).filter(|part| *part == b"HTTP/1.1 200 OK\r").count();
        assert_eq!(begun, answers, "{}", String::from_utf8_lossy(&received));
        cost
    }

    fn assert_no_allocation(&mut self, request: &[u8], answers: usize) {
        let client = self.world.connect(&address()).unwrap();
        for _ in 0..WARM_UP {
            self.ask(client, request, answers);
        }
        let mut cost = 0;
        for _ in 0..REQUESTS {
            cost += self.ask(client, request, answers).allocations;
        }
        assert_eq!(cost, 0, "allocations of {REQUESTS} requests");
    }
}

#[derive(serde::Serialize)]
struct Greeting {
    message: &'static str,
}

fn hello(request: &Request<'_>, reply: &mut Reply<'_>) {
    match request.path() {
        "/json" => reply.json(&Greeting { message: "Hello, World!" }),
        _ => reply.text("Hello, World!"),
    }
}

const JSON: &[u8] = b"GET /json HTTP/1.1\r\nHost: example.test\r\nAccept: application/json\r\n\r\n";
const PLAINTEXT: &[u8] = b"GET /plaintext HTTP/1.1\r\nHost: example.test\r\n\r\n";

#[test]
fn a_kept_alive_json_answer_allocates_nothing() {
    Bench::new(http(hello)).assert_no_allocation(JSON, 1);
}

#[test]
fn a_kept_alive_text_answer_allocates_nothing() {
    Bench::new(http(hello)).assert_no_allocation(PLAINTEXT, 1);
}

#[test]
fn sixteen_pipelined_answers_allocate_nothing() {
    Bench::new(http(hello)).assert_no_allocation(&PLAINTEXT.repeat(16), 16);
}

#[test]
fn a_small_body_that_came_whole_allocates_nothing() {
    let request = b"POST / HTTP/1.1\r\nHost: example.test\r\nContent-Length: 5\r\n\r\nhello";
    Bench::new(http(hello)).assert_no_allocation(request, 1);
}

#[test]
fn a_short_connection_allocates_nothing() {
    let mut bench = Bench::new(http(hello));
    let request = b"GET /json HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n";
    let mut cost = 0;
    for number in 0..WARM_UP + REQUESTS {
        let client = bench.world.connect(&address()).unwrap();
        let asked = bench.ask(client, request, 1).allocations;
        bench.world.client_close(client);
        if number >= WARM_UP {
            cost += asked;
        }
    }
    assert_eq!(cost, 0, "allocations of {REQUESTS} connections");
}

#[test]
fn an_answer_with_a_buffer_of_its_own_is_counted() {
    // The count itself is right: one copy for each request is noticed.
    let mut bench = Bench::new(http(|_: &Request<'_>, reply: &mut Reply<'_>| {
        let text = String::from("Hello, World!");
        reply.text(&text);
    }));
    let client = bench.world.connect(&address()).unwrap();
    bench.ask(client, PLAINTEXT, 1);
    assert_eq!(bench.ask(client, PLAINTEXT, 1).allocations, 1);
}

#[test]
fn a_cached_file_allocates_nothing() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("allocations-site");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(root.join("page.html"), [b'x'; 1406]).unwrap();
    let config = Config::without_file(&root, &Overrides::default()).unwrap();
    let data = Arc::new(SiteData::compile(config, 1).unwrap());
    let files = vec![Endpoint(1)];
    let helpers = Helpers::of_files(1, files);
    let mut bench = {
        let site = Site::open(Arc::clone(&data), helpers, 0).unwrap();
        Bench::new(Connections::new(site, &data, None))
    };
    let request: &[u8] = b"GET /page.html HTTP/1.1\r\nHost: example.test\r\nUser-Agent: test\r\n\
                           Accept: */*\r\nAccept-Encoding: identity\r\n\r\n";
    let first = bench.world.connect(&address()).unwrap();
    bench.ask(first, request, 0);
    let (asking, look_up) = bench.helper.take().expect("a look-up");
    let found = FileHelper::new().answer(look_up).expect("an answer");
    assert!(matches!(found, Message::Scheduler(ToScheduler::Found(_))));
    bench.helper.send(asking, found).unwrap();
    bench.ask(first, b"", 1);
    bench.assert_no_allocation(request, 1);
}
