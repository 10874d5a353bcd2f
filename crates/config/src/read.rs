//! The whole file: the keys of the top level, the order of reading, and checks across sections.
//!
//! Owns the order in which sections are read, and the precedence of the command line. Each section
//! has its own file.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;

use toml::de::DeTable;

use crate::acme::ACME;
use crate::address::ListenerAddress;
use crate::channel_settings::CHANNELS;
use crate::cluster::CLUSTER;
use crate::files::FILES;
use crate::limit_keys::LIMITS;
use crate::limits::{BUSY_POLL_MAX, CONFIG_SIZE_MAX, PROFILE_RING_MAX, SCHEDULERS_MAX, SPIN_MAX};
use crate::log::{ADMIN, LOG, check_lines, check_remote};
use crate::maintenance::MAINTENANCE;
use crate::model::acme::AcmeState;
use crate::model::config::{Config, ListenerSettings};
use crate::model::log::AdminSettings;
use crate::model::page_choices::PageSessions;
use crate::outside::{Nothing, Outside};
use crate::overrides::Overrides;
use crate::pages::PAGES;
use crate::problem::{ConfigErrors, FileNames, Problems};
use crate::section::Section;
use crate::settle::Settling;
use crate::sources::{PartFile, Sources};
use crate::store::STORE;
use crate::top_keys::TOP;
use crate::trace::{TRACE, check_collector};
use crate::wording::shown;
use crate::{
    access, acme, channels, cluster, field, files, host, keys, limit_keys, limits, listener,
    maintenance, maps, named_modules, pages, processes, proxy_route, quotas, sources, store,
    upstream, when,
};

/// The file that is searched in the served directory.
pub const FILE_NAME: &str = "velodrome.toml";

impl Config {
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
        config(text, file_name, base_directory, overrides, outside)
    }

    /// The configuration of `velodrome serve DIRECTORY` without a file: the defaults with `overrides`.
    ///
    /// # Errors
    ///
    /// The problems of the overrides.
    pub fn without_file(directory: &Path, overrides: &Overrides) -> Result<Self, ConfigErrors> {
        config("", "command line", directory, overrides, &Nothing)
    }
}

/// Reads the text of a file; an empty text gives the defaults.
pub(super) fn config(
    text: &str,
    file_name: &str,
    base: &Path,
    overrides: &Overrides,
    outside: &dyn Outside,
) -> Result<Config, ConfigErrors> {
    let names = FileNames::of_main(file_name);
    if text.len() > CONFIG_SIZE_MAX {
        let mut problems = Problems::new(names, "");
        problems.at(0, format!("the file is longer than {CONFIG_SIZE_MAX} bytes"));
        return Err(problems.into_errors());
    }
    let mut problems = Problems::new(names, text).knowing(keys::setting);
    let document = parse(text, 0, &mut problems);
    let mut sources = Sources::new(base, outside);
    sources.read_included(&document, &mut problems);
    let mut settling = Settling::new(base, outside);
    let mut document = settling.file(document, 0, &mut problems);
    for (text, at) in sources.included() {
        let table = parse(text, at, &mut problems);
        let table = settling.file(table, at, &mut problems);
        sources::add(&mut document, table, &mut problems);
    }
    // The parser guesses the rest of an invalid text, so further problems would mislead.
    if !problems.is_empty() {
        return Err(problems.into_errors());
    }
    let top = Section::new(&TOP, &document, 0, keys::unknown, &mut problems);
    let mut config = read_top(&top, file_name, base, overrides, &mut problems);
    let secrets = settling.into_secrets();
    let of_secret = |path: &Path| PartFile { what: "file of a secret", path: path.to_path_buf() };
    let parts = sources.parts().iter().cloned().chain(secrets.files().map(of_secret));
    config.parts = parts.collect();
    config.secrets = secrets;
    config.files = problems.names().clone();
    maps::load(&top, &mut config, outside, &mut problems);
    check_admin(&top, &config.listeners, &config.admin, &mut problems);
    problems.finish(config)
}

