//! A connection that changes to another protocol, in the simulated world: with its input cut anywhere, at once or after
//! a wait.

use std::net::SocketAddr;
use std::sync::Arc;

use http::{
    Answer, AnswerContext, Application, BodyPolicy, Connection, Http, HttpSettings, Reply, Request,
};
use runtime::scheduler::{Scheduler, SchedulerSettings};
use runtime::service::{
    CloseReason, Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service,
    ServiceContext,
};
use runtime::slots::ProcessId;
use sys::socket::{ListenAddress, Peer};
use world::{ClientState, Faults, Sim, World};

/// Upgrades to the other protocol: `/now` at once, `/later` after a wait.
#[derive(Default)]
struct Door {
    asked_before: bool,
    waiting: Vec<ProcessId>,
}

impl Application for Door {
    type Message = ();

    fn body_policy(
        &mut self,
        request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        if request.path() == "/unread" {
            return BodyPolicy::Ignore;
        }
        BodyPolicy::Collect { limit: 100 }
    }

    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, ()>,
    ) -> Answer {
        if request.path() == "/later" && !std::mem::take(&mut self.asked_before) {
            self.asked_before = true;
            self.waiting.push(context.id);
            return Answer::Wait;
        }
        let wants = request.field("upgrade").is_some();
        if wants && reply.switch_protocols("shout") {
            reply.end_head();
            return Answer::Upgrade;
        }
        reply.text("no");
        Answer::Done
    }
}

/// HTTP, and a protocol that returns everything in capitals.
enum Process {
    Http(Connection),
    Shout,
}

struct Both {
    http: Http<Door>,
}

impl Both {
    fn changed(process: &mut Process, next: Next, context: &mut Context<'_, ()>) {
        if next == Next::Changed {
            *process = Process::Shout;
            context.clear_deadline();
        }
    }
}

impl Service for Both {
    type Process = Process;
    type Message = ();

    const KINDS: &'static [&'static str] = &["http", "shout"];

    fn kind(process: &Process) -> usize {
        match process {
            Process::Http(_) => 0,
            Process::Shout => 1,
        }
    }

    fn is_idle(process: &Process) -> bool {
        matches!(process, Process::Http(connection) if connection.is_idle())
    }

    fn on_accept(
        &mut self,
        listener: ListenerIndex,
        peer: Peer,
        context: &mut Context<'_, ()>,
    ) -> Option<Process> {
        Connection::new(&self.http, listener, peer, context).map(Process::Http)
    }

    fn on_input(
        &mut self,
        process: &mut Process,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        match process {
            Process::Http(connection) => {
                let progress = connection.on_input(&mut self.http, input, context);
                Self::changed(process, progress.next, context);
                progress
            }
            Process::Shout => {
                context.output.put(&input.to_ascii_uppercase());
                Progress { consumed: input.len(), next: Next::Read }
            }
        }
    }

    fn on_event(
        &mut self,
        process: &mut Process,
        event: Event,
        context: &mut Context<'_, ()>,
    ) -> Next {
        match process {
            Process::Http(connection) => {
                let next = connection.on_event(&mut self.http, event, context);
                Self::changed(process, next, context);
                next
            }
            Process::Shout if event == Event::InputEnded => Next::Finish,
            Process::Shout => Next::Read,
        }
    }

    fn on_close(&mut self, process: Process, reason: CloseReason) {
        if let Process::Http(connection) = process {
            connection.on_close(&mut self.http, reason);
        }
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
        for process in std::mem::take(&mut self.http.application_mut().waiting) {
            context.command(SchedulerCommand::Resume(process));
        }
        self.http.settle(context);
    }
}

/// A scheduler with a service, in a world without faults.
struct Stage<S: Service<Message = ()>> {
    world: World,
    scheduler: Scheduler<Sim, S>,
}

impl<S: Service<Message = ()>> Stage<S> {
    fn of(service: S) -> Self {
        let world = World::new(1, Faults::none());
        let settings = SchedulerSettings { connections: 100, ..SchedulerSettings::default() };
        let scheduler = world.scheduler(service, settings, &[address()]);
        Self { world, scheduler }
    }

