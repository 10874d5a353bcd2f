//! Pages save and read the files of their forms.
//!
//! Owns the meaning of these waits. The desk of uploads does it.

use actors::RunKey;
use runtime::slots::ProcessId;
use sys::spool::Existing;

use super::Runner;
use super::calls::{Caller, PageCall, call};
use crate::delivery::{Delivery, WaitOutcome};
use crate::uploads::{FileAct, FileWish, UploadResult};

pub(super) const CALLS: &[PageCall] = &[
    call!("file.save"(form: number, file: number, name: text, replaces: number) -> Outcome, "a file of a \
        form", Requests, Runner::save_file),
    call!("file.read"(form: number, file: number, most: number) -> ValueOrReason, "a file of a \
        form", Requests, Runner::read_file),
];

impl Runner {
    fn save_file(
        &mut self,
        caller: &mut Caller<'_>,
        form: u64,
        file: u64,
        name: Vec<u8>,
        replaces: u64,
    ) -> WaitOutcome {
        let existing = if replaces == 1 { Existing::Replaced } else { Existing::Kept };
        self.wish(caller.key, FileWish { form, file, act: FileAct::Save { name, existing } })
    }

    fn read_file(
        &mut self,
        caller: &mut Caller<'_>,
        form: u64,
        file: u64,
        most: u64,
    ) -> WaitOutcome {
        self.wish(caller.key, FileWish { form, file, act: FileAct::Read { most } })
    }

    fn wish(&mut self, key: RunKey, wish: FileWish) -> WaitOutcome {
        if let RunKey::Request(process) = key {
            self.file_wishes.push((process, wish));
        }
        WaitOutcome::Later { due_ns: u64::MAX }
    }

    /// The operations that pages requested on the files of their forms since the last call.
    pub fn take_file_wishes(&mut self) -> Vec<(ProcessId, FileWish)> {
        std::mem::take(&mut self.file_wishes)
    }

    /// Tells a page the result of such an operation.
    pub fn tell_of_file(&mut self, process: ProcessId, told: UploadResult) {
        let delivery = match told {
            Ok(None) => Delivery::Done,
            Ok(Some(bytes)) => Delivery::Text(bytes),
            Err(why) => Delivery::Refused(why),
        };
        self.hand_over(RunKey::Request(process), delivery);
    }
}
