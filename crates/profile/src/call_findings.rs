//! Causes that the system calls of a program indicate: calls that fail, that are made far too often, or that take its
//! time.
//!
//! Owns the comparison of what was recorded with `call_causes`. Records nothing.

use std::collections::BTreeMap;

use syscalls::Errno;

use crate::call_causes::{
    ANSWERS, AT_ONCE, CROWD, DELETE_RATE, DELETES, EVENTS, FAILURES, FOR_NOTHING, Failure, LINE,
    LOOK_NS, MANY, MANY_SHARE, MOVES, MUCH, OF_FILES, OF_REQUESTS, PIECES, PLACED_WRITES, QUICK,
    REFUSED_PART, REFUSED_RATE, SLEEPS, SLOW_NS, SLOW_SHARE, SMALL, SMALL_RATE, SPIN_NS, TRANSFERS,
    USES, USUAL, WORTH, WORTH_RATE,
};
use crate::calls::{error_name, name, sums};
use crate::locks::time_in_words;
use crate::signals::{HANDLER_END, STORM_RATE, STORM_SHARE};
use crate::trace::Pairs;
use crate::waits::Waits;

/// A cause that calls indicate.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFinding {
    /// The part of its time, in percent, that the thread with the most of them spent in these calls.
    pub share: f64,
    /// The part of these calls, in percent, whose failure is lost work.
    pub lost: f64,
    /// The calls and their cause, in words.
    pub text: String,
}

/// The causes that the calls of so many seconds indicate, those that cost most first.
pub fn call_findings(pairs: &Pairs, seconds: f64) -> Vec<CallFinding> {
    let seen = Seen::of(pairs, seconds);
    let mut found = seen.failures(pairs);
    found.extend(seen.uses());
    found.extend(seen.many(pairs));
    // A wait that ends at once because something else fails is not the cause.
    if found.iter().all(|one| one.lost < LOST) {
        found.extend(seen.for_nothing(pairs));
    }
    found.extend(seen.small(pairs));
    found.extend(seen.polls(pairs));
    found.extend(seen.refused(pairs));
    found.extend(seen.temporary_files());
    found.extend(seen.signals(pairs));
    found.extend(seen.slow());
    found.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    found
}

/// The same in words alone.
pub fn call_remarks(pairs: &Pairs, seconds: f64) -> Vec<String> {
    call_findings(pairs, seconds).into_iter().map(|finding| finding.text).collect()
}

/// Percent of calls that fail from which they are the cause of others.
const LOST: f64 = 50.0;

fn weight(finding: &CallFinding) -> f64 {
    finding.share.max(finding.lost)
}

/// How often a call has failed.
fn failed(pairs: &Pairs, number: u64) -> u64 {
    let errors = pairs.errors.range((number, i32::MIN)..=(number, i32::MAX));
    errors.map(|(_, count)| count).sum()
}

/// Part of the time for which a thread is taken to work at least, so that a single call is no large share.
const LEAST_WORKING: f64 = 0.02;

/// Whether a call receives something.
fn is_receive(call: &str) -> bool {
    call.starts_with("recv") || call.starts_with("read")
}

/// Whether a call writes something.
fn is_write(call: &str) -> bool {
    call.starts_with("write") || call.starts_with("pwrite")
}

/// Whether a thread waits for work in this call.
fn is_wait(number: u64) -> bool {
    let call = name(number);
    EVENTS.contains(&&*call) || SLEEPS.contains(&&*call)
}

/// Whether a thread sleeps as Go's runtime does before it looks again for work: nanosleep(2) itself, which C libraries
/// hardly call any more, for some microseconds.
fn spins(calls: &BTreeMap<u64, Waits>) -> bool {
    let is_one = |(number, waits): (&u64, &Waits)| {
        name(*number) == "nanosleep" && waits.time_ns < waits.count * SPIN_NS
    };
    calls.iter().any(is_one)
}

/// The calls of a recording.
struct Seen {
    seconds: f64,
    sums: BTreeMap<u64, Waits>,
    /// The number and time of each call in each thread.
    threads: BTreeMap<u32, BTreeMap<u64, Waits>>,
    /// Receives that have brought something.
    received: f64,
}

