//! The keys of every section, the one list that reading, the hints and the documentation's test go by.
//!
//! Owns the names and the search for what a wrong one was meant to be. Never looks at values.

use super::value::shown;

/// A section and its keys.
#[derive(Debug, PartialEq, Eq)]
pub struct SectionKeys {
    /// The section as it is written in the file; empty for the top level.
    pub name: &'static str,
    /// Its keys; empty where the user chooses them.
    pub keys: &'static [&'static str],
}

/// How many keys of the top level are values; the others are sections.
const TOP_VALUES: usize = 8;

pub(super) static TOP: SectionKeys = SectionKeys {
    name: "",
    keys: &[
        "schedulers",
        "pin",
        "user",
        "spin",
        "descriptor_tables",
        "drain_deadline",
        "reuseport_cpu",
        "root",
        "listener",
        "host",
        "route",
        "headers",
        "error_pages",
        "files",
        "mime",
        "pages",
        "limits",
        "log",
        "admin",
    ],
};

pub(super) static LISTENER: SectionKeys = SectionKeys {
    name: "[[listener]]",
    keys: &["address", "protocol", "proxy_protocol_from", "backlog", "defer_accept", "mode"],
};

pub(super) static HOST: SectionKeys =
    SectionKeys { name: "[[host]]", keys: &["names", "root", "route", "headers", "error_pages"] };

pub(super) static ROUTE: SectionKeys = SectionKeys {
    name: "[[route]]",
    keys: &[
        "path",
        "prefix",
        "glob",
        "methods",
        "host",
        "files",
        "redirect",
        "rewrite",
        "respond",
        "json",
        "module",
        "headers",
        "body_size",
        "cache_control",
    ],
};

pub(super) static HOST_ROUTE: SectionKeys = SectionKeys {
    name: "[[host.route]]",
    keys: &[
        "path",
        "prefix",
        "glob",
        "methods",
        "files",
        "redirect",
        "rewrite",
        "respond",
        "json",
        "module",
        "headers",
        "body_size",
        "cache_control",
    ],
};

pub(super) static ROUTE_FILES: SectionKeys = SectionKeys {
    name: "route.files",
    keys: &[
        "root",
        "listing",
        "index",
        "hidden",
        "hide",
        "symlinks",
        "precompressed",
        "compress",
        "compress_from",
        "cache_control",
    ],
};

pub(super) static REDIRECT: SectionKeys =
    SectionKeys { name: "route.redirect", keys: &["to", "status"] };

pub(super) static REWRITE: SectionKeys = SectionKeys { name: "route.rewrite", keys: &["to"] };

pub(super) static RESPOND: SectionKeys =
    SectionKeys { name: "route.respond", keys: &["status", "body", "content_type"] };

pub(super) static FILES: SectionKeys = SectionKeys {
    name: "[files]",
    keys: &[
        "listing",
        "index",
        "hidden",
        "hide",
        "symlinks",
        "precompressed",
        "compress",
        "compress_from",
        "cache_size",
        "cache_file_size",
        "cache_control",
    ],
};

pub(super) static CACHE_CONTROL: SectionKeys =
    SectionKeys { name: "[[files.cache_control]]", keys: &["glob", "value"] };

pub(super) static PAGES: SectionKeys = SectionKeys {
    name: "[pages]",
    keys: &[
        "enabled",
        "app",
        "native",
        "slice",
        "cpu_budget",
        "deadline",
        "memory",
        "memory_per_request",
        "process_memory",
        "table_size",
        "fetch",
        "secret_file",
        "session_age",
        "secure_cookies",
        "compress",
        "uploads",
        "upload_size",
        "uploads_size",
    ],
};

