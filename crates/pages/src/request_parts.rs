//! Parts of a request in the form in which pages get them.
//!
//! Owns the reading of queries, header fields and cookies. Never keeps anything.

use script::engine::Answer;

/// Fields that are read from a request: one more than the engine accepts, which then reports that there are too many.
pub(super) const FIELDS_SEEN: usize = script::limits::FIELDS_MAX + 1;

/// The arguments of a query, decoded.
pub(super) fn each_argument(query: &[u8], mut take: impl FnMut(&[u8], &[u8])) {
    for (name, value) in form_urlencoded::parse(query).take(FIELDS_SEEN) {
        take(name.as_bytes(), value.as_bytes());
    }
}

/// Fields, several of which may have the same name, each with number and name.
pub(super) fn list_values(answer: &mut Answer, each: impl FnOnce(&mut dyn FnMut(&[u8], &[u8]))) {
    answer.fields();
    let mut number = 0_usize;
    each(&mut |name, value| {
        number += 1;
        let key = [format!("{number}.").as_bytes(), name].concat();
        answer.field(&key, value);
    });
}

/// The fields of a head. Those with the same name are combined in order (RFC 9110, 5.3). There are few, because a head is bounded.
pub(super) fn list_headers<'f>(
    fields: impl Iterator<Item = (&'f str, &'f [u8])> + Clone,
    answer: &mut Answer,
) {
    answer.fields();
    for (index, (name, value)) in fields.clone().enumerate() {
        let is_same = |(other, _): &(&str, &[u8])| other.eq_ignore_ascii_case(name);
        if fields.clone().take(index).any(|field| is_same(&field)) {
            continue;
        }
        answer.field(name.to_ascii_lowercase().as_bytes(), value);
        // In cookies the comma is not a separator (RFC 9113, 8.2.3).
        let separator: &[u8] = if name.eq_ignore_ascii_case("cookie") { b"; " } else { b", " };
        for (_, more) in fields.clone().skip(index + 1).filter(is_same) {
            answer.extend(separator);
            answer.extend(more);
        }
    }
}

/// The cookies among the fields of a head.
pub(super) fn list_cookies<'f>(
    fields: impl Iterator<Item = (&'f str, &'f [u8])>,
    answer: &mut Answer,
) {
    answer.fields();
    for (_, line) in fields.filter(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
        for pair in line.split(|byte| *byte == b';') {
            let pair = pair.trim_ascii();
            let Some(at) = pair.iter().position(|byte| *byte == b'=') else { continue };
            answer.field(&pair[..at], &pair[at + 1..]);
        }
    }
}
