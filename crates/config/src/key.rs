//! A configuration key is one row: its name, its value with limits, its default, whether a reload
//! can change it, and its documentation.
//!
//! Owns the shape of a row, and how a plain value is read and written. The rows are in the files of
//! their sections. Reading, hints, the reload check, `velodrome check --defaults` and the tables of
//! docs/configuration.md are derived from them.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use crate::item::Item;
use crate::limits::DEADLINE_MAX;
use crate::model::config::Config;
use crate::problem::Problems;
use crate::quantity::{spoken_duration, spoken_size};
use crate::value::{boolean, deadline, duration_within, rate, size_within, whole};

pub(super) const ANY_SIZE: RangeInclusive<u64> = 0..=i64::MAX.unsigned_abs();

pub(super) const ANY_DURATION: RangeInclusive<Duration> = Duration::ZERO..=DEADLINE_MAX;

/// A section: its name, perhaps the rows that it shares and the section that documents them, and its own [`rows`].
macro_rules! section {
    ($name:literal; $($rows:tt)*) => {
        $crate::key::section!(@ $name, &[], "", $($rows)*)
    };
    ($name:literal, $shared:ident of $shared_in:literal; $($rows:tt)*) => {
        $crate::key::section!(@ $name, $shared, $shared_in, $($rows)*)
    };
    (@ $name:literal, $shared:expr, $shared_in:literal, $($rows:tt)*) => {
        $crate::key::SectionKeys {
            name: $name,
            own: $crate::key::rows!($($rows)*),
            shared: $shared,
            shared_in: $shared_in,
        }
    };
}

/// Rows of keys, each ended by a semicolon, or `const NAME` for a row of another file.
macro_rules! rows {
    ($($(
        $name:literal: $form:ident($($value:tt)*), $absent:tt, $change:ident, $text:literal
    )? $(const $row:ident)?;)*) => {
        &[$(
            $($crate::key::row!($name: $form($($value)*), $absent, $change, $text))?
            $($row)?
        ),*]
    };
}

/// One key: `NAME: VALUE, ABSENT, CHANGE, TEXT`. `ABSENT` is `default`, or what there is instead, in words.
macro_rules! row {
    ($name:literal: $form:ident($($value:tt)*), $absent:tt, $change:ident, $text:literal) => {
        $crate::key::ConfigKey {
            name: $name,
            value: $crate::key::value!($form $($value)*),
            absent: $crate::key::absent!($absent),
            change: $crate::key::ChangeEffect::$change,
            text: $text,
        }
    };
}

macro_rules! absent {
    (default) => {
        $crate::key::Absent::Default
    };
    ($words:literal) => {
        $crate::key::Absent::Words($words)
    };
}

/// How a value is read and shown. Its place is `FIELD.FIELD` of the configuration, or `first(LIST).FIELD`.
macro_rules! value {
    (apart $takes:literal) => { $crate::key::Value::Apart { takes: $takes } };
    (section $takes:literal) => { $crate::key::Value::Section { takes: $takes } };
    (own $takes:literal, $read:expr, $show:expr $(,)?) => {
        $crate::key::Value::Own { takes: $takes, read: $read, show: $show }
    };
    ($form:ident first($all:ident).$field:ident $(, $($rest:tt)*)?) => {
        $crate::key::value!(@ $form config [$crate::key::first(&mut config.$all).$field] $(, $($rest)*)?)
    };
    ($form:ident $($field:ident).+ $(, $($rest:tt)*)?) => {
        $crate::key::value!(@ $form config [config.$($field).+] $(, $($rest)*)?)
    };
    (@ boolean $config:ident [$($at:tt)*]) => {
        $crate::key::Value::Boolean(|$config| &mut $($at)*)
    };
    (@ size $config:ident [$($at:tt)*], $range:expr) => {
        $crate::key::Value::Size(|$config| &mut $($at)*, $range)
    };
    (@ rate $config:ident [$($at:tt)*]) => {
        $crate::key::Value::Rate(|$config| &mut $($at)*)
    };
    (@ whole $config:ident [$($at:tt)*], $range:expr) => {
        $crate::key::Value::Whole(|$config| &mut $($at)*, $range)
    };
    (@ duration $config:ident [$($at:tt)*], $range:expr) => {
        $crate::key::Value::Duration(|$config| &mut $($at)*, $range)
    };
    (@ deadline $config:ident [$($at:tt)*]) => {
        $crate::key::Value::Deadline(|$config| &mut $($at)*)
    };
    (@ path $config:ident [$($at:tt)*], $takes:literal) => {
        $crate::key::value!(@ set $config [$($at)*], $takes,
            |item, reading| Some($crate::value::path(item, reading.base)?),
            |value| value.as_ref().map(|path| $crate::key::show_text(path.display())))
    };
    (@ choice $config:ident [$($at:tt)*], $words:ident, $takes:literal) => {
        $crate::key::value!(@ set $config [$($at)*], $takes,
            |item, _| $crate::choice::choice(item, &$words)?,
            |value| $crate::key::show_choice(&$words, value))
    };
    (@ optional $config:ident [$($at:tt)*], $parse:path, $takes:literal) => {
        $crate::key::value!(@ set $config [$($at)*], $takes,
            |item, _| Some($parse(item)?),
            |value| value.as_ref().map($crate::key::show_text))
    };
    (@ list $config:ident [$($at:tt)*], $parse:path, $takes:literal) => {
        $crate::key::value!(@ set $config [$($at)*], $takes,
            |item, reading| item.list(reading.problems, $parse)?,
            |value| Some($crate::key::show_texts(value)))
    };
    // `READ` may end with `?`; `SHOW` is a text or `None`.
    (@ set $config:ident [$($at:tt)*], $takes:literal,
        |$item:ident, $reading:pat_param| $read:expr, |$value:ident| $show:expr $(,)?) => {
        $crate::key::Value::Own {
            takes: $takes,
            read: |$config, $item, $reading| {
                $($at)* = $read;
                Ok(())
            },
            show: |$config| {
                let $value = &$($at)*;
                $show
            },
        }
    };
}

