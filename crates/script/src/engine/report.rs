//! From a Lua error to one that names the page and the line.
//!
//! Owns the parsing of messages and stacks. Never runs anything.

use std::ops::Range;
use std::time::Duration;

use crate::engine::error::{Fault, ScriptError, TracebackFrame};
use crate::engine::ffi::{CallFault, NATIVE, Stack};
use crate::engine::library;
use crate::engine::seen::{LostCall, Seen};
use crate::limits;

/// An error without a place.
pub(super) fn plain(fault: Fault, page: &str, message: &str) -> Box<ScriptError> {
    Box::new(ScriptError {
        fault,
        page: page.to_owned(),
        line: 0,
        message: message.to_owned(),
        traceback: Vec::new(),
    })
}

/// There was no memory to begin.
pub(super) fn out_of_memory(page: &str) -> Box<ScriptError> {
    plain(Fault::Memory, page, "not enough memory")
}

/// A call of the engine itself to Lua failed.
pub(super) fn of_call(fault: CallFault, page: &str) -> Box<ScriptError> {
    match fault {
        CallFault::OutOfMemory => out_of_memory(page),
        CallFault::Raised(message) => plain(Fault::Runtime, page, &message),
    }
}

/// LuaJIT's message beyond `LJ_MAX_XLEVEL`, of which the page itself takes a few.
const TOO_DEEP: &str = "chunk has too many syntax levels";

/// The same with the limit and the fix.
const TOO_DEEP_SPOKEN: &str = "more blocks, functions and brackets are within each other than Lua takes, \
    some 195 (a function counts twice): make functions of their own, or parts, of the inner ones";

/// The beginning of the message if code follows a `return`. LuaJIT's own message follows, whose token gives the column.
const RETURN_IS_LAST: &str = "`return` has to be the last statement of its block: ";

/// Tokens that end a block, after which LuaJIT expects other tokens for reasons of its own.
const BLOCK_ENDS: [&str; 5] = ["'end'", "'else'", "'elseif'", "'until'", "'<eof>'"];

/// Whether a block has ended where its code continues, which only happens after `return`.
fn is_behind_return(text: &str) -> bool {
    let begins =
        |word: &str| text.strip_prefix(word).is_some_and(|rest| rest.starts_with(" expected"));
    let near = text.rsplit_once(" near ").map_or("", |(_, near)| near);
    BLOCK_ENDS.into_iter().any(begins) && !near.is_empty() && !BLOCK_ENDS.contains(&near)
}

/// A text did not compile: the message begins with chunk and line.
pub(super) fn of_compiling(fault: CallFault, page: &str, chunk: &str) -> Box<ScriptError> {
    let CallFault::Raised(message) = fault else { return out_of_memory(page) };
    let (line, text) = split_place(&message, chunk);
    let text = if text.starts_with(TOO_DEEP) { TOO_DEEP_SPOKEN } else { text };
    let hint = if is_behind_return(text) { RETURN_IS_LAST } else { "" };
    let mut error = plain(Fault::Compile, page, &format!("{hint}{text}"));
    error.line = line.unwrap_or(0);
    error
}

/// An error was raised and not caught.
pub(super) fn raised(
    fault: Fault,
    page: &str,
    stack: Stack,
    lost: &[LostCall],
    message: String,
) -> Box<ScriptError> {
    // If the caller is unknown, Lua names the library instead.
    let is_library = |place: &str| place.starts_with(library::MARK.trim_start_matches('='));
    let message = match message.split_once(": ") {
        Some((place, text)) if is_library(place) => text.to_owned(),
        _ => message,
    };
    placed(fault, page, stack, lost, message)
}

/// A message as text, with a limited length.
pub(super) fn shortened(message: &[u8]) -> String {
    let begin = &message[..message.len().min(limits::MESSAGE_TEXT_SIZE)];
    let mut text = String::from_utf8_lossy(begin).into_owned();
    let missing = message.len() - begin.len();
    if missing > 0 {
        text.push_str(&format!(" .. ({missing} bytes more)"));
    }
    text
}

/// The memory was used up while the page ran, last seen at that place; or a table exceeded this limit.
pub(super) fn out_of_memory_at(
    page: &str,
    stack: Stack,
    seen: Option<&Seen>,
    largest: Option<usize>,
) -> Box<ScriptError> {
    let (fault, message) = match largest {
        Some(bytes) => {
            let bound = size(bytes as u64);
            let told =
                format!("a table grows beyond {bound}: keep so much in several smaller ones");
            (Fault::TableSize, told)
        }
        None => (Fault::Memory, "not enough memory".to_owned()),
    };
    let mut error = placed(fault, page, stack, &[], message);
    if let (0, Some(seen)) = (error.line, seen) {
        (error.page, error.line) = (seen.page.clone(), seen.line);
        // Without a line it says nothing beyond the place.
        error.traceback.retain(|frame| frame.line != 0);
    }
    error
}