impl Seen {
    fn of(pairs: &Pairs, seconds: f64) -> Self {
        let sums = sums(pairs);
        let mut threads: BTreeMap<u32, BTreeMap<u64, Waits>> = BTreeMap::new();
        for ((number, stack), waits) in &pairs.all {
            let all = threads.entry(stack.thread).or_default().entry(*number).or_default();
            all.count += waits.count;
            all.time_ns += waits.time_ns;
        }
        let received = sums.iter().filter(|(number, _)| is_receive(&name(**number)));
        let received: u64 = received
            .map(|(number, waits)| waits.count.saturating_sub(failed(pairs, *number)))
            .sum();
        Self { seconds, sums, threads, received: received as f64 }
    }

    /// The share of its working time, in percent, that the thread with the most of these calls spent in them.
    fn share(&self, numbers: &[u64]) -> f64 {
        // The thread of a runtime that only looks at the clock from time to time works for nobody.
        let is_sleep = numbers.iter().any(|number| name(*number).ends_with("nanosleep"));
        let is_meant = |calls: &&BTreeMap<u64, Waits>| {
            !is_sleep || (calls.keys().any(|number| is_receive(&name(*number))) && !spins(calls))
        };
        let of = |calls: &BTreeMap<u64, Waits>| {
            let time = |number: &u64| calls.get(number).map(|waits| waits.time_ns);
            let time: u64 = numbers.iter().filter_map(time).sum();
            let is_other = |number: &u64| !numbers.contains(number) && is_wait(*number);
            let waits: u64 = calls
                .iter()
                .filter(|(number, _)| is_other(number))
                .map(|(_, one)| one.time_ns)
                .sum();
            let working =
                (self.seconds * 1e9 - waits as f64).max(self.seconds * 1e9 * LEAST_WORKING);
            time as f64 * 100.0 / working
        };
        self.threads.values().filter(is_meant).map(of).fold(0.0, f64::max).min(100.0)
    }

    fn count(&self, numbers: &[u64]) -> f64 {
        let counts = numbers.iter().filter_map(|number| self.sums.get(number));
        counts.map(|waits| waits.count as f64).sum()
    }

    fn numbers(&self, is_meant: impl Fn(&str) -> bool) -> Vec<u64> {
        self.sums.keys().copied().filter(|number| is_meant(&name(*number))).collect()
    }

    fn failures(&self, pairs: &Pairs) -> Vec<CallFinding> {
        let mut found = Vec::new();
        for ((number, error), count) in &pairs.errors {
            let calls = self.sums.get(number).map_or(1, |waits| waits.count.max(1));
            let (part, call) = (*count as f64 / calls as f64, name(*number));
            let is_cause = |(known, calls, ..): &&(Errno, &[&str], Failure, &str)| {
                known.into_raw() == *error && calls.iter().any(|begin| call.starts_with(begin))
            };
            let Some((known, _, failure, cause)) = FAILURES.iter().find(is_cause) else { continue };
            let usual = USUAL.iter().find(|(usual, ..)| usual == known);
            // What makes something anew does not try it again and again until nothing is left.
            let is_start =
                ["clone", "io_setup", "timer_create"].iter().any(|begin| call.starts_with(begin))
                    || call.ends_with("fork");
            let (least, rate) = usual
                .filter(|_| !is_start)
                .map_or((WORTH, WORTH_RATE), |(_, least, rate)| (*least, *rate));
            if part < least || (*count as f64) < self.seconds * rate {
                continue;
            }
            let percent = part * 100.0;
            // Something beside the requests that fails now and then loses none of them.
            let of_requests = (*count as f64 / self.received.max(1.0)).min(1.0);
            let error = error_name(*error);
            found.push(CallFinding {
                share: self.share(&[*number]) * part,
                lost: if *failure == Failure::Loses { percent * of_requests } else { 0.0 },
                text: format!("{call}: {percent:.0} % fail with {error}: {cause}"),
            });
        }
        found
    }

    fn uses(&self) -> Vec<CallFinding> {
        let finding = |(calls, rate, least, cause): &(&[&str], f64, f64, &str)| {
            let numbers = self.numbers(|call| calls.contains(&call));
            let (count, share) = (self.count(&numbers), self.share(&numbers));
            let is_worth = count >= rate * self.seconds && share >= *least;
            is_worth.then(|| self.finding(&numbers, cause))
        };
        USES.iter().filter_map(finding).collect()
    }

