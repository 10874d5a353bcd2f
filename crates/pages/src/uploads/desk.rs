//! The current forms of one scheduler, and the messages to and from the helpers.
//!
//! Owns which process has which form, and when it continues. Never waits for a helper.

use std::collections::VecDeque;

use ahash::HashMap;
use runtime::diagnostic::{self, Level};
use runtime::mailbox::{Endpoint, Mailbox};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;
use sys::spool::SpoolFault;
use wire::http::multipart::{Boundary, MultipartError};
use wire::http::status::Status;

use super::fault::told;
use super::form::{Storage, UploadForm};
use super::names;
use super::order::{Act, FileAct, FileOrder, FileWish, FormId, OrderResult, UploadReport};
use crate::limits;
use http::Intake;

/// The state of the form of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadState {
    /// Its files are being written; then the process is resumed.
    Coming,
    /// It is complete.
    Whole,
    /// It is refused.
    Refused(Status),
}

/// Whether the files of a form are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAcceptance {
    /// Yes, if there is an upload directory.
    Taken,
    /// No: the page reads none.
    NotRead,
    /// No: the form comes from a page of another site.
    Forged,
}

/// The result of a page's wait: nothing, bytes, or an error.
pub type UploadResult = Result<Option<Vec<u8>>, &'static str>;

/// An answered operation of a page.
pub struct Answered {
    /// The process of the page.
    pub process: ProcessId,
    /// The result.
    pub told: UploadResult,
    /// The name under which a file was saved.
    pub saved: Option<String>,
}

/// A form and its state.
struct Held {
    helper: Option<Endpoint>,
    /// The path of its request, for the log.
    path: String,
    form: UploadForm,
    turn: Turn,
    /// The helper knows the form.
    is_known: bool,
}

/// The state of a form's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// It reads.
    Reads,
    /// It is parked until there is room for more.
    WaitsForRoom,
    /// The body has ended; it is parked until everything is written.
    WaitsForEnd,
    /// Its page runs.
    Runs,
}

/// The forms of one scheduler.
pub struct Desk {
    helpers: Vec<Endpoint>,
    held: HashMap<ProcessId, Held>,
    begun: u64,
    /// Orders to forget a form, for helpers that had no room.
    leaving: VecDeque<(Endpoint, FileOrder)>,
    /// A helper had no room.
    is_stalled: bool,
}

impl Desk {
    /// A desk with these helpers; they are empty if there is no upload directory.
    pub fn new(helpers: Vec<Endpoint>) -> Self {
        let (held, leaving) = (HashMap::default(), VecDeque::new());
        Self { helpers, held, begun: 0, leaving, is_stalled: false }
    }

    /// Whether there is no form.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// A form begins to arrive. `allowance` limits its fields and names.
    pub fn begin(
        &mut self,
        process: ProcessId,
        path: &str,
        boundary: Result<&Boundary, MultipartError>,
        files: FileAcceptance,
        allowance: u64,
    ) -> Intake {
        self.finish(process);
        self.begun += 1;
        let id = FormId(self.begun);
        let turn = self.begun as usize % self.helpers.len().max(1);
        let helper = self.helpers.get(turn).copied();
        let storage = match files {
            FileAcceptance::NotRead => Storage::NotRead,
            FileAcceptance::Forged => Storage::Forged,
            FileAcceptance::Taken if helper.is_some() => Storage::Directory,
            FileAcceptance::Taken => Storage::None,
        };
        let form = UploadForm::new(id, boundary, storage, allowance);
        let held = Held { helper, path: path.to_owned(), form, turn: Turn::Reads, is_known: false };
        let held = self.held.entry(process).insert_entry(held).into_mut();
        held.form.intake()
    }

    /// Takes the next bytes of a form; none if its process was resumed.
    pub fn take<M: Send + From<Box<FileOrder>> + TryInto<Box<FileOrder>>>(
        &mut self,
        process: ProcessId,
        bytes: &[u8],
        mail: &mut Mailbox<M>,
    ) -> Intake {
        let Some(held) = self.held.get_mut(&process) else { return Intake::Enough };
        held.form.take(bytes);
        self.is_stalled |= !held.send(process, mail);
        let intake = held.form.intake();
        held.turn = if intake == Intake::Pause { Turn::WaitsForRoom } else { Turn::Reads };
        intake
    }

    /// The state of a request's form, whose body has ended; `None` if there is none.
    pub fn standing(&mut self, process: ProcessId) -> Option<UploadState> {
        let held = self.held.get_mut(&process)?;
        held.form.end();
        if let Some(fault) = held.form.fault() {
            if held.turn != Turn::Runs {
                held.turn = Turn::Runs;
                let path = &held.path;
                diagnostic::write(
                    fault.level(),
                    format_args!("{path}: the upload is refused: {fault}"),
                );
            }
            return Some(UploadState::Refused(fault.status()));
        }
        if held.turn == Turn::Runs {
            return Some(UploadState::Whole);
        }
        let is_written = held.form.is_written();
        held.turn = if is_written { Turn::Runs } else { Turn::WaitsForEnd };
        Some(if is_written { UploadState::Whole } else { UploadState::Coming })
    }

    /// The form of a request.
    pub fn form(&self, process: ProcessId) -> Option<&UploadForm> {
        self.held.get(&process).map(|held| &held.form)
    }

