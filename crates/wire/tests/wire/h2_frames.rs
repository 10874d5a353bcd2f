//! Frames of HTTP/2: what each is, what no frame can be, and that a cut changes nothing.

use proptest::prelude::*;
use wire::h2::{
    AfterFrame, ErrorCode, FrameError, FrameHead, FrameKind, FrameScope, H2Frame, PeerSettings,
    SettingId, StreamPriority, begin_headers, end_headers, read_frame, write_data_head,
    write_goaway, write_ping, write_ping_ack, write_reset, write_settings, write_settings_ack,
    write_window_update,
};

const MOST: u32 = 16_384;

fn frame(kind: FrameKind, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    FrameHead { length: payload.len() as u32, kind, flags, stream }.write(&mut out);
    out.extend_from_slice(payload);
    out
}

/// The only frame of the bytes.
fn only(bytes: &[u8]) -> H2Frame<'_> {
    let (frame, length) = read_frame(bytes, MOST).unwrap().expect("it is whole");
    assert_eq!(length, bytes.len());
    frame
}

fn error(bytes: &[u8]) -> (ErrorCode, FrameScope) {
    let FrameError { code, scope, .. } = read_frame(bytes, MOST).unwrap_err();
    (code, scope)
}

#[test]
fn a_frame_is_read_as_it_was_written() {
    let mut out = Vec::new();
    write_data_head(5, 3, AfterFrame::Nothing, &mut out);
    out.extend_from_slice(b"abc");
    let data = H2Frame::Data { stream: 5, content: b"abc", flow_bytes: 3, end_stream: true };
    assert_eq!(only(&out), data);
    assert_eq!(out[..9], [0, 0, 3, 0, 1, 0, 0, 0, 5]);

    let written = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        out
    };
    let bytes = written(&|out| write_settings_ack(out));
    assert_eq!(only(&bytes), H2Frame::SettingsAck);
    let opaque = *b"12345678";
    assert_eq!(only(&written(&|out| write_ping(opaque, out))), H2Frame::Ping { opaque });
    assert_eq!(only(&written(&|out| write_ping_ack(opaque, out))), H2Frame::PingAck { opaque });
    let bytes = written(&|out| write_goaway(7, ErrorCode::EnhanceYourCalm, "calm", out));
    let goaway =
        H2Frame::GoAway { last_stream: 7, code: ErrorCode::EnhanceYourCalm, debug: b"calm" };
    assert_eq!(only(&bytes), goaway);
    let bytes = written(&|out| write_reset(7, ErrorCode::Cancel, out));
    assert_eq!(only(&bytes), H2Frame::Reset { stream: 7, code: ErrorCode::Cancel });
    let bytes = written(&|out| write_window_update(0, 0x7fff_ffff, out));
    assert_eq!(only(&bytes), H2Frame::WindowUpdate { stream: 0, increment: 0x7fff_ffff });
    let bytes = [&[0, 0, 10, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 9], &b"u=1, i"[..]].concat();
    assert_eq!(only(&bytes), H2Frame::PriorityUpdate { stream: 9, value: b"u=1, i" });
}

#[test]
fn settings_are_read_in_order_and_used() {
    let mut out = Vec::new();
    let sent = [
        (SettingId::HEADER_TABLE_SIZE, 0),
        (SettingId::INITIAL_WINDOW_SIZE, 9),
        (SettingId::INITIAL_WINDOW_SIZE, 10),
        (SettingId(0x1234), 7),
    ];
    write_settings(&sent, &mut out);
    let H2Frame::Settings(settings) = only(&out) else { panic!("no settings") };
    assert_eq!(settings.collect::<Vec<_>>(), sent);
    let mut peer = PeerSettings::default();
    assert_eq!(
        (peer.table_bytes(), peer.window_bytes(), peer.frame_bytes()),
        (4_096, 65_535, MOST)
    );
    assert_eq!(peer.streams(), u32::MAX);
    for (id, value) in settings {
        assert_eq!(peer.apply(id, value), Ok(()));
    }
    assert_eq!((peer.table_bytes(), peer.window_bytes()), (0, 10));
}

