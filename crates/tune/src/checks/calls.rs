//! Calls that the server makes again and again, and things it was started with that slow it.

use crate::calls::{self, CostlyCalls, Opened, ServerCalls};
use crate::check::{Check, Gain, Risk};
use crate::debugging_aids::{self, SwitchedOn};
use crate::finding::{Finding, Judged, Percent};
use crate::host::HostReading;

use super::asleep::sleeps_are_told;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "app.calls",
        title: "system calls that no request needs",
        gain: Gain::of(20.0, 20.0, 2.0, 2.0),
        expected: "the time that a thread spends in them",
        risk: Risk::Process,
        lost: "nothing; it takes a change of the program",
        why: "Each system call costs from a tenth of a microsecond to some microseconds. A file that is looked for \
              a hundred times, a byte that is read at a time, or an event that nobody takes can cost more than the \
              request itself.",
        fix: "`velodrome profile --pid PID --syscalls` counts all calls, with their errors; a flame graph of \
              `velodrome profile --pid PID` shows who makes them.",
        source: "syscalls(2)",
        judge: costly,
    },
    Check {
        id: "app.debug",
        title: "debugging aids and bounds of the runtime that are switched on",
        gain: Gain::of(30.0, 30.0, 10.0, 10.0),
        expected: "from a few percent (a filled allocation) to nearly everything (an emulator)",
        risk: Risk::Process,
        lost: "what they show",
        why: "Variables such as MALLOC_PERTURB_, PYTHONDEVMODE or GODEBUG, libraries such as that of the address \
              sanitizer, and programs such as valgrind check or trace what a program does, for all of its work. \
              GOMAXPROCS, GOGC, GOMEMLIMIT and UV_THREADPOOL_SIZE bound its threads, or the memory that is used before \
              garbage is collected.",
        fix: "Start the server without it: `tr '\\0' '\\n' < /proc/PID/environ`, `Environment=` of the unit, the \
              image's own variables.",
        source: "mallopt(3); ld.so(8); docs.python.org, using/cmdline; pkg.go.dev/runtime",
        judge: aids,
    },
];

pub(super) fn recorded(host: &HostReading) -> Result<ServerCalls, Finding> {
    let process = super::server(host)?;
    let text = Finding::known(host.text(&calls::place(process)), "its calls were not recorded")?;
    Ok(ServerCalls::read(&text))
}

/// How much more often than in the moment that was recorded the server may have done something between the readings,
/// and how often a second in any case.
const MORE_OFTEN: f64 = 1.5;
const IN_ANY_CASE: f64 = 8.0;

/// A count of connections of its network namespace, of which those of the server are no more than the calls with which
/// it accepts or opens them.
pub(super) fn of_server(host: &HostReading, count: u64, calls: fn(&Opened) -> f64) -> u64 {
    let Ok(ServerCalls::Seen { opened: Some(opened), .. }) = recorded(host) else { return count };
    let programs = host.now.members.len().max(1) as f64;
    let most = (calls(&opened) * MORE_OFTEN + IN_ANY_CASE) * programs;
    count.min((most * host.seconds.unwrap_or(1.0)) as u64)
}

/// Share of a thread's time, or of calls that fail, in percent, from which calls cost.
const NOTICED: f64 = 5.0;

/// The calls in which a thread sleeps by the clock, as their texts begin.
const SLEEPS: [&str; 2] = ["nanosleep", "clock_nanosleep"];

fn costly(host: &HostReading) -> Judged {
    let (rate, mut found) = match recorded(host)? {
        ServerCalls::Seen { rate, found, .. } => (rate, found),
        ServerCalls::Unseen(why) => {
            return Finding::unknown(format!("its calls may not be seen: {why}"));
        }
    };
    if sleeps_are_told(host) {
        found.retain(|one| !SLEEPS.iter().any(|call| one.text.starts_with(call)));
    }
    let weight = |one: &CostlyCalls| one.share.max(one.lost);
    let worst = found.iter().filter(|one| weight(one) >= NOTICED);
    let worst = worst.max_by(|one, other| weight(one).total_cmp(&weight(other)));
    let Some(worst) = worst else {
        return Finding::good(format!("{rate:.0} calls a second, and none too often"));
    };
    let more = match found.len() - 1 {
        0 => String::new(),
        count => format!("; {count} more in profile --syscalls"),
    };
    let text = format!("{}{more}", worst.text);
    match worst.lost > worst.share {
        // A call that fails is repeated, or answered with an error.
        true => Finding::scaled(text, Percent::between(worst.lost * 0.3, worst.lost)),
        false => Finding::measured(text, Percent::between(worst.share * 0.6, worst.share)),
    }
}

fn aids(host: &HostReading) -> Judged {
    let process = super::server(host)?;
    let text = Finding::known(
        host.text(&debugging_aids::place(process)),
        "its environment may not be read",
    )?;
    let mut found = SwitchedOn::read(&text);
    found.sort_by(|one, other| other.high.total_cmp(&one.high));
    let Some(first) = found.first() else { return Finding::good("none is known of") };
    let names: Vec<&str> = found.iter().map(|one| &*one.name).collect();
    let price = Percent::between(first.low, first.high);
    Finding::scaled(names.join(", "), price)
}
