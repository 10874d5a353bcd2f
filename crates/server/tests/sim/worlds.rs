//! Worlds full of clients: every well-behaved client gets its answers, and nothing is left behind.

use runtime::scheduler::SchedulerSettings;
use runtime::service::{CloseReason, Service};
use sys::pollset::Speaks;
use world::{ClientState, Faults, Random};

use crate::cast::{Repertoire, ill_behaved, well_behaved};
use crate::client::{Client, Ending, Step};
use crate::expected::Expected;
use crate::secure;
use crate::seeds;
use crate::site;
use crate::small;
use crate::world::{MILLISECOND_NS, SECOND_NS, Setting, Stage, waiting};
use http::HttpSettings;

/// The faults of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weather {
    /// Only the server's own limits end connections.
    Gentle,
    /// The network resets connections, too.
    Harsh,
}

/// A world's settings and clients, drawn from its seed.
struct Drawn {
    setting: Setting,
    weather: Weather,
    behaved: Vec<Client>,
    others: Vec<Client>,
}

fn draw(seed: u64, repertoire: &Repertoire<'_>) -> Drawn {
    let mut random = Random::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let (weather, faults) = match random.below(4) {
        0 => (Weather::Gentle, Faults::none()),
        1 => (Weather::Gentle, Faults::gentle()),
        2 => {
            // Some of the faults that lose no connection.
            let drawn = Faults::drawn(&mut random);
            let faults = Faults {
                cut_connection: 0,
                reset_overtakes: 0,
                aborted: 0,
                watch_refused: 0,
                ..drawn
            };
            (Weather::Gentle, faults)
        }
        _ => (Weather::Harsh, Faults::drawn(&mut random)),
    };
    // Sometimes there is not enough room for all.
    let connections = if random.below(4) == 0 { 2 + random.index(6) } else { 500 };
    let setting = Setting {
        seed,
        faults,
        schedulers: 2 + random.index(7),
        scheduler: SchedulerSettings { connections, ..SchedulerSettings::default() },
        first: if random.below(2) == 0 { Speaks::CLIENT } else { Speaks::Either },
        helper_latency_ns_maximum: random.below(200 * MILLISECOND_NS),
    };
    let begin_ns = world::World::new(0, Faults::none()).now_ns();
    let starts = |random: &mut Random| begin_ns + random.below(3 * SECOND_NS);
    let behaved = (0..3 + random.index(10)).map(|_| {
        let start_ns = starts(&mut random);
        well_behaved(start_ns, &mut random, repertoire)
    });
    let behaved = behaved.collect();
    let others = (0..random.index(6)).map(|_| {
        let start_ns = starts(&mut random);
        ill_behaved(start_ns, &mut random, repertoire)
    });
    let others = others.collect();
    Drawn { setting, weather, behaved, others }
}

/// Plays a world to its end and checks what is left.
fn play<S: Service>(stage: &mut Stage<S>, drawn: Drawn) -> u64 {
    let behaved = drawn.behaved.len();
    let mut clients = drawn.behaved;
    clients.extend(drawn.others);
    let over = |_: &mut Stage<S>, clients: &[Client]| clients.iter().all(Client::is_over);
    let ended = stage.run_until(&mut clients, over);
    assert!(ended, "somebody waits for ever:{}", waiting(&clients));
    let over_ns = stage.now_ns();
    stage.run_until(&mut clients, |stage, _| stage.processes() == 0);
    let span_ns = stage.now_ns() - over_ns;
    assert!(span_ns < 5 * SECOND_NS, "nobody is there, and it takes {span_ns} ns to see it");
    judge(stage, &clients[..behaved], drawn.weather);
    stage.assert_nothing_is_left();
    assert!(stage.schedulers.iter().all(|scheduler| scheduler.stats().panics == 0));
    stage.world.fingerprint() ^ stage.turns
}

/// A client without all its answers was cut off by the network, or by a limit of the server that was counted.
fn judge<S: Service>(stage: &Stage<S>, clients: &[Client], weather: Weather) {
    let lost = clients.iter().filter(|client| match client.ending() {
        Some(Ending::Satisfied | Ending::NotConnected) | None => false,
        Some(Ending::Lost(ClientState::Cut)) => false,
        Some(Ending::Lost(_)) => true,
    });
    let lost: Vec<&Client> = lost.collect();
    let evicted = stage.closed(CloseReason::Evicted);
    let refused = stage.sum(|scheduler| scheduler.stats().accepts_refused);
    let mut excused = evicted + refused;
    if weather == Weather::Harsh {
        excused += stage.closed(CloseReason::Failed);
    } else if let Some(client) = lost.iter().find(|client| client.partial) {
        panic!("cut off in the middle of an answer: {client:?}\n{}", reasons(stage));
    }
    // A connection that is closed to make room is told nothing.
    let cut = clients.iter().filter(|client| client.looks_cut).count();
    assert!(cut as u64 <= excused, "{cut} of {excused} look cut\n{}", reasons(stage));
    assert!(
        lost.len() as u64 <= excused,
        "{excused} are excused, lost are: {lost:#?}\n{}",
        reasons(stage)
    );
}