/// RFC 9113, 6.5.2; RFC 8441, 3; RFC 9218, 2.1.
#[test]
fn a_setting_that_cannot_be_is_an_error() {
    for (id, value, expected) in [
        (SettingId::ENABLE_PUSH, 1, Ok(())),
        (SettingId::ENABLE_PUSH, 2, Err(ErrorCode::ProtocolError)),
        (SettingId::INITIAL_WINDOW_SIZE, 0x7fff_ffff, Ok(())),
        (SettingId::INITIAL_WINDOW_SIZE, 0x8000_0000, Err(ErrorCode::FlowControlError)),
        (SettingId::MAX_FRAME_SIZE, 16_383, Err(ErrorCode::ProtocolError)),
        (SettingId::MAX_FRAME_SIZE, 0xff_ffff, Ok(())),
        (SettingId::MAX_FRAME_SIZE, 0x100_0000, Err(ErrorCode::ProtocolError)),
        (SettingId::MAX_CONCURRENT_STREAMS, 0, Ok(())),
        (SettingId::MAX_HEADER_LIST_SIZE, 0, Ok(())),
        (SettingId::ENABLE_CONNECT_PROTOCOL, 2, Err(ErrorCode::ProtocolError)),
        (SettingId::NO_RFC7540_PRIORITIES, 1, Ok(())),
        (SettingId::NO_RFC7540_PRIORITIES, 2, Err(ErrorCode::ProtocolError)),
    ] {
        assert_eq!(PeerSettings::default().apply(id, value), expected, "{id:?} {value}");
    }
    let mut peer = PeerSettings::default();
    assert_eq!(peer.apply(SettingId::ENABLE_CONNECT_PROTOCOL, 0), Ok(()));
    assert_eq!(peer.apply(SettingId::ENABLE_CONNECT_PROTOCOL, 1), Ok(()));
    let again = peer.apply(SettingId::ENABLE_CONNECT_PROTOCOL, 0);
    assert_eq!(again, Err(ErrorCode::ProtocolError));
}

/// RFC 9113, 6.1 and 6.2.
#[test]
fn padding_and_dependencies_are_taken_off() {
    let padded = frame(FrameKind::DATA, 0x8, 1, b"\x02abc\0\0");
    let data = H2Frame::Data { stream: 1, content: b"abc", flow_bytes: 6, end_stream: false };
    assert_eq!(only(&padded), data);
    let whole = frame(FrameKind::DATA, 0x9, 1, b"\x03\0\0\0");
    let data = H2Frame::Data { stream: 1, content: b"", flow_bytes: 4, end_stream: true };
    assert_eq!(only(&whole), data);
    for (dependency, depends_on_itself) in
        [(b"\0\0\0\x03", true), (b"\x80\0\0\x03", true), (b"\0\0\0\x01", false)]
    {
        let payload = [&b"\x01"[..], dependency, b"\x10block\0"].concat();
        let headers = H2Frame::Headers {
            stream: 3,
            fragment: b"block",
            end_stream: true,
            end_headers: false,
            depends_on_itself,
        };
        assert_eq!(only(&frame(FrameKind::HEADERS, 0x29, 3, &payload)), headers);
        let payload = [&dependency[..], b"\x10"].concat();
        let priority = H2Frame::Priority { stream: 3, depends_on_itself };
        assert_eq!(only(&frame(FrameKind::PRIORITY, 0, 3, &payload)), priority);
    }
}

