//! The table that both sides know from the beginning (RFC 7541, appendix A).
//!
//! Owns its fields and the way from a name to an index.

/// Fields of the table. The first has index 1.
pub(super) const COUNT: usize = 61;

const FIELDS: [(&str, &str); COUNT] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The field with this index, which begins at 1.
#[inline(always)]
pub(super) fn field(index: u32) -> Option<(&'static str, &'static str)> {
    FIELDS.get((index as usize).wrapping_sub(1)).copied()
}

/// The index of the first field with this name, which is in lower case.
#[inline]
pub(super) fn index_of_name(name: &[u8]) -> Option<u32> {
    let mut slot = slot_of(name);
    loop {
        let index = u32::from(PLACES[slot]);
        let (known, _) = field(index)?;
        if known.as_bytes() == name {
            return Some(index);
        }
        slot = (slot + 1) % SLOTS;
    }
}

pub(super) fn index_of_field(name: &[u8], value: &[u8]) -> Option<u32> {
    let first = index_of_name(name)?;
    let same_name = (first..).map_while(|index| Some((index, field(index)?)));
    let mut same_name = same_name.take_while(|(_, (known, _))| known.as_bytes() == name);
    let found = same_name.find(|(_, (_, known))| known.as_bytes() == value);
    found.map(|(index, _)| index)
}

/// Places for names: more than twice the fields, so that a search is short.
const SLOTS: usize = 128;

/// The indices of names at the places that their letters choose, or behind them; 0: free.
static PLACES: [u8; SLOTS] = places();

const fn places() -> [u8; SLOTS] {
    let mut places = [0; SLOTS];
    let mut index = 1;
    while index <= COUNT {
        let name = FIELDS[index - 1].0.as_bytes();
        let is_first = index == 1 || !is_same(FIELDS[index - 2].0.as_bytes(), name);
        if is_first {
            let mut slot = slot_of(name);
            while places[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            places[slot] = index as u8;
        }
        index += 1;
    }
    places
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The place that the length and three letters of a name choose.
#[inline(always)]
const fn slot_of(name: &[u8]) -> usize {
    let &[first, .., last] = name else { return name.len() };
    let middle = name[name.len() / 2];
    let mixed = (first as usize) * 3 + (middle as usize) * 9 + (last as usize) + name.len() * 37;
    mixed % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_at_its_first_index() {
        for (at, (name, value)) in FIELDS.iter().enumerate() {
            let first = FIELDS.iter().position(|(known, _)| known == name).unwrap();
            assert_eq!(index_of_name(name.as_bytes()), Some(first as u32 + 1), "{name}");
            assert_eq!(field(at as u32 + 1), Some((*name, *value)));
            let index = index_of_field(name.as_bytes(), value.as_bytes());
            assert_eq!(index, Some(at as u32 + 1), "{name}");
        }
        for name in ["", "a", "ag", "agf", "accept-", ":statut", "x-lap", "\u{ff}\u{ff}"] {
            assert_eq!(index_of_name(name.as_bytes()), None, "{name}");
        }
        assert_eq!((field(0), field(62)), (None, None));
        assert_eq!(index_of_field(b":status", b"201"), None);
    }
}