    /// Sends the pieces one after another, each when there is nothing left to do. Returns what came back, and whether
    /// the connection has ended.
    fn play(&mut self, pieces: &[&[u8]]) -> (String, bool) {
        let client = self.world.connect(&address()).unwrap();
        self.rest();
        for piece in pieces {
            self.world.client_send(client, piece);
            self.rest();
        }
        let received = String::from_utf8(self.world.client_received(client)).unwrap();
        let lives = self.world.client_state(client) == ClientState::Open;
        self.world.client_close(client);
        self.rest();
        assert_eq!(self.scheduler.processes(), 0);
        assert_eq!(self.scheduler.stats().processes.iter().sum::<u64>(), 0, "kinds");
        assert_eq!(self.scheduler.stats().buffered_bytes, 0);
        (received, !lives)
    }

    fn rest(&mut self) {
        self.world.settle(&mut self.scheduler);
    }
}

fn address() -> ListenAddress {
    ListenAddress::Tcp(SocketAddr::from(([10, 0, 0, 1], 80)))
}

fn both() -> Stage<Both> {
    Stage::of(Both { http: Http::new(Door::default(), Arc::new(HttpSettings::default()), None) })
}

const HEAD: &str = "HTTP/1.1 101 Switching Protocols\r\n";
const UPGRADE: &str = "Host: a\r\nConnection: upgrade\r\nUpgrade: shout\r\n";

#[test]
fn bytes_behind_request_belong_to_new_protocol_at_any_cut() {
    let first = "GET /first HTTP/1.1\r\nHost: a\r\n\r\n";
    for (method, path, body) in [("GET", "/now", ""), ("GET", "/later", ""), ("POST", "/now", "b")]
    {
        let length = if body.is_empty() { "" } else { "Content-Length: 1\r\n" };
        let sent = format!(
            "{first}{method} {path} HTTP/1.1\r\n{UPGRADE}{length}\r\n{body}hello\r\n\r\nGET / is no request"
        );
        for cut in 0..=sent.len() {
            let (before, after) = sent.as_bytes().split_at(cut);
            let (received, ended) = both().play(&[before, after]);
            let (answer, rest) = received.split_once("\r\n\r\nno").unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{cut}: {received}");
            let (head, shouted) = rest.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(HEAD), "{cut}: {received}");
            assert!(head.ends_with("Connection: upgrade\r\nUpgrade: shout"), "{cut}: {received}");
            assert_eq!(shouted, "HELLO\r\n\r\nGET / IS NO REQUEST", "{path}, cut at {cut}");
            assert!(!ended, "it goes on");
        }
    }
}

#[test]
fn a_request_that_is_the_last_of_its_connection_is_not_upgraded() {
    for request in [
        format!("GET /now HTTP/1.0\r\n{UPGRADE}\r\n"),
        format!("GET /now HTTP/1.1\r\nConnection: close\r\n{UPGRADE}\r\n"),
        format!("POST /unread HTTP/1.1\r\n{UPGRADE}Content-Length: 100000\r\n\r\n"),
    ] {
        let (received, _) = both().play(&[request.as_bytes(), b"hello"]);
        assert!(received.contains(" 200 OK\r\n") && received.ends_with("no"), "{received}");
    }
}

#[test]
fn a_service_of_http_alone_has_nothing_to_change_into() {
    let mut stage = Stage::of(Http::new(Door::default(), Arc::new(HttpSettings::default()), None));
    let request = format!("GET /now HTTP/1.1\r\n{UPGRADE}\r\nhello");
    let (received, _) = stage.play(&[request.as_bytes(), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"]);
    assert!(received.starts_with(HEAD) && received.ends_with("shout\r\n\r\n"), "{received}");
    let (_, ended) = stage.play(&[&request.as_bytes()[..request.len() - 5]]);
    assert!(ended, "it does not wait for anything");
}