pub(super) use {absent, row, rows, section, value};

/// A section and its keys.
#[derive(Debug)]
pub struct SectionKeys {
    /// The section as written in the file; empty for the top level.
    pub name: &'static str,
    /// The keys that no other section has.
    pub own: &'static [ConfigKey],
    /// The keys that it shares with another section.
    pub shared: &'static [ConfigKey],
    /// The name of the section that documents them.
    pub shared_in: &'static str,
}

/// One key. Plain data.
#[derive(Debug)]
pub struct ConfigKey {
    /// Its name within its section.
    pub name: &'static str,
    pub(crate) value: Value,
    pub(crate) absent: Absent,
    /// Whether another value takes effect with a reload or with a restart.
    pub change: ChangeEffect,
    /// Its effect, as Markdown on one line.
    pub text: &'static str,
}

/// When a changed value takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeEffect {
    /// At once, with `velodrome ctl set`, or with a reload.
    Live,
    /// With a reload.
    Reload,
    /// With a restart; a reload that changes it is refused.
    Restart,
}

/// The value of a key that is not written.
#[derive(Debug)]
pub(super) enum Absent {
    /// The value that the defaults have.
    Default,
    /// Something that is not a value, in words.
    Words(&'static str),
}

/// How the value of a key is read, written and limited. A plain one refers to its place in the configuration.
#[derive(Debug)]
pub(super) enum Value {
    /// `true` or `false`.
    Boolean(fn(&mut Config) -> &mut bool),
    /// A number of bytes.
    Size(fn(&mut Config) -> &mut u64, RangeInclusive<u64>),
    /// Bytes per second.
    Rate(fn(&mut Config) -> &mut u64),
    /// An integer.
    Whole(fn(&mut Config) -> &mut u64, RangeInclusive<u64>),
    Duration(fn(&mut Config) -> &mut Duration, RangeInclusive<Duration>),
    /// A duration above zero.
    Deadline(fn(&mut Config) -> &mut Duration),
    /// Another form, with its own functions.
    Own {
        /// The form in words.
        takes: &'static str,
        read: fn(&mut Config, &Item<'_>, &mut Reading<'_>) -> Result<(), String>,
        /// The value as written in the file; `None` if only the absence of the key expresses it.
        show: fn(&mut Config) -> Option<String>,
    },
    /// Read by the code of its section, because its meaning depends on other keys.
    Apart {
        /// The form in words.
        takes: &'static str,
    },
    /// A section, with its own keys or with names chosen by the user.
    Section {
        /// The form in words.
        takes: &'static str,
    },
}

/// The context of a value: the directory for relative paths, and the problems found so far. Plain data.
pub(super) struct Reading<'r> {
    /// The directory to which relative paths refer.
    pub(crate) base: &'r Path,
    pub(crate) problems: &'r mut Problems,
}

