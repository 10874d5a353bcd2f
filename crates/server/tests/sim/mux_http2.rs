//! The frames of a multiplexing client as HTTP/2 (RFC 9113).
//!
//! Owns the client's side of a connection: preface, settings, HPACK, numbers of streams, and the connection's windows.
//! It shares the codec with the server, and nothing else.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wire::h2::{
    AfterFrame, ErrorCode, H2Frame, PREFACE, SettingId, begin_headers, end_headers, read_frame,
    write_data_head, write_ping_ack, write_reset, write_settings, write_settings_ack,
    write_window_update,
};
use wire::hpack::{Decoder, Encoder, Indexing};
use world::Random;

use crate::mux_frames::{
    DATA, END, Frame, HEAD, INPUT_WINDOW, OPEN, OUTPUT_WINDOW, RESET, WINDOW, credit_of,
    first_frame, frame,
};
use crate::mux_socket::Pongs;

/// Streams that are open at once, as the server allows.
const STREAMS: usize = 100;

/// Content that waits for room in the connection's window.
struct Pending {
    stream: u32,
    bytes: Vec<u8>,
    after: AfterFrame,
}

/// The client's side of a connection.
pub(crate) struct Http2Side {
    decoder: Decoder,
    encoder: Encoder,
    /// The numbers of streams for those of the client's frames, and back.
    streams: BTreeMap<u16, u32>,
    numbers: BTreeMap<u32, u16>,
    /// Streams that are over for this side.
    over: BTreeSet<u32>,
    next: u32,
    received: Vec<u8>,
    /// Frames of streams that are not open yet.
    later: Vec<u8>,
    pending: VecDeque<Pending>,
    /// Bytes that the server takes on all streams.
    room: usize,
    /// Bytes that the server takes on a new stream.
    stream_room: i64,
    /// Bytes that the server takes on each stream: negative if it has made all windows smaller.
    rooms: BTreeMap<u32, i64>,
    /// Bytes of content for which the server was given no room again.
    owed: u32,
    /// Whether it answers PING: without that the server cannot know what it has read.
    pub(crate) pings: Pongs,
    /// GOAWAY frames that came.
    pub(crate) goaways: usize,
    /// How often streams have lost their own windows.
    pub(crate) shrinkings: usize,
    /// Frames that the client is told next.
    told: Vec<u8>,
    output: Vec<u8>,
}

impl Http2Side {
    pub(crate) fn new() -> Self {
        let mut output = PREFACE.to_vec();
        let window = u32::try_from(OUTPUT_WINDOW).unwrap();
        write_settings(&[(SettingId::INITIAL_WINDOW_SIZE, window)], &mut output);
        Self {
            decoder: Decoder::new(4_096),
            encoder: Encoder::new(),
            streams: BTreeMap::new(),
            numbers: BTreeMap::new(),
            over: BTreeSet::new(),
            next: 1,
            received: Vec::new(),
            later: Vec::new(),
            pending: VecDeque::new(),
            room: 65_535,
            stream_room: i64::try_from(INPUT_WINDOW).unwrap(),
            rooms: BTreeMap::new(),
            owed: 0,
            pings: Pongs::Sent,
            goaways: 0,
            shrinkings: 0,
            told: Vec::new(),
            output,
        }
    }

    /// The bytes that are sent next.
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Sends frames of the client.
    pub(crate) fn say(&mut self, wire: &[u8], random: &mut Random) {
        let all = [std::mem::take(&mut self.later), wire.to_vec()].concat();
        let mut rest = &all[..];
        while let Some(frame) = first_frame(rest) {
            let (whole, mut behind) = rest.split_at(frame.length);
            match self.streams.get(&frame.number) {
                Some(stream) => self.say_on(*stream, frame),
                None if frame.kind == OPEN && self.numbers.len() - self.over.len() < STREAMS => {
                    // A body that is empty ends with its head only if the head says so.
                    let may_end = frame.content.first() == Some(&0)
                        || frame.content.windows(15).any(|name| name == b"\ncontent-length");
                    let end = first_frame(behind)
                        .filter(|next| may_end && next.kind == END && next.number == frame.number);
                    self.open(frame, end.map_or(AfterFrame::More, |_| AfterFrame::Nothing), random);
                    behind = &behind[end.map_or(0, |end| end.length)..];
                }
                None => self.later.extend_from_slice(whole),
            }
            rest = behind;
        }
        self.flush();
    }

