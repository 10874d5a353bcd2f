//! Owns one answer over HTTP/2: its heads, its content, its end, and the rules that every answer keeps
//! (RFC 9113 sections 5.1 and 8). Does not judge a case.

/// A head of an answer, or its trailers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// None in trailers.
    status: Option<u16>,
    fields: Vec<(String, Vec<u8>)>,
}

/// Fields about a connection, which HTTP/2 forbids (RFC 9113 section 8.2.2).
const CONNECTION_FIELDS: [&str; 5] =
    ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];

impl Head {
    /// Checks the fields of a block; behind a final head it is the trailers.
    pub(super) fn of(fields: Vec<(String, Vec<u8>)>, behind_final: bool) -> Result<Self, String> {
        let mut status = None;
        let mut regular = Vec::new();
        for (name, value) in fields {
            if name.is_empty() || name.bytes().any(|byte| byte.is_ascii_uppercase() || byte <= b' ')
            {
                return Err(format!("the field name '{name}' (RFC 9113 section 8.2)"));
            }
            if CONNECTION_FIELDS.contains(&name.as_str()) {
                return Err(format!("the field {name} (RFC 9113 section 8.2.2)"));
            }
            if value.iter().any(|byte| b"\0\r\n".contains(byte)) {
                return Err(format!(
                    "a value of {name} with NUL, CR or LF (RFC 9113 section 8.2.1)"
                ));
            }
            if !name.starts_with(':') {
                regular.push((name, value));
                continue;
            }
            if name != ":status" || status.is_some() || !regular.is_empty() || behind_final {
                return Err(format!(
                    "the pseudo field {name} in this place (RFC 9113 section 8.3)"
                ));
            }
            status = Some(status_of(&value)?);
        }
        if status.is_none() && !behind_final {
            return Err("no :status (RFC 9113 section 8.3.2)".to_owned());
        }
        Ok(Self { status, fields: regular })
    }

    fn is_final(&self) -> bool {
        self.status.is_some_and(|status| status >= 200)
    }
}

fn status_of(value: &[u8]) -> Result<u16, String> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.len() == 3);
    let status = text.and_then(|text| text.parse().ok()).filter(|status| *status >= 100);
    match status {
        Some(101) => Err("101 (RFC 9113 section 8.6)".to_owned()),
        Some(status) => Ok(status),
        None => Err(format!("the status '{}'", String::from_utf8_lossy(value))),
    }
}

/// The answer on one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamAnswer {
    interim: Vec<u16>,
    head: Option<Head>,
    trailers: Option<Head>,
    content: Vec<u8>,
    flow_bytes: i64,
    is_ended: bool,
    reset: Option<u32>,
}

impl StreamAnswer {
    /// The final status, if a final head came.
    pub fn status(&self) -> Option<u16> {
        self.head.as_ref().and_then(|head| head.status)
    }

    /// The interim statuses before it.
    pub fn interim(&self) -> &[u16] {
        &self.interim
    }

    /// The value of the first field of this name in the final head.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let fields = self.head.iter().flat_map(|head| &head.fields);
        fields.clone().find(|(other, _)| other == name).map(|(_, value)| value.as_slice())
    }

    /// The value of the first trailer of this name.
    pub fn trailer(&self, name: &str) -> Option<&[u8]> {
        let fields = self.trailers.iter().flat_map(|head| &head.fields);
        fields.clone().find(|(other, _)| other == name).map(|(_, value)| value.as_slice())
    }

    /// The content so far.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Whether the server has ended the stream.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// The code with which the server has reset the stream.
    pub fn reset_code(&self) -> Option<u32> {
        self.reset
    }

    /// Bytes of DATA that counted against the windows.
    pub(super) fn flow_bytes(&self) -> i64 {
        self.flow_bytes
    }

    pub(super) fn has_final_head(&self) -> bool {
        self.head.is_some()
    }

    pub(super) fn head(&mut self, head: Head) -> Result<(), String> {
        self.check_open()?;
        match (&self.head, head.status) {
            (Some(_), _) if self.trailers.is_some() => return Err("trailers twice".to_owned()),
            (Some(_), _) => self.trailers = Some(head),
            (None, Some(status)) if !head.is_final() => self.interim.push(status),
            (None, _) => self.head = Some(head),
        }
        Ok(())
    }

    pub(super) fn data(&mut self, content: &[u8], flow_bytes: i64) -> Result<(), String> {
        self.check_open()?;
        if self.head.is_none() || self.trailers.is_some() {
            return Err("DATA that does not stand behind a head".to_owned());
        }
        self.content.extend_from_slice(content);
        self.flow_bytes += flow_bytes;
        Ok(())
    }

    pub(super) fn end(&mut self) -> Result<(), String> {
        if self.head.is_none() {
            return Err(
                "the end of a stream without a final head (RFC 9113 section 8.1)".to_owned()
            );
        }
        self.is_ended = true;
        let said = self.field("content-length").and_then(|value| std::str::from_utf8(value).ok());
        let said: Option<usize> = said.and_then(|text| text.parse().ok());
        if said.is_some_and(|said| said != self.content.len()) && !self.content.is_empty() {
            return Err("the content is not as long as content-length says".to_owned());
        }
        Ok(())
    }

    pub(super) fn reset(&mut self, code: u32) {
        self.reset = self.reset.or(Some(code));
    }

    /// RFC 9113 section 5.1: after END_STREAM or RST_STREAM nothing of the answer follows.
    fn check_open(&self) -> Result<(), String> {
        match (self.is_ended, self.reset) {
            (true, _) => Err("behind END_STREAM".to_owned()),
            (_, Some(_)) => Err("behind RST_STREAM".to_owned()),
            _ => Ok(()),
        }
    }
}
