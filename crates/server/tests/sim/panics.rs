//! A handler that panics ends its own connection, is counted, and affects nothing else.

use runtime::service::CloseReason;
use world::{Faults, Random};

use crate::cast::{Repertoire, well_behaved};
use crate::client::{Client, Ending, Step};
use crate::expected::Expected;
use crate::seeds;
use crate::small::{self, Order, get, post};
use crate::world::{SECOND_NS, Setting, address};
use http::HttpSettings;

fn hello() -> Step {
    Step::Expect(Expected::new(200, *b"Hello, World!"))
}

#[test]
fn others_go_on() {
    seeds::run("others_go_on", 70, |seed| {
        let mut random = Random::new(!seed);
        let faults = Faults { no_descriptor: 0, ..Faults::gentle() };
        let setting = Setting { faults, schedulers: 2, ..Setting::quiet(seed) };
        let mut stage = small::stage(&setting, HttpSettings::default());
        let repertoire = Repertoire { exchange: &small::exchange, last: &small::last_exchange };
        let begin_ns = stage.now_ns();
        let mut clients = Vec::new();
        for _ in 0..6 {
            let start_ns = begin_ns + random.below(SECOND_NS);
            clients.push(well_behaved(start_ns, &mut random, &repertoire));
            let mut request = get("/json");
            request.extend(post("/panic", &small::pattern(random.index(2_000))));
            request.extend(get("/json"));
            clients.push(Client::new(start_ns, [Step::Send(request), Step::ExpectLoss]));
        }
        assert!(stage.run_until(&mut clients, |_, clients| clients.iter().all(Client::is_over)));
        for client in &clients {
            assert_eq!(client.ending(), Some(Ending::Satisfied), "{client:?}");
        }
        stage.run_until(&mut [], |stage, _| stage.processes() == 0);
        stage.assert_nothing_is_left();
        assert_eq!(stage.sum(|scheduler| scheduler.stats().panics), 6);
        assert_eq!(stage.closed(CloseReason::Panicked), 6);
    });
}

#[test]
fn a_panic_in_a_drain_ends_one_connection() {
    let mut stage = small::stage(&Setting::quiet(1), HttpSettings::default());
    let begin_ns = stage.now_ns();
    let mut clients =
        vec![Client::new(begin_ns, [Step::Send(get("/plaintext")), hello(), Step::ExpectEnd])];
    stage.run_until(&mut clients, |_, clients| clients[0].answers == 1);
    // These are in the queue when the drain begins, which accepts them.
    let connect = |target: &str| {
        let client = stage.world.connect(&address()).unwrap();
        stage.world.client_send(client, &get(target));
        client
    };
    let queued = ["/plaintext", "/panic", "/plaintext"].map(connect);
    stage.tell_all(|| Order::Drain { deadline_ms: 5_000, idle_grace_ms: 500 });
    assert!(stage.run_until(&mut clients, |stage, _| stage.schedulers[0].is_finished()));
    assert_eq!(stage.sum(|scheduler| scheduler.stats().panics), 1);
    let answers = queued.map(|client| stage.world.client_received(client).len());
    assert!(answers[0] > 0 && answers[1] == 0 && answers[2] > 0, "{answers:?}");
    stage.assert_nothing_is_left();
}
