//! The keys that may change while a server runs, without a reload, and the change of one.
//!
//! Owns how such a key is named, shown and set. Which keys they are, the rows of the sections say
//! ([`ChangeEffect::Live`]). Never applies a value: the server does.

use std::fmt::Write as _;
use std::path::Path;

use toml::de::DeTable;

use crate::channels::CHANNEL;
use crate::item::Item;
use crate::key::{ChangeEffect, ConfigKey, Reading, SectionKeys, show_text};
use crate::keys::SECTIONS;
use crate::model::config::Config;
use crate::overrides::Overrides;
use crate::printed::without_links;
use crate::problem::{FileNames, Problems};
use crate::quotas::QUOTA;
use crate::wording::{nearest, shown};

/// The text in place of a value, for a key without one and without a default.
const NO_VALUE: &str = "none";

/// A key that may change while a server runs, in its section.
#[derive(Debug, Clone)]
pub struct Tunable {
    section: &'static SectionKeys,
    key: &'static ConfigKey,
    place: Place,
    /// Its full name: `limits.header_deadline`, `channel.news.*.rate`, `limit.logins.requests`.
    pub name: String,
}

/// The section of a configuration that a key is read from.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// The only one of its name.
    Only,
    /// These rules of channels.
    Channel(usize),
    /// This limit of clients.
    Limit(usize),
}

/// All keys of a configuration that may change while the server runs, in the order of the documentation.
pub fn tunables(config: &Config) -> Vec<Tunable> {
    let mut all = Vec::new();
    for section in SECTIONS {
        for key in section.documented().filter(|key| key.change == ChangeEffect::Live) {
            let tunable = |place, name| Tunable { section, key, place, name };
            if section.name == CHANNEL.name {
                let named = config.channels.iter().enumerate().map(|(place, rules)| {
                    let name = format!("channel.{}.{}", rules.pattern, key.name);
                    tunable(Place::Channel(place), name)
                });
                all.extend(named);
            } else if section.name == QUOTA.name {
                let named = config.quotas.iter().enumerate().map(|(place, limit)| {
                    let name = format!("limit.{}.{}", limit.name, key.name);
                    tunable(Place::Limit(place), name)
                });
                // The quantity of a limit stays, so only the keys that it has change.
                let mut config = config.clone();
                all.extend(named.filter(|tunable| tunable.show(&mut config) != NO_VALUE));
            } else {
                all.push(tunable(Place::Only, full_name(section, key)));
            }
        }
    }
    all
}

/// The name of a key in messages: `limits.connections`.
pub(super) fn full_name(section: &SectionKeys, key: &ConfigKey) -> String {
    match section.name.trim_matches(['[', ']']) {
        "" => key.name.to_owned(),
        section => format!("{section}.{}", key.name),
    }
}

/// The error for a name that no setting has.
pub fn no_such_setting(name: &str, known: &[&str]) -> String {
    let last = |full: &&&str| full.rsplit('.').next() == Some(name);
    let meant = known.iter().find(last).copied().or_else(|| nearest(name, known));
    let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
    let hint = hint.unwrap_or_else(|| "`velodrome ctl set` lists all".to_owned());
    format!("there is no setting `{}`; {hint}", shown(name))
}

impl Tunable {
    /// The form of its value with its bounds, in words.
    pub fn takes(&self) -> String {
        self.key.takes().replace('`', "")
    }

    /// The description of the key, without Markdown's links.
    pub fn text(&self) -> String {
        without_links(self.key.text)
    }

    /// Its value, as it is written in the file.
    pub fn show(&self, config: &mut Config) -> String {
        self.focused(config, |config| self.key.show(config)).unwrap_or_else(|| NO_VALUE.to_owned())
    }

