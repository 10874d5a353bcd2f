//! The comparisons of pages, and our targets, as data.
//!
//! Never runs anything.

use crate::bench::contender::{Contender, OURS, Start};
use crate::bench::sample::Metric;
use crate::bench::target::{Against, Target};
use crate::bench::workload::{Load, Workload};

/// nginx with its Lua module.
pub(crate) const NGINX_LUA: &str = "nginx-lua";

/// A handler in Rust that sends the same bytes.
pub(crate) const RUST: &str = "rust handler";

/// yaws from the distribution.
pub(crate) const YAWS: &str = "yaws";

/// The same program as byte code.
pub(crate) const BYTE_CODE: &str = "byte code";

/// The same function in C, compiled as its flag says.
pub(crate) const C_PLAIN: &str = "gcc -O0";
pub(crate) const C_OPTIMISED: &str = "gcc -O2";

/// Ours without a harmful page.
pub(crate) const UNDISTURBED: &str = "undisturbed";

/// Pages that sleep or wait for a message concurrently.
const WAITING_PAGES: u64 = 10_000;

/// Pages that fetch concurrently: a scheduler allows 1,024 fetches.
const FETCHING_PAGES: u64 = 1_000;

/// Requests per second beside a harmful page.
pub(crate) const BESIDE_PER_SECOND: u32 = 1_000;

/// Header fields of a request, in addition to those of wrk.
type Fields = &'static [(&'static str, &'static str)];

const BROWSER: Fields = &[
    ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
    ("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("Accept-Language", "en-US,en;q=0.5"),
    ("Accept-Encoding", "gzip, deflate, br, zstd"),
    ("Cookie", "session=0123456789abcdef"),
    ("Upgrade-Insecure-Requests", "1"),
    ("Sec-Fetch-Dest", "document"),
    ("Sec-Fetch-Mode", "navigate"),
    ("Sec-Fetch-Site", "none"),
    ("Priority", "u=0, i"),
];

/// The kind of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// A page is requested with these fields.
    Page(Fields),
    /// Programs compute a function.
    Fibonacci,
    /// Pages wait for this.
    Waiting(WaitsFor),
    /// A harmful page is requested beside the measured one.
    Beside(Harm),
}

/// A page that is requested repeatedly beside the measured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Harm {
    pub(crate) path: &'static str,
    pub(crate) body: HarmBody,
    /// Its status, if only one is right.
    pub(crate) status: Option<u16>,
}

/// The request body of such a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HarmBody {
    None,
    CollidingNumbers,
}

/// The event that a waiting page waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// Time, or a message that nothing sends.
    Itself,
    /// The answer of another server that never answers.
    SilentServer,
}

/// One comparison.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) task: Task,
    pub(crate) workload: Workload,
}

const fn contender(name: &'static str, start: Start) -> Contender {
    Contender { name, start }
}

const OURS_SERVES: Contender = contender(OURS, Start::Serve);
const LUA: Contender = contender(NGINX_LUA, Start::Nginx);
const ERLANG: Contender = contender(YAWS, Start::Yaws);

const FIELD: &[Contender] = &[LUA, OURS_SERVES, ERLANG];
const HELLO_FIELD: &[Contender] =
    &[LUA, OURS_SERVES, contender(RUST, Start::Example("json")), ERLANG];

const BESIDE_FIELD: &[Contender] = &[contender(UNDISTURBED, Start::Serve), OURS_SERVES];

const fn seconds_against(name: &'static str, most: f64) -> Target {
    Target::at_most(Metric::CpuSeconds, Against::Contender(name), most)
}

const PAGE_TARGETS: &[Target] = &[Target::cpu_to(NGINX_LUA, 0.9)];
const HELLO_TARGETS: &[Target] = &[Target::cpu_to(NGINX_LUA, 0.9), Target::cpu_to(RUST, 1.25)];

const fn page(name: &'static str, title: &'static str, load: Load) -> Scenario {
    let (path, fields, contenders, targets): (_, Fields, _, _) = match name.as_bytes()[0] {
        b'a' => ("/hello", &[], HELLO_FIELD, HELLO_TARGETS),
        b'b' => ("/light?name=Ada+%26+Grace&page=12&sort=descending", BROWSER, FIELD, PAGE_TARGETS),
        b'c' => ("/heavy", &[], FIELD, PAGE_TARGETS),
        _ => ("/hello", &[], HELLO_FIELD, PAGE_TARGETS),
    };
    let workload = Workload::new(name, title, path, load, contenders, targets).always();
    Scenario { task: Task::Page(fields), workload }
}

const WAITING_TARGETS: &[Target] =
    &[Target::at_most(Metric::WaitingBytes, Against::Itself, 3072.0)];

const fn waiting(
    name: &'static str,
    title: &'static str,
    path: &'static str,
    (waits_for, connections): (WaitsFor, u64),
    contenders: &'static [Contender],
) -> Scenario {
    let load = Load::Idle { connections };
    let workload = Workload::new(name, title, path, load, contenders, WAITING_TARGETS);
    let workload = workload.always().by(Metric::WaitingBytes);
    Scenario { task: Task::Waiting(waits_for), workload }
}