/// It waits where that is not allowed: while it is loaded.
pub(super) fn waiting(page: &str, stack: Stack) -> Box<ScriptError> {
    placed(Fault::Compile, page, stack, &[], "it waits while it is loaded".to_owned())
}

/// The page used up its time.
pub(super) fn out_of_time(page: &str, stack: Stack, budget: Duration) -> Box<ScriptError> {
    let message = format!("used more than {} ms of CPU time", budget.as_millis());
    placed(Fault::CpuBudget, page, stack, &[], message)
}

/// The page holds more memory than it may.
pub(super) fn out_of_own_memory(page: &str, stack: Stack, bound: u64) -> Box<ScriptError> {
    placed(Fault::Memory, page, stack, &[], format!("holds more than {} of memory", size(bound)))
}

/// The page held the most memory when others needed some.
pub(super) fn ended_for_room(page: &str, stack: Stack, held: u64) -> Box<ScriptError> {
    let tenths = held.saturating_mul(10) >> 20;
    let message = format!(
        "ended to make room for others: memory is short, and it held the most, {}.{} MiB",
        tenths / 10,
        tenths % 10
    );
    placed(Fault::Memory, page, stack, &[], message)
}

/// A size in the largest unit in which it is an integer.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes if bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} bytes"),
    }
}

/// The page ran where it cannot be interrupted.
pub(super) fn stalled(page: &str, stack: Stack) -> Box<ScriptError> {
    let message = "ran for too long inside a library function, where it cannot be interrupted";
    placed(Fault::Stalled, page, stack, &[], message.to_owned())
}

/// The page did not finish in time.
pub(super) fn late(page: &str, stack: Stack, bound: Duration) -> Box<ScriptError> {
    let message = format!("took longer than {bound:?}, waits included");
    placed(Fault::Deadline, page, stack, &[], message)
}

/// It was ended from outside, for this reason.
pub(super) fn ended(page: &str, stack: Stack, why: &str) -> Box<ScriptError> {
    placed(Fault::Stopped, page, stack, &[], why.to_owned())
}

/// Where a suspended run is: the calls that led there, innermost first.
pub(super) fn calls(stack: Stack) -> Vec<TracebackFrame> {
    traceback(stack, &[])
}

/// Takes the place from the traceback, and removes it from the message if it begins with one.
fn placed(
    fault: Fault,
    page: &str,
    stack: Stack,
    lost: &[LostCall],
    message: String,
) -> Box<ScriptError> {
    let mut traceback = traceback(stack, lost);
    if let Some(innermost) = traceback.first_mut().filter(|frame| frame.line == 0) {
        // For a function that raised the error itself, Lua does not record the line; its message has it.
        innermost.line = split_place(&message, &innermost.page).0.unwrap_or(0);
        if let [inner, outer, ..] = &mut *traceback
            && inner.is_at(outer)
        {
            outer.times += inner.times;
            traceback.remove(0);
        }
    }
    let mut error = plain(fault, page, "");
    // For lack of memory, Lua does not record where the innermost function was; its caller is near.
    let is_forgotten = matches!(fault, Fault::Memory | Fault::TableSize);
    let known = traceback.iter().find(|frame| frame.line != 0 || !is_forgotten);
    if let Some(nearest) = known.or(traceback.first()) {
        error.page.clone_from(&nearest.page);
        error.line = nearest.line;
    }
    // An error may concern another level than the innermost: the place in the message counts.
    let is_code =
        |chunk: &str| is_named_as_code(chunk) || traceback.iter().any(|frame| frame.page == chunk);
    match any_place(&message).filter(|placed| is_code(placed.chunk)) {
        Some(PlacedText { chunk, line, text }) => {
            (error.page, error.line) = (chunk.to_owned(), line);
            error.message = text.to_owned();
        }
        None => error.message = message,
    }
    error.traceback = traceback;
    Box::new(*error)
}

/// A frame, and the number of levels from its first to its last one, including those that are not pages.
struct Span {
    frame: TracebackFrame,
    levels: usize,
}

