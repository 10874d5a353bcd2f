//! A process that produces without end: it parks, and outputs more each time its output has been sent.

use std::rc::Rc;

use runtime::Peer;
use runtime::output::SharedBytes;
use runtime::scheduler::TurnWait;
use runtime::service::{Context, Event, ListenerIndex, Next, Progress, Service};
use world::{ClientId, Stage};

/// Bytes of each shared piece: few enough that a socket takes many, too many to be copied.
const PIECE: usize = 5_000;

/// Longest life of a process.
const LIFE_NS: u64 = 1_000_000_000;

/// Sends digits after any input, and shared pieces after a `p`.
struct Producer {
    told: u64,
    piece: Rc<std::sync::Arc<[u8]>>,
}

enum Kind {
    Digits,
    Pieces,
}

impl Producer {
    fn new() -> Self {
        Self { told: 0, piece: Rc::new(vec![b'p'; PIECE].into()) }
    }

    fn produce(&mut self, kind: &Kind, context: &mut Context<'_, ()>) -> Next {
        self.told += 1;
        match kind {
            Kind::Digits => context.output.put(b"0"),
            Kind::Pieces => {
                let bytes = std::sync::Arc::clone(&self.piece).into();
                context.output.put_shared(SharedBytes { bytes, start: 0, end: PIECE });
            }
        }
        Next::Park
    }
}

impl Service for Producer {
    type Process = Kind;
    type Message = ();
    const KINDS: &'static [&'static str] = &["producer"];

    fn kind(_: &Kind) -> usize {
        0
    }

    fn is_idle(_: &Kind) -> bool {
        false
    }

    fn on_accept(
        &mut self,
        _: ListenerIndex,
        _: Peer,
        context: &mut Context<'_, ()>,
    ) -> Option<Kind> {
        context.set_deadline_after_ms(LIFE_NS / 1_000_000);
        Some(Kind::Digits)
    }

    fn on_input(
        &mut self,
        kind: &mut Kind,
        input: &[u8],
        context: &mut Context<'_, ()>,
    ) -> Progress {
        if input.starts_with(b"p") {
            *kind = Kind::Pieces;
        }
        Progress { consumed: input.len(), next: self.produce(kind, context) }
    }

    fn on_event(&mut self, kind: &mut Kind, event: Event, context: &mut Context<'_, ()>) -> Next {
        match event {
            Event::OutputDrained => self.produce(kind, context),
            _ => Next::Finish,
        }
    }
}

/// A client that has sent this, and a turn that received it.
fn asked(asked: &str) -> (Stage<Producer>, ClientId) {
    let mut stage = Stage::new(1, Producer::new);
    let client = stage.connect();
    stage.world().client_send(client, asked.as_bytes());
    turn(&mut stage);
    (stage, client)
}

fn turn(stage: &mut Stage<Producer>) {
    stage.schedulers()[0].turn(TurnWait::Forbidden).unwrap();
}

#[test]
fn its_deadline_comes_nevertheless() {
    for kind in ["d", "p"] {
        let (mut stage, client) = asked(kind);
        stage.world().advance(LIFE_NS * 2);
        for _ in 0..20 {
            turn(&mut stage);
            let _taken = stage.world().client_received(client);
        }
        assert_eq!(stage.schedulers()[0].processes(), 0, "{kind}");
    }
}

#[test]
fn it_has_one_run_in_a_turn_however_much_its_peer_takes() {
    for asked in ["d", "p"] {
        let (mut stage, _client) = self::asked(asked);
        let mut before = 0;
        for _ in 0..10 {
            let told = stage.schedulers()[0].service().told;
            assert!(told <= before + 2, "{asked}: {told} runs after {before}");
            assert!(told > 0, "it was asked");
            before = told;
            turn(&mut stage);
        }
        assert!(before >= 5, "{asked}: it goes on, {before}");
    }
}
