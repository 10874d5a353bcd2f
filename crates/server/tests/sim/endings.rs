//! Drain and reload in the middle of a world.

use std::sync::Arc;

use runtime::limits::DRAIN_DOORS_NS;
use runtime::service::{CloseReason, Service};
use server::message::{Inquiry, Message, Question, ToControl, ToScheduler};
use sys::pollset::Speaks;
use world::{ClientState, Faults, Random};

use crate::cast::{Repertoire, well_behaved};
use crate::client::{Client, Ending, Step};
use crate::expected::Expected;
use crate::seeds;
use crate::site;
use crate::small::{self, Order, get};
use crate::world::{MILLISECOND_NS, SECOND_NS, Setting, Stage, address};
use http::HttpSettings;

const IDLE_GRACE_MS: u64 = 500;

/// How long a request may be in flight in these worlds.
const WAY_NS: u64 = 400 * MILLISECOND_NS;

/// All faults that cut and delay, but always a descriptor: eviction is tested elsewhere.
fn faults(random: &mut Random) -> Faults {
    match random.below(2) {
        0 => Faults::none(),
        _ => Faults { no_descriptor: 0, ..Faults::gentle() },
    }
}

fn setting(seed: u64, random: &mut Random) -> Setting {
    Setting {
        faults: faults(random),
        schedulers: 2 + random.index(4),
        first: Speaks::Either,
        helper_latency_ns_maximum: random.below(50 * MILLISECOND_NS),
        ..Setting::quiet(seed)
    }
}

fn clients(count: usize, begin_ns: u64, random: &mut Random, of: &Repertoire<'_>) -> Vec<Client> {
    let client = |_| {
        let start_ns = begin_ns + random.below(2 * SECOND_NS);
        well_behaved(start_ns, random, of)
    };
    (0..count).map(client).collect()
}

/// Drains in the middle of a world and checks that nothing that was begun was dropped.
fn drain<S: Service>(
    mut stage: Stage<S>,
    random: &mut Random,
    of: &Repertoire<'_>,
    order: impl Fn() -> S::Message,
) {
    let begin_ns = stage.now_ns();
    let mut clients = clients(12, begin_ns, random, of);
    let drain_ns = begin_ns + random.below(3 * SECOND_NS);
    stage.run_until(&mut clients, |stage, _| stage.now_ns() >= drain_ns);
    let drained_ns = stage.now_ns();
    stage.tell_all(order);
    let finished = stage.run_until(&mut clients, |stage, clients| {
        let over = clients.iter().all(Client::is_over);
        over && stage.schedulers.iter().all(|scheduler| scheduler.is_finished())
    });
    assert!(finished, "the drain does not end: {clients:?}");
    assert!(stage.now_ns() < drained_ns + 60 * SECOND_NS, "before its deadline");
    assert_eq!(stage.closed(CloseReason::Stopped), 0);
    stage.assert_nothing_is_left();
    for number in 0..stage.schedulers.len() {
        assert_eq!(stage.world.open_descriptors(number), 0, "the listener is closed");
    }
    for client in &clients {
        let Some(Ending::Lost(state)) = client.ending() else { continue };
        assert_ne!(state, ClientState::Cut);
        assert!(!client.partial, "cut in the middle of an answer: {client:?}");
        // A request that was in flight when the drain began, or came later, may find no listener: it was not begun.
        let said = client.last.as_ref().is_some_and(|last| last.closes());
        let late = client.sent_ns + WAY_NS > drained_ns;
        assert!(said || late, "a request was dropped at {drained_ns}: {client:?}");
    }
}

#[test]
fn a_drain_of_a_small_application_drops_nothing_that_was_begun() {
    seeds::run("a_drain_of_a_small_application_drops_nothing_that_was_begun", 60, |seed| {
        let mut random = Random::new(!seed);
        let stage = small::stage(&setting(seed, &mut random), HttpSettings::default());
        let repertoire = Repertoire { exchange: &small::exchange, last: &small::last_exchange };
        let order = || Order::Drain { deadline_ms: 60_000, idle_grace_ms: IDLE_GRACE_MS };
        drain(stage, &mut random, &repertoire, order);
    });
}

