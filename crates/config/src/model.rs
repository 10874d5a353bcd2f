//! The configuration as plain data, with defaults filled in and every value checked.
//!
//! Owns the shape. Never reads text (the other files do) and decides nothing about a request
//! (`route` does).

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wire::network::Network;

use super::{
    Address, Admin, ChannelRules, ChannelSettings, DatabaseRules, Glob, HostName, Https, Limits,
    Log, Method, Pages, Place, ProxyRoute, SiteProcess, StoreSettings, Target, Tls, Upstream,
};
use crate::limits;

/// The whole configuration of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The name of the file it was read from, for messages.
    pub file_name: String,
    /// How many schedulers run; `None` for one per core this process may use.
    pub schedulers: Option<NonZeroUsize>,
    /// Whether each scheduler's thread is bound to one core.
    pub pin: bool,
    /// The user to become once every listener is open; `None` to keep the current user.
    pub user: Option<String>,
    /// How long a scheduler polls before it sleeps; zero for never.
    pub spin: Duration,
    /// How long a waiting scheduler busy-polls the network device; zero for never.
    pub busy_poll: Duration,
    /// Whether each scheduler has a descriptor table of its own.
    pub descriptor_tables: DescriptorTables,
    /// How long running requests may take once a drain began.
    pub drain_deadline: Duration,
    /// How the kernel chooses the scheduler of a new connection.
    pub steering: Steering,
    /// The listeners; at least one.
    pub listeners: Vec<Listener>,
    /// The host for requests that no virtual host matches: the top level of the file.
    pub default_host: Host,
    /// The virtual hosts in the order of the file.
    pub hosts: Vec<Host>,
    /// Fields added to every answer of every host.
    pub headers: Vec<Header>,
    /// The memory held for file content.
    pub file_cache: FileCache,
    /// Media types by extension that take precedence over the built-in list.
    pub media_types: Vec<MediaType>,
    /// Whether pages run, how, and what each may use.
    pub pages: Pages,
    /// Where app modules are.
    pub app: AppDirectory,
    /// The channels for clients, in the order of the file.
    pub channels: Vec<ChannelRules>,
    /// Settings for all channels.
    pub channel_settings: ChannelSettings,
    /// The key/value store.
    pub store: StoreSettings,
    /// The access of clients to its databases.
    pub databases: Vec<DatabaseRules>,
    /// Background processes.
    pub processes: Vec<SiteProcess>,
    /// Other servers that answer requests, in the order of the file.
    pub upstreams: Vec<Upstream>,
    /// Limits and deadlines of requests and connections.
    pub limits: Limits,
    /// The logs: their contents, form and destination.
    pub log: Log,
    /// The control socket and the metrics listener.
    pub admin: Admin,
}

impl Config {
    /// The defaults, with `root` for the default host.
    pub(super) fn defaults(file_name: &str, root: &Path) -> Self {
        Self {
            file_name: file_name.to_owned(),
            schedulers: None,
            pin: true,
            user: None,
            spin: limits::SPIN,
            busy_poll: limits::BUSY_POLL,
            descriptor_tables: DescriptorTables::Private,
            drain_deadline: limits::DRAIN_DEADLINE,
            steering: Steering::Hash,
            listeners: vec![Listener::default()],
            default_host: Host::of_files(FileSettings::of_root(root)),
            hosts: Vec::new(),
            headers: Vec::new(),
            file_cache: FileCache::default(),
            media_types: Vec::new(),
            pages: Pages::default(),
            app: AppDirectory {
                path: PathBuf::from(limits::APP_DIRECTORY),
                presence: AppPresence::WithMain,
            },
            channels: Vec::new(),
            channel_settings: ChannelSettings::default(),
            store: StoreSettings::default(),
            databases: Vec::new(),
            processes: Vec::new(),
            upstreams: Vec::new(),
            limits: Limits::default(),
            log: Log::default(),
            admin: Admin::default(),
        }
    }
}

/// The directory of app modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppDirectory {
    /// Its path.
    pub path: PathBuf,
    /// Whether it must exist.
    pub presence: AppPresence,
}

/// Whether the directory of app modules must exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppPresence {
    /// It is named in the file, or a route names a module.
    Required,
    /// It counts if it contains a `main.lua`.
    WithMain,
}

/// Which descriptor table a scheduler uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorTables {
    /// Its own, if the kernel allows it.
    Private,
    /// The process's.
    Shared,
}

/// How the kernel distributes new connections over the schedulers' listening sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steering {
    /// By a hash of the connection's addresses and ports.
    Hash,
    /// To the scheduler of the core that received the handshake (SO_ATTACH_REUSEPORT_CBPF).
    Cpu,
}

/// One `[[listener]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Listener {
    /// Its place in the file; `None` for those of the command line and the default one.
    pub place: Option<Place>,
    /// Its address.
    pub address: Address,
    /// The protocol of its connections.
    pub protocol: Protocol,
    /// Whether a RESP client must authenticate first.
    pub authentication: Authentication,
    /// The networks from which a PROXY header is required (other clients are refused); empty for no header.
    pub proxy_protocol_from: Vec<Network>,
    /// How many connections may wait to be accepted.
    pub backlog: u32,
    /// How long the kernel waits for a first byte before a connection is accepted; zero turns it off.
    pub defer_accept: Duration,
    /// The permissions of a Unix socket's file.
    pub mode: u32,
    /// The encryption of its connections; `None`: they are plain.
    pub tls: Option<Tls>,
}

