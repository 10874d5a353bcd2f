//! `velodrome serve`: starts everything in order, and shuts it down again.
//!
//! Owns the order: requirements -> what the user is given -> sandbox -> mailboxes -> schedulers (tables separated,
//! listeners open) -> control scheduler -> helpers -> user -> turn. `signals` is what the main thread does from then
//! on; `paths` chooses the control socket; `listeners` opens the configured addresses.

mod certificates;
mod continuous_profile;
mod edit;
mod error;
mod listeners;
mod live_pages;
mod maintenance;
mod memory;
mod notify;
mod openings;
mod orders;
mod post;
mod requirements;
mod settings;
mod signals;
mod stored_state;
mod threads;
mod watch;

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use resp::RespCounts;
use runtime::diagnostic::{self, Level};
use runtime::launch::{self, ConnectionSpread, LaunchPlan, Launched, Pinning, Tables};
use runtime::mailbox::Endpoint;
use runtime::outlet;
use runtime::scheduler::{Scheduler, SchedulerSettings};
use runtime::service::Service;
use store::Store;
use sys::pollset::epoll::Epoll;
use sys::signal::Signal;

use self::certificates::Certificates;
use self::live_pages::LivePages;
use self::orders::Orders;
use self::post::{Post, endpoint};
use self::requirements::Met;
use self::settings::scheduler_settings;
use self::signals::{Dumps, Live};
use self::threads::Threads;
use self::watch::Watch;
use crate::admin::{Admin, Gate, StartFacts};
use crate::conn::Connections;
use crate::connection_share::ConnectionShare;
use crate::control_path::control_socket;
use crate::events::SchedulerBounds;
use crate::limits;
use crate::load::ConfigSource;
use crate::message_level::{form_of, level_of};
use crate::sandbox::{self, Sandbox};
use crate::site::Site;
use crate::site_data::SiteData;
use crate::store_node::StoreNode;
use config::{DescriptorTables, PageErrors, Protocol, Steering};
use http::{AccessLog, BothVersions, Http};
use pages::AtWork;
use pages::uploads::UploadRoom;

pub use listeners::Security;

pub use crate::control_path::{control_directory, control_sockets};
pub use continuous_profile::without_profile;

pub use error::{ControlPlace, ServeError};
pub use requirements::check;

/// Serves until told to stop. `announce` is called when the server is ready, with what to tell the user.
///
/// # Errors
/// Everything that prevents the start, with its place and the fix.
pub fn serve(
    source: &ConfigSource,
    announce: impl FnOnce(&StartedServer),
) -> Result<(), ServeError> {
    prepare_process()?;
    let Met { data, user, schedulers, descriptors, log } = requirements::meet(source)?;
    let data = Arc::new(data);
    let config = &data.config;
    diagnostic::set_least(level_of(config.log.level));
    diagnostic::set_form(form_of(config.log.messages));
    let pages = LivePages::new(&data);
    let log = openings::open_log(config, log, user.as_ref())?;
    let log_target = log.as_ref().map(|(target, _)| target.clone());
    let store = openings::open_store(config, schedulers, user.as_ref())?;
    openings::make_directories(&data, user.as_ref())?;
    sys::signal::block_all();
    let inherited = listeners::inherited();
    let listeners = listeners::data(config, &inherited)?;
    let control_path = control_socket(config);
    if let Some(control) = &control_path {
        openings::make_for_dumps(control, user.as_ref());
    }
    let continuous = continuous_profile::wanted(config);
    let sandbox =
        sandbox::enter(&openings::of(source, &data, log_target.as_ref(), control_path.as_deref()));
    let uploads = config.pages.uploads.as_deref().filter(|_| config.pages.enabled);
    // Held until the server ends, so that another server removes nothing of them.
    let _held = openings::hold(&data, uploads)?;
    let upload_helpers = uploads.map_or(0, |_| limits::UPLOAD_HELPERS);
    let protocols = listeners.protocols(config);
    let caches = &*data.cache_directories;
    let mut threads = Threads::plan(
        schedulers,
        log_target.as_ref(),
        upload_helpers,
        store.as_ref(),
        caches,
        continuous.as_ref(),
    )?;
    let opened = (listeners, store.clone());
    let (mut launched, watch) =
        launch_schedulers(&data, &mut threads, opened, &inherited, descriptors)?;
    let standing = StartedServer::of(&data, &launched, protocols, sandbox);
    let control = launch_control(&data, &mut threads, &standing, control_path.clone())?;
    let state = store.as_ref().map_or(Ok(None), |store| threads.state(store))?;
    let room = Arc::new(UploadRoom::new(config.pages.uploads_size));
    let store = openings::open_writer(&data, store, user.as_ref())?;
    let uploads = uploads.map(|directory| (directory, room));
    let helpers = threads.start_helpers(log, store, uploads, &data.cache_directories)?;
    // All threads run, and this one may still sample them in the kernel.
    threads.start_profiler(continuous)?;
    if let Some(user) = &user {
        openings::give_sockets(config, control_path.as_deref(), user);
        sys::credentials::drop_to(user).map_err(ServeError::User)?;
    }
    open_outlet();
    let to_control = control.as_ref().map(|_| endpoint(schedulers));
    let mut post = Post::new(threads.main()?, schedulers, to_control);
    let mut certificates = Certificates::of(&data, &mut post);
    let orders = Orders::begin((&data, state), &mut certificates, &mut post)?;
    // The listeners are open: a client that has connected does not wait for the reader of what is announced.
    launched.start();
    announce(&standing);
    tell(&standing.facts, data.config.pages.errors, control_path.as_deref());
    let dumps = Dumps::of(control_path.filter(|_| control.is_some()));
    let live = Live { data, pages, certificates, orders };
    let served = signals::run(source, live, post, (launched, watch), control, helpers, dumps);
    outlet::finish();
    served
}

