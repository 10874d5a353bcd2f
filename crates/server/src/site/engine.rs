//! The page engine of one scheduler: created if there are pages, and given the current ones.
//!
//! Owns when there is one. Never runs a page.

use std::sync::Arc;

use pages::{AtWork, PageSet, Runner, engine_settings};
use runtime::clock::nanoseconds;
use runtime::diagnostic::{self, Level};

use super::Site;
use crate::site_data::SiteData;

impl Site {
    /// Sets where this scheduler shows other threads which page it runs.
    pub fn show_at_work(&mut self, at_work: Arc<AtWork>) {
        self.at_work = at_work;
        self.set_at_work();
    }

    fn set_at_work(&mut self) {
        if let Some(runner) = &mut self.runner {
            runner.show_at_work(Arc::clone(&self.at_work));
        }
    }

    pub(super) fn load_pages(&mut self, sets: &[Arc<PageSet>]) {
        if let Some(runner) = &mut self.runner {
            runner.load(sets);
            return;
        }
        match runner_of(&self.data, sets, self.helpers.schedulers, self.number) {
            Ok(runner) => {
                self.runner = runner;
                self.set_at_work();
                self.show_store();
            }
            Err(error) => diagnostic::write(
                Level::Error,
                format_args!("a scheduler cannot run pages: {error}"),
            ),
        }
    }
}

impl Site {
    /// Whether the times of runs of pages are of use.
    pub(super) fn time_pages(&mut self, log: &config::Log) {
        match (&mut self.runner, log.slow) {
            (Some(runner), Some(_)) => runner.time_runs(),
            (Some(runner), None) => runner.time_no_runs(),
            (None, _) => {}
        }
    }
}

/// An engine with all pages, if there are any.
pub(super) fn runner_of(
    data: &SiteData,
    sets: &[Arc<PageSet>],
    schedulers: u16,
    seed: u64,
) -> std::io::Result<Option<Box<Runner>>> {
    if sets.iter().all(|set| set.pages.is_empty()) {
        return Ok(None);
    }
    let settings = engine_settings(&data.config.pages, seed);
    let deadline_ns = nanoseconds(data.config.pages.deadline);
    let process_memory_bytes =
        usize::try_from(data.config.pages.process_memory).unwrap_or(usize::MAX);
    let mut runner = Runner::new(sets, settings, process_memory_bytes, deadline_ns, schedulers)
        .map_err(std::io::Error::other)?;
    runner.set_keys(data.secret.keys.clone());
    runner.set_processes(&data.processes);
    runner.publications().set_rulebook(Arc::clone(&data.rulebook));
    Ok(Some(Box::new(runner)))
}
