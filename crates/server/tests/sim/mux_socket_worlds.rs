//! Worlds in which many streams of few connections are WebSockets, beside all other requests.
//!
//! Owns the worlds, and what holds in each: an echo comes back whole and in order, all subscribers of a channel hear
//! the same in the same order, and every end is told.

use std::cell::Cell;

use world::Random;

use crate::mux_client::MuxClient;
use crate::mux_socket::{Act, BINARY, Fate, MuxSocket, Patience, TEXT};
use crate::mux_worlds::{Drawn, Weather, draw, play};
use crate::small::pattern;
use crate::{seeds, whole_site};

/// The purpose of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Use {
    /// A module repeats these messages.
    Talk(Vec<(u8, Vec<u8>)>),
    /// It publishes so many messages to a channel, and hears all of it.
    Channel { by: u64, says: usize },
}

/// How its client ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Closes(u16),
    Ends,
    Resets,
    AsksToClose,
}

struct Member {
    used: Use,
    leave: Leave,
}

fn member(by: u64, random: &mut Random) -> (Member, MuxSocket) {
    let count = random.index(6);
    let mut acts = Vec::new();
    let is_talk = random.below(2) == 0;
    let used = if is_talk {
        let messages = (0..count).map(|_| {
            let opcode = [TEXT, BINARY][random.index(2)];
            (opcode, pattern(random.index(2_500)))
        });
        let messages: Vec<_> = messages.collect();
        for (opcode, payload) in &messages {
            acts.push(Act::Say(*opcode, payload.clone(), 1 + random.index(4)));
        }
        Use::Talk(messages)
    } else {
        for number in 0..count {
            let text = format!("{by}:{number}").into_bytes();
            acts.push(Act::Say(TEXT, text, 1 + random.index(2)));
        }
        Use::Channel { by, says: count }
    };
    let heard = if is_talk { count + 1 } else { count };
    let leave = match random.below(5) {
        0 => Leave::Ends,
        1 => Leave::Resets,
        2 if is_talk => Leave::AsksToClose,
        _ => Leave::Closes(1000 + u16::try_from(random.below(2)).unwrap()),
    };
    // A client that ends at once leaves what was said without an answer.
    if random.below(4) > 0 || leave == Leave::AsksToClose {
        acts.push(Act::Await(heard));
    }
    acts.push(match leave {
        Leave::Closes(code) => Act::Close(code),
        Leave::Ends => Act::End,
        Leave::Resets => Act::Reset,
        Leave::AsksToClose => Act::Say(TEXT, b"close".to_vec(), 1),
    });
    let path = if is_talk { "/talk" } else { "/channels/sockets" };
    let mut socket = MuxSocket::new(path, acts);
    if random.below(3) == 0 {
        socket.patience = Patience::Eager;
    }
    (Member { used, leave }, socket)
}

/// The messages to a module come back, whole and in order, as far as they come.
fn check_talk(socket: &MuxSocket, messages: &[(u8, Vec<u8>)]) {
    let Some(((opcode, first), echoes)) = socket.heard.split_first() else { return };
    assert_eq!((*opcode, &first[..]), (TEXT, &b"open"[..]));
    assert!(echoes.len() <= messages.len(), "{socket:?}");
    assert!(echoes.iter().eq(&messages[..echoes.len()]), "{socket:?}");
}

/// A member hears its own messages in their order, none of them twice. Returns all that it heard.
fn check_channel(socket: &MuxSocket, by: u64, says: usize) -> Vec<String> {
    let heard = socket.texts();
    let own: Vec<&String> =
        heard.iter().filter(|text| text.split(':').next() == Some(&by.to_string())).collect();
    let expected: Vec<String> = (0..own.len()).map(|number| format!("{by}:{number}")).collect();
    assert!(own.len() <= says && own.into_iter().eq(&expected), "{socket:?}");
    heard
}

/// Two members hear messages that both of them hear in the same order.
fn check_order(one: &[String], other: &[String]) {
    let common: Vec<&String> = one.iter().filter(|text| other.contains(text)).collect();
    let of_other: Vec<&String> = other.iter().filter(|text| one.contains(text)).collect();
    assert_eq!(common, of_other, "the same order for all");
}

fn check_end(member: &Member, socket: &MuxSocket, weather: Weather) {
    if socket.fate == Fate::Open || weather == Weather::Harsh {
        return;
    }
    let (fate, closed) = match member.leave {
        Leave::Closes(code) => (Fate::Ended, Some(code)),
        Leave::AsksToClose => (Fate::Ended, Some(3001)),
        Leave::Ends => (Fate::Ended, None),
        Leave::Resets => (Fate::LetGo, None),
    };
    assert_eq!(socket.fate, fate, "{socket:?}");
    assert_eq!(socket.closed.as_ref().map(|(code, _)| *code), closed, "{socket:?}");
}

/// Returns how many messages came back.
fn world(seed: u64) -> usize {
    let Drawn { setting, weather, clients } = draw(seed, whole_site::exchange);
    let mut random = Random::new(!seed);
    let mut members = Vec::new();
    let clients = clients.into_iter().map(|client| {
        let count = 1 + random.index(20);
        let made = (0..count).map(|_| member(random.bits(), &mut random));
        let (of_client, sockets): (Vec<_>, Vec<_>) = made.collect::<Vec<_>>().into_iter().unzip();
        members.push(of_client);
        client.with_sockets(sockets)
    });
    let mut clients: Vec<MuxClient> = clients.collect();
    let (mut stage, _store) = whole_site::stage(&setting);
    play(&mut stage, weather, &mut clients);
    let mut channels: Vec<Vec<String>> = Vec::new();
    let mut heard = 0;
    for (client, members) in clients.iter().zip(&members) {
        for (socket, member) in client.sockets.values().zip(members) {
            assert!(matches!(socket.status(), None | Some(200)), "{socket:?}");
            match &member.used {
                Use::Talk(messages) => check_talk(socket, messages),
                Use::Channel { by, says } => channels.push(check_channel(socket, *by, *says)),
            }
            if !client.was_cut {
                check_end(member, socket, weather);
            }
            heard += socket.heard.len();
        }
    }
    for (at, one) in channels.iter().enumerate() {
        channels[..at].iter().for_each(|other| check_order(one, other));
    }
    heard
}

#[test]
fn worlds_of_websockets_on_streams() {
    let heard = Cell::new(0);
    seeds::run("worlds_of_websockets_on_streams", 60, |seed| heard.set(heard.get() + world(seed)));
    assert!(heard.get() > 0, "nobody has heard anything");
}
