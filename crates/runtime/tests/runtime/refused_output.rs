//! A process whose server resets the connection while it sends.
//!
//! Tests with a kernel that what the server said before is heard, although the next write fails.
#![expect(clippy::disallowed_types, reason = "the server of a test holds sockets of its own")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use runtime::launch::launch;
use runtime::mailbox::{Endpoint, EndpointRole, Waking, mesh};
use runtime::scheduler::Punctuality;
use runtime::service::{
    CloseReason, Connect, Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service,
    ServiceContext,
};
use runtime::slots::ProcessId;
use sys::connect::RemoteAddress;
use sys::socket::Peer;

use crate::outbound::{STOP, Stop, plan};

/// Sends a request in two writes, the second one when the server has closed.
struct Asker {
    server: Refusing,
    to_run: Option<ProcessId>,
    is_over: bool,
    end: Sender<(Vec<u8>, CloseReason)>,
}

impl Service for Asker {
    /// The bytes that were heard.
    type Process = Vec<u8>;
    type Message = Stop;

    const KINDS: &'static [&'static str] = &["ask"];

    fn kind(_: &Vec<u8>) -> usize {
        0
    }

    fn is_idle(_: &Vec<u8>) -> bool {
        true
    }

    fn on_start(&mut self, context: &mut ServiceContext<'_, Stop>) {
        let to = RemoteAddress::Tcp(self.server.address);
        context.command(SchedulerCommand::Connect(Connect { to, from: None, ticket: 0 }));
    }

    fn on_connect(
        &mut self,
        _ticket: u64,
        _begun: Result<(), std::io::ErrorKind>,
        context: &mut Context<'_, Stop>,
    ) -> Option<Vec<u8>> {
        context.set_deadline_after_ms(60_000);
        Some(Vec::new())
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        _: &mut Context<'_, Stop>,
    ) -> Option<Vec<u8>> {
        None
    }

    fn on_input(
        &mut self,
        heard: &mut Vec<u8>,
        input: &[u8],
        _: &mut Context<'_, Stop>,
    ) -> Progress {
        heard.extend_from_slice(input);
        Progress { consumed: input.len(), next: Next::Read }
    }

    fn on_event(&mut self, _: &mut Vec<u8>, event: Event, context: &mut Context<'_, Stop>) -> Next {
        match event {
            Event::Connected => {
                context.output.put(b"first");
                self.to_run = Some(context.id);
            }
            Event::Resumed => {
                self.server.close();
                context.output.put(b"second");
            }
            _ => return Next::Finish,
        }
        Next::Read
    }

    fn on_close(&mut self, heard: Vec<u8>, reason: CloseReason) {
        self.is_over = true;
        self.end.send((heard, reason)).unwrap();
    }

    fn on_message(&mut self, _: Endpoint, _: Stop, _: &mut ServiceContext<'_, Stop>) {}

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, Stop>) {
        if let Some(id) = self.to_run.take() {
            context.command(SchedulerCommand::Run(id));
        }
        if self.is_over {
            context.command(STOP);
        }
    }
}

/// A server of one connection, which reads a part of the request, says why it wants no more, and closes.
struct Refusing {
    address: SocketAddr,
    order: Sender<()>,
    closed: Receiver<()>,
}

impl Refusing {
    /// It begins on the thread of the scheduler, whose descriptors are its own.
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ((order, ordered), (close, closed)) = (channel(), channel());
        thread::spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            stream.read_exact(&mut [0]).unwrap();
            ordered.recv().unwrap();
            stream.write_all(b"why").unwrap();
            // With unread bytes this is a reset.
            drop(stream);
            close.send(()).unwrap();
        });
        Self { address, order, closed }
    }

    /// Returns when it has closed.
    fn close(&self) {
        self.order.send(()).unwrap();
        self.closed.recv().unwrap();
    }
}

#[test]
fn answer_before_a_reset_is_heard_although_the_next_write_fails() {
    let (end, ended) = channel();
    let seats = mesh(&[EndpointRole::Scheduler], Waking::Descriptors).unwrap();
    let make = move |_| {
        let server = Refusing::start();
        Ok(Asker { server, to_run: None, is_over: false, end: end.clone() })
    };
    let mut asker = launch(&plan(Vec::new(), Punctuality::Usual), seats, make).unwrap();
    asker.start();
    asker.join().unwrap();
    // A reset is no orderly end.
    assert_eq!(ended.recv().unwrap(), (b"why".to_vec(), CloseReason::Failed));
}
