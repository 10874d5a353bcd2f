//! The page engine of one scheduler: created if there are pages, and given the current ones.
//!
//! Owns when there is one, and which channels its pages listen to. Never decides which page answers a request.

use std::rc::Rc;
use std::sync::Arc;

use channels::{ChannelRefusal, Channels, ListenerNumber, NameProblem, check_name};
use pages::uploads::UploadResult;
use pages::{AtWork, ChannelWish, PageSet, Runner, Spent, engine_settings};
use runtime::clock::nanoseconds;
use runtime::diagnostic::{self, Level};
use runtime::slots::ProcessId;
use store::TurnStore;

use crate::site_data::SiteData;

/// The engine of one scheduler for pages.
pub(super) struct PageEngine {
    /// The number of schedulers.
    schedulers: u16,
    /// A number that no other scheduler has, nor the same one after another start.
    number: u64,
    /// Runs pages, if there are any.
    runner: Option<Box<Runner>>,
    /// Shows other threads which page runs.
    at_work: Arc<AtWork>,
    /// Subscriptions of pages that wait until their channel's home knows them.
    joining: Vec<ListenerNumber>,
}

impl PageEngine {
    /// An engine with the pages of a configuration. The number is one that no other scheduler has.
    ///
    /// # Errors
    /// If an engine is needed and there is none for this machine.
    pub(super) fn new(data: &SiteData, schedulers: u16, number: u64) -> std::io::Result<Self> {
        let runner = runner_of(data, &data.pages, schedulers, number)?;
        Ok(Self { schedulers, number, runner, at_work: Arc::default(), joining: Vec::new() })
    }

    /// A number that no other scheduler has, nor the same one after another start.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The runner of pages; `None`: no page was ever there.
    #[inline]
    pub(super) fn runner(&self) -> Option<&Runner> {
        self.runner.as_deref()
    }

    /// The runner of pages; `None`: no page was ever there.
    #[inline]
    pub(super) fn runner_mut(&mut self) -> Option<&mut Runner> {
        self.runner.as_deref_mut()
    }

    /// Sets where this scheduler shows other threads which page it runs.
    pub(super) fn show_at_work(&mut self, at_work: Arc<AtWork>) {
        self.at_work = at_work;
        self.set_at_work();
    }

    fn set_at_work(&mut self) {
        if let Some(runner) = &mut self.runner {
            runner.show_at_work(Arc::clone(&self.at_work));
        }
    }

    /// Runs these pages from now on. The store is for the first of all.
    pub(super) fn load(
        &mut self,
        sets: &[Arc<PageSet>],
        data: &SiteData,
        store: Option<&Rc<TurnStore>>,
    ) {
        if let Some(runner) = &mut self.runner {
            runner.load(sets);
            return;
        }
        match runner_of(data, sets, self.schedulers, self.number) {
            Ok(runner) => {
                self.runner = runner;
                self.set_at_work();
                self.show_store(store);
            }
            Err(error) => diagnostic::write(
                Level::Error,
                format_args!("a scheduler cannot run pages: {error}"),
            ),
        }
    }

    /// Lets pages use the store, if there is one.
    pub(super) fn show_store(&mut self, store: Option<&Rc<TurnStore>>) {
        if let (Some(runner), Some(store)) = (&mut self.runner, store) {
            runner.records().open(Rc::clone(store));
        }
    }

    /// Uses the keys and the processes of another configuration.
    pub(super) fn reload(&mut self, data: &SiteData) {
        if let Some(runner) = &mut self.runner {
            runner.set_keys(data.secret.keys.clone());
            runner.set_processes(&data.processes);
        }
    }

    /// Uses the settings that may change while the server runs.
    pub(super) fn tune(&mut self, data: &SiteData) {
        let Some(runner) = &mut self.runner else { return };
        // Whether the times of runs of pages are of use.
        match data.config.log.slow {
            Some(_) => runner.time_runs(),
            None => runner.time_no_runs(),
        }
        let settings = engine_settings(&data.config.pages, self.number);
        runner.tune(&settings, nanoseconds(data.config.pages.deadline));
        runner.publications().set_rulebook(Arc::clone(&data.rulebook));
    }

    /// Whether a page has begun to answer this process's request.
    pub(super) fn is_underway(&self, process: ProcessId) -> bool {
        self.runner.as_ref().is_some_and(|runner| runner.is_underway(process))
    }

    /// Ends the run for a request or a question, if there is one.
    pub(super) fn forget_run(&mut self, process: ProcessId) {
        if let Some(runner) = &mut self.runner {
            runner.forget(process);
        }
    }

    /// Ends the conversation with a client, if there is one.
    pub(super) fn forget_talk(&mut self, process: ProcessId) {
        if let Some(runner) = &mut self.runner {
            runner.forget_talk(process);
        }
    }

    /// An upload helper has done what a page wanted of a file.
    pub(super) fn tell_of_file(&mut self, process: ProcessId, told: UploadResult) {
        if let Some(runner) = &mut self.runner {
            runner.tell_of_file(process, told);
        }
    }

    /// Where the time of a request went that a page has answered.
    pub(super) fn take_spent(&mut self, process: ProcessId, began_ns: u64) -> Option<Box<Spent>> {
        self.runner.as_mut()?.take_spent(process, began_ns)
    }

    /// Delivers channel messages to pages that wait for them, and begins and ends their subscriptions. Returns whether
    /// a page was told something.
    pub(super) fn hear_channels(&mut self, channels: &mut Channels) -> bool {
        let Some(runner) = &mut self.runner else { return false };
        let mut asked = channels.take_news();
        let mut has_told = false;
        for wish in runner.take_channel_wishes() {
            match wish {
                ChannelWish::Listen(number, name) => {
                    let listens = check_name(&name).map_err(NameProblem::as_str);
                    let listens = listens.and_then(|name| {
                        let right = channels.server_right(name);
                        let listens = channels.listen(&right.to_subscribe(), number);
                        listens.map_err(ChannelRefusal::as_str)
                    });
                    match listens {
                        Ok(()) => self.joining.push(number),
                        Err(why) => {
                            has_told = true;
                            runner.tell_listening(number, Err(why));
                        }
                    }
                }
                ChannelWish::Hear(number) => asked.push(number),
                ChannelWish::Stop(number) => {
                    self.joining.retain(|joining| *joining != number);
                    channels.stop_listening(number);
                }
            }
        }
        for number in self.joining.extract_if(.., |joining| channels.is_listening(*joining)) {
            has_told = true;
            runner.tell_listening(number, Ok(()));
        }
        for number in asked {
            if runner.is_hearing(number)
                && let Some(heard) = channels.hear(number)
            {
                has_told = true;
                runner.tell_heard(number, &heard);
            }
        }
        has_told
    }

    /// The scheduler has ended.
    pub(super) fn leave(&mut self) {
        if let Some(runner) = self.runner.take() {
            runner.leave();
        }
    }
}

/// An engine with all pages, if there are any.
fn runner_of(
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
    if data.config.cluster.is_configured() {
        runner.join_cluster();
    }
    runner.publications().set_rulebook(Arc::clone(&data.rulebook));
    Ok(Some(Box::new(runner)))
}
