//! One request and its reply, on their way from the route to the part that answers.
//!
//! Owns what the configuration adds to a reply, and how a path is read. Never answers.

use config::Header;
use config::route::RouteRequest;
use files::policy;
use http::{Reply, Request};
use wire::http::target::{Backslash, DotFiles, EncodedSlash, PathRules};

/// Dot files are hidden by the rules for files, where they can be configured.
pub(super) const PATH_RULES: PathRules = PathRules {
    encoded_slash: EncodedSlash::Refuse,
    backslash: Backslash::Refuse,
    dot_files: DotFiles::Show,
};

/// The parts of a request by which its route is found.
pub(super) fn route_request<'a>(
    request: &Request<'a>,
    path: &'a str,
    query: Option<&'a [u8]>,
) -> RouteRequest<'a> {
    RouteRequest {
        host: request.host(),
        method: request.method().as_str(),
        path,
        query: query.and_then(|query| str::from_utf8(query).ok()),
    }
}

/// The path of a request that a page or a module answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    /// The whole path.
    pub(super) path: &'a str,
    /// The part of it that is compared with a module's routes.
    pub(super) rest: &'a str,
}

impl<'a> Asked<'a> {
    pub(super) fn whole(path: &'a str) -> Self {
        Self { path, rest: path }
    }

    pub(super) fn below(path: &'a str, rest: usize) -> Self {
        let rest = path.get(rest..).filter(|rest| !rest.is_empty()).unwrap_or("/");
        Self { path, rest }
    }
}

/// What every step after the route needs.
pub(super) struct Exchange<'a, 'r> {
    pub(super) request: &'a Request<'a>,
    pub(super) reply: &'a mut Reply<'r>,
    pub(super) headers: &'a [Header],
    pub(super) cache_control: Option<&'a str>,
}

impl Exchange<'_, '_> {
    /// Adds the fields that the configuration adds to every answer of the route.
    pub(super) fn configured_fields(&mut self) {
        self.configured_fields_but(|_| false);
    }

    /// The same for an answer with fields of its own, which replace configured ones. Cookies are distinguished by
    /// their names, so those of both are sent.
    pub(super) fn configured_fields_but(&mut self, is_set: impl Fn(&str) -> bool) {
        for header in self.headers {
            if header.name.eq_ignore_ascii_case("set-cookie") || !is_set(&header.name) {
                // Checked when the configuration was loaded.
                let _valid = self.reply.field(&header.name, header.value.as_bytes());
            }
        }
        if let Some(value) = self.cache_control
            && !is_set("Cache-Control")
        {
            let _valid = self.reply.field("Cache-Control", value.as_bytes());
        }
    }

    /// The same for an answer with these prepared fields.
    pub(super) fn configured_fields_beside(&mut self, prepared: &[u8]) {
        self.configured_fields_but(|name| is_among(prepared, name));
    }

    /// The same for one of the server's own pages, whose policy replaces a configured one.
    pub(super) fn configured_fields_under(&mut self, policy: &str, prepared: &[u8]) {
        self.configured_fields_but(|name| {
            name.eq_ignore_ascii_case(policy::FIELD) || is_among(prepared, name)
        });
        let _valid = self.reply.field(policy::FIELD, policy.as_bytes());
    }
}

/// Whether prepared lines contain a field with this name.
fn is_among(prepared: &[u8], name: &str) -> bool {
    prepared.split(|byte| *byte == b'\n').filter_map(|line| line.split_at_checked(name.len())).any(
        |(start, rest)| start.eq_ignore_ascii_case(name.as_bytes()) && rest.first() == Some(&b':'),
    )
}