    /// Calls that no request needs so often.
    fn many(&self, pairs: &Pairs) -> Vec<CallFinding> {
        let is_known = |call: &str| {
            USES.iter().any(|(calls, ..)| calls.contains(&call))
                || OF_REQUESTS.iter().any(|begin| call.starts_with(begin))
        };
        let mut numbers = self.numbers(|call| !is_known(call));
        numbers.retain(|number| *number != HANDLER_END);
        // What moves much at once is the work itself.
        let is_transfer = |number: u64| {
            let is_it = TRANSFERS.contains(&&*name(number));
            is_it && self.mean_bytes(pairs, number) >= MUCH
        };
        let is_many = |number: &u64| {
            !is_transfer(*number)
                && self.count(&[*number]) >= MANY * self.received.max(1.0)
                && self.share(&[*number]) >= MANY_SHARE
        };
        let many = numbers.into_iter().filter(is_many);
        many.map(|number| {
            let each = self.count(&[number]) / self.received.max(1.0);
            self.finding(&[number], &format!("{each:.0} for each receive"))
        })
        .collect()
    }

    /// Waits that end at once although nothing has come.
    fn for_nothing(&self, pairs: &Pairs) -> Option<CallFinding> {
        let numbers = self.numbers(|call| EVENTS.contains(&call));
        let count = self.count(&numbers);
        let time: u64 =
            numbers.iter().filter_map(|number| self.sums.get(number)).map(|one| one.time_ns).sum();
        let is_at_once = time as f64 / count.max(1.0) < AT_ONCE;
        let events: u64 = numbers.iter().filter_map(|number| pairs.results.get(number)).sum();
        // A server that polls on purpose mostly gets none.
        let is_at_once = is_at_once && events as f64 >= count / 2.0;
        let is_for_nothing =
            count >= FOR_NOTHING.0 * self.seconds && count >= FOR_NOTHING.1 * self.received;
        (is_at_once && is_for_nothing).then(|| {
            let cause = "most of them end at once, and nothing is read: an event that nobody takes (a level-triggered \
                         EPOLLOUT, an error)";
            let spent = self.finding(&numbers, cause);
            // The thread does nothing else between these calls.
            CallFinding { share: 100.0 * (1.0 - self.received / count.max(1.0)), ..spent }
        })
    }

    /// Reads and writes of some bytes each.
    fn small(&self, pairs: &Pairs) -> Vec<CallFinding> {
        let numbers = self.numbers(|call| MOVES.contains(&call));
        let mean = |number: u64| self.mean_bytes(pairs, number);
        let answers = self.numbers(|call| ANSWERS.contains(&call));
        let answers: u64 = answers.iter().map(|number| self.succeeded(pairs, *number)).sum();
        // One for each request, or for each answer, may be as small as that.
        let pieces = |number: u64| {
            let others = if is_write(&name(number)) { self.received } else { answers as f64 };
            self.succeeded(pairs, number) as f64 / others.max(1.0)
        };
        let is_small = |number: &u64| {
            let (mean, pieces) = (mean(*number), pieces(*number));
            let is_line = is_write(&name(*number)) && mean <= LINE;
            self.succeeded(pairs, *number) as f64 >= SMALL_RATE * self.seconds
                && ((mean <= SMALL && pieces >= PIECES) || (is_line && pieces >= MANY))
                && self.share(&[*number]) >= MANY_SHARE
        };
        let finding = |number: u64| {
            let (mean, each) = (mean(number), pieces(number));
            let cause = match is_write(&name(number)) {
                false => format!("{mean:.1} bytes each: a buffer makes few of them"),
                true => format!(
                    "{mean:.1} bytes each, {each:.0} for each receive: a buffer makes few of them, and a lower log \
                     level, if it is a log"
                ),
            };
            self.finding(&[number], &cause)
        };
        numbers.into_iter().filter(is_small).map(finding).collect()
    }

    /// Connections that are closed without having been read from.
    fn refused(&self, pairs: &Pairs) -> Option<CallFinding> {
        let (closed, all) = (pairs.refused.closed_unread as f64, pairs.refused.accepted as f64);
        let is_many = closed >= REFUSED_RATE * self.seconds && closed >= REFUSED_PART * all;
        let lost = 100.0 * closed / all.max(1.0);
        let text = format!(
            "accept: {lost:.0} % of {:.0} new connections a second are closed again with nothing read from them: a \
             limit of the server (worker_connections of nginx), or an address that it refuses",
            all / self.seconds
        );
        is_many.then_some(CallFinding { share: 0.0, lost, text })
    }

