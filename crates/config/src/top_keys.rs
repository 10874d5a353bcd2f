//! The keys of the top level.
//!
//! Owns their rows. `read` has the precedence of the command line.

use std::num::NonZeroUsize;
use std::time::Duration;

use wire::http::forwarded::ForwardingField;

use super::access::ACCESS_OF_TOP;
use super::choice::choice;
use super::host::{HSTS, REDIRECT_TO_HTTPS};
use super::item::Item;
use super::key::{
    Absent, ChangeEffect, ConfigKey, Reading, SectionKeys, Value, show_choice, show_text,
    show_texts,
};
use super::peers;
use super::value::{boolean, path, whole, word};
use super::{Config, DescriptorTables, Steering};
use crate::limits::{BUSY_POLL_MAX, PROFILE_RING_MAX, SCHEDULERS_MAX, SPIN_MAX};

const DESCRIPTOR_TABLES: [(&str, DescriptorTables); 2] =
    [("private", DescriptorTables::Private), ("shared", DescriptorTables::Shared)];

const FORWARDING_FIELDS: [(&str, ForwardingField); 4] = [
    (ForwardingField::Forwarded.name(), ForwardingField::Forwarded),
    (ForwardingField::For.name(), ForwardingField::For),
    (ForwardingField::Proto.name(), ForwardingField::Proto),
    (ForwardingField::Host.name(), ForwardingField::Host),
];

