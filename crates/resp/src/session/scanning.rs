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

use channels::{ChannelMatcher, check_pattern};
use local::StoreClient;
use runtime::slots::ProcessId;
use store::{Database, ScanNumber, StoreFailure, Visited};
use wire::resp::{RespCommand, write_array, write_bulk};

use super::reply::write_failure;
use super::requested::{SYNTAX, number};
use super::{After, Call, RespClients};
use crate::limits::{SCAN_KEYS, SCAN_SIZE, STEPS_PER_KEY};

/// Default number of keys that `SCAN` visits, as in Redis.
const SCAN_COUNT: usize = 10;

/// The arguments of a scan.
struct Scan {
    /// The cursor; 0 begins a scan.
    cursor: u64,
    pattern: ChannelMatcher,
    /// Keys to visit.
    count: usize,
    /// Whether keys of the type `string` are wanted, the only one.
    wants_strings: bool,
}

/// The arguments of a scan.
struct Scanner<'s> {
    process: ProcessId,
    database: Database,
    now_ms: u64,
    store: &'s StoreClient,
    clients: &'s mut RespClients,
}

pub(super) fn run(call: &mut Call<'_, '_>) -> After {
    let scan = match read(call.command) {
        Ok(scan) => scan,
        Err(text) => return call.say_error(&text),
    };
    let Call { session, env, output, now, .. } = call;
    let Some(store) = &env.store else { return After::More };
    let mut scanner = Scanner {
        process: session.process,
        database: session.database,
        now_ms: now.unix_ms(),
        store,
        clients: env.clients,
    };
    let page = match scanner.begin(&scan) {
        Ok(Some(begun)) => scanner.page_of(&scan, &begun),
        Ok(None) => return After::Wait,
        Err(failure) => Err(failure),
    };
    match page {
        Ok(page) => page.write(output.buffer()),
        Err(failure) => write_failure(output.buffer(), &failure),
    }
    After::More
}

fn read(command: &RespCommand<'_>) -> Result<Scan, String> {
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
    let pattern = ChannelMatcher::new(pattern);
    Ok(Scan { cursor, pattern, count: count.min(SCAN_KEYS), wants_strings })
}

impl Scanner<'_> {
    /// The key at which the scan goes on; `None` if the search for it goes on in the next turn.
    fn begin(&mut self, scan: &Scan) -> Result<Option<Vec<u8>>, StoreFailure> {
        let number = ScanNumber(scan.cursor);
        if scan.cursor == 0 {
            return Ok(Some(Vec::new()));
        }
        let Self { store, clients, .. } = self;
        if let Some(key) = clients.scans.key(number) {
            return Ok(Some(key.to_vec()));
        }
        if !clients.searches.is_free_for(self.process) {
            return Ok(None);
        }
        let mut search = clients.searches.take(self.process).unwrap_or_default();
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
            steps += STEPS_PER_KEY;
            if clients.pace.is_over_after(&mut steps) {
                // This key is visited twice, so that the search need not know the next one.
                goes_on = Some(key.key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let looked = store
            .snapshot()
            .and_then(|snapshot| snapshot.visit(self.database, &from, self.now_ms, search_key));
        if goes_on.is_some() && looked.is_ok() {
            search.from = goes_on;
            clients.searches.keep(self.process, search);
            clients.searches.call(self.process);
            return Ok(None);
        }
        looked?;
        Ok(Some(found.unwrap_or_else(|| number.group_start())))
    }

    /// Visits keys until there are enough, or the time of the turn is used up.
    fn page_of(&mut self, scan: &Scan, begun: &[u8]) -> Result<Page, StoreFailure> {
        let mut page = Page::default();
        if !scan.wants_strings {
            return Ok(page);
        }
        let Self { store, clients, .. } = self;
        let prefix = scan.pattern.prefix();
        let (mut visited, mut steps, mut next) = (0, 0, None);
        store.snapshot()?.visit(self.database, begun.max(prefix), self.now_ms, |found| {
            let key = found.key;
            if !key.starts_with(prefix) {
                // Behind the last key that can match.
                return ControlFlow::Break(());
            }
            let is_late = clients.pace.is_over_after(&mut steps);
            if visited == scan.count || page.keys.len() >= SCAN_SIZE || is_late {
                next = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            visited += 1;
            steps += STEPS_PER_KEY;
            if !found.is_expired && scan.pattern.accepts(key, &mut steps) {
                write_bulk(&mut page.keys, key);
                page.count += 1;
            }
            ControlFlow::Continue(())
        })?;
        if let Some(key) = next {
            let number = ScanNumber::of(&key, store.store().scan_seed());
            clients.scans.keep(number, &key);
            page.next = number.0;
        }
        Ok(page)
    }
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
