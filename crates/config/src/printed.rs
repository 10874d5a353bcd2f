//! The rows of keys as text: the commented file of `velodrome check --defaults`, and the tables of
//! docs/configuration.md.
//!
//! Owns the layout. Never knows a key.

use std::fmt::Write as _;
use std::path::Path;

use crate::key::{Absent, ChangeEffect, ConfigKey, SectionKeys};
use crate::keys::SECTIONS;
use crate::model::config::Config;

/// Columns of a comment line.
const COLUMNS: usize = 100;

/// A file with every key, its documentation and its default, all commented out: it is equivalent to no file.
pub fn defaults() -> String {
    let mut out = String::from(
        "# velodrome.toml with every key. Each line is commented out and shows the default.\n\
         # Keys of the top level stand before the first section.\n",
    );
    let mut config = Config::defaults("", Path::new("."));
    for section in SECTIONS {
        match section.name {
            "" => {}
            name if name.starts_with('[') => out.push_str(&format!("\n#{name}\n")),
            name => out.push_str(&format!("\n#[{name}]\n")),
        }
        for key in section.documented().filter(|key| !key.is_section()) {
            comment(&mut out, key);
            let _ = match (&key.absent, key.show(&mut config)) {
                (Absent::Default, Some(value)) => writeln!(out, "#{} = {value}", key.name),
                _ => writeln!(out, "#{} =", key.name),
            };
        }
    }
    out
}

/// The documentation of a key as lines of comment.
fn comment(out: &mut String, key: &ConfigKey) {
    out.push('\n');
    let mut text = format!("{}. {}", key.takes(), without_links(key.text));
    if let Absent::Words(words) = key.absent {
        let _ = write!(text, " Default: {}.", without_links(words));
    }
    if key.change == ChangeEffect::Restart {
        text.push_str(" Takes effect with a restart.");
    }
    let mut width = COLUMNS;
    for word in text.split(' ') {
        if width + word.len() + 1 > COLUMNS {
            out.push_str(if width == COLUMNS && out.ends_with('\n') { "#" } else { "\n#" });
            width = 1;
        }
        out.push(' ');
        out.push_str(word);
        width += word.len() + 1;
    }
    out.push('\n');
}

/// Replaces Markdown's `[text](target)` by its text.
pub(super) fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((start, link)) = before.rsplit_once('[') else { break };
        let Some((_, behind)) = after.split_once(')') else { break };
        out.push_str(start);
        out.push_str(link);
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// The table of a section's own keys in docs/configuration.md.
pub fn table(section: &SectionKeys) -> String {
    let mut config = Config::defaults("", Path::new("."));
    let mut out = String::from(
        "| key | type | default | changed by | what it does |\n| --- | --- | --- | --- | --- |\n",
    );
    for key in section.documented() {
        let default = match (&key.absent, key.show(&mut config)) {
            (Absent::Default, Some(value)) => format!("`{value}`"),
            (Absent::Words(words), _) => (*words).to_owned(),
            (Absent::Default, None) => "none".to_owned(),
        };
        let change = match key.change {
            _ if key.is_section() => "-",
            ChangeEffect::Live => "`ctl set`, reload",
            ChangeEffect::Reload => "reload",
            ChangeEffect::Restart => "restart",
        };
        let (name, takes, text) = (key.name, key.takes(), key.text);
        let _ = writeln!(out, "| `{name}` | {takes} | {default} | {change} | {text} |");
    }
    out
}
