//! Header fields of messages: a first line with perhaps a status, names and values, an empty line.
//!
//! Owns their form. Never judges a field: what cannot be read is not there.

/// The header fields of a message, as they came.
#[derive(Clone, Copy, Debug)]
pub struct NatsHeaders<'i>(&'i [u8]);

const FIRST_LINE: &[u8] = b"NATS/1.0";

impl<'i> NatsHeaders<'i> {
    /// The fields in these bytes; empty for a message that has none.
    pub fn new(bytes: &'i [u8]) -> Self {
        Self(bytes)
    }

    /// The status in the first line, such as 503 if nobody answers a request.
    pub fn status(&self) -> Option<u16> {
        let text = self.lines().next()?.strip_prefix(FIRST_LINE)?.trim_ascii();
        str::from_utf8(text.get(..3)?).ok()?.parse().ok()
    }

    /// The value of a field, without blanks around it. Names are compared in any case.
    pub fn get(&self, name: &str) -> Option<&'i str> {
        let value = self.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_at(line.iter().position(|byte| *byte == b':')?);
            found.eq_ignore_ascii_case(name.as_bytes()).then_some(&value[1..])
        })?;
        str::from_utf8(value).ok().map(str::trim)
    }

    /// The value of a field that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    fn lines(&self) -> impl Iterator<Item = &'i [u8]> {
        self.0.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// Begins header fields. After the last [`put_header`], the caller appends an empty line.
pub fn put_first_line(out: &mut Vec<u8>) {
    out.extend_from_slice(FIRST_LINE);
    out.extend_from_slice(b"\r\n");
}

/// Appends a field. Neither part has control characters.
pub fn put_header(out: &mut Vec<u8>, name: &str, value: &str) {
    debug_assert!(!value.bytes().any(|byte| byte.is_ascii_control()), "{value:?}");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_their_case_and_blanks() {
        let mut bytes = Vec::new();
        put_first_line(&mut bytes);
        put_header(&mut bytes, "Nats-Sequence", "17");
        put_header(&mut bytes, "Nats-Stream", "v-h-0");
        bytes.extend_from_slice(b"\r\n");
        let headers = NatsHeaders::new(&bytes);
        assert_eq!(headers.number("nats-sequence"), Some(17));
        assert_eq!(headers.get("Nats-Stream"), Some("v-h-0"));
        assert_eq!((headers.get("Nats"), headers.status()), (None, None));
        let ended = NatsHeaders::new(b"NATS/1.0 204 EOB\r\nNats-Num-Pending:0\r\n\r\n");
        assert_eq!((ended.status(), ended.number("Nats-Num-Pending")), (Some(204), Some(0)));
        for none in
            ["", "NATS/1.0", "NATS/1.0\r\n", "NATS/1.0 x\r\n\r\n", "HTTP/1.1 200", "\n:\n::"]
        {
            let headers = NatsHeaders::new(none.as_bytes());
            assert_eq!((headers.status(), headers.get("a")), (None, None), "{none:?}");
        }
    }
}