pub(super) static TOP: SectionKeys = SectionKeys {
    name: "",
    own: &[
        ConfigKey {
            name: "schedulers",
            value: Value::Own {
                takes: "whole number, 1 to 1024",
                read: schedulers,
                show: |config| config.schedulers.map(|number| number.to_string()),
            },
            absent: Absent::Words("one for each core the process may use"),
            change: ChangeEffect::Restart,
            text: "The number of schedulers. Each is a thread with its own sockets, connections and caches. More schedulers than cores cost CPU and gain nothing.",
        },
        ConfigKey {
            name: "pin",
            value: Value::Boolean(|config| &mut config.pin),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "Binds each scheduler to one core. Turn it off if other busy programs share the cores.",
        },
        ConfigKey {
            name: "user",
            value: Value::Own {
                takes: "text",
                read: |config, item, _| {
                    config.user = Some(word(item)?);
                    Ok(())
                },
                show: |config| config.user.as_ref().map(show_text),
            },
            absent: Absent::Words("the user it was started as"),
            change: ChangeEffect::Restart,
            text: "The user to switch to after all listeners are open. For servers started as root to use ports below 1024. What the server makes before belongs to that user, and what it opens again later is [tried as that user](operations.md#starting-as-root) at the start.",
        },
        ConfigKey {
            name: "spin",
            value: Value::Duration(|config| &mut config.spin, Duration::ZERO..=SPIN_MAX),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "How long a scheduler polls for work before it sleeps. A longer time answers a few connections sooner and uses more of the core; `\"0us\"` turns polling off. An idle server sleeps in any case.",
        },
        ConfigKey {
            name: "busy_poll",
            value: Value::Duration(|config| &mut config.busy_poll, Duration::ZERO..=BUSY_POLL_MAX),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "How long the kernel polls the network device for a waiting scheduler before it sleeps (Linux 6.9). This avoids interrupts if each scheduler has its own device queue, and uses more of the core. Loopback has no device to poll.",
        },
        ConfigKey {
            name: "profile_ring",
            value: Value::Duration(
                |config| &mut config.profile_ring,
                Duration::ZERO..=PROFILE_RING_MAX,
            ),
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "How much time the [continuous profile](profile.md#the-continuous-profile) of the server covers, such as `\"15m\"`: samples of what its threads do, in memory. `\"0s\"` keeps none.",
        },
        ConfigKey {
            name: "descriptor_tables",
            value: Value::Own {
                takes: "`\"private\"` or `\"shared\"`",
                read: |config, item, _| {
                    config.descriptor_tables = choice(item, &DESCRIPTOR_TABLES)?;
                    Ok(())
                },
                show: |config| show_choice(&DESCRIPTOR_TABLES, &config.descriptor_tables),
            },
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "With `\"private\"`, each scheduler has its own table of open files, so the limit of open files applies per scheduler. If the kernel refuses, the table is shared.",
        },
        ConfigKey {
            name: "drain_deadline",
            value: Value::Deadline(|config| &mut config.drain_deadline),
            absent: Absent::Default,
            change: ChangeEffect::Reload,
            text: "How long running requests may take when the server stops or drains. After that they are closed.",
        },
        ConfigKey {
            name: "reuseport_cpu",
            value: Value::Own {
                takes: "true or false",
                read: |config, item, _| {
                    config.steering = if boolean(item)? { Steering::Cpu } else { Steering::Hash };
                    Ok(())
                },
                show: |config| Some((config.steering == Steering::Cpu).to_string()),
            },
            absent: Absent::Default,
            change: ChangeEffect::Restart,
            text: "Assigns a new connection to the scheduler of the core that received it. Useful if the queues of the network device are bound to cores; otherwise the load becomes uneven.",
        },
        ConfigKey {
            name: "include",
            value: Value::Apart { takes: "path of a file, or a list of them" },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "Other files that are part of this configuration, at most 256: `\"conf.d/*.toml\"` are those in alphabetical order, and none is no mistake. See [several files](#several-files).",
        },
        ConfigKey {
            name: "trusted_proxies",
            value: Value::Own {
                takes: "list of networks, and `\"unix\"`",
                read: |config, item, reading| {
                    config.trusted_proxies = item.list(reading.problems, peers::read)?;
                    Ok(())
                },
                show: |config| Some(show_texts(&config.trusted_proxies)),
            },
            absent: Absent::Default,
            change: ChangeEffect::Reload,
            text: "The proxies in front of this server, which say who their clients are: see [behind a proxy](proxies.md). `\"unix\"` means those that connect to a Unix socket. The fields `Forwarded`, `X-Forwarded-*` and `X-Real-IP` of all other clients are removed.",
        },
        ConfigKey {
            name: "trusted_fields",
            value: Value::Own {
                takes: "list of `\"forwarded\"`, `\"x-forwarded-for\"`, `\"x-forwarded-proto\"` and \
                        `\"x-forwarded-host\"`",
                read: |config, item, reading| {
                    config.trusted_fields =
                        item.list(reading.problems, |item| choice(item, &FORWARDING_FIELDS))?;
                    Ok(())
                },
                show: |config| {
                    Some(show_texts(config.trusted_fields.iter().map(|field| field.name())))
                },
            },
            absent: Absent::Default,
            change: ChangeEffect::Reload,
            text: "The fields that these proxies set. Name only those: most proxies pass on the others as a stranger sent them. Fields that are left out of the list are removed from their requests, too.",
        },
        ConfigKey {
            name: "root",
            value: Value::Own {
                takes: "path of a directory",
                read: |config, item, reading| {
                    config.default_host.files.root = path(item, reading.base)?;
                    Ok(())
                },
                show: |config| Some(show_text(config.default_host.files.root.display())),
            },
            absent: Absent::Words("the directory of the command"),
            change: ChangeEffect::Reload,
            text: "The directory that the default host serves.",
        },
        ConfigKey {
            name: "listener",
            value: Value::Section { takes: "sections `[[listener]]`" },
            absent: Absent::Words("`127.0.0.1:8080`"),
            change: ChangeEffect::Reload,
            text: "The addresses to listen on.",
        },
        ConfigKey {
            name: "acme",
            value: Value::Section { takes: "section `[acme]`" },
            absent: Absent::Words("nothing is ordered"),
            change: ChangeEffect::Reload,
            text: "Certificates that the server orders itself.",
        },
        ConfigKey {
            name: "host",
            value: Value::Section { takes: "sections `[[host]]`" },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "Virtual hosts.",
        },
        ConfigKey {
            name: "route",
            value: Value::Section { takes: "sections `[[route]]`" },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "The routes of the default host.",
        },
        ConfigKey {
            name: "headers",
            value: Value::Section { takes: "table of fields" },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "Header fields added to every answer of every host: `[headers]` with lines such as `X-Frame-Options = \"DENY\"`. A field of the same name from a host, a route, a page or a module replaces it (except `Set-Cookie`). Requests that are refused before their route is known (400, 408, 414, 431, 501, 505, and 405 for TRACE and CONNECT), or while their body arrives (413 for a chunked body that is too large), get none of them.",
        },
        ConfigKey {
            name: "error_pages",
            value: Value::Section { takes: "table of paths" },
            absent: Absent::Words("built-in texts"),
            change: ChangeEffect::Reload,
            text: "Files of the default host to send with a status from 400 to 599: `[error_pages]` with lines such as `404 = \"/404.html\"`. The file is sent unchanged; a [page](pages.md) with code is refused. If the file does not exist, the built-in text is sent.",
        },
        REDIRECT_TO_HTTPS,
        HSTS,
        ACCESS_OF_TOP,
        ConfigKey {
            name: "limit",
            value: Value::Section { takes: "sections `[[limit]]`" },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "How often, how much and how many at once each client may.",
        },
        ConfigKey {
            name: "files",
            value: Value::Section { takes: "section `[files]`" },
            absent: Absent::Words("see below"),
            change: ChangeEffect::Reload,
            text: "How files are served.",
        },
        ConfigKey {
            name: "mime",
            value: Value::Section { takes: "table of media types" },
            absent: Absent::Words("the usual ones"),
            change: ChangeEffect::Reload,
            text: "The Content-Type by extension: `[mime]` with lines such as `log = \"text/plain; charset=utf-8\"`.",
        },
        ConfigKey {
            name: "countries",
            value: Value::Own {
                takes: "path of a file",
                read: |config, item, reading| {
                    config.countries = Some(path(item, reading.base)?);
                    Ok(())
                },
                show: |config| config.countries.as_ref().map(|file| show_text(file.display())),
            },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "The file with the countries of networks, for `country` in [`route.when`](#routewhen): rows `network,country` (`\"192.0.2.0/24,DE\"`) or `first,last,country`; of nested networks the smallest decides. It is read at the start and with each reload.",
        },
        ConfigKey {
            name: "pages",
            value: Value::Section { takes: "section `[pages]`" },
            absent: Absent::Words("see below"),
            change: ChangeEffect::Reload,
            text: "Pages with code.",
        },
        ConfigKey {
            name: "channel",
            value: Value::Section { takes: "sections `[[channel]]`" },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "The [channels](channels.md) that clients may use.",
        },
        ConfigKey {
            name: "channels",
            value: Value::Section { takes: "section `[channels]`" },
            absent: Absent::Words("see below"),
            change: ChangeEffect::Reload,
            text: "Settings for all channels.",
        },
        ConfigKey {
            name: "cluster",
            value: Value::Section { takes: "section `[cluster]`" },
            absent: Absent::Words("channels are those of this server"),
            change: ChangeEffect::Restart,
            text: "Other servers with the same channels.",
        },
        ConfigKey {
            name: "store",
            value: Value::Section { takes: "section `[store]`" },
            absent: Absent::Words("no store"),
            change: ChangeEffect::Reload,
            text: "The [key/value store](store.md).",
        },
        ConfigKey {
            name: "database",
            value: Value::Section { takes: "sections `[[database]]`" },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "Access of clients to the databases of the store.",
        },
        ConfigKey {
            name: "process",
            value: Value::Section { takes: "sections `[[process]]`" },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "[Background processes](modules.md#background-processes), which run without a request.",
        },
        ConfigKey {
            name: "upstream",
            value: Value::Section { takes: "sections `[[upstream]]`" },
            absent: Absent::Words("none"),
            change: ChangeEffect::Reload,
            text: "[Other servers](proxy.md) that answer requests.",
        },
        ConfigKey {
            name: "maintenance",
            value: Value::Section { takes: "section `[maintenance]`" },
            absent: Absent::Words("see below"),
            change: ChangeEffect::Reload,
            text: "What clients get while the site is maintained.",
        },
        ConfigKey {
            name: "limits",
            value: Value::Section { takes: "section `[limits]`" },
            absent: Absent::Words("see below"),
            change: ChangeEffect::Reload,
            text: "Limits and deadlines.",
        },
        ConfigKey {
            name: "log",
            value: Value::Section { takes: "section `[log]`" },
            absent: Absent::Words("see below"),
            change: ChangeEffect::Reload,
            text: "What is logged.",
        },
        ConfigKey {
            name: "trace",
            value: Value::Section { takes: "section `[trace]`" },
            absent: Absent::Words("see below"),
            change: ChangeEffect::Restart,
            text: "A collector that is told of requests.",
        },
        ConfigKey {
            name: "admin",
            value: Value::Section { takes: "section `[admin]`" },
            absent: Absent::Words("see below"),
            change: ChangeEffect::Reload,
            text: "The control socket and the metrics.",
        },
    ],
    shared: &[],
    shared_in: "",
};

fn schedulers(config: &mut Config, item: &Item<'_>, _: &mut Reading<'_>) -> Result<(), String> {
    let number =
        whole(item, 1..=SCHEDULERS_MAX).map_err(|message| match item.value.as_integer() {
            Some(zero) if zero.as_str() == "0" => {
                "`schedulers` cannot be 0; leave it out for one on each core".to_owned()
            }
            _ => message,
        })?;
    config.schedulers = usize::try_from(number).ok().and_then(NonZeroUsize::new);
    Ok(())
}
