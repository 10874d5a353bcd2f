//! A peer that sends all its requests before it reads the first answer: the process collects them while its output
//! waits.

use runtime::Peer;
use runtime::service::{CloseReason, Context, Event, ListenerIndex, Next, Progress, Service};
use world::{ClientId, ClientState, Stage, Stall};

/// Bytes of the answer to each byte.
const ANSWER: usize = 100;

/// Bytes that a process may leave unread.
const INBOX: usize = 20_000;

/// Answers each byte with many of it.
struct Verbose;

impl Service for Verbose {
    type Process = ();
    type Message = ();
    const KINDS: &'static [&'static str] = &["verbose"];

    fn kind(_: &()) -> usize {
        0
    }

    fn is_idle(_: &()) -> bool {
        true
    }

    fn inbox_bytes(_: &()) -> usize {
        INBOX
    }

    fn on_accept(&mut self, _: ListenerIndex, _: Peer, _: &mut Context<'_, ()>) -> Option<()> {
        Some(())
    }

    fn on_input(&mut self, _: &mut (), input: &[u8], context: &mut Context<'_, ()>) -> Progress {
        for (consumed, byte) in input.iter().enumerate() {
            if context.output_is_full() {
                return Progress { consumed, next: Next::Collect };
            }
            context.output.put(&[*byte; ANSWER]);
        }
        Progress { consumed: input.len(), next: Next::Read }
    }

    fn on_event(&mut self, _: &mut (), event: Event, _: &mut Context<'_, ()>) -> Next {
        if event == Event::InputEnded { Next::Finish } else { Next::Read }
    }
}

/// A client that does not read and has sent that many bytes in pieces.
fn sent(stage: &mut Stage<Verbose>, count: usize) -> ClientId {
    let client = stage.connect();
    stage.world().client_stall(client, Stall::Reading);
    let bytes: Vec<u8> = (0..count).map(|at| b'a' + (at % 26) as u8).collect();
    for piece in bytes.chunks(1_000) {
        stage.send(client, piece);
        stage.world().advance(1_000_000);
    }
    stage.pass(std::time::Duration::from_millis(500));
    client
}

#[test]
fn it_is_answered_once_it_reads() {
    const COUNT: usize = 6_000;
    let mut stage = Stage::new(1, || Verbose);
    for ends in [false, true] {
        let client = sent(&mut stage, COUNT);
        assert_eq!(stage.world().client_unsent(client), 0, "the server has taken everything");
        if ends {
            stage.world().client_end_output(client);
            stage.rest();
        }
        stage.world().client_stall(client, Stall::Nothing);
        let mut taken = Vec::new();
        while taken.len() < COUNT * ANSWER {
            stage.pass(std::time::Duration::from_millis(100));
            let more = stage.world().client_received(client);
            assert!(!more.is_empty(), "{} of {}", taken.len(), COUNT * ANSWER);
            taken.extend(more);
        }
        for (at, answer) in taken.chunks(ANSWER).enumerate() {
            assert_eq!(answer, [b'a' + (at % 26) as u8; ANSWER], "{at}");
        }
        assert_eq!(stage.is_closed(client), ends);
    }
    assert_eq!(stage.schedulers()[0].stats().closed[CloseReason::Finished as usize], 1);
}

#[test]
fn it_is_closed_with_a_reason_when_it_sends_too_much() {
    let mut stage = Stage::new(1, || Verbose);
    let client = sent(&mut stage, 3 * INBOX);
    assert_eq!(stage.schedulers()[0].stats().closed[CloseReason::InboxFull as usize], 1);
    assert_ne!(stage.world().client_state(client), ClientState::Open);
    assert_eq!(stage.schedulers()[0].stats().buffered_bytes, 0);
}

#[test]
fn it_is_given_up_when_it_never_reads() {
    let mut stage = Stage::new(1, || Verbose);
    let _client = sent(&mut stage, INBOX / 2);
    stage.pass(std::time::Duration::from_secs(60));
    assert_eq!(stage.schedulers()[0].stats().closed[CloseReason::SlowReader as usize], 1);
    assert_eq!(stage.schedulers()[0].stats().buffered_bytes, 0);
}
