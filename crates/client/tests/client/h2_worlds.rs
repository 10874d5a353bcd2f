//! Exchanges over HTTP/2 in worlds with all faults: cut anywhere, reset anywhere, slow; and servers that refuse, give
//! up and go away as they like.

use std::cell::Cell;
use std::collections::BTreeMap;

use client::limits::STREAM_WINDOW_BYTES;
use client::{ExchangeId, ExchangeNews, OutgoingBody};
use wire::h2::{AfterFrame, ErrorCode, SettingId, write_goaway, write_reset, write_settings};
use wire::http::fields::FieldList;
use world::{Faults, Random};

use crate::caller::Calls;
use crate::forwarding::pattern;
use crate::h2_origin::{Origin, forward};
use crate::seeds;

/// An exchange: what is still to be sent, the size of its answer, and how much has come of it.
struct Call {
    unsent: Vec<u8>,
    has_ended: bool,
    down: usize,
    got: usize,
}

/// A server, and the streams that it answers.
struct Server {
    origin: Origin,
    streams: BTreeMap<u32, Answer>,
    /// Streams that it has refused or ended.
    last: u32,
    has_left: bool,
}

/// An answer that is being sent.
struct Answer {
    up: usize,
    wanted: usize,
    down: usize,
    has_head: bool,
    sent: usize,
    window: usize,
}

/// Whatever network and servers do, every exchange ends, and what arrives whole is what was sent.
#[test]
fn every_exchange_over_http2_ends() {
    let whole = Cell::new(0);
    seeds::run(15, |seed| {
        let mut random = Random::new(seed);
        let faults = Faults { no_descriptor: 0, ..Faults::drawn(&mut random) };
        let mut calls = Calls::new(seed, faults);
        let (mut servers, mut running) = (Vec::new(), BTreeMap::new());
        for step in 0..300 {
            if step < 100 {
                for _ in 0..random.below(3) {
                    let (id, call) = begin(&mut calls, &mut random);
                    running.insert(id, call);
                }
            }
            if step == 200 {
                calls.world.set_faults(Faults::none());
            }
            play(&mut calls, &mut servers, &mut random, step < 150);
            running.retain(|id, call| !has_ended(&mut calls, *id, call, &whole));
            if random.below(20) == 0
                && let Some((id, _)) = running.pop_first()
            {
                calls.client().cancel(id);
            }
            calls.pass_ms(if step < 200 { random.below(100) } else { 1_000 });
        }
        assert!(running.is_empty(), "{} exchanges hang", running.len());
        calls.pass_ms(40_000);
        assert_eq!(calls.scheduler.processes(), 0, "nothing is left");
    });
    assert!(whole.get() > 0, "not one answer has come");
}

/// A request that says in its path how long its body is and how long an answer it wants.
fn begin(calls: &mut Calls, random: &mut Random) -> (ExchangeId, Call) {
    let (up, down) = (random.index(200_000), random.index(300_000));
    let path = format!("/{up}/{down}");
    let (body, unsent) = match random.below(4) {
        0 => (OutgoingBody::Streamed(None), pattern(0, up)),
        1 => (OutgoingBody::Streamed(Some(up as u64)), pattern(0, up)),
        2 => (OutgoingBody::Whole(pattern(0, up)), Vec::new()),
        _ => (OutgoingBody::Whole(pattern(0, up)), Vec::new()),
    };
    let method = if random.below(2) == 0 { "PUT" } else { "POST" };
    let id = calls.forward(forward(method, &path, body));
    (id, Call { unsent, has_ended: false, down, got: 0 })
}

/// Accepts, reads and answers at the other end. Servers are `bad` for some time.
fn play(calls: &mut Calls, servers: &mut Vec<Server>, random: &mut Random, bad: bool) {
    while let Some(socket) = calls.accept() {
        let mut origin = Origin::at(socket);
        let most = if random.below(2) == 0 { 100 } else { 1 + random.below(5) as u32 };
        write_settings(&[(SettingId::MAX_CONCURRENT_STREAMS, most)], &mut origin.out);
        servers.push(Server { origin, streams: BTreeMap::new(), last: 0, has_left: false });
    }
    for server in servers {
        for line in server.origin.heard(calls) {
            server.hear(&line, random, bad);
        }
        server.answer(random);
        if bad && !server.has_left && random.below(60) == 0 {
            server.leave(random);
        }
        let out = std::mem::take(&mut server.origin.out);
        calls.answer(server.origin.socket, &out);
        if server.has_left && random.below(4) == 0 {
            calls.world.client_close(server.origin.socket);
        }
    }
}

