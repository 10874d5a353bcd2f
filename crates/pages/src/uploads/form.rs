//! One form: what has arrived so far, and what has to be written.
//!
//! Owns fields and the properties of files. File data passes through: a block is filled and goes to
//! the helper.

use std::collections::VecDeque;

use http::Intake;
use wire::http::multipart::{Boundary, MultipartDecoder, MultipartError, MultipartPiece, PartHead};

use super::fault::Fault;
use super::names;
use super::order::{Act, After, FormId};
use crate::limits::{UPLOAD_BLOCK_SIZE, UPLOAD_BLOCKS};

/// Bytes charged for a part in addition to its names and its value.
const PART_COST: usize = 64;

/// Whether files can be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// There is an upload directory.
    Directory,
    /// There is none.
    None,
    /// Nobody would read them.
    NotRead,
    /// The form comes from a page of another site.
    Forged,
}

/// A file of a form.
#[derive(Debug)]
pub struct ReceivedFile {
    /// The name of the form's field.
    pub field: Vec<u8>,
    /// The client's name for it, without directories.
    pub name: Vec<u8>,
    /// The media type given by the client.
    pub media_type: Vec<u8>,
    /// Its size in bytes.
    pub size: u64,
    /// Whether the client named it at all: if no file was chosen, the form has a part without name and data.
    is_named: bool,
}

/// The part to which the arriving data belongs.
#[derive(Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    /// The last field.
    Field,
    /// The last file.
    File,
}

/// A form.
#[derive(Debug)]
pub struct UploadForm {
    id: FormId,
    /// `None` if the form has no usable boundary.
    decoder: Option<MultipartDecoder>,
    storage: Storage,
    /// Bytes that fields and names may still take.
    allowance: u64,
    /// Bytes that they have taken.
    spent: usize,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    files: Vec<ReceivedFile>,
    open: Open,
    /// Data of the last file that was not yet sent to be written.
    block: Vec<u8>,
    /// Blocks that were returned.
    spare: Vec<Vec<u8>>,
    /// Work for the helper.
    acts: VecDeque<Act>,
    /// How many orders the helper has not answered.
    with_helper: usize,
    fault: Option<Fault>,
}

impl UploadForm {
    /// A form whose fields and names may take this many bytes.
    pub(super) fn new(
        id: FormId,
        boundary: Result<&Boundary, MultipartError>,
        storage: Storage,
        allowance: u64,
    ) -> Self {
        Self {
            id,
            decoder: boundary.ok().map(MultipartDecoder::new),
            storage,
            allowance,
            spent: 0,
            fields: Vec::new(),
            files: Vec::new(),
            open: Open::Nothing,
            block: Vec::new(),
            spare: Vec::new(),
            acts: VecDeque::new(),
            with_helper: 0,
            fault: boundary.err().map(Fault::Malformed),
        }
    }

    pub(super) fn id(&self) -> FormId {
        self.id
    }

    /// Its number, by which its files are recognised as those of this request.
    pub fn number(&self) -> u64 {
        self.id.0
    }

    /// Names and values of the fields, in order.
    pub fn fields(&self) -> &[(Vec<u8>, Vec<u8>)] {
        &self.fields
    }

    /// The files, in order.
    pub fn files(&self) -> &[ReceivedFile] {
        &self.files
    }

    /// Why it is refused.
    pub(super) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Bytes of memory that it holds: fields, names, and blocks of a file, also those that are being written.
    pub(super) fn held_bytes(&self) -> usize {
        let blocks = self.acts.len() + self.with_helper + self.spare.len();
        self.block.capacity() + blocks * UPLOAD_BLOCK_SIZE + self.spent
    }

