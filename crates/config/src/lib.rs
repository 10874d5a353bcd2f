//! The configuration: the text of `velodrome.toml` and the command line as plain data.
//!
//! Owns every key, its type, its default and its check, and the text of errors. All checks happen
//! here, before the server starts, and all problems are reported together. Never opens a file,
//! never looks up a user or a host name, never reads a clock: the caller does.
//!
//! Used by `velodrome serve`, `velodrome check` and reloads. [`route`] compiles the result. Knows
//! no runtime, no page and no protocol: other crates decide what a key does.

mod access;
mod acme;
mod address;
mod channel_settings;
mod channels;
mod choice;
mod cluster;
mod countries;
mod early_hints;
mod expand;
mod fetch;
mod field;
mod files;
mod forward_auth;
mod glob;
mod host;
mod host_id;
mod host_name;
mod item;
mod json;
mod key;
mod keys;
mod limit_keys;
mod limit_rate;
pub mod limits;
mod listener;
mod listener_tls;
mod log;
mod maintenance;
mod maps;
mod model;
mod named_modules;
mod outside;
mod overrides;
mod page_name;
mod pages;
mod peers;
mod printed;
mod problem;
mod processes;
mod proxy_route;
mod quantity;
mod quotas;
mod read;
mod request_path;
mod restart;
pub mod route;
mod routes;
mod secret;
mod section;
mod separated;
mod settle;
mod sources;
mod store;
mod target;
mod top_keys;
mod trace;
mod tunables;
mod upstream;
mod upstream_cache;
mod upstream_check;
mod upstream_server;
mod value;
mod variable_header;
mod when;
mod wildcard;
mod wording;

pub use address::{ListenerAddress, ListenerAddressError};
pub use countries::{Countries, Country};
pub use glob::{Captures, GlobError, PathGlob};
pub use host_id::HostId;
pub use host_name::HostName;
pub use key::{ChangeEffect, ConfigKey, SectionKeys};
pub use keys::SECTIONS;
pub use model::access::{AcceptedNames, AccessRule, Admission, Clients, Users};
pub use model::acme::{AcmeAccount, AcmeChallenge, AcmeIssuer, AcmeSettings, AcmeState};
pub use model::channel_settings::{ChannelKeyFiles, ChannelSettings};
pub use model::channels::{ChannelAccess, ChannelRules, SlowSubscriber};
pub use model::cluster::{ClusterScheme, ClusterServer, ClusterSettings};
pub use model::config::{
    AppDirectory, AppPresence, Authentication, Config, DescriptorTables, ErrorPage, Host,
    ListenerSettings, Protocol, Steering,
};
pub use model::encryption::{
    CertificateFiles, ClientCertificatePolicy, Https, ListenerCertificates, Tls,
};
pub use model::fetch::{FetchHosts, FetchRule, FetchRules, FetchSchemes};
pub use model::file_settings::{CacheRule, FileSettings};
pub use model::files::{FileCache, MediaType};
pub use model::header::{
    Header, HeaderEdits, HeaderPart, RequestVariable, VariableHeader, is_same_field,
};
pub use model::limits::LimitSettings;
pub use model::log::{AccessLogTarget, AdminSettings, Log, LogLevel, LogMessages, Logging};
pub use model::maintenance::Maintenance;
pub use model::page_choices::{PageCode, PageErrors, PageSessions};
pub use model::pages::Pages;
pub use model::processes::{ProcessBegin, ProcessReach, SiteProcess};
pub use model::quotas::{LimitRate, LimitRule, Measure, QuotaKey};
pub use model::redirect_map::{MapRow, MapRule, RedirectMap};
pub use model::route::{Otherwise, PathMatcher, Respond, Route, RouteAction};
pub use model::store::{DatabaseAccess, DatabaseRules, StoreDuty, StoreSettings, StoreSync};
pub use model::trace::TraceSettings;
pub use model::upstream::{
    ActiveCheck, BalanceMethod, CacheDisk, CacheKey, CacheReport, ForwardAuth, HashBy,
    PassiveHealth, ProxiedBodies, ProxiedPath, ProxyRoute, ServerAddress, UpstreamCache,
    UpstreamServer, UpstreamSettings, UpstreamTimeouts, UpstreamTls, UpstreamVersion,
};
pub use model::when::{RouteCondition, WantedValue};
pub use named_modules::{ModuleUser, NamedModule};
pub use outside::{Nothing, Outside};
pub use overrides::{CertificatesOverride, Overrides};
pub use page_name::PageName;
pub use printed::{defaults, table};
pub use problem::{ConfigErrors, FileNames, Problem, TextPosition};
pub use quantity::{QuantityError, parse_duration, parse_size};
pub use read::FILE_NAME;
pub use restart::needs_restart;
pub use secret::Secrets;
pub use sources::PartFile;
pub use target::{Spot, TargetPart, TargetTemplate};
pub use tunables::{Tunable, no_such_setting, tunables};

pub use wire::access_log::LogFormat;
pub use wire::http::method::Method;
