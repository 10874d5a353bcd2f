//! The way of a host's clients from plain to encrypted connections, and what authorities that issue certificates ask
//! on it.
//!
//! Owns which requests are redirected, and where to; and the answers to challenges. Never looks at an encrypted
//! connection.

use config::route::FoundRoute;
use http::{Answer, Scheme};
use wire::http::status::Status;

use super::Site;
use super::exchange::Exchange;

/// Where an authority that issues certificates looks for the answers to its challenges (RFC 8555 section 8.3). It may
/// follow redirects, but others look here too, before there is a certificate.
const CHALLENGES: &str = "/.well-known/acme-challenge/";

/// The port that a URL with `https:` has anyway.
const DEFAULT_PORT: u16 = 443;

impl Site {
    /// Whether a request that came so should come over an encrypted connection.
    pub(super) fn leads_to_https(path: &str, found: &FoundRoute<'_>, scheme: Scheme) -> bool {
        found.terms.https.redirect && scheme != Scheme::Https && !path.starts_with(CHALLENGES)
    }

    /// Answers that come before access and limits: those to authorities, and redirects to encrypted connections.
    pub(super) fn answer_before_access(
        &mut self,
        path: &str,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
    ) -> Option<Answer> {
        let to_authority = self.answer_authority(path, exchange);
        to_authority.or_else(|| self.redirect_to_https(path, found, exchange))
    }

    /// Answers an authority that checks whether a name leads here (RFC 8555 section 8.3), if one is expected.
    fn answer_authority(&mut self, path: &str, exchange: &mut Exchange<'_, '_>) -> Option<Answer> {
        if exchange.reply.is_begun() {
            return None;
        }
        let body = self.entry.answer_to_authority(path.strip_prefix(CHALLENGES))?;
        exchange.reply.begin(Status::OK);
        let _valid = exchange.reply.field("Content-Type", b"application/octet-stream");
        exchange.reply.end_head_with_length(body.len() as u64);
        exchange.reply.body(body.as_bytes());
        Some(Answer::Done)
    }

    /// Redirects a request over a plain connection, if its host wants that.
    fn redirect_to_https(
        &mut self,
        path: &str,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
    ) -> Option<Answer> {
        let leads = Self::leads_to_https(path, found, exchange.request.scheme());
        if !leads || exchange.reply.is_begun() {
            return None;
        }
        // Old clients without Host cannot be told where.
        let host = host_without_port(exchange.request.host()?);
        let target = str::from_utf8(exchange.request.target()).ok()?;
        let location = match self.entry.https_port() {
            // The port of a proxy is not known here.
            _ if exchange.request.via.is_some() => format!("https://{host}{target}"),
            None | Some(DEFAULT_PORT) => format!("https://{host}{target}"),
            Some(port) => format!("https://{host}:{port}{target}"),
        };
        Some(self.redirect(Status::PERMANENT_REDIRECT, &location, exchange))
    }
}

/// The name or address of an authority, which may be in brackets.
fn host_without_port(authority: &str) -> &str {
    let port = authority.rfind(':').filter(|colon| !authority[*colon..].contains(']'));
    port.map_or(authority, |colon| &authority[..colon])
}

#[cfg(test)]
mod tests {
    use super::host_without_port;

    #[test]
    fn a_port_is_what_follows_the_last_colon_outside_brackets() {
        for (authority, host) in [
            ("example.org", "example.org"),
            ("example.org:8080", "example.org"),
            ("example.org:", "example.org"),
            ("[::1]", "[::1]"),
            ("[::1]:8080", "[::1]"),
        ] {
            assert_eq!(host_without_port(authority), host);
        }
    }
}
