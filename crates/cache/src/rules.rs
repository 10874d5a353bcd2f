//! The rules of one cache that an operator chooses.
//!
//! Owns their shape. Never reads a configuration.

/// The rules of a cache: what it stores, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheRules {
    /// Bytes that stored answers may use, with what they cost besides their bodies.
    pub memory: usize,
    /// The longest body that is stored.
    pub object: usize,
    /// The longest body that is stored outside of memory; 0: none is.
    pub object_outside: usize,
    /// The parts that distinguish requests.
    pub key: KeyParts,
    /// Seconds that an answer is fresh that says nothing of it; `None`: it is not stored.
    pub default_ttl_s: Option<u64>,
    /// The same for an answer with an error (404, 405, 410, 414, 501).
    pub error_ttl_s: Option<u64>,
    /// Whether freshness is guessed.
    pub guessing: Guessing,
    /// Seconds after its freshness during which an answer is used while it is validated, if it does not say itself
    /// (RFC 5861 section 3).
    pub while_revalidate_s: u64,
    /// The same if the server fails (RFC 5861 section 4).
    pub if_error_s: u64,
    /// The treatment of an answer that sets a cookie.
    pub set_cookie: SetCookie,
    /// Whether the directives of requests count.
    pub directives: RequestDirectives,
}

/// The parts of a request that distinguish it from others. Its path always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyParts {
    /// `http` or `https`.
    pub scheme: bool,
    /// The host and its port.
    pub host: bool,
    /// The query.
    pub query: bool,
}

impl Default for KeyParts {
    fn default() -> Self {
        Self { scheme: true, host: true, query: true }
    }
}

/// Whether the freshness of an answer is guessed that says only when it was changed (RFC 9111 section 4.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guessing {
    /// It is not.
    #[default]
    Off,
    /// It is: a tenth of the time since then.
    On,
}

/// The treatment of an answer with `Set-Cookie`, which is for one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetCookie {
    /// It is not stored.
    #[default]
    Refuse,
    /// It is stored, and no client gets the field.
    Remove,
}

/// Whether `Cache-Control` of a request counts. It is advisory (RFC 9111 section 5.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestDirectives {
    /// It does not, so a client cannot have each of its requests reach a server.
    #[default]
    Ignored,
    /// It does.
    Obeyed,
}

impl CacheRules {
    /// The longest body that is stored anywhere.
    pub fn longest(&self) -> usize {
        self.object.max(self.object_outside)
    }
}

impl Default for CacheRules {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            object: 1 << 20,
            object_outside: 0,
            key: KeyParts::default(),
            default_ttl_s: None,
            error_ttl_s: None,
            guessing: Guessing::default(),
            while_revalidate_s: 0,
            if_error_s: 0,
            set_cookie: SetCookie::default(),
            directives: RequestDirectives::default(),
        }
    }
}
