//! The weight that a client gives to a media type (RFC 9110 section 12.5.1), and weights in general (section 12.4.2).
//!
//! Owns the field `Accept`. Never chooses: the caller compares the types that it has.

use crate::limits::ACCEPT_MEMBERS_MAXIMUM;

/// A weight in thousandths (RFC 9110 section 12.4.2).
pub(crate) type Weight = u16;

/// How specifically a client asks for a media type; the most specific of its ranges counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    /// Not at all.
    #[default]
    None,
    /// `*/*`.
    Any,
    /// `text/*`.
    Kind,
    /// By its name.
    Named,
}

/// The preference of a client for a media type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fit {
    /// How specifically.
    pub closeness: Closeness,
    /// Its weight in thousandths: 0 is "not acceptable".
    pub weight: u16,
}

impl Fit {
    /// Whether the client asks for the type by its name, and accepts it.
    pub fn is_asked_for(self) -> bool {
        self.closeness == Closeness::Named && self.weight > 0
    }
}

/// The fit of `kind/subtype` by the lines of `Accept`. At most [`ACCEPT_MEMBERS_MAXIMUM`] members are read; an invalid
/// weight is 0.
///
/// ```
/// use wire::http::accept::fit;
///
/// let line = b"text/html, application/json;q=0.5, */*;q=0.1".as_slice();
/// assert_eq!(fit([line], ("application", "json")).weight, 500);
/// assert_eq!(fit([line], ("image", "png")).weight, 100);
/// ```
pub fn fit<'l>(lines: impl IntoIterator<Item = &'l [u8]>, (kind, subtype): (&str, &str)) -> Fit {
    let members = lines.into_iter().flat_map(|line| line.split(|byte| *byte == b','));
    let fit_of = |member: &[u8]| {
        let mut parts = member.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let range = parts.next().unwrap_or_default();
        let closeness = closeness(range, kind.as_bytes(), subtype.as_bytes());
        let weight = parts.find_map(weight_parameter).unwrap_or(1000);
        if closeness == Closeness::None { Fit::default() } else { Fit { closeness, weight } }
    };
    members.take(ACCEPT_MEMBERS_MAXIMUM).map(fit_of).max().unwrap_or_default()
}

fn closeness(range: &[u8], kind: &[u8], subtype: &[u8]) -> Closeness {
    let Some(slash) = memchr::memchr(b'/', range) else { return Closeness::None };
    let (first, second) = (&range[..slash], &range[slash + 1..]);
    match (first, second) {
        (b"*", b"*") => Closeness::Any,
        (first, b"*") if first.eq_ignore_ascii_case(kind) => Closeness::Kind,
        (first, second)
            if first.eq_ignore_ascii_case(kind) && second.eq_ignore_ascii_case(subtype) =>
        {
            Closeness::Named
        }
        _ => Closeness::None,
    }
}

/// `q=0.5`; `None` for another parameter, 0 for an invalid weight.
fn weight_parameter(parameter: &[u8]) -> Option<Weight> {
    match parameter {
        [b'q' | b'Q', b'=', value @ ..] => Some(parse_weight(value).unwrap_or(0)),
        _ => None,
    }
}

/// `"0" [ "." 0*3DIGIT ]` or `"1" [ "." 0*3"0" ]`, in thousandths.
pub(crate) fn parse_weight(text: &[u8]) -> Option<Weight> {
    let (whole, fraction) = match text {
        [whole @ (b'0' | b'1')] => (*whole, [].as_slice()),
        [whole @ (b'0' | b'1'), b'.', fraction @ ..] if fraction.len() <= 3 => (*whole, fraction),
        _ => return None,
    };
    let mut weight = Weight::from(whole - b'0') * 1000;
    for (digit, scale) in fraction.iter().zip([100, 10, 1]) {
        if !digit.is_ascii_digit() {
            return None;
        }
        weight += Weight::from(digit - b'0') * scale;
    }
    (weight <= 1000).then_some(weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_range_gives_the_weight() {
        for (lines, closeness, weight) in [
            ("text/event-stream", Closeness::Named, 1000),
            ("TEXT/Event-Stream ; q=0.25", Closeness::Named, 250),
            ("text/event-stream;q=0, */*", Closeness::Named, 0),
            ("*/*, text/*;q=0.5", Closeness::Kind, 500),
            ("*/*\ntext/event-stream;charset=x;q=0.125", Closeness::Named, 125),
            ("*/*;q=0.001", Closeness::Any, 1),
            ("text/event-stream;q=0.5, text/event-stream", Closeness::Named, 1000),
            ("text/event-stream;q=2", Closeness::Named, 0),
            ("text/event-stream;q=nan", Closeness::Named, 0),
            ("text/event-stream;q=", Closeness::Named, 0),
            ("text/html, text, /, ,;", Closeness::None, 0),
            ("", Closeness::None, 0),
        ] {
            let found = fit(lines.lines().map(str::as_bytes), ("text", "event-stream"));
            assert_eq!(found, Fit { closeness, weight }, "{lines:?}");
        }
    }
}