    fn open(&mut self, frame: Frame<'_>, after: AfterFrame, random: &mut Random) {
        let stream = self.next;
        self.next += 2;
        self.streams.insert(frame.number, stream);
        self.numbers.insert(stream, frame.number);
        self.rooms.insert(stream, self.stream_room);
        // If the server has made windows smaller meanwhile, content waits here.
        let more = u32::try_from(self.stream_room).unwrap().saturating_sub(INPUT_WINDOW as u32);
        crate::mux_frames::frame(WINDOW, frame.number, &more.to_be_bytes(), &mut self.told);
        let (follows, lines) = frame.content.split_first().unwrap();
        let mut lines = std::str::from_utf8(lines).unwrap().split('\n');
        let (method, target) = (lines.next().unwrap(), lines.next().unwrap());
        let authority = lines.next().unwrap();
        let priorities = [Some("u=0"), Some("u=7, i"), Some("i"), None, None, None];
        let priority = priorities[random.index(6)];
        let place = begin_headers(&mut self.output);
        self.encoder.begin_block(&mut self.output);
        let mut put = |name: &str, value: &str| {
            let indexing = [Indexing::Add, Indexing::Skip, Indexing::Never][random.index(3)];
            self.encoder.encode(name, value.as_bytes(), indexing, &mut self.output);
        };
        match follows {
            2 => {
                put(":method", "CONNECT");
                put(":protocol", lines.next().unwrap());
            }
            _ => put(":method", method),
        }
        put(":scheme", "http");
        put(":authority", authority);
        put(":path", target);
        while let Some(name) = lines.next() {
            put(name, lines.next().unwrap());
        }
        if let Some(priority) = priority {
            put("priority", priority);
        }
        // Some heads come in CONTINUATION frames.
        let most = [16_384, 16_384, 60][random.index(3)];
        end_headers(place, stream, after, most, &mut self.output);
    }

    fn say_on(&mut self, stream: u32, frame: Frame<'_>) {
        match frame.kind {
            DATA => {
                let (bytes, after) = (frame.content.to_vec(), AfterFrame::More);
                self.pending.push_back(Pending { stream, bytes, after });
            }
            END => {
                let (bytes, after) = (Vec::new(), AfterFrame::Nothing);
                self.pending.push_back(Pending { stream, bytes, after });
            }
            RESET => {
                self.pending.retain(|pending| pending.stream != stream);
                write_reset(stream, ErrorCode::Cancel, &mut self.output);
                self.over.insert(stream);
            }
            WINDOW if !self.over.contains(&stream) => {
                let credit = u32::try_from(credit_of(frame).unwrap()).unwrap();
                write_window_update(stream, credit, &mut self.output);
            }
            WINDOW => {}
            kind => panic!("a frame of kind {kind}"),
        }
    }

    /// Sends content as far as the windows allow.
    fn flush(&mut self) {
        let mut blocked = BTreeSet::new();
        for mut pending in std::mem::take(&mut self.pending) {
            if self.over.contains(&pending.stream) {
                continue;
            }
            let of_stream = self.rooms.get_mut(&pending.stream).unwrap();
            let room = self.room.min(usize::try_from(*of_stream).unwrap_or(0));
            let (length, whole) = (pending.bytes.len().min(room), pending.bytes.len());
            if blocked.contains(&pending.stream) || length == 0 && whole > 0 {
                blocked.insert(pending.stream);
                self.pending.push_back(pending);
                continue;
            }
            self.room -= length;
            *of_stream -= i64::try_from(length).unwrap();
            let after = if length == whole { pending.after } else { AfterFrame::More };
            let bytes: Vec<u8> = pending.bytes.drain(..length).collect();
            let sent = u32::try_from(length).unwrap();
            write_data_head(pending.stream, sent, after, &mut self.output);
            self.output.extend_from_slice(&bytes);
            if length < whole {
                blocked.insert(pending.stream);
                self.pending.push_back(pending);
            }
        }
    }

