//! How a message is encoded for subscribers of each protocol.
//!
//! Owns the encodings. A message is encoded once for all subscribers of one format.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use wire::resp;
use wire::websocket::{Opcode, write_deflated, write_frame};

use crate::member::{Member, MemberStep};
use crate::message::{Payload, PayloadType};
use crate::position::Position;

/// The format in which a subscriber gets messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A WebSocket that gets each message as it was published.
    WebSocket,
    /// The same, compressed.
    WebSocketDeflated,
    /// A WebSocket that gets a JSON object, with the channel and the number of the message.
    WebSocketJson,
    /// The same, compressed.
    WebSocketJsonDeflated,
    /// An event stream (`text/event-stream`), with the position as the event's id if there is a history.
    EventStream,
    /// RESP2.
    Resp2,
    /// RESP3.
    Resp3,
}

/// A message with what subscribers are told about it.
#[derive(Clone, Copy)]
pub(crate) struct Numbered<'m> {
    pub(crate) channel: &'m str,
    pub(crate) position: Position,
    /// Whether a client can return to it.
    pub(crate) has_history: bool,
    pub(crate) body: &'m Payload,
}

/// A member that joins or leaves.
#[derive(Clone, Copy)]
pub(crate) struct Event<'e> {
    pub(crate) channel: &'e str,
    pub(crate) member: &'e Member,
    pub(crate) step: MemberStep,
}

impl Format {
    /// Appends a message.
    pub(crate) fn encode(self, message: Numbered<'_>, out: &mut Vec<u8>) {
        match self {
            Self::WebSocket | Self::WebSocketDeflated => {
                let opcode = match message.body.kind() {
                    PayloadType::Text | PayloadType::Json => Opcode::Text,
                    PayloadType::Binary => Opcode::Binary,
                };
                self.write_message(opcode, message.body.bytes(), out);
            }
            Self::WebSocketJson | Self::WebSocketJsonDeflated => {
                let mut text = Vec::with_capacity(message.body.bytes().len() + 64);
                write_object(message, &mut text);
                self.write_message(Opcode::Text, &text, out);
            }
            Self::EventStream => write_event(message, out),
            Self::Resp2 | Self::Resp3 => {
                self.begin_push(3, out);
                resp::write_bulk(out, b"message");
                resp::write_bulk(out, message.channel.as_bytes());
                resp::write_bulk(out, message.body.bytes());
            }
        }
    }

    /// Appends a message for subscribers of a pattern, which only RESP has.
    pub(crate) fn encode_for_pattern(
        self,
        pattern: &str,
        message: Numbered<'_>,
        out: &mut Vec<u8>,
    ) {
        self.begin_push(4, out);
        resp::write_bulk(out, b"pmessage");
        resp::write_bulk(out, pattern.as_bytes());
        resp::write_bulk(out, message.channel.as_bytes());
        resp::write_bulk(out, message.body.bytes());
    }

    /// Appends the confirmation of a subscription: its position, and whether all messages since the client's position
    /// are available. For RESP the session writes the confirmation.
    pub(crate) fn write_subscribed(
        self,
        channel: &str,
        position: Position,
        recovered: Option<bool>,
        out: &mut Vec<u8>,
    ) {
        match self {
            Self::WebSocketJson | Self::WebSocketJsonDeflated => {
                let mut text = b"{\"subscribed\":".to_vec();
                write_json_text(channel, &mut text);
                text.extend_from_slice(format!(",\"since\":\"{position}\"").as_bytes());
                if let Some(recovered) = recovered {
                    text.extend_from_slice(format!(",\"recovered\":{recovered}").as_bytes());
                }
                text.push(b'}');
                write_frame(out, Opcode::Text, &text);
            }
            Self::EventStream => {
                // The client keeps an id without data and does not report it (HTML, section 9.2.6).
                out.extend_from_slice(format!("id: {position}\n\n").as_bytes());
                if recovered == Some(false) {
                    out.extend_from_slice(b"event: lost\ndata: messages since the last event\n\n");
                }
            }
            Self::WebSocket | Self::WebSocketDeflated | Self::Resp2 | Self::Resp3 => {}
        }
    }

    /// Appends that a member joined or left. Formats without such events get nothing.
    pub(crate) fn encode_event(self, event: Event<'_>, out: &mut Vec<u8>) {
        let Event { channel, member, step } = event;
        let info = |text: &mut Vec<u8>| {
            if let (MemberStep::Comes, Some(info)) = (step, &member.info) {
                text.extend_from_slice(b",\"info\":");
                text.extend_from_slice(info.as_bytes());
            }
            text.push(b'}');
        };
        let verb = match step {
            MemberStep::Comes => "joined",
            MemberStep::Leaves => "left",
        };
        match self {
            Self::WebSocketJson | Self::WebSocketJsonDeflated => {
                let mut text = b"{\"channel\":".to_vec();
                write_json_text(channel, &mut text);
                text.extend_from_slice(format!(",\"{verb}\":").as_bytes());
                write_json_text(&member.user, &mut text);
                info(&mut text);
                write_frame(out, Opcode::Text, &text);
            }
            Self::EventStream => {
                let mut text = b"{\"user\":".to_vec();
                write_json_text(&member.user, &mut text);
                info(&mut text);
                out.extend_from_slice(format!("event: {verb}\n").as_bytes());
                write_data_lines(&String::from_utf8_lossy(&text), out);
            }
            Self::WebSocket | Self::WebSocketDeflated | Self::Resp2 | Self::Resp3 => {}
        }
    }

