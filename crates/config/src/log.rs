//! `[log]` and `[admin]`: what the operator sees of a running server.
//!
//! Owns the keys of these sections. Never opens a log or a socket.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use toml::de::DeValue;
use wire::access_log::LogFormat;

use crate::address::ListenerAddress;
use crate::item::Item;
use crate::key::{SectionKeys, section, show_duration, show_text};
use crate::limits::UNIX_PATH_SIZE_MAX;
use crate::listener_tls;
use crate::model::encryption::ListenerCertificates;
use crate::model::log::{AccessLogTarget, AdminSettings, LogLevel, LogMessages};
use crate::problem::Problems;
use crate::section::Section;
use crate::value::{borrowed_text, cannot_be, deadline_or, path, word};

/// Lines have no form if there are none.
const OF_LINES: [&str; 2] = ["format", "fields"];

const MESSAGES: [(&str, LogMessages); 3] =
    [("plain", LogMessages::Plain), ("timed", LogMessages::Timed), ("json", LogMessages::Json)];

const LEVELS: [(&str, LogLevel); 4] = [
    ("error", LogLevel::Error),
    ("warn", LogLevel::Warn),
    ("info", LogLevel::Info),
    ("debug", LogLevel::Debug),
];

pub(super) static LOG: SectionKeys = section! {
    "[log]";
    "access": set(
        log.access, "path of a file, `\"stdout\"`, `\"stderr\"` or `\"off\"`",
        |item, reading| access(item, reading.base)?,
        |value| Some(show_access(value)),
    ), default, Restart,
        "Where to write a line per request. Off by default, because it costs time and disk space and contains addresses of people. With a full disk, or if nobody reads a pipe, lines are lost and counted; requests are never delayed. A FIFO must have a reader at the start. A file in a served directory is refused unless [`hide`](#files) covers it, because everybody could read it.";
    "format": set(
        log.format, "`\"combined\"`, `\"json\"`, or a text with fields such as `$peer`",
        |item, _| format(item)?,
        |value| Some(show_text(value)),
    ), default, Restart,
        "The format of such a line. In a text, `$NAME` or `${NAME}` is the value of a [field](#fields-of-a-log-line), `-` if there is none, and `$$` a dollar sign.";
    "fields": own(
        "list of fields",
        |config, item, reading| {
            let names = item.list(reading.problems, word)?;
            if item.is_empty_list() {
                return Err("`fields` must not be empty".to_owned());
            }
            config.log.format = LogFormat::json_of(names.iter().map(String::as_str))
                .map_err(|error| format!("`fields`: {error}"))?;
            Ok(())
        },
        |_| None,
    ), "the usual ones", Restart,
        "The [fields](#fields-of-a-log-line) of a line in JSON, in this order. Only with `format = \"json\"`, which it implies.";
    "messages": choice(log.messages, MESSAGES, "`\"plain\"`, `\"timed\"` or `\"json\"`"), default, Live,
        "The form of the server's own messages: `\"plain\"` is `velodrome: LEVEL: ...`, for service managers, which add the time; `\"timed\"` has the time, too; `\"json\"` is an object with `time`, `level` and `message`.";
    "level": choice(log.level, LEVELS, "`\"error\"`, `\"warn\"`, `\"info\"` or `\"debug\"`"), default, Live,
        "The minimum level of the server's own messages, which go to standard error as `velodrome: LEVEL: ...`. `error`: something does not work; `warn`: something works worse than it could; `info`: reloads, drains and reopened logs; `debug`: signals and what was found at the start. Requests are in the access log. nginx's `notice` is `info` here, its `crit`, `alert` and `emerg` are `error`. The reason why a server does not start is printed at every level.";
    "slow_log": set(
        log.slow, "duration above zero, or `\"off\"`",
        |item, _| deadline_or(item, "off")?,
        |value| value.map_or_else(|| Some(show_text("off")), |slow| Some(show_duration(slow))),
    ), default, Live,
        "The time from which on a request is slow. It gets a message of level `warn` with its id, path, route and status, and where its time went: before a page or upstream began, running, waiting by what for, and the rest. [What the parts are](events.md#slow-requests). Off, it costs nothing.";
};

