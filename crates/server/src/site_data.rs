//! The compiled configuration: shared by all threads, immutable, replaced as a whole by a reload.

mod databases;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use runtime::clock::{milliseconds, nanoseconds};
use runtime::patience::PeerPatience;
use sys::file::Symlinks;
use wire::http::target::DotFiles;

use channels::Rulebook;
use config::route::{HostId, RouteTable};
use config::{self, Config, ConfigErrors, NamedModule, RouteAction};
use files::error_page::ErrorPages;
use files::pattern::NamePattern;
use files::rules::{
    CacheControlRule, Compress, FileRules, ListingRule, MediaTypeRule, Precompressed, Root,
    RootIndex,
};
use http::limits::ANSWER_DEADLINE;
use http::{HttpSettings, ListenerRules, PriorKnowledge, TrustedProxies};
use local::DatabaseRequirements;
use pages::fetch::FetchTrust;
use pages::{PageRoot, PageSet, Places, Secret, SetIndex};
use quota::Limit;

use self::databases::database_rules;
use crate::access::UserFiles;
use crate::channel_keys::{AdminKeys, ChannelKeys};
use crate::channel_rules;
use crate::cluster_setup::ClusterSetup;
use crate::limit_rules::limits_of;
use crate::site_tls::SiteTls;
use crate::upstream_tls::UpstreamConnectors;

/// A compiled configuration.
#[derive(Debug, Clone)]
pub struct SiteData {
    /// Counts from 1, one more with every reload.
    pub generation: u64,
    /// The configuration as read.
    pub config: Config,
    /// Its routes.
    pub table: RouteTable,
    /// The served directories, each with one set of rules.
    pub roots: Vec<Root>,
    /// The directories of caches, which nobody is served from by their paths. As roots they follow `roots`.
    pub cache_directories: Vec<PathBuf>,
    /// The rules of each root.
    pub rules: Vec<Arc<FileRules>>,
    /// The rules as configured, by root.
    configured: Vec<config::FileSettings>,
    /// Limits and deadlines of connections.
    pub settings: Arc<HttpSettings>,
    /// The roots with different pages, followed by the directory of app modules if there is one: the places where pages
    /// and modules are searched.
    pub page_roots: Vec<PageRoot>,
    /// The rules by which pages are searched, for each of `page_roots` except the app's.
    page_rules: Vec<Arc<FileRules>>,
    /// The set of pages for each of `roots`.
    set_of_root: Vec<SetIndex>,
    /// The modules named in the configuration.
    pub named_modules: Vec<NamedModule>,
    /// The pages of each of `page_roots`, as they were when the configuration was loaded.
    pub pages: Vec<Arc<PageSet>>,
    /// The certificates that pages trust and show when they fetch.
    pub trust: FetchTrust,
    /// The certificates that are trusted and shown at the servers of upstreams.
    pub upstream_tls: UpstreamConnectors,
    /// The secret with which pages sign cookies.
    pub secret: Secret,
    /// The processes of the site.
    pub processes: Vec<actors::ProcessPlan>,
    /// The access of clients to each database of the store: to read, and to write.
    pub database_rules: Arc<[DatabaseRequirements]>,
    /// The rules of channels.
    pub rulebook: Arc<Rulebook>,
    /// The keys of channels.
    pub channel_keys: ChannelKeys,
    /// The keys of those who may control the server over the network.
    pub admin_keys: AdminKeys,
    /// The cluster, if there is one.
    pub cluster: Option<Arc<ClusterSetup>>,
    /// The limits of clients, in the order of the configuration.
    pub limits: Arc<[Limit]>,
    /// The error pages of hosts without their own.
    pub error_pages: Arc<ErrorPages>,
    /// The files of users.
    pub users: UserFiles,
    /// The certificates of listeners, as they were when the configuration was loaded.
    pub tls: Arc<SiteTls>,
    /// The certificates that the server orders; `None`: it orders none.
    pub orders: Option<acme::RenewalSettings>,
}

