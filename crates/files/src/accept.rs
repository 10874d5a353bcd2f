//! Whether a client wants a listing, or an error, as HTML or as JSON (RFC 9110 section 12.5.1).
//!
//! Owns the `Accept` field as far as those two are concerned. Never refuses: a client that wants
//! neither gets HTML.

use super::limits;

/// The form of a listing, or of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `text/html`.
    Html,
    /// `application/json`.
    Json,
}

/// How specifically a range of media types matches; the most specific one of a client counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    closeness: u8,
    /// In thousandths.
    weight: u16,
}

/// JSON only for a client that prefers it to HTML.
pub fn form_of(accept: Option<&[u8]>) -> Form {
    let (mut html, mut json) = (Fit::default(), Fit::default());
    let members = accept.unwrap_or_default().split(|&byte| byte == b',');
    for member in members.take(limits::ACCEPT_MEMBERS_MAX) {
        let mut parts = member.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let range = parts.next().unwrap_or_default();
        let weight = parts.find_map(weight).unwrap_or(1000);
        html = html.max(fit(range, b"text", b"html", weight));
        json = json.max(fit(range, b"application", b"json", weight));
    }
    if json.weight > html.weight { Form::Json } else { Form::Html }
}

fn fit(range: &[u8], kind: &[u8], subtype: &[u8], weight: u16) -> Fit {
    let mut halves = range.splitn(2, |&byte| byte == b'/');
    let (first, second) = (halves.next().unwrap_or_default(), halves.next().unwrap_or_default());
    let closeness = match (first, second) {
        (b"*", b"*") => 1,
        (first, b"*") if first.eq_ignore_ascii_case(kind) => 2,
        (first, second)
            if first.eq_ignore_ascii_case(kind) && second.eq_ignore_ascii_case(subtype) =>
        {
            3
        }
        _ => return Fit::default(),
    };
    Fit { closeness, weight }
}

/// `q=0.5`; `None` for another parameter, 0 for an invalid weight.
fn weight(parameter: &[u8]) -> Option<u16> {
    let text = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q="))?;
    let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f32>().ok());
    let value = value.filter(|value| (0.0..=1.0).contains(value)).unwrap_or(0.0);
    Some((value * 1000.0) as u16)
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