const BESIDE_TARGETS: &[Target] = &[
    Target::at_most(Metric::LatencyP99, Against::Itself, 10_000.0),
    Target::at_most(Metric::Errors, Against::Itself, 0.0),
    // A rate that was not kept, or a harmful page that was never requested, shows here.
    Target::at_least(Metric::Rate, Against::Itself, 990.0),
    Target::at_least(Metric::AskedBeside, Against::Itself, 1.0),
];

/// The hello page 1,000 times per second, while one client requests another page repeatedly.
const fn beside(
    name: &'static str,
    title: &'static str,
    path: &'static str,
    status: Option<u16>,
) -> Scenario {
    let load = Load::Paced { connections: 10, percent: 50 };
    let workload = Workload::new(name, title, "/hello", load, BESIDE_FIELD, BESIDE_TARGETS);
    let task = Task::Beside(Harm { path, body: HarmBody::None, status });
    Scenario { task, workload: workload.always() }
}

const fn kept(connections: u32) -> Load {
    Load::Kept { connections }
}

const fn short(connections: u32) -> Load {
    Load::Short { connections }
}

/// All comparisons, in the order they run.
pub(crate) static SCENARIOS: &[Scenario] = &[
    page("a-1", "hello page, 1 connection", kept(1)),
    page("a-10", "hello page, 10 connections", kept(10)),
    page("a-100", "hello page, 100 connections", kept(100)),
    page("b-1", "arguments and fields of the request, 1 connection", kept(1)),
    page("b-10", "arguments and fields of the request, 10 connections", kept(10)),
    page("b-100", "arguments and fields of the request, 100 connections", kept(100)),
    page("c-1", "twenty parts and a table of 1,000 rows, 1 connection", kept(1)),
    page("c-10", "twenty parts and a table of 1,000 rows, 10 connections", kept(10)),
    page("c-100", "twenty parts and a table of 1,000 rows, 100 connections", kept(100)),
    page("d-1", "hello page, a connection for each request, 1 at a time", short(1)),
    page("d-10", "hello page, a connection for each request, 10 at a time", short(10)),
    page("d-100", "hello page, a connection for each request, 100 at a time", short(100)),
    Scenario {
        task: Task::Fibonacci,
        workload: Workload::new(
            "e",
            "fib(40), recursive",
            "",
            Load::None,
            &[
                contender(C_PLAIN, Start::Serve),
                contender(C_OPTIMISED, Start::Serve),
                contender(OURS, Start::Serve),
                contender(BYTE_CODE, Start::Serve),
            ],
            &[seconds_against(C_PLAIN, 1.0), seconds_against(BYTE_CODE, 0.2)],
        )
        .always()
        .by(Metric::CpuSeconds),
    },
    waiting(
        "f-sleep",
        "memory of a page that sleeps, besides its connection, 10,000 of them",
        "/sleep",
        (WaitsFor::Itself, WAITING_PAGES),
        FIELD,
    ),
    waiting(
        "f-receive",
        "memory of a page that waits for a message, besides its connection, 10,000 of them",
        "/receive",
        (WaitsFor::Itself, WAITING_PAGES),
        &[OURS_SERVES, ERLANG],
    ),
    waiting(
        "f-fetch",
        "memory of a page that fetches, besides its connection, with the one it makes, 1,000 of them",
        "/fetch",
        (WaitsFor::SilentServer, FETCHING_PAGES),
        &[OURS_SERVES],
    ),
    beside("g-loop", "a page without an end", "/harm/loop", Some(503)),
    beside("g-bomb", "900 processes that each fetch the page itself", "/harm/bomb", None),
    beside("g-chat", "a process that waits for ten minutes", "/harm/chat", None),
    beside("g-tick", "20 processes that wake each millisecond", "/harm/tick", None),
    beside("g-hash", "a table of a million names", "/harm/hash", None),
    beside("g-array", "an array of two million numbers", "/harm/array", None),
    beside("g-sparse", "`next` over a table that was emptied", "/harm/sparse", None),
    beside("g-digits", "arithmetic with a text of a million digits", "/harm/digits", None),
    beside("g-byte", "`byte` of 7,000 characters", "/harm/byte", None),
    beside("g-strings", "new strings without an end", "/harm/strings", None),
    Scenario {
        task: Task::Beside(Harm {
            path: "/harm/collide",
            body: HarmBody::CollidingNumbers,
            status: None,
        }),
        ..beside("g-collide", "16,000 numbers of one hash as keys", "", None)
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_about_ours_and_a_contender_that_takes_part() {
        for Scenario { workload, .. } in SCENARIOS {
            let takes_part =
                |name: &str| workload.contenders.iter().any(|contender| contender.name == name);
            assert!(takes_part(OURS), "{}", workload.name);
            assert!(!workload.targets.is_empty(), "{}", workload.name);
            for target in workload.targets {
                if let Against::Contender(name) = target.against {
                    assert!(takes_part(name), "{}", workload.name);
                }
            }
        }
    }

    #[test]
    fn each_page_is_asked_for_by_one_ten_and_a_hundred() {
        for letter in ["a", "b", "c", "d"] {
            let of_letter =
                SCENARIOS.iter().filter(|scenario| scenario.workload.answers_to(letter));
            let loads: Vec<Load> = of_letter.map(|scenario| scenario.workload.load).collect();
            let wanted = [1, 10, 100].map(if letter == "d" { short } else { kept });
            assert_eq!(loads, wanted, "{letter}");
        }
    }
}
