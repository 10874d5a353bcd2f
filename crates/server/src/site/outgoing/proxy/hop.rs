//! Fields that are for one connection, not for the other end (RFC 9110 section 7.6.1).
//!
//! Owns which these are. Never writes one: both ends of a connection write their own.

use http::{FieldList, Fields};

/// Fields that are never passed on, besides those that `Connection` names. What frames a message is said anew.
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// The fields of a message that are for one connection.
pub(in crate::site) struct HopFields<'h> {
    /// The values of `Connection`; usually empty.
    named: Vec<&'h [u8]>,
}

impl<'h> HopFields<'h> {
    /// The fields for one connection of a message with these fields.
    pub(in crate::site) fn of(fields: &Fields<'h, '_>) -> Self {
        let named =
            if fields.has("connection") { fields.all("connection").collect() } else { Vec::new() };
        Self { named }
    }

    /// Those of a message whose `Connection` has this value.
    pub(super) fn named_by(connection: &'h [u8]) -> Self {
        Self { named: vec![connection] }
    }

    /// The trailers of the message without them, and without those that are dropped for another reason.
    pub(in crate::site) fn without(
        &self,
        trailers: &FieldList,
        is_dropped: impl Fn(&str) -> bool,
    ) -> FieldList {
        let mut passed = FieldList::new();
        let fields = trailers.fields();
        for (name, value) in fields.iter().filter(|(name, _)| !self.has(name) && !is_dropped(name))
        {
            // It fits, because the whole list did.
            let _fits = passed.add(name, value);
        }
        passed
    }

    /// Whether this is one of them.
    pub(in crate::site) fn has(&self, name: &str) -> bool {
        is_hop_by_hop(name) || self.named.iter().any(|value| names(value, name))
    }

    /// Whether some of these fields are for one connection only because `Connection` names them.
    pub(in crate::site) fn names_others(&self, fields: &Fields<'_, '_>) -> bool {
        let is_named = |name: &str| self.named.iter().any(|value| names(value, name));
        !self.named.is_empty()
            && fields.iter().any(|(name, _)| is_named(name) && !is_hop_by_hop(name))
    }
}

fn is_hop_by_hop(name: &str) -> bool {
    HOP_BY_HOP.iter().any(|hop| begins_like(name, hop) && name.len() == hop.len())
}

/// Whether a name begins with this one in lower case. Programs that get fields as variables take `_` for `-`, so both
/// are the same here.
pub(in crate::site) fn begins_like(name: &str, lower: &str) -> bool {
    name.len() >= lower.len()
        && name.bytes().zip(lower.bytes()).all(|(byte, of_lower)| {
            let byte = if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
            byte == of_lower
        })
}

/// Whether a list of names has this one.
fn names(list: &[u8], name: &str) -> bool {
    list.split(|byte| *byte == b',')
        .any(|one| one.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_for_a_connection_are_those_it_names_and_some_others() {
        let list = FieldList::of(&[
            ("connection", "close , X-One"),
            ("connection", "x-two"),
            ("x-one", "1"),
            ("keep-alive", "5"),
        ]);
        let hop = HopFields::of(&list.fields());
        for name in ["Connection", "Keep-Alive", "X-ONE", "x-two", "close", "TE", "Content_Length"]
        {
            assert!(hop.has(name), "{name}");
        }
        for name in ["X-Three", "Host", "x-on", "Trailer", ""] {
            assert!(!hop.has(name) || name.is_empty(), "{name}");
        }
    }
}
