//! The fields of requests to a proxied server (`proxy_set_header` of nginx), and one of answers.
//!
//! Owns which of them have a counterpart, and the `Cache-Control` of `expires`.

use super::variables::{field_value, is_plain};
use crate::directive::Directive;
use crate::word::{list, quoted, seconds, table};

/// The fields in force in a block.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestFields {
    all: Vec<Field>,
}

#[derive(Debug, Clone)]
enum Field {
    Set(String, String),
    Remove(String),
    /// The field `Host` is that of the client.
    ClientHost,
}

impl RequestFields {
    pub(super) fn clear(&mut self) {
        self.all.clear();
    }

    /// Reads a directive, and returns a comment on it.
    ///
    /// # Errors
    /// Why the block is to be closed.
    pub(super) fn take(&mut self, directive: &Directive) -> Result<Option<String>, &'static str> {
        let (name, value) = (directive.argument(0), directive.argument(1));
        let field = match name.to_ascii_lowercase().as_str() {
            "host" if matches!(value, "$host" | "$http_host") => Field::ClientHost,
            // The proxy says these itself, whatever a client says.
            "x-real-ip" if value == "$remote_addr" || value == "$realip_remote_addr" => {
                return Ok(None);
            }
            "x-forwarded-for" | "x-forwarded-proto" | "x-forwarded-host" | "x-forwarded-port"
            | "x-forwarded-ssl" | "forwarded" | "x-forwarded-server" | "via"
                if !is_plain(value) =>
            {
                return Ok(None);
            }
            "x-forwarded-scheme" | "x-scheme" | "x-url-scheme" if value == "$scheme" => {
                self.all.push(Field::Remove(name.to_owned()));
                return Ok(Some(directive.told("not sent: servers get X-Forwarded-Proto")));
            }
            "x-request-id" if value == "$request_id" => {
                self.all.push(Field::Remove(name.to_owned()));
                return Ok(Some(directive.unknown()));
            }
            "connection" | "upgrade" | "te" | "transfer-encoding" | "content-length" => {
                return Ok(None);
            }
            _ if value.is_empty() => Field::Remove(name.to_owned()),
            _ if is_plain(value) => Field::Set(name.to_owned(), value.to_owned()),
            name if is_own_field(name, value) => return Ok(None),
            _ => match field_value(value) {
                Some(value) => Field::Set(name.to_owned(), value),
                // A server may trust it, and without it a client could send its own.
                None => return Err("a variable of this field has no counterpart"),
            },
        };
        self.all.push(field);
        Ok(None)
    }

    /// The settings of a proxy to this authority, as printed.
    pub(super) fn printed(&self, authority: &str) -> Vec<(String, String)> {
        let mut set: Vec<(&str, String)> = Vec::new();
        let mut removed = Vec::new();
        let mut has_host = false;
        for field in &self.all {
            match field {
                Field::ClientHost => has_host = true,
                Field::Remove(name) => removed.push(name),
                Field::Set(name, value) => {
                    has_host |= name.eq_ignore_ascii_case("host");
                    set.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
                    set.push((name, quoted(value)));
                }
            }
        }
        if !has_host {
            let host = if authority.starts_with("unix:") { "localhost" } else { authority };
            set.push(("Host", quoted(host)));
        }
        let mut settings = Vec::new();
        if !set.is_empty() {
            settings.push(("request_headers".to_owned(), table(set)));
        }
        if !removed.is_empty() {
            settings.push(("remove_request_headers".to_owned(), list(removed)));
        }
        settings
    }
}

/// Whether a value is that which the client has sent in the same field, which is passed on.
fn is_own_field(name: &str, value: &str) -> bool {
    let own = value.strip_prefix("$http_").unwrap_or_default();
    own.bytes().eq(name.bytes().map(|byte| if byte == b'-' { b'_' } else { byte }))
}

/// What `expires` makes of `Cache-Control`, if anything; `None`: it has no counterpart.
pub(super) fn lifetime(directive: &Directive) -> Option<Option<String>> {
    let value = directive.arguments().last().map_or("", String::as_str);
    Some(match value {
        "off" => None,
        "epoch" => Some("no-cache".to_owned()),
        "max" => Some("max-age=315360000".to_owned()),
        value if value.starts_with('-') => Some("no-cache".to_owned()),
        value => {
            let age = seconds(value).filter(|_| directive.arguments().len() == 1)?;
            Some(format!("max-age={age}"))
        }
    })
}