    /// Bytes of memory that the form of a request holds.
    pub fn held_bytes(&self, process: ProcessId) -> usize {
        self.form(process).map_or(0, UploadForm::held_bytes)
    }

    /// A page requests an operation on a file. It is answered later ([`on_report`](Self::on_report)), or refused now.
    pub fn wish<M: Send + From<Box<FileOrder>> + TryInto<Box<FileOrder>>>(
        &mut self,
        process: ProcessId,
        wish: FileWish,
        mail: &mut Mailbox<M>,
    ) -> Result<(), &'static str> {
        let held = self.held.get_mut(&process).filter(|held| held.form.number() == wish.form);
        let held = held.ok_or("the file is one of another request")?;
        let files = held.form.files().len();
        let index = (wish.file as usize).checked_sub(1).filter(|index| *index < files);
        let file = index.ok_or("there is no such file")?;
        held.form.add_act(match wish.act {
            FileAct::Save { name, existing } => {
                Act::Save { file, name: names::saved_name(&name)?.to_owned(), existing }
            }
            FileAct::Read { most } => {
                Act::Read { file, most: (most as usize).min(limits::UPLOAD_READ_SIZE) }
            }
        });
        self.is_stalled |= !held.send(process, mail);
        Ok(())
    }

    /// A helper has reported. Returns what a page waited for, with its process.
    pub fn on_report<M: Send + From<Box<FileOrder>> + TryInto<Box<FileOrder>>>(
        &mut self,
        report: UploadReport,
        context: &mut ServiceContext<'_, M>,
    ) -> Option<Answered> {
        if self.is_stalled {
            self.send_all(context.mail);
        }
        let process = report.process;
        // A report about a form that has been removed is ignored.
        let held = self.held.get_mut(&process).filter(|held| held.form.id() == report.form)?;
        held.form.note_answered();
        let answered = match report.outcome {
            OrderResult::Written(block) => {
                held.form.take_back(block);
                None
            }
            OrderResult::Lost(fault) => {
                held.form.lose(fault);
                None
            }
            OrderResult::Saved(Ok(name)) => Some((Ok(None), Some(name))),
            OrderResult::Saved(Err(fault)) => Some((Err(spoken(fault)), None)),
            OrderResult::Read(read) => Some((read.map(Some).map_err(spoken), None)),
        };
        self.is_stalled |= !held.send(process, context.mail);
        let goes_on = match held.turn {
            Turn::WaitsForRoom => held.form.intake() != Intake::Pause,
            Turn::WaitsForEnd => held.form.fault().is_some() || held.form.is_written(),
            Turn::Reads | Turn::Runs => false,
        };
        if goes_on {
            context.command(SchedulerCommand::Resume(process));
        }
        answered.map(|(told, saved)| Answered { process, told, saved })
    }

    /// A request was answered or its connection has ended, so its files are removed.
    pub fn finish(&mut self, process: ProcessId) {
        let Some(held) = self.held.remove(&process) else { return };
        if let (Some(helper), true) = (held.helper, held.is_known) {
            self.leaving
                .push_back((helper, FileOrder { form: held.form.id(), process, act: Act::Forget }));
        }
    }

    /// At the end of a turn: sends what helpers had no room for.
    #[inline]
    pub fn on_turn_end<M: Send + From<Box<FileOrder>> + TryInto<Box<FileOrder>>>(
        &mut self,
        context: &mut ServiceContext<'_, M>,
    ) {
        if !self.leaving.is_empty() || self.is_stalled {
            self.send_all(context.mail);
            if !self.leaving.is_empty() || self.is_stalled {
                context.wake_after_ms(limits::UPLOAD_FULL_PAUSE_MS);
            }
        }
    }

    fn send_all<M: Send + From<Box<FileOrder>> + TryInto<Box<FileOrder>>>(
        &mut self,
        mail: &mut Mailbox<M>,
    ) {
        self.is_stalled = false;
        for (process, held) in &mut self.held {
            self.is_stalled |= !held.send(*process, mail);
        }
        while let Some((helper, order)) = self.leaving.pop_front() {
            if let Err(order) = mail.send_part(helper, Box::new(order)) {
                self.leaving.push_front((helper, *order));
                return;
            }
        }
    }
}

impl Held {
    /// Sends what the helper may have. `false`: it has no room.
    fn send<M: Send + From<Box<FileOrder>> + TryInto<Box<FileOrder>>>(
        &mut self,
        process: ProcessId,
        mail: &mut Mailbox<M>,
    ) -> bool {
        let Some(helper) = self.helper else { return true };
        while let Some(act) = self.form.take_act() {
            let order = Box::new(FileOrder { form: self.form.id(), process, act });
            if let Err(order) = mail.send_part(helper, order) {
                self.form.put_back(order.act);
                return false;
            }
            self.is_known = true;
        }
        true
    }
}

/// Why a page did not get what it requested. Faults that concern the operator are logged too.
fn spoken(fault: SpoolFault) -> &'static str {
    if !matches!(fault, SpoolFault::Exists | SpoolFault::Other) {
        diagnostic::write(Level::Error, format_args!("an upload: {}", told(fault)));
    }
    told(fault)
}
