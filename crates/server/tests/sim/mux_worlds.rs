//! Worlds in which many requests at once come on streams of few connections.
//!
//! Owns the worlds. Every answer is compared with what the same request gets over HTTP/1.

use std::cell::Cell;
use std::sync::Arc;

use runtime::scheduler::SchedulerSettings;
use runtime::service::{CloseReason, Service};
use sys::pollset::Speaks;
use world::{Faults, Random};

use crate::mux_client::{MuxClient, Seen};
use crate::small::{self, Exchange, Small};
use crate::world::{MILLISECOND_NS, SECOND_NS, Setting, Stage};
use crate::worlds::reasons;
use crate::{seeds, site, whole_site};
use http::{BothVersions, Http, HttpSettings, ListenerRules, PriorKnowledge};
use server::conn::Connections;

/// Whether the network may lose a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    Gentle,
    Harsh,
}

pub(crate) struct Drawn {
    pub(crate) setting: Setting,
    pub(crate) weather: Weather,
    pub(crate) clients: Vec<MuxClient>,
}

pub(crate) fn draw(seed: u64, exchange: fn(&mut Random) -> Exchange) -> Drawn {
    let mut random = Random::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let (weather, faults) = match random.below(3) {
        0 => (Weather::Gentle, Faults::none()),
        1 => (Weather::Gentle, Faults::gentle()),
        _ => (Weather::Harsh, Faults::drawn(&mut random)),
    };
    let setting = Setting {
        seed,
        faults,
        schedulers: 1 + random.index(4),
        scheduler: SchedulerSettings { connections: 1_000, ..SchedulerSettings::default() },
        first: if random.below(2) == 0 { Speaks::CLIENT } else { Speaks::Either },
        helper_latency_ns_maximum: random.below(200 * MILLISECOND_NS),
    };
    let clients = (0..1 + random.index(3)).map(|_| {
        let most = if random.below(4) == 0 { 100 } else { 12 };
        let count = 1 + random.index(most);
        let exchanges = (0..count).map(|_| exchange(&mut random)).collect();
        let resets_after = (random.below(5) == 0).then(|| random.index(count));
        MuxClient::new(exchanges, resets_after, random.bits())
    });
    let clients = clients.collect();
    Drawn { setting, weather, clients }
}

/// Plays a world to its end, and checks what is left.
pub(crate) fn play<S: Service>(
    stage: &mut Stage<S>,
    weather: Weather,
    clients: &mut [MuxClient],
) -> u64 {
    let ended = stage.run_until(&mut [], |stage, _| {
        clients.iter_mut().for_each(|client| client.step(&stage.world));
        clients.iter().all(MuxClient::is_over)
    });
    let waiting: String = clients.iter().map(MuxClient::waiting).collect();
    assert!(ended, "somebody waits for ever:{waiting}");
    let over_ns = stage.now_ns();
    stage.run_until(&mut [], |stage, _| stage.processes() == 0);
    let span_ns = stage.now_ns() - over_ns;
    assert!(span_ns < 5 * SECOND_NS, "nobody is there, and it takes {span_ns} ns to see it");
    if weather == Weather::Gentle {
        // A server without room closes a connection without streams, or takes no new one.
        let excused = stage.closed(CloseReason::Evicted)
            + stage.sum(|scheduler| scheduler.stats().accepts_refused);
        let cut: Vec<&MuxClient> = clients.iter().filter(|client| client.was_cut).collect();
        let waiting: String = cut.iter().map(|client| client.waiting()).collect();
        assert!(cut.len() as u64 <= excused, "connections were cut: {}{waiting}", reasons(stage));
        let reset: usize = clients.iter().map(|client| client.count(Seen::Reset)).sum();
        assert_eq!(reset, 0, "streams were cut: {}", reasons(stage));
    }
    stage.assert_nothing_is_left();
    assert!(stage.schedulers.iter().all(|scheduler| scheduler.stats().panics == 0));
    stage.world.fingerprint() ^ stage.turns
}

fn small_world(seed: u64) -> u64 {
    let Drawn { setting, weather, mut clients } = draw(seed, small::exchange);
    let rules = ListenerRules { prior_knowledge: PriorKnowledge::Served, ..Default::default() };
    let settings = Arc::new(HttpSettings { listeners: vec![rules], ..HttpSettings::default() });
    let mut stage: Stage<BothVersions<Small>> = Stage::new(&setting, Vec::new(), |_, _| {
        BothVersions::new(Http::new(Small::default(), Arc::clone(&settings), None))
    });
    let digest = play(&mut stage, weather, &mut clients);
    for scheduler in &mut stage.schedulers {
        let taken = &scheduler.service().http().application().taken;
        assert!(taken.is_empty(), "a body is held whose stream has ended");
    }
    digest
}

fn site_world(seed: u64) -> u64 {
    let Drawn { setting, weather, mut clients } = draw(seed, site::exchange);
    let mut stage: Stage<Connections> = site::stage(&setting);
    play(&mut stage, weather, &mut clients)
}

/// Returns how many event streams brought an event.
fn whole_site_world(seed: u64) -> usize {
    let Drawn { setting, weather, mut clients } = draw(seed, whole_site::exchange);
    let (mut stage, _store) = whole_site::stage(&setting);
    play(&mut stage, weather, &mut clients);
    clients.iter().map(|client| client.heard).sum()
}

#[test]
fn worlds_of_streams_of_pages_channels_and_the_store() {
    let heard = Cell::new(0);
    seeds::run("worlds_of_streams_of_pages_channels_and_the_store", 60, |seed| {
        heard.set(heard.get() + whole_site_world(seed));
    });
    assert!(heard.get() > 0, "no event came on a stream");
}

#[test]
fn worlds_of_streams_of_a_small_application() {
    seeds::run("worlds_of_streams_of_a_small_application", 100, |seed| {
        small_world(seed);
    });
}

#[test]
fn worlds_of_streams_of_the_site() {
    seeds::run("worlds_of_streams_of_the_site", 100, |seed| {
        site_world(seed);
    });
}

#[test]
fn a_world_of_streams_comes_again_with_its_seed() {
    seeds::run("a_world_of_streams_comes_again_with_its_seed", 4, |seed| {
        assert_eq!(small_world(seed), small_world(seed));
        assert_eq!(site_world(seed), site_world(seed));
    });
}