/// Whether the clients of a listener must authenticate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Authentication {
    /// No.
    #[default]
    Optional,
    /// Yes, before anything else.
    Required,
}

/// The protocol of a listener's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// HTTP/1.1 and HTTP/1.0.
    #[default]
    Http,
    /// RESP2 and RESP3, the protocol of Redis clients.
    Resp,
}

/// A host: the top level of the file or one `[[host]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Its place in the file; `None` for the top level.
    pub place: Option<Place>,
    /// The names it answers to; empty for the default host.
    pub names: Vec<HostName>,
    /// How paths without a route are handled; its `root` is the host's.
    pub files: FileSettings,
    /// The routes in the order of the file.
    pub routes: Vec<Route>,
    /// Fields added to every answer of this host.
    pub headers: Vec<Header>,
    /// Pages sent in place of the built-in error texts, sorted by status.
    pub error_pages: Vec<ErrorPage>,
    /// How its clients come to encrypted connections, and stay there.
    pub https: Https,
}

impl Host {
    /// A host without routes.
    pub(super) fn of_files(files: FileSettings) -> Self {
        Self {
            place: None,
            names: Vec::new(),
            files,
            routes: Vec::new(),
            headers: Vec::new(),
            error_pages: Vec::new(),
            https: Https::default(),
        }
    }
}

/// One `[[route]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Its place in the file.
    pub place: Place,
    /// The paths it matches.
    pub matcher: Matcher,
    /// The methods it matches; empty for all. GET includes HEAD.
    pub methods: Vec<Method>,
    /// The only host it applies to, within the default host.
    pub host: Option<HostName>,
    /// What it does.
    pub action: RouteAction,
    /// Fields added to its answers.
    pub headers: Vec<Header>,
    /// The largest request body, in bytes, if it differs from the general limit.
    pub body_size: Option<u64>,
    /// The Cache-Control of its answers.
    pub cache_control: Option<String>,
}

/// The paths a route matches. Paths are decoded and normalised.
#[derive(Debug, Clone, PartialEq)]
pub enum Matcher {
    /// Only this path.
    Path(String),
    /// This path and all below it; without a trailing slash it matches at segment borders.
    Prefix(String),
    /// All that match a pattern.
    Glob(Glob),
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
    },
    /// Redirects the client.
    Redirect {
        /// The target.
        to: Target,
        /// 301, 302, 303, 307 or 308.
        status: u16,
    },
    /// Continues with another path and the routes after this one.
    Rewrite {
        /// The new path.
        to: Target,
    },
    /// Answers with a text.
    Respond(Respond),
    /// Answers 200 with this JSON text.
    Json(String),
    /// Lets the app module with this name answer.
    Module(String),
    /// Lets a server of an upstream answer.
    Proxy(Box<ProxyRoute>),
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

/// How files are served: `[files]`, or the `files` of a route over it.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSettings {
    /// The directory for `/`.
    pub root: PathBuf,
    /// Whether a directory without an index is answered with its listing.
    pub listing: bool,
    /// The names tried for a directory, in order.
    pub index: Vec<String>,
    /// Whether names that begin with a dot are served; `.well-known` always is.
    pub hidden: bool,
    /// Patterns of files that clients cannot see, besides those that the server always hides.
    pub hide: Vec<String>,
    /// Whether symbolic links are followed, as long as they stay below the root.
    pub symlinks: bool,
    /// Whether `name.zst`, `name.br`, `name.gz` are sent in place of `name` to clients that accept them.
    pub precompressed: bool,
    /// Whether files are compressed on the fly.
    pub compress: bool,
    /// The minimum size in bytes for that.
    pub compress_from: u64,
    /// The Cache-Control by file; the first match applies.
    pub cache_control: Vec<CacheRule>,
}

impl FileSettings {
    /// The default rules for `root`.
    #[must_use]
    pub fn of_root(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            listing: false,
            index: vec!["index.html".to_owned()],
            hidden: false,
            hide: Vec::new(),
            symlinks: true,
            precompressed: true,
            compress: true,
            compress_from: limits::COMPRESS_FROM,
            cache_control: Vec::new(),
        }
    }
}

/// One `[[files.cache_control]]`. A `cache_control` for the whole route is one with the pattern `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheRule {
    /// The files it applies to: without a `/` a name, with one the whole path, where `*` matches any
    /// characters.
    pub pattern: String,
    /// The value of Cache-Control.
    pub value: String,
}

/// The memory held for file content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileCache {
    /// Bytes for each scheduler; zero for no cache.
    pub size: u64,
    /// The largest file that is held, in bytes.
    pub file_size: u64,
}

impl Default for FileCache {
    fn default() -> Self {
        Self { size: limits::CACHE_SIZE, file_size: limits::CACHE_FILE_SIZE }
    }
}

/// The media type of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaType {
    /// The extension in lower case, without its dot.
    pub extension: String,
    /// The value of Content-Type.
    pub value: String,
}

/// A field added to answers. Name and value contain no CR, LF, NUL or other control character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The name as written in the file.
    pub name: String,
    /// The value.
    pub value: String,
}

/// The page sent with an error status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPage {
    /// The status, 400 to 599.
    pub status: u16,
    /// The path of the page below the host's root.
    pub path: String,
}
