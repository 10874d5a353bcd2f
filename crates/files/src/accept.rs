//! Whether a client wants a listing, or an error, as HTML or as JSON (RFC 9110 section 12.5.1).
//!
//! Owns the `Accept` field as far as those two are concerned. Never refuses: a client that wants
//! neither gets HTML.

use wire::http::accept::fit;

/// The form of a listing, or of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingForm {
    /// `text/html`.
    Html,
    /// `application/json`.
    Json,
}

/// JSON only for a client that prefers it to HTML.
pub fn form_of(accept: Option<&[u8]>) -> ListingForm {
    let weight = |media| fit(accept, media).weight;
    if weight(("application", "json")) > weight(("text", "html")) {
        ListingForm::Json
    } else {
        ListingForm::Html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_sent_only_when_it_is_preferred() {
        for (accept, expected) in [
            (None, ListingForm::Html),
            (Some("*/*"), ListingForm::Html),
            (Some("text/html,application/xhtml+xml,*/*;q=0.8"), ListingForm::Html),
            (Some("application/json"), ListingForm::Json),
            (Some("APPLICATION/JSON; charset=x; q=0.9, text/html;q=0.5"), ListingForm::Json),
            (Some("application/json;q=0.5, text/html"), ListingForm::Html),
            (Some("application/json;q=0.5, text/*;q=0.4, */*"), ListingForm::Json),
            (Some("application/*, text/html;q=0"), ListingForm::Json),
            (Some("application/json;q=2"), ListingForm::Html),
            (Some("application/json;q=nan"), ListingForm::Html),
            (Some("image/png"), ListingForm::Html),
            (Some(",,;,/"), ListingForm::Html),
        ] {
            assert_eq!(form_of(accept.map(str::as_bytes)), expected, "{accept:?}");
        }
    }
}