/// Signals, panics and memory, which are of the process.
fn prepare_process() -> Result<(), ServeError> {
    // Orders to a server that starts are carried out when it has started; until then TERM ends it as any program.
    let deferred = [Signal::Hangup, Signal::User1, Signal::User2];
    sys::signal::block(&deferred.into_iter().collect());
    sys::signal::ignore_broken_pipe();
    sys::signal::ignore_file_size();
    sys::lost_page::report().map_err(ServeError::Signals)?;
    runtime::panic::report_with_backtrace();
    sys::heap::fix_thresholds(limits::MEMORY_OWN_PAGES, limits::MEMORY_KEPT);
    Ok(())
}

/// The server when everything is open.
#[derive(Clone, Debug)]
pub struct StartedServer {
    /// The served directory.
    pub directory: String,
    /// The addresses of the listeners.
    pub addresses: Vec<String>,
    /// The protocol of each, and whether it is encrypted.
    pub protocols: Vec<(Protocol, Security)>,
    /// The number of schedulers.
    pub schedulers: usize,
    facts: StartFacts,
}

impl StartedServer {
    fn of(
        data: &SiteData,
        launched: &Launched,
        protocols: Vec<(Protocol, Security)>,
        sandbox: Sandbox,
    ) -> Self {
        let addresses: Vec<String> = launched.addresses.iter().map(ToString::to_string).collect();
        let directory = data.config.default_host.files.root.display().to_string();
        let facts = StartFacts {
            directory: directory.clone(),
            listeners: addresses.clone(),
            cpus: launched.cpus.clone(),
            private_tables: launched.private_tables,
            kinds: <Connections as Service>::KINDS,
            sandbox: sandbox.as_str(),
            slot_bytes: Scheduler::<Epoll, Connections>::slot_bytes(),
            started: unix_seconds(),
            process: std::process::id(),
        };
        Self { directory, addresses, protocols, schedulers: launched.cpus.len(), facts }
    }
}

/// From now on nobody waits for the reader of standard error.
fn open_outlet() {
    if let Err(error) = outlet::open() {
        diagnostic::write(
            Level::Warn,
            format_args!("schedulers may wait for the reader of standard error: {error}"),
        );
    }
}

/// Logs what clients see of faults, and what was found at start, for finding them.
fn tell(facts: &StartFacts, errors: PageErrors, control: Option<&Path>) {
    if errors == PageErrors::Shown {
        diagnostic::write(
            Level::Warn,
            format_args!("--dev: every client sees the source of a page that fails"),
        );
    }
    let tables = if facts.private_tables { "private" } else { "shared" };
    let control = control.map_or_else(|| "none".into(), Path::to_string_lossy);
    diagnostic::write(
        Level::Debug,
        format_args!(
            "schedulers on CPUs {:?}; descriptor tables: {tables}; sandbox: {}; control socket: {control}",
            facts.cpus, facts.sandbox
        ),
    );
}

