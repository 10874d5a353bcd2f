//! Answering with a file: from the cache at once, or after a helper has looked.

use std::rc::Rc;
use std::sync::Arc;

use runtime::output::{FileName, FileRegion, SharedBytes};
use runtime::slots::ProcessId;
use sys::file::FileHandle;
use wire::http::conditional::{Preconditions, SafeMethod};
use wire::http::encoding::Accepted;
use wire::http::method::Method;
use wire::http::status::Status;

use super::answer::{Asked, Exchange};
use super::handle::Site;
use crate::message::Message;
use config::FileRules;
use config::route::{Found, RuleId};
use files::answer::{self, FileAnswer, FileRequest, Part};
use files::cache::Looked;
use files::entry::Entry;
use files::representation::Large;
use files::roots::{LargeOpen, Patience};
use files::{Key, RootIndex, Warm};
use http::{Answer, AnswerContext, Request};

/// Processes remembered as warmed or rewritten.
///
/// Limit: beyond it the oldest is forgotten; its request then waits for a helper once more.
const REMEMBERED: usize = 1024;

/// Why a file is not to be had now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotNow {
    /// A helper looks; the request is asked again.
    Wait,
    /// No helper can: 503.
    Busy,
}

impl Site {
    /// The root that a rule serves from.
    pub(super) fn root_of(&mut self, rule: RuleId, rules: &FileRules) -> Option<RootIndex> {
        if let Some((_, root)) = self.root_of_rule.iter().find(|(known, _)| *known == rule) {
            return Some(*root);
        }
        let root = self.data.root_of(rules)?;
        self.root_of_rule.push((rule, root));
        Some(root)
    }

    /// The entry of a path, or that the request has to wait, or that it cannot.
    pub(super) fn look(
        &mut self,
        key: Key<'_>,
        accepted: &Accepted,
        context: &mut AnswerContext<'_, Message>,
    ) -> Result<Rc<Entry>, NotNow> {
        let now_ms = context.now.monotonic_ms();
        let unix_ms = context.now.unix_seconds * 1000;
        match self.cache.look(key, accepted, now_ms) {
            Looked::Fresh(entry) => Ok(Rc::clone(entry)),
            Looked::Refresh(entry, errand) => {
                let entry = Rc::clone(entry);
                // Not sent: what is served is still within its second, and the next request tries again.
                let _later = self.send_look_up(key, errand, unix_ms, context.mail);
                Ok(entry)
            }
            Looked::Stale(errand) | Looked::Missing(errand) => {
                if !self.send_look_up(key, errand, unix_ms, context.mail) {
                    return Err(NotNow::Busy);
                }
                self.waiting.add(key, context.id);
                Err(NotNow::Wait)
            }
            Looked::Pending => {
                self.waiting.add(key, context.id);
                Err(NotNow::Wait)
            }
            Looked::Busy => Err(NotNow::Busy),
        }
    }

    /// Answers with the file at a path.
    pub(super) fn answer_file(
        &mut self,
        key: Key<'_>,
        query: Option<&[u8]>,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        let request = self.file_request(key, query, exchange.request);
        let entry = match self.look(key, &request.accepted, context) {
            Ok(entry) => entry,
            Err(not_now) => return self.put_off(not_now, found, exchange, context),
        };
        let answer = answer::answer(&request, &entry, context.now.unix_seconds);
        if let Some(location) = answer.location() {
            return self.redirect(answer.status, location, exchange);
        }
        if answer.wants_page() {
            if answer.status == Status::NOT_FOUND
                && let Some(main) = self.main_module(found)
            {
                let asked = Asked::whole(key.path);
                return self.answer_with_page(main, asked, found, exchange, context);
            }
            let fields = answer.fields.into_owned();
            return self.refuse(answer.status, &fields, found, exchange, context);
        }
        let file = match answer.large {
            Some(large) if exchange.reply.sends_body() => {
                match self.open_large(key, large, context) {
                    Ok(file) => Some(file),
                    Err(not_now) => return self.put_off(not_now, found, exchange, context),
                }
            }
            _ => None,
        };
        write(&answer, key, file.as_ref(), exchange);
        Answer::Done
    }

