//! Requests: what a requester asks for, and its head as it is sent.
//!
//! Owns the head, and that nothing in it changes where the request ends or which server receives it.

use std::rc::Rc;

use tls::Connector;
use wire::http::fields::FieldList;
use wire::http::method::Method;

use crate::body::{ContinueWait, OutgoingBody};
use crate::deadlines::Deadlines;
use crate::failure::ExchangeFailure;
use crate::head::{HeadWriter, WrittenHead};
use crate::id::Requester;
use crate::limits::METHOD_BYTES;
use crate::origin::{Destination, OriginTransport};
use crate::reach::Reach;
use crate::url::{Url, UrlError};

/// A request to another server.
#[derive(Clone, Debug)]
pub struct OutgoingRequest {
    /// The method, in capitals.
    pub method: String,
    /// The server, the text for its Host field, and path and query.
    pub url: Url,
    /// The fields. Those that determine the end of the message or the use of the connection are left out, because the
    /// client sets them (RFC 9110, 7.6.1; RFC 9112, 6). A requester that forwards also leaves out what `Connection`
    /// names.
    pub fields: FieldList,
    /// The body.
    pub body: OutgoingBody,
    /// Whether the body waits for the other server's consent.
    pub expectation: ContinueWait,
    /// The protocol to go on with, for the Upgrade field (RFC 9110, 7.8). Such a request is a GET without a body.
    pub upgrade: Option<String>,
    /// How long it may take.
    pub deadlines: Deadlines,
    /// Which servers it may reach.
    pub reach: Rc<dyn Reach>,
    /// Which certificates it trusts and shows; the client keeps the sessions. `None`: there are no authorities to
    /// trust, and a URL of `https` cannot be requested.
    pub connector: Option<Connector>,
    /// The process, or the service, that is told of news.
    pub requester: Requester,
}

/// Whether a request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeatable {
    Yes,
    No,
}

/// The part of the request that the reader of the answer must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerTo {
    Head,
    Upgrade,
    Other,
}

impl OutgoingRequest {
    /// A request with this method and the defaults for everything else.
    pub fn new(method: &str, url: Url, reach: Rc<dyn Reach>, requester: Requester) -> Self {
        Self {
            method: method.to_owned(),
            url,
            fields: FieldList::new(),
            body: OutgoingBody::None,
            expectation: ContinueWait::Nothing,
            upgrade: None,
            deadlines: Deadlines::default(),
            reach,
            connector: None,
            requester,
        }
    }

    /// Whether it may be sent again.
    pub(crate) fn repeatable(&self) -> Repeatable {
        Repeatable::of(&self.method, &self.body, self.answer_to())
    }

    /// The part that the reader of the answer must know.
    pub(crate) fn answer_to(&self) -> AnswerTo {
        AnswerTo::of(&self.method, self.upgrade.as_deref())
    }

    /// The destination of its connection, and the way to it.
    pub(crate) fn destination(&self) -> Result<Destination, ExchangeFailure> {
        let connector = match self.url.origin.transport {
            OriginTransport::Plain => None,
            OriginTransport::Encrypted => {
                Some(self.connector.clone().ok_or(ExchangeFailure::NoAuthorities)?)
            }
        };
        let destination = Destination::checked(self.url.origin.clone(), connector, None);
        destination.ok_or(ExchangeFailure::Url(UrlError::Host))
    }

    /// Writes the head.
    pub(crate) fn head(&self) -> Result<WrittenHead, ExchangeFailure> {
        self.check_method()?;
        let room = self.fields.fields().lines().len();
        let mut head = HeadWriter::new(&self.method, &self.url.target, room)?;
        let fields = self.fields.fields();
        if !fields.has("host") {
            head.field("Host", self.url.authority.as_bytes())?;
        }
        for (name, value) in fields.iter() {
            head.field(name, value)?;
        }
        let expectation = self.expects_continue();
        head.end(&self.method, &self.body, self.upgrade.as_deref(), expectation)
    }

    fn check_method(&self) -> Result<(), ExchangeFailure> {
        let method = &*self.method;
        let is_word = method.bytes().all(|byte| byte.is_ascii_uppercase());
        let is_method = !method.is_empty() && method.len() <= METHOD_BYTES && is_word;
        // CONNECT and TRACE concern the connection, not a resource (RFC 9110, 9.3.6 and 9.3.8).
        let leads_nowhere = matches!(method, "CONNECT" | "TRACE");
        let fits_upgrade =
            self.upgrade.is_none() || method == "GET" && self.body == OutgoingBody::None;
        if is_method && !leads_nowhere && fits_upgrade {
            Ok(())
        } else {
            Err(ExchangeFailure::Method)
        }
    }

    /// Whether the body waits; one that is empty does not (RFC 9110, 10.1.1).
    pub(crate) fn expects_continue(&self) -> ContinueWait {
        let has_body = match &self.body {
            OutgoingBody::None | OutgoingBody::Streamed(Some(0)) => false,
            OutgoingBody::Whole(bytes) => !bytes.is_empty(),
            OutgoingBody::Trailed(_) | OutgoingBody::Streamed(_) => true,
        };
        if has_body { self.expectation } else { ContinueWait::Nothing }
    }
}

impl Repeatable {
    /// Whether a request may be sent again (RFC 9110, 9.2.2).
    pub(crate) fn of(method: &str, body: &OutgoingBody, answer_to: AnswerTo) -> Self {
        let is_idempotent = matches!(method, "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS");
        let is_whole = !matches!(body, OutgoingBody::Streamed(_)) && answer_to != AnswerTo::Upgrade;
        if is_idempotent && is_whole { Self::Yes } else { Self::No }
    }
}

