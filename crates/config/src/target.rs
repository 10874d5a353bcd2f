//! The target of a redirect or a rewrite: a text with `$path`, `$query` and `$1` to `$9` in it.
//!
//! Owns the syntax and the checks that make a redirect safe: it never leaves the host written in
//! the file (or the one that the client asked for, with `$host`), whatever path a client requests.
//! `route` fills the parts in.

use wire::http::target::percent_encode;
use wire::http::url::Authority;

use crate::request_path;
use crate::wording::nearest;

/// A text with variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetTemplate {
    text: String,
    parts: Vec<TargetPart>,
}

/// A part of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetPart {
    /// Text as written; in a redirect it is already percent-encoded.
    Literal(String),
    /// The path of the request.
    Path(Spot),
    /// The query of the request with its `?`, or nothing.
    Query,
    /// The host of the request, without its port.
    Host,
    /// `http` or `https`, as the request came.
    Scheme,
    /// The match of a wildcard, or the rest after a prefix.
    Capture {
        /// The number of the wildcard, from 1.
        number: usize,
        /// Its position.
        spot: Spot,
    },
}

/// The part of the new target in which a variable is, which determines what is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// The path.
    Path,
    /// The query or the fragment.
    AfterPath,
}

impl TargetTemplate {
    /// Parses the target of a redirect whose route has this many captures.
    pub(super) fn redirect(text: &str, captures: usize) -> Result<Self, String> {
        check_characters(text)?;
        let parts = parse(text, captures)?;
        check_beginning(text, &parts)?;
        check_query(&parts)?;
        let parts = parts.into_iter().map(encode_literal).collect();
        Ok(Self { text: text.to_owned(), parts })
    }

    /// Parses the path of a rewrite whose route has this many captures.
    pub(super) fn rewrite(text: &str, captures: usize) -> Result<Self, String> {
        check_characters(text)?;
        let parts = parse(text, captures)?;
        if parts.contains(&TargetPart::Query) {
            return Err("the query of a rewritten request does not change".to_owned());
        }
        if parts.iter().any(|part| matches!(part, TargetPart::Host | TargetPart::Scheme)) {
            return Err("`$host` and `$scheme` are for redirects".to_owned());
        }
        if !matches!(parts.first(), Some(TargetPart::Path(_))) {
            request_path::check(text)?;
        }
        Ok(Self { text: text.to_owned(), parts })
    }

    /// The text of the target.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its parts in order.
    pub fn parts(&self) -> &[TargetPart] {
        &self.parts
    }

    /// The whole target, if it is the same for every request.
    pub fn constant(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [TargetPart::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it is `$path/`: the path of the request as a directory.
    pub fn adds_slash(&self) -> bool {
        matches!(self.parts.as_slice(), [TargetPart::Path(_), TargetPart::Literal(text)] if text == "/")
    }

    /// Whether it leads to another path of the same host.
    pub fn is_local(&self) -> bool {
        self.text.starts_with('/') || self.text.starts_with("$path")
    }
}

fn check_characters(text: &str) -> Result<(), String> {
    if text.contains(|character: char| character.is_control()) {
        return Err("it must not contain control characters".to_owned());
    }
    Ok(())
}

/// Splits the text at its variables.
fn parse(text: &str, captures: usize) -> Result<Vec<TargetPart>, String> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut spot = Spot::Path;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        literal.push_str(before);
        if before.contains(['?', '#']) {
            spot = Spot::AfterPath;
        }
        if let Some(after) = after.strip_prefix('$') {
            literal.push('$');
            rest = after;
            continue;
        }
        let (part, after) = variable(after, captures, spot)?;
        if !literal.is_empty() {
            parts.push(TargetPart::Literal(std::mem::take(&mut literal)));
        }
        parts.push(part);
        rest = after;
    }
    literal.push_str(rest);
    if !literal.is_empty() || parts.is_empty() {
        parts.push(TargetPart::Literal(literal));
    }
    Ok(parts)
}

/// The variable at the beginning of `text`, after its `$`, and what follows.
fn variable(text: &str, captures: usize, spot: Spot) -> Result<(TargetPart, &str), String> {
    if let Some(digit) = text.chars().next().and_then(|character| character.to_digit(10)) {
        let number = digit as usize;
        if number == 0 || number > captures {
            return Err(match captures {
                0 => format!("there is no `${number}`: the route has no wildcard"),
                1 => format!("there is no `${number}`, only `$1`"),
                _ => format!("there is no `${number}`, only `$1` to `${captures}`"),
            });
        }
        return Ok((TargetPart::Capture { number, spot }, text.get(1..).unwrap_or_default()));
    }
    let size = text.bytes().take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'_').count();
    let (name, after) = text.split_at_checked(size).unwrap_or((text, ""));
    match name {
        "path" => Ok((TargetPart::Path(spot), after)),
        "query" => Ok((TargetPart::Query, after)),
        "host" => Ok((TargetPart::Host, after)),
        "scheme" => Ok((TargetPart::Scheme, after)),
        _ => Err(match nearest(name, &["path", "query", "host", "scheme"]) {
            Some(meant) => format!("`${name}` is unknown; did you mean `${meant}`?"),
            None => format!(
                "`${name}` is unknown; known are `$path`, `$query`, `$host`, `$scheme`, `$1` to `$9`, and \
                 `$$` for a dollar sign"
            ),
        }),
    }
}

