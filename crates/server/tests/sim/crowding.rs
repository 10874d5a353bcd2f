//! Limits: connections, descriptors, memory, and clients that use up any of them.

use runtime::scheduler::SchedulerSettings;
use runtime::service::CloseReason;
use sys::pollset::Speaks;
use world::{ALWAYS, Faults};

use crate::client::{Client, Ending, Step};
use crate::expected::Expected;
use crate::small::{Small, get, pattern, post, stage};
use crate::world::{MILLISECOND_NS, SECOND_NS, Setting, Stage};
use http::{Http, HttpSettings};

fn hello() -> [Step; 2] {
    [Step::Send(get("/plaintext")), Step::Expect(Expected::new(200, *b"Hello, World!"))]
}

fn crowded(connections: usize) -> Stage<Http<Small>> {
    crowded_with(connections, HttpSettings::default())
}

fn crowded_with(connections: usize, settings: HttpSettings) -> Stage<Http<Small>> {
    let scheduler = SchedulerSettings { connections, ..SchedulerSettings::default() };
    stage(&Setting { scheduler, first: Speaks::CLIENT, ..Setting::quiet(1) }, settings)
}

#[test]
fn the_longest_idle_makes_room() {
    the_longest_idle_of(crowded(10));
}

/// Connections that are kept for ever have no deadline by which to find them.
#[test]
fn the_longest_idle_makes_room_when_connections_are_kept_for_ever() {
    let stage = crowded_with(10, HttpSettings { keep_alive_ms: None, ..HttpSettings::default() });
    stage.world.advance(SECOND_NS);
    the_longest_idle_of(stage);
}

fn the_longest_idle_of(mut stage: Stage<Http<Small>>) {
    let begin_ns = stage.now_ns();
    let mut clients: Vec<Client> = (0..30)
        .map(|number| {
            let start_ns = begin_ns + number * SECOND_NS;
            Client::new(start_ns, hello().into_iter().chain([Step::ExpectEnd]))
        })
        .collect();
    stage.run_until(&mut clients, |_, clients| clients.iter().all(|client| client.answers == 1));
    assert_eq!(stage.closed(CloseReason::Evicted), 20);
    let over = clients.iter().take_while(|client| client.is_over()).count();
    assert_eq!(over, 20, "those that were idle for the longest time");
    assert!(clients[over..].iter().all(|client| !client.is_over()));
}

#[test]
fn new_request_renews_idle_order() {
    let scheduler = SchedulerSettings { connections: 10, ..SchedulerSettings::default() };
    let mut stage = stage(&Setting { scheduler, ..Setting::quiet(1) }, HttpSettings::default());
    let begin_ns = stage.now_ns();
    let idle = |number: u64| {
        let start_ns = begin_ns + number * SECOND_NS;
        Client::new(start_ns, hello().into_iter().chain([Step::ExpectEnd]))
    };
    // The first one sends another request later than all others; one has sent nothing and has the nearest deadline.
    let again = hello().into_iter().chain([Step::Pause(20 * SECOND_NS)]).chain(hello());
    let mut clients = vec![Client::new(begin_ns, again.chain([Step::ExpectEnd]))];
    clients.extend((1..9).map(idle));
    clients.push(Client::new(begin_ns + 21 * SECOND_NS, [Step::ExpectEnd]));
    clients.extend((22..25).map(idle));
    stage.run_until(&mut clients, |_, clients| clients[10..].iter().all(|one| one.answers == 1));
    assert_eq!(stage.closed(CloseReason::Evicted), 3);
    for (number, client) in clients.iter().enumerate() {
        assert_eq!(client.is_over(), (1..4).contains(&number), "{number}: {client:?}");
    }
}