    /// Sets its value: one as in the file, or a text without quotes.
    ///
    /// # Errors
    /// The problem of the value, in the words of the configuration. Then nothing has changed.
    pub fn set(&self, config: &mut Config, text: &str) -> Result<(), String> {
        let literal = literal(text);
        self.focused(config, |config| {
            let before = self.problems(config, None);
            let after = self.problems(config, Some(&literal));
            match after.into_iter().find(|problem| !before.contains(problem)) {
                Some(problem) => Err(format!("{problem} (it takes: {})", self.takes())),
                None => self.read(config, &literal),
            }
        })
    }

    /// Acts on the configuration with its own rules of channels, or its own limit, as the first, which their rows read
    /// and write.
    fn focused<T>(&self, config: &mut Config, act: impl FnOnce(&mut Config) -> T) -> T {
        let exchange = |config: &mut Config| match self.place {
            Place::Only => {}
            Place::Channel(place) => config.channels.swap(0, place),
            Place::Limit(place) => config.quotas.swap(0, place),
        };
        exchange(config);
        let outcome = act(config);
        exchange(config);
        outcome
    }

    /// The problems of a file with this section, with another value of this key if there is one: so the bounds
    /// between keys hold here as they do there.
    fn problems(&self, config: &mut Config, literal: Option<&str>) -> Vec<String> {
        let mut text = format!("{}\n", self.section.name);
        for key in self.section.keys().filter(|key| !key.is_section()) {
            let value = match literal {
                Some(literal) if std::ptr::eq(key, self.key) => Some(literal.to_owned()),
                _ => key.show(config),
            };
            if let Some(value) = value {
                let _ = writeln!(text, "{} = {value}", key.name);
            }
        }
        let read = Config::from_text(&text, "", Path::new("."), &Overrides::default());
        let problems = read.err().map(|errors| errors.problems().to_vec()).unwrap_or_default();
        problems.into_iter().map(|problem| problem.message).collect()
    }

    fn read(&self, config: &mut Config, literal: &str) -> Result<(), String> {
        let text = format!("{} = {literal}", self.key.name);
        let document = DeTable::parse(&text).map_err(|error| error.message().to_owned())?;
        let value = document.get_ref().values().next();
        let value = value.ok_or_else(|| "there is no value".to_owned())?.get_ref();
        let item = Item { key: self.key.name, key_offset: 0, offset: 0, value };
        let mut problems = Problems::new(FileNames::of_main(""), "");
        self.key.read(config, &item, &mut Reading { base: Path::new("."), problems: &mut problems })
    }
}

