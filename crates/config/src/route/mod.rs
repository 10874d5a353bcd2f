//! The route table: which answer a request gets, by host, method and path.
//!
//! Owns matching, redirect targets and rewrites. Never touches a file, a socket or a clock: it
//! returns what to do, and `http` does it. [`RouteTable::find`] allocates nothing unless the request
//! meets a redirect or a rewrite.

mod built_in;
mod check;
mod circumstances;
mod compile;
mod condition;
mod encode;
mod explain;
mod find;
mod hosts;
mod kept;
mod rule;

use std::borrow::Cow;
use std::sync::Arc;

use wire::http::fields::FieldList;

use crate::model::access::AccessRule;
use crate::model::config::Config;
use crate::model::log::Logging;
use crate::model::route::RouteAction;
use crate::model::upstream::ForwardAuth;
use crate::problem::{ConfigErrors, Problems};

pub use circumstances::Circumstances;
pub use compile::RouteTable;
pub use explain::Explanation;
pub use kept::KeptRoute;

impl RouteTable {
    /// Compiles the table.
    ///
    /// # Errors
    ///
    /// Routes that can never match, and redirects and rewrites that certainly loop.
    pub fn compile(config: &Config) -> Result<Self, ConfigErrors> {
        let table = Self::unchecked(config);
        let mut problems = Problems::new(config.files.clone(), "");
        check::all(&table, &mut problems);
        problems.finish(table)
    }
}

/// The parts of a request that determine its route.
#[derive(Debug, Clone, Copy)]
pub struct RouteRequest<'a> {
    /// The host in the request, with or without a port, in any case.
    pub host: Option<&'a str>,
    /// Its method.
    pub method: &'a str,
    /// Its path, decoded and normalised; begins with `/`.
    pub path: &'a str,
    /// Its query without the `?`, as received.
    pub query: Option<&'a str>,
    /// The other parts that conditions and redirects look at.
    pub circumstances: Circumstances<'a>,
}

impl<'a> RouteRequest<'a> {
    /// A request of which nothing else is known.
    pub fn new(
        host: Option<&'a str>,
        method: &'a str,
        path: &'a str,
        query: Option<&'a str>,
    ) -> Self {
        Self { host, method, path, query, circumstances: Circumstances::default() }
    }
}

/// The result of a lookup.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundRoute<'a> {
    /// The action of the rule that matched, or why none did.
    pub action: Result<&'a RouteAction, RouteRefusal>,
    /// The path for that action: for files below their root, for a module the whole one; begins with `/`.
    pub path: Cow<'a, str>,
    /// The offset in the path from which on the routes of a module are compared; there is a slash there, or nothing.
    pub rest: usize,
    /// The value of Location, for a redirect: visible ASCII only, so it cannot break the head.
    pub location: Cow<'a, str>,
    /// All else that the rule says; without a rule, what the host says.
    pub terms: &'a RouteTerms,
    /// The rule that decided.
    pub rule: RuleId,
    /// The host it belongs to.
    pub host: HostId,
}

/// The settings of a route that hold whatever its action is: with those of host and server, where it has none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RouteTerms {
    /// The fields to add, of route, host and server together, each name once.
    pub headers: FieldList,
    /// How the host's clients come to encrypted connections.
    pub https: Arc<HostHttps>,
    /// The Cache-Control of the route. For files it is in [`FileSettings`](crate::FileSettings), and this is `None`.
    pub cache_control: Option<String>,
    /// The fields of `103 Early Hints`, which a client may get while it waits for the answer.
    pub early_hints: FieldList,
    /// The name of the route in the access log: its path, prefix or pattern; empty for the files of a host.
    pub name: String,
    /// Whether the request is in the access log.
    pub log: Logging,
    /// The rules of access; empty lets all clients in.
    pub access: Arc<[AccessRule]>,
    /// The server that is asked whether the request may pass.
    pub forward_auth: Option<ForwardAuth>,
    /// The largest body the request may have, in bytes.
    pub body_size: u64,
    /// The largest form with files: `upload_size`, unless the route allows less.
    pub form_size: u64,
}

/// How the clients of a host come to encrypted connections, and stay there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostHttps {
    /// Whether requests over plain connections are redirected.
    pub redirect: bool,
    /// The field of answers over encrypted connections: `Strict-Transport-Security`, or none.
    pub fields: FieldList,
}

/// Why no rule answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteRefusal {
    /// 404: a rewrite led to an impossible path.
    NotFound,
    /// 400: a redirect to the host of the request, which names none.
    NoHost,
    /// 405: routes match the path, but none with this method.
    MethodNotAllowed {
        /// The value of Allow.
        allow: String,
    },
    /// 500: more rewrites than one request may have.
    RewriteLoop,
}

/// A rule's number in its table, in file order; [`RouteTable::place_of`] returns its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct RuleId(pub u32);

pub use crate::host_id::HostId;
