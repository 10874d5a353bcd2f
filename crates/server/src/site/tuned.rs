//! The settings that may change while the server runs, as a site uses them.
//!
//! Owns who gets them: at the start, with a reload, and when an operator has set one. What reads the configuration of
//! the site for each request needs nothing.

use std::rc::Rc;
use std::sync::Arc;

use super::Site;
use crate::site_data::SiteData;

impl Site {
    /// An operator has set something. Returns whether it is about the configuration in use.
    pub(crate) fn on_tuned(&mut self, data: Arc<SiteData>, now_ns: u64) -> bool {
        let is_in_use = data.generation == self.data.generation;
        if is_in_use {
            self.data = Rc::new(data);
            self.tune(now_ns);
        }
        is_in_use
    }

    /// Hands the settings to those who keep them.
    pub(super) fn tune(&mut self, now_ns: u64) {
        let data = Rc::clone(&self.data);
        let config = &data.config;
        self.outgoing.tune(&data);
        self.files.set_size(config.file_cache.size);
        self.local.channels().set_rulebook(Arc::clone(&data.rulebook));
        self.entry.set_limits(&data, now_ns);
        self.pages.tune(&data);
    }
}
