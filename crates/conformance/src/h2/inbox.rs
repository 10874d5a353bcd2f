//! Owns what the server sent on one HTTP/2 connection, read strictly: a frame that a server must not send ends the
//! reading with a violation, whatever the case is about. Sends nothing, and does not judge the case.

use std::collections::BTreeMap;

use wire::hpack::Decoder;

use super::ledger::Ledger;
use super::limits::{BLOCK_BYTES_MAX, NAMED_FRAMES_MAX};
use super::names;
use super::stream_answer::{Head, StreamAnswer};
use super::writer::{END_HEADERS, END_STREAM, PADDED, PRIORITY};

/// Bytes of a frame's head.
const HEAD_BYTES: usize = 9;
/// SETTINGS_HEADER_TABLE_SIZE before any setting, which the client never changes upwards.
const TABLE_BYTES: usize = 4096;

/// A frame as it came.
struct Frame<'b> {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'b [u8],
}

/// A field block that has not ended.
struct OpenBlock {
    stream: u32,
    flags: u8,
    bytes: Vec<u8>,
}

/// GOAWAY.
struct Farewell {
    last_stream: u32,
    code: u32,
}

/// The frames of the server.
pub(super) struct Inbox {
    consumed: usize,
    frames: usize,
    decoder: Decoder,
    open_block: Option<OpenBlock>,
    settings: Option<BTreeMap<u16, u32>>,
    acks: usize,
    pings: Vec<Vec<u8>>,
    farewell: Option<Farewell>,
    answers: BTreeMap<u32, StreamAnswer>,
    content_bytes: i64,
    named: Vec<String>,
    violation: Option<String>,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self {
            consumed: 0,
            frames: 0,
            decoder: Decoder::new(TABLE_BYTES),
            open_block: None,
            settings: None,
            acks: 0,
            pings: Vec::new(),
            farewell: None,
            answers: BTreeMap::new(),
            content_bytes: 0,
            named: Vec::new(),
            violation: None,
        }
    }

    /// Takes the frames that are complete in all that was received.
    pub(super) fn take(&mut self, received: &[u8], ledger: &Ledger) {
        while self.violation.is_none() {
            let rest = &received[self.consumed..];
            let Some((head, behind)) = rest.split_first_chunk::<HEAD_BYTES>() else { return };
            let length =
                usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
            if length > ledger.frame_bytes() as usize {
                self.violation = Some(format!("a frame of {length} bytes (RFC 9113 section 4.2)"));
                return;
            }
            let Some(payload) = behind.get(..length) else { return };
            self.consumed += HEAD_BYTES + length;
            let stream = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
            let frame = Frame { kind: head[3], flags: head[4], stream, payload };
            self.name(&frame);
            if let Err(violation) = self.read(&frame, ledger) {
                let name = names::frame_name(frame.kind);
                self.violation = Some(format!("{name} on stream {stream}: {violation}"));
            }
        }
    }

    /// The rule that the server broke.
    pub(super) fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// The server's settings, once they came.
    pub(super) fn settings(&self) -> Option<&BTreeMap<u16, u32>> {
        self.settings.as_ref()
    }

    /// SETTINGS that the server acknowledged.
    pub(super) fn acks(&self) -> usize {
        self.acks
    }

    /// Whether a PING with these bytes was acknowledged.
    pub(super) fn acknowledged(&self, opaque: &[u8]) -> bool {
        self.pings.iter().any(|ping| ping == opaque)
    }

    /// The code of the last GOAWAY.
    pub(super) fn farewell(&self) -> Option<u32> {
        self.farewell.as_ref().map(|farewell| farewell.code)
    }

    pub(super) fn answer(&self, stream: u32) -> Option<&StreamAnswer> {
        self.answers.get(&stream)
    }

    /// The frames by name, in order.
    pub(super) fn to_text(&self) -> String {
        let mut text = self.named.join(", ");
        if self.frames > self.named.len() {
            text.push_str(&format!(", ... {} frames in all", self.frames));
        }
        text
    }

    fn name(&mut self, frame: &Frame<'_>) {
        self.frames += 1;
        if self.named.len() >= NAMED_FRAMES_MAX {
            return;
        }
        let name = names::frame_name(frame.kind);
        let number = |bytes: Option<&[u8]>| {
            bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
        };
        let detail = match frame.kind {
            3 => names::error_name(number(frame.payload.get(..4))),
            7 => {
                let debug = frame.payload.get(8..).unwrap_or_default();
                let code = names::error_name(number(frame.payload.get(4..8)));
                format!("{code} {}", crate::escape::quote(debug))
            }
            8 => number(frame.payload.get(..4)).to_string(),
            _ => format!("{} bytes", frame.payload.len()),
        };
        let flags = frame.flags;
        self.named.push(format!("{name} {} flags {flags:#x} {}", frame.stream, detail.trim()));
    }

    fn read(&mut self, frame: &Frame<'_>, ledger: &Ledger) -> Result<(), String> {
        if self.settings.is_none() && (frame.kind != 4 || frame.flags & END_STREAM != 0) {
            return Err("the first frame is not SETTINGS (RFC 9113 section 3.4)".to_owned());
        }
        if let (Some(block), true) = (&self.open_block, frame.kind != 9) {
            return Err(format!("within the field block of stream {}", block.stream));
        }
        match frame.kind {
            0 => self.on_data(frame, ledger),
            1 => self.on_headers(frame, ledger),
            3 => self.on_reset(frame),
            4 => self.on_settings(frame),
            5 => Err("a server may push only what it was allowed to".to_owned()),
            6 => self.on_ping(frame),
            7 => self.on_goaway(frame),
            8 => on_window_update(frame),
            9 => self.on_continuation(frame, ledger),
            _ => Ok(()),
        }
    }

    fn on_data(&mut self, frame: &Frame<'_>, ledger: &Ledger) -> Result<(), String> {
        let content = unpadded(frame, 0)?;
        let flow = i64::try_from(frame.payload.len()).expect("a frame is short");
        self.content_bytes += flow;
        if self.content_bytes > ledger.window(0) {
            return Err("more than the window of the connection".to_owned());
        }
        let answer = self.answers.get_mut(&frame.stream).ok_or("DATA before a head")?;
        answer.data(content, flow)?;
        if answer.flow_bytes() > ledger.window(frame.stream) {
            return Err("more than the window of the stream".to_owned());
        }
        if frame.flags & END_STREAM != 0 { answer.end() } else { Ok(()) }
    }

    fn on_headers(&mut self, frame: &Frame<'_>, ledger: &Ledger) -> Result<(), String> {
        if !ledger.has_opened(frame.stream) {
            return Err("the client has not opened it".to_owned());
        }
        let skipped = if frame.flags & PRIORITY != 0 { 5 } else { 0 };
        let bytes = unpadded(frame, skipped)?.to_vec();
        self.open_block = Some(OpenBlock { stream: frame.stream, flags: frame.flags, bytes });
        if frame.flags & END_HEADERS != 0 { self.end_block() } else { Ok(()) }
    }

    fn on_continuation(&mut self, frame: &Frame<'_>, _ledger: &Ledger) -> Result<(), String> {
        let Some(block) = &mut self.open_block else {
            return Err("no field block is open".to_owned());
        };
        if block.stream != frame.stream {
            return Err(format!("the open field block is that of stream {}", block.stream));
        }
        block.bytes.extend_from_slice(frame.payload);
        if block.bytes.len() > BLOCK_BYTES_MAX {
            return Err(format!("a field block of more than {BLOCK_BYTES_MAX} bytes"));
        }
        if frame.flags & END_HEADERS != 0 { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), String> {
        let Some(block) = self.open_block.take() else { return Ok(()) };
        let mut fields = Vec::new();
        let decoded = self.decoder.decode(&block.bytes, |name, value| {
            fields.push((String::from_utf8_lossy(name).into_owned(), value.to_vec()));
        });
        decoded.map_err(|error| format!("a field block that cannot be decoded: {error}"))?;
        let answer = self.answers.entry(block.stream).or_default();
        answer.head(Head::of(fields, answer.has_final_head())?)?;
        if block.flags & END_STREAM != 0 { answer.end() } else { Ok(()) }
    }

    fn on_reset(&mut self, frame: &Frame<'_>) -> Result<(), String> {
        let code = u32::from_be_bytes(exactly(frame.payload)?);
        if frame.stream == 0 {
            return Err("a reset of the connection".to_owned());
        }
        self.answers.entry(frame.stream).or_default().reset(code);
        Ok(())
    }

    fn on_settings(&mut self, frame: &Frame<'_>) -> Result<(), String> {
        if frame.stream != 0 {
            return Err("settings of a stream".to_owned());
        }
        if frame.flags & END_STREAM != 0 {
            self.acks += 1;
            return if frame.payload.is_empty() { Ok(()) } else { Err("not empty".to_owned()) };
        }
        let (settings, rest) = frame.payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err("a part of a setting".to_owned());
        }
        let known = self.settings.get_or_insert_default();
        for setting in settings {
            let id = u16::from_be_bytes([setting[0], setting[1]]);
            let value = u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]);
            let right = match id {
                2 => value == 0,
                4 => value <= 0x7fff_ffff,
                5 => (16_384..=0x00ff_ffff).contains(&value),
                8 | 9 => value <= 1,
                _ => true,
            };
            if !right {
                return Err(format!("{} = {value}", names::setting_name(id)));
            }
            known.insert(id, value);
        }
        Ok(())
    }

    fn on_ping(&mut self, frame: &Frame<'_>) -> Result<(), String> {
        let opaque: [u8; 8] = exactly(frame.payload)?;
        if frame.stream != 0 {
            return Err("a ping of a stream".to_owned());
        }
        if frame.flags & END_STREAM != 0 {
            self.pings.push(opaque.to_vec());
        }
        Ok(())
    }

    fn on_goaway(&mut self, frame: &Frame<'_>) -> Result<(), String> {
        let Some((numbers, _)) = frame.payload.split_first_chunk::<8>() else {
            return Err("too short".to_owned());
        };
        let last_stream = u32::from_be_bytes([numbers[0], numbers[1], numbers[2], numbers[3]]);
        let code = u32::from_be_bytes([numbers[4], numbers[5], numbers[6], numbers[7]]);
        if frame.stream != 0 {
            return Err("a farewell of a stream".to_owned());
        }
        if self.farewell.as_ref().is_some_and(|before| before.last_stream < last_stream) {
            return Err("the last stream became larger (RFC 9113 section 6.8)".to_owned());
        }
        self.farewell = Some(Farewell { last_stream, code });
        Ok(())
    }
}