    /// Files that are written and deleted again.
    fn temporary_files(&self) -> Option<CallFinding> {
        let numbers = |names: &[&str]| self.numbers(|call| names.contains(&call));
        let (deletes, writes) = (numbers(&DELETES), numbers(&PLACED_WRITES));
        let (deleted, written) = (self.count(&deletes), self.count(&writes));
        let all = [writes, deletes, numbers(&OF_FILES)].concat();
        let is_worth = deleted >= DELETE_RATE * self.seconds
            && written >= deleted
            && self.share(&all) >= MANY_SHARE;
        is_worth.then(|| {
            let rate = deleted / self.seconds;
            let cause = format!(
                "{rate:.0} temporary files a second are written and deleted: answers or uploads that its buffers do \
                 not hold (proxy_buffers, proxy_max_temp_file_size, client_body_buffer_size of nginx), or that \
                 clients take slowly"
            );
            self.finding(&all, &cause)
        })
    }

    /// Signals whose handlers take much of its time.
    fn signals(&self, pairs: &Pairs) -> Option<CallFinding> {
        let (name, cause) = pairs.signals.cause()?;
        let rate = self.count(&[HANDLER_END]) / self.seconds;
        let share = self.share(&[HANDLER_END]);
        let text = format!(
            "{name}: {rate:.0} signals a second, {share:.0} % of a thread's working time in their handlers: {cause}"
        );
        let is_storm = rate >= STORM_RATE && share >= STORM_SHARE;
        is_storm.then_some(CallFinding { share, lost: 0.0, text })
    }

    /// Calls that look at thousands of descriptors, one by one: at most for their time, which has that of sleeping.
    fn polls(&self, pairs: &Pairs) -> Vec<CallFinding> {
        let finding = |(number, watched): (&u64, &u64)| {
            let mean = *watched as f64 / self.count(&[*number]).max(1.0);
            let looked = *watched as f64 * LOOK_NS / self.seconds / 1e7;
            let cause = format!(
                "{mean:.0} descriptors each, which the kernel looks at one by one: epoll(7) takes no time for \
                 connections that are idle"
            );
            let found = self.finding(&[*number], &cause);
            let share = found.share.min(looked);
            (mean >= CROWD && share >= MANY_SHARE).then_some(CallFinding { share, ..found })
        };
        pairs.watched.iter().filter_map(finding).collect()
    }

    /// Calls that wait although they could end at once.
    fn slow(&self) -> Vec<CallFinding> {
        let mean = |number: u64| {
            let waits = self.sums.get(&number).copied().unwrap_or_default();
            waits.time_ns as f64 / waits.count.max(1) as f64
        };
        let is_slow =
            |number: &u64| mean(*number) >= SLOW_NS && self.share(&[*number]) >= SLOW_SHARE;
        let slow = self.numbers(|call| QUICK.contains(&call)).into_iter().filter(is_slow);
        slow.map(|number| {
            let cause = format!(
                "{} each: it waits there, for a disk (O_SYNC), a pipe or a slow client: see profile --off-cpu",
                time_in_words(mean(number))
            );
            self.finding(&[number], &cause)
        })
        .collect()
    }

    /// Bytes that each of these calls moved.
    fn mean_bytes(&self, pairs: &Pairs, number: u64) -> f64 {
        let bytes = pairs.results.get(&number).copied().unwrap_or(0);
        bytes as f64 / self.succeeded(pairs, number).max(1) as f64
    }

    fn succeeded(&self, pairs: &Pairs, number: u64) -> u64 {
        let all = self.sums.get(&number).map_or(0, |waits| waits.count);
        all.saturating_sub(failed(pairs, number))
    }

    fn finding(&self, numbers: &[u64], cause: &str) -> CallFinding {
        let most = numbers.iter().max_by_key(|number| self.sums.get(number).map(|one| one.count));
        let call = most.map_or_else(String::new, |number| name(*number));
        let (rate, share) = (self.count(numbers) / self.seconds, self.share(numbers));
        let text = format!(
            "{call}: {rate:.0} calls a second, {share:.0} % of a thread's working time: {cause}"
        );
        CallFinding { share, lost: 0.0, text }
    }
}

#[cfg(test)]
mod tests {
    use syscalls::Sysno;

    use super::*;
    use crate::record::Stack;

    fn calls(all: &[(Sysno, u64, u64)]) -> Pairs {
        let mut pairs = Pairs::default();
        for (call, count, time_ns) in all {
            let waits = Waits { count: *count, time_ns: *time_ns };
            pairs.all.insert((*call as u64, Stack::default()), waits);
        }
        pairs
    }

    fn told(pairs: &Pairs, seconds: f64) -> Vec<String> {
        let first = |text: String| text.split(' ').take(7).collect::<Vec<_>>().join(" ");
        call_remarks(pairs, seconds).into_iter().map(first).collect()
    }

