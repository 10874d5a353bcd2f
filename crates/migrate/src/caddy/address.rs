//! The addresses of sites: `https://example.org:8443`.
//!
//! Owns which of them Caddy encrypts, and where it listens. Never knows what a site does.

/// The global options that concern all addresses.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    http_port: Option<String>,
    https_port: Option<String>,
    binds: Vec<String>,
    is_plain: bool,
    has_no_redirects: bool,
    has_own_certificates: bool,
    has_proxies: bool,
}

impl Defaults {
    /// Reads a global option; `false` if it is none of these.
    pub(super) fn take(&mut self, name: &str, arguments: &[String]) -> bool {
        match (name, arguments) {
            ("http_port", [port]) => self.http_port = Some(port.clone()),
            ("https_port", [port]) => self.https_port = Some(port.clone()),
            ("default_bind", binds) => self.binds = binds.to_vec(),
            ("auto_https", [mode]) if mode == "off" => {
                (self.is_plain, self.has_no_redirects) = (true, true)
            }
            ("auto_https", [mode]) if mode == "disable_redirects" => self.has_no_redirects = true,
            ("auto_https", [mode]) if mode == "ignore_loaded_certs" => {}
            ("local_certs", []) => self.has_own_certificates = true,
            _ => return false,
        }
        true
    }

    pub(super) fn trust_proxies(&mut self) {
        self.has_proxies = true;
    }

    pub(super) fn has_proxies(&self) -> bool {
        self.has_proxies
    }

    pub(super) fn redirects(&self) -> bool {
        !self.has_no_redirects
    }

    pub(super) fn http_port(&self) -> &str {
        self.http_port.as_deref().unwrap_or("80")
    }

    fn https_port(&self) -> &str {
        self.https_port.as_deref().unwrap_or("443")
    }

    /// The addresses of listeners for a port.
    pub(super) fn listens(&self, binds: &[String], port: &str) -> Vec<String> {
        let binds = if binds.is_empty() { &self.binds } else { binds };
        if binds.is_empty() {
            return vec![format!("0.0.0.0:{port}")];
        }
        let of = |bind: &String| match bind.as_str() {
            unix if unix.starts_with("unix/") => unix.replacen("unix/", "unix:", 1),
            "localhost" => format!("127.0.0.1:{port}"),
            six if six.contains(':') && !six.starts_with('[') => format!("[{six}]:{port}"),
            other => format!("{other}:{port}"),
        };
        binds.iter().map(of).collect()
    }
}

/// An address of a site.
#[derive(Debug)]
pub(super) struct Address {
    name: String,
    port: String,
    is_encrypted: bool,
    /// Whether Caddy issues its certificate itself.
    is_own: bool,
}

impl Address {
    /// Reads an address; `None` if one of its parts has no counterpart here.
    pub(super) fn of(word: &str, defaults: &Defaults) -> Option<Self> {
        let (scheme, rest) = word.split_once("://").unwrap_or(("", word));
        if !matches!(scheme, "" | "http" | "https") || rest.contains(['/', '{']) {
            return None;
        }
        let (name, port) = match rest.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() => (name, port),
            Some(_) if !rest.ends_with(']') => return None,
            _ => (rest, ""),
        };
        let name = if name == "*" { "" } else { name }.to_ascii_lowercase();
        let port = match (port, scheme) {
            ("", "http") => defaults.http_port(),
            ("", _) => defaults.https_port(),
            (port, _) => port,
        };
        // Caddy encrypts what has a name, unless it says `http`.
        let is_encrypted = match scheme {
            "https" => true,
            "http" => false,
            _ => {
                port == defaults.https_port()
                    || !defaults.is_plain && !name.is_empty() && port != defaults.http_port()
            }
        };
        let is_label = |label: &str| {
            !label.is_empty()
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        let plain = name.strip_prefix("*.").unwrap_or(&name);
        let is_literal = name.starts_with('[') && name.ends_with(']');
        if !name.is_empty() && !is_literal && !plain.split('.').all(is_label) {
            return None;
        }
        let is_local = ["localhost", "local", "internal", "home.arpa"]
            .iter()
            .any(|end| name == *end || name.ends_with(&format!(".{end}")));
        let is_ip = is_literal || plain.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_own = defaults.has_own_certificates || is_local || is_ip || !name.contains('.');
        Some(Self { port: port.to_owned(), is_encrypted, is_own, name })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn port(&self) -> &str {
        &self.port
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }
}
