//! Texts with variables of nginx as targets of ours.
//!
//! Owns which variables have a counterpart. Never decides where a text is used.

/// The values that variables have in all requests of a place.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    /// The first name of the server.
    server_name: Option<String>,
    /// The name that a client must have asked for.
    host: Option<String>,
    /// `http` or `https`, if the listeners are all of one kind.
    scheme: Option<&'static str>,
    /// Whether clients reach it at the ports 80 and 443 only, so that `$http_host` has no port.
    has_usual_ports: bool,
}

impl Context {
    pub(super) fn new(
        server_name: Option<&str>,
        scheme: Option<&'static str>,
        ports: Ports,
    ) -> Self {
        let has_usual_ports = ports == Ports::Usual;
        Self { server_name: server_name.map(str::to_owned), host: None, scheme, has_usual_ports }
    }

    /// The same for requests with this name.
    pub(super) fn for_host(&self, host: Option<&str>) -> Self {
        Self { host: host.map(str::to_owned), ..self.clone() }
    }

    pub(super) fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    pub(super) fn scheme(&self) -> Option<&'static str> {
        self.scheme
    }
}

/// The ports of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ports {
    /// 80 and 443 only.
    Usual,
    Others,
}

/// A target of a redirect; `None` if a variable has no counterpart. `groups` are `$1` to `$9`, as targets.
pub(super) fn target(text: &str, context: &Context, groups: &[Option<String>]) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let (variable, after) = variable(after)?;
        match variable {
            "scheme" => out.push_str(context.scheme.unwrap_or("$scheme")),
            "host" => out.push_str("$host"),
            "http_host" if context.has_usual_ports => out.push_str("$host"),
            "server_name" => out.push_str(context.server_name.as_deref()?),
            "request_uri" => out.push_str("$path$query"),
            "uri" | "document_uri" => out.push_str("$path"),
            "args" | "query_string" if out.ends_with('?') => {
                out.pop();
                out.push_str("$query");
            }
            "is_args" => {
                rest =
                    after.strip_prefix("$args").or_else(|| after.strip_prefix("$query_string"))?;
                out.push_str("$query");
                continue;
            }
            digit => {
                let number: usize = digit.parse().ok()?;
                out.push_str(groups.get(number.checked_sub(1)?)?.as_deref()?);
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// The path that a `rewrite` makes; `None` if it has no counterpart: the query is always that of the request.
pub(super) fn path(text: &str, groups: &[Option<String>]) -> Option<String> {
    let path = target(text, &Context::default(), groups)?;
    (path.starts_with('/')
        && !path.contains('?')
        && !path.contains("$query")
        && !path.contains("$host")
        && !path.contains("$scheme"))
    .then_some(path)
}

/// The variable at the beginning, without its `$`, and what follows.
pub(super) fn variable(text: &str) -> Option<(&str, &str)> {
    if let Some(after) = text.strip_prefix('{') {
        return after.split_once('}');
    }
    if text.starts_with(|sign: char| sign.is_ascii_digit()) {
        return text.split_at_checked(1);
    }
    let size =
        text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    text.split_at_checked(size).filter(|(name, _)| !name.is_empty())
}

/// Variables of a proxied request, and the values of ours that mean the same.
const OF_REQUEST: [(&str, &str); 9] = [
    ("remote_addr", "peer"),
    ("realip_remote_addr", "peer"),
    ("remote_user", "user"),
    ("host", "host"),
    ("scheme", "scheme"),
    ("request_id", "request_id"),
    ("ssl_protocol", "tls"),
    ("ssl_client_s_dn", "tls_client_subject"),
    ("ssl_client_i_dn", "tls_client_issuer"),
];

/// A value of a field for a server; `None` if a variable has no counterpart.
pub(super) fn field_value(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let (name, after) = variable(after)?;
        let (_, ours) = OF_REQUEST.iter().find(|(theirs, _)| *theirs == name)?;
        if after.starts_with(|next: char| next.is_ascii_lowercase() || next == '_') {
            // It would be read as a part of the name.
            return None;
        }
        out.push('$');
        out.push_str(ours);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// Whether a text has no variable.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains('$')
}