fn on_window_update(frame: &Frame<'_>) -> Result<(), String> {
    let increment = u32::from_be_bytes(exactly(frame.payload)?) & 0x7fff_ffff;
    if increment == 0 { Err("an increment of 0".to_owned()) } else { Ok(()) }
}

fn exactly<const BYTES: usize>(payload: &[u8]) -> Result<[u8; BYTES], String> {
    payload.try_into().map_err(|_| format!("{} bytes instead of {BYTES}", payload.len()))
}

/// The payload without padding and without the bytes that are skipped.
fn unpadded<'b>(frame: &Frame<'b>, skipped: usize) -> Result<&'b [u8], String> {
    let short = || "too short for its padding".to_owned();
    let (padding, payload) = match frame.flags & PADDED {
        0 => (0, frame.payload),
        _ => frame
            .payload
            .split_first()
            .map(|(said, rest)| (usize::from(*said), rest))
            .ok_or_else(short)?,
    };
    let end = payload.len().checked_sub(padding).ok_or_else(short)?;
    payload.get(skipped..end).ok_or_else(short)
}

#[cfg(test)]
mod tests {
    use super::super::writer::{Head as FrameHead, Literal, write_field, write_frame};
    use super::*;

    /// Kind, flags, stream, payload.
    type Sent<'b> = (u8, u8, u32, &'b [u8]);

    /// The rule that SETTINGS and then these frames break.
    fn violation(frames: &[Sent<'_>]) -> Option<String> {
        let mut ledger = Ledger::new();
        ledger.open(1);
        let mut bytes = Vec::new();
        write_frame(FrameHead { kind: 4, flags: 0, stream: 0, length: None }, b"", &mut bytes);
        for (kind, flags, stream, payload) in frames {
            let head = FrameHead { kind: *kind, flags: *flags, stream: *stream, length: None };
            write_frame(head, payload, &mut bytes);
        }
        let mut whole = Inbox::new();
        whole.take(&bytes, &ledger);
        let mut parts = Inbox::new();
        (0..=bytes.len()).for_each(|end| parts.take(&bytes[..end], &ledger));
        assert_eq!(whole.violation(), parts.violation(), "the same in any parts");
        whole.violation().map(str::to_owned)
    }

    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        for (name, value) in fields {
            write_field(Literal::Plain, name.as_bytes(), value.as_bytes(), &mut out);
        }
        out
    }

    #[test]
    fn a_right_answer_breaks_no_rule() {
        let early = block(&[(":status", "103"), ("link", "</a>")]);
        let head = block(&[(":status", "200"), ("content-length", "5")]);
        let trailers = block(&[("x-sum", "1")]);
        let frames: &[Sent<'_>] = &[
            (1, 4, 1, &early),
            (1, 0, 1, &head[..3]),
            (9, 4, 1, &head[3..]),
            (0, 8, 1, b"\x02hel\0\0"),
            (0xfa, 0xff, 7, b"anything"),
            (0, 0, 1, b"lo"),
            (1, 5, 1, &trailers),
            (3, 0, 1, &[0; 4]),
        ];
        assert_eq!(violation(frames), None);
    }

    #[test]
    fn frames_that_no_server_may_send_are_told() {
        let head = block(&[(":status", "200")]);
        let ended: Sent<'_> = (1, 5, 1, &head);
        let open: Sent<'_> = (1, 4, 1, &head);
        let upgrade = block(&[(":status", "200"), ("connection", "close")]);
        let upper = block(&[(":status", "200"), ("Server", "x")]);
        let late = block(&[("server", "x"), (":status", "200")]);
        let switching = block(&[(":status", "101")]);
        let short = block(&[(":status", "200"), ("content-length", "6")]);
        let cases: [(&[Sent<'_>], &str); 21] = [
            (&[(4, 1, 0, b"123456")], "not empty"),
            (&[(4, 0, 0, b"\0\x02\0\0\0\x01")], "ENABLE_PUSH = 1"),
            (&[(4, 0, 1, b"")], "settings of a stream"),
            (&[(1, 5, 3, &head)], "has not opened it"),
            (&[(0, 1, 1, b"early")], "before a head"),
            (&[(5, 4, 1, b"\0\0\0\x02")], "push"),
            (&[(6, 0, 0, b"short")], "5 bytes instead of 8"),
            (&[(8, 0, 0, &[0; 4])], "an increment of 0"),
            (&[(9, 4, 1, b"")], "no field block is open"),
            (&[(1, 0, 1, &head), (0, 0, 1, b"")], "within the field block"),
            (&[(1, 4, 1, b"\x80")], "cannot be decoded"),
            (&[(1, 5, 1, b"")], "no :status"),
            (&[(1, 5, 1, &upgrade)], "the field connection"),
            (&[(1, 5, 1, &upper)], "the field name 'Server'"),
            (&[(1, 5, 1, &late)], "the pseudo field :status"),
            (&[(1, 5, 1, &switching)], "101"),
            (&[ended, (0, 1, 1, b"more")], "behind END_STREAM"),
            (&[open, (3, 0, 1, &[0; 4]), (0, 1, 1, b"x")], "behind RST_STREAM"),
            (&[open, (0, 9, 1, b"\x09x")], "too short for its padding"),
            (&[(1, 4, 1, &short), (0, 1, 1, b"hello")], "not as long as content-length"),
            (
                &[(7, 0, 0, b"\0\0\0\x01\0\0\0\0"), (7, 0, 0, b"\0\0\0\x03\0\0\0\0")],
                "became larger",
            ),
        ];
        for (frames, told) in cases {
            let violation = violation(frames).unwrap_or_else(|| panic!("not told: {told}"));
            assert!(violation.contains(told), "'{violation}' instead of '{told}'");
        }
    }

    #[test]
    fn content_beyond_the_window_is_told() {
        let head = block(&[(":status", "200")]);
        let piece = [b'a'; 16_384];
        let frames =
            [(1, 4, 1, &head[..]), (0, 0, 1, &piece), (0, 0, 1, &piece), (0, 0, 1, &piece)];
        assert_eq!(violation(&frames), None);
        let more = [&frames[..], &[(0, 0, 1, &piece)]].concat();
        assert!(violation(&more).is_some_and(|text| text.contains("the window of the connection")));
    }
}
