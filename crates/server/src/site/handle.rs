//! The site as an application of one scheduler: what it keeps, and what messages do to it.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use ahash::HashMap;
use config::route::RuleId;
use files::cache::{Cache, CacheStats};
use files::error_page::{self, ErrorPages};
use files::roots::Roots;
use files::{Errand, Job, Key, Warm};
use http::{Answer, AnswerContext, Application, BodyPolicy, Intake, Interest, Reply, Request};
use pages::fetch::Client;
use pages::uploads::Desk;
use pages::{AtWork, Letter, PageSet, PagesReport, Runner, Undelivered};
use runtime::diagnostic::{self, Level};
use runtime::mailbox::{Endpoint, Mailbox};
use runtime::output::FileRegion;
use runtime::service::{Command, Context, ServiceContext};
use runtime::slots::ProcessId;
use wire::http::status::Status;

use super::endpoints::Helpers;
use super::engine::runner_of;
use super::error_page::Refusal;
use super::file::remember;
use super::packer::Packer;
use super::waiting::Waiting;
use crate::limits;
use crate::message::{FoundFile, LookUp, Message, ToFileHelper, WarmFor};
use crate::site_data::SiteData;

/// The site of one scheduler.
pub struct Site {
    #[expect(
        clippy::redundant_allocation,
        reason = "this scheduler counts for itself: a request that holds on to \
        the site must not write the count that all schedulers share"
    )]
    pub(super) data: Rc<Arc<SiteData>>,
    pub(super) helpers: Helpers,
    pub(super) cache: Cache,
    pub(super) roots: Roots,
    pub(super) waiting: Waiting,
    pub(super) error_pages: ErrorPages,
    /// Which root a rule serves, found once.
    pub(super) root_of_rule: Vec<(RuleId, files::RootIndex)>,
    /// Decoded paths are made here.
    pub(super) path: Vec<u8>,
    pub(super) unique: u128,
    /// Processes whose file a helper has just warmed.
    pub(super) warmed: Vec<ProcessId>,
    /// Processes whose file was found changed once already.
    pub(super) rewritten: Vec<ProcessId>,
    /// Processes whose file is cold and whom no helper had room for, in the order in which they asked.
    postponed: VecDeque<ProcessId>,
    /// Requests that are refused when the file of their error page was looked up.
    pub(super) refused: HashMap<ProcessId, Refusal>,
    /// Forms with files that are under way.
    pub(super) uploads: Desk,
    /// Answers of pages that are being compressed.
    pub(super) packer: Packer,
    /// Runs pages; none where there are none.
    pub(super) runner: Option<Box<Runner>>,
    /// Where another thread sees which page runs.
    pub(super) at_work: Arc<AtWork>,
}

impl Site {
    /// A site of this scheduler's own: its roots are opened in its descriptor table.
    ///
    /// # Errors
    /// When a root cannot be opened.
    pub fn open(data: Arc<SiteData>, helpers: Helpers, unique: u128) -> std::io::Result<Self> {
        let roots = Roots::open(&data.roots)?;
        let runner = runner_of(&data, &data.pages, helpers.schedulers, unique)?;
        let size = usize::try_from(data.config.file_cache.size).unwrap_or(usize::MAX);
        let uploads = Desk::new(helpers.uploads.clone());
        Ok(Self {
            data: Rc::new(data),
            helpers,
            cache: Cache::new(size),
            roots,
            waiting: Waiting::default(),
            error_pages: ErrorPages::new(),
            root_of_rule: Vec::new(),
            path: Vec::new(),
            unique,
            warmed: Vec::new(),
            rewritten: Vec::new(),
            refused: HashMap::default(),
            postponed: VecDeque::new(),
            uploads,
            packer: Packer::default(),
            runner,
            at_work: Arc::default(),
        })
    }

    /// Sends a look-up to a helper. `false`: none takes it, and nobody needs to wait.
    pub(super) fn send_look_up(
        &mut self,
        key: Key<'_>,
        errand: Errand,
        unix_ms: u64,
        mail: &mut Mailbox<Message>,
    ) -> bool {
        let Some(rules) = self.data.rules.get(usize::from(key.root.0)) else { return false };
        let job = Job::new(key, rules, errand, unix_ms);
        let look_up = Box::new(LookUp { site: Arc::clone(&*self.data), job });
        let sent = self.send_to_helper(ToFileHelper::LookUp(look_up), mail);
        if !sent {
            self.cache.abandon(key);
        }
        sent
    }

    /// Sends to the helper whose turn it is, or to any that has room.
    fn send_to_helper(&mut self, message: ToFileHelper, mail: &mut Mailbox<Message>) -> bool {
        let mut message = message;
        for _ in 0..self.helpers.files.len() {
            self.helpers.files.rotate_left(1);
            let Some(helper) = self.helpers.files.first() else { return false };
            match mail.send_part(*helper, message) {
                Ok(()) => return true,
                Err(back) => message = back,
            }
        }
        false
    }

    /// Has a region read for a process.
    pub(super) fn send_warm(
        &mut self,
        process: ProcessId,
        warm: Warm,
        mail: &mut Mailbox<Message>,
    ) -> bool {
        let warm = Box::new(WarmFor { site: Arc::clone(&*self.data), process, warm });
        self.send_to_helper(ToFileHelper::Warm(warm), mail)
    }

    /// Lets a process wait for room with the helpers. `false`: there are too many, or no helper at all.
    fn postpone(&mut self, process: ProcessId) -> bool {
        let waits = !self.helpers.files.is_empty() && self.postponed.len() < limits::POSTPONED_MAX;
        if waits {
            self.postponed.push_back(process);
        }
        waits
    }

