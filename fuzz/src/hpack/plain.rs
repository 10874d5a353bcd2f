//! A decoder of HPACK as RFC 7541 tells it, without any speed: bits in a string of digits, a table in a list.
//!
//! Owns the oracle for the real one. Shares no code and no table with it.

/// Fields, and whether the block was read to its end.
type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// The fields of one direction of a connection.
#[derive(Debug)]
pub(super) struct PlainDecoder {
    /// The newest first.
    table: Fields,
    bound: usize,
    agreed: usize,
}

/// The static table (appendix A): names, and after a blank the value.
const STATIC: &str = ":authority
:method GET
:method POST
:path /
:path /index.html
:scheme http
:scheme https
:status 200
:status 204
:status 206
:status 304
:status 400
:status 404
:status 500
accept-charset
accept-encoding gzip, deflate
accept-language
accept-ranges
accept
access-control-allow-origin
age
allow
authorization
cache-control
content-disposition
content-encoding
content-language
content-length
content-location
content-range
content-type
cookie
date
etag
expect
expires
from
host
if-match
if-modified-since
if-none-match
if-range
if-unmodified-since
last-modified
link
location
max-forwards
proxy-authenticate
proxy-authorization
range
referer
refresh
retry-after
server
set-cookie
strict-transport-security
transfer-encoding
user-agent
vary
via
www-authenticate";

impl PlainDecoder {
    pub(super) fn new(agreed: usize) -> Self {
        Self { table: Vec::new(), bound: agreed, agreed }
    }

    /// The fields of a block as far as it is valid, and whether all of it is.
    pub(super) fn decode(&mut self, block: &[u8]) -> (Fields, bool) {
        let (mut fields, mut rest) = (Vec::new(), block);
        while !rest.is_empty() {
            if self.next(&mut rest, &mut fields).is_none() {
                return (fields, false);
            }
        }
        (fields, true)
    }

    fn next(&mut self, rest: &mut &[u8], fields: &mut Fields) -> Option<()> {
        let first = *rest.first()?;
        if first >= 0x80 {
            let index = integer(rest, 7)?;
            fields.push(self.field(index)?);
            return Some(());
        }
        if first & 0xe0 == 0x20 {
            let size = usize::try_from(integer(rest, 5)?).ok()?;
            if size > self.agreed || !fields.is_empty() {
                return None;
            }
            self.bound = size;
            self.evict();
            return Some(());
        }
        let is_added = first & 0xc0 == 0x40;
        let index = integer(rest, if is_added { 6 } else { 4 })?;
        // The order matters for what is wrong, not whether something is.
        let name = if index == 0 { string(rest)? } else { self.field(index)?.0 };
        let value = string(rest)?;
        fields.push((name.clone(), value.clone()));
        if is_added {
            self.table.insert(0, (name, value));
            self.evict();
        }
        Some(())
    }

    fn field(&self, index: u64) -> Option<(Vec<u8>, Vec<u8>)> {
        let index = usize::try_from(index).ok()?.checked_sub(1)?;
        if let Some(line) = STATIC.lines().nth(index) {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            return Some((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        }
        self.table.get(index - 61).cloned()
    }

    fn evict(&mut self) {
        let size = |table: &Fields| -> usize {
            table.iter().map(|(name, value)| name.len() + value.len() + 32).sum()
        };
        while size(&self.table) > self.bound {
            self.table.pop();
        }
    }
}

/// Section 5.1.
fn integer(rest: &mut &[u8], prefix: u32) -> Option<u64> {
    let take = |rest: &mut &[u8]| {
        let (first, after) = rest.split_first()?;
        *rest = after;
        Some(u64::from(*first))
    };
    let most = 2u64.pow(prefix) - 1;
    let mut value = take(rest)? & most;
    if value < most {
        return Some(value);
    }
    for power in 0..5 {
        let byte = take(rest)?;
        value += (byte % 128) * 128u64.pow(power);
        if byte < 128 {
            // Our bound.
            return Some(value).filter(|value| *value < 1 << 32);
        }
    }
    None
}

/// Section 5.2.
fn string(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let is_coded = *rest.first()? >= 0x80;
    let size = usize::try_from(integer(rest, 7)?).ok()?;
    let (text, after) = rest.split_at_checked(size)?;
    *rest = after;
    if is_coded { huffman(text) } else { Some(text.to_vec()) }
}

/// The bytes of each length of code, in the order of their codes (appendix B).
const CODES: &[(usize, &[u8])] = &[
    (5, b"012aceiost"),
    (6, b" %-./3456789=A_bdfghlmnpru"),
    (7, b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
    (8, b"&*,;XZ"),
    (10, b"!\"()?"),
    (11, b"'+|"),
    (12, b"#>"),
    (13, b"\0$@[]~"),
    (14, b"^}"),
    (15, b"<`{"),
    (19, b"\\\xc3\xd0"),
    (20, b"\x80\x82\x83\xa2\xb8\xc2\xe0\xe2"),
    (21, b"\x99\xa1\xa7\xac\xb0\xb1\xb3\xd1\xd8\xd9\xe3\xe5\xe6"),
    (
        22,
        b"\x81\x84\x85\x86\x88\x92\x9a\x9c\xa0\xa3\xa4\xa9\xaa\xad\xb2\xb5\xb9\xba\xbb\xbd\xbe\xc4\
          \xc6\xe4\xe8\xe9",
    ),
    (
        23,
        b"\x01\x87\x89\x8a\x8b\x8c\x8d\x8f\x93\x95\x96\x97\x98\x9b\x9d\x9e\xa5\xa6\xa8\xae\xaf\xb4\
          \xb6\xb7\xbc\xbf\xc5\xe7\xef",
    ),
    (24, b"\x09\x8e\x90\x91\x94\x9f\xab\xce\xd7\xe1\xec\xed"),
    (25, b"\xc7\xcf\xea\xeb"),
    (26, b"\xc0\xc1\xc8\xc9\xca\xcd\xd2\xd5\xda\xdb\xee\xf0\xf2\xf3\xff"),
    (27, b"\xcb\xcc\xd3\xd4\xd6\xdd\xde\xdf\xf1\xf4\xf5\xf6\xf7\xf8\xfa\xfb\xfc\xfd\xfe"),
    (
        28,
        b"\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x17\x18\x19\x1a\x1b\
          \x1c\x1d\x1e\x1f\x7f\xdc\xf9",
    ),
    (30, b"\x0a\x0d\x16"),
];

/// The byte with this code. The codes count, and a longer one is the next number with zeros behind it.
fn symbol(code: &str) -> Option<u8> {
    let (mut next, mut length) = (0u32, 0);
    for (bits, bytes) in CODES {
        next <<= bits - length;
        length = *bits;
        for byte in *bytes {
            if code.len() == *bits && u32::from_str_radix(code, 2) == Ok(next) {
                return Some(*byte);
            }
            next += 1;
        }
    }
    None
}

fn huffman(text: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut code) = (Vec::new(), String::new());
    for digit in text.iter().map(|byte| format!("{byte:08b}")).collect::<String>().chars() {
        code.push(digit);
        if let Some(byte) = symbol(&code) {
            out.push(byte);
            code.clear();
        } else if code.len() >= 30 {
            return None;
        }
    }
    let is_padding = code.len() < 8 && !code.contains('0');
    is_padding.then_some(out)
}
