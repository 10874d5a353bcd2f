//! The configuration as plain data, with defaults filled in and every value checked.
//!
//! Owns the shape. Never reads text (the other files do) and decides nothing about a request
//! (`route` does).

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wire::http::forwarded::ForwardingField;
use wire::network::{Network, Peers};

use crate::address::ListenerAddress;
use crate::host_id::HostId;
use crate::host_name::HostName;
use crate::limits;
use crate::model::access::AccessRule;
use crate::model::acme::AcmeSettings;
use crate::model::channel_settings::ChannelSettings;
use crate::model::channels::ChannelRules;
use crate::model::cluster::ClusterSettings;
use crate::model::encryption::{Https, Tls};
use crate::model::file_settings::FileSettings;
use crate::model::files::{FileCache, MediaType};
use crate::model::header::Header;
use crate::model::limits::LimitSettings;
use crate::model::log::{AdminSettings, Log};
use crate::model::maintenance::Maintenance;
use crate::model::pages::Pages;
use crate::model::processes::SiteProcess;
use crate::model::quotas::LimitRule;
use crate::model::route::Route;
use crate::model::store::{DatabaseRules, StoreSettings};
use crate::model::trace::TraceSettings;
use crate::model::upstream::UpstreamSettings;
use crate::problem::{FileNames, TextPosition};
use crate::secret::Secrets;
use crate::sources::PartFile;

/// The whole configuration of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The names of the files it was read from, for messages.
    pub files: FileNames,
    /// The other files whose texts are part of it: included ones, and secrets.
    pub parts: Vec<PartFile>,
    /// The texts that come from files of secrets: no message shows them.
    pub secrets: Secrets,
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
    /// How far back the samples of the server itself reach; zero for none.
    pub profile_ring: Duration,
    /// Whether each scheduler has a descriptor table of its own.
    pub descriptor_tables: DescriptorTables,
    /// How long running requests may take once a drain began.
    pub drain_deadline: Duration,
    /// How the kernel chooses the scheduler of a new connection.
    pub steering: Steering,
    /// The listeners; at least one.
    pub listeners: Vec<ListenerSettings>,
    /// The host for requests that no virtual host matches: the top level of the file.
    pub default_host: Host,
    /// The virtual hosts in the order of the file.
    pub hosts: Vec<Host>,
    /// The proxies that are trusted to tell who their clients are.
    pub trusted_proxies: Vec<Peers>,
    /// The fields that count of what they tell.
    pub trusted_fields: Vec<ForwardingField>,
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
    /// Other servers with the same channels.
    pub cluster: ClusterSettings,
    /// The key/value store.
    pub store: StoreSettings,
    /// The access of clients to its databases.
    pub databases: Vec<DatabaseRules>,
    /// Background processes.
    pub processes: Vec<SiteProcess>,
    /// The file with the countries of networks.
    pub countries: Option<PathBuf>,
    /// The answer to clients while the site is maintained.
    pub maintenance: Maintenance,
    /// The limits of each client.
    pub quotas: Vec<LimitRule>,
    /// Other servers that answer requests, in the order of the file.
    pub upstreams: Vec<UpstreamSettings>,
    /// Limits and deadlines of requests and connections.
    pub limits: LimitSettings,
    /// The logs: their contents, form and destination.
    pub log: Log,
    /// The reports to a collector.
    pub trace: TraceSettings,
    /// The control socket and the metrics listener.
    pub admin: AdminSettings,
    /// Certificates that the server orders itself.
    pub acme: AcmeSettings,
}

impl Config {
    /// The name of a site: the first name of a virtual host. The default host has none.
    pub fn site_name(&self, host: HostId) -> Option<&HostName> {
        let number = usize::try_from(host.0).ok()?.checked_sub(1)?;
        self.hosts.get(number)?.names.first()
    }

    /// The defaults, with `root` for the default host.
    pub(crate) fn defaults(file_name: &str, root: &Path) -> Self {
        Self {
            files: FileNames::of_main(file_name),
            parts: Vec::new(),
            secrets: Secrets::default(),
            schedulers: None,
            pin: true,
            user: None,
            spin: limits::SPIN,
            busy_poll: limits::BUSY_POLL,
            profile_ring: limits::PROFILE_RING,
            descriptor_tables: DescriptorTables::Private,
            drain_deadline: limits::DRAIN_DEADLINE,
            steering: Steering::Hash,
            listeners: vec![ListenerSettings::default()],
            default_host: Host::of_files(FileSettings::of_root(root)),
            hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            trusted_fields: ForwardingField::ALL.to_vec(),
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
            cluster: ClusterSettings::default(),
            store: StoreSettings::default(),
            databases: Vec::new(),
            processes: Vec::new(),
            countries: None,
            maintenance: Maintenance::default(),
            quotas: Vec::new(),
            upstreams: Vec::new(),
            limits: LimitSettings::default(),
            log: Log::default(),
            trace: TraceSettings::default(),
            admin: AdminSettings::default(),
            acme: AcmeSettings::default(),
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
pub struct ListenerSettings {
    /// Its place in the file; `None` for those of the command line and the default one.
    pub place: Option<TextPosition>,
    /// Its address.
    pub address: ListenerAddress,
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
    /// Whether clients may choose HTTP/2 in the handshake of TLS.
    pub http2: bool,
    /// Whether clients of plain connections may begin with HTTP/2.
    pub h2c: bool,
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
    /// HTTP/2, HTTP/1.1 and HTTP/1.0.
    #[default]
    Http,
    /// RESP2 and RESP3, the protocol of Redis clients.
    Resp,
}

/// A host: the top level of the file or one `[[host]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Its place in the file; `None` for the top level.
    pub place: Option<TextPosition>,
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
    /// The rules of access, if they differ from the top level; the default host has those of the top level.
    pub access: Option<Vec<AccessRule>>,
}

impl Host {
    /// A host without routes.
    pub(crate) fn of_files(files: FileSettings) -> Self {
        Self {
            place: None,
            names: Vec::new(),
            files,
            routes: Vec::new(),
            headers: Vec::new(),
            error_pages: Vec::new(),
            https: Https::default(),
            access: None,
        }
    }
}

/// The page sent with an error status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPage {
    /// The status, 400 to 599.
    pub status: u16,
    /// The path of the page below the host's root.
    pub path: String,
}
