//! Proxies in worlds with all faults: cut anywhere, reset anywhere, slow on either side.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use client::limits::EXCHANGE_HELD_BYTES;
use world::{ClientId, ClientState, Faults, Random, Stage, Stall};

use crate::forwarding::{pattern, remote};
use crate::proxy::Proxy;
use crate::seeds;

/// A request's end at its client: the size of its body, the answer it should get, and what has come back.
struct Call {
    client: ClientId,
    up: usize,
    expected: Vec<u8>,
    got: Vec<u8>,
}

/// The answer of a proxy that gets none.
const BAD_GATEWAY: &[u8] = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";

/// Whatever the network does, every exchange ends, and what arrives whole is what was sent.
#[test]
fn every_exchange_of_a_proxy_ends() {
    let whole = Cell::new(0);
    seeds::run(20, |seed| {
        let mut random = Random::new(seed);
        let faults = Faults { no_descriptor: 0, ..Faults::drawn(&mut random) };
        let mut stage = Stage::with_faults(1, seed, faults, Proxy::default);
        stage.world().listen_remote(&remote());
        let mut calls = Vec::new();
        let mut servers: BTreeMap<ClientId, Vec<u8>> = BTreeMap::new();
        for _ in 0..150 {
            if calls.len() < 25 && random.below(2) == 0 {
                calls.extend(call(&mut stage, &mut random));
            }
            play(&mut stage, &mut calls, &mut servers, &mut random);
            stage.pass(Duration::from_millis(random.below(20)));
        }
        stage.world().set_faults(Faults::none());
        for call in &calls {
            stage.world().client_stall(call.client, Stall::Nothing);
        }
        for _ in 0..300 {
            play(&mut stage, &mut calls, &mut servers, &mut random);
            stage.pass(Duration::from_millis(300));
        }
        for call in &calls {
            let is_over = stage.world().client_state(call.client) != ClientState::Open;
            let (up, down) = (call.up, call.expected.len());
            assert!(is_over || is_whole(call), "{up} bytes up, {} of {down} down", call.got.len());
        }
        whole.set(whole.get() + calls.iter().filter(|call| call.got == call.expected).count());
        let proxy = stage.schedulers()[0].service();
        assert!(proxy.most_up.max(proxy.most_down) <= EXCHANGE_HELD_BYTES);
        for call in &calls {
            stage.world().client_reset(call.client);
        }
        stage.pass(Duration::from_secs(40));
        assert_eq!(stage.schedulers()[0].processes(), 0, "nothing is left");
    });
    assert!(whole.get() > 0, "not one answer has come");
}

/// A client that posts a body of any size, and wants one of any size back.
fn call(stage: &mut Stage<Proxy>, random: &mut Random) -> Option<Call> {
    let address = sys::socket::ListenAddress::Tcp(([10, 0, 0, 1], 80).into());
    let client = stage.world().connect(&address)?;
    let (up, down) = (random.index(400_000), random.index(400_000));
    let head = format!("POST /{down} HTTP/1.1\r\nHost: a\r\nContent-Length: {up}\r\n\r\n");
    stage.world().client_send(client, &[head.as_bytes(), &pattern(0, up)].concat());
    if random.below(4) == 0 {
        stage.world().client_stall(client, Stall::Reading);
    }
    Some(Call { client, up, expected: answer(down), got: Vec::new() })
}

/// The answer of [`play`] for a body of this size.
pub(crate) fn answer(down: usize) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 \r\nContent-Length: {down}\r\n\r\n");
    [head.as_bytes(), &pattern(0, down)].concat()
}

fn is_whole(call: &Call) -> bool {
    call.got == call.expected || call.got == BAD_GATEWAY
}

/// Reads and answers at both ends, sometimes slowly.
fn play(
    stage: &mut Stage<Proxy>,
    calls: &mut [Call],
    servers: &mut BTreeMap<ClientId, Vec<u8>>,
    random: &mut Random,
) {
    let world = stage.world().clone();
    stage.rest();
    while let Some((server, _)) = world.accept_remote(&remote()) {
        servers.insert(server, Vec::new());
    }
    for (server, got) in &mut *servers {
        got.extend(world.client_received(*server));
        while let Some((path, length)) = complete(got) {
            world.client_send(*server, &answer(path));
            got.drain(..length);
        }
    }
    for call in calls {
        let most = if random.below(2) == 0 { usize::MAX } else { 3_000 };
        let before = call.got.len();
        call.got.extend(world.client_read(call.client, most));
        let expected = call.expected.get(before..call.got.len());
        let is_right = expected == Some(&call.got[before..]) || BAD_GATEWAY.starts_with(&call.got);
        assert!(is_right, "after {before} bytes");
    }
}

/// The number in the path of the complete request at the front, and its length.
pub(crate) fn complete(got: &[u8]) -> Option<(usize, usize)> {
    let end = got.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = str::from_utf8(&got[..end]).unwrap();
    let field = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    let length: usize = field.parse().unwrap();
    let body = got.get(end..end + length)?;
    assert!(body == pattern(0, length), "the body of the request");
    let path = head.split(' ').nth(1).unwrap().strip_prefix('/').unwrap();
    Some((path.parse().unwrap(), end + length))
}
