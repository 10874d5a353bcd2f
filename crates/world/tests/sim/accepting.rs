//! Listeners and their queues: which scheduler gets a connection, which client waits, and faults before the first byte.

use std::io::ErrorKind;
use std::time::Duration;

use sys::limits::DEFER_ACCEPT_NS;
use sys::pollset::{AcceptError, ListenOptions, Pollset, Received, Rest, Silence, Speaks, Token};
use sys::socket::{ListenAddress, Peer, UnixAddress};
use world::{ALWAYS, ClientId, ClientState, Faults, Sim, SimulatedListener, World};

use crate::pair::{LISTENER, MILLISECOND_NS, Pair, address, events, listen, pair};

#[test]
fn connections_are_spread_over_all_listeners_of_an_address() {
    let world = World::new(5, Faults::none());
    let mut sims: Vec<Sim> = (0..3).map(|scheduler| world.pollset(scheduler)).collect();
    let mut listeners: Vec<SimulatedListener> =
        sims.iter_mut().map(|sim| listen(sim, Speaks::Either)).collect();
    let clients: Vec<ClientId> = (0..90).map(|_| world.connect(&address()).unwrap()).collect();
    let mut counts = [0_usize; 3];
    let mut sockets = Vec::new();
    for (count, (sim, listener)) in counts.iter_mut().zip(sims.iter_mut().zip(&listeners)) {
        assert_eq!(events(sim).len(), 1);
        while let Ok((socket, _peer)) = sim.accept(listener) {
            sockets.push(socket);
            *count += 1;
        }
    }
    assert_eq!(counts.iter().sum::<usize>(), 90);
    assert!(counts.iter().all(|count| *count >= 15), "{counts:?}");
    assert!(clients.iter().all(|client| world.client_scheduler(*client).is_some()));

    listeners.truncate(1);
    for _ in 0..20 {
        assert!(world.connect(&address()).is_some());
    }
    assert!(world.is_ready(0) && !world.is_ready(1) && !world.is_ready(2));
    assert_eq!(world.waiting_connections(&address()), 20);
    listeners.clear();
    assert_eq!(world.connect(&address()), None, "nobody listens");
}

#[test]
fn a_full_queue_is_not_answered() {
    let world = World::new(1, Faults::none());
    let mut sim = world.pollset(0);
    let options = ListenOptions {
        address: address(),
        backlog: 2,
        first: Speaks::Either,
        silent: Silence::Trusted,
    };
    let listener = sim.listen(&options, LISTENER).unwrap();
    assert!(world.connect(&address()).is_some() && world.connect(&address()).is_some());
    assert_eq!(world.connect(&address()), None);
    assert!(sim.accept(&listener).is_ok());
    assert!(world.connect(&address()).is_some());
}

#[test]
fn a_unix_path_has_one_listener_and_nameless_peers() {
    let world = World::new(1, Faults::none());
    let path = UnixAddress { path: "/run/server.sock".into(), mode: 0o660 };
    let options = ListenOptions {
        address: ListenAddress::Unix(path),
        backlog: 8,
        first: Speaks::CLIENT,
        silent: Silence::Trusted,
    };
    let mut sim = world.pollset(0);
    let listener = sim.listen(&options, LISTENER).unwrap();
    let second = world.pollset(1).listen(&options, LISTENER);
    assert_eq!(second.unwrap_err().kind(), ErrorKind::AddrInUse);
    let _client = world.connect(&options.address).unwrap();
    let (_socket, peer) = sim.accept(&listener).expect("a Unix listener does not defer");
    assert_eq!(peer, Peer::LOCAL);
}