impl SiteData {
    /// Compiles a configuration.
    ///
    /// # Errors
    /// If routes contradict each other.
    pub fn compile(config: Config, generation: u64) -> Result<Self, ConfigErrors> {
        let table = RouteTable::compile(&config)?;
        let mut configured: Vec<config::FileSettings> = Vec::new();
        let named_modules = config.named_modules();
        for host in std::iter::once(&config.default_host).chain(&config.hosts) {
            let of_routes = host.routes.iter().filter_map(|route| match &route.action {
                RouteAction::Files { rules, .. } => Some(rules),
                _ => None,
            });
            for rules in std::iter::once(&host.files).chain(of_routes) {
                if !configured.contains(rules) {
                    configured.push(rules.clone());
                }
            }
        }
        let roots: Vec<Root> = configured.iter().map(root_of).collect();
        let cache_directories =
            config.upstreams.iter().filter_map(config::UpstreamSettings::cache_directory);
        let cache_directories = cache_directories.map(Path::to_path_buf).collect();
        let rules: Vec<_> =
            configured.iter().map(|rules| Arc::new(rules_of(rules, &config))).collect();
        let (page_roots, set_of_root) = page_roots_of(&configured, &roots, &rules);
        let settings = Arc::new(settings_of(&config));
        let (pages, secret) = (Vec::new(), Secret::default());
        let page_rules = page_rules_of(&rules, &set_of_root);
        let database_rules = database_rules(&config);
        let limits = limits_of(&config);
        let rulebook = Arc::new(channel_rules::rulebook(&config.channels));
        Ok(Self {
            generation,
            config,
            table,
            roots,
            cache_directories,
            rules,
            configured,
            settings,
            page_roots,
            page_rules,
            set_of_root,
            named_modules,
            pages,
            trust: FetchTrust::default(),
            upstream_tls: UpstreamConnectors::default(),
            secret,
            processes: Vec::new(),
            orders: None,
            database_rules,
            rulebook,
            channel_keys: ChannelKeys::default(),
            admin_keys: AdminKeys::default(),
            cluster: None,
            limits,
            error_pages: Arc::new(ErrorPages::new()),
            users: UserFiles::default(),
            tls: Arc::default(),
        })
    }

    /// The same with other values of keys that may change while the server runs ([`config::tunables`]).
    ///
    /// # Errors
    /// If routes contradict each other, which those keys cannot cause.
    pub fn tuned(&self, config: Config) -> Result<Self, ConfigErrors> {
        Ok(Self {
            table: RouteTable::compile(&config)?,
            settings: Arc::new(settings_of(&config)),
            rulebook: Arc::new(channel_rules::rulebook(&config.channels)),
            limits: limits_of(&config),
            config,
            ..self.clone()
        })
    }

    /// Adds the directory of app modules. `below` tells for each root where inside it that directory is, if it is.
    pub fn add_app(&mut self, below: impl Iterator<Item = Option<String>>) {
        for (rules, below) in self.rules.iter_mut().zip(below) {
            // With a slash, a pattern matches the whole path.
            Arc::make_mut(rules).app = below.map(|below| NamePattern::new(&format!("/{below}")));
        }
        self.page_rules = page_rules_of(&self.rules, &self.set_of_root);
        let root = Root { path: self.config.app.path.clone(), symlinks: Symlinks::FollowBeneath };
        self.page_roots.push(PageRoot { root, index: Vec::new() });
    }

    /// The set of app modules.
    pub fn app_set(&self) -> Option<SetIndex> {
        let behind = self.page_rules.len();
        u16::try_from(behind).ok().filter(|_| self.page_roots.len() > behind).map(SetIndex)
    }

    /// The set of pages of a root.
    #[inline]
    pub fn set_of(&self, root: RootIndex) -> Option<SetIndex> {
        self.set_of_root.get(usize::from(root.0)).copied()
    }

    /// The places where pages and modules are searched.
    pub fn places(&self) -> Places<'_> {
        Places {
            roots: &self.page_roots,
            rules: &self.page_rules,
            named: &self.named_modules,
            unix_seconds: sys::clock::realtime().0,
        }
    }

    /// The root that is served by these rules.
    pub fn root_of(&self, rules: &config::FileSettings) -> Option<RootIndex> {
        // A route has its own copy of the rules, so they are compared by value.
        let index = self.configured.iter().position(|known| known == rules)?;
        u16::try_from(index).ok().map(RootIndex)
    }

    /// All directories that files are sent from.
    pub fn all_roots(&self) -> Vec<Root> {
        let of_cache = |path: &PathBuf| Root { path: path.clone(), symlinks: Symlinks::Refuse };
        self.roots.iter().cloned().chain(self.cache_directories.iter().map(of_cache)).collect()
    }

    /// The root of a cache.
    pub fn cache_root(&self, directory: &Path) -> Option<RootIndex> {
        let place = self.cache_directories.iter().position(|known| known == directory)?;
        u16::try_from(self.roots.len() + place).ok().map(RootIndex)
    }

    /// The roots with their rules of which all that is not hidden is served.
    pub fn whole_roots(&self) -> impl Iterator<Item = (&Root, &FileRules)> {
        let all = self.roots.iter().zip(&self.rules).zip(&self.configured);
        let whole = all.filter(|(_, settings)| settings.only.is_none());
        whole.map(|((root, rules), _)| (root, &**rules))
    }

    /// The host with this number: 0 is the default host, then the virtual ones in order.
    pub fn host(&self, id: HostId) -> Option<&config::Host> {
        match usize::try_from(id.0).ok()?.checked_sub(1) {
            None => Some(&self.config.default_host),
            Some(index) => self.config.hosts.get(index),
        }
    }

    /// The directories that are read, which a sandbox has to allow.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        let of_one_file = self.configured.iter().filter(|settings| settings.only.is_some());
        let places = self.page_roots.iter().map(|place| place.root.path.as_path());
        places.chain(of_one_file.map(|settings| settings.root.as_path()))
    }
}

