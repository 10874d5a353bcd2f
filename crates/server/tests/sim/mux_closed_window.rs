//! Goal: nobody is blamed for content that it may not send, because unread content of others has used the window of the
//! connection up. Method: a client that is played frame by frame.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{BothVersions, Http, HttpSettings, ListenerRules, PriorKnowledge};
use wire::h2::{
    AfterFrame, H2Frame, PREFACE, begin_headers, end_headers, read_frame, write_data_head,
    write_settings,
};
use wire::hpack::{Decoder, Encoder, Indexing};
use world::ClientId;

use crate::small::Small;
use crate::world::{SECOND_NS, Setting, Stage, address};

/// Bytes that the server takes on all streams.
const WINDOW: usize = 384 * 1024;

/// Nanoseconds for which the application wants nothing of a body of `/held`.
const HOLD_NS: u64 = 5 * SECOND_NS;

/// The client's side of a connection.
struct Player {
    id: ClientId,
    decoder: Decoder,
    received: Vec<u8>,
    /// Bytes that it may send on all streams.
    room: usize,
    statuses: BTreeMap<u32, Vec<u8>>,
}

impl Player {
    fn connect(stage: &Stage<BothVersions<Small>>) -> Self {
        let id = stage.world.connect(&address()).unwrap();
        let mut out = PREFACE.to_vec();
        write_settings(&[], &mut out);
        stage.world.client_send(id, &out);
        let (decoder, received, statuses) = (Decoder::new(4_096), Vec::new(), BTreeMap::new());
        Self { id, decoder, received, room: 65_535, statuses }
    }

    fn post(&self, stage: &Stage<BothVersions<Small>>, stream: u32, path: &str, length: usize) {
        let mut out = Vec::new();
        let place = begin_headers(&mut out);
        let length = length.to_string();
        for (name, value) in [
            (":method", "POST"),
            (":scheme", "http"),
            (":authority", "a"),
            (":path", path),
            ("content-length", &*length),
        ] {
            Encoder::new().encode(name, value.as_bytes(), Indexing::Skip, &mut out);
        }
        end_headers(place, stream, AfterFrame::More, 16_384, &mut out);
        stage.world.client_send(self.id, &out);
    }

    fn say(
        &mut self,
        stage: &Stage<BothVersions<Small>>,
        stream: u32,
        bytes: usize,
        end: AfterFrame,
    ) {
        self.room = self.room.checked_sub(bytes).expect("no more than the window");
        let mut out = Vec::new();
        for _ in 0..bytes / 16_384 {
            write_data_head(stream, 16_384, AfterFrame::More, &mut out);
            out.extend_from_slice(&[b'x'; 16_384]);
        }
        let rest = bytes % 16_384;
        write_data_head(stream, rest as u32, end, &mut out);
        out.resize(out.len() + rest, b'x');
        stage.world.client_send(self.id, &out);
    }

    fn hear(&mut self, stage: &Stage<BothVersions<Small>>) {
        self.received.extend(stage.world.client_received(self.id));
        let mut at = 0;
        while let Some((frame, length)) = read_frame(&self.received[at..], 16_384).unwrap() {
            match frame {
                H2Frame::WindowUpdate { stream: 0, increment } => self.room += increment as usize,
                H2Frame::Headers { stream, fragment, .. } => {
                    let statuses = &mut self.statuses;
                    let note = |name: &[u8], value: &[u8]| {
                        if name == b":status" {
                            statuses.insert(stream, value.to_vec());
                        }
                    };
                    self.decoder.decode(fragment, note).unwrap();
                }
                _ => {}
            }
            at += length;
        }
        self.received.drain(..at);
    }
}

#[test]
fn a_body_for_which_the_connection_has_no_window_may_be_late() {
    let rules = ListenerRules { prior_knowledge: PriorKnowledge::Served, ..Default::default() };
    let listeners = vec![rules];
    let settings = HttpSettings { listeners, body_idle_ms: 1_000, ..HttpSettings::default() };
    let settings = Arc::new(settings);
    let mut stage: Stage<BothVersions<Small>> =
        Stage::new(&Setting::quiet(1), Vec::new(), |_, _| {
            BothVersions::new(Http::new(Small::default(), Arc::clone(&settings), None))
        });
    let mut player = Player::connect(&stage);
    let began_ns = stage.now_ns();
    stage.run_to(began_ns + SECOND_NS / 10);
    player.hear(&stage);
    assert_eq!(player.room, WINDOW);
    for stream in [1, 3, 5] {
        player.post(&stage, stream, "/held", WINDOW / 3);
        player.say(&stage, stream, WINDOW / 3, AfterFrame::Nothing);
    }
    player.post(&stage, 7, "/length", 10);
    stage.run_to(began_ns + HOLD_NS - SECOND_NS);
    player.hear(&stage);
    assert_eq!((player.room, player.statuses.get(&7)), (0, None), "it may not send");
    stage.run_to(began_ns + HOLD_NS + SECOND_NS / 2);
    player.hear(&stage);
    player.say(&stage, 7, 10, AfterFrame::Nothing);
    stage.run_to(began_ns + HOLD_NS + SECOND_NS);
    player.hear(&stage);
    assert_eq!(player.statuses[&7], b"200");
    // From now on it may send, and is late.
    player.post(&stage, 9, "/length", 10);
    stage.run_to(began_ns + HOLD_NS + 3 * SECOND_NS);
    player.hear(&stage);
    assert_eq!(player.statuses[&9], b"408");
}
