//! Requests as lists of fields, made from the text of HTTP/1.1.
//!
//! Owns those that are kept. Never sends anything.

use wire::h2::RequestText;
use wire::http::url::Scheme;

use crate::plan::{LoadTarget, TemplateState};

/// A request, ready to be encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::client) struct StreamRequest {
    fields: Vec<(String, Vec<u8>)>,
    content: Vec<u8>,
}

impl StreamRequest {
    /// The request of a target, if it is always the same.
    pub(in crate::client) fn of(target: &LoadTarget) -> Option<Self> {
        target.request.is_fixed().then(|| {
            let mut text = Vec::new();
            target.request.render(&mut TemplateState::new(0, 0, 1), &mut text);
            Self::read(&text, target.url.scheme)
        })
    }

    /// Reads a text that the generator has made.
    pub(in crate::client) fn read(text: &[u8], scheme: Scheme) -> Self {
        let end = text.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let (head, content) = text.split_at(end.map_or(text.len(), |end| end + 4));
        let mut fields = Vec::new();
        RequestText::read(head).visit(scheme, |name, value| {
            fields.push((String::from_utf8_lossy(name).into_owned(), value.to_vec()));
        });
        Self { fields, content: content.to_vec() }
    }

    /// Names in lower case, and values; pseudo-fields come first.
    pub(super) fn fields(&self) -> &[(String, Vec<u8>)] {
        &self.fields
    }

    /// The content; often empty.
    pub(super) fn content(&self) -> &[u8] {
        &self.content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_becomes_fields_and_content() {
        let text =
            b"POST /a?b HTTP/1.1\r\nX-A:  b: c\r\nHost: a.example:1\r\nConnection: close\r\n\
            Content-Length: 6\r\n\r\n1\r\n\r\n2";
        let request = StreamRequest::read(text, Scheme::Https);
        let fields: Vec<(&str, &[u8])> =
            request.fields().iter().map(|(name, value)| (name.as_str(), &value[..])).collect();
        let expected: [(&str, &[u8]); 6] = [
            (":method", b"POST"),
            (":scheme", b"https"),
            (":authority", b"a.example:1"),
            (":path", b"/a?b"),
            ("x-a", b"b: c"),
            ("content-length", b"6"),
        ];
        assert_eq!(fields, expected);
        assert_eq!(request.content(), b"1\r\n\r\n2");
    }
}
