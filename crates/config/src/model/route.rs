//! `[[route]]` as plain data.
//!
//! Owns the shape. Never reads text: `routes` does.

use wire::http::method::Method;

use crate::glob::PathGlob;
use crate::host_name::HostName;
use crate::model::access::AccessRule;
use crate::model::file_settings::FileSettings;
use crate::model::header::Header;
use crate::model::log::Logging;
use crate::model::redirect_map::MapRule;
use crate::model::upstream::{ForwardAuth, ProxyRoute};
use crate::model::when::RouteCondition;
use crate::problem::TextPosition;
use crate::target::TargetTemplate;

/// One `[[route]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Its place in the file.
    pub place: TextPosition,
    /// The paths it matches.
    pub matcher: PathMatcher,
    /// The methods it matches; empty for all. GET includes HEAD.
    pub methods: Vec<Method>,
    /// The only host it applies to, within the default host.
    pub host: Option<HostName>,
    /// Its conditions; a request must meet all of them.
    pub conditions: Vec<RouteCondition>,
    /// Its action.
    pub action: RouteAction,
    /// Fields added to its answers.
    pub headers: Vec<Header>,
    /// The largest request body, in bytes, if it differs from the general limit.
    pub body_size: Option<u64>,
    /// The Cache-Control of its answers.
    pub cache_control: Option<String>,
    /// The links that clients are sent while the answer is made.
    pub early_hints: Vec<String>,
    /// The rules of access, if they differ from the host.
    pub access: Option<Vec<AccessRule>>,
    /// The server that is asked whether a request may pass.
    pub forward_auth: Option<ForwardAuth>,
    /// Whether its requests are in the access log.
    pub log: Logging,
}

/// The paths a route matches. Paths are decoded and normalised.
#[derive(Debug, Clone, PartialEq)]
pub enum PathMatcher {
    /// Only this path.
    Path(String),
    /// This path and all below it; without a trailing slash it matches at segment borders.
    Prefix(String),
    /// All that match a pattern.
    Glob(PathGlob),
}

/// The answer of a route of files that has no file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Otherwise {
    /// 404.
    #[default]
    NotFound,
    /// That of the routes after this one.
    NextRoute,
}

/// The action of a route.
#[derive(Debug, Clone, PartialEq)]
pub enum RouteAction {
    /// Serves files.
    Files {
        /// The root and the rules.
        rules: FileSettings,
        /// Whether the route has its own root, which replaces its prefix.
        own_root: bool,
        /// The paths to try in order, of which the first with a file answers; empty for the path itself.
        tries: Vec<TargetTemplate>,
        /// The answer if none of them has one.
        otherwise: Otherwise,
    },
    /// Redirects the client.
    Redirect {
        /// The target.
        to: TargetTemplate,
        /// 301, 302, 303, 307 or 308.
        status: u16,
    },
    /// Continues with another path and the routes after this one.
    Rewrite {
        /// The new path.
        to: TargetTemplate,
    },
    /// Answers with a text.
    Respond(Respond),
    /// Answers 200 with this JSON text.
    Json(String),
    /// Lets the app module with this name answer.
    Module(String),
    /// Redirects the client if the path is in a file; otherwise the routes after this one are asked.
    Map(MapRule),
    /// Closes the connection without an answer.
    Drop,
    /// Lets a server of an upstream answer.
    Proxy(Box<ProxyRoute>),
    /// The channels, whose names follow the prefix. Built in.
    Channels,
    /// The client of channels for browsers. Built in.
    BrowserClient,
    /// A database of the store, whose keys follow the prefix. Built in.
    Database(String),
}

impl RouteAction {
    /// Whether the routes after its own answer what it has no file for.
    #[inline]
    pub fn leads_on(&self) -> bool {
        matches!(self, Self::Files { otherwise: Otherwise::NextRoute, .. })
    }
}

/// A fixed answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Respond {
    /// The status.
    pub status: u16,
    /// The value of Content-Type.
    pub content_type: String,
    /// The content.
    pub body: String,
}