    /// Takes bytes of the server, and returns them as frames of the client.
    pub(crate) fn hear(&mut self, bytes: &[u8], random: &mut Random) -> Vec<u8> {
        self.received.extend_from_slice(bytes);
        let received = std::mem::take(&mut self.received);
        let (mut heard, mut at) = (std::mem::take(&mut self.told), 0);
        while let Some((frame, length)) = read_frame(&received[at..], 16_384).expect("a frame") {
            at += length;
            self.hear_frame(frame, &mut heard);
        }
        self.received.extend_from_slice(&received[at..]);
        // The server sometimes waits for the window of the connection.
        if self.owed > 0 && (self.owed > 50_000 || random.below(3) == 0) {
            write_window_update(0, std::mem::take(&mut self.owed), &mut self.output);
        }
        self.flush();
        heard
    }

    fn hear_frame(&mut self, frame: H2Frame<'_>, heard: &mut Vec<u8>) {
        match frame {
            H2Frame::Headers { stream, fragment, end_stream, end_headers, .. } => {
                assert!(end_headers, "a head of the server fits a frame");
                let block = self.block_of(fragment);
                self.tell(HEAD, stream, &block, heard);
                self.after(stream, end_stream, heard);
            }
            H2Frame::Data { stream, content, flow_bytes, end_stream } => {
                self.owed += flow_bytes;
                if !content.is_empty() {
                    self.tell(DATA, stream, content, heard);
                }
                self.after(stream, end_stream, heard);
            }
            H2Frame::Reset { stream, .. } => {
                self.tell(RESET, stream, b"", heard);
                self.over.insert(stream);
            }
            H2Frame::WindowUpdate { stream: 0, increment } => {
                self.room += usize::try_from(increment).unwrap();
            }
            H2Frame::WindowUpdate { stream, increment } => {
                *self.rooms.get_mut(&stream).unwrap() += i64::from(increment);
                self.tell(WINDOW, stream, &increment.to_be_bytes(), heard);
            }
            H2Frame::Settings(settings) => {
                for (id, value) in settings {
                    if id == SettingId::INITIAL_WINDOW_SIZE {
                        let change = i64::from(value) - self.stream_room;
                        self.rooms.values_mut().for_each(|room| *room += change);
                        let more = u32::try_from(change).unwrap_or(0);
                        let open: Vec<u32> = self.numbers.keys().copied().collect();
                        for stream in open {
                            self.tell(WINDOW, stream, &more.to_be_bytes(), heard);
                        }
                        self.stream_room = i64::from(value);
                        self.shrinkings += usize::from(change < 0 && value == 0);
                    }
                }
                write_settings_ack(&mut self.output);
            }
            H2Frame::Ping { opaque } if self.pings == Pongs::Sent => {
                write_ping_ack(opaque, &mut self.output);
            }
            H2Frame::Ping { .. } => {}
            H2Frame::GoAway { code, debug, .. } => {
                assert_eq!(code, ErrorCode::NoError, "{}", debug.escape_ascii());
                self.goaways += 1;
            }
            H2Frame::SettingsAck | H2Frame::PingAck { .. } => {}
            frame => panic!("{frame:?}"),
        }
    }

    /// Passes something on that concerns a stream, unless it is over for this side.
    fn tell(&mut self, kind: u8, stream: u32, content: &[u8], heard: &mut Vec<u8>) {
        if self.over.contains(&stream) {
            return;
        }
        let number = self.numbers[&stream];
        frame(kind, number, content, heard);
    }

    fn after(&mut self, stream: u32, end_stream: bool, heard: &mut Vec<u8>) {
        if end_stream {
            self.tell(END, stream, b"", heard);
            self.over.insert(stream);
        }
    }

    /// A head of the server, as streams write it.
    fn block_of(&mut self, fragment: &[u8]) -> Vec<u8> {
        let (mut status, mut fields) = (0_u16, Vec::new());
        let read = self.decoder.decode(fragment, |name, value| {
            if name == b":status" {
                status = std::str::from_utf8(value).unwrap().parse().unwrap();
                return;
            }
            fields.extend_from_slice(&u16::try_from(name.len()).unwrap().to_be_bytes());
            fields.extend_from_slice(&u32::try_from(value.len()).unwrap().to_be_bytes());
            fields.extend_from_slice(name);
            fields.extend_from_slice(value);
        });
        read.expect("HPACK");
        let size = u32::try_from(2 + fields.len()).unwrap();
        [&size.to_be_bytes()[..], &status.to_be_bytes(), &fields].concat()
    }
}
