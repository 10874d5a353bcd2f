//! One request as specified, and its compilation.
//!
//! Owns which header fields a request has: `Host` first, those of the user, and those that the body
//! needs. Refuses fields that would contradict the generator. Never sends anything.

use super::template::{RequestTemplate, RequestTemplateError};
use super::url::LoadUrl;

/// A request, the same for all URLs of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRequest {
    /// The method.
    pub method: String,
    /// Names and values of fields, in order; values may have templates.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: RequestBody,
}

/// A request's body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RequestBody {
    /// None.
    #[default]
    None,
    /// Text that may have templates.
    Text(String),
    /// Bytes, sent unchanged.
    Bytes(Vec<u8>),
}

impl Default for PlannedRequest {
    fn default() -> Self {
        Self { method: "GET".to_owned(), fields: Vec::new(), body: RequestBody::None }
    }
}

/// The statement of a request about its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Afterwards {
    /// Nothing: it is kept.
    Keep,
    /// `Connection: close`.
    Close,
}

/// Whether an answer has a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerBody {
    /// As its head says.
    AsFramed,
    /// Never, whatever its head says, because it answers HEAD (RFC 9110, 9.3.2).
    Never,
}

/// An error in a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The method is not a token.
    #[error("`{0}` is not a method; write it in letters, as in POST")]
    Method(String),
    /// The method creates a tunnel.
    #[error("CONNECT makes a tunnel, not a request; choose another method")]
    Connect,
    /// A field without a colon, or with an invalid name.
    #[error("`{0}` is not a header field; write NAME: VALUE")]
    Field(String),
    /// A field with a line break or another control character.
    #[error("the value of {0} has a control character; leave it out")]
    FieldValue(String),
    /// A field that the generator sets.
    #[error("{name} cannot be set; {mend}")]
    Reserved {
        /// Its name.
        name: String,
        /// The action to take instead.
        mend: &'static str,
    },
    /// A template in the path.
    #[error("in the path: {0}")]
    Path(RequestTemplateError),
    /// A template in a field.
    #[error("in {name}: {error}")]
    FieldTemplate {
        /// The field's name.
        name: String,
        /// The error.
        error: RequestTemplateError,
    },
    /// A template in the body.
    #[error("in the body: {0}")]
    Body(RequestTemplateError),
    /// The request is too large.
    #[error("{0}")]
    Whole(RequestTemplateError),
}