/// A redirect leads to a path of this host, to a host that is fully written, or to the one that was asked for.
fn check_beginning(text: &str, parts: &[TargetPart]) -> Result<(), String> {
    let (literal, others) = match parts {
        [TargetPart::Path(_), ..] => return Ok(()),
        [TargetPart::Literal(literal), others @ ..] => (literal.as_str(), others),
        [TargetPart::Scheme, TargetPart::Literal(literal), others @ ..] => {
            let after = literal.strip_prefix("://");
            return after.map_or_else(
                || Err("write `://` behind `$scheme`".to_owned()),
                |after| check_authority(after, others),
            );
        }
        _ => ("", parts),
    };
    if literal.starts_with("//") {
        return Err(format!("write the scheme too: \"https:{text}\""));
    }
    if literal.starts_with('/') {
        return Ok(());
    }
    match literal.strip_prefix("https://").or_else(|| literal.strip_prefix("http://")) {
        Some(after) => check_authority(after, others),
        None => {
            Err("it must begin with `/`, `$path`, `https://`, `http://` or `$scheme://`".to_owned())
        }
    }
}

/// The authority behind `://`: written text, or `$host` with written labels before it.
fn check_authority(after: &str, others: &[TargetPart]) -> Result<(), String> {
    let size = after.find(['/', '?', '#']).unwrap_or(after.len());
    let (authority, behind) = after.split_at_checked(size).unwrap_or((after, ""));
    if behind.is_empty()
        && let [TargetPart::Host, others @ ..] = others
    {
        return check_around_host(authority, others);
    }
    if Authority::parse(authority).is_err() {
        return Err("write a host behind the scheme, as in \"https://example.org$path\"".to_owned());
    }
    match others.first() {
        // Directly after the host, text of the request could be `.evil.example` or `@evil.example`.
        Some(TargetPart::Capture { .. } | TargetPart::Host | TargetPart::Scheme)
            if behind.is_empty() =>
        {
            Err("put a `/` between the host and the variable".to_owned())
        }
        _ => Ok(()),
    }
}

/// `$host` may have labels before it (`www.$host`) and a port behind it, so that the whole stays a host of the same
/// name.
fn check_around_host(before: &str, others: &[TargetPart]) -> Result<(), String> {
    let is_label = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let is_labels = before.is_empty() || before.ends_with('.') && before.bytes().all(is_label);
    if !is_labels {
        return Err("before `$host` only labels can stand, as in \"https://www.$host\"".to_owned());
    }
    let behind = match others {
        [] | [TargetPart::Path(_) | TargetPart::Query, ..] => return Ok(()),
        [TargetPart::Literal(literal), others @ ..] => {
            let port = literal
                .strip_prefix(':')
                .map(|rest| rest.trim_start_matches(|character: char| character.is_ascii_digit()));
            match port.unwrap_or(literal) {
                // A digit of the request would change the port.
                "" if matches!(
                    others.first(),
                    None | Some(TargetPart::Path(_) | TargetPart::Query)
                ) =>
                {
                    "/"
                }
                rest => rest,
            }
        }
        _ => "",
    };
    if behind.starts_with(['/', '?', '#']) {
        return Ok(());
    }
    Err("behind `$host` stands a port, a path or nothing".to_owned())
}

/// `$query` includes its `?`, so it must be where the query begins, and only a fragment may follow.
fn check_query(parts: &[TargetPart]) -> Result<(), String> {
    let Some(index) = parts.iter().position(|part| *part == TargetPart::Query) else {
        return Ok(());
    };
    let (before, after) = parts.split_at_checked(index).unwrap_or((parts, &[]));
    let has = |part: &TargetPart, mark: char| matches!(part, TargetPart::Literal(text) if text.contains(mark));
    if before.iter().any(|part| has(part, '#')) {
        return Err("`$query` must be before `#`".to_owned());
    }
    if before.iter().any(|part| has(part, '?')) {
        return Err("`$query` brings its own `?`; leave that out".to_owned());
    }
    match after.get(1) {
        None => Ok(()),
        Some(TargetPart::Literal(text)) if text.starts_with('#') => Ok(()),
        Some(_) => Err("`$query` must be at the end".to_owned()),
    }
}

/// Percent-encodes what is not allowed in a URI (RFC 3986 §2); written escapes are kept.
fn encode_literal(part: TargetPart) -> TargetPart {
    let TargetPart::Literal(text) = part else { return part };
    let mut encoded = String::with_capacity(text.len());
    percent_encode(&text, b"-._~:/?#[]@!$&'()*+,;=%", &mut encoded);
    TargetPart::Literal(encoded)
}