    #[test]
    fn errors_indicate_causes() {
        let mut pairs = calls(&[(Sysno::openat, 200, 200), (Sysno::read, 200, 200)]);
        for call in [Sysno::openat, Sysno::read] {
            pairs.errors.insert((call as u64, Errno::ENOENT.into_raw()), 150);
        }
        assert_eq!(told(&pairs, 0.2), ["openat: 75 % fail with ENOENT: it"]);
        assert!(call_remarks(&pairs, 1.0).is_empty());
        // To accept until nothing is left is usual.
        let mut herd = calls(&[(Sysno::accept4, 1_000, 1_000_000)]);
        herd.errors.insert((Sysno::accept4 as u64, Errno::EAGAIN.into_raw()), 500);
        assert!(call_remarks(&herd, 1.0).is_empty());
        herd.errors.insert((Sysno::accept4 as u64, Errno::EAGAIN.into_raw()), 900);
        assert_eq!(told(&herd, 1.0), ["accept4: 90 % fail with EAGAIN: threads"]);
    }

    #[test]
    fn an_error_means_for_some_calls_what_it_means_for_no_other() {
        for (call, error, limit) in [
            (Sysno::inotify_init1, Errno::EMFILE, "fs.inotify.max_user_instances"),
            (Sysno::inotify_add_watch, Errno::ENOSPC, "fs.inotify.max_user_watches"),
            (Sysno::epoll_ctl, Errno::ENOSPC, "fs.epoll.max_user_watches"),
            (Sysno::io_setup, Errno::EAGAIN, "fs.aio-max-nr"),
            (Sysno::io_uring_setup, Errno::ENOMEM, "ulimit -l"),
            (Sysno::openat, Errno::EMFILE, "LimitNOFILE"),
        ] {
            let mut pairs = calls(&[(call, 100, 100)]);
            pairs.errors.insert((call as u64, error.into_raw()), 50);
            let told = call_remarks(&pairs, 1.0);
            assert!(told.len() == 1 && told[0].contains(limit), "{told:?}");
        }
    }

    #[test]
    fn calls_that_cost_and_those_that_no_request_needs_are_named() {
        let pairs = calls(&[
            (Sysno::read, 1_000, 1_000_000),
            (Sysno::newfstatat, 50_000, 300_000_000),
            (Sysno::getppid, 20_000, 80_000_000),
            (Sysno::setsockopt, 1_000, 1_000_000),
        ]);
        let told = told(&pairs, 1.0);
        let wanted =
            ["newfstatat: 50000 calls a second, 30 %", "getppid: 20000 calls a second, 8 %"];
        assert_eq!(told, wanted);
    }

    #[test]
    fn a_runtime_that_spins_in_short_sleeps_is_told_from_a_program_that_polls() {
        let sleeps = |call: Sysno, mean_ns: u64| {
            told(&calls(&[(Sysno::read, 900, 90_000), (call, 5_000, 5_000 * mean_ns)]), 1.0)
        };
        assert_eq!(sleeps(Sysno::nanosleep, 60_000), [""; 0]);
        assert_eq!(sleeps(Sysno::nanosleep, 150_000), ["nanosleep: 5000 calls a second, 75 %"]);
        let usual = ["clock_nanosleep: 5000 calls a second, 30 %"];
        assert_eq!(sleeps(Sysno::clock_nanosleep, 60_000), usual);
    }

    #[test]
    fn temporary_files_are_named_where_files_are_written_and_deleted() {
        let files = |deleted| {
            let mut pairs = calls(&[
                (Sysno::readv, 5_000, 100_000),
                (Sysno::pwritev, 4_000, 90_000_000),
                (Sysno::unlink, deleted, 100_000),
            ]);
            pairs.results.insert(Sysno::pwritev as u64, 4_000 << 15);
            pairs.results.insert(Sysno::readv as u64, 5_000 << 15);
            told(&pairs, 1.0)
        };
        assert_eq!(files(20), ["pwritev: 4020 calls a second, 9 %"]);
        assert_eq!(files(2), [""; 0], "it only writes");
        assert_eq!(files(9_000), [""; 0], "it only deletes");
    }