/// How often the server closed a connection, and why.
pub(crate) fn reasons<S: Service>(stage: &Stage<S>) -> String {
    let count = |place: usize| stage.sum(|scheduler| scheduler.stats().closed[place]);
    let reasons = CloseReason::NAMES.iter().enumerate();
    reasons.map(|(place, name)| format!("{name}: {} ", count(place))).collect()
}

fn small_world(seed: u64) -> u64 {
    let repertoire = Repertoire { exchange: &small::exchange, last: &small::last_exchange };
    let drawn = draw(seed, &repertoire);
    let mut stage = small::stage(&drawn.setting, HttpSettings::default());
    let digest = play(&mut stage, drawn);
    for scheduler in &mut stage.schedulers {
        let taken = &scheduler.service().application().taken;
        assert!(taken.is_empty(), "a body is held whose connection has ended");
    }
    digest
}

fn site_world(seed: u64) -> u64 {
    let repertoire = Repertoire { exchange: &site::exchange, last: &site::last_exchange };
    let drawn = draw(seed, &repertoire);
    let mut stage = site::stage(&drawn.setting);
    play(&mut stage, drawn)
}

/// The same requests over TLS: the network cuts records and handshakes anywhere.
fn secure_world(seed: u64) {
    let (acceptor, connector) = secure::sides();
    let repertoire = Repertoire { exchange: &small::exchange, last: &small::last_exchange };
    let mut drawn = draw(seed, &repertoire);
    let mut stage = secure::stage(&drawn.setting, &acceptor);
    let over_tls = |client: Client| client.secure(&connector);
    drawn.behaved = drawn.behaved.into_iter().map(over_tls).collect();
    drawn.others = drawn.others.into_iter().map(over_tls).collect();
    let mut random = Random::new(seed);
    for _ in 0..random.index(3) {
        // It goes in the middle of its handshake, or as soon as that is over.
        let pause = Step::Pause(random.below(20 * MILLISECOND_NS));
        let start_ns = stage.now_ns() + random.below(3 * SECOND_NS);
        drawn.others.push(over_tls(Client::new(start_ns, [pause, Step::Reset])));
    }
    play(&mut stage, drawn);
}

#[test]
fn worlds_over_tls() {
    seeds::run("worlds_over_tls", 150, secure_world);
}

#[test]
fn worlds_of_a_small_application() {
    seeds::run("worlds_of_a_small_application", 200, |seed| {
        small_world(seed);
    });
}

#[test]
fn worlds_of_the_site() {
    seeds::run("worlds_of_the_site", 150, |seed| {
        site_world(seed);
    });
}

#[test]
fn a_world_comes_again_with_its_seed() {
    seeds::run("a_world_comes_again_with_its_seed", 8, |seed| {
        assert_eq!(small_world(seed), small_world(seed));
        assert_eq!(site_world(seed), site_world(seed));
        assert_ne!(small_world(seed), small_world(seed + 1));
    });
}

#[test]
fn a_vast_file_takes_turns_with_others() {
    let mut stage = site::stage(&Setting::quiet(1));
    let begin_ns = stage.now_ns();
    let (name, size) = site::VAST;
    let download = |name, size| {
        let expected = Expected::new(200, small::pattern(size));
        let get = Step::Send(small::get(name));
        Client::new(begin_ns, [get, Step::Expect(expected), Step::Close])
    };
    let mut clients = vec![download(name, size), download("/small.txt", 100), download(name, size)];
    assert!(stage.run_until(&mut clients, |_, clients| clients.iter().all(Client::is_over)));
    for client in &clients {
        assert_eq!(client.ending(), Some(Ending::Satisfied), "{client:?}");
    }
    let turns = (size / runtime::limits::QUEUED_BYTES_SENT_PER_RUN) as u64;
    assert!(stage.turns > turns, "not in one turn: {}", stage.turns);
    assert!(stage.now_ns() < begin_ns + SECOND_NS, "one turn after the other, without a pause");
}
