//! Looks whether the file of `[maintenance]` is there, and tells the schedulers.
//!
//! Owns the last sight of it. Never answers anyone.

use runtime::diagnostic::{self, Level};

use super::post::Post;
use crate::maintenance::{MaintenanceSource, Switch};
use crate::message::{ToControl, ToScheduler};
use crate::site_data::SiteData;

/// The file, as it was last seen.
#[derive(Debug, Default)]
pub(super) struct MaintenanceFile {
    told: Switch,
}

impl MaintenanceFile {
    /// Looks for the file that the configuration names now. One that cannot be looked for is as before.
    pub(super) fn look(&mut self, data: &SiteData, post: &mut Post) {
        let now = match &data.config.maintenance.file {
            None => Switch::Off,
            Some(file) => match file.try_exists() {
                Ok(true) => Switch::On,
                Ok(false) => Switch::Off,
                Err(_) => self.told,
            },
        };
        if now == self.told {
            return;
        }
        self.told = now;
        for scheduler in post.schedulers() {
            post.send(scheduler, ToScheduler::Maintenance(MaintenanceSource::File, now));
        }
        post.tell_control(ToControl::Maintenance(now));
        let text = match now {
            Switch::On => "maintenance begins: its file is there",
            Switch::Off => "maintenance by the file is over",
        };
        diagnostic::write(Level::Info, format_args!("{text}"));
    }
}