/// The levels in pages or modules: of very many, the innermost and the outermost.
fn traceback(stack: Stack, lost: &[LostCall]) -> Vec<TracebackFrame> {
    let depth = stack.depth();
    let inner = depth.min(limits::TRACEBACK_LEVELS);
    let outer = inner.max(depth.saturating_sub(limits::TRACEBACK_OUTER_LEVELS));
    let (mut spans, mut rest) = (spans(stack, 0..inner, lost), spans(stack, outer..depth, lost));
    if let (Some(last), Some(first)) = (spans.last_mut(), rest.first()) {
        // If only recursion is visible on both sides of the omitted levels, the omitted levels are recursion too.
        let is_pure = |span: &Span| span.levels == span.frame.times && span.levels > 1;
        let gap = usize::try_from(outer - inner).unwrap_or(0);
        if last.frame.is_at(&first.frame) && (gap == 0 || is_pure(last)) {
            last.frame.times += gap + first.frame.times;
            rest.remove(0);
        }
    }
    spans.append(&mut rest);
    spans.into_iter().map(|span| span.frame).collect()
}

/// The frames of these levels.
fn spans(stack: Stack, levels: Range<i32>, lost: &[LostCall]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (level, point) in levels.map_while(|level| Some((level, stack.trace_point(level)?))) {
        let is_library = point.chunk.starts_with(library::MARK);
        if !is_library && point.chunk != NATIVE {
            let page = point.chunk.trim_start_matches(['=', '@']).to_owned();
            let frame =
                TracebackFrame { page, line: point.line, function: point.function, times: 1 };
            match spans.last_mut().filter(|inner| inner.frame.is_at(&frame)) {
                Some(inner) => inner.frame.times += 1,
                None => spans.push(Span { frame, levels: 0 }),
            }
        }
        if let Some(call) = lost.iter().find(|call| call.level == level) {
            let (page, line) = (call.page.clone(), call.line);
            let frame = TracebackFrame { page, line, function: String::new(), times: 1 };
            spans.push(Span { frame, levels: 0 });
        }
        let Some(inner) = spans.last_mut() else { continue };
        inner.levels += 1;
        if is_library {
            // A function that the library calls has a name from the library, which means nothing to a page's author.
            inner.frame.function.clear();
        }
    }
    // A frame whose function has lost its name may now be at the same place as the previous frame.
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        match joined.last_mut().filter(|inner| inner.frame.is_at(&span.frame)) {
            Some(inner) => {
                inner.frame.times += span.frame.times;
                inner.levels += span.levels;
            }
            None => joined.push(span),
        }
    }
    joined
}

impl TracebackFrame {
    fn is_at(&self, other: &TracebackFrame) -> bool {
        (self.line, &self.page, &self.function) == (other.line, &other.page, &other.function)
    }
}

/// A text that Lua has put behind a place.
#[derive(Debug, PartialEq, Eq)]
struct PlacedText<'t> {
    chunk: &'t str,
    line: u32,
    text: &'t str,
}

/// Splits `chunk:line: text` for any chunk whose name has no spaces.
fn any_place(message: &str) -> Option<PlacedText<'_>> {
    let (place, text) = message.split_once(": ")?;
    let (chunk, line) = place.rsplit_once(':')?;
    let is_name = !chunk.is_empty() && !chunk.contains(char::is_whitespace);
    let line = line.parse().ok()?;
    is_name.then_some(PlacedText { chunk, line, text })
}

/// Whether a chunk has the name of a page or module; a message may also begin with a host and a port.
fn is_named_as_code(chunk: &str) -> bool {
    chunk.contains(".page.") || chunk.ends_with(".lua")
}

/// Splits `chunk:line: text`.
fn split_place<'text>(message: &'text str, chunk: &str) -> (Option<u32>, &'text str) {
    let placed = || {
        let (line, text) = message.strip_prefix(chunk)?.strip_prefix(':')?.split_once(": ")?;
        Some((line.parse().ok()?, text))
    };
    placed().map_or((None, message), |(line, text)| (Some(line), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_split_from_its_message() {
        assert_eq!(split_place("a.html:12: no: way", "a.html"), (Some(12), "no: way"));
        assert_eq!(split_place("b.html:12: no", "a.html"), (None, "b.html:12: no"));
        assert_eq!(split_place("a.html:x: no", "a.html"), (None, "a.html:x: no"));
        assert_eq!(split_place("", ""), (None, ""));
        let placed = PlacedText { chunk: "lib.a", line: 3, text: "no: way" };
        assert_eq!(any_place("lib.a:3: no: way"), Some(placed));
        assert_eq!(any_place("at 3: no"), None);
        assert_eq!(any_place("see a:3: no"), None);
        assert_eq!(any_place(":3: no"), None);
    }
}