#[expect(clippy::disallowed_methods, reason = "read once at the start, outside any turn")]
fn unix_seconds() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn launch_schedulers(
    data: &Arc<SiteData>,
    threads: &mut Threads,
    (listeners, store): (listeners::DataListeners, Option<Store>),
    inherited: &listeners::Inherited,
    descriptors: u64,
) -> Result<(Launched, Watch), ServeError> {
    let config = &data.config;
    let share = ConnectionShare::new(config, threads.schedulers(), descriptors)
        .map_err(|share| ServeError::Descriptors { share })?;
    let plan = LaunchPlan {
        name: "velodrome",
        pinning: if config.pin { Pinning::EachToItsCpu } else { Pinning::None },
        tables: match config.descriptor_tables {
            DescriptorTables::Private => Tables::Private,
            DescriptorTables::Shared => Tables::Shared,
        },
        spread: match config.steering {
            Steering::Hash => ConnectionSpread::Hash,
            Steering::Cpu => ConnectionSpread::ReceivingCpu,
        },
        listeners: listeners.opened().to_vec(),
        settings: scheduler_settings(config, share),
        keep: inherited.descriptors(),
    };
    let bounds = SchedulerBounds {
        connections: plan.settings.connections,
        buffered_bytes: plan.settings.buffered_bytes,
    };
    let helpers = threads.helpers();
    let seats = threads.of_schedulers()?;
    let data = Arc::clone(data);
    let random = RandomState::new();
    let at_work: Arc<[Arc<AtWork>]> = seats.iter().map(|_| Arc::default()).collect();
    let shown = Arc::clone(&at_work);
    let resp = RespCounts::new(seats.len());
    let make = move |endpoint: Endpoint| {
        let unique = u128::from(random.hash_one(endpoint.0)) << 64
            | u128::from(random.hash_one(!endpoint.0));
        let mut site = Site::open(Arc::clone(&data), helpers.clone(), unique)?;
        site.join_schedulers(endpoint, random.hash_one("channels"));
        if let Some(store) = &store {
            site.open_store(store.clone());
        }
        site.show_at_work(Arc::clone(&shown[usize::from(endpoint.0)]));
        let log = helpers.log.map(|_| AccessLog::new(data.config.log.format.clone()));
        let mut service = Connections::new(site, &data, log);
        service.count_redis_clients(resp.at(endpoint));
        service.set_listeners(listeners.configured(endpoint));
        service.set_bounds(bounds, share);
        if let Some(setup) = &data.cluster {
            service.join_cluster(
                setup,
                endpoint,
                random.hash_one("cluster"),
                sys::clock::monotonic_ns() / 1_000_000,
            );
            let has_role = data.config.store.role.is_some();
            let writer = helpers.store.filter(|_| has_role && endpoint == StoreNode::LINK);
            writer.into_iter().for_each(|writer| service.carry_store_mail(writer));
        }
        Ok(service)
    };
    let launched = launch::launch(&plan, seats, make).map_err(ServeError::Launch)?;
    let watch = Watch::new(&launched.pulses, &at_work);
    Ok((launched, watch))
}

/// Launches the control scheduler, if it has a listener.
fn launch_control(
    data: &Arc<SiteData>,
    threads: &mut Threads,
    standing: &StartedServer,
    socket: Option<PathBuf>,
) -> Result<Option<Launched>, ServeError> {
    let admin = &data.config.admin;
    let configured = admin.socket.is_some() || admin.listen.is_some() || admin.metrics.is_some();
    let listeners = listeners::control(&data.config, socket.as_deref());
    if listeners.is_empty() {
        return Ok(None);
    }
    let (entrances, listeners) = listeners.into_iter().unzip();
    let keys = Arc::clone(&data.admin_keys.keys);
    let gate = Gate::new(entrances, keys, Arc::clone(&data.tls));
    let facts = Arc::new(standing.facts.clone());
    let peers = threads.peers_of_control();
    let seat = threads.control()?;
    let plan = LaunchPlan {
        name: "control",
        pinning: Pinning::None,
        tables: Tables::Shared,
        spread: ConnectionSpread::Hash,
        listeners,
        settings: SchedulerSettings {
            connections: limits::ADMIN_CONNECTIONS,
            spin_ns: 0,
            ..SchedulerSettings::default()
        },
        keep: Vec::new(),
    };
    let begun_with = Arc::clone(data);
    let make = move |_| {
        let (facts, data) = (Arc::clone(&facts), Arc::clone(&begun_with));
        let admin = Admin::new(facts, peers.clone(), gate.clone(), data);
        let http = Http::new(admin, Arc::new(http::HttpSettings::default()), None);
        Ok(BothVersions::new(http))
    };
    match launch::launch(&plan, vec![seat], make) {
        Ok(mut launched) => {
            launched.start();
            Ok(Some(launched))
        }
        Err(error) if configured => Err(ServeError::of_control(&data.config.admin, error)),
        Err(error) => {
            diagnostic::write(
                Level::Warn,
                format_args!("no control socket: {error}; name one with [admin] socket"),
            );
            Ok(None)
        }
    }
}