/// The table of a text whose positions begin at `base`.
fn parse<'t>(text: &'t str, base: usize, problems: &mut Problems) -> DeTable<'t> {
    let (document, errors) = DeTable::parse_recoverable(text);
    add_syntax(&errors, text, base, problems);
    document.into_inner()
}

/// One problem per line, because further ones are mostly guesses of the parser.
fn add_syntax(errors: &[toml::de::Error], text: &str, base: usize, problems: &mut Problems) {
    let mut line = None;
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let place = problems.place(base + span.start);
        if line.replace(place.line) == Some(place.line) {
            continue;
        }
        let message = match (error.message(), text.get(span)) {
            ("duplicate key", Some(key)) => format!("the key `{}` is there twice", shown(key)),
            (message, _) => shown(message),
        };
        problems.add(Some(place), message);
    }
}

fn read_top(
    top: &Section<'_>,
    file_name: &str,
    base: &Path,
    overrides: &Overrides,
    problems: &mut Problems,
) -> Config {
    let root = overrides.directory.as_deref().unwrap_or(base);
    let mut config = Config::defaults(file_name, root);
    config.app.path = base.join(limits::APP_DIRECTORY);
    top.apply(&mut config, base, problems);
    if let (Some(item), false) = (top.item("trusted_fields"), top.has("trusted_proxies")) {
        problems.at(item.key_offset, "`trusted_fields` has no effect without `trusted_proxies`");
    }
    read_sections(top, &mut config, base, problems);
    config.channels = channels::read(top, &config.channel_settings.keys, base, problems);
    config.databases =
        store::read_databases(top, &config.store, &config.channel_settings.keys, base, problems);
    config.processes = processes::read(top, problems);
    config.quotas = quotas::read_all(top, problems);
    let so_far = problems.len();
    config.upstreams = upstream::read(top, base, problems);
    config.listeners =
        listener::read(top, overrides, &config.channel_settings.keys, base, problems);
    // One that is not there because of a mistake in it is not missed.
    let all_named = problems.len() == so_far;
    let offset = top.item("acme").map(|item| item.key_offset);
    acme::check(offset, &config, overrides, problems);
    cluster::check(top.item("cluster").as_ref(), &config, problems);
    config.headers = field::headers(top, problems);
    config.media_types = files::media_types(top, problems);
    lay_over(overrides, &mut config, problems);
    config.default_host = host::read_default(top, config.default_host.files, base, problems);
    config.hosts = host::read_all(top, &config.default_host, base, problems);
    host::check_redirects(top, &config, overrides, problems);
    named_modules::check(&mut config, problems);
    let offset = top.item("access").map(|item| item.key_offset);
    access::check(offset, &config, problems);
    if all_named {
        proxy_route::check(&config, problems);
        when::check(&config, overrides, problems);
    }
    config
}

/// Reads the sections that occur at most once.
fn read_sections(top: &Section<'_>, config: &mut Config, base: &Path, problems: &mut Problems) {
    if let Some(section) = top.section("files", &FILES, problems) {
        section.apply(config, base, problems);
        config.default_host.files.cache_control = files::cache_rules(&section, problems);
    }
    if let Some(section) = top.section("pages", &PAGES, problems) {
        section.apply(config, base, problems);
        pages::check(&section, &mut config.pages, problems);
    }
    if let Some(section) = top.section("limits", &LIMITS, problems) {
        section.apply(config, base, problems);
        limit_keys::fit_parts(&section, &mut config.limits, problems);
    }
    if let Some(section) = top.section("maintenance", &MAINTENANCE, problems) {
        section.apply(config, base, problems);
        config.maintenance.allow = maintenance::allow(&section, problems);
    }
    for (key, keys) in [
        ("channels", &CHANNELS),
        ("cluster", &CLUSTER),
        ("store", &STORE),
        ("log", &LOG),
        ("trace", &TRACE),
        ("admin", &ADMIN),
        ("acme", &ACME),
    ] {
        if let Some(section) = top.section(key, keys, problems) {
            section.apply(config, base, problems);
            match key {
                "admin" => check_remote(&section, &config.admin, problems),
                "trace" => check_collector(&section, problems),
                "log" => check_lines(&section, problems),
                _ => {}
            }
        }
    }
}