/// RFC 9113, 6.
#[test]
fn frames_that_cannot_be_end_the_connection_or_their_stream() {
    use ErrorCode::{FrameSizeError as Size, ProtocolError as Wrong};
    let all = FrameScope::Connection;
    for (kind, flags, stream, payload, expected) in [
        (FrameKind::DATA, 0, 0, &b"a"[..], (Wrong, all)),
        (FrameKind::DATA, 8, 1, b"", (Size, all)),
        (FrameKind::DATA, 8, 1, b"\x01", (Wrong, all)),
        (FrameKind::DATA, 8, 1, b"\x03ab", (Wrong, all)),
        (FrameKind::HEADERS, 4, 0, b"", (Wrong, all)),
        (FrameKind::HEADERS, 0xc, 1, b"\x02a", (Wrong, all)),
        (FrameKind::HEADERS, 0x24, 1, b"\0\0\0", (Size, all)),
        (FrameKind::HEADERS, 0x24, 1, b"\0\0\0\x02", (Size, all)),
        (FrameKind::HEADERS, 0x2c, 1, b"\x03\0\0\0\x02\0\0\0", (Size, all)),
        (FrameKind::PRIORITY, 0, 0, b"\0\0\0\0\0", (Wrong, all)),
        (FrameKind::PRIORITY, 0, 7, b"\0\0\0\0", (Size, FrameScope::Stream(7))),
        (FrameKind::PRIORITY, 0, 7, b"\0\0\0\0\0\0", (Size, FrameScope::Stream(7))),
        (FrameKind::RST_STREAM, 0, 0, b"\0\0\0\0", (Wrong, all)),
        (FrameKind::RST_STREAM, 0, 1, b"\0\0\0", (Size, all)),
        (FrameKind::SETTINGS, 0, 1, b"", (Wrong, all)),
        (FrameKind::SETTINGS, 0, 0, b"\0\x01\0\0\0", (Size, all)),
        (FrameKind::SETTINGS, 1, 0, b"\0\x01\0\0\0\0", (Size, all)),
        (FrameKind::PUSH_PROMISE, 0, 0, b"\0\0\0\x02", (Wrong, all)),
        (FrameKind::PING, 0, 1, b"12345678", (Wrong, all)),
        (FrameKind::PING, 0, 0, b"1234567", (Size, all)),
        (FrameKind::PING, 1, 0, b"123456789", (Size, all)),
        (FrameKind::GOAWAY, 0, 1, b"\0\0\0\0\0\0\0\0", (Wrong, all)),
        (FrameKind::GOAWAY, 0, 0, b"\0\0\0\0\0\0\0", (Size, all)),
        (FrameKind::WINDOW_UPDATE, 0, 0, b"\0\0\0\0", (Wrong, all)),
        (FrameKind::WINDOW_UPDATE, 0, 0, b"\x80\0\0\0", (Wrong, all)),
        (FrameKind::WINDOW_UPDATE, 0, 9, b"\0\0\0\0", (Wrong, FrameScope::Stream(9))),
        (FrameKind::WINDOW_UPDATE, 0, 9, b"\0\0\0", (Size, all)),
        (FrameKind::CONTINUATION, 0, 0, b"", (Wrong, all)),
        (FrameKind::PRIORITY_UPDATE, 0, 1, b"\0\0\0\x01", (Wrong, all)),
        (FrameKind::PRIORITY_UPDATE, 0, 0, b"\0\0\0\0u=1", (Wrong, all)),
        (FrameKind::PRIORITY_UPDATE, 0, 0, b"\0\0\0", (Size, all)),
    ] {
        let bytes = frame(kind, flags, stream, payload);
        assert_eq!(error(&bytes), expected, "{kind:?} {stream} {payload:?}");
        if let FrameScope::Stream(_) = expected.1 {
            let skipped = read_frame(&bytes, MOST).unwrap_err().bytes;
            assert_eq!(skipped, bytes.len());
            assert_eq!(read_frame(&bytes[..bytes.len() - 1], MOST), Ok(None));
        }
    }
    let head = FrameHead { length: MOST + 1, kind: FrameKind(0x77), flags: 0, stream: 0 };
    assert_eq!(error(&head.bytes()), (Size, all));
    let head = FrameHead { length: MOST, ..head };
    assert_eq!(read_frame(&head.bytes(), MOST), Ok(None));
}

