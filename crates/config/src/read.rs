//! The whole file: the keys of the top level, the order of reading, and what spans several sections.
//!
//! Owns the top level and the command line's precedence over it. Each section has a file of its own.

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use toml::de::DeTable;

use super::choice::choice;
use super::section::Section;
use super::value::{boolean, deadline, duration, path, shown, whole, word};
use super::{
    Address, Admin, Config, ConfigErrors, DescriptorTables, Listener, Overrides, Problems,
    Steering, field, files, host, keys, limit_keys, listener, log, pages,
};
use crate::limits::{CONFIG_SIZE_MAX, DRAIN_DEADLINE, SCHEDULERS_MAX, SPIN, SPIN_MAX};

/// Reads the text of a file; an empty text is the defaults.
pub(super) fn config(
    text: &str,
    file_name: &str,
    base: &Path,
    overrides: &Overrides,
) -> Result<Config, ConfigErrors> {
    if text.len() > CONFIG_SIZE_MAX {
        let mut problems = Problems::new(file_name, "");
        problems.at(0, format!("the file is longer than {CONFIG_SIZE_MAX} bytes"));
        return Err(problems.into_errors());
    }
    let mut problems = Problems::new(file_name, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    add_syntax(&errors, text, &mut problems);
    // What was recovered from a broken text is not what was written: no problems that only follow.
    if !problems.is_empty() {
        return Err(problems.into_errors());
    }
    let top = Section::new(&keys::TOP, document.get_ref(), 0, &mut problems);
    let config = read_top(&top, file_name, base, overrides, &mut problems);
    check_admin(&top, &config.listeners, &config.admin, &mut problems);
    problems.finish(config)
}

/// One problem for a line: what follows in it is mostly the parser's guess.
fn add_syntax(errors: &[toml::de::Error], text: &str, problems: &mut Problems) {
    let mut line = None;
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let place = problems.place(span.start);
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
    let root = top.read("root", problems, |item| path(item, base));
    let root = overrides.root.clone().or(root).or_else(|| overrides.directory.clone());
    let root = root.unwrap_or_else(|| base.to_path_buf());
    let files_section = top.section("files", &keys::FILES, problems);
    let (rules, file_cache) = files::read(files_section.as_ref(), &root, problems);
    let pages_section = top.section("pages", &keys::PAGES, problems);
    let limits_section = top.section("limits", &keys::LIMITS, problems);
    let log_section = top.section("log", &keys::LOG, problems);
    let admin_section = top.section("admin", &keys::ADMIN, problems);
    let hosts = host::read_all(top, &rules, base, problems);
    let default_host = host::read_default(top, rules, base, problems);
    let named_app =
        pages_section.as_ref().and_then(|section| pages::read_app(section, base, problems));
    let pages = pages::read(pages_section, base, overrides, problems);
    let routes = std::iter::once(&default_host).chain(&hosts).flat_map(|host| &host.routes);
    let app = pages::app_directory(named_app, &pages, base, routes, problems);
    let mut drain_deadline = DRAIN_DEADLINE;
    top.read_into("drain_deadline", &mut drain_deadline, problems, deadline);
    Config {
        file_name: file_name.to_owned(),
        schedulers: schedulers(top, overrides, problems),
        pin: overrides.pin.or(top.read("pin", problems, boolean)).unwrap_or(true),
        user: top.read("user", problems, word),
        spin: spin(top, overrides, problems),
        descriptor_tables: descriptor_tables(top, problems),
        drain_deadline,
        steering: steering(top, problems),
        listeners: listener::read(top, overrides, problems),
        hosts,
        default_host,
        headers: field::headers(top, problems),
        file_cache,
        media_types: files::media_types(top, problems),
        pages,
        app,
        limits: limit_keys::read(limits_section, problems),
        log: log::read(log_section, base, problems),
        admin: log::read_admin(admin_section, base, overrides, problems),
    }
}

fn schedulers(
    top: &Section<'_>,
    overrides: &Overrides,
    problems: &mut Problems,
) -> Option<NonZeroUsize> {
    let written = top.read("schedulers", problems, |item| {
        whole(item, 1..=SCHEDULERS_MAX).map_err(|message| match item.value.as_integer() {
            Some(zero) if zero.as_str() == "0" => {
                "`schedulers` cannot be 0; leave it out for one on each core".to_owned()
            }
            _ => message,
        })
    });
    let written = written.and_then(|number| usize::try_from(number).ok());
    if let Some(number) = overrides.schedulers
        && !(1..=SCHEDULERS_MAX).contains(&(number as u64))
    {
        problems.add(None, format!("--schedulers must be from 1 to {SCHEDULERS_MAX}"));
    }
    overrides.schedulers.or(written).and_then(NonZeroUsize::new)
}

fn spin(top: &Section<'_>, overrides: &Overrides, problems: &mut Problems) -> Duration {
    let message = |name: &str| format!("{name} must be at most {}us", SPIN_MAX.as_micros());
    let written = top.read("spin", problems, |item| {
        duration(item)
            .and_then(|spin| if spin <= SPIN_MAX { Ok(spin) } else { Err(message("`spin`")) })
    });
    if overrides.spin.is_some_and(|spin| spin > SPIN_MAX) {
        problems.add(None, message("--spin"));
    }
    overrides.spin.or(written).unwrap_or(SPIN)
}

fn descriptor_tables(top: &Section<'_>, problems: &mut Problems) -> DescriptorTables {
    let words = [("private", DescriptorTables::Private), ("shared", DescriptorTables::Shared)];
    top.read("descriptor_tables", problems, |item| choice(item, &words))
        .unwrap_or(DescriptorTables::Private)
}

fn steering(top: &Section<'_>, problems: &mut Problems) -> Steering {
    match top.read("reuseport_cpu", problems, boolean) {
        Some(true) => Steering::Cpu,
        _ => Steering::Hash,
    }
}

/// The admin's sockets must not be the listeners'.
fn check_admin(top: &Section<'_>, listeners: &[Listener], admin: &Admin, problems: &mut Problems) {
    for listener in listeners {
        let (key, taken) = match &listener.address {
            Address::Tcp(address) => (
                "metrics",
                admin
                    .metrics
                    .filter(|metrics| {
                        let covers = address.ip() == metrics.ip()
                            || address.ip().is_unspecified()
                            || metrics.ip().is_unspecified();
                        address.port() == metrics.port() && address.port() != 0 && covers
                    })
                    .map(|metrics| metrics.to_string()),
            ),
            Address::Unix(path) => (
                "socket",
                admin
                    .socket
                    .as_ref()
                    .filter(|socket| *socket == path)
                    .map(|socket| socket.display().to_string()),
            ),
            Address::Systemd(_) => continue,
        };
        let Some(taken) = taken else { continue };
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
