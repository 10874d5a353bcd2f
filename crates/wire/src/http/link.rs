//! A link as the value of a `Link` field (RFC 8288, 3): `</style.css>; rel=preload; as=style`.
//!
//! Owns whether a text is exactly one. Never resolves its target, and never knows a relation.

use super::head::scan;

/// The first fault of a text that is no link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLink {
    /// There is no target in angle brackets at its beginning.
    #[error("a link begins with its target in angle brackets, such as `</style.css>`")]
    NoTarget,
    /// The target is empty, or has a byte that no URI has.
    #[error("the target of a link is a URI: visible ASCII without `<`, `\"` and spaces")]
    Target,
    /// A parameter is neither `name`, `name=token` nor `name="text"`.
    #[error("`; name=value` follows the target of a link, several times if need be")]
    Parameter,
    /// Another link follows.
    #[error("there is more than one link; write each as a text of its own")]
    Several,
    /// It does not say what the target is for.
    #[error("a link needs a relation, such as `rel=preload`")]
    NoRelation,
}

/// Checks a link. Its relation is required (RFC 8288, 3.3).
///
/// ```
/// use wire::http::link::{InvalidLink, check_link};
///
/// assert_eq!(check_link(b"</style.css>; rel=preload; as=style"), Ok(()));
/// assert_eq!(check_link(b"/style.css; rel=preload"), Err(InvalidLink::NoTarget));
/// ```
///
/// # Errors
/// The first fault.
pub fn check_link(text: &[u8]) -> Result<(), InvalidLink> {
    let inside = text.strip_prefix(b"<").ok_or(InvalidLink::NoTarget)?;
    let end = inside.iter().position(|byte| *byte == b'>').ok_or(InvalidLink::NoTarget)?;
    let (target, rest) = inside.split_at(end);
    let is_of_uri = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'"');
    if target.is_empty() || !target.iter().all(is_of_uri) {
        return Err(InvalidLink::Target);
    }
    let mut rest = rest.get(1..).unwrap_or_default();
    let mut has_relation = false;
    while !rest.is_empty() {
        let (name, after) = parameter(rest)?;
        has_relation |= name.eq_ignore_ascii_case(b"rel");
        rest = after;
    }
    if has_relation { Ok(()) } else { Err(InvalidLink::NoRelation) }
}

/// The name of the first parameter, and what follows it.
fn parameter(text: &[u8]) -> Result<(&[u8], &[u8]), InvalidLink> {
    let text = text.trim_ascii_start();
    if text.starts_with(b",") {
        return Err(InvalidLink::Several);
    }
    let text = text.strip_prefix(b";").ok_or(InvalidLink::Parameter)?.trim_ascii_start();
    let (name, rest) = token(text)?;
    let Some(value) = rest.trim_ascii_start().strip_prefix(b"=") else { return Ok((name, rest)) };
    let value = value.trim_ascii_start();
    let rest = match value.strip_prefix(b"\"") {
        Some(quoted) => behind_quotes(quoted)?,
        None => token(value)?.1,
    };
    Ok((name, rest))
}

fn token(text: &[u8]) -> Result<(&[u8], &[u8]), InvalidLink> {
    match scan::token(text, 0) {
        0 => Err(InvalidLink::Parameter),
        end => Ok(text.split_at(end)),
    }
}

/// The rest behind a quoted text (RFC 9110, 5.6.4), of which the first quote was taken.
fn behind_quotes(text: &[u8]) -> Result<&[u8], InvalidLink> {
    let mut bytes = text.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Ok(text.get(at + 1..).unwrap_or_default()),
            b'\\' if matches!(bytes.next(), Some((_, b'\t' | b' '..=b'~'))) => {}
            b'\t' | b' '..=b'[' | b']'..=b'~' => {}
            _ => break,
        }
    }
    Err(InvalidLink::Parameter)
}

#[cfg(test)]
mod tests {
    use super::InvalidLink::{NoRelation, NoTarget, Parameter, Several, Target};
    use super::*;
    use crate::http::response::check_field;

    #[test]
    fn a_link_has_a_target_and_a_relation() {
        let cases: [(&str, Result<(), InvalidLink>); 18] = [
            ("</style.css>; rel=preload; as=style", Ok(())),
            ("<https://cdn.example:8/a?b=c>;rel=\"preconnect\"", Ok(())),
            ("</f.woff2> ; REL = preload ;as=font; crossorigin", Ok(())),
            ("</a>; title=\"a, \\\"b\\\"; c\"; rel=preload", Ok(())),
            ("", Err(NoTarget)),
            ("/style.css; rel=preload", Err(NoTarget)),
            ("</style.css", Err(NoTarget)),
            ("<>; rel=preload", Err(Target)),
            ("</a b>; rel=preload", Err(Target)),
            ("</a\r\nb>; rel=preload", Err(Target)),
            ("</a>", Err(NoRelation)),
            ("</a>; as=style", Err(NoRelation)),
            ("</a> rel=preload", Err(Parameter)),
            ("</a>; rel=", Err(Parameter)),
            ("</a>; rel=\"preload", Err(Parameter)),
            ("</a>; rel=preload;", Err(Parameter)),
            ("</a>; rel=\"a\r\nb\"", Err(Parameter)),
            ("</a>; rel=preload, </b>; rel=preload", Err(Several)),
        ];
        for (text, expected) in cases {
            assert_eq!(check_link(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn every_link_can_be_the_value_of_a_field() {
        for byte in 0..=u8::MAX {
            for before in [&b"</a"[..], b"</a>", b"</a>; rel=", b"</a>; rel=\"", b"</a>; rel=\"\\"]
            {
                let text = [before, &[byte], b"x\"; rel=x"].concat();
                let text_in_target = [before, &[byte], b">; rel=x"].concat();
                for text in [text, text_in_target] {
                    if check_link(&text).is_ok() {
                        assert_eq!(check_field("link", &text), Ok(()), "{text:?}");
                    }
                }
            }
        }
    }
}