    /// Takes the next bytes of the body.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        if self.fault.is_none()
            && let Err(fault) = self.read(bytes)
        {
            self.fail(fault);
        }
    }

    /// Whether more of the body may arrive.
    pub(super) fn intake(&self) -> Intake {
        if self.fault.is_some() {
            Intake::Enough
        } else if self.acts.len() + self.with_helper >= UPLOAD_BLOCKS {
            Intake::Pause
        } else {
            Intake::More
        }
    }

    /// The body has ended, so the form must be complete.
    pub(super) fn end(&mut self) {
        let is_over = self.decoder.as_ref().is_some_and(MultipartDecoder::is_over);
        if self.fault.is_none() && !is_over {
            self.fail(Fault::Cut);
        }
    }

    /// Whether everything is written.
    pub(super) fn is_written(&self) -> bool {
        self.acts.is_empty() && self.with_helper == 0
    }

    /// More work for the helper.
    pub(super) fn add_act(&mut self, act: Act) {
        self.acts.push_back(act);
    }

    /// Takes the next work for the helper, if it may have more.
    pub(super) fn take_act(&mut self) -> Option<Act> {
        if self.with_helper >= UPLOAD_BLOCKS {
            return None;
        }
        let act = self.acts.pop_front()?;
        self.with_helper += 1;
        Some(act)
    }

    /// The helper had no room for that work.
    pub(super) fn put_back(&mut self, act: Act) {
        self.with_helper -= 1;
        self.acts.push_front(act);
    }

    /// The helper has answered an order.
    pub(super) fn note_answered(&mut self) {
        self.with_helper = self.with_helper.saturating_sub(1);
    }

    /// A block was written.
    pub(super) fn take_back(&mut self, block: Vec<u8>) {
        if self.spare.len() < UPLOAD_BLOCKS {
            self.spare.push(block);
        }
    }

    /// A block was not written.
    pub(super) fn lose(&mut self, fault: Fault) {
        if self.fault.is_none() {
            self.fail(fault);
        }
    }

    fn fail(&mut self, fault: Fault) {
        self.fault = Some(fault);
        self.acts.clear();
        (self.block, self.spare) = (Vec::new(), Vec::new());
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        // Lent to this call: pieces that it returns belong to the decoder, while the rest of the form is changed.
        let Some(mut decoder) = self.decoder.take() else { return Ok(()) };
        let mut rest = bytes;
        let read = loop {
            let (consumed, piece) = match decoder.next(rest) {
                Ok(read) => read,
                Err(error) => break Err(Fault::Malformed(error)),
            };
            let taken = match piece {
                MultipartPiece::NeedMore | MultipartPiece::End => break Ok(()),
                MultipartPiece::Part(head) => self.begin_part(&head),
                MultipartPiece::Data(data) => self.take_data(data),
                MultipartPiece::PartEnd => {
                    self.end_part();
                    Ok(())
                }
            };
            if let Err(fault) = taken {
                break Err(fault);
            }
            rest = rest.get(consumed..).unwrap_or_default();
        };
        self.decoder = Some(decoder);
        read
    }

    fn begin_part(&mut self, head: &PartHead<'_>) -> Result<(), Fault> {
        let file_name = head.file_name.unwrap_or_default();
        let names = head.name.len() + file_name.len() + head.media_type.len();
        self.spend(names + PART_COST)?;
        if head.file_name.is_none() {
            self.fields.push((head.name.to_vec(), Vec::new()));
            self.open = Open::Field;
            return Ok(());
        }
        let file = ReceivedFile {
            field: head.name.to_vec(),
            name: names::base_name(file_name).to_vec(),
            media_type: head.media_type.to_vec(),
            size: 0,
            is_named: !file_name.is_empty(),
        };
        if file.is_named {
            self.need_directory()?;
        }
        self.files.push(file);
        self.open = Open::File;
        Ok(())
    }

    fn take_data(&mut self, data: &[u8]) -> Result<(), Fault> {
        match self.open {
            Open::Nothing => Ok(()),
            Open::Field => {
                self.spend(data.len())?;
                if let Some((_, value)) = self.fields.last_mut() {
                    value.extend_from_slice(data);
                }
                Ok(())
            }
            Open::File => {
                self.need_directory()?;
                if let Some(file) = self.files.last_mut() {
                    file.size += data.len() as u64;
                }
                let mut rest = data;
                while !rest.is_empty() {
                    let room = UPLOAD_BLOCK_SIZE.saturating_sub(self.block.len()).min(rest.len());
                    let (front, behind) = rest.split_at(room);
                    self.block.extend_from_slice(front);
                    rest = behind;
                    if self.block.len() >= UPLOAD_BLOCK_SIZE {
                        self.send_block(After::More);
                    }
                }
                Ok(())
            }
        }
    }

    fn end_part(&mut self) {
        if std::mem::replace(&mut self.open, Open::Nothing) != Open::File {
            return;
        }
        if self.files.last().is_some_and(|file| !file.is_named && file.size == 0) {
            self.files.pop();
        } else {
            self.send_block(After::End);
        }
    }

    fn send_block(&mut self, after: After) {
        let Some(file) = self.files.len().checked_sub(1) else { return };
        let next = self.spare.pop().unwrap_or_default();
        let bytes = std::mem::replace(&mut self.block, next);
        self.acts.push_back(Act::Write { file, bytes, after });
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Fault> {
        self.allowance = self.allowance.checked_sub(bytes as u64).ok_or(Fault::FieldsTooLarge)?;
        self.spent += bytes;
        Ok(())
    }

    fn need_directory(&self) -> Result<(), Fault> {
        match self.storage {
            Storage::Directory => Ok(()),
            Storage::None => Err(Fault::NoDirectory),
            Storage::NotRead => Err(Fault::NotRead),
            Storage::Forged => Err(Fault::Forged),
        }
    }
}
