//! One spelling of field names in all answers: `Content-Type`.
//!
//! Owns which letters are large. Names are equal whatever their letters are (RFC 9110, 5.1); one spelling makes answers
//! easy to read and to compare.

/// Names with large letters in other places than at the beginning of a word.
const OWN: [&str; 17] = [
    "Accept-CH",
    "Content-MD5",
    "Critical-CH",
    "DNT",
    "DPoP",
    "ETag",
    "NEL",
    "Sec-WebSocket-Accept",
    "Sec-WebSocket-Extensions",
    "Sec-WebSocket-Protocol",
    "Sec-WebSocket-Version",
    "SourceMap",
    "TE",
    "WWW-Authenticate",
    "X-DNS-Prefetch-Control",
    "X-UA-Compatible",
    "X-XSS-Protection",
];

/// The sizes and the first letters of these names, a bit for each: most names are none of them.
const MARKS: Marks = marks();

struct Marks {
    sizes: u32,
    letters: u32,
}

const fn marks() -> Marks {
    let mut marks = Marks { sizes: 0, letters: 0 };
    let mut at = 0;
    while at < OWN.len() {
        let name = OWN[at].as_bytes();
        marks.sizes |= 1 << name.len();
        marks.letters |= 1 << (name[0] & 31);
        at += 1;
    }
    marks
}

/// Appends a name: each word in it begins with a large letter. A word with large letters keeps them, as in `X-API-Key`,
/// unless the whole name has no others.
pub(super) fn write_name(out: &mut Vec<u8>, name: &str) {
    let is_same = |own: &&&str| own.len() == name.len() && own.eq_ignore_ascii_case(name);
    if may_be_own(name)
        && let Some(own) = OWN.iter().find(is_same)
    {
        return out.extend_from_slice(own.as_bytes());
    }
    if is_spelt(name) {
        return out.extend_from_slice(name.as_bytes());
    }
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return write_mixed(out, name);
    }
    let begin = out.len();
    out.extend_from_slice(name.as_bytes());
    let mut before = b'-';
    for byte in out.get_mut(begin..).unwrap_or_default() {
        let own = *byte;
        if before == b'-' {
            *byte = own.to_ascii_uppercase();
        }
        before = own;
    }
}

/// Whether each word begins with a large letter and has no others.
fn is_spelt(name: &str) -> bool {
    let mut before = b'-';
    name.bytes().all(|byte| {
        let is_first = std::mem::replace(&mut before, byte) == b'-';
        if is_first { !byte.is_ascii_lowercase() } else { !byte.is_ascii_uppercase() }
    })
}

/// Whether a name has the size of one with letters of its own, and its first letter.
#[inline(always)]
fn may_be_own(name: &str) -> bool {
    let has = |set: u32, bit: usize| bit < 32 && set >> bit & 1 == 1;
    let first = name.bytes().next().unwrap_or_default();
    has(MARKS.sizes, name.len()) && has(MARKS.letters, usize::from(first & 31))
}

/// The same for a name that has large letters.
fn write_mixed(out: &mut Vec<u8>, name: &str) {
    let is_loud = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let mut begins_word = true;
    for word in name.as_bytes().split_inclusive(|byte| *byte == b'-') {
        let is_quiet = is_loud || !word.iter().any(u8::is_ascii_uppercase);
        for byte in word {
            out.push(match byte {
                byte if is_quiet && begins_word => byte.to_ascii_uppercase(),
                byte if is_quiet => byte.to_ascii_lowercase(),
                byte => *byte,
            });
            begins_word = false;
        }
        begins_word = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_spelling() {
        for (name, spelt) in [
            ("content-type", "Content-Type"),
            ("Content-Type", "Content-Type"),
            ("CONTENT-TYPE", "Content-Type"),
            ("Content-type", "Content-Type"),
            ("location", "Location"),
            ("etag", "ETag"),
            ("Etag", "ETag"),
            ("www-authenticate", "WWW-Authenticate"),
            ("x-lap", "X-Lap"),
            ("X-API-Key", "X-API-Key"),
            ("x-API-key", "X-API-Key"),
            ("x--a_b", "X--A_b"),
            ("1-a", "1-A"),
            ("te", "TE"),
            ("-", "-"),
        ] {
            let mut out = Vec::new();
            write_name(&mut out, name);
            assert_eq!(str::from_utf8(&out), Ok(spelt), "{name}");
            let mut again = Vec::new();
            write_name(&mut again, spelt);
            assert_eq!(again, out, "{name}");
        }
    }
}
