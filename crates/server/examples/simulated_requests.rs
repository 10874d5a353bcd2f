//! A number of requests in the simulator, for counting instructions.
//!
//! `cargo xtask bench instructions` does the following for every workload:
//!
//!     valgrind --tool=callgrind target/release/examples/simulated_requests json 20000
//!
//! counts everything: start-up, the world and the server. The instructions of one request are the difference of two
//! runs: `(count(2 N) - count(N)) / N` removes the start-up. The share of the world and the runtime is
//! the same difference of the twin workload (`null-json` for `json`, and so on): its service answers with the same
//! number of bytes without parsing the request. `json - null-json` is the cost of HTTP, without a socket, a clock
//! or a cache miss of any kernel; the numbers are the same in every run on every machine with the same compiler.
//!
//! Workloads: `json` and `plaintext` kept alive, `pipelined` and `pipelined-json` (plaintext and JSON, 16 in one write,
//! counted as 16), `short` (a connection for each), `file` (1,406 bytes from the cache, kept alive). Prints the number
//! of requests.
#![expect(clippy::print_stdout, reason = "the number of requests is what it says")]

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use runtime::mailbox::{Endpoint, EndpointRole, Mailbox, Waking, mesh};
use runtime::scheduler::{Scheduler, SchedulerSettings, TurnWait};
use runtime::service::{Context, Event, ListenerIndex, Next, Progress, Service};
use server::conn::Connections;
use server::file_helper::FileHelper;
use server::message::Message;
use server::site::{Helpers, Site};
use server::site_data::SiteData;
use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::{ListenAddress, Peer};
use world::{ClientId, Faults, Sim, World};

use config::{Config, Overrides};
use http::{Function, Http, HttpSettings, Reply, Request};

/// Requests of one pipelined write.
const PIPELINED: usize = 16;

const FILE_BYTES: usize = 1406;

/// Heads as wrk sends them, byte for byte.
const JSON: &[u8] = b"GET /json HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
const PLAINTEXT: &[u8] = b"GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
const SHORT: &[u8] = b"GET /json HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: close\r\n\r\n";
const FILE: &[u8] = b"GET /page.html HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";

/// How requests arrive.
#[derive(Clone, Copy)]
enum Shape {
    KeptAlive,
    ConnectionEach,
}

fn address() -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)))
}

/// A scheduler in its world, with one helper.
struct Stage<S: Service> {
    world: World,
    scheduler: Scheduler<Sim, S>,
    helper: Mailbox<S::Message>,
}

impl<S: Service> Stage<S> {
    fn new(service: S) -> io::Result<Self> {
        let world = World::new(1, Faults::none());
        let mut mailboxes = mesh(&[EndpointRole::Scheduler, EndpointRole::Helper], Waking::Driven)?
            .into_iter()
            .map(|seat| seat.mailbox);
        let (Some(mailbox), Some(helper)) = (mailboxes.next(), mailboxes.next()) else {
            return Err(io::Error::other("a mesh of two"));
        };
        let settings = SchedulerSettings { connections: 16, ..SchedulerSettings::default() };
        let mut scheduler = Scheduler::new(world.pollset(0), service, mailbox, settings);
        scheduler.listen(&ListenOptions {
            address: address(),
            backlog: 16,
            first: Speaks::CLIENT,
            silent: Silence::Trusted,
        })?;
        Ok(Self { world, scheduler, helper })
    }

    fn connect(&self) -> io::Result<ClientId> {
        self.world.connect(&address()).ok_or_else(|| io::Error::other("nobody listens"))
    }

    /// One write of the client and all work of the server for it; returns the number of bytes of the answer.
    fn exchange(&mut self, client: ClientId, request: &[u8]) -> io::Result<usize> {
        self.world.client_send(client, request);
        while self.scheduler.turn(TurnWait::Forbidden)? {}
        Ok(self.world.client_received(client).len())
    }