/// The command line takes precedence over the file.
fn lay_over(overrides: &Overrides, config: &mut Config, problems: &mut Problems) {
    if let Some(number) = overrides.schedulers {
        if !(1..=SCHEDULERS_MAX).contains(&(number as u64)) {
            problems.add(None, format!("--schedulers must be from 1 to {SCHEDULERS_MAX}"));
        }
        config.schedulers = NonZeroUsize::new(number);
    }
    if let Some(spin) = overrides.spin {
        if spin > SPIN_MAX {
            problems.add(None, format!("--spin must be at most {}us", SPIN_MAX.as_micros()));
        }
        config.spin = spin;
    }
    if let Some(time) = overrides.busy_poll {
        if time > BUSY_POLL_MAX {
            problems
                .add(None, format!("--busy-poll must be at most {}us", BUSY_POLL_MAX.as_micros()));
        }
        config.busy_poll = time;
    }
    if let Some(time) = overrides.profile_ring {
        if time > PROFILE_RING_MAX {
            let most = PROFILE_RING_MAX.as_secs() / 60;
            problems.add(None, format!("--profile-ring must be at most {most}m"));
        }
        config.profile_ring = time;
    }
    config.pin = overrides.pin.unwrap_or(config.pin);
    config.descriptor_tables = overrides.descriptor_tables.unwrap_or(config.descriptor_tables);
    config.steering = overrides.steering.unwrap_or(config.steering);
    if let Some(time) = overrides.defer_accept {
        if !listener::is_defer_accept(time) {
            problems.add(None, "--defer-accept must be whole seconds, from 0 to 3600".to_owned());
        }
        for listener in &mut config.listeners {
            if matches!(listener.address, ListenerAddress::Tcp(_)) {
                listener.defer_accept = time;
            }
        }
    }
    config.pages.errors = overrides.page_errors;
    if let Some(root) = &overrides.root {
        config.default_host.files.root.clone_from(root);
    }
    if let Some(directory) = &overrides.store {
        config.store.path = Some(directory.clone());
    }
    if config.pages.sessions == PageSessions::Store && config.store.path.is_none() {
        let why = "`sessions = \"store\"` in [pages] needs a store: add `path` to [store], or say --store \
                   DIRECTORY";
        problems.add(None, why);
    }
    store::check_role(config, problems);
    processes::check_reach(config, problems);
    if config.acme.state == AcmeState::Store && config.store.path.is_none() {
        let why = "`state = \"store\"` in [acme] needs a store: add `path` to [store], or say --store \
                   DIRECTORY; a directory of that name is \"./store\"";
        problems.add(None, why.to_owned());
    }
    if let Some(socket) = &overrides.admin_socket {
        config.admin.socket = Some(socket.clone());
    }
}

/// The admin's sockets must not be the listeners'.
fn check_admin(
    top: &Section<'_>,
    listeners: &[ListenerSettings],
    admin: &AdminSettings,
    problems: &mut Problems,
) {
    let addresses = [("metrics", admin.metrics), ("listen", admin.listen)];
    for listener in listeners {
        let taken = match &listener.address {
            ListenerAddress::Tcp(address) => addresses.iter().find_map(|(key, of_admin)| {
                let of_admin = of_admin.filter(|of_admin| do_meet(*address, *of_admin))?;
                Some((*key, of_admin.to_string()))
            }),
            ListenerAddress::Unix(path) => {
                let socket = admin.socket.as_ref().filter(|socket| *socket == path);
                socket.map(|socket| ("socket", socket.display().to_string()))
            }
            ListenerAddress::Systemd(_) => continue,
        };
        let Some((key, taken)) = taken else { continue };
        let offset = top.item("admin").map(|item| item.key_offset);
        let place = offset.map(|offset| problems.place(offset));
        problems.add(
            place,
            format!(
                "`{key}` of [admin] cannot be \"{taken}\": the listener `{}` takes it",
                listener.address
            ),
        );
    }
}

/// Whether one of two addresses takes the other.
fn do_meet(one: SocketAddr, other: SocketAddr) -> bool {
    let covers = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() == other.port() && one.port() != 0 && covers
}
