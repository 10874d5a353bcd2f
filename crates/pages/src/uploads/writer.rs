//! An upload helper: the thread that writes uploaded files.
//!
//! Owns the files that are not saved: each has a private name and is deleted with its form. Files
//! left over by a killed server are deleted at the next start.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ahash::HashMap;
use runtime::diagnostic::{self, Level};
use runtime::helper::{HelperHandler, Onward, send_patiently};
use runtime::mailbox::{Endpoint, Mailbox};
use sys::spool::{FileIdentity, Holders, Spool, SpoolFault, SpoolFile};

use super::fault::Fault;
use super::names;
use super::order::{Act, After, FileOrder, FormId, OrderResult, UploadReport};
use super::place::UploadPlace;
use super::room::UploadRoom;

/// Locks the directory for this process, and removes what servers left that ended in the middle of a form.
///
/// # Errors
/// If it cannot be opened.
pub fn hold(directory: &Path) -> io::Result<Spool> {
    let spool = Spool::open(directory)?;
    let holders = spool.hold(|spool| match sweep(spool) {
        Ok(0) => {}
        Ok(count) => diagnostic::write(
            Level::Info,
            format_args!("{}: {count} unfinished uploads were removed", directory.display()),
        ),
        Err(error) => diagnostic::write(
            Level::Warn,
            format_args!("{}: unfinished uploads stay: {error}", directory.display()),
        ),
    });
    if holders == Holders::Others {
        diagnostic::write(
            Level::Debug,
            format_args!(
                "{}: another server uses it: unfinished uploads stay",
                directory.display()
            ),
        );
    }
    Ok(spool)
}

fn sweep(spool: &Spool) -> io::Result<usize> {
    let parts = spool.names(names::is_part_name)?;
    for part in &parts {
        spool.remove(part)?;
    }
    Ok(parts.len())
}

/// A file of a form.
struct Stored {
    /// Its current name. A name under which it was saved may by now belong to another file.
    name: String,
    identity: FileIdentity,
    /// Bytes of it that count towards the room for unsaved files.
    size: u64,
    state: State,
}

enum State {
    Coming(SpoolFile),
    Whole,
    Saved,
}

/// A form among those of all schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct FormKey {
    from: Endpoint,
    form: FormId,
}

/// One upload helper.
pub struct UploadWriter {
    place: UploadPlace,
    unique: u64,
    made: u64,
    forms: HashMap<FormKey, Vec<Stored>>,
    room: Arc<UploadRoom>,
}

impl UploadWriter {
    /// A helper that writes to that directory, as far as there is room. `unique` differs from that of every other
    /// helper, past or present.
    pub fn new(directory: PathBuf, unique: u64, room: Arc<UploadRoom>) -> Self {
        let place = UploadPlace::new(directory);
        Self { place, unique, made: 0, forms: HashMap::default(), room }
    }

    /// Executes an order; `None` if it has no reply.
    pub fn answer(&mut self, from: Endpoint, order: FileOrder) -> Option<UploadReport> {
        let FileOrder { form, process, act } = order;
        let key = FormKey { from, form };
        let fault = |error: io::Error| SpoolFault::of(&error);
        let outcome = match act {
            Act::Write { file, mut bytes, after } => match self.write(key, file, &bytes, after) {
                Ok(()) => {
                    bytes.clear();
                    OrderResult::Written(bytes)
                }
                Err(fault) => OrderResult::Lost(fault),
            },
            Act::Save { file, name, existing } => {
                let saved = self.stored(key, file).and_then(|(spool, stored)| {
                    spool.save(&stored.name, stored.identity, &name, existing)?;
                    (stored.name, stored.state) = (name.clone(), State::Saved);
                    Ok(std::mem::take(&mut stored.size))
                });
                let saved = saved.map(|size| self.room.give_back(size));
                OrderResult::Saved(saved.map(|()| name).map_err(fault))
            }
            Act::Read { file, most } => {
                let read = self
                    .stored(key, file)
                    .and_then(|(spool, stored)| spool.read(&stored.name, stored.identity, most));
                OrderResult::Read(read.map_err(fault))
            }
            Act::Forget => {
                self.forget(key);
                return None;
            }
        };
        Some(UploadReport { form, process, outcome })
    }

    fn write(
        &mut self,
        key: FormKey,
        file: usize,
        bytes: &[u8],
        after: After,
    ) -> Result<(), Fault> {
        let fault = |error: io::Error| Fault::Storage(SpoolFault::of(&error));
        let files = self.forms.entry(key).or_default();
        if file == files.len() {
            let name = names::part_name(self.unique, self.made);
            self.made += 1;
            let open = self.place.create(&name).map_err(Fault::Storage)?;
            let (identity, state) = (open.identity(), State::Coming(open));
            files.push(Stored { name, identity, size: 0, state });
        }
        let Some(Stored { state: state @ State::Coming(_), size, .. }) = files.get_mut(file) else {
            return Err(Fault::Storage(SpoolFault::NotFound));
        };
        if !self.room.take(bytes.len() as u64) {
            return Err(Fault::NoRoom);
        }
        *size += bytes.len() as u64;
        if let State::Coming(open) = state {
            open.append(bytes).map_err(fault)?;
        }
        if after == After::End {
            *state = State::Whole;
        }
        Ok(())
    }

    fn stored(&mut self, key: FormKey, file: usize) -> io::Result<(&Spool, &mut Stored)> {
        let spool = self.place.spool()?;
        let stored = self.forms.get_mut(&key).and_then(|files| files.get_mut(file));
        Ok((spool, stored.ok_or(io::ErrorKind::NotFound)?))
    }

    fn forget(&mut self, key: FormKey) {
        let Some(files) = self.forms.remove(&key) else { return };
        self.room.give_back(files.iter().map(|file| file.size).sum());
        for file in files.iter().filter(|file| !matches!(file.state, State::Saved)) {
            if let Err(error) = self.place.spool().and_then(|spool| spool.remove(&file.name)) {
                let directory = self.place.directory().display();
                diagnostic::write(
                    Level::Warn,
                    format_args!("{directory}: {} stays: {error}", file.name),
                );
            }
        }
    }
}

impl<M> HelperHandler<M> for UploadWriter
where
    M: Send + TryInto<Box<FileOrder>> + From<Box<UploadReport>>,
{
    fn on_message(&mut self, from: Endpoint, message: M, mailbox: &mut Mailbox<M>) -> Onward {
        let Ok(order) = message.try_into() else { return Onward::Wait };
        if let Some(report) = self.answer(from, *order) {
            // If it is given back there is no receiver: a process that waits for it reaches a deadline.
            let _nobody_turns = send_patiently(mailbox, from, M::from(Box::new(report)));
        }
        Onward::Wait
    }
}