#[test]
fn without_memory_who_has_sent_most_of_a_body_is_answered_503_and_all_others_are_served() {
    // One is collected, the other handed over.
    for target in ["/echo", "/taken"] {
        let scheduler = SchedulerSettings {
            connections: 100,
            buffered_bytes: 1_000_000,
            ..SchedulerSettings::default()
        };
        let mut stage = stage(&Setting { scheduler, ..Setting::quiet(1) }, HttpSettings::default());
        let begin_ns = stage.now_ns();
        let hoarder = || {
            let mut request = post(target, &pattern(150_000));
            request.pop();
            let slow = Expected::status(408).last();
            let expected = Expected::status(503).with("Retry-After", "1").last().or(slow);
            [Step::Send(request), Step::Expect(expected), Step::Close]
        };
        let mut clients: Vec<Client> = (0..20).map(|_| Client::new(begin_ns, hoarder())).collect();
        let honest = || {
            let body = pattern(20_000);
            let request = post(target, &body);
            let (first, second) = request.split_at(12_000);
            let pieces = [first, second].map(|piece| Step::Send(piece.to_vec()));
            let [first, second] = pieces;
            let answer = Step::Expect(Expected::new(200, body));
            [first, Step::Pause(SECOND_NS), second, answer, Step::Close]
        };
        // One after another, because a turn gives memory back when it has ended.
        let starts_ns = (begin_ns + SECOND_NS..).step_by(10_000_000).take(30);
        clients.extend(starts_ns.map(|start_ns| Client::new(start_ns, honest())));
        let waits =
            [Step::Send(get("/wait?1500")), Step::Expect(Expected::new(200, *b"")), Step::Close];
        clients.push(Client::new(begin_ns + SECOND_NS / 2, waits));
        clients.extend((0..5).map(|_| {
            Client::new(begin_ns + 2 * SECOND_NS, hello().into_iter().chain([Step::Close]))
        }));
        assert!(stage.run_until(&mut clients, |_, clients| clients.iter().all(Client::is_over)));
        for client in &clients {
            assert_eq!(client.ending(), Some(Ending::Satisfied), "{target}: {client:?}");
        }
        let ended = stage.sum(|scheduler| scheduler.stats().ended_for_memory);
        let refused = stage.sum(|scheduler| scheduler.stats().accepts_overloaded);
        assert!(
            ended > 0 && (13..=20).contains(&(ended + refused)),
            "{target}: {ended}, {refused}"
        );
        let most = stage.sum(|scheduler| scheduler.stats().buffered_bytes_max);
        // Input that arrives in one turn goes beyond it.
        assert!((900_000..1_300_000).contains(&most), "{target}: {most} bytes were held");
        drop(clients);
        stage.run_until(&mut [], |stage, _| stage.processes() == 0);
        stage.assert_nothing_is_left();
    }
}

#[test]
fn the_oldest_unfinished_head_makes_room_before_who_is_idle() {
    let mut stage = crowded(300);
    let begin_ns = stage.now_ns();
    let mut clients = vec![Client::new(begin_ns, hello().into_iter().chain([Step::ExpectEnd]))];
    let unfinished = || vec![Step::Send(b"GET / HT".to_vec()), Step::ExpectLoss];
    let later_ns = begin_ns + SECOND_NS;
    clients.extend((0..299).map(|_| Client::new(later_ns, unfinished())));
    let newcomer_ns = later_ns + SECOND_NS;
    clients.push(Client::new(newcomer_ns, hello().into_iter().chain([Step::Close])));
    assert!(stage.run_until(&mut clients, |_, clients| clients[300].is_over()));
    assert_eq!(clients[300].ending(), Some(Ending::Satisfied));
    assert!(stage.now_ns() - newcomer_ns < 100 * MILLISECOND_NS, "at once");
    assert!(!clients[0].is_over(), "the idle one stays");
    assert_eq!(stage.closed(CloseReason::Evicted), 1);
}

#[test]
fn unfinished_heads_lock_nobody_out() {
    // They take every place now, and send a byte per second.
    let mut stage = crowded(10);
    let begin_ns = stage.now_ns();
    let unfinished = || {
        let drip = [Step::Pause(SECOND_NS), Step::Send(b"x".to_vec())];
        let head = std::iter::once(Step::Send(b"GET / HTTP/1.1\r\nX: ".to_vec()));
        head.chain(drip.into_iter().cycle().take(6)).chain([Step::ExpectLoss])
    };
    let mut clients: Vec<Client> = (0..10).map(|_| Client::new(begin_ns, unfinished())).collect();
    let good = || hello().into_iter().chain([Step::Close]);
    clients
        .extend((0..50).map(|number| Client::new(begin_ns + number * 50 * MILLISECOND_NS, good())));
    let served = |_: &mut Stage<Http<Small>>, clients: &[Client]| {
        clients[10..].iter().all(|client| client.ending() == Some(Ending::Satisfied))
    };
    assert!(stage.run_until(&mut clients, served));
    for (number, client) in (0..).zip(&clients[10..]) {
        let (ended_ns, _) = client.over.unwrap();
        let waited_ns = ended_ns - (begin_ns + number * 50 * MILLISECOND_NS);
        assert!(waited_ns < 100 * MILLISECOND_NS, "{number}: {waited_ns} ns");
    }
}

