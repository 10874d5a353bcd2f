//! The things that a scheduler keeps for single requests between the steps of their answers.
//!
//! Owns that all of it is forgotten with the request. Never answers: the files that begin something here do.

use http::{Answer, Intake, Reply};
use pages::Page;
use pages::uploads::{
    Answered, Desk, FileAcceptance, FileWish, UploadForm, UploadReport, UploadState,
};
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;
use script::engine::PageOutput;
use wire::http::multipart::{Boundary, MultipartError};
use wire::json::JsonProblem;

use super::exchange::Exchange;
use super::json_checks::JsonChecks;
use super::orders::{Batch, Programs};
use super::pack;
use super::packer::Packer;
use super::upgraded::Upgraded;
use crate::message::{Mailbox, ServiceContext};

/// The requests under way, as far as a step of their answers needs something of an earlier one.
pub(super) struct Underway {
    /// The buffer for decoded paths.
    path: Vec<u8>,
    /// Forms with files that are being received.
    forms: Desk,
    /// Answers of pages that are being compressed.
    packer: Packer,
    /// Checks of long bodies.
    json_checks: JsonChecks,
    /// Pending orders of programs.
    programs: Programs,
    /// The protocol to which the connection changes whose request is being answered.
    upgraded: Option<Upgraded>,
}

impl Underway {
    /// No request yet. The helpers write the files of forms.
    pub(super) fn new(helpers: Vec<Endpoint>) -> Self {
        Self {
            path: Vec::new(),
            forms: Desk::new(helpers),
            packer: Packer::default(),
            json_checks: JsonChecks::default(),
            programs: Programs::default(),
            upgraded: None,
        }
    }

    /// Lends the buffer for a decoded path.
    pub(super) fn lend_path(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.path)
    }

    /// Takes the buffer back, so that the next request allocates none.
    pub(super) fn take_path_back(&mut self, path: Vec<u8>) {
        self.path = path;
    }

    /// A form with files begins to arrive.
    pub(super) fn begin_form(
        &mut self,
        (process, path): (ProcessId, &str),
        boundary: Result<&Boundary, MultipartError>,
        files: FileAcceptance,
        allowance: u64,
    ) -> Intake {
        self.forms.begin(process, path, boundary, files, allowance)
    }

    /// A piece of a form has arrived.
    pub(super) fn take_piece(
        &mut self,
        process: ProcessId,
        piece: &[u8],
        mail: &mut Mailbox,
    ) -> Intake {
        self.forms.take(process, piece, mail)
    }

    /// How far the form of a request has come; `None` if it has none.
    #[inline]
    pub(super) fn form_state(&mut self, process: ProcessId) -> Option<UploadState> {
        if self.forms.is_empty() { None } else { self.forms.standing(process) }
    }

    /// The form of a request.
    pub(super) fn form(&self, process: ProcessId) -> Option<&UploadForm> {
        self.forms.form(process)
    }

    /// The bytes that are held for the body of a request.
    pub(super) fn held_bytes(&self, process: ProcessId) -> usize {
        self.forms.held_bytes(process)
    }

    /// A page wants something of a file in its form.
    ///
    /// # Errors
    /// Why it does not get it.
    pub(super) fn order_file(
        &mut self,
        process: ProcessId,
        wish: FileWish,
        mail: &mut Mailbox,
    ) -> Result<(), &'static str> {
        self.forms.wish(process, wish, mail)
    }

    /// An upload helper has reported. Returns what a page waited for.
    pub(super) fn on_upload(
        &mut self,
        report: UploadReport,
        context: &mut ServiceContext<'_>,
    ) -> Option<Answered> {
        self.forms.on_report(report, context)
    }

    /// Writes the answer of a page compressed, or begins to. `None`: it is sent as it is.
    pub(super) fn pack(
        &mut self,
        process: ProcessId,
        answered: (&PageOutput, &Page),
        exchange: &mut Exchange<'_, '_>,
    ) -> Option<Answer> {
        pack::write(&mut self.packer, process, answered, exchange)
    }

    /// Continues a compressed answer whose head was sent, if it is one.
    #[inline]
    pub(super) fn go_on_packing(
        &mut self,
        process: ProcessId,
        reply: &mut Reply<'_>,
    ) -> Option<Answer> {
        pack::go_on(&mut self.packer, process, reply)
    }

    /// Checks that the body of a request is JSON; `None` if that goes on in a later turn.
    pub(super) fn check_json(
        &mut self,
        process: ProcessId,
        body: &[u8],
    ) -> Option<Result<(), JsonProblem>> {
        self.json_checks.check(process, body)
    }

    /// The connection of a request may bring another body.
    pub(super) fn forget_json(&mut self, process: ProcessId) {
        self.json_checks.forget(process);
    }

    /// The orders of a program's request that were not executed yet, if it was asked before.
    pub(super) fn take_orders(&mut self, process: ProcessId) -> Option<Batch> {
        self.programs.take(process)
    }

    /// A program's request waits for the answer of an order.
    pub(super) fn keep_orders(&mut self, process: ProcessId, batch: Batch) {
        self.programs.keep(process, batch);
    }

    /// A program's request has used its share of the turn.
    pub(super) fn yield_orders(&mut self, process: ProcessId, batch: Batch) {
        self.programs.yield_turn(process, batch);
    }

    /// A program's request is answered.
    pub(super) fn forget_orders(&mut self, process: ProcessId) {
        self.programs.forget(process);
    }

    /// The connection whose request is being answered changes its protocol.
    pub(super) fn upgrade(&mut self, upgraded: Upgraded) {
        self.upgraded = Some(upgraded);
    }

    /// The protocol to which the connection changes whose request was just answered.
    pub(super) fn take_upgraded(&mut self) -> Option<Upgraded> {
        self.upgraded.take()
    }

    /// A request is answered, or has ended otherwise.
    #[inline]
    pub(super) fn end_form(&mut self, process: ProcessId) {
        if !self.forms.is_empty() {
            self.forms.finish(process);
        }
    }

    /// The process of a connection has ended.
    pub(super) fn forget(&mut self, process: ProcessId) {
        self.packer.forget(process);
        self.json_checks.forget(process);
        self.programs.forget(process);
    }

    /// Ends a turn: what has used its share of it goes on in the next.
    pub(super) fn end_turn(&mut self, context: &mut ServiceContext<'_>) {
        self.forms.on_turn_end(context);
        self.packer.on_turn_end(context);
        self.json_checks.end_turn(context);
        self.programs.end_turn(context);
    }
}
