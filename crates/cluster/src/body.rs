//! The content of a message in NATS: one byte for its kind, then its bytes; or what a member did.
//!
//! Owns that form. What comes from other nodes is checked as if a client had sent it.

use channels::{ClusterNode, Member, MemberStep, Payload, PayloadType};
use serde::{Deserialize, Serialize};

use crate::member_form::MemberForm;

/// The content of a message.
#[derive(Debug)]
pub(crate) enum Body {
    /// A message of a channel.
    Message(Payload),
    /// A step of a user of another node.
    Member { node: ClusterNode, member: Member, step: MemberStep },
}

/// A step of a member, in JSON.
#[derive(Debug, Serialize, Deserialize)]
struct StepForm {
    node: u64,
    member: MemberForm,
    comes: bool,
}

const TEXT: u8 = b't';
const JSON: u8 = b'j';
const BINARY: u8 = b'b';
const MEMBER: u8 = b'm';

/// Appends a message.
pub(crate) fn put_message(body: &Payload, out: &mut Vec<u8>) {
    out.push(match body.kind() {
        PayloadType::Text => TEXT,
        PayloadType::Json => JSON,
        PayloadType::Binary => BINARY,
    });
    out.extend_from_slice(body.bytes());
}

/// Appends what a member did.
pub(crate) fn put_member(node: ClusterNode, member: &Member, step: MemberStep, out: &mut Vec<u8>) {
    let (node, member) = (node.0, MemberForm::from(member));
    let form = StepForm { node, member, comes: step == MemberStep::Comes };
    out.push(MEMBER);
    serde_json::to_writer(out, &form).expect("texts and numbers are always JSON");
}

/// Reads a content. `None`: it is of a version that this one does not know, or broken.
pub(crate) fn read(bytes: &[u8]) -> Option<Body> {
    let (kind, rest) = bytes.split_first()?;
    let message = match *kind {
        TEXT => Payload::of_text(str::from_utf8(rest).ok()?),
        JSON => Payload::of_json_of_page(rest).ok()?,
        BINARY => Payload::of_binary(rest),
        MEMBER => {
            let form: StepForm = serde_json::from_slice(rest).ok()?;
            let step = if form.comes { MemberStep::Comes } else { MemberStep::Leaves };
            return Some(Body::Member {
                node: ClusterNode(form.node),
                member: form.member.into(),
                step,
            });
        }
        _ => return None,
    };
    Some(Body::Message(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_its_kind() {
        let json = Payload::of_json(br#"{"a":1}"#).unwrap();
        for body in [Payload::of_text("ä"), json, Payload::of_binary(b"\xff")] {
            let mut bytes = Vec::new();
            put_message(&body, &mut bytes);
            assert!(matches!(read(&bytes), Some(Body::Message(found)) if found == body));
        }
        for wrong in ["", "t\u{80}", "j{", "x", "m{}"] {
            let bytes = if wrong.starts_with("t") { b"t\xff" } else { wrong.as_bytes() };
            assert!(read(bytes).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_member_keeps_its_information() {
        let member = Member { user: "ann".into(), info: Some("{\"a\":1}".into()) };
        let mut bytes = Vec::new();
        put_member(ClusterNode(u64::MAX), &member, MemberStep::Leaves, &mut bytes);
        let Some(Body::Member { node, member: found, step }) = read(&bytes) else { panic!() };
        assert_eq!((node, found, step), (ClusterNode(u64::MAX), member, MemberStep::Leaves));
    }
}