impl Server {
    fn hear(&mut self, line: &str, random: &mut Random, bad: bool) {
        let words: Vec<&str> = line.split(' ').collect();
        let number: u32 = words[1].parse().unwrap_or(0);
        match words[0] {
            "HEADERS" if words.iter().any(|word| word.starts_with(":method")) => {
                assert!(number > self.last, "{line}");
                if self.has_left {
                    return;
                }
                self.last = number;
                if bad && random.below(6) == 0 {
                    let code = [ErrorCode::RefusedStream, ErrorCode::InternalError];
                    write_reset(number, code[random.index(2)], &mut self.origin.out);
                    return;
                }
                let path = words.iter().find_map(|word| word.strip_prefix(":path=/")).unwrap();
                let (up, down) = path.split_once('/').unwrap();
                let (wanted, down) = (up.parse().unwrap(), down.parse().unwrap());
                let window = STREAM_WINDOW_BYTES as usize;
                self.streams.insert(
                    number,
                    Answer { up: 0, wanted, down, has_head: false, sent: 0, window },
                );
            }
            "DATA" => {
                let bytes: u32 = words[2].parse().unwrap();
                if bytes > 0 {
                    self.origin.open(0, bytes);
                }
                if let Some(answer) = self.streams.get_mut(&number) {
                    answer.up += bytes as usize;
                    if words.last() == Some(&"end") {
                        assert_eq!(answer.up, answer.wanted, "{line}");
                    } else if bytes > 0 {
                        self.origin.open(number, bytes);
                    }
                }
            }
            "OPEN" => {
                if let Some(answer) = self.streams.get_mut(&number) {
                    answer.window += words[2].parse::<usize>().unwrap();
                }
            }
            "RST_STREAM" => {
                self.streams.remove(&number);
            }
            "GOAWAY" => {
                assert_eq!(words[1], "NO_ERROR", "{line}");
                self.streams.clear();
            }
            _ => {}
        }
    }

    /// Sends a part of each answer, perhaps while its request still comes.
    fn answer(&mut self, random: &mut Random) {
        let mut over = Vec::new();
        for (number, answer) in &mut self.streams {
            if !answer.has_head {
                if random.below(3) > 0 && answer.up < answer.wanted {
                    continue;
                }
                let length = answer.down.to_string();
                let fields = [(":status", "200"), ("content-length", &*length)];
                self.origin.head(*number, &fields, AfterFrame::More);
                answer.has_head = true;
            }
            let room = answer.window.min(1 + random.index(60_000));
            let piece = room.min(answer.down - answer.sent);
            self.origin.data(*number, &pattern(answer.sent, piece), AfterFrame::More);
            answer.sent += piece;
            answer.window -= piece;
            if answer.sent == answer.down {
                self.origin.data(*number, b"", AfterFrame::Nothing);
                over.push(*number);
            }
        }
        over.iter().for_each(|number| {
            self.streams.remove(number);
        });
    }

    /// Says that the connection will end: some requests that have come were not begun.
    fn leave(&mut self, random: &mut Random) {
        self.has_left = true;
        let begun = self.streams.iter().filter(|(_, answer)| answer.has_head);
        let least = begun.map(|(number, _)| *number).max().unwrap_or(0);
        let last = if random.below(2) == 0 { least } else { self.last.max(least) };
        write_goaway(last, ErrorCode::NoError, "", &mut self.origin.out);
        self.streams.retain(|number, _| *number <= last);
    }
}

/// Sends what is left of a request and takes the news; returns whether it is over.
fn has_ended(calls: &mut Calls, id: ExchangeId, call: &mut Call, whole: &Cell<usize>) -> bool {
    let now_ns = calls.world.now_ns();
    let taken = calls.client().send(id, &call.unsent, now_ns);
    call.unsent.drain(..taken);
    if call.unsent.is_empty() && !call.has_ended {
        call.has_ended = true;
        calls.client().end_body(id, &FieldList::new(), now_ns);
    }
    for news in calls.news(id, 10_000) {
        match news {
            ExchangeNews::Body(piece) => {
                assert!(piece == pattern(call.got, piece.len()));
                call.got += piece.len();
            }
            ExchangeNews::End => {
                assert_eq!(call.got, call.down);
                whole.set(whole.get() + 1);
                return true;
            }
            ExchangeNews::Failed(failure) => {
                assert!(!matches!(failure, client::ExchangeFailure::Http2(_)), "{failure}");
                return true;
            }
            _ => {}
        }
    }
    false
}
