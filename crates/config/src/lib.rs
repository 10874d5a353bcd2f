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
mod countries;
mod encryption;
mod expand;
mod fetch;
mod field;
mod file_settings;
mod files;
mod forward_auth;
mod glob;
mod host;
mod host_name;
mod item;
mod json;
mod key;
mod keys;
mod limit_keys;
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
mod page_choices;
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
mod redirect_map;
mod request_path;
mod restart;
pub mod route;
mod route_keys;
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
mod upstream_keys;
mod upstream_rows;
mod upstream_server;
mod value;
mod when;
mod wildcard;
mod wording;

pub use access::{AcceptedNames, AccessRule, Admission, Clients, Users};
pub use acme::{AcmeAccount, AcmeChallenge, AcmeIssuer, AcmeSettings, AcmeState};
pub use address::{ListenerAddress, ListenerAddressError};
pub use channel_settings::{ChannelKeyFiles, ChannelSettings};
pub use channels::{ChannelAccess, ChannelRules, SlowSubscriber};
pub use countries::{Countries, Country};
pub use encryption::{CertificateFiles, ClientCertificatePolicy, Https, ListenerCertificates, Tls};
pub use fetch::{FetchHosts, FetchRule, FetchRules, FetchSchemes};
pub use file_settings::{CacheRule, FileSettings};
pub use files::MediaType;
pub use glob::{Captures, GlobError, PathGlob};
pub use host_name::HostName;
pub use key::{ChangeEffect, ConfigKey, SectionKeys};
pub use keys::SECTIONS;
pub use limit_keys::LimitSettings;
pub use log::{AccessLogTarget, AdminSettings, Log, LogLevel, LogMessages, Logging};
pub use maintenance::Maintenance;
pub use model::{
    AppDirectory, AppPresence, Authentication, Config, DescriptorTables, ErrorPage, FileCache,
    Header, Host, ListenerSettings, PathMatcher, Protocol, Respond, Route, RouteAction, Steering,
};
pub use named_modules::{ModuleUser, NamedModule};
pub use outside::{Nothing, Outside};
pub use overrides::{CertificatesOverride, Overrides};
pub use page_choices::{PageCode, PageErrors, PageSessions};
pub use page_name::PageName;
pub use pages::Pages;
pub use printed::{defaults, table};
pub use problem::{ConfigErrors, FileNames, Problem, TextPosition};
pub use processes::{ProcessBegin, SiteProcess};
pub use quantity::{QuantityError, parse_duration, parse_size};
pub use quotas::{LimitRate, LimitRule, Measure, QuotaKey};
pub use redirect_map::{MapRow, MapRule, RedirectMap};
pub use restart::needs_restart;
pub use secret::Secrets;
pub use sources::PartFile;
pub use store::{DatabaseAccess, DatabaseRules, StoreDuty, StoreSettings, StoreSync};
pub use target::{Spot, TargetPart, TargetTemplate};
pub use trace::TraceSettings;
pub use tunables::{Tunable, no_such_setting, tunables};
pub use upstream::{
    ActiveCheck, BalanceMethod, CacheDisk, CacheKey, CacheReport, ForwardAuth, HashBy, HeaderEdits,
    PassiveHealth, ProxiedBodies, ProxiedPath, ProxyProtocol, ProxyRoute, ServerAddress,
    UpstreamCache, UpstreamServer, UpstreamSettings, UpstreamTimeouts, UpstreamTls,
};
pub use when::{RouteCondition, WantedValue};

pub use wire::access_log::LogFormat;
pub use wire::http::method::Method;

use problem::Problems;

use std::path::Path;

/// A host's number, in file order; 0 is the default host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub u32);

impl HostId {
    /// The default host.
    pub const DEFAULT: Self = Self(0);
}

/// The file that is searched in the served directory.
pub const FILE_NAME: &str = "velodrome.toml";

impl Config {
    /// The name of a site: the first name of a virtual host. The default host has none.
    pub fn site_name(&self, host: HostId) -> Option<&HostName> {
        let number = usize::try_from(host.0).ok()?.checked_sub(1)?;
        self.hosts.get(number)?.names.first()
    }

    /// Reads `text`, the content of the file `file_name`, and applies `overrides` to it.
    ///
    /// Relative paths in the text refer to `base_directory`, the directory of the file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, in file order.
    pub fn from_text(
        text: &str,
        file_name: &str,
        base_directory: &Path,
        overrides: &Overrides,
    ) -> Result<Self, ConfigErrors> {
        Self::from_text_within(text, file_name, base_directory, overrides, &Nothing)
    }

    /// The same for a text that refers to other files or to the environment.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, in file order.
    pub fn from_text_within(
        text: &str,
        file_name: &str,
        base_directory: &Path,
        overrides: &Overrides,
        outside: &dyn Outside,
    ) -> Result<Self, ConfigErrors> {
        read::config(text, file_name, base_directory, overrides, outside)
    }

    /// The configuration of `velodrome serve DIRECTORY` without a file: the defaults with `overrides`.
    ///
    /// # Errors
    ///
    /// The problems of the overrides.
    pub fn without_file(directory: &Path, overrides: &Overrides) -> Result<Self, ConfigErrors> {
        read::config("", "command line", directory, overrides, &Nothing)
    }
}