/// RFC 9110, 5.6.2.
fn is_token(text: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

impl PlannedRequest {
    /// Splits `NAME: VALUE`.
    ///
    /// # Errors
    /// If it is not a field, or one that the generator sets.
    pub fn field(text: &str) -> Result<(String, String), RequestError> {
        let wrong = || RequestError::Field(text.escape_debug().to_string());
        let (name, value) = text.split_once(':').ok_or_else(wrong)?;
        if !is_token(name) {
            return Err(wrong());
        }
        let value = value.trim_matches([' ', '\t']);
        if value.chars().any(|character| character.is_control() && character != '\t') {
            return Err(RequestError::FieldValue(name.to_owned()));
        }
        let reserved = |mend| Err(RequestError::Reserved { name: name.to_owned(), mend });
        match name.to_ascii_lowercase().as_str() {
            "content-length" => reserved("it is counted from the body: give that with --body"),
            "transfer-encoding" => reserved("a body is sent with its length: give it with --body"),
            "connection" if value.eq_ignore_ascii_case("close") => {
                reserved("say --close, so that the connections are counted")
            }
            _ => Ok((name.to_owned(), value.to_owned())),
        }
    }

    /// Whether an answer to it has a body.
    pub fn answer_body(&self) -> AnswerBody {
        if self.method == "HEAD" { AnswerBody::Never } else { AnswerBody::AsFramed }
    }

    /// The bytes of this request for a URL.
    ///
    /// # Errors
    /// The error, and its place.
    pub fn compile(
        &self,
        url: &LoadUrl,
        afterwards: Afterwards,
    ) -> Result<RequestTemplate, RequestError> {
        if !is_token(&self.method) {
            return Err(RequestError::Method(self.method.escape_debug().to_string()));
        }
        if self.method == "CONNECT" {
            return Err(RequestError::Connect);
        }
        let mut template = RequestTemplate::default();
        let whole = RequestError::Whole;
        template.add_bytes(self.method.as_bytes()).map_err(whole)?;
        template.add_bytes(b" ").map_err(whole)?;
        template.add_text(&url.path_and_query).map_err(RequestError::Path)?;
        template.add_bytes(b" HTTP/1.1\r\n").map_err(whole)?;
        self.add_fields(url, &mut template)?;
        if afterwards == Afterwards::Close {
            template.add_bytes(b"Connection: close\r\n").map_err(whole)?;
        }
        match self.compiled_body()? {
            Some(body) => {
                template.add_bytes(b"Content-Length: ").map_err(whole)?;
                template.add_length_and_body(b"\r\n\r\n", &body).map_err(whole)?;
            }
            None => template.add_bytes(b"\r\n").map_err(whole)?,
        }
        Ok(template)
    }

    fn add_fields(
        &self,
        url: &LoadUrl,
        template: &mut RequestTemplate,
    ) -> Result<(), RequestError> {
        let whole = RequestError::Whole;
        let is_host = |name: &str| name.eq_ignore_ascii_case("host");
        if !self.fields.iter().any(|(name, _)| is_host(name)) {
            let host = format!("Host: {}\r\n", url.host_field());
            template.add_bytes(host.as_bytes()).map_err(whole)?;
        }
        for (name, value) in &self.fields {
            template.add_bytes(format!("{name}: ").as_bytes()).map_err(whole)?;
            let wrong = |error| RequestError::FieldTemplate { name: name.clone(), error };
            template.add_text(value).map_err(wrong)?;
            template.add_bytes(b"\r\n").map_err(whole)?;
        }
        Ok(())
    }

    /// The body as a separate template. Methods that expect a body state that it is empty (RFC 9110, 8.6).
    fn compiled_body(&self) -> Result<Option<RequestTemplate>, RequestError> {
        let mut body = RequestTemplate::default();
        match &self.body {
            RequestBody::None if !matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") => {
                return Ok(None);
            }
            RequestBody::None => {}
            RequestBody::Text(text) => body.add_text(text).map_err(RequestError::Body)?,
            RequestBody::Bytes(bytes) => body.add_bytes(bytes).map_err(RequestError::Body)?,
        }
        Ok(Some(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::TemplateState;

    fn request(method: &str, fields: &[&str], body: RequestBody) -> PlannedRequest {
        let fields = fields.iter().map(|text| PlannedRequest::field(text).unwrap()).collect();
        PlannedRequest { method: method.to_owned(), fields, body }
    }

    fn text_of(request: &PlannedRequest, url: &str, afterwards: Afterwards) -> String {
        let template = request.compile(&url.parse().unwrap(), afterwards).unwrap();
        let mut out = Vec::new();
        template.render(&mut TemplateState::new(4, 0, 1), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_plain_request_has_a_host_and_no_more() {
        let plain = PlannedRequest::default();
        let keep = text_of(&plain, "127.0.0.1:80/a?b", Afterwards::Keep);
        assert_eq!(keep, "GET /a?b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        let close = text_of(&plain, "127.0.0.1:81", Afterwards::Close);
        assert_eq!(close, "GET / HTTP/1.1\r\nHost: 127.0.0.1:81\r\nConnection: close\r\n\r\n");
    }

    #[test]
    fn given_fields_stand_in_their_order_and_replace_the_host() {
        let request = request("GET", &["X: 1", "host:other ", "Y:"], RequestBody::None);
        let text = text_of(&request, "127.0.0.1", Afterwards::Keep);
        assert_eq!(text, "GET / HTTP/1.1\r\nX: 1\r\nhost: other\r\nY: \r\n\r\n");
    }

    #[test]
    fn the_length_is_that_of_the_body() {
        let fixed = request("POST", &[], RequestBody::Bytes(b"{{raw}}".to_vec()));
        let text = text_of(&fixed, "h", Afterwards::Keep);
        assert!(text.ends_with("Content-Length: 7\r\n\r\n{{raw}}"), "{text}");
        let empty = text_of(&request("PUT", &[], RequestBody::None), "h", Afterwards::Keep);
        assert!(empty.ends_with("Content-Length: 0\r\n\r\n"), "{empty}");
        let get = request("GET", &[], RequestBody::Text("x".to_owned()));
        assert!(text_of(&get, "h", Afterwards::Keep).ends_with("Content-Length: 1\r\n\r\nx"));
        let wide = request("POST", &[], RequestBody::Text("a{{random:0..99999,5}}b".to_owned()));
        assert!(text_of(&wide, "h", Afterwards::Keep).contains("Content-Length: 7\r\n"));
    }

    #[test]
    fn a_length_that_varies_is_right_each_time() {
        let body =
            RequestBody::Text("{\"n\": {{random:0..100000}}, \"k\": {{key:zipf:99:1}}}".to_owned());
        let request = request("POST", &["X: {{counter}}"], body);
        let url = "http://h/{{random:1..1000000}}".parse().unwrap();
        let template = request.compile(&url, Afterwards::Close).unwrap();
        let mut state = TemplateState::new(4, 0, 1);
        let mut out = Vec::with_capacity(template.bytes_max());
        let room = out.capacity();
        let mut lengths = Vec::new();
        for number in 0..500 {
            out.clear();
            template.render(&mut state, &mut out);
            let text = std::str::from_utf8(&out).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let length = head.split_once("Content-Length: ").unwrap().1;
            assert_eq!(length.parse::<usize>().unwrap(), body.len(), "{text}");
            assert!(head.contains(&format!("\r\nX: {number}\r\nConnection: close\r\n")), "{text}");
            lengths.push(body.len());
        }
        assert_eq!(out.capacity(), room, "rendering allocated");
        lengths.sort_unstable();
        lengths.dedup();
        assert!(lengths.len() > 3, "the length did not vary: {lengths:?}");
    }

    #[test]
    fn a_wrong_request_is_refused_by_its_part() {
        let compiled = |method: &str, fields: &[(&str, &str)], body: &str, url: &str| {
            let fields =
                fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let body = RequestBody::Text(body.to_owned());
            let request =
                PlannedRequest { method: method.to_owned(), fields: fields.collect(), body };
            request.compile(&url.parse().unwrap(), Afterwards::Keep).unwrap_err().to_string()
        };
        assert!(compiled("G T", &[], "", "h").starts_with("`G T` is not a method"));
        assert!(compiled("CONNECT", &[], "", "h").starts_with("CONNECT makes a tunnel"));
        assert!(compiled("GET", &[("A", "{{b}}")], "", "h").starts_with("in A: nothing is known"));
        assert!(compiled("GET", &[], "{{b}}", "h").starts_with("in the body: "));
        assert!(compiled("GET", &[], "", "h/{{b}}").starts_with("in the path: "));
        for (text, start) in [
            ("no colon", "`no colon` is not a header field"),
            ("a b: c", "`a b: c` is not a header field"),
            (": c", "`: c` is not"),
            ("a: b\r\nc: d", "the value of a has a control character"),
            ("Content-Length: 5", "Content-Length cannot be set"),
            ("transfer-encoding: chunked", "transfer-encoding cannot be set"),
            ("Connection: Close", "Connection cannot be set; say --close"),
        ] {
            let error = PlannedRequest::field(text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{text}: {error}");
        }
        assert!(PlannedRequest::field("Connection: keep-alive").is_ok());
    }

    #[test]
    fn an_answer_to_head_has_no_body() {
        assert_eq!(request("HEAD", &[], RequestBody::None).answer_body(), AnswerBody::Never);
        assert_eq!(request("GET", &[], RequestBody::None).answer_body(), AnswerBody::AsFramed);
    }
}