/// The roots with different pages, and the set of each root. Other differences of their rules do not matter to pages.
fn page_roots_of(
    configured: &[config::FileSettings],
    roots: &[Root],
    rules: &[Arc<FileRules>],
) -> (Vec<PageRoot>, Vec<SetIndex>) {
    let mut page_roots: Vec<PageRoot> = Vec::new();
    let mut sets = Vec::with_capacity(roots.len());
    for ((root, rules), settings) in roots.iter().zip(rules).zip(configured) {
        if settings.only.is_some() {
            // Only one file of the directory is served, which is no page.
            sets.push(SetIndex(u16::MAX));
            continue;
        }
        let place = PageRoot { root: root.clone(), index: rules.index.clone() };
        let known = page_roots.iter().position(|known| *known == place);
        let index = known.unwrap_or(page_roots.len());
        if known.is_none() {
            page_roots.push(place);
        }
        // There are no more sets than roots, whose number is checked where they are looked up.
        sets.push(SetIndex(u16::try_from(index).unwrap_or(u16::MAX)));
    }
    (page_roots, sets)
}

/// The rules of each set of pages: those of its first root.
fn page_rules_of(rules: &[Arc<FileRules>], sets: &[SetIndex]) -> Vec<Arc<FileRules>> {
    let mut of_sets = Vec::new();
    for (rules, SetIndex(set)) in rules.iter().zip(sets) {
        if usize::from(*set) == of_sets.len() {
            of_sets.push(Arc::clone(rules));
        }
    }
    of_sets
}

fn root_of(rules: &config::FileSettings) -> Root {
    let symlinks = if rules.symlinks { Symlinks::FollowBeneath } else { Symlinks::Refuse };
    Root { path: rules.root.clone(), symlinks }
}

fn rules_of(rules: &config::FileSettings, config: &Config) -> FileRules {
    let own = FileRules::default();
    let mut hidden = own.hidden.clone();
    hidden.extend(rules.hide.iter().map(|pattern| NamePattern::new(pattern)));
    let cache_control = |rule: &config::CacheRule| CacheControlRule {
        files: NamePattern::new(&rule.pattern),
        value: rule.value.clone(),
    };
    let media_type = |media: &config::MediaType| MediaTypeRule {
        extension: media.extension.clone(),
        media_type: media.value.clone(),
    };
    FileRules {
        index: rules.index.clone(),
        listing: if rules.listing { ListingRule::On } else { ListingRule::Off },
        precompressed: if rules.precompressed { Precompressed::Use } else { Precompressed::Ignore },
        compress: if rules.compress { Compress::On } else { Compress::Off },
        compress_from: rules.compress_from,
        held_size: config.file_cache.file_size,
        media_types: config.media_types.iter().map(media_type).collect(),
        hidden,
        dot_files: if rules.hidden { DotFiles::Show } else { DotFiles::Hide },
        cache_control: rules.cache_control.iter().map(cache_control).collect(),
        ..own
    }
}

fn settings_of(config: &Config) -> HttpSettings {
    let limits = &config.limits;
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let small = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    HttpSettings {
        head: wire::http::head::HeadLimits {
            head_size: size(limits.head_size),
            field_count: size(limits.field_count),
            field_size: size(limits.field_size),
            field_name_size: size(limits.field_name_size),
            target_size: size(limits.target_size),
        },
        body: wire::http::body::BodyLimits {
            body_size: limits.body_size,
            chunk_extension_size: small(limits.chunk_extension_size),
            trailer_size: small(limits.trailer_size),
        },
        unread_body_size: limits.unread_body_size,
        header_deadline_ms: milliseconds(limits.header_deadline),
        body_idle_ms: milliseconds(limits.body_idle),
        body_rate: limits.body_rate,
        keep_alive_ms: limits.keep_alive.map(milliseconds),
        requests_per_connection: limits
            .requests_per_connection
            .map(|most| u32::try_from(most).unwrap_or(u32::MAX)),
        // A request that waits for a page may wait as long as a page may take.
        answer_deadline_ms: milliseconds(ANSWER_DEADLINE.max(config.pages.deadline))
            .saturating_add(1000),
        listeners: config
            .listeners
            .iter()
            .map(|listener| ListenerRules {
                proxy_protocol_from: listener.proxy_protocol_from.clone().into(),
                prior_knowledge: if listener.h2c {
                    PriorKnowledge::Served
                } else {
                    PriorKnowledge::Refused
                },
            })
            .collect(),
        slow_ns: config.log.slow.map(nanoseconds),
        trusted: TrustedProxies {
            peers: config.trusted_proxies.clone().into(),
            fields: config.trusted_fields.clone().into(),
        },
    }
}

/// How long schedulers wait for peers.
pub(crate) fn patience(limits: &config::LimitSettings) -> PeerPatience {
    PeerPatience {
        send_idle_ns: nanoseconds(limits.send_idle),
        send_rate: limits.send_rate,
        linger_bytes: u32::try_from(limits.unread_body_size).unwrap_or(u32::MAX),
        linger_ms: milliseconds(limits.unread_body_deadline),
    }
}