#[test]
fn after_a_flood_of_what_is_dead_who_comes_is_served_soon() {
    // They connect, begin a head and close, all before a scheduler runs; there is room for a few at a time.
    let mut stage = crowded(20);
    let begin_ns = stage.now_ns();
    let dead = || [Step::Send(b"GET / HTTP/1.1\r\nHo".to_vec()), Step::Close];
    let mut clients: Vec<Client> = (0..1_000).map(|_| Client::new(begin_ns, dead())).collect();
    let good_ns = begin_ns + 10 * MILLISECOND_NS;
    clients.push(Client::new(good_ns, hello().into_iter().chain([Step::Close])));
    assert!(stage.run_until(&mut clients, |_, clients| clients[1_000].is_over()));
    assert_eq!(clients[1_000].ending(), Some(Ending::Satisfied));
    let waited_ns = stage.now_ns() - good_ns;
    assert!(waited_ns < 100 * MILLISECOND_NS, "{waited_ns} ns");
}

#[test]
fn a_place_is_given_to_who_waits_when_somebody_goes() {
    // All are in use: none can be closed for another.
    let mut stage = crowded(10);
    let begin_ns = stage.now_ns();
    let busy =
        || [Step::Send(get("/wait?1500")), Step::Expect(Expected::new(200, *b"")), Step::Close];
    let mut clients: Vec<Client> = (0..10).map(|_| Client::new(begin_ns, busy())).collect();
    let later_ns = begin_ns + SECOND_NS;
    clients
        .extend((0..10).map(|_| Client::new(later_ns, hello().into_iter().chain([Step::Close]))));
    assert!(stage.run_until(&mut clients, |_, clients| clients.iter().all(Client::is_over)));
    let busy_end_ns = clients[..10].iter().map(|client| client.over.unwrap().0).max().unwrap();
    for client in &clients[10..] {
        let (ended_ns, ending) = client.over.unwrap();
        assert_eq!(ending, Ending::Satisfied);
        assert!(ended_ns < busy_end_ns + 20 * MILLISECOND_NS, "it did not wait for the next try");
    }
}

#[test]
fn without_descriptors_for_a_while_few_are_closed_and_all_come_in_within_a_second() {
    let mut stage = crowded(1000);
    let begin_ns = stage.now_ns();
    let idle = || hello().into_iter().chain([Step::ExpectEnd]);
    let mut clients: Vec<Client> = (0..50).map(|_| Client::new(begin_ns, idle())).collect();
    stage.run_until(&mut clients, |_, clients| clients.iter().all(|client| client.answers == 1));
    let span_ns = 2 * SECOND_NS;
    let none = Faults { no_descriptor: ALWAYS, no_descriptor_ns_maximum: 1, ..Faults::none() };
    stage.world.set_faults(none);
    let short_ns = stage.now_ns();
    clients
        .extend((0..20).map(|_| Client::new(short_ns, hello().into_iter().chain([Step::Close]))));
    stage.run_until(&mut clients, |stage, _| stage.now_ns() >= short_ns + span_ns);
    let turns = stage.turns;
    let evicted = stage.closed(CloseReason::Evicted);
    assert!(evicted <= 21, "one for each try: {evicted}");
    let pauses = stage.sum(|scheduler| scheduler.stats().accept_pauses);
    assert!((18..=21).contains(&pauses), "a try each tenth of a second: {pauses}");
    assert!(turns < 500, "it does not spin: {turns} turns");
    stage.world.set_faults(Faults::none());
    let again_ns = stage.now_ns();
    let served = |_: &mut Stage<Http<Small>>, clients: &[Client]| {
        clients[50..].iter().all(|client| client.ending() == Some(Ending::Satisfied))
    };
    assert!(stage.run_until(&mut clients, served));
    assert!(stage.now_ns() - again_ns < 200 * MILLISECOND_NS, "soon after there is room again");
}

#[test]
fn a_descriptor_limit_costs_one_connection_for_each_new_one() {
    let mut stage = crowded(1000);
    let begin_ns = stage.now_ns();
    let idle = || hello().into_iter().chain([Step::ExpectEnd]);
    let mut clients: Vec<Client> = (0..50).map(|_| Client::new(begin_ns, idle())).collect();
    stage.run_until(&mut clients, |_, clients| clients.iter().all(|client| client.answers == 1));
    stage.world.set_descriptor_limit(0, 51);
    let more_ns = stage.now_ns();
    clients.extend((0..20).map(|_| Client::new(more_ns, idle())));
    let served = |_: &mut Stage<Http<Small>>, clients: &[Client]| {
        clients[50..].iter().all(|client| client.answers == 1)
    };
    assert!(stage.run_until(&mut clients, served));
    assert_eq!(stage.closed(CloseReason::Evicted), 20);
    assert_eq!(stage.processes(), 50);
}
