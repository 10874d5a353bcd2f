//! Whether a client wants a listing, or an error, as HTML or as JSON (RFC 9110 section 12.5.1).
//!
//! Owns the `Accept` field as far as those two are concerned. Never refuses: a client that wants
//! neither gets HTML.

use wire::http::accept::fit;

/// The form of a listing, or of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `text/html`.
    Html,
    /// `application/json`.
    Json,
}

/// JSON only for a client that prefers it to HTML.
pub fn form_of(accept: Option<&[u8]>) -> Form {
    let weight = |media| fit(accept, media).weight;
    if weight(("application", "json")) > weight(("text", "html")) { Form::Json } else { Form::Html }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_sent_only_when_it_is_preferred() {
        for (accept, expected) in [
            (None, Form::Html),
            (Some("*/*"), Form::Html),
            (Some("text/html,application/xhtml+xml,*/*;q=0.8"), Form::Html),
            (Some("application/json"), Form::Json),
            (Some("APPLICATION/JSON; charset=x; q=0.9, text/html;q=0.5"), Form::Json),
            (Some("application/json;q=0.5, text/html"), Form::Html),
            (Some("application/json;q=0.5, text/*;q=0.4, */*"), Form::Json),
            (Some("application/*, text/html;q=0"), Form::Json),
            (Some("application/json;q=2"), Form::Html),
            (Some("application/json;q=nan"), Form::Html),
            (Some("image/png"), Form::Html),
            (Some(",,;,/"), Form::Html),
        ] {
            assert_eq!(form_of(accept.map(str::as_bytes)), expected, "{accept:?}");
        }
    }
}