pub(super) static LIMITS: SectionKeys = SectionKeys {
    name: "[limits]",
    keys: &[
        "head_size",
        "field_count",
        "field_size",
        "field_name_size",
        "target_size",
        "body_size",
        "chunk_extension_size",
        "trailer_size",
        "unread_body_size",
        "header_deadline",
        "body_idle",
        "body_rate",
        "unread_body_deadline",
        "send_idle",
        "send_rate",
        "keep_alive",
        "requests_per_connection",
        "connections",
    ],
};

pub(super) static LOG: SectionKeys =
    SectionKeys { name: "[log]", keys: &["access", "format", "level"] };

pub(super) static ADMIN: SectionKeys =
    SectionKeys { name: "[admin]", keys: &["socket", "metrics"] };

/// Every section with keys of its own, in the order of the documentation.
pub static SECTIONS: [&SectionKeys; 15] = [
    &TOP,
    &LISTENER,
    &HOST,
    &ROUTE,
    &HOST_ROUTE,
    &ROUTE_FILES,
    &REDIRECT,
    &REWRITE,
    &RESPOND,
    &FILES,
    &CACHE_CONTROL,
    &PAGES,
    &LIMITS,
    &LOG,
    &ADMIN,
];

impl SectionKeys {
    /// The section's name in a sentence after "in" or "of".
    pub(super) fn spoken(&self) -> &'static str {
        if self.name.is_empty() { "the top level" } else { self.name }
    }

    /// The text of an unknown key's problem: what it is, and what was probably meant.
    pub(super) fn unknown(&self, key: &str) -> String {
        let place = if self.name.is_empty() { "at" } else { "in" };
        let hint = self.hint_for_unknown(key);
        format!("unknown key `{}` {place} {}; {hint}", shown(key), self.spoken())
    }

    fn hint_for_unknown(&self, key: &str) -> String {
        if self.name == HOST_ROUTE.name && key == "host" {
            return "the [[host]] around it says the names".to_owned();
        }
        // A key of the top level below the header of a section is the classic mistake of TOML.
        if TOP.keys.iter().take(TOP_VALUES).any(|known| *known == key) {
            return "it belongs at the top of the file, before the first section".to_owned();
        }
        if TOP.keys.contains(&key) {
            return format!("`{key}` is a section of the top level");
        }
        let others: Vec<&str> = SECTIONS
            .iter()
            .filter(|section| section.keys.contains(&key))
            .map(|section| section.spoken())
            .collect();
        match &*others {
            [] => {}
            [only] => return format!("it belongs in {only}"),
            [all @ .., last] => {
                return format!("it belongs in {} or {last}", all.join(", "));
            }
        }
        match nearest(key, self.keys) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("known are {}", enumerate(self.keys, '`')),
        }
    }
}

/// The word of `known` that `word` is a slip of, if one is near enough.
pub(super) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    // Longer words are never a slip of ours, and the distance costs the product of both lengths.
    const WORD_SIZE_MAX: usize = 64;
    // Words that begin alike and lack an end, as `lisen` for `listener`.
    const SIMILARITY_MIN: f64 = 0.9;
    if word.len() > WORD_SIZE_MAX {
        return None;
    }
    let plain = |word: &str| word.to_ascii_lowercase().replace('-', "_");
    let word = plain(word);
    known
        .iter()
        .map(|candidate| (plain(candidate), *candidate))
        .filter(|(spelled, _)| {
            strsim::osa_distance(&word, spelled) <= (spelled.len() / 3).clamp(1, 3)
                || strsim::jaro_winkler(&word, spelled) >= SIMILARITY_MIN
        })
        .min_by_key(|(spelled, _)| strsim::osa_distance(&word, spelled))
        .map(|(_, candidate)| candidate)
}

/// The words as `a`, `b` and `c`, each between two of `mark`.
pub(super) fn enumerate(words: &[&str], mark: char) -> String {
    let mut out = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push_str(if index + 1 == words.len() { " and " } else { ", " });
        }
        out.push(mark);
        out.push_str(word);
        out.push(mark);
    }
    out
}