/// RFC 9113, 4.1 and 5.5.
#[test]
fn reserved_bits_and_unknown_kinds_mean_nothing() {
    let mut bytes = frame(FrameKind::DATA, 0, 5, b"a");
    bytes[5] |= 0x80;
    assert!(matches!(only(&bytes), H2Frame::Data { stream: 5, .. }));
    let mut bytes = frame(FrameKind::WINDOW_UPDATE, 0xff, 5, b"\x80\0\0\x01");
    assert_eq!(only(&bytes), H2Frame::WindowUpdate { stream: 5, increment: 1 });
    bytes[3] = 0xfe;
    assert_eq!(only(&bytes), H2Frame::Unknown { kind: FrameKind(0xfe), stream: 5 });
}

#[test]
fn a_long_block_of_fields_becomes_several_frames() {
    for size in [0, 1, 99, 100, 101, 200, 250, 301] {
        for after in [AfterFrame::More, AfterFrame::Nothing] {
            let block: Vec<u8> = (0..size).map(|byte| byte as u8).collect();
            let mut out = b"before".to_vec();
            let begin = begin_headers(&mut out);
            out.extend_from_slice(&block);
            end_headers(begin, 3, after, 100, &mut out);
            let (mut at, mut seen, mut is_over) = (6, Vec::new(), false);
            while let Some((frame, length)) = read_frame(&out[at..], 100).unwrap() {
                assert!(!is_over);
                match frame {
                    H2Frame::Headers { stream: 3, fragment, end_stream, end_headers, .. } => {
                        assert!(at == 6 && end_stream == (after == AfterFrame::Nothing));
                        seen.extend_from_slice(fragment);
                        is_over = end_headers;
                    }
                    H2Frame::Continuation { stream: 3, fragment, end_headers } => {
                        assert!(at > 6);
                        seen.extend_from_slice(fragment);
                        is_over = end_headers;
                    }
                    other => panic!("{other:?}"),
                }
                at += length;
            }
            assert!(is_over && at == out.len() && seen == block);
        }
    }
}

/// RFC 9218, 4 and 8.
#[test]
fn a_priority_is_read_from_its_field() {
    for (value, urgency, is_incremental) in [
        ("", 3, false),
        ("u=0", 0, false),
        ("i", 3, true),
        ("u=7,i=?1", 7, true),
        ("i, u=5", 5, true),
        ("i=?0", 3, false),
        ("u=1, u=2;x=y, a=(b c)", 2, false),
        ("u=8, i=1", 3, false),
        ("u=-1", 3, false),
        ("u=1.0", 3, false),
        ("U=1", 3, false),
    ] {
        let priority = StreamPriority::parse(value.as_bytes());
        assert_eq!((priority.urgency(), priority.is_incremental()), (urgency, is_incremental));
    }
    assert_eq!(StreamPriority::default().with_urgency(9).urgency(), 7);
}

fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![0..10u8, Just(0x10), any::<u8>()];
    let flags = prop_oneof![prop::sample::select(vec![0u8, 1, 4, 5, 8, 0x24, 0x2d]), any::<u8>()];
    let stream = prop_oneof![0..6u32, any::<u32>()];
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..12),
        prop::collection::vec(any::<u8>(), 0..80),
    ];
    (kind, flags, stream, payload)
        .prop_map(|(kind, flags, stream, payload)| frame(FrameKind(kind), flags, stream, &payload))
}

proptest! {
    #[test]
    fn a_frame_means_the_same_wherever_its_bytes_are_cut(
        bytes in any_frame(), behind in any::<[u8; 3]>()
    ) {
        let whole = format!("{:?}", read_frame(&bytes, 60));
        let mut settled = false;
        for cut in 0..=bytes.len() {
            let part = format!("{:?}", read_frame(&bytes[..cut], 60));
            if settled || part != "Ok(None)" {
                settled = true;
                prop_assert_eq!(&part, &whole);
            }
        }
        prop_assert!(settled);
        let longer = [&bytes[..], &behind].concat();
        prop_assert_eq!(format!("{:?}", read_frame(&longer, 60)), whole);
    }
}
