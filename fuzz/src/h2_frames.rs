//! Frames of HTTP/2: any cut gives the same result, what was read is written and read again, and a head that is
//! accepted is a request.

use wire::h2::{
    AfterFrame, AfterHead, FrameScope, H2Frame, PeerSettings, RequestFields, ResponseFields,
    StreamPriority, TrailerFields, begin_headers, end_headers, read_frame, write_data_head,
    write_goaway, write_ping, write_ping_ack, write_reset, write_settings, write_settings_ack,
    write_window_update,
};
use wire::hpack::Decoder;
use wire::http::head::HeadLimits;
use wire::http::kept::KeptHead;
use wire::http::url::Scheme;
use wire::limits::HPACK_TABLE_BYTES;

use crate::cutting;

/// The code that it runs.
pub const COVERS: &[&str] = &["crates/wire/src/h2", "crates/wire/src/http/kept"];

/// Frames of clients and servers.
pub const SEEDS: &[&[u8]] = &[
    b"\0\0\x0c\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x04\0\0\xff\xff\0\0\0\x04\x01\0\0\0\0",
    b"\0\0\x0e\x01\x05\0\0\0\x01\x82\x84\x87\x41\x09a.example",
    b"\0\0\x03\x01\x00\0\0\0\x03\x83\x84\x87\0\0\x0d\x09\x04\0\0\0\x03\x41\x09a.example\x60\x00",
    b"\0\0\x0a\0\x09\0\0\0\x03\x02abcdefg\0\0\0\0\x04\x08\0\0\0\0\0\0\0\xff\xff",
    b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08\0\0\x08\x06\0\0\0\0\x0012345678",
    b"\0\0\x0b\x07\0\0\0\0\0\0\0\0\x05\0\0\0\x0bcal\0\0\x08\x10\0\0\0\0\0\0\0\0\x05u=1i",
    b"\0\0\x07\x01\x25\0\0\0\x01\0\0\0\x01\x10\x88\x88",
];

/// Pieces of frames.
pub const WORDS: &[&[u8]] = &[
    b"\0\0\0\0\0\0\0\0\x01",
    b"\0\0\x01\x01\x05\0\0\0\x01\x82",
    b"\0\0\0\x09\x04\0\0\0\x01",
    b"\0\0\x04\x08\0\0\0\0\0\0\0\0\x01",
    b"\x82\x84\x87",
    b"\x60\x03a=b",
    b"\x40\x04host\x09a.example",
    b"\x0f\x0d\x013",
    b"\x48\x03200",
    b"\x40\x09:protocol\x09websocket",
    b"\x42\x07CONNECT",
    b"\x80\0\0\0",
    b"\xff\xff\xff",
];

/// A small bound, so that inputs reach it.
const FRAME_BYTES: u32 = 300;

/// Checks the properties of this module for one input.
pub fn check(data: &[u8]) {
    cutting::assert_settles(data, &"Ok(None)".to_owned(), |data| {
        format!("{:?}", read_frame(data, FRAME_BYTES))
    });
    let mut heads = Heads::new();
    let mut rest = data;
    loop {
        match read_frame(rest, FRAME_BYTES) {
            Ok(None) => return,
            Ok(Some((frame, length))) => {
                check_written(frame);
                if heads.take(frame).is_none() {
                    return;
                }
                rest = &rest[length..];
            }
            Err(error) if matches!(error.scope, FrameScope::Stream(_)) => {
                assert!(error.bytes > 0);
                rest = &rest[error.bytes..];
            }
            Err(_) => return,
        }
    }
}

