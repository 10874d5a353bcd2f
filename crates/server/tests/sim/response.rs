//! Parses answers strictly, as a client does.
//!
//! Owns a parser of its own: it shares no code with the server whose answers it reads.

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Its length in bytes.
    pub(crate) length: usize,
}

impl Response {
    /// The value of the only field with that name.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let named = |(known, _): &&(String, String)| known.eq_ignore_ascii_case(name);
        let mut values = self.fields.iter().filter(named);
        let first = values.next();
        assert!(values.next().is_none(), "{name} comes once");
        first.map(|(_, value)| value.as_str())
    }

    /// Whether it announces that it is the last one.
    pub(crate) fn closes(&self) -> bool {
        self.field("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// The kind of request, as far as it affects the parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Body,
    Head,
}

/// Whether the server has ended its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Open,
    Ended,
}

/// The head at the front, and where the body begins.
pub(crate) fn parse_head(bytes: &[u8]) -> Option<Response> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end - 4]).expect("a head is ASCII");
    let mut lines = head.split("\r\n");
    let status_line = lines.next().expect("a first line");
    let rest = status_line.strip_prefix("HTTP/1.1 ").expect("a status line");
    let status = rest[..3].parse().expect("three digits");
    assert_eq!(rest.as_bytes()[3], b' ', "{status_line}");
    let fields = lines.map(|line| {
        let (name, value) = line.split_once(": ").expect("a field line");
        assert!(!name.is_empty() && !name.contains(' '), "{line}");
        (name.to_owned(), value.to_owned())
    });
    Some(Response { status, fields: fields.collect(), body: Vec::new(), length: end })
}

/// The answer at the front of the bytes, `None` if it is incomplete. Panics if it is invalid.
pub(crate) fn parse(bytes: &[u8], asked: Asked, input: Input) -> Option<Response> {
    let mut response = parse_head(bytes)?;
    let rest = &bytes[response.length..];
    let status = response.status;
    let length = response.field("content-length").map(|value| value.parse::<usize>().unwrap());
    let coding = response.field("transfer-encoding").map(str::to_owned);
    assert!(length.is_none() || coding.is_none(), "a length and a coding");
    if status >= 200 {
        assert_eq!(response.field("date").map(str::len), Some(29), "a date");
    }
    if asked == Asked::Head || status < 200 || status == 204 || status == 304 {
        return Some(response);
    }
    match (length, coding.as_deref()) {
        (Some(length), _) => response.body = rest.get(..length)?.to_vec(),
        (None, Some("chunked")) => {
            let (body, length) = unchunk(rest)?;
            response.body = body;
            response.length += length;
            return Some(response);
        }
        (None, Some(other)) => panic!("an unknown coding: {other}"),
        (None, None) if input == Input::Ended => response.body = rest.to_vec(),
        (None, None) => return None,
    }
    response.length += response.body.len();
    Some(response)
}

/// A chunked body and the bytes it took.
fn unchunk(bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let rest = &bytes[at..];
        let line = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).expect("a chunk size");
        at += line + 2;
        let data = bytes.get(at..at + size + 2)?;
        assert_eq!(&data[size..], b"\r\n", "after the data");
        at += size + 2;
        if size == 0 {
            return Some((body, at));
        }
        body.extend_from_slice(&data[..size]);
    }
}
