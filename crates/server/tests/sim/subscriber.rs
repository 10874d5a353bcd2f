//! Clients of channels: one per protocol, and what each of them received.
//!
//! Owns what a client sends to subscribe and the parsing of what it receives, with parsers of its own: it shares no
//! code with the server. `channel_worlds` judges the result.

use std::fmt;

use serde_json::Value;
use sys::socket::ListenAddress;
use world::{ClientId, ClientState, Random, Stall, World};

use crate::response::{Asked, Input, parse, parse_head};

/// How a client reads a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A WebSocket of one channel: messages without a number.
    Socket,
    /// A WebSocket with JSON objects.
    Objects,
    Events,
    Polls,
    /// A Redis client: messages without a number.
    Redis,
}

pub(crate) const WAYS: [Way; 5] = [Way::Socket, Way::Objects, Way::Events, Way::Polls, Way::Redis];

/// The epoch and number of the last message.
pub(crate) type Position = (String, u64);

pub(crate) fn position(text: &str) -> Position {
    let (epoch, number) = text.split_once('-').unwrap_or_else(|| panic!("a position: {text}"));
    (epoch.to_owned(), number.parse().unwrap())
}

/// An event that a client received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Its subscription is established; with its position, if the protocol has one.
    Stands(Option<Position>),
    /// Messages are missing here.
    Lost,
    Message(Option<Position>, String),
    /// The server ends the subscription, with a reason.
    Ends(String),
}

/// A client of one channel.
pub(crate) struct Subscriber {
    pub(crate) id: ClientId,
    pub(crate) way: Way,
    pub(crate) channel: String,
    /// Its position, if the protocol has one.
    pub(crate) at: Option<Position>,
    /// The epoch of a socket with objects, whose messages have only their number.
    epoch: String,
    /// The position of the next poll.
    next: Option<Position>,
    input: Vec<u8>,
    stream: Stream,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    /// The head of the answer has not arrived.
    Head,
    Body,
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} of {} at {:?}, {:?}", self.way, self.channel, self.at, self.id)
    }
}

