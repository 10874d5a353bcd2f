//! Exchanges over TLS in worlds with all faults: cut anywhere, reset anywhere, slow.

use std::cell::Cell;
use std::collections::BTreeMap;

use client::{ExchangeId, ExchangeNews, OutgoingBody, OutgoingRequest};
use tls::Acceptor;
use world::{Faults, Random};

use crate::authority::Authority;
use crate::caller::Calls;
use crate::forwarding::pattern;
use crate::seeds;
use crate::tls_server::{NAMES, TlsServer, acceptor, connector, secure};
use crate::worlds::{answer, complete};

/// An exchange: the size of its answer, and what has come of it.
struct Call {
    down: usize,
    got: Vec<u8>,
}

/// Whatever the network does, every exchange ends, and what arrives whole is what was sent.
#[test]
fn every_exchange_over_tls_ends() {
    let authority = Authority::new("Test");
    let (acceptor, connector) = (acceptor(authority.identity(&NAMES)), connector(&authority));
    let whole = Cell::new(0);
    seeds::run(20, |seed| {
        let mut random = Random::new(seed);
        let faults = Faults { no_descriptor: 0, ..Faults::drawn(&mut random) };
        let mut calls = Calls::new(seed, faults);
        let (mut servers, mut running) = (Vec::new(), BTreeMap::new());
        for step in 0..300 {
            if step < 100 && random.below(4) == 0 {
                let (up, down) = (random.index(100_000), random.index(100_000));
                let request = secure(&connector, "POST", &format!("/{down}"));
                let body = OutgoingBody::Whole(pattern(0, up));
                let id = calls.begin(OutgoingRequest { body, ..request });
                running.insert(id, Call { down, got: Vec::new() });
            }
            if step == 200 {
                calls.world.set_faults(Faults::none());
            }
            play(&mut calls, &acceptor, &mut servers);
            running.retain(|id, call| !has_ended(&mut calls, *id, call, &whole));
            calls.pass_ms(if step < 200 { random.below(100) } else { 1_000 });
        }
        assert!(running.is_empty(), "{} exchanges hang", running.len());
        assert!(servers.iter().all(|server| server.failure.is_none()), "no byte is wrong");
        calls.pass_ms(40_000);
        assert_eq!(calls.scheduler.processes(), 0, "nothing is left");
    });
    assert!(whole.get() > 0, "not one answer has come");
}

/// Accepts, reads and answers at the other end.
fn play(calls: &mut Calls, acceptor: &Acceptor, servers: &mut Vec<TlsServer>) {
    while let Some(socket) = calls.accept() {
        servers.push(TlsServer::at(socket, acceptor));
    }
    for server in servers {
        server.step(calls);
        while let Some((down, length)) = complete(&server.heard) {
            server.heard.drain(..length);
            server.answer(calls, &answer(down));
        }
    }
}

/// Takes the news of an exchange; returns whether it is over.
fn has_ended(calls: &mut Calls, id: ExchangeId, call: &mut Call, whole: &Cell<usize>) -> bool {
    for news in calls.news(id, 10_000) {
        match news {
            ExchangeNews::Body(piece) => {
                assert!(piece == pattern(call.got.len(), piece.len()));
                call.got.extend(piece);
            }
            ExchangeNews::End => {
                assert_eq!(call.got.len(), call.down);
                whole.set(whole.get() + 1);
                return true;
            }
            ExchangeNews::Failed(_) => return true,
            _ => {}
        }
    }
    false
}