    /// What a request gets whose file is not to be had now.
    fn put_off(
        &mut self,
        not_now: NotNow,
        found: &Found<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_, Message>,
    ) -> Answer {
        match not_now {
            NotNow::Wait => Answer::Wait,
            NotNow::Busy => {
                let status = Status::SERVICE_UNAVAILABLE;
                self.refuse(status, b"Retry-After: 1\r\n", found, exchange, context)
            }
        }
    }

    fn file_request<'r>(
        &mut self,
        key: Key<'r>,
        query: Option<&'r [u8]>,
        request: &Request<'r>,
    ) -> FileRequest<'r> {
        let mut preconditions = Preconditions::default();
        let mut accepted = Accepted::default();
        let mut accept = None;
        for (name, value) in request.head.fields.iter() {
            match name.len() {
                5 | 8 | 13 | 17 | 19 => preconditions.note(name.as_bytes(), value),
                6 if name.eq_ignore_ascii_case("accept") => accept = Some(value),
                15 if name.eq_ignore_ascii_case("accept-encoding") => accepted.read_line(value),
                _ => {}
            }
        }
        // A linear congruential step: a boundary has to differ from the content, not to keep a secret; the start
        // value is random.
        self.unique =
            self.unique.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
        let method =
            if request.method() == Method::Head { SafeMethod::Head } else { SafeMethod::Get };
        FileRequest {
            method,
            preconditions,
            accepted,
            accept,
            path: key.path,
            query,
            unique: self.unique,
        }
    }

    /// Opens a file too large for memory, without waiting for the disk.
    fn open_large(
        &mut self,
        key: Key<'_>,
        large: &Large,
        context: &mut AnswerContext<'_, Message>,
    ) -> Result<Rc<FileHandle>, NotNow> {
        let patience =
            if forget(&mut self.warmed, context.id) { Patience::Warmed } else { Patience::None };
        match self.roots.open_large(key.root, large, patience) {
            LargeOpen::Ready(file) => Ok(Rc::new(file)),
            LargeOpen::Written(file) if forget(&mut self.rewritten, context.id) => {
                Ok(Rc::new(file))
            }
            LargeOpen::Written(_) | LargeOpen::Changed => {
                remember(&mut self.rewritten, context.id);
                self.cache.expire(key);
                let accepted = Accepted::default();
                Err(self.look(key, &accepted, context).err().unwrap_or(NotNow::Busy))
            }
            LargeOpen::Cold => {
                let relative = Arc::clone(&large.relative);
                let length = files::limits::WARM_FIRST_SIZE;
                let warm = Warm { root: key.root, relative, offset: 0, length };
                let sent = self.send_warm(context.id, warm, context.mail);
                Err(if sent { NotNow::Wait } else { NotNow::Busy })
            }
            LargeOpen::Failed(_) => Err(NotNow::Busy),
        }
    }
}

/// Puts a process into a list, once: a long download of a cold file is warmed many times.
pub(super) fn remember(list: &mut Vec<ProcessId>, process: ProcessId) {
    if list.contains(&process) {
        return;
    }
    if list.len() >= REMEMBERED {
        list.remove(0);
    }
    list.push(process);
}

/// Whether a process was in a list; it is not afterwards.
fn forget(list: &mut Vec<ProcessId>, process: ProcessId) -> bool {
    match list.iter().position(|known| *known == process) {
        Some(index) => {
            list.swap_remove(index);
            true
        }
        None => false,
    }
}

fn write(
    answer: &FileAnswer<'_>,
    key: Key<'_>,
    file: Option<&Rc<FileHandle>>,
    exchange: &mut Exchange<'_, '_>,
) {
    exchange.reply.begin(answer.status);
    exchange.reply.prepared_fields(&answer.fields);
    match answer.policy {
        None => exchange.configured_fields(),
        Some(policy) => exchange.configured_fields_under(policy, b""),
    }
    exchange.reply.end_head_of_length(answer.length);
    for part in answer.parts.as_slice() {
        match part {
            Part::Memory { bytes, range } => exchange.reply.body_shared(SharedBytes {
                bytes: Arc::clone(bytes),
                start: range.start,
                end: range.end,
            }),
            Part::File { offset, length } => {
                let (Some(file), Some(large)) = (file, answer.large) else { continue };
                exchange.reply.body_file(FileRegion {
                    file: Rc::clone(file),
                    name: FileName { root: key.root.0, relative: Arc::clone(&large.relative) },
                    offset: *offset,
                    length: *length,
                });
            }
        }
    }
}
