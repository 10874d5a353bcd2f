//! The keys of the top level.
//!
//! Owns their rows. `read` has the precedence of the command line.

use std::num::NonZeroUsize;
use std::time::Duration;

use wire::http::forwarded::ForwardingField;

use crate::access::ACCESS_OF_TOP;
use crate::choice::choice;
use crate::host::{HSTS, REDIRECT_TO_HTTPS};
use crate::item::Item;
use crate::key::{Reading, SectionKeys, section, show_text, show_texts};
use crate::limits::{BUSY_POLL_MAX, PROFILE_RING_MAX, SCHEDULERS_MAX, SPIN_MAX};
use crate::model::config::{Config, DescriptorTables, Steering};
use crate::peers;
use crate::value::{boolean, path, whole, word};

const DESCRIPTOR_TABLES: [(&str, DescriptorTables); 2] =
    [("private", DescriptorTables::Private), ("shared", DescriptorTables::Shared)];

const FORWARDING_FIELDS: [(&str, ForwardingField); 4] = [
    (ForwardingField::Forwarded.name(), ForwardingField::Forwarded),
    (ForwardingField::For.name(), ForwardingField::For),
    (ForwardingField::Proto.name(), ForwardingField::Proto),
    (ForwardingField::Host.name(), ForwardingField::Host),
];