/// Writes a frame and reads it again.
fn check_written(frame: H2Frame<'_>) {
    let mut out = Vec::new();
    let after = |is_last| if is_last { AfterFrame::Nothing } else { AfterFrame::More };
    match frame {
        H2Frame::Data { stream, content, flow_bytes, end_stream } => {
            assert!(flow_bytes as usize >= content.len());
            write_data_head(stream, content.len() as u32, after(end_stream), &mut out);
            out.extend_from_slice(content);
        }
        H2Frame::Headers { stream, fragment, end_stream, end_headers: true, .. } => {
            let begin = begin_headers(&mut out);
            out.extend_from_slice(fragment);
            end_headers(begin, stream, after(end_stream), FRAME_BYTES, &mut out);
        }
        H2Frame::Reset { stream, code } => write_reset(stream, code, &mut out),
        H2Frame::Settings(settings) => {
            let mut peer = PeerSettings::default();
            let settings: Vec<_> = settings.collect();
            settings.iter().all(|(id, value)| peer.apply(*id, *value).is_ok());
            assert!(
                (16_384..1 << 24).contains(&peer.frame_bytes()) && peer.window_bytes() < 1 << 31
            );
            write_settings(&settings, &mut out);
        }
        H2Frame::SettingsAck => write_settings_ack(&mut out),
        H2Frame::Ping { opaque } => write_ping(opaque, &mut out),
        H2Frame::PingAck { opaque } => write_ping_ack(opaque, &mut out),
        H2Frame::WindowUpdate { stream, increment } => {
            assert!(increment > 0);
            write_window_update(stream, increment, &mut out);
        }
        H2Frame::GoAway { last_stream, code, debug } => {
            let Ok(debug) = str::from_utf8(debug) else { return };
            write_goaway(last_stream, code, debug, &mut out);
        }
        H2Frame::PriorityUpdate { value, .. } => {
            assert!(StreamPriority::parse(value).urgency() <= 7);
            return;
        }
        _ => return,
    }
    let (again, length) = read_frame(&out, FRAME_BYTES).expect("valid").expect("whole");
    assert_eq!(length, out.len());
    if let (H2Frame::Data { content, .. }, H2Frame::Data { content: written, .. }) = (frame, again)
    {
        assert_eq!(content, written);
    } else if let (
        H2Frame::Headers { fragment, .. },
        H2Frame::Headers { fragment: written, end_headers: true, .. },
    ) = (frame, again)
    {
        assert_eq!(fragment, written);
    } else {
        assert_eq!(format!("{frame:?}"), format!("{again:?}"));
    }
}

/// Reads blocks of fields as requests, as responses and as trailers.
struct Heads {
    decoder: Decoder,
    request: RequestFields,
    block: Vec<u8>,
    after: AfterHead,
}

impl Heads {
    fn new() -> Self {
        Self {
            decoder: Decoder::new(HPACK_TABLE_BYTES),
            request: RequestFields::new(),
            block: Vec::new(),
            after: AfterHead::Nothing,
        }
    }

    /// Takes a frame; `None`: its block is not HPACK.
    fn take(&mut self, frame: H2Frame<'_>) -> Option<()> {
        let (fragment, is_whole) = match frame {
            H2Frame::Headers { fragment, end_headers, end_stream, .. } => {
                self.block.clear();
                self.after = if end_stream { AfterHead::Nothing } else { AfterHead::Content };
                (fragment, end_headers)
            }
            H2Frame::Continuation { fragment, end_headers, .. } => (fragment, end_headers),
            _ => return Some(()),
        };
        self.block.extend_from_slice(fragment);
        if is_whole { self.read() } else { Some(()) }
    }

    fn read(&mut self) -> Option<()> {
        let (mut response, mut trailers) = (ResponseFields::new(), TrailerFields::of_answer());
        let request = &mut self.request;
        request.begin(Scheme::Https, self.after, HeadLimits::default());
        let read = self.decoder.decode(&self.block, |name, value| {
            request.note(name, value);
            response.note(name, value);
            trailers.note(name, value);
        });
        read.ok()?;
        let is_trailers = trailers.finish().is_ok();
        if let Ok(head) = response.finish() {
            assert!((100..1_000).contains(&head.status) && head.status != 101 && !is_trailers);
        }
        if let Ok(head) = request.finish() {
            assert!(!is_trailers);
            check_head(&head);
        }
        Some(())
    }
}

fn check_head(kept: &KeptHead) {
    let request = kept.request();
    let again = KeptHead::of(&request);
    assert_eq!(format!("{:?}", again.request()), format!("{request:?}"));
    assert!(request.host.is_some_and(|host| request.fields.all("host").eq([host])));
    assert!(request.fields.all("cookie").count() <= 1);
    for (name, value) in request.fields.iter() {
        assert!(!name.is_empty() && name.is_ascii() && !name.contains([':', ' ', '\r', '\n']));
        assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)));
    }
}
