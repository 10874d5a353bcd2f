//! The targets of redirects and rewrites, filled in for a request.
//!
//! Owns which characters are percent-encoded. A filled-in redirect contains only visible ASCII, and one that is written
//! as a path stays a path of this host: `//` at its beginning would name another host (RFC 3986
//! §4.2).

use wire::http::target::percent_encode;

use super::RouteRequest;
use super::hosts::PlainHost;
use crate::glob::Captures;
use crate::target::{Spot, TargetPart, TargetTemplate};

/// The parts of a request that fill in a target. Plain data.
#[derive(Clone, Copy)]
pub(super) struct Filling<'a> {
    pub(crate) path: &'a str,
    pub(crate) captures: &'a Captures,
}

impl TargetTemplate {
    /// The path that a `try` makes of the path of a request; `None` if it is none.
    pub fn path_from(&self, path: &str) -> Option<String> {
        rewritten(self, Filling { path, captures: &Captures::none() })
    }
}

/// The Location of a redirect; `None` if it needs a host and the request names none that a URL can have.
pub(super) fn location(
    target: &TargetTemplate,
    filling: Filling<'_>,
    request: &RouteRequest<'_>,
) -> Option<String> {
    let mut out = String::with_capacity(target.as_str().len() + filling.path.len());
    for part in target.parts() {
        match part {
            TargetPart::Literal(text) => out.push_str(joined(&out, text)),
            TargetPart::Path(spot) => push_variable(&mut out, filling.path, *spot),
            TargetPart::Capture { number, spot } => {
                push_variable(&mut out, filling.captures.part(*number, filling.path), *spot);
            }
            TargetPart::Query => {
                if let Some(query) = request.query {
                    out.push('?');
                    // As received: escapes are kept.
                    percent_encode(query, b"-._~!$&'()*+,;=:@/?%", &mut out);
                }
            }
            TargetPart::Host => {
                let host = PlainHost::of(request.host);
                out.push_str(host.of_url()?);
            }
            TargetPart::Scheme => out.push_str(request.circumstances.scheme.as_str()),
        }
    }
    Some(out)
}

/// The path with which a rewrite continues; `None` if it cannot be a request path.
pub(super) fn rewritten(target: &TargetTemplate, filling: Filling<'_>) -> Option<String> {
    let mut out = String::with_capacity(target.as_str().len() + filling.path.len());
    for part in target.parts() {
        let text = match part {
            TargetPart::Literal(text) => text,
            TargetPart::Path(_) => filling.path,
            TargetPart::Capture { number, .. } => filling.captures.part(*number, filling.path),
            // They are for redirects only.
            TargetPart::Query | TargetPart::Host | TargetPart::Scheme => "",
        };
        out.push_str(joined(&out, text));
    }
    // A dot of the text next to one of the request could form a name for the parent directory.
    let is_path = out.starts_with('/') && !out.split('/').any(|part| matches!(part, "." | ".."));
    is_path.then_some(out)
}

fn push_variable(out: &mut String, text: &str, spot: Spot) {
    match spot {
        Spot::Path => {
            let text = if out.is_empty() {
                out.push('/');
                text.trim_start_matches('/')
            } else {
                joined(out, text)
            };
            percent_encode(text, b"-._~!$&'()*+,;=:@/", out);
        }
        // In a query, `&`, `=` and `+` would change the meaning of the text around them.
        Spot::AfterPath => percent_encode(text, b"-._~/", out),
    }
}

/// `text` without leading slashes if `out` ends with one, so that joining makes no `//`.
fn joined<'t>(out: &str, text: &'t str) -> &'t str {
    if out.ends_with('/') { text.trim_start_matches('/') } else { text }
}
