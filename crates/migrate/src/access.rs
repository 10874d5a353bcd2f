//! The access rules of nginx and Caddy as rules of a route: addresses, users and certificates.
//!
//! Owns how addresses, passwords and certificates are demanded together or instead of each other. Never knows nginx or
//! Caddy.

use crate::word::{quoted, table};

/// The rules of a route; none lets all clients in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Access {
    rules: Vec<Rule>,
}

/// One rule. The first that applies decides.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    Deny(String),
    /// Lets in a request that meets all of this.
    Admit {
        from: String,
        users: Option<Users>,
        has_certificate: bool,
    },
}

/// A file of users, and what browsers show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Users {
    file: String,
    realm: String,
}

impl Users {
    pub(crate) fn new(file: &str, realm: &str) -> Self {
        // The text that browsers show is within quotes.
        let plain = |sign: &char| !sign.is_control() && !matches!(sign, '"' | '\\');
        Self { file: file.to_owned(), realm: realm.chars().filter(plain).collect() }
    }
}

/// Whether an address and a password are needed together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Satisfy {
    #[default]
    All,
    Any,
}

/// A rule about the addresses of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Allow(String),
    Deny(String),
}

impl Access {
    /// Rules of addresses, of which the first that fits decides and none lets in, with a password.
    pub(crate) fn of(addresses: &[Said], users: Option<&Users>, satisfy: Satisfy) -> Self {
        let admit = |from: &str, users: Option<&Users>| Rule::Admit {
            from: from.to_owned(),
            users: users.cloned(),
            has_certificate: false,
        };
        let mut rules = Vec::new();
        for said in addresses {
            match (said, satisfy) {
                (Said::Allow(from), Satisfy::Any) => rules.push(admit(from, None)),
                (Said::Allow(from), Satisfy::All) => rules.push(admit(from, users)),
                (Said::Deny(from), _) => {
                    if satisfy == Satisfy::Any && users.is_some() {
                        rules.push(admit(from, users));
                    }
                    rules.push(Rule::Deny(from.clone()));
                }
            }
        }
        let is_ended = addresses.last().is_some_and(
            |said| matches!(said, Said::Allow(from) | Said::Deny(from) if from == "all"),
        );
        if !is_ended && (users.is_some() || !rules.is_empty()) {
            rules.push(admit("all", users));
        }
        Self { rules }
    }

    /// The same for clients with a certificate only.
    pub(crate) fn with_certificate(mut self) -> Self {
        if self.rules.is_empty() {
            self.rules.push(Rule::Admit {
                from: "all".to_owned(),
                users: None,
                has_certificate: true,
            });
        }
        for rule in &mut self.rules {
            if let Rule::Admit { has_certificate, .. } = rule {
                *has_certificate = true;
            }
        }
        self
    }

    /// Whether the rules refuse every client.
    pub(crate) fn is_shut(&self) -> bool {
        !self.rules.is_empty() && self.rules.iter().all(|rule| matches!(rule, Rule::Deny(_)))
    }

    /// The rules as printed; `None` for all clients.
    pub(crate) fn printed(&self) -> Option<String> {
        let rules: Vec<String> = self.rules.iter().map(Rule::printed).collect();
        (!rules.is_empty()).then(|| format!("[{}]", rules.join(", ")))
    }
}

impl Rule {
    fn printed(&self) -> String {
        let (from, users, has_certificate) = match self {
            Self::Deny(from) => return table([("deny", quoted(from))]),
            Self::Admit { from, users, has_certificate } => (from, users, *has_certificate),
        };
        let mut entries = Vec::new();
        if from != "all" || users.is_none() && !has_certificate {
            entries.push(("allow", quoted(from)));
        }
        if let Some(users) = users {
            entries.push(("users", quoted(&users.file)));
            if !users.realm.is_empty() {
                entries.push(("realm", quoted(&users.realm)));
            }
        }
        if has_certificate {
            entries.push(("certificate", quoted("any")));
        }
        table(entries)
    }
}
