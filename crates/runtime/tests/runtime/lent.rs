//! Bytes that are lent: they are sent while the lender lends them, and a connection that still has to send some when
//! they are recalled is reset.

use std::cell::Cell;
use std::rc::Rc;

use runtime::Peer;
use runtime::output::{Referenced, SharedBytes};
use runtime::scheduler::TurnWait;
use runtime::service::{CloseReason, Context, Event, ListenerIndex, Next, Progress, Service};
use world::{ClientId, ClientState, Stage, Stall};

/// More than a socket takes at once.
const LENGTH: usize = 4 << 20;

const SECOND_NS: u64 = 1_000_000_000;

/// Lends until it recalls.
#[derive(Default)]
struct Loan {
    bytes: Vec<u8>,
    is_over: Cell<bool>,
}

impl AsRef<[u8]> for Loan {
    fn as_ref(&self) -> &[u8] {
        if self.is_over.get() { b"" } else { &self.bytes }
    }
}

/// Answers each byte with everything that it lends.
struct Library(Rc<Loan>);

impl Service for Library {
    type Process = ();
    type Message = ();
    const KINDS: &'static [&'static str] = &["reader"];

    fn kind(_: &()) -> usize {
        0
    }

    fn is_idle(_: &()) -> bool {
        false
    }

    fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_, ()>) -> Option<()> {
        Some(())
    }

    fn on_input(&mut self, _: &mut (), input: &[u8], context: &mut Context<'_, ()>) -> Progress {
        for _ in input {
            let bytes = Referenced::Lent(Rc::clone(&self.0) as Rc<dyn AsRef<[u8]>>);
            context.output.put_shared(SharedBytes { bytes, start: 0, end: LENGTH });
        }
        Progress { consumed: input.len(), next: Next::Read }
    }

    fn on_event(&mut self, (): &mut (), event: Event, _: &mut Context<'_, ()>) -> Next {
        match event {
            Event::OutputDrained => Next::Read,
            _ => Next::Finish,
        }
    }
}

fn stage() -> (Stage<Library>, Rc<Loan>, ClientId) {
    let bytes = (0..LENGTH).map(|at| (at % 251) as u8).collect();
    let loan = Rc::new(Loan { bytes, ..Loan::default() });
    let lender = Rc::clone(&loan);
    let mut stage = Stage::new(1, move || Library(Rc::clone(&lender)));
    let client = stage.connect();
    (stage, loan, client)
}

fn turn(stage: &mut Stage<Library>) {
    stage.schedulers()[0].turn(TurnWait::Forbidden).unwrap();
}

#[test]
fn lent_buffer_is_sent_and_returned() {
    let (mut stage, loan, client) = stage();
    stage.world().client_send(client, b"ab");
    let mut taken = Vec::new();
    while taken.len() < 2 * LENGTH {
        turn(&mut stage);
        taken.extend(stage.world().client_received(client));
        let buffered = stage.schedulers()[0].stats().buffered_bytes;
        assert!(buffered < 1_000, "{buffered} bytes are held of what is lent");
    }
    assert!(taken == [&loan.bytes[..], &loan.bytes[..]].concat());
    turn(&mut stage);
    // The service of the stage, the maker of services and the test.
    assert!(Rc::strong_count(&loan) <= 3, "{}", Rc::strong_count(&loan));
}

#[test]
fn a_connection_that_has_to_send_what_is_taken_back_is_reset() {
    let (mut stage, loan, client) = stage();
    stage.world().client_stall(client, Stall::Reading);
    stage.world().client_send(client, b"a");
    turn(&mut stage);
    assert_eq!(stage.schedulers()[0].processes(), 1);
    loan.is_over.set(true);
    // Before a reader counts as slow: it is checked several times before that.
    for _ in 0..10 {
        stage.world().advance(SECOND_NS);
        turn(&mut stage);
    }
    assert_eq!(stage.schedulers()[0].processes(), 0);
    assert_eq!(stage.schedulers()[0].stats().closed[CloseReason::SlowReader as usize], 1);
    assert_eq!(stage.world().client_state(client), ClientState::Reset);
}
