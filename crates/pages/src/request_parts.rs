//! Parts of a request in the form in which pages get them.
//!
//! Owns the reading of queries, header fields and cookies. Never keeps anything.

use script::engine::HostAnswer;

/// Fields that are read from a request: one more than the engine accepts, which then reports that there are too many.
pub(super) const FIELDS_SEEN: usize = script::limits::FIELDS_MAX + 1;

/// The arguments of a query, decoded.
pub(super) fn each_argument(query: &[u8], mut take: impl FnMut(&[u8], &[u8])) {
    for (name, value) in form_urlencoded::parse(query).take(FIELDS_SEEN) {
        take(name.as_bytes(), value.as_bytes());
    }
}

/// Fields, several of which may have the same name, each with number and name.
pub(super) fn list_values(
    answer: &mut HostAnswer,
    each: impl FnOnce(&mut dyn FnMut(&[u8], &[u8])),
) {
    answer.fields();
    let mut number = 0_usize;
    each(&mut |name, value| {
        number += 1;
        let key = [format!("{number}.").as_bytes(), name].concat();
        answer.field(&key, value);
    });
}

/// The fields of a head. Those with the same name are combined in order (RFC 9110, 5.3). They are sorted by name for
/// that, because a client may send as many different names as a head has room for.
pub(super) fn list_headers<'f>(
    fields: impl Iterator<Item = (&'f str, &'f [u8])>,
    answer: &mut HostAnswer,
) {
    answer.fields();
    let mut fields: Vec<_> =
        fields.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    // Stable: the order among those with the same name stays.
    fields.sort_by(|(one, _), (other, _)| one.cmp(other));
    for same in fields.chunk_by(|(one, _), (other, _)| one == other) {
        let Some(((name, value), more)) = same.split_first() else { continue };
        answer.field(name.as_bytes(), value);
        // In cookies the comma is not a separator (RFC 9113, 8.2.3).
        let separator: &[u8] = if name == "cookie" { b"; " } else { b", " };
        for (_, value) in more {
            answer.extend(separator);
            answer.extend(value);
        }
    }
}

/// The cookies among the fields of a head.
pub(super) fn each_cookie<'f>(
    fields: impl Iterator<Item = (&'f str, &'f [u8])>,
    mut take: impl FnMut(&[u8], &[u8]),
) {
    let lines = fields.filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    let pairs = lines.flat_map(|(_, line)| line.split(|byte| *byte == b';'));
    for pair in pairs.take(FIELDS_SEEN) {
        let pair = pair.trim_ascii();
        let Some(at) = pair.iter().position(|byte| *byte == b'=') else { continue };
        take(&pair[..at], &pair[at + 1..]);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn each_field_is_looked_at_once_however_many_there_are() {
        let names: Vec<String> = (0..100).map(|number| format!("x-{number}")).collect();
        let steps = Cell::new(0);
        let fields = names.iter().map(|name| {
            steps.set(steps.get() + 1);
            (name.as_str(), &b"value"[..])
        });
        list_headers(fields, &mut HostAnswer::default());
        assert_eq!(steps.get(), names.len());
    }

    #[test]
    fn no_more_cookies_are_listed_than_are_read() {
        let line = b"a=b;".repeat(4 * FIELDS_SEEN);
        let mut count = 0;
        each_cookie([("Cookie", &line[..])].into_iter(), |_, _| count += 1);
        assert_eq!(count, FIELDS_SEEN);
    }
}
