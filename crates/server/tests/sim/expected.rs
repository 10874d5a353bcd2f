//! The expected answer.
//!
//! Owns the comparison of an answer, or of a part of one, with what its client expected.

use std::rc::Rc;

use crate::response::{Asked, Response, parse_head};

/// The expected body.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    Exactly(Rc<[u8]>),
    /// The same, or the same compressed: it may not have been compressed yet.
    Gzip(Rc<[u8]>),
    Anything,
}

/// An expected answer.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) status: u16,
    pub(crate) asked: Asked,
    pub(crate) body: Body,
    /// Fields that must be present, with their values.
    pub(crate) fields: Vec<(&'static str, String)>,
    /// The length in an answer to HEAD.
    pub(crate) length: Option<usize>,
    /// Whether it must announce that it is the last.
    pub(crate) last: Option<bool>,
    /// An alternative.
    alternative: Option<Box<Expected>>,
}

impl Expected {
    pub(crate) fn new(status: u16, body: impl Into<Rc<[u8]>>) -> Self {
        let body: Rc<[u8]> = body.into();
        let length = Some(body.len());
        let body = Body::Exactly(body);
        Self {
            status,
            asked: Asked::Body,
            body,
            fields: Vec::new(),
            length,
            last: None,
            alternative: None,
        }
    }

    /// An answer of which only the status is known.
    pub(crate) fn status(status: u16) -> Self {
        let body = Body::Anything;
        Self {
            status,
            asked: Asked::Body,
            body,
            fields: Vec::new(),
            length: None,
            last: None,
            alternative: None,
        }
    }

    pub(crate) fn head(mut self) -> Self {
        self.asked = Asked::Head;
        self
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.fields.push((name, value.to_owned()));
        self
    }

    pub(crate) fn last(mut self) -> Self {
        self.last = Some(true);
        self
    }

    pub(crate) fn not_last(mut self) -> Self {
        self.last = Some(false);
        self
    }

    pub(crate) fn or(mut self, other: Expected) -> Self {
        self.alternative = Some(Box::new(other));
        self
    }

    pub(crate) fn check(&self, response: &Response) {
        if let Some(other) = &self.alternative
            && response.status != self.status
        {
            return other.check(response);
        }
        assert_eq!(response.status, self.status, "{response:?}");
        for (name, value) in &self.fields {
            assert_eq!(response.field(name), Some(value.as_str()), "{name} of {response:?}");
        }
        if let Some(last) = self.last {
            assert_eq!(response.closes(), last, "{response:?}");
        }
        let said = response.field("content-length").map(|length| length.parse().unwrap());
        if self.asked == Asked::Head {
            assert_eq!(said, self.length, "the length that GET would have");
            return;
        }
        match &self.body {
            Body::Exactly(body) => {
                assert!(response.body == **body, "another body: {:?}", short(&response.body));
                if response.field("transfer-encoding").is_none() && self.status == 200 {
                    assert!(said.is_none() || said == self.length);
                }
            }
            Body::Gzip(body) => {
                let plain = match response.field("content-encoding") {
                    Some("gzip") => ungzip(&response.body),
                    _ => response.body.clone(),
                };
                assert!(plain == **body, "another body behind the coding");
            }
            Body::Anything => {}
        }
    }

    /// Checks the received part of an answer that was cut off.
    pub(crate) fn check_part(&self, bytes: &[u8]) {
        let line = format!("HTTP/1.1 {} ", self.status);
        let count = bytes.len().min(line.len());
        assert!(bytes[..count] == line.as_bytes()[..count], "begins otherwise: {:?}", short(bytes));
        let Some(head) = parse_head(bytes) else { return };
        if let Body::Exactly(body) = &self.body
            && head.field("transfer-encoding").is_none()
        {
            assert!(body.starts_with(&bytes[head.length..]), "not a part of the body");
        }
    }
}

fn ungzip(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(bytes);
    std::io::Read::read_to_end(&mut decoder, &mut plain).expect("gzip");
    plain
}

/// Bytes in readable form.
pub(crate) fn short(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]);
    format!("{} bytes: {text}", bytes.len())
}
