//! The settings that an operator may change while the server runs: `velodrome ctl set`.
//!
//! Owns what was changed since the configuration was read. Most are keys of the configuration, whose rows say their
//! bounds ([`config::tunables`]); the other one is maintenance. A configuration that is read again puts all of them
//! back, except maintenance. Tells no scheduler: the caller does.

use std::sync::Arc;

use config::{Config, Tunable, no_such_setting, tunables};
use live::Setting;
use runtime::diagnostic::{self, Level};

use crate::events::{Kind, Trouble};
use crate::maintenance::{Switch, Switches};
use crate::message_level::{form_of, level_of};
use crate::site_data::SiteData;

/// The name of the setting that is no key.
const MAINTENANCE: &str = "maintenance";

/// The value that puts a setting back.
const DEFAULT: &str = "default";

/// A change that an operator wants, if it may be.
pub(super) enum Change {
    /// The schedulers get this.
    Data(Arc<SiteData>),
    /// The site is maintained, or no more.
    Maintenance(Switch),
}

/// The settings as configured, and what has changed since.
pub(super) struct Settings {
    configured: Arc<SiteData>,
    now: Arc<SiteData>,
    /// The names and values that were set, in that order.
    changed: Vec<(String, String)>,
    /// How many changes there were: each is an event of its own.
    count: u64,
}

impl Settings {
    /// Those of a configuration.
    pub(super) fn of(configured: Arc<SiteData>) -> Self {
        Self { now: Arc::clone(&configured), configured, changed: Vec::new(), count: 0 }
    }

    /// All settings, those that are no keys first.
    pub(super) fn list(&self, maintenance: Switches) -> Vec<Setting> {
        let mut all = vec![Setting {
            name: MAINTENANCE.to_owned(),
            value: maintenance.as_str().to_owned(),
            default: Switches::default().as_str().to_owned(),
            takes: "on or off".to_owned(),
            text: "Answers all requests with 503, except those of `allow` in `[maintenance]`. A reload does \
                   not change it."
                .to_owned(),
        }];
        let (mut now, mut configured) = (self.now.config.clone(), self.configured.config.clone());
        all.extend(tunables(&configured).iter().map(|tunable| Setting {
            name: tunable.name.clone(),
            value: tunable.show(&mut now),
            default: tunable.show(&mut configured),
            takes: tunable.takes(),
            text: tunable.text(),
        }));
        all
    }

    /// Changes one.
    ///
    /// # Errors
    /// The fault of the name or the value, and what may stand in its place. Then nothing has changed.
    pub(super) fn change(&mut self, name: &str, text: &str) -> Result<Change, String> {
        if name == MAINTENANCE {
            return match text {
                "on" => Ok(Change::Maintenance(Switch::On)),
                "off" | DEFAULT => Ok(Change::Maintenance(Switch::Off)),
                _ => Err(format!("`{MAINTENANCE}` is on or off, not `{text}`")),
            };
        }
        let known = tunables(&self.configured.config);
        if !known.iter().any(|tunable| tunable.name == name) {
            let names: Vec<&str> = known.iter().map(|tunable| &*tunable.name).collect();
            return Err(no_such_setting(name, &[&*names, &[MAINTENANCE]].concat()));
        }
        let others = self.changed.iter().filter(|(changed, _)| changed != name);
        let mut changed: Vec<(String, String)> = others.cloned().collect();
        if text != DEFAULT {
            changed.push((name.to_owned(), text.to_owned()));
        }
        let config = with(&self.configured.config, &known, &changed)?;
        let data = self.configured.tuned(config).map_err(|errors| errors.to_string())?;
        (self.now, self.changed) = (Arc::new(data), changed);
        Ok(Change::Data(Arc::clone(&self.now)))
    }

    /// The level of messages.
    pub(super) fn level(&self) -> Level {
        level_of(self.now.config.log.level)
    }

    /// The event of a change that was made.
    pub(super) fn event(&mut self, name: &str, value: &str) -> Trouble {
        self.count += 1;
        let text = format!("an operator has set {name} to {value}");
        Trouble::new(Kind::Setting, self.count.to_string(), text)
    }

    /// A configuration was read again, and is in force: nothing is changed any more. Returns the event, if something
    /// was.
    pub(super) fn on_configured(&mut self, data: Arc<SiteData>) -> Option<Trouble> {
        let changed = std::mem::take(&mut self.changed);
        let count = self.count + 1;
        *self = Self { count, ..Self::of(data) };
        let names: Vec<&str> = changed.iter().map(|(name, _)| &**name).collect();
        let text = format!("the reload has put back what was set: {}", names.join(", "));
        (!names.is_empty()).then(|| Trouble::new(Kind::Setting, count.to_string(), text))
    }

    /// The value of a setting now.
    pub(super) fn value(&self, name: &str, maintenance: Switches) -> String {
        let found = self.list(maintenance).into_iter().find(|setting| setting.name == name);
        found.map(|setting| setting.value).unwrap_or_default()
    }
}

/// A configuration with these changes.
fn with(
    configured: &Config,
    known: &[Tunable],
    changed: &[(String, String)],
) -> Result<Config, String> {
    let mut config = configured.clone();
    for (name, text) in changed {
        if let Some(tunable) = known.iter().find(|tunable| tunable.name == *name) {
            tunable.set(&mut config, text).map_err(|problem| format!("{name}: {problem}"))?;
        }
    }
    Ok(config)
}

/// Sets how much is logged, and the form.
pub(super) fn log_as(data: &SiteData) {
    diagnostic::set_least(level_of(data.config.log.level));
    diagnostic::set_form(form_of(data.config.log.messages));
}