#[test]
fn a_drain_of_the_site_drops_nothing_that_was_begun() {
    seeds::run("a_drain_of_the_site_drops_nothing_that_was_begun", 60, |seed| {
        let mut random = Random::new(!seed);
        let stage = site::stage(&setting(seed, &mut random));
        let repertoire = Repertoire { exchange: &site::exchange, last: &site::last_exchange };
        let order =
            || ToScheduler::Drain { deadline_ms: 60_000, idle_grace_ms: IDLE_GRACE_MS }.into();
        drain(stage, &mut random, &repertoire, order);
    });
}

#[test]
fn a_drain_says_so_to_who_still_asks() {
    let mut stage = small::stage(&Setting::quiet(1), HttpSettings::default());
    let hello = || Expected::new(200, *b"Hello, World!");
    let script = [
        Step::Send(get("/plaintext")),
        Step::Expect(hello()),
        Step::Pause(SECOND_NS),
        Step::Pause(300 * MILLISECOND_NS),
        Step::Send(get("/plaintext")),
        Step::Expect(hello().last()),
        Step::ExpectEnd,
    ];
    let idle = [Step::Send(get("/plaintext")), Step::Expect(hello()), Step::ExpectEnd];
    let waiting = [Step::Send(get("/wait?5000")), Step::ExpectLoss];
    let begin_ns = stage.now_ns();
    let scripts = [script.to_vec(), idle.to_vec(), waiting.to_vec()];
    let mut clients: Vec<Client> =
        scripts.into_iter().map(|script| Client::new(begin_ns, script)).collect();
    stage.run_until(&mut clients, |stage, _| stage.now_ns() >= begin_ns + SECOND_NS);
    let drained_ns = stage.now_ns();
    stage.tell_all(|| Order::Drain { deadline_ms: 2_000, idle_grace_ms: IDLE_GRACE_MS });
    assert!(stage.run_until(&mut clients, |_, clients| clients.iter().all(Client::is_over)));
    let ended_ns = |number: usize| clients[number].over.unwrap().0 - drained_ns;
    assert!((299..320).contains(&(ended_ns(0) / MILLISECOND_NS)), "answered and closed");
    let idle_ms = DRAIN_DOORS_NS / MILLISECOND_NS + IDLE_GRACE_MS;
    let ended_ms = ended_ns(1) / MILLISECOND_NS;
    assert!((idle_ms..idle_ms + 20).contains(&ended_ms), "idle for its grace: {ended_ms} ms");
    assert!((2000..2020).contains(&(ended_ns(2) / MILLISECOND_NS)), "stopped at the deadline");
    assert_eq!(stage.closed(CloseReason::Stopped), 1);
    assert!(stage.schedulers[0].is_finished());
    assert_eq!(stage.world.connect(&address()), None, "nobody listens any more");
    stage.assert_nothing_is_left();
}

#[test]
fn connection_begun_before_drain_is_served() {
    // The listener learns of a connection when its first bytes arrive: here while it does not accept.
    let setting = Setting { first: Speaks::CLIENT, ..Setting::quiet(1) };
    let mut stage = small::stage(&setting, HttpSettings::default());
    let begin_ns = stage.now_ns();
    let hello = || Expected::new(200, *b"Hello, World!");
    let slow = [
        Step::Pause(50 * MILLISECOND_NS),
        Step::Send(get("/plaintext")),
        Step::Expect(hello()),
        // It is not told to close while it could reconnect to a listener that is about to close.
        Step::Send(get("/plaintext")),
        Step::Expect(hello().not_last()),
        Step::Pause(100 * MILLISECOND_NS),
        Step::Send(get("/plaintext")),
        Step::Expect(hello().last()),
        Step::ExpectEnd,
    ];
    let mut clients = vec![Client::new(begin_ns, slow)];
    let late = |after_ms: u64| Client::new(begin_ns + after_ms * MILLISECOND_NS, [Step::ExpectEnd]);
    clients.extend([20, 120].map(late));
    stage.run_until(&mut clients, |_, clients| clients[0].next_due_ns() > Some(begin_ns));
    stage.tell_all(|| Order::Drain { deadline_ms: 2_000, idle_grace_ms: IDLE_GRACE_MS });
    assert!(stage.run_until(&mut clients, |_, clients| clients.iter().all(Client::is_over)));
    assert_eq!(clients[0].ending(), Some(Ending::Satisfied), "{:?}", clients[0]);
    for client in &clients[1..] {
        assert_eq!(client.ending(), Some(Ending::NotConnected), "{client:?}");
    }
    assert!(stage.schedulers[0].is_finished());
    stage.assert_nothing_is_left();
}