impl SectionKeys {
    /// All keys, the shared ones first.
    pub fn keys(&self) -> impl Iterator<Item = &'static ConfigKey> + use<> {
        self.shared.iter().chain(self.own)
    }

    /// The keys in its table in the documentation.
    pub(super) fn documented(&self) -> impl Iterator<Item = &'static ConfigKey> + use<> {
        let shared = if self.shared_in == self.name { self.shared } else { &[] };
        shared.iter().chain(self.own)
    }

    /// The names of all keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys().map(|key| key.name).collect()
    }

    /// Whether it has a key with that name.
    pub fn contains(&self, name: &str) -> bool {
        self.keys().any(|key| key.name == name)
    }

    /// The section's name in a sentence after "in" or "of".
    pub fn spoken(&self) -> &'static str {
        if self.name.is_empty() { "the top level" } else { self.name }
    }
}

impl ConfigKey {
    /// Reads a value of the file into its place.
    pub(super) fn read(
        &self,
        config: &mut Config,
        item: &Item<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<(), String> {
        match &self.value {
            Value::Boolean(place) => *place(config) = boolean(item)?,
            Value::Size(place, range) => *place(config) = size_within(item, range.clone())?,
            Value::Rate(place) => *place(config) = rate(item)?,
            Value::Whole(place, range) => *place(config) = whole(item, range.clone())?,
            Value::Duration(place, range) => *place(config) = duration_within(item, range.clone())?,
            Value::Deadline(place) => *place(config) = deadline(item)?,
            Value::Own { read, .. } => read(config, item, reading)?,
            Value::Apart { .. } | Value::Section { .. } => {}
        }
        Ok(())
    }

    /// The value as written in the file; `None` if only the absence of the key expresses it, or if it is not a single
    /// value.
    pub(super) fn show(&self, config: &mut Config) -> Option<String> {
        Some(match &self.value {
            Value::Boolean(place) => place(config).to_string(),
            Value::Size(place, _) => show_size(*place(config)),
            Value::Rate(place) => format!("\"{}/s\"", spoken_size(*place(config))),
            Value::Whole(place, _) => place(config).to_string(),
            Value::Duration(place, _) | Value::Deadline(place) => show_duration(*place(config)),
            Value::Own { show, .. } => return show(config),
            Value::Apart { .. } | Value::Section { .. } => return None,
        })
    }

    /// The form of its value, in words.
    pub(super) fn takes(&self) -> String {
        match &self.value {
            Value::Boolean(_) => "true or false".to_owned(),
            Value::Size(_, range) if *range == ANY_SIZE => "size".to_owned(),
            Value::Size(_, range) => {
                let (least, most) = (spoken_size(*range.start()), spoken_size(*range.end()));
                format!("size, {least} to {most}")
            }
            Value::Rate(_) => "rate".to_owned(),
            Value::Whole(_, range) => format!("whole number, {} to {}", range.start(), range.end()),
            Value::Duration(_, range) if *range == ANY_DURATION => "duration".to_owned(),
            Value::Duration(_, range) => {
                let (least, most) =
                    (spoken_duration(*range.start()), spoken_duration(*range.end()));
                format!("duration, {least} to {most}")
            }
            Value::Deadline(_) => "duration above zero".to_owned(),
            Value::Own { takes, .. } | Value::Apart { takes } | Value::Section { takes } => {
                (*takes).to_owned()
            }
        }
    }

    /// Whether it is a section of the file.
    pub(super) fn is_section(&self) -> bool {
        matches!(self.value, Value::Section { .. })
    }
}

/// The entry being read or shown: the rows of a section refer to a configuration, of which only this one is used.
pub(super) fn first<T: Default>(all: &mut Vec<T>) -> &mut T {
    if all.is_empty() {
        all.push(T::default());
    }
    &mut all[0]
}

/// A size as a value of the file.
pub(super) fn show_size(bytes: u64) -> String {
    format!("\"{}\"", spoken_size(bytes))
}

/// A duration as a value of the file.
pub(super) fn show_duration(duration: Duration) -> String {
    format!("\"{}\"", spoken_duration(duration))
}

/// A text as a value in the file, with JSON's escapes, which TOML accepts.
pub(super) fn show_text(text: impl std::fmt::Display) -> String {
    serde_json::Value::String(text.to_string()).to_string()
}

/// Texts as a value of the file.
pub(super) fn show_texts(texts: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    let texts: Vec<String> = texts.into_iter().map(show_text).collect();
    format!("[{}]", texts.join(", "))
}

pub(super) fn show_choice<T: PartialEq>(words: &[(&str, T)], value: &T) -> Option<String> {
    words.iter().find(|(_, known)| known == value).map(|(word, _)| show_text(word))
}