    /// This many writes of this shape; returns the number of bytes of one answer.
    fn run(&mut self, request: &[u8], shape: Shape, writes: usize) -> io::Result<usize> {
        let mut client = self.connect()?;
        let mut answered = 0;
        for _ in 0..writes {
            answered = self.exchange(client, request)?;
            if answered == 0 {
                return Err(io::Error::other("a request was not answered"));
            }
            if matches!(shape, Shape::ConnectionEach) {
                self.world.client_close(client);
                client = self.connect()?;
            }
        }
        Ok(answered)
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

/// Answers any input with this many bytes.
struct Null {
    answer: Vec<u8>,
    next: Next,
}

impl Service for Null {
    type Process = ();
    type Message = ();

    const KINDS: &'static [&'static str] = &["null"];

    fn kind(_process: &()) -> usize {
        0
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        context: &mut Context<'_, ()>,
    ) -> Option<()> {
        context.set_deadline_after_ms(10_000);
        Some(())
    }

    fn on_input(&mut self, _: &mut (), input: &[u8], context: &mut Context<'_, ()>) -> Progress {
        context.output.put(&self.answer);
        context.set_deadline_after_ms(75_000);
        Progress { consumed: input.len(), next: self.next }
    }

    fn on_event(&mut self, _: &mut (), _: Event, _: &mut Context<'_, ()>) -> Next {
        Next::Finish
    }

    fn is_idle(_process: &()) -> bool {
        true
    }
}

/// The site on its own directory, with its one file in the cache.
fn site() -> io::Result<Stage<Connections>> {
    let root = std::env::temp_dir().join("velodrome-simulated-requests");
    std::fs::create_dir_all(&root)?;
    std::fs::write(root.join("page.html"), [b'x'; FILE_BYTES])?;
    let data = Arc::new(compile(&root)?);
    let files = vec![Endpoint(1)];
    let helpers = Helpers::of_files(1, files);
    let mut stage =
        Stage::new(Connections::new(Site::open(Arc::clone(&data), helpers, 0)?, &data, None))?;
    let client = stage.connect()?;
    stage.exchange(client, FILE)?;
    let asked = stage.helper.take();
    let found = asked.and_then(|(to, message): (Endpoint, Message)| {
        Some((to, FileHelper::new().answer(message)?))
    });
    let (to, found) = found.ok_or_else(|| io::Error::other("the site asks for its file"))?;
    let _fits = stage.helper.send(to, found);
    stage.exchange(client, b"")?;
    Ok(stage)
}

fn compile(root: &Path) -> io::Result<SiteData> {
    Config::without_file(root, &Overrides::default())
        .and_then(|config| SiteData::compile(config, 1))
        .map_err(|errors| io::Error::other(errors.to_string()))
}

/// Runs a workload; returns the number of bytes of one answer.
fn run(workload: &str, writes: usize) -> io::Result<Option<usize>> {
    if let Some(twin) = workload.strip_prefix("null-") {
        let Some((request, shape)) = request_of(twin) else { return Ok(None) };
        // One write of the twin tells how long its answer is; its cost is the same for any number of writes.
        let Some(length) = run(twin, 1)? else { return Ok(None) };
        let next = match shape {
            Shape::KeptAlive => Next::Read,
            Shape::ConnectionEach => Next::Finish,
        };
        let mut stage = Stage::new(Null { answer: vec![b'x'; length], next })?;
        return stage.run(&request, shape, writes).map(Some);
    }
    let Some((request, shape)) = request_of(workload) else { return Ok(None) };
    if workload == "file" {
        return site()?.run(&request, shape, writes).map(Some);
    }
    let service = Http::new(Function(hello), Arc::new(HttpSettings::default()), None);
    Stage::new(service)?.run(&request, shape, writes).map(Some)
}

/// The writes of a workload's client, and their shape.
fn request_of(workload: &str) -> Option<(Vec<u8>, Shape)> {
    Some(match workload {
        "json" => (JSON.to_vec(), Shape::KeptAlive),
        "plaintext" => (PLAINTEXT.to_vec(), Shape::KeptAlive),
        "pipelined" => (PLAINTEXT.repeat(PIPELINED), Shape::KeptAlive),
        "pipelined-json" => (JSON.repeat(PIPELINED), Shape::KeptAlive),
        "short" => (SHORT.to_vec(), Shape::ConnectionEach),
        "file" => (FILE.to_vec(), Shape::KeptAlive),
        _ => return None,
    })
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let count = words.get(1).and_then(|word| word.parse::<usize>().ok());
    let (Some(workload), Some(count)) = (words.first(), count) else {
        return Err(io::Error::other("usage: simulated_requests [null-]WORKLOAD REQUESTS"));
    };
    let in_one_write = if workload.contains("pipelined") { PIPELINED } else { 1 };
    let writes = count.div_ceil(in_one_write);
    match run(workload, writes)? {
        Some(_) => println!("{}", writes * in_one_write),
        None => return Err(io::Error::other(format!("no workload is called `{workload}`"))),
    }
    Ok(())
}