    fn write_message(self, opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::WebSocketDeflated | Self::WebSocketJsonDeflated => {
                write_deflated(out, opcode, payload);
            }
            _ => write_frame(out, opcode, payload),
        }
    }

    /// Begins what RESP calls a push, which is an array in RESP2.
    fn begin_push(self, parts: usize, out: &mut Vec<u8>) {
        match self {
            Self::Resp3 => resp::write_push(out, parts),
            _ => resp::write_array(out, parts),
        }
    }
}

/// `{"channel":"c","offset":3,"data":…}`. Bytes that are not text are in base64 as `base64` instead of `data`.
pub(crate) fn write_object(message: Numbered<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"channel\":");
    write_json_text(message.channel, out);
    out.extend_from_slice(b",\"offset\":");
    out.extend_from_slice(message.position.offset.to_string().as_bytes());
    write_data(message.body, out);
    out.push(b'}');
}

fn write_data(body: &Payload, out: &mut Vec<u8>) {
    match body.kind() {
        PayloadType::Json => {
            out.extend_from_slice(b",\"data\":");
            out.extend_from_slice(body.bytes());
        }
        PayloadType::Text => {
            out.extend_from_slice(b",\"data\":");
            write_json_text(body.text(), out);
        }
        PayloadType::Binary => {
            out.extend_from_slice(b",\"base64\":\"");
            out.extend_from_slice(STANDARD.encode(body.bytes()).as_bytes());
            out.push(b'"');
        }
    }
}

pub(crate) fn write_json_text(text: &str, out: &mut Vec<u8>) {
    // Writing a text to a vector cannot fail.
    let _written = serde_json::to_writer(out, text);
}

/// An event (HTML, section 9.2.6): each line of the text becomes a `data` line. Bytes that are not text are sent in
/// base64 as an event of the type `base64`.
fn write_event(message: Numbered<'_>, out: &mut Vec<u8>) {
    if message.has_history {
        out.extend_from_slice(format!("id: {}\n", message.position).as_bytes());
    }
    let encoded;
    let text = match message.body.kind() {
        PayloadType::Text | PayloadType::Json => message.body.text(),
        PayloadType::Binary => {
            out.extend_from_slice(b"event: base64\n");
            encoded = STANDARD.encode(message.body.bytes());
            &encoded
        }
    };
    write_data_lines(text, out);
}

/// Writes the data of an event, and its end.
fn write_data_lines(text: &str, out: &mut Vec<u8>) {
    // A line of an event ends with CR, LF or both.
    let mut rest = text;
    loop {
        let end = rest.find(['\r', '\n']).unwrap_or(rest.len());
        let (line, behind) = rest.split_at(end);
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
        if behind.is_empty() {
            break;
        }
        rest = behind.strip_prefix("\r\n").unwrap_or(&behind[1..]);
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format, body: &Payload) -> String {
        let position = Position { epoch: 0xab, offset: 7 };
        let mut out = Vec::new();
        format.encode(Numbered { channel: "c\"h", position, has_history: true, body }, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn a_message_is_written_for_each_protocol() {
        let text = Payload::of_text("a \"b\"\nc");
        assert_eq!(written(Format::WebSocket, &text), "\u{fffd}\u{7}a \"b\"\nc");
        assert_eq!(
            written(Format::WebSocketJson, &text),
            "\u{fffd}\u{31}{\"channel\":\"c\\\"h\",\"offset\":7,\"data\":\"a \\\"b\\\"\\nc\"}"
        );
        assert_eq!(written(Format::EventStream, &text), "id: ab-7\ndata: a \"b\"\ndata: c\n\n");
        let push = "\r\n$7\r\nmessage\r\n$3\r\nc\"h\r\n$7\r\na \"b\"\nc\r\n";
        assert_eq!(written(Format::Resp2, &text), format!("*3{push}"));
        assert_eq!(written(Format::Resp3, &text), format!(">3{push}"));
    }

    #[test]
    fn a_value_in_json_stays_one_and_bytes_are_told_apart() {
        let json = Payload::of_json(b" {\"a\":[1]}\n").unwrap();
        assert!(written(Format::WebSocketJson, &json).ends_with(",\"data\":{\"a\":[1]}}"));
        let text = Payload::of_json(b"\"a \\u00e9\"").unwrap();
        assert_eq!((text.kind(), text.bytes()), (PayloadType::Text, "a é".as_bytes()));
        let bytes = Payload::of_bytes(b"\xff\x00");
        assert!(written(Format::WebSocketJson, &bytes).ends_with(",\"base64\":\"/wA=\"}"));
        assert_eq!(written(Format::EventStream, &bytes), "id: ab-7\nevent: base64\ndata: /wA=\n\n");
        assert!(Payload::of_json(b"{\"a\":}").is_err() && Payload::of_json(b"1 2").is_err());
    }

    #[test]
    fn no_text_can_end_its_event() {
        for text in ["a\n\nid: 1", "a\r\rb", "a\r\n\r\nb", "\n", ""] {
            let event = written(Format::EventStream, &Payload::of_text(text));
            let lines: Vec<&str> = event.lines().collect();
            let (last, lines) = lines.split_last().unwrap();
            assert!(
                last.is_empty() && lines[1..].iter().all(|line| line.starts_with("data: ")),
                "{event:?}"
            );
            assert!(!event.contains('\r'));
        }
    }
}
