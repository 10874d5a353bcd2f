//! `SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]`: lists some keys, and the cursor of the next ones.
//!
//! Owns what a cursor is: the number of the key at which the scan goes on. Numbers are made from keys and the number of
//! the store's file, so a cursor stays valid over restarts, on every scheduler, and however many scans run. (After a
//! compaction or with a restored copy a scan may return keys again.)
//!
//! Keys are returned in order. A key that exists during the whole scan is returned, because a scan never goes on behind
//! a key that was not visited: it goes on at the key of the cursor, or, if that key was deleted and this scheduler has
//! forgotten where it was, at the first key with the same two first bytes. A scan ends, because it moves on by at least
//! one key each time, and is moved back only by a deletion of the very key of its cursor.
//!
//! Cost: that of the visited keys. A cursor that this scheduler did not give lately costs a search through the keys
//! with the same two first bytes, about 100 ns each, in slices of a turn, one search at a time.

use std::ops::ControlFlow;

use channels::{Matcher, check_pattern};
use runtime::service::Context;
use store::{Database, Failure, ScanNumber, Visited};
use wire::resp::{Command, write_array, write_bulk};

use super::request::{SYNTAX, number};
use super::{After, Session, say_error, transaction, write_failure};
use crate::limits::{RESP_SCAN_KEYS, RESP_SCAN_SIZE, RESP_STEPS_PER_KEY};
use crate::message::Message;
use crate::resp_pace::RespPace;
use crate::site::{Site, StoreDesk};

/// Default number of keys that `SCAN` visits, as in Redis.
const SCAN_COUNT: usize = 10;

/// What a client asks for.
struct Scan {
    /// The cursor; 0 begins a scan.
    cursor: u64,
    pattern: Matcher,
    /// Keys to visit.
    count: usize,
    /// Whether keys of the type `string` are wanted, the only one.
    wants_strings: bool,
}

pub(super) fn run(
    session: &mut Session,
    command: &Command<'_>,
    site: &mut Site,
    context: &mut Context<'_, Message>,
) -> After {
    if session.keys.is_in_transaction() {
        return transaction::queue_command(session, command, context);
    }
    let scan = match read(command) {
        Ok(scan) => scan,
        Err(text) => return say_error(session, context, &text),
    };
    if !session.keys.has_answered() {
        return After::Wait;
    }
    let Some(store) = &mut site.store else { return After::More };
    let place = (session.database, context.now.unix_ms());
    let begun = match begin(session, &scan, place, store, &mut site.resp_pace) {
        Ok(Some(begun)) => begun,
        Ok(None) => return After::Wait,
        Err(failure) => {
            write_failure(context.output.buffer(), &failure);
            return After::More;
        }
    };
    match page_of(&scan, &begun, place, store, &mut site.resp_pace) {
        Ok(page) => page.write(context.output.buffer()),
        Err(failure) => write_failure(context.output.buffer(), &failure),
    }
    After::More
}

fn read(command: &Command<'_>) -> Result<Scan, String> {
    let cursor = str::from_utf8(command.argument(1)).ok().and_then(|text| text.parse().ok());
    let cursor: u64 = cursor.ok_or("ERR invalid cursor")?;
    let (mut pattern, mut count, mut wants_strings) = (&b"*"[..], SCAN_COUNT, true);
    let mut at = 2;
    while at < command.len() {
        let value = command.argument(at + 1);
        match (&*command.argument(at).to_ascii_lowercase(), command.len() - at) {
            (b"match", 2..) => pattern = value,
            (b"count", 2..) => {
                let wanted = usize::try_from(number(value)?).ok().filter(|wanted| *wanted > 0);
                count = wanted.ok_or(SYNTAX)?;
            }
            (b"type", 2..) => wants_strings = value.eq_ignore_ascii_case(b"string"),
            _ => return Err(SYNTAX.to_owned()),
        }
        at += 2;
    }
    let pattern = check_pattern(pattern).map_err(|problem| format!("ERR {problem}"))?;
    let pattern = Matcher::new(pattern);
    Ok(Scan { cursor, pattern, count: count.min(RESP_SCAN_KEYS), wants_strings })
}

/// The key at which the scan goes on; `None` if the search for it goes on in the next turn.
fn begin(
    session: &Session,
    scan: &Scan,
    place: (Database, u64),
    store: &mut StoreDesk,
    pace: &mut RespPace,
) -> Result<Option<Vec<u8>>, Failure> {
    let number = ScanNumber(scan.cursor);
    if scan.cursor == 0 {
        return Ok(Some(Vec::new()));
    }
    if let Some(key) = store.scans.key(number) {
        return Ok(Some(key.to_vec()));
    }
    let Some(mut search) = store.take_listing(session.process) else { return Ok(None) };
    let from = search.from.take().unwrap_or_else(|| number.group_start());
    let seed = store.store().scan_seed();
    let (mut found, mut steps, mut goes_on) = (None, 0, None);
    let search_key = |key: Visited<'_>| {
        if number.is_before_group_of(key.key) {
            return ControlFlow::Break(());
        }
        if ScanNumber::of(key.key, seed) == number {
            found = Some(key.key.to_vec());
            return ControlFlow::Break(());
        }
        steps += RESP_STEPS_PER_KEY;
        if pace.is_over_after(&mut steps) {
            // This key is visited twice, so that the search need not know the next one.
            goes_on = Some(key.key.to_vec());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let looked =
        store.snapshot().and_then(|snapshot| snapshot.visit(place.0, &from, place.1, search_key));
    if goes_on.is_some() && looked.is_ok() {
        search.from = goes_on;
        store.keep_listing(session.process, search);
        return Ok(None);
    }
    store.end_listing();
    looked?;
    Ok(Some(found.unwrap_or_else(|| number.group_start())))
}

/// The keys of a reply, and the next cursor.
#[derive(Default)]
struct Page {
    keys: Vec<u8>,
    count: usize,
    next: u64,
}

impl Page {
    fn write(&self, out: &mut Vec<u8>) {
        write_array(out, 2);
        write_bulk(out, self.next.to_string().as_bytes());
        write_array(out, self.count);
        out.extend_from_slice(&self.keys);
    }
}

/// Visits keys until there are enough, or the time of the turn is used up.
fn page_of(
    scan: &Scan,
    begun: &[u8],
    (database, now_ms): (Database, u64),
    store: &mut StoreDesk,
    pace: &mut RespPace,
) -> Result<Page, Failure> {
    let mut page = Page::default();
    if !scan.wants_strings {
        return Ok(page);
    }
    let prefix = scan.pattern.prefix();
    let (mut visited, mut steps, mut next) = (0, 0, None);
    store.snapshot()?.visit(database, begun.max(prefix), now_ms, |found| {
        let key = found.key;
        if !key.starts_with(prefix) {
            // Behind the last key that can match.
            return ControlFlow::Break(());
        }
        let is_late = pace.is_over_after(&mut steps);
        if visited == scan.count || page.keys.len() >= RESP_SCAN_SIZE || is_late {
            next = Some(key.to_vec());
            return ControlFlow::Break(());
        }
        visited += 1;
        steps += RESP_STEPS_PER_KEY;
        if !found.is_expired && scan.pattern.accepts(key, &mut steps) {
            write_bulk(&mut page.keys, key);
            page.count += 1;
        }
        ControlFlow::Continue(())
    })?;
    if let Some(key) = next {
        let number = ScanNumber::of(&key, store.store().scan_seed());
        store.scans.keep(number, &key);
        page.next = number.0;
    }
    Ok(page)
}