    #[test]
    fn signals_are_named_by_their_number_if_their_handlers_take_time() {
        let storm = |count: u64, time_ns| {
            let mut pairs = calls(&[(Sysno::read, 10, 9), (Sysno::rt_sigreturn, count, time_ns)]);
            // The upper half of the field is another one.
            (0..count).for_each(|_| pairs.signals.note(27 | 5 << 32));
            pairs.signals.note(40);
            told(&pairs, 1.0)
        };
        assert_eq!(storm(16_000, 80_000_000), ["SIGPROF: 16000 signals a second, 8 %"]);
        assert_eq!(storm(16_000, 8_000_000), [""; 0], "they are short");
        assert_eq!(storm(400, 80_000_000), [""; 0], "they are few");
    }

    #[test]
    fn a_crowd_of_descriptors_and_refused_connections_are_named() {
        let call = Sysno::ppoll;
        let mut pairs = calls(&[(call, 600, 900_000_000)]);
        pairs.watched.insert(call as u64, 600 * 2_000);
        pairs.refused.accepted = 900;
        pairs.refused.closed_unread = 600;
        let poll = format!("{}: 600 calls a second, 90 %", call.name());
        assert_eq!(told(&pairs, 1.0), ["accept: 67 % of 900 new connections", &poll]);
        assert_eq!(call_findings(&pairs, 1.0)[1].share, 60.0);
        // Few descriptors, and few connections.
        pairs.watched.insert(call as u64, 600 * 450);
        pairs.refused.closed_unread = 9;
        assert!(told(&pairs, 1.0).is_empty());
    }

    #[test]
    fn slow_writes_and_small_reads_are_named() {
        let mut pairs = calls(&[(Sysno::write, 200, 900_000_000), (Sysno::read, 200, 200_000)]);
        assert_eq!(told(&pairs, 1.0), ["write: 200 calls a second, 90 %"]);
        pairs = calls(&[(Sysno::read, 90_000, 200_000_000)]);
        pairs.results.insert(Sysno::read as u64, 90_000);
        assert_eq!(told(&pairs, 1.0), ["read: 90000 calls a second, 20 %"]);
        pairs.results.insert(Sysno::read as u64, 90_000_000);
        assert_eq!(told(&pairs, 1.0), [""; 0]);
    }

    /// As many reads and writes of these bytes.
    fn moved((reads, each_read): (u64, u64), (writes, each_written): (u64, u64)) -> Pairs {
        let all = [(Sysno::read, reads, 200_000_000), (Sysno::write, writes, 300_000_000)];
        let mut pairs = calls(&all);
        pairs.results.insert(Sysno::read as u64, reads * each_read);
        pairs.results.insert(Sysno::write as u64, writes * each_written);
        pairs
    }

    #[test]
    fn a_file_that_is_read_in_large_parts_is_the_work_itself() {
        let parts = |bytes: u64| {
            let call = Sysno::pread64;
            let mut pairs = calls(&[(Sysno::read, 100, 9), (call, 6_000, 200_000_000)]);
            pairs.results.insert(call as u64, 6_000 * bytes);
            told(&pairs, 1.0)
        };
        assert_eq!(parts(32_768), [""; 0]);
        assert_eq!(parts(100), ["pread64: 6000 calls a second, 20 %"]);
    }

    #[test]
    fn short_requests_and_answers_are_no_pieces() {
        let redis = moved((30_000, 14), (30_000, 5));
        assert_eq!(told(&redis, 1.0), [""; 0]);
    }

    #[test]
    fn many_lines_for_each_request_are_a_log() {
        let log = moved((3_000, 90), (210_000, 80));
        assert_eq!(told(&log, 1.0), ["write: 210000 calls a second, 30 %"]);
        let file = moved((3_000, 90), (210_000, 8_000));
        assert_eq!(told(&file, 1.0), [""; 0]);
    }

    #[test]
    fn waits_for_nothing_are_told_from_requests() {
        let quick = |reads| {
            let mut pairs =
                calls(&[(Sysno::epoll_wait, 100_000, 100_000_000), (Sysno::read, reads, 9)]);
            pairs.results.insert(Sysno::epoll_wait as u64, 100_000);
            pairs
        };
        assert_eq!(told(&quick(90_000), 1.0), [""; 0]);
        assert_eq!(told(&quick(500), 1.0), ["epoll_wait: 100000 calls a second, 10 %"]);
        // One that polls on purpose gets no events.
        let mut polls = quick(500);
        polls.results.clear();
        assert!(call_remarks(&polls, 1.0).is_empty());
        let slow = calls(&[(Sysno::epoll_wait, 9_000, 900_000_000)]);
        assert!(call_remarks(&slow, 1.0).is_empty());
    }
}