const HANDSHAKE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// A frame of a client, whose mask is zero.
pub(crate) fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x80 | opcode];
    match u8::try_from(payload.len()) {
        Ok(short) if short < 126 => bytes.push(0x80 | short),
        _ => {
            bytes.push(0x80 | 126);
            bytes.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend(payload);
    bytes
}

pub(crate) fn open_socket(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: example.test\r\n{HANDSHAKE}\r\n").into_bytes()
}

impl Subscriber {
    /// Connects and subscribes, perhaps at the position of an earlier client. `None` if the connection is refused.
    pub(crate) fn new(
        world: &World,
        addresses: &[ListenAddress; 2],
        way: Way,
        channel: &str,
        at: Option<Position>,
    ) -> Option<Self> {
        let id = world.connect(&addresses[usize::from(way == Way::Redis)])?;
        let at = at.filter(|_| !matches!(way, Way::Socket | Way::Redis));
        let since = at.as_ref().map(|(epoch, number)| format!("{epoch}-{number}"));
        let input = Vec::new();
        let channel = channel.to_owned();
        let (next, epoch, stream) = (at.clone(), String::new(), Stream::Head);
        let subscriber = Self { id, way, channel, at, epoch, next, input, stream };
        let channel = &subscriber.channel;
        let request = match way {
            Way::Socket => open_socket(&format!("/channels/{channel}")),
            Way::Objects => {
                let mut order = serde_json::json!({ "subscribe": channel });
                if let Some(since) = since {
                    order["since"] = since.into();
                }
                let mut request = open_socket("/channels");
                request.extend(frame(1, order.to_string().as_bytes()));
                request
            }
            Way::Events => {
                let since = since.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
                format!(
                    "GET /channels/{channel} HTTP/1.1\r\nHost: example.test\r\n\
                     Accept: text/event-stream\r\n{since}\r\n"
                )
                .into_bytes()
            }
            Way::Polls => subscriber.poll(),
            Way::Redis => format!("SUBSCRIBE {channel}\r\n").into_bytes(),
        };
        world.client_send(id, &request);
        Some(subscriber)
    }

    fn poll(&self) -> Vec<u8> {
        let since = self
            .next
            .as_ref()
            .map_or(String::new(), |(epoch, number)| format!("since={epoch}-{number}&wait=5"));
        let channel = &self.channel;
        format!("GET /channels/{channel}?{since} HTTP/1.1\r\nHost: example.test\r\n\r\n")
            .into_bytes()
    }

    pub(crate) fn stands(&self, world: &World) -> bool {
        world.client_state(self.id) == ClientState::Open
    }

    /// Stalls, or ends the stall.
    pub(crate) fn stall(&self, world: &World, random: &mut Random) {
        let stall = if random.below(2) == 0 { Stall::Reading } else { Stall::Nothing };
        world.client_stall(self.id, stall);
    }

    /// Reads what has arrived, and answers it if the protocol requires it.
    pub(crate) fn read(&mut self, world: &World) -> Vec<Heard> {
        self.input.extend(world.client_received(self.id));
        let mut heard = Vec::new();
        if self.way == Way::Polls {
            self.read_polls(world, &mut heard);
            return heard;
        }
        if self.stream == Stream::Head && self.way != Way::Redis {
            let Some(head) = parse_head(&self.input) else { return heard };
            let expected = if self.way == Way::Events { 200 } else { 101 };
            if head.status != expected {
                // A server that stops says so.
                assert_eq!(head.status, 503, "{self:?}: {}", String::from_utf8_lossy(&self.input));
                return vec![Heard::Ends("503".to_owned())];
            }
            self.input.drain(..head.length);
            self.stream = Stream::Body;
            if self.way == Way::Socket {
                heard.push(Heard::Stands(None));
            }
        }
        match self.way {
            Way::Socket | Way::Objects => {
                while let Some((opcode, payload)) = self.take_frame() {
                    self.read_frame(world, opcode, payload, &mut heard);
                }
            }
            Way::Events => self.read_events(&mut heard),
            Way::Redis => self.read_redis(&mut heard),
            Way::Polls => {}
        }
        heard
    }

    fn take_frame(&mut self) -> Option<(u8, Vec<u8>)> {
        take_frame(&mut self.input)
    }

    fn read_frame(&mut self, world: &World, opcode: u8, payload: Vec<u8>, heard: &mut Vec<Heard>) {
        match opcode {
            8 => heard.push(Heard::Ends(format!(
                "{} {}",
                u16::from_be_bytes([payload[0], payload[1]]),
                String::from_utf8_lossy(&payload[2..])
            ))),
            9 => world.client_send(self.id, &frame(10, &payload)),
            1 if self.way == Way::Socket => {
                heard.push(Heard::Message(None, String::from_utf8(payload).unwrap()));
            }
            1 => self.read_object(&serde_json::from_slice(&payload).unwrap(), heard),
            other => panic!("a frame of opcode {other}"),
        }
    }

    fn read_object(&mut self, object: &Value, heard: &mut Vec<Heard>) {
        if object.get("subscribed").is_some() {
            if object["recovered"] == false {
                heard.push(Heard::Lost);
            }
            let at = position(object["since"].as_str().unwrap());
            self.epoch.clone_from(&at.0);
            return heard.push(Heard::Stands(Some(at)));
        }
        assert_eq!(object["channel"], *self.channel, "{object}");
        let number = object["offset"].as_u64().unwrap();
        let text = object["data"].as_str().unwrap().to_owned();
        heard.push(Heard::Message(Some((self.epoch.clone(), number)), text));
    }

    fn read_events(&mut self, heard: &mut Vec<Heard>) {
        let Some(end) = self.input.windows(2).rposition(|two| two == b"\n\n") else { return };
        let text = String::from_utf8(self.input.drain(..end + 2).collect()).unwrap();
        for event in text.split_terminator("\n\n") {
            let field = |name: &str| {
                event.lines().find_map(|line| line.strip_prefix(name).map(str::trim_start))
            };
            let at = field("id:").map(position);
            match (field("event:"), field("data:")) {
                (None, Some(data)) => heard.push(Heard::Message(at, data.to_owned())),
                (Some("lost"), _) => heard.push(Heard::Lost),
                (Some(other), data) => heard.push(Heard::Ends(format!("{other} {data:?}"))),
                (None, None) if at.is_some() => heard.push(Heard::Stands(at)),
                (None, None) => assert!(event.starts_with([':', 'r']), "{event}"),
            }
        }
    }

    fn read_polls(&mut self, world: &World, heard: &mut Vec<Heard>) {
        while let Some(answer) = parse(&self.input, Asked::Body, Input::Open) {
            self.input.drain(..answer.length);
            if answer.status != 200 {
                assert_eq!(answer.status, 503, "{answer:?}");
                heard.push(Heard::Ends("503".to_owned()));
                return;
            }
            let told: Value = serde_json::from_slice(&answer.body).unwrap();
            let (epoch, last) = position(told["since"].as_str().unwrap());
            if told["recovered"] == false {
                heard.push(Heard::Lost);
            }
            for message in told["messages"].as_array().unwrap() {
                let number = message["offset"].as_u64().unwrap();
                let text = message["data"].as_str().unwrap().to_owned();
                heard.push(Heard::Message(Some((epoch.clone(), number)), text));
            }
            heard.push(Heard::Stands(Some((epoch.clone(), last))));
            self.next = Some((epoch, last));
            if answer.closes() {
                heard.push(Heard::Ends("closes".to_owned()));
                return;
            }
            world.client_send(self.id, &self.poll());
        }
    }

    fn read_redis(&mut self, heard: &mut Vec<Heard>) {
        while let Some((parts, used)) = reply(&self.input) {
            self.input.drain(..used);
            match parts[0].as_str() {
                "subscribe" => heard.push(Heard::Stands(None)),
                "message" => {
                    assert_eq!(parts[1], self.channel);
                    heard.push(Heard::Message(None, parts[2].clone()));
                }
                other => heard.push(Heard::Ends(other.to_owned())),
            }
        }
    }
}

/// Takes the first frame of a server: its opcode and payload.
pub(crate) fn take_frame(input: &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
    let (first, length) = (*input.first()?, *input.get(1)?);
    assert_eq!(first & 0xf0, 0x80, "whole frames without an extension");
    let (head, length) = match length {
        126 => (4, usize::from(u16::from_be_bytes(input.get(2..4)?.try_into().unwrap()))),
        short => {
            assert!(short < 126, "no mask, and no message of 64 KiB");
            (2, usize::from(short))
        }
    };
    let payload = input.get(head..head + length)?.to_vec();
    input.drain(..head + length);
    Some((first & 0x0f, payload))
}

/// The parts of the first reply of Redis, and its length: lists of strings and numbers, and lines.
fn reply(input: &[u8]) -> Option<(Vec<String>, usize)> {
    let (parts, mut used) = match reply_line(input)? {
        (b'*', count, used) => (count.parse().unwrap(), used),
        (_, text, used) => return Some((vec![text], used)),
    };
    let mut texts = Vec::new();
    for _ in 0..parts {
        let (kind, text, line) = reply_line(&input[used..])?;
        used += line;
        if kind != b'$' {
            texts.push(text);
            continue;
        }
        let length: usize = text.parse().unwrap();
        let bytes = input.get(used..used + length + 2)?;
        texts.push(String::from_utf8(bytes[..length].to_vec()).unwrap());
        used += length + 2;
    }
    Some((texts, used))
}

fn reply_line(input: &[u8]) -> Option<(u8, String, usize)> {
    let end = input.windows(2).position(|two| two == b"\r\n")?;
    Some((input[0], String::from_utf8(input[1..end].to_vec()).unwrap(), end + 2))
}
