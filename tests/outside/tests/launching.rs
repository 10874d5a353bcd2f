//! A service of another protocol, launched by hand: everything that needs is public.
#![allow(clippy::unwrap_used, reason = "what goes wrong in a test is to be seen")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use velodrome::Peer;
use velodrome::http::{BodyLimits, ClientInterest, HeadLimits, HttpSettings, Intake};
use velodrome::launch::{
    ConnectionSpread, LaunchError, LaunchPlan, Launched, ListenAddress, ListenOptions, Pinning,
    Silence, Speaks, Tables, launch,
};
use velodrome::limits::BACKLOG;
use velodrome::mailbox::{Endpoint, EndpointRole, Waking, mesh};
use velodrome::scheduler::SchedulerSettings;
use velodrome::service::{
    Context, Event, ListenerIndex, Next, Progress, SchedulerCommand, Service, ServiceContext,
};

/// Tells each client how long it has been connected, and stops when a client sends `q`.
struct Upper {
    is_over: bool,
}

impl Service for Upper {
    type Process = ();
    type Message = ();
    const KINDS: &'static [&'static str] = &["upper"];

    fn kind(_: &()) -> usize {
        0
    }

    fn is_idle(_: &()) -> bool {
        true
    }

    fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_, ()>) -> Option<()> {
        Some(())
    }

    fn on_input(&mut self, _: &mut (), input: &[u8], context: &mut Context<'_, ()>) -> Progress {
        self.is_over |= input.contains(&b'q');
        context.output.put(&input.to_ascii_uppercase());
        Progress { consumed: input.len(), next: Next::Read }
    }

    fn on_event(&mut self, _: &mut (), _: Event, _: &mut Context<'_, ()>) -> Next {
        Next::Finish
    }

    fn on_turn_end(&mut self, context: &mut ServiceContext<'_, ()>) {
        if self.is_over {
            context.command(SchedulerCommand::Drain { deadline_ms: 0, idle_grace_ms: 0 });
        }
    }
}

fn start() -> Result<Launched, LaunchError> {
    let address = ListenAddress::Tcp(([127, 0, 0, 1], 0).into());
    let plan = LaunchPlan {
        name: "upper",
        pinning: Pinning::None,
        tables: Tables::Shared,
        spread: ConnectionSpread::Hash,
        listeners: vec![ListenOptions {
            address,
            backlog: BACKLOG,
            first: Speaks::Either,
            silent: Silence::Trusted,
        }],
        settings: SchedulerSettings::default(),
        keep: Vec::new(),
    };
    let seats =
        mesh(&[EndpointRole::Scheduler], Waking::Descriptors).map_err(LaunchError::Service)?;
    launch(&plan, seats, |_: Endpoint| Ok(Upper { is_over: false }))
}

#[test]
fn a_service_is_launched_and_ends_itself() {
    let mut launched = start().unwrap();
    let address = launched.addresses.first().and_then(ListenAddress::tcp).unwrap();
    launched.start();
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(b"abc").unwrap();
    let mut heard = [0; 3];
    client.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"ABC");
    client.write_all(b"q").unwrap();
    assert!(launched.wait(Duration::from_secs(30)), "it ends by its own command");
    assert!(launched.join().unwrap().len() == 1);
}

#[test]
fn the_names_of_http_are_there() {
    let settings = HttpSettings {
        head: HeadLimits::default(),
        body: BodyLimits::default(),
        ..HttpSettings::default()
    };
    assert!(settings.head.head_size > 0);
    assert_ne!(Intake::More, Intake::Enough);
    assert_ne!(ClientInterest::Kept, ClientInterest::Lost);
}