pub(super) static TOP: SectionKeys = section! {
    "";
    "schedulers": own(
        "whole number, 1 to 1024",
        schedulers,
        |config| config.schedulers.map(|number| number.to_string()),
    ), "one for each core the process may use", Restart,
        "The number of schedulers. Each is a thread with its own sockets, connections and caches. More schedulers than cores cost CPU and gain nothing.";
    "pin": boolean(pin), default, Restart,
        "Binds each scheduler to one core. Turn it off if other busy programs share the cores.";
    "user": optional(user, word, "text"), "the user it was started as", Restart,
        "The user to switch to after all listeners are open. For servers started as root to use ports below 1024. What the server makes before belongs to that user, and what it opens again later is [tried as that user](operations.md#starting-as-root) at the start.";
    "spin": duration(spin, Duration::ZERO..=SPIN_MAX), default, Restart,
        "How long a scheduler polls for work before it sleeps. A longer time answers a few connections sooner and uses more of the core; `\"0us\"` turns polling off. An idle server sleeps in any case.";
    "busy_poll": duration(busy_poll, Duration::ZERO..=BUSY_POLL_MAX), default, Restart,
        "How long the kernel polls the network device for a waiting scheduler before it sleeps (Linux 6.9). This avoids interrupts if each scheduler has its own device queue, and uses more of the core. Loopback has no device to poll.";
    "profile_ring": duration(profile_ring, Duration::ZERO..=PROFILE_RING_MAX), default, Restart,
        "How much time the [continuous profile](profile.md#the-continuous-profile) of the server covers, such as `\"15m\"`: samples of what its threads do, in memory. `\"0s\"` keeps none.";
    "descriptor_tables": choice(descriptor_tables, DESCRIPTOR_TABLES, "`\"private\"` or `\"shared\"`"),
        default, Restart,
        "With `\"private\"`, each scheduler has its own table of open files, so the limit of open files applies per scheduler. If the kernel refuses, the table is shared.";
    "drain_deadline": deadline(drain_deadline), default, Reload,
        "How long running requests may take when the server stops or drains. After that they are closed.";
    "reuseport_cpu": set(
        steering, "true or false",
        |item, _| if boolean(item)? { Steering::Cpu } else { Steering::Hash },
        |value| Some((*value == Steering::Cpu).to_string()),
    ), default, Restart,
        "Assigns a new connection to the scheduler of the core that received it. Useful if the queues of the network device are bound to cores; otherwise the load becomes uneven.";
    "include": apart("path of a file, or a list of them"), "none", Reload,
        "Other files that are part of this configuration, at most 256: `\"conf.d/*.toml\"` are those in alphabetical order, and none is no mistake. See [several files](#several-files).";
    "trusted_proxies": list(trusted_proxies, peers::read, "list of networks, and `\"unix\"`"), default, Reload,
        "The proxies in front of this server, which say who their clients are: see [behind a proxy](proxies.md). `\"unix\"` means those that connect to a Unix socket. The fields `Forwarded`, `X-Forwarded-*` and `X-Real-IP` of all other clients are removed.";
    "trusted_fields": set(
        trusted_fields, "list of `\"forwarded\"`, `\"x-forwarded-for\"`, `\"x-forwarded-proto\"` and \
                        `\"x-forwarded-host\"`",
        |item, reading| item.list(reading.problems, |item| choice(item, &FORWARDING_FIELDS))?,
        |value| Some(show_texts(value.iter().map(|field| field.name()))),
    ), default, Reload,
        "The fields that these proxies set. Name only those: most proxies pass on the others as a stranger sent them. Fields that are left out of the list are removed from their requests, too.";
    "root": set(
        default_host.files.root, "path of a directory",
        |item, reading| path(item, reading.base)?,
        |value| Some(show_text(value.display())),
    ), "the directory of the command", Reload,
        "The directory that the default host serves.";
    "listener": section("sections `[[listener]]`"), "`127.0.0.1:8080`", Reload,
        "The addresses to listen on.";
    "acme": section("section `[acme]`"), "nothing is ordered", Reload,
        "Certificates that the server orders itself.";
    "host": section("sections `[[host]]`"), "none", Reload,
        "Virtual hosts.";
    "route": section("sections `[[route]]`"), "none", Reload,
        "The routes of the default host.";
    "headers": section("table of fields"), "none", Reload,
        "Header fields added to every answer of every host: `[headers]` with lines such as `X-Frame-Options = \"DENY\"`. A field of the same name from a host, a route, a page or a module replaces it (except `Set-Cookie`). Requests that are refused before their route is known (400, 408, 414, 431, 501, 505, and 405 for TRACE and CONNECT), or while their body arrives (413 for a chunked body that is too large), get none of them.";
    "error_pages": section("table of paths"), "built-in texts", Reload,
        "Files of the default host to send with a status from 400 to 599: `[error_pages]` with lines such as `404 = \"/404.html\"`. The file is sent unchanged; a [page](pages.md) with code is refused. If the file does not exist, the built-in text is sent.";
    const REDIRECT_TO_HTTPS;
    const HSTS;
    const ACCESS_OF_TOP;
    "limit": section("sections `[[limit]]`"), "none", Reload,
        "How often, how much and how many at once each client may.";
    "files": section("section `[files]`"), "see below", Reload,
        "How files are served.";
    "mime": section("table of media types"), "the usual ones", Reload,
        "The Content-Type by extension: `[mime]` with lines such as `log = \"text/plain; charset=utf-8\"`.";
    "countries": path(countries, "path of a file"), "none", Reload,
        "The file with the countries of networks, for `country` in [`route.when`](#routewhen): rows `network,country` (`\"192.0.2.0/24,DE\"`) or `first,last,country`; of nested networks the smallest decides. It is read at the start and with each reload.";
    "pages": section("section `[pages]`"), "see below", Reload,
        "Pages with code.";
    "channel": section("sections `[[channel]]`"), "none", Reload,
        "The [channels](channels.md) that clients may use.";
    "channels": section("section `[channels]`"), "see below", Reload,
        "Settings for all channels.";
    "cluster": section("section `[cluster]`"), "channels are those of this server", Restart,
        "Other servers with the same channels.";
    "store": section("section `[store]`"), "no store", Reload,
        "The [key/value store](store.md).";
    "database": section("sections `[[database]]`"), "none", Reload,
        "Access of clients to the databases of the store.";
    "process": section("sections `[[process]]`"), "none", Reload,
        "[Background processes](modules.md#background-processes), which run without a request.";
    "upstream": section("sections `[[upstream]]`"), "none", Reload,
        "[Other servers](proxy.md) that answer requests.";
    "maintenance": section("section `[maintenance]`"), "see below", Reload,
        "What clients get while the site is maintained.";
    "limits": section("section `[limits]`"), "see below", Reload,
        "Limits and deadlines.";
    "log": section("section `[log]`"), "see below", Reload,
        "What is logged.";
    "trace": section("section `[trace]`"), "see below", Restart,
        "A collector that is told of requests.";
    "admin": section("section `[admin]`"), "see below", Reload,
        "The control socket and the metrics.";
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