    /// A helper has answered, so it has room for one: the first who waits asks again. A mailbox is full of messages
    /// that are still to be answered, so nobody waits for an answer that does not come.
    pub(crate) fn resume_postponed(&mut self, context: &mut ServiceContext<'_, Message>) {
        if let Some(process) = self.postponed.pop_front() {
            context.command(Command::Resume(process));
        }
    }

    pub(crate) fn on_found(&mut self, found: FoundFile, context: &mut ServiceContext<'_, Message>) {
        let FoundFile { site, job, found } = found;
        let key = job.key();
        if Arc::ptr_eq(&site, &self.data) {
            self.cache.insert(key, found, context.now.monotonic_ms());
        }
        for process in self.waiting.take(key) {
            context.command(Command::Resume(process));
        }
    }

    pub(crate) fn on_reload(
        &mut self,
        data: Arc<SiteData>,
        context: &mut ServiceContext<'_, Message>,
    ) {
        match Roots::open(&data.roots) {
            Ok(roots) => self.roots = roots,
            Err(error) => {
                // It could be opened when the configuration was checked a moment ago; keep what works.
                diagnostic::write(
                    Level::Error,
                    format_args!("a scheduler keeps its old site: {error}"),
                );
                return;
            }
        }
        self.load_pages(&data.pages);
        if let Some(runner) = &mut self.runner {
            runner.set_keys(data.secret.keys.clone());
        }
        let size = usize::try_from(data.config.file_cache.size).unwrap_or(usize::MAX);
        self.data = Rc::new(data);
        self.cache = Cache::new(size);
        self.root_of_rule.clear();
        for process in self.waiting.take_all() {
            context.command(Command::Resume(process));
        }
    }

    /// Pages of roots that are not served here are those of a configuration that this scheduler could not take over.
    pub(crate) fn on_pages(&mut self, generation: u64, sets: &[Arc<PageSet>]) {
        if generation == self.data.generation {
            self.load_pages(sets);
        }
    }

    /// Where no page was ever run there is no process that a letter could be for.
    pub(crate) fn on_letter(
        &mut self,
        from: Endpoint,
        letter: Letter,
        context: &mut ServiceContext<'_, Message>,
    ) {
        if let Some(runner) = &mut self.runner {
            runner.take_letter(from, letter);
        } else if let Letter::Message { from: to, number, .. } = letter {
            let receipt = Letter::Receipt { to, number, outcome: Err(Undelivered::Ended) };
            // Where there is no room, the sender hears in the end that nobody answers.
            let _told = context.mail.send_part(from, Box::new(receipt));
        }
    }

    /// A helper has brought a region into memory for a process.
    pub(crate) fn on_warmed(
        &mut self,
        process: ProcessId,
        context: &mut ServiceContext<'_, Message>,
    ) {
        remember(&mut self.warmed, process);
        context.command(Command::Resume(process));
    }

    /// A turn ends.
    pub(crate) fn end_turn(
        &mut self,
        client: &mut Client,
        context: &mut ServiceContext<'_, Message>,
    ) {
        self.end_turn_of_pages(client, context);
        self.uploads.on_turn_end(context);
        self.packer.on_turn_end(context);
    }

    /// The scheduler has ended.
    pub(crate) fn leave(&mut self) {
        if let Some(runner) = self.runner.take() {
            runner.leave();
        }
    }

    /// The writer of the access log.
    pub(crate) fn log_writer(&self) -> Option<Endpoint> {
        self.helpers.log
    }

    /// The counters of the file cache.
    pub(crate) fn cache_stats(&self) -> CacheStats {
        self.cache.stats()
    }

    /// The counters of pages; `None` where no page can run.
    pub(crate) fn pages_report(&self) -> Option<PagesReport> {
        self.runner.as_ref().map(|runner| runner.report())
    }

    /// Which configuration is in force, counted from 1.
    pub(crate) fn generation(&self) -> u64 {
        self.data.generation
    }
}

impl Application for Site {
    type Message = Message;

    fn body_policy(&mut self, request: &Request<'_>) -> BodyPolicy {
        self.body_policy_of(request)
    }

    fn begin_body(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Intake {
        self.begin_form(request, context.id)
    }

    fn on_body(&mut self, piece: &[u8], context: &mut AnswerContext<'_, Message>) -> Intake {
        self.uploads.take(context.id, piece, context.mail)
    }

    #[inline]
    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let answer = self.answer(request, reply, context);
        // An answer that is cut is over as well.
        if !self.uploads.is_empty() && matches!(answer, Answer::Done | Answer::Cut) {
            self.uploads.finish(context.id);
        }
        answer
    }

    fn error_page(&mut self, status: Status, body: &mut Vec<u8>) -> &'static str {
        body.extend_from_slice(self.error_pages.page(status.code()));
        error_page::MEDIA_TYPE
    }

    fn on_peer_finished(&mut self, process: ProcessId) -> Interest {
        let runs_page = self.runner.as_ref().is_some_and(|runner| runner.is_underway(process));
        // A page may wait for long.
        if runs_page { Interest::Doubted } else { Interest::Kept }
    }

    fn on_gone(&mut self, process: ProcessId) {
        self.refused.remove(&process);
        self.uploads.finish(process);
        self.packer.forget(process);
        if let Some(runner) = &mut self.runner {
            runner.forget(process);
        }
    }

    fn on_cold_file(&mut self, region: &FileRegion, context: &mut Context<'_, Message>) -> bool {
        let warm = Warm {
            root: files::RootIndex(region.name.root),
            relative: Arc::clone(&region.name.relative),
            offset: region.offset,
            length: region.length,
        };
        // The head of the answer has been sent: there is no refusing any more, only waiting.
        self.send_warm(context.id, warm, context.mail) || self.postpone(context.id)
    }
}
