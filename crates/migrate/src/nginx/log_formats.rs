//! `log_format` of nginx as `format` of ours.
//!
//! Owns which variables have a counterpart. Never decides which format is used.

use crate::directive::Directive;

/// A format of log lines with our fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogFormat {
    text: String,
    time: Option<String>,
}

/// Variables of nginx, and our fields.
const FIELDS: [(&str, &str); 24] = [
    ("remote_addr", "peer"),
    ("realip_remote_addr", "proxy"),
    ("remote_user", "user"),
    ("time_local", "time"),
    ("time_iso8601", "time"),
    ("request", "request"),
    ("request_method", "method"),
    ("uri", "path"),
    ("args", "query"),
    ("query_string", "query"),
    ("host", "host"),
    ("scheme", "scheme"),
    ("status", "status"),
    ("body_bytes_sent", "bytes"),
    ("http_referer", "referer"),
    ("http_user_agent", "user_agent"),
    ("request_id", "request_id"),
    ("ssl_protocol", "tls"),
    ("ssl_client_s_dn", "tls_client_subject"),
    ("ssl_client_i_dn", "tls_client_issuer"),
    ("ssl_client_fingerprint", "tls_client_fingerprint"),
    ("upstream_addr", "upstream_address"),
    ("upstream_status", "upstream_status"),
    ("proxy_host", "upstream"),
];

/// Variables in seconds, and our fields in milliseconds.
const TIMES: [(&str, &str); 4] = [
    ("request_time", "duration_ms"),
    ("upstream_response_time", "upstream_ms"),
    ("upstream_connect_time", "upstream_connect_ms"),
    ("upstream_header_time", "upstream_first_byte_ms"),
];

impl LogFormat {
    /// Its text, with our fields.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The first time in it, which we count in milliseconds and nginx in seconds.
    pub(super) fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    /// The format of a directive; `None` if a part of it has no counterpart.
    pub(super) fn read(directive: &Directive) -> Option<Self> {
        let (_, parts) = directive.arguments().split_first()?;
        let parts = match parts.split_first() {
            Some((escape, rest)) if escape.starts_with("escape=") => {
                (escape == "escape=default").then_some(rest)?
            }
            _ => parts,
        };
        let whole = parts.concat();
        let (mut text, mut time, mut rest) = (String::new(), None, whole.as_str());
        while let Some((before, after)) = rest.split_once('$') {
            text.push_str(before);
            let (name, after) = match after.strip_prefix('{') {
                Some(braced) => braced.split_once('}')?,
                None => {
                    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                    let end = after.find(|letter| !is_name(letter)).unwrap_or(after.len());
                    after.split_at(end)
                }
            };
            let found = |known: &[(&str, &str)]| {
                known.iter().find(|(known, _)| *known == name).map(|(_, field)| (*field).to_owned())
            };
            let field = match (found(&FIELDS), found(&TIMES), name.strip_prefix("http_")) {
                (Some(field), _, _) => field,
                (None, Some(field), _) => {
                    time.get_or_insert_with(|| field.clone());
                    field
                }
                (None, None, Some(header)) => format!("field:{}", header.replace('_', "-")),
                (None, None, None) => return None,
            };
            text.push_str(&format!("${{{field}}}"));
            rest = after;
        }
        text.push_str(rest);
        (!text.contains(char::is_control) && text.contains('$')).then_some(Self { text, time })
    }
}