impl AnswerTo {
    /// The part of such a request that the reader of the answer must know.
    pub(crate) fn of(method: &str, upgrade: Option<&str>) -> Self {
        match (method, upgrade) {
            (_, Some(_)) => Self::Upgrade,
            ("HEAD", None) => Self::Head,
            _ => Self::Other,
        }
    }

    /// The method for the reader of the answer.
    pub(crate) fn method(self) -> Method {
        if self == Self::Head { Method::Head } else { Method::Get }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::Anywhere;
    use wire::http::fields::FRAMING;

    fn request(method: &str, fields: &[(&str, &str)], body: OutgoingBody) -> OutgoingRequest {
        let url = Url::parse(b"http://a.b:81/x?y").unwrap();
        let plain = OutgoingRequest::new(method, url, Rc::new(Anywhere), Requester::Service);
        let mut request = OutgoingRequest { body, ..plain };
        for (name, value) in fields {
            request.fields.add_as_spelt(name, value.as_bytes()).unwrap();
        }
        request
    }

    fn sent(request: &OutgoingRequest) -> String {
        String::from_utf8_lossy(&request.head().expect("a head").text).into_owned()
    }

    #[test]
    fn a_request_says_where_it_goes_and_where_it_ends() {
        let get = "GET /x?y HTTP/1.1\r\nHost: a.b:81\r\n\r\n";
        assert_eq!(sent(&request("GET", &[], OutgoingBody::None)), get);
        assert_eq!(
            sent(&request(
                "POST",
                &[("X-A", "b"), ("host", "other")],
                OutgoingBody::Whole(b"four".into())
            )),
            "POST /x?y HTTP/1.1\r\nX-A: b\r\nhost: other\r\nContent-Length: 4\r\n\r\n"
        );
        let ends = |request: OutgoingRequest, end: &str| {
            let sent = sent(&request);
            assert!(sent.ends_with(end), "{sent:?}");
        };
        ends(request("PUT", &[], OutgoingBody::None), "Content-Length: 0\r\n\r\n");
        ends(request("DELETE", &[], OutgoingBody::None), "Host: a.b:81\r\n\r\n");
        ends(request("DELETE", &[], OutgoingBody::Whole(Vec::new())), "Content-Length: 0\r\n\r\n");
        ends(request("PUT", &[], OutgoingBody::Streamed(Some(7))), "Content-Length: 7\r\n\r\n");
        ends(
            request("PUT", &[], OutgoingBody::Streamed(None)),
            "Transfer-Encoding: chunked\r\n\r\n",
        );
        let expecting = |body| OutgoingRequest {
            expectation: ContinueWait::Continue,
            ..request("PUT", &[("x-empty", "")], body)
        };
        ends(
            expecting(OutgoingBody::Whole(b"a".into())),
            "x-empty: \r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n",
        );
        ends(expecting(OutgoingBody::Streamed(Some(0))), "Content-Length: 0\r\n\r\n");
        let upgrade = Some("websocket".to_owned());
        ends(
            OutgoingRequest { upgrade, ..request("GET", &[], OutgoingBody::None) },
            "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        );
    }

    #[test]
    fn fields_that_say_where_a_request_ends_are_left_out() {
        let fields = FRAMING.map(|name| (name, "99"));
        let plain = sent(&request("GET", &[], OutgoingBody::None));
        assert_eq!(sent(&request("GET", &fields, OutgoingBody::None)), plain);
        let shouted = FRAMING.map(str::to_ascii_uppercase);
        let fields: Vec<_> = shouted.iter().map(|name| (name.as_str(), "chunked")).collect();
        assert_eq!(sent(&request("GET", &fields, OutgoingBody::None)), plain);
    }

    #[test]
    fn fields_that_would_change_a_request_are_refused() {
        let long = "A".repeat(METHOD_BYTES + 1);
        for method in ["", "get", "G T", "CONNECT", "TRACE", "GET / HTTP/1.1\r\nX:", &long] {
            let failure = request(method, &[], OutgoingBody::None).head().unwrap_err();
            assert_eq!(failure, ExchangeFailure::Method, "{method:?}");
        }
        let upgrade = Some("x".to_owned());
        let with_body =
            OutgoingRequest { upgrade, ..request("GET", &[], OutgoingBody::Whole(Vec::new())) };
        assert_eq!(with_body.head(), Err(ExchangeFailure::Method));
        let mut split = request("GET", &[], OutgoingBody::None);
        split.url.target = "/ HTTP/1.1\r\nX: y".to_owned();
        assert_eq!(split.head(), Err(ExchangeFailure::Field));
    }

    #[test]
    fn only_what_does_no_harm_twice_may_be_sent_twice() {
        let repeatable = |method, body| request(method, &[], body).repeatable();
        for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"] {
            assert_eq!(
                repeatable(method, OutgoingBody::Whole(Vec::new())),
                Repeatable::Yes,
                "{method}"
            );
            assert_eq!(
                repeatable(method, OutgoingBody::Streamed(None)),
                Repeatable::No,
                "{method}"
            );
        }
        for method in ["POST", "PATCH", "PURGE"] {
            assert_eq!(repeatable(method, OutgoingBody::None), Repeatable::No, "{method}");
        }
    }
}