#[test]
fn a_drain_does_not_shorten_the_last_words() {
    // Refused while it still sends: an early close would be a reset, and the answer could be lost.
    let mut stage = small::stage(&Setting::quiet(1), HttpSettings::default());
    let refused = Expected::status(400).last();
    let script = [
        Step::Send(b"nonsense\r\n\r\n".to_vec()),
        Step::Expect(refused),
        Step::Pause(200 * MILLISECOND_NS),
        Step::Send(small::pattern(1000)),
        Step::Pause(100 * MILLISECOND_NS),
        Step::Close,
    ];
    let begin_ns = stage.now_ns();
    let mut clients = vec![Client::new(begin_ns, script)];
    let answered = stage.run_until(&mut clients, |_, clients| clients[0].answers == 1);
    assert!(answered);
    stage.tell_all(|| Order::Drain { deadline_ms: 2_000, idle_grace_ms: IDLE_GRACE_MS });
    assert!(stage.run_until(&mut clients, |stage, _| stage.schedulers[0].is_finished()));
    let lasted_ns = stage.now_ns() - begin_ns;
    assert!(lasted_ns >= 299 * MILLISECOND_NS, "it ended after {lasted_ns} ns");
    stage.assert_nothing_is_left();
}

#[test]
fn a_reload_loses_nothing() {
    seeds::run("a_reload_loses_nothing", 70, |seed| {
        let mut random = Random::new(!seed);
        let setting = setting(seed, &mut random);
        let mut stage = site::stage(&setting);
        let repertoire = Repertoire { exchange: &site::exchange, last: &site::last_exchange };
        let begin_ns = stage.now_ns();
        let mut clients = clients(12, begin_ns, &mut random, &repertoire);
        for generation in 2..4 {
            let reload_ns = stage.now_ns() + random.below(2 * SECOND_NS);
            stage.run_until(&mut clients, |stage, _| stage.now_ns() >= reload_ns);
            let data = site::data(generation);
            stage.tell_all(|| ToScheduler::Reload(Arc::clone(&data)).into());
        }
        let over = stage.run_until(&mut clients, |_, clients| clients.iter().all(Client::is_over));
        assert!(over, "a reload left somebody behind: {clients:?}");
        for client in &clients {
            assert_eq!(client.ending(), Some(Ending::Satisfied), "{client:?}");
        }
        stage.run_until(&mut [], |stage, _| stage.processes() == 0);
        stage.assert_nothing_is_left();
    });
}

#[test]
fn a_reload_changes_what_is_answered_on_open_connections() {
    let text =
        |word: &str| format!("[[route]]\npath = \"/word\"\nrespond = {{ body = \"{word}\" }}\n");
    let mut stage = site::stage(&Setting::quiet(1));
    let first = site::data_of(&text("one"), 2);
    stage.tell_all(|| ToScheduler::Reload(Arc::clone(&first)).into());
    let begin_ns = stage.now_ns();
    let script = [
        Step::Send(get("/word")),
        Step::Expect(Expected::new(200, *b"one")),
        Step::Pause(2 * SECOND_NS),
        Step::Send(get("/word")),
        Step::Expect(Expected::new(200, *b"two")),
        Step::Close,
    ];
    let mut clients = vec![Client::new(begin_ns, script)];
    stage.run_until(&mut clients, |stage, _| stage.now_ns() >= begin_ns + SECOND_NS);
    let second = site::data_of(&text("two"), 3);
    stage.tell_all(|| ToScheduler::Reload(Arc::clone(&second)).into());
    assert!(stage.run_until(&mut clients, |_, clients| clients[0].is_over()));
    assert_eq!(clients[0].ending(), Some(Ending::Satisfied));
    stage
        .tell(0, ToScheduler::AskReport(Question { number: 1, inquiry: Inquiry::Counters }).into());
    let mut reports = Vec::new();
    stage.run_until(&mut [], |stage, _| {
        reports.extend(stage.mail_to_control());
        !reports.is_empty()
    });
    let [Message::Control(ToControl::Report(report))] = reports.as_slice() else {
        panic!("{reports:?}")
    };
    assert_eq!((report.generation, report.http.requests), (3, 2));
}