/// A value as it is written in the file. Texts may be given without quotes.
fn literal(text: &str) -> String {
    let line = format!("x = {text}");
    match DeTable::parse(&line) {
        Ok(document) if document.get_ref().len() == 1 && !text.contains('\n') => text.to_owned(),
        _ => show_text(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let text = "[[channel]]\npattern = \"a.*\"\n[[channel]]\npattern = \"b\"\nhistory = \
                    5\n[[limit]]\nname = \"open\"\nopen = 3\n[[limit]]\nname = \"a.b\"\nrequests = \
                    \"90/m\"\nburst = 4\n[[limit]]\nname = \"c\"\nbytes = \"1 MiB/h\"\nburst = \"2 KiB\"\n";
        let base = Path::new(".");
        Config::from_text(text, "velodrome.toml", base, &Overrides::default()).unwrap()
    }

    fn named(config: &Config, name: &str) -> Tunable {
        tunables(config).into_iter().find(|tunable| tunable.name == name).unwrap()
    }

    #[test]
    fn each_is_set_to_what_it_is_and_shown_as_written() {
        let mut config = config();
        let before = config.clone();
        for tunable in tunables(&config) {
            let value = tunable.show(&mut config);
            if value == NO_VALUE {
                continue;
            }
            assert_eq!(tunable.set(&mut config, &value), Ok(()), "{} = {value}", tunable.name);
            assert_eq!(config, before, "{}", tunable.name);
            assert!(!tunable.takes().is_empty() && !tunable.text().contains("]("));
        }
    }

    #[test]
    fn a_value_is_read_with_and_without_quotes_and_checked_as_in_the_file() {
        let mut config = config();
        let deadline = named(&config, "limits.header_deadline");
        for text in ["5s", "\"5s\"", "5000ms"] {
            deadline.set(&mut config, text).unwrap();
            assert_eq!(deadline.show(&mut config), "\"5s\"");
        }
        for (name, text, told) in [
            ("limits.header_deadline", "0", "`header_deadline` must be a duration"),
            ("limits.header_deadline", "0s", "`header_deadline` must be more than zero"),
            ("limits.header_deadline", "5s\n[log]\nlevel = 3", "`header_deadline` cannot be"),
            ("limits.field_count", "101", "`field_count` must be from 1 to 100"),
            ("limits.field_size", "32 KiB", "`field_size` (32768 bytes) is more than `head_size`"),
            ("log.level", "loud", "`level` cannot be \"loud\""),
            ("channel.a.*.slow", "latest", "`slow` needs a history"),
            ("limit.open.open", "0", "`open` must be from 1 to 1000000"),
            ("limit.a.b.requests", "90", "`requests` must be a rate"),
            ("limit.a.b.requests", "90/x", "`requests` cannot be \"90/x\""),
            ("limit.a.b.delay", "1m", "`delay` must be"),
            ("limit.c.burst", "2 apples", "`burst` cannot be"),
            ("pages.memory_per_request", "2 GiB", "`memory_per_request` (2 GiB) is more than"),
            ("pages.slice", "1h", "`slice` must be from"),
        ] {
            let error = named(&config, name).set(&mut config, text).unwrap_err();
            assert!(error.starts_with(told) && error.contains("(it takes: "), "{error}");
        }
    }

    #[test]
    fn rules_of_channels_are_told_apart_by_their_patterns() {
        let mut config = config();
        named(&config, "channel.b.history").set(&mut config, "7").unwrap();
        let histories: Vec<u64> = config.channels.iter().map(|rules| rules.history).collect();
        assert_eq!(histories, [0, 7]);
    }

    #[test]
    fn a_limit_has_the_keys_of_its_quantity_and_a_burst_that_follows_the_rate_until_it_is_set() {
        let text =
            "[[limit]]\nname = \"open\"\nopen = 3\n[[limit]]\nname = \"x\"\nrequests = \"5/s\"\n";
        let mut config =
            Config::from_text(text, "velodrome.toml", Path::new("."), &Overrides::default())
                .unwrap();
        let all = tunables(&config);
        let own = all.iter().filter(|tunable| tunable.name.starts_with("limit."));
        let names: Vec<&str> = own.map(|tunable| &*tunable.name).collect();
        assert_eq!(
            names,
            ["limit.x.requests", "limit.open.open", "limit.x.burst", "limit.x.delay"]
        );
        named(&config, "limit.x.requests").set(&mut config, "60/m").unwrap();
        assert_eq!(named(&config, "limit.x.requests").show(&mut config), "\"60/m\"");
        assert_eq!(named(&config, "limit.x.burst").show(&mut config), "1");
        named(&config, "limit.x.burst").set(&mut config, "7").unwrap();
        named(&config, "limit.x.requests").set(&mut config, "100/s").unwrap();
        named(&config, "limit.open.open").set(&mut config, "4").unwrap();
        assert_eq!(named(&config, "limit.x.burst").show(&mut config), "7");
        assert_eq!(config.quotas[0].measure, super::super::Measure::Open(4));
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        let known = ["limits.header_deadline", "log.level", "maintenance"];
        for (name, told) in [
            ("header_deadline", "did you mean `limits.header_deadline`?"),
            ("log.levle", "did you mean `log.level`?"),
            ("x", "`velodrome ctl set` lists all"),
        ] {
            assert!(no_such_setting(name, &known).ends_with(told));
        }
    }
}
