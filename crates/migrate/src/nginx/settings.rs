//! Settings that inner blocks of nginx inherit from outer ones.
//!
//! Owns which these are, and that a block with one of its own does not add to the outer ones: that is how nginx
//! inherits `add_header`, `allow` and `proxy_set_header`. Never makes a route.

use super::tree::Directive;
use super::variables::is_plain;
use crate::word::{list, quoted, seconds, table};

/// The settings in force in a block.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) root: Option<String>,
    pub(super) index: Option<Vec<String>>,
    pub(super) listing: Option<bool>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) cache_control: Option<String>,
    /// Rules of access, as printed.
    pub(super) access: Vec<String>,
    pub(super) users: Option<String>,
    pub(super) realm: Option<String>,
    pub(super) request_headers: Vec<(String, String)>,
    /// Whether `proxy_set_header Host` says which host a proxied server is told.
    pub(super) sets_host: bool,
    pub(super) removed_headers: Vec<String>,
    pub(super) error_pages: Vec<(u16, String)>,
    pub(super) notes: Vec<String>,
}

/// Lists that a block with an entry of its own begins anew.
#[derive(Debug, Default)]
pub(super) struct Own {
    headers: bool,
    access: bool,
    request_headers: bool,
}

impl Known {
    /// Reads a directive; `false` if it is none of these settings.
    pub(super) fn take(&mut self, directive: &Directive) -> bool {
        self.take_own(directive, &mut Own { headers: true, access: true, request_headers: true })
    }

    /// The same in an inner block.
    pub(super) fn take_own(&mut self, directive: &Directive, own: &mut Own) -> bool {
        let value = directive.argument(0);
        match &*directive.name {
            "root" if is_plain(value) => self.root = Some(value.to_owned()),
            "index" => self.index = Some(names(&directive.arguments)),
            "autoindex" => self.listing = Some(value == "on"),
            "add_header" => self.header(directive, own),
            "expires" => self.expires(directive),
            "allow" | "deny" => {
                begin(&mut self.access, &mut own.access);
                self.access.push(table([(&*directive.name, quoted(value))]));
            }
            "auth_basic" if value == "off" => (self.users, self.realm) = (None, None),
            "auth_basic" => self.realm = Some(value.to_owned()),
            "auth_basic_user_file" => self.users = Some(value.to_owned()),
            "proxy_set_header" => self.request_header(directive, own),
            "proxy_hide_header" => self.removed_headers.push(value.to_owned()),
            "error_page" => self.error_page(directive),
            _ => return false,
        }
        true
    }

    fn header(&mut self, directive: &Directive, own: &mut Own) {
        begin(&mut self.headers, &mut own.headers);
        let (name, value) = (directive.argument(0), directive.argument(1));
        if !is_plain(value) {
            self.notes.push(directive.told("fields with variables have no counterpart"));
        } else if name.eq_ignore_ascii_case("cache-control") {
            self.cache_control = Some(value.to_owned());
        } else if name.eq_ignore_ascii_case("strict-transport-security") && value.is_empty() {
            self.notes.push(directive.told("no counterpart"));
        } else {
            self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            self.headers.push((name.to_owned(), value.to_owned()));
        }
    }

    fn expires(&mut self, directive: &Directive) {
        self.cache_control = match directive.argument(0) {
            "off" => None,
            "epoch" => Some("no-cache".to_owned()),
            "max" => Some("max-age=315360000".to_owned()),
            value if value.starts_with('-') => Some("no-cache".to_owned()),
            value => match seconds(value) {
                Some(seconds) => Some(format!("max-age={seconds}")),
                None => {
                    self.notes.push(directive.told("no counterpart"));
                    return;
                }
            },
        };
    }

    fn request_header(&mut self, directive: &Directive, own: &mut Own) {
        begin(&mut self.request_headers, &mut own.request_headers);
        let (name, value) = (directive.argument(0), directive.argument(1));
        self.sets_host |= name.eq_ignore_ascii_case("host");
        let sets_itself = |known: &str| name.eq_ignore_ascii_case(known);
        // The proxy sets these, or passes them on, by itself.
        let own_fields = [
            "Host",
            "X-Real-IP",
            "X-Forwarded-For",
            "X-Forwarded-Proto",
            "X-Forwarded-Host",
            "Connection",
            "Upgrade",
            "X-Forwarded-Port",
        ];
        if own_fields.iter().any(|known| sets_itself(known)) && !is_plain(value)
            || value == "upgrade"
        {
            return;
        }
        if is_plain(value) && !own_fields.iter().skip(1).any(|known| sets_itself(known)) {
            self.request_headers.push((name.to_owned(), value.to_owned()));
        } else {
            self.notes.push(directive.told("fields with variables have no counterpart"));
        }
    }

    fn error_page(&mut self, directive: &Directive) {
        let Some((path, codes)) = directive.arguments.split_last() else { return };
        let statuses: Vec<u16> = codes.iter().filter_map(|code| code.parse().ok()).collect();
        if statuses.len() != codes.len() || !path.starts_with('/') || !is_plain(path) {
            self.notes.push(directive.told("only a file for the same status has a counterpart"));
            return;
        }
        for status in statuses {
            self.error_pages.retain(|(known, _)| *known != status);
            self.error_pages.push((status, path.clone()));
        }
        self.error_pages.sort_by_key(|(status, _)| *status);
    }

    /// The settings of `files` that differ from ours, as printed.
    pub(super) fn files(&self) -> Vec<(String, String)> {
        let mut settings = Vec::new();
        if let Some(index) = self.index.as_ref().filter(|index| **index != ["index.html"]) {
            settings.push(("index".to_owned(), list(index)));
        }
        if self.listing == Some(true) {
            settings.push(("listing".to_owned(), "true".to_owned()));
        }
        settings
    }

    /// The rules of access as printed; `None` for all clients.
    pub(super) fn access_rules(&self) -> Option<String> {
        let mut rules = self.access.clone();
        if let Some(users) = &self.users {
            // Both have to be met, as with `satisfy all`.
            let mut admitted = vec![("users", quoted(users))];
            admitted.extend(self.realm.as_ref().map(|realm| ("realm", quoted(realm))));
            rules.retain(|rule| rule.contains("deny"));
            let allowed = self.access.iter().filter(|rule| rule.contains("allow"));
            let networks: Vec<&str> = allowed
                .filter_map(|rule| rule.split('"').nth(1))
                .filter(|one| *one != "all")
                .collect();
            if !networks.is_empty() {
                admitted.insert(0, ("allow", list(networks)));
                rules.clear();
            }
            rules.retain(|rule| !rule.contains("\"all\""));
            rules.push(table(admitted));
        }
        (!rules.is_empty()).then(|| format!("[{}]", rules.join(", ")))
    }
}

/// Begins a list anew with the first entry of a block.
fn begin<T>(entries: &mut Vec<T>, has_begun: &mut bool) {
    if !std::mem::replace(has_begun, true) {
        entries.clear();
    }
}

/// Names of files that we can look for in a directory.
fn names(arguments: &[String]) -> Vec<String> {
    let is_name = |name: &&String| !name.contains(['/', '$']) && !name.ends_with(".php");
    arguments.iter().filter(is_name).cloned().collect()
}
