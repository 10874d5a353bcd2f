//! Any cut of the input into reads gives the same bytes out.
//!
//! Streams of good requests, and the same with bytes damaged, are sent whole, byte by byte and cut at random.

use world::{ClientId, ClientState, Random};

use crate::seeds;
use crate::small::{Small, exchange, stage};
use crate::world::{Setting, Stage, address};
use http::{Http, HttpSettings};

/// The answers when the pieces are sent one after the other, each when the server has nothing left to do.
fn answers(pieces: &[&[u8]]) -> Vec<u8> {
    let mut stage = stage(&Setting::quiet(1), HttpSettings::default());
    let client = stage.world.connect(&address()).unwrap();
    let mut received = Vec::new();
    for piece in pieces {
        stage.world.client_send(client, piece);
        come_to_rest(&mut stage, client, &mut received);
    }
    stage.world.client_end_output(client);
    let ended = stage.run_until(&mut [], |stage, _| {
        received.extend(stage.world.client_received(client));
        stage.world.client_state(client) != ClientState::Open
    });
    assert!(ended, "the server ends the connection after the client did");
    received.extend(stage.world.client_received(client));
    without_dates(&received)
}

fn come_to_rest(stage: &mut Stage<Http<Small>>, client: ClientId, received: &mut Vec<u8>) {
    while stage.round(&mut []) {
        received.extend(stage.world.client_received(client));
    }
    received.extend(stage.world.client_received(client));
}

/// The same without dates: waits may end in another second.
fn without_dates(bytes: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(place) = rest.windows(8).position(|eight| eight == b"\r\nDate: ") {
        kept.extend_from_slice(&rest[..place]);
        rest = rest.get(place + 37..).unwrap_or_default();
    }
    kept.extend_from_slice(rest);
    kept
}

fn cut<'s>(stream: &'s [u8], random: &mut Random, most: usize) -> Vec<&'s [u8]> {
    let mut pieces = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(1 + random.index(rest.len().min(most)));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Damages a few bytes in ways about which parsers often disagree.
fn damage(stream: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.index(3) {
        let place = random.index(stream.len().min(600));
        let odd = b"\r\n\0 :;\t/?\x7f\x80,0F";
        match random.below(3) {
            0 => stream[place] = odd[random.index(odd.len())],
            1 => stream.insert(place, odd[random.index(odd.len())]),
            _ => drop(stream.remove(place)),
        }
    }
}

#[test]
fn any_cut_gives_the_same_answers() {
    seeds::run("any_cut_gives_the_same_answers", 100, |seed| {
        let mut random = Random::new(seed);
        let mut stream = Vec::new();
        while stream.len() < 1_000 {
            let request = exchange(&mut random).request;
            if request.len() < 5_000 {
                stream.extend(request);
            }
        }
        if seed % 2 == 1 {
            damage(&mut stream, &mut random);
        }
        // An invalid request is refused at the latest at the end of its line: no line stays incomplete.
        stream.extend_from_slice(b"\r\n\r\n");
        let whole = answers(&[&stream]);

        for most in [1, 3, 100, stream.len()] {
            let cut = answers(&cut(&stream, &mut random, most));
            assert!(whole == cut, "pieces of up to {most} bytes: {:?}", difference(&whole, &cut));
        }
    });
}

/// Where two answers differ.
fn difference(one: &[u8], other: &[u8]) -> (usize, String, String) {
    let place = one.iter().zip(other).take_while(|(left, right)| left == right).count();
    let show = |bytes: &[u8]| {
        let shown = &bytes[place.saturating_sub(60).min(bytes.len())..bytes.len().min(place + 60)];
        String::from_utf8_lossy(shown).into_owned()
    };
    (place, show(one), show(other))
}