#[test]
fn a_deferred_connection_waits_for_bytes_an_end_or_a_second() {
    let world = World::new(1, Faults::none());
    let mut sim = world.pollset(0);
    let listener = listen(&mut sim, Speaks::CLIENT);
    let [speaks, ends, resets, silent] = [(); 4].map(|()| world.connect(&address()).unwrap());
    assert!(events(&mut sim).is_empty());
    world.client_send(speaks, b"x");
    world.client_end_output(ends);
    world.client_reset(resets);
    assert_eq!(events(&mut sim).len(), 1);
    let (first, _) = sim.accept(&listener).unwrap();
    assert_eq!(sim.receive(&first), Received::Bytes(&mut b"x".to_owned(), Rest::No));
    let (second, _) = sim.accept(&listener).unwrap();
    assert_eq!(sim.receive(&second), Received::End);
    assert!(matches!(sim.accept(&listener), Err(AcceptError::Blocked)), "the reset one is gone");
    world.advance(DEFER_ACCEPT_NS - 1);
    assert!(events(&mut sim).is_empty());
    world.advance(1);
    assert_eq!(events(&mut sim).len(), 1);
    let (third, _) = sim.accept(&listener).unwrap();
    assert_eq!(sim.receive(&third), Received::Blocked);
    assert_eq!(world.client_state(silent), ClientState::Open);
}

#[test]
fn a_connection_is_deferred_as_long_as_asked_for_in_whole_seconds() {
    for (milliseconds, seconds) in [(0, 0), (1, 1), (2500, 3), (60_000, 60)] {
        let world = World::new(1, Faults::none());
        let mut sim = world.pollset(0);
        let defer = Duration::from_millis(milliseconds);
        let _listener = listen(&mut sim, Speaks::Client { defer });
        world.connect(&address()).unwrap();
        if seconds > 0 {
            world.advance(seconds * 1_000_000_000 - 1);
            assert!(events(&mut sim).is_empty(), "{milliseconds} ms");
            world.advance(1);
        }
        assert_eq!(events(&mut sim).len(), 1, "{milliseconds} ms");
    }
}

#[test]
fn a_connection_reset_in_the_queue_is_accepted_and_fails() {
    let Pair { world, mut sim, listener, .. } = pair(1, Faults::none());
    let client = world.connect(&address()).unwrap();
    world.client_reset(client);
    let (socket, _) = sim.accept(&listener).unwrap();
    assert_eq!(sim.receive(&socket), Received::Failed(ErrorKind::ConnectionReset));
    assert_eq!(sim.receive(&socket), Received::End, "an error is told once");
}

#[test]
fn an_aborted_connection_is_gone_and_the_next_is_there() {
    let Pair { world, mut sim, listener, .. } = pair(1, Faults::none());
    let clients = [(); 2].map(|()| world.connect(&address()).unwrap());
    world.set_faults(Faults { aborted: ALWAYS, ..Faults::none() });
    assert!(matches!(sim.accept(&listener), Err(AcceptError::Aborted)));
    world.set_faults(Faults::none());
    let _accepted = sim.accept(&listener).unwrap();
    assert_eq!(world.client_state(clients[0]), ClientState::Cut);
    assert_eq!(world.client_state(clients[1]), ClientState::Open);
}

#[test]
fn descriptors_run_out_for_a_span() {
    let Pair { world, mut sim, listener, .. } = pair(1, Faults::none());
    let _client = world.connect(&address()).unwrap();
    let span_ns = 50 * MILLISECOND_NS;
    world.set_faults(Faults {
        no_descriptor: ALWAYS,
        no_descriptor_ns_maximum: span_ns,
        ..Faults::none()
    });
    assert!(matches!(sim.accept(&listener), Err(AcceptError::NoDescriptor)));
    world.set_faults(Faults::none());
    assert!(matches!(sim.accept(&listener), Err(AcceptError::NoDescriptor)), "it lasts");
    world.advance(span_ns);
    assert!(sim.accept(&listener).is_ok());
}

#[test]
fn a_refused_watch_says_so() {
    let mut pair = pair(1, Faults::none());
    let _client = pair.world.connect(&pair.listener.local_address()).unwrap();
    let (socket, _) = pair.sim.accept(&pair.listener).unwrap();
    pair.world.set_faults(Faults { watch_refused: ALWAYS, ..Faults::none() });
    assert_eq!(pair.sim.watch(&socket, Token(8)).unwrap_err().kind(), ErrorKind::OutOfMemory);
    pair.world.set_faults(Faults::none());
    pair.sim.watch(&socket, Token(8)).unwrap();
    assert_eq!(pair.sim.watch(&socket, Token(8)).unwrap_err().kind(), ErrorKind::AlreadyExists);
}
