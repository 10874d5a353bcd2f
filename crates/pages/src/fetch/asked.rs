//! A page's request to another server.
//!
//! Owns the fields that a fetch has if the page sets no others, and the limit of its body.

use std::rc::Rc;
use std::time::Duration;

use client::{Deadlines, ExchangeFailure, OutgoingBody, OutgoingRequest, Reach, Requester, Url};
use tls::Connector;
use wire::http::fields::FieldList;

use crate::limits::FETCH_BODY_SIZE;

/// A request for a fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FetchRequest {
    /// The method, in capitals.
    pub method: String,
    /// The URL.
    pub url: Vec<u8>,
    /// Names and values of fields, one per line.
    pub fields: Vec<u8>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// How long it may take; for an answer in pieces, how long the head and each piece may take.
    pub timeout: Duration,
    /// How the body of the answer is delivered.
    pub wanted: ResponseDelivery,
    /// The owner of the share of the fetches that it uses.
    pub owner: FetchOwner,
}

/// The owner of the share of the fetches that a fetch uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FetchOwner {
    /// A request that a page answers.
    #[default]
    Request,
    /// A process that a page spawned.
    Process,
}

/// How the body of an answer is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResponseDelivery {
    /// As a whole.
    #[default]
    Whole,
    /// Piece by piece, as it arrives.
    Pieces,
}

/// The beginning of a URL that is asked over TLS.
const SECURE: &[u8] = b"https:";

const USER_AGENT: &str = concat!("velodrome/", env!("CARGO_PKG_VERSION"));

impl FetchRequest {
    /// The request, for what these rules allow, with these certificates.
    pub(super) fn request(
        &self,
        reach: Rc<dyn Reach>,
        connector: Option<Connector>,
    ) -> Result<OutgoingRequest, ExchangeFailure> {
        let url = Url::parse(&self.url)?;
        if self.body.as_ref().is_some_and(|body| body.len() > FETCH_BODY_SIZE) {
            return Err(ExchangeFailure::RequestTooLong(FETCH_BODY_SIZE));
        }
        let request = OutgoingRequest::new(&self.method, url, reach, Requester::Service);
        let body = self.body.clone().map_or(OutgoingBody::None, OutgoingBody::Whole);
        let deadlines = Deadlines::whole(self.timeout);
        Ok(OutgoingRequest { fields: self.all_fields()?, body, deadlines, connector, ..request })
    }

    /// The server as the URL names it, if it is asked over TLS. Failures then name it.
    pub(crate) fn secure_server(&self) -> Option<Box<str>> {
        let scheme = self.url.get(..SECURE.len())?;
        let url = scheme.eq_ignore_ascii_case(SECURE).then(|| Url::parse(&self.url).ok())??;
        Some(url.authority.into())
    }

    fn all_fields(&self) -> Result<FieldList, ExchangeFailure> {
        let is_own = |name: &str| {
            let mut own = fields(&self.fields);
            own.any(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))
        };
        let mut all = FieldList::new();
        for (name, value) in [("User-Agent", USER_AGENT), ("Accept-Encoding", "identity")] {
            if !is_own(name) {
                all.add(name, value.as_bytes()).map_err(|_| ExchangeFailure::Field)?;
            }
        }
        for (name, value) in fields(&self.fields) {
            let name = str::from_utf8(name).map_err(|_| ExchangeFailure::Field)?;
            all.add_as_spelt(name, value).map_err(|_| ExchangeFailure::Field)?;
        }
        Ok(all)
    }
}

/// Names and values, one per line.
pub(crate) fn fields(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut lines = lines.strip_suffix(b"\n").unwrap_or(lines).split(|byte| *byte == b'\n');
    std::iter::from_fn(move || Some((lines.next()?, lines.next()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::Anywhere;

    fn request(fields: &str, body: Option<Vec<u8>>) -> Result<OutgoingRequest, ExchangeFailure> {
        let url = b"http://a.b:81/x?y".to_vec();
        let asked = FetchRequest {
            method: "POST".into(),
            url,
            fields: fields.into(),
            body,
            ..FetchRequest::default()
        };
        asked.request(Rc::new(Anywhere), None)
    }

    fn sent(fields: &str) -> Vec<(String, String)> {
        let text = |bytes| String::from_utf8_lossy(bytes).replace(USER_AGENT, "UA");
        let request = request(fields, None).unwrap();
        let sent = request.fields.fields();
        sent.iter().map(|(name, value)| (name.to_owned(), text(value))).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn a_request_has_default_fields_unless_the_page_sets_them() {
        let plain = [("User-Agent", "UA"), ("Accept-Encoding", "identity")];
        assert_eq!(sent(""), pairs(&plain));
        assert_eq!(
            sent("X-A\nb\nuser-agent\nme\n"),
            pairs(&[("Accept-Encoding", "identity"), ("X-A", "b"), ("user-agent", "me")])
        );
        // An empty value is a value.
        assert_eq!(sent("x-empty\n\n").last(), pairs(&[("x-empty", "")]).last());
    }

    #[test]
    fn fields_that_would_change_a_request_are_refused() {
        for fields in ["x y\nz", "\nz", "x:\nz", "x\r\nz", "x\na\rb", "x\na\0b", "\u{e9}\nz"] {
            assert_eq!(request(fields, None).unwrap_err(), ExchangeFailure::Field, "{fields:?}");
        }
        let long = format!("x\n{}", "y".repeat(wire::limits::FIELD_LIST_SIZE));
        assert_eq!(request(&long, None).unwrap_err(), ExchangeFailure::Field);
    }

    #[test]
    fn a_body_longer_than_the_limit_is_refused() {
        let longest = request("", Some(vec![b'x'; FETCH_BODY_SIZE])).unwrap();
        assert_eq!(longest.body, OutgoingBody::Whole(vec![b'x'; FETCH_BODY_SIZE]));
        let longer = request("", Some(vec![b'x'; FETCH_BODY_SIZE + 1])).unwrap_err();
        assert_eq!(longer, ExchangeFailure::RequestTooLong(FETCH_BODY_SIZE));
    }
}
