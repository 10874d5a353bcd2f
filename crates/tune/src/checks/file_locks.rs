//! Locks of files: which file threads of the server wait for, and who has it. The check `app.lock` says so.

use crate::file_locks::{FileLocks, LockedFile, place};
use crate::host::HostReading;
use crate::processes::Process;
use crate::watching::Watched;

/// Part of the looks at which a file has to be locked to be what threads wait for.
const OFTEN: f64 = 0.1;

/// The file of the server that was locked most, with the number of looks. One that a program of the server itself keeps
/// locked all the time, such as that of its process number, is none.
fn locked(host: &HostReading) -> Option<(LockedFile, u64)> {
    let text = host.text(&place(host.process?))?;
    let (looks, all) = FileLocks::read(&text);
    let is_own = |one: &LockedFile| host.now.members.contains(&one.holder);
    let is_kept = |one: &LockedFile| is_own(one) && one.by_holder >= looks && one.waits == 0;
    let is_often = |one: &LockedFile| one.held as f64 >= OFTEN * looks as f64;
    let found = all.into_iter().filter(|one| is_often(one) && !is_kept(one));
    Some((found.max_by_key(|one| (one.waits, one.held))?, looks))
}

/// That file and who had it, in words: the end of a sentence.
pub(super) fn told(host: &HostReading) -> Option<String> {
    let (LockedFile { path, held, holder, .. }, looks) = locked(host)?;
    let name = Process::name(host, holder).unwrap_or_else(|| "a program".to_owned());
    Some(format!(
        "; {path} was locked at {held} of {looks} looks, mostly by {name} (process {holder})"
    ))
}

/// Threads that serve and sleep by the clock while a file of theirs is locked, on average, and in words: they try again
/// and again, as SQLite does.
pub(super) fn tried_again(
    host: &HostReading,
    serves: impl Fn(&Watched) -> bool,
) -> Option<(String, f64)> {
    let told = told(host)?;
    let all = host.watched();
    let share = |one: &Watched| f64::from(one.seen_in("sleep")) / f64::from(one.looks.max(1));
    let asleep: f64 = all.values().filter(|one| serves(one)).map(share).sum();
    let text = format!(
        "{asleep:.1} of {} threads sleep by the clock at any time and try again to lock a file, as SQLite does{told}",
        all.len()
    );
    Some((text, asleep))
}
