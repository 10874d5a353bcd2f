//! The log of a Caddyfile.
//!
//! Owns its options. Never knows sites.

use crate::directive::Directive;
use crate::section::Section;
use crate::word::quoted;

/// `log { output file PATH; format json }`.
pub(super) fn read(line: &Directive, log: &mut Section) {
    if log.get("access").is_none() {
        log.set("access", quoted("stderr"));
        log.set("format", quoted("json"));
    }
    for inner in line.inner() {
        match (inner.name(), inner.arguments()) {
            ("output", [kind]) if kind == "stdout" || kind == "stderr" => {
                log.set("access", quoted(kind));
            }
            ("output", [kind]) if kind == "discard" => log.set("access", quoted("off")),
            ("output", [kind, path, ..]) if kind == "file" => {
                log.set("access", quoted(path));
                if inner.has_block() {
                    log.note(inner.told("files are not rolled: use logrotate and the signal USR1"));
                }
            }
            ("format", [kind, ..]) if kind == "json" => {}
            ("level", [level])
                if matches!(&*level.to_ascii_lowercase(), "debug" | "info" | "warn" | "error") =>
            {
                log.set("level", quoted(&level.to_ascii_lowercase()));
            }
            _ => log.note(inner.unknown()),
        }
    }
}