pub(super) static ADMIN: SectionKeys = section! {
    "[admin]";
    "socket": set(
        admin.socket, "path of a socket",
        |item, reading| Some(socket(item, reading.base)?),
        |value| value.as_ref().map(|path| show_text(path.display())),
    ), "named after the port, in `/run/velodrome` for root, else in `$XDG_RUNTIME_DIR/velodrome`", Restart,
        "The socket for `velodrome ctl`, which finds the default one by itself; name another with `--socket`.";
    "metrics": set(
        admin.metrics, "address and port",
        |item, _| Some(address(item, "metrics are served")?),
        |value| value.map(show_text),
    ), "none", Restart,
        "Serves [metrics](metrics.md) for Prometheus at `/metrics` on this address. There is no access control: do not expose it to the public.";
    "listen": set(
        admin.listen, "address and port",
        |item, _| Some(address(item, "the server is controlled")?),
        |value| value.map(show_text),
    ), "none", Restart,
        "Another way for [`velodrome ctl --url`](operations.md#from-another-machine), on this address, for programs with one of `keys`. The [dashboard](dashboard.md) and metrics are there, too.";
    "keys": path(admin.keys, "path of a file"), "must be given with `listen`", Restart,
        "The file with these keys: one of at least 32 bytes on each line. Whoever has one may do what `velodrome ctl` can.";
    "tls": set(
        admin.tls, "`{ certificate, key }`, or a list of those",
        |item, reading| Some(listener_tls::read(item, reading)?),
        |value| value.as_ref().and_then(listener_tls::show),
    ), "plain, which is for addresses of this machine only", Restart,
        "Encrypts `listen`, as `tls` of a [listener](#listener), also with HTTP/2 if a client chooses it in the handshake. Without `tls` it is HTTP/1.1. New files are noticed as those of listeners are.";
};

fn format(item: &Item<'_>) -> Result<LogFormat, String> {
    match borrowed_text(item, "\"combined\", \"json\" or a text with fields such as $peer")? {
        "combined" => Ok(LogFormat::Combined),
        "json" => Ok(LogFormat::json()),
        text if !text.contains('$') => {
            let why =
                "write \"combined\", \"json\", or a text with fields such as \"$peer $status\"";
            Err(cannot_be(item, text, why))
        }
        text => LogFormat::text(text).map_err(|error| cannot_be(item, text, &error.to_string())),
    }
}

fn access(item: &Item<'_>, base: &Path) -> Result<AccessLogTarget, String> {
    let text = borrowed_text(item, "a path, \"stdout\", \"stderr\" or \"off\" in quotes")?;
    Ok(match text {
        "off" => AccessLogTarget::Off,
        "stdout" => AccessLogTarget::Stdout,
        "stderr" => AccessLogTarget::Stderr,
        _ => AccessLogTarget::File(path(item, base)?),
    })
}

fn show_access(access: &AccessLogTarget) -> String {
    match access {
        AccessLogTarget::Off => show_text("off"),
        AccessLogTarget::Stdout => show_text("stdout"),
        AccessLogTarget::Stderr => show_text("stderr"),
        AccessLogTarget::File(path) => show_text(path.display()),
    }
}

fn socket(item: &Item<'_>, base: &Path) -> Result<PathBuf, String> {
    let path = path(item, base)?;
    if path.as_os_str().len() > UNIX_PATH_SIZE_MAX {
        return Err(format!("`socket` must be at most {UNIX_PATH_SIZE_MAX} bytes long"));
    }
    Ok(path)
}

fn address(item: &Item<'_>, what: &str) -> Result<SocketAddr, String> {
    let text = borrowed_text(item, "an address in quotes such as \"127.0.0.1:9090\"")?;
    match text.parse() {
        Ok(ListenerAddress::Tcp(address)) => Ok(address),
        Ok(_) => Err(cannot_be(item, text, &format!("{what} on an address and port only"))),
        Err(error) => Err(cannot_be(item, text, &error.to_string())),
    }
}

/// What says how lines look has no effect where none are written, and one form excludes another one.
pub(super) fn check_lines(section: &Section<'_>, problems: &mut Problems) {
    for item in OF_LINES.into_iter().filter_map(|key| section.item(key)) {
        if !section.has("access") {
            let why = "has no effect without `access`: the file of the access log, or \"stdout\"";
            problems.at(item.key_offset, format!("`{}` {why}", item.key));
        }
    }
    let is_json =
        |format: &Item<'_>| matches!(format.value, DeValue::String(text) if text == "json");
    if let (Some(fields), Some(format)) = (section.item("fields"), section.item("format"))
        && !is_json(&format)
    {
        problems
            .at(fields.key_offset, "`fields` has no effect beside another `format` than \"json\"");
    }
}

/// Clients that reach the control of a server over the network must need a key, and nobody on the way may read that.
pub(super) fn check_remote(section: &Section<'_>, admin: &AdminSettings, problems: &mut Problems) {
    let Some(listen) = admin.listen else {
        for key in ["keys", "tls"] {
            if let Some(item) = section.item(key) {
                problems.at(item.key_offset, format!("`{key}` of [admin] needs `listen`"));
            }
        }
        return;
    };
    let offset = section.item("listen").map_or(section.offset(), |item| item.key_offset);
    if admin.keys.is_none() {
        let why = "`listen` of [admin] needs `keys`: a file with the keys of those who may control the \
                   server";
        problems.at(offset, why);
    }
    match &admin.tls {
        None if !listen.ip().is_loopback() => {
            let why = "`listen` of [admin] needs `tls` at an address that other machines reach: keys would \
                       be sent in clear";
            problems.at(offset, why);
        }
        Some(tls) if tls.certificates == ListenerCertificates::Acme => {
            let why = "`tls` of [admin] takes certificates in files only; \"acme\" is for listeners of the \
                       site";
            problems.at(offset, why);
        }
        _ => {}
    }
}
