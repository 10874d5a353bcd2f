//! The route table: which answer a request gets, found from its host, method and path.
//!
//! Owns matching, redirect targets and rewrites. Never touches a file, a socket or a clock: it says what is
//! to be done, and `http` does it. [`Table::find`] allocates nothing unless the request meets a redirect
//! or a rewrite.

mod check;
mod compile;
mod encode;
mod explain;
mod find;
mod hosts;
mod rule;

use std::borrow::Cow;

use crate::{FileRules, Header};

pub use compile::Table;
pub use explain::Explanation;

/// What of a request decides its route.
#[derive(Debug, Clone, Copy)]
pub struct RouteRequest<'a> {
    /// The host it names, with or without a port, in any case.
    pub host: Option<&'a str>,
    /// Its method.
    pub method: &'a str,
    /// Its path, decoded and normalised; begins with `/`.
    pub path: &'a str,
    /// Its query without the `?`, as it came.
    pub query: Option<&'a str>,
}

/// What a request gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<'a> {
    /// What is to be done.
    pub action: Action<'a>,
    /// The fields to add, of route, host and server together, each name once.
    pub headers: &'a [Header],
    /// The Cache-Control the route asks for. With files that is in [`FileRules`], and this is `None`.
    pub cache_control: Option<&'a str>,
    /// The largest body the request may have, in bytes.
    pub body_size: u64,
    /// The rule that decided.
    pub rule: RuleId,
    /// The host it belongs to.
    pub host: HostId,
}

/// What is to be done with a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Action<'a> {
    /// Send the file at `path`.
    Files {
        /// Where it is and how it is sent.
        rules: &'a FileRules,
        /// The path below the rules' root; begins with `/`.
        path: Cow<'a, str>,
    },
    /// Send the client elsewhere.
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// The value of Location: visible ASCII only, so it cannot break the head.
        location: Cow<'a, str>,
    },
    /// Send a fixed content.
    Respond {
        /// The status.
        status: u16,
        /// The value of Content-Type; empty with statuses that have no content.
        content_type: &'a str,
        /// The content.
        body: &'a [u8],
    },
    /// Send 200 with this JSON text.
    Json {
        /// The text.
        body: &'a [u8],
    },
    /// Have an app module answer.
    Module {
        /// Its name.
        name: &'a str,
        /// The whole path.
        path: Cow<'a, str>,
        /// Where in it begins what the module's routes are compared with; there is a slash at that place, or nothing.
        rest: usize,
    },
    /// 404: a rewrite led to a path that cannot be.
    NotFound,
    /// 405: routes take the path, but none with this method.
    MethodNotAllowed {
        /// The value of Allow.
        allow: String,
    },
    /// 500: more rewrites than one request may have.
    RewriteLoop,
}

/// A rule's number in its table, in the order of the file; [`Table::place_of`] says where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RuleId(pub u32);

pub use crate::HostId;
