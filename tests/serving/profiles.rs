//! Goal: a server keeps samples of itself and tells where its time went, also after a slow event, and a server that may
//! not be sampled works and says so. Method: pages that work, and a kernel that refuses perf events for one server.

use std::process::Command;

use serde_json::Value;

use crate::server::client::{Client, head, text};
use crate::server::patience::until;
use crate::server::{Plan, Server, errors_of, has, printed_by, run};

/// A page that spends its time in its third line.
const BUSY: &str =
    "<%\nlocal sum = 0\nfor number = 1, 300000 do sum = sum + number % 7 end\n%><%= sum %>";

fn with_ring(plan: Plan) -> Server {
    plan.argument("--profile-ring=15m").argument("--schedulers=1").start()
}

/// Whether the kernel allows the samples.
fn has_samples(server: &Server) -> bool {
    !server.printed_errors().contains("no continuous profile: the kernel refuses perf events")
}

fn profile(server: &Server, query: &str) -> conformance::ParsedResponse {
    let mut client = Client::connect_unix(&server.plan.socket()).unwrap();
    client.request("POST", &format!("/profile?{query}"), &[]).unwrap()
}

#[test]
fn the_last_minutes_name_the_program_and_the_line_of_a_page() {
    let plan = Plan::new().file("busy.page.txt", BUSY).file("a.txt", "a");
    let server = with_ring(plan);
    if !has_samples(&server) {
        println!(
            "SKIPPED the_last_minutes_name_the_program_and_the_line_of_a_page: the kernel lets nobody sample"
        );
        return;
    }
    let place = server.directory().join("folded.txt").display().to_string();
    let graph = server.directory().join("flame.html").display().to_string();
    let mut client = server.client();
    let told = until("the samples", || {
        // Tens of samples in the page, and some in the server around it.
        for _ in 0..300 {
            for path in ["/busy", "/a.txt", "/a.txt", "/a.txt"] {
                assert_eq!(client.get(path).unwrap().status, 200);
            }
        }
        let words = ["profile", "--last", "2m", "--folded", &place, "-o", &graph];
        let output = server.ctl(&words);
        assert_eq!(output.status.code(), Some(0), "{}", errors_of(&output));
        let folded = server.directory().text("folded.txt");
        let has_all = folded.contains("page busy.page.txt:3") && folded.contains("runtime::");
        has_all.then(|| printed_by(&output))
    });
    assert!(
        told.starts_with(&format!("velodrome ({}), the last 120 s at 49 Hz\n", server.id())),
        "{told}"
    );
    assert!(told.contains("its first ") && told.contains(" s have no samples"), "{told}");
    assert!(server.directory().text("flame.html").contains("page busy.page.txt:3"));
    let json: Value = serde_json::from_slice(&profile(&server, "last=60").body).unwrap();
    assert_eq!(json["hertz"], 49);
    assert!(json["folded"].as_str().unwrap().contains("page busy.page.txt:3"));
}

#[test]
fn a_slow_event_keeps_its_minute() {
    let page = "<%\nlocal n = 0\nwhile true do n = n + 1 end\n%>";
    let plan = Plan::new().file("long.page.txt", page);
    let server = with_ring(plan);
    if !has_samples(&server) {
        println!("SKIPPED a_slow_event_keeps_its_minute: the kernel lets nobody sample");
        return;
    }
    assert_eq!(server.get("/long").status, 503, "its time is over");
    let event = until("the event", || {
        let printed = printed_by(&server.ctl(&["events", "--json"]));
        let mut events = printed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events.find(|event| event["kind"] == "much_cpu")
    });
    assert_eq!(event["profiled"], true, "{event}");
    let number = event["number"].to_string();
    let told = printed_by(&server.ctl(&["events"]));
    assert!(
        told.contains(&format!("velodrome ctl profile --event {number}: the minute")),
        "{told}"
    );
    let told = until("the page in its minute", || {
        let told = printed_by(&server.ctl(&["profile", "--event", &number]));
        told.contains("page long.page.txt:3").then_some(told)
    });
    assert!(told.contains("), the minute around event "), "{told}");
    let none = server.ctl(&["profile", "--event", "4711"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(errors_of(&none).contains("there is no profile of this event"), "{}", errors_of(&none));
}

#[test]
fn a_server_without_a_ring_is_sampled_for_one_at_a_time() {
    let server = Plan::new().file("busy.page.txt", BUSY).argument("--schedulers=1").start();
    let none = server.ctl(&["profile", "--last", "1m"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(errors_of(&none).contains("start it with --profile-ring"), "{}", errors_of(&none));
    for (query, told) in [
        ("seconds=31", "`seconds=31` is not 1 to 30 seconds"),
        ("seconds=0", "`seconds=0` is not"),
        ("last=3601", "`last=3601` is not 1 to 3600 seconds"),
        ("event=x", "`x` is no number of an event"),
        ("", "the query is `last=SECONDS`"),
    ] {
        let answer = profile(&server, query);
        assert_eq!(answer.status, 400, "{query}");
        assert!(text(&answer).starts_with(told), "{query}: {}", text(&answer));
    }
    let mut first = Client::connect_unix(&server.plan.socket()).unwrap();
    first.send(head("POST", "/profile?seconds=30", &[("Content-Length", "0")])).unwrap();
    let busy = until("the first to be sampled", || {
        let second = profile(&server, "seconds=1");
        (second.status == 409).then_some(second)
    });
    if text(&busy).contains("the kernel refuses") {
        println!(
            "SKIPPED a_server_without_a_ring_is_sampled_for_one_at_a_time: the kernel lets nobody sample"
        );
        return;
    }
    assert!(
        text(&busy).starts_with("the server is being sampled for somebody else"),
        "{}",
        text(&busy)
    );
}

/// Starts a program for which the kernel refuses perf_event_open(2).
const REFUSE: &str = "
import ctypes, os, platform, struct, sys
number = {'x86_64': 298, 'aarch64': 241}[platform.machine()]
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)]
filter = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))
program = struct.pack('HL', len(steps), ctypes.addressof(filter))
kernel = ctypes.CDLL(None, use_errno=True)
assert kernel.prctl(38, 1, 0, 0, 0) == 0
assert kernel.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execvp(sys.argv[1], sys.argv[1:])";

#[test]
fn a_server_that_may_not_be_sampled_says_so_and_serves() {
    if !has("python3", "a_server_that_may_not_be_sampled_says_so_and_serves") {
        return;
    }
    let plan = Plan::new().config("profile_ring = \"1m\"\n").file("a.txt", "a");
    let server = plan.wrapped(&["python3", "-c", REFUSE]).start();
    assert_eq!(server.get("/a.txt").status, 200);
    let why = "no continuous profile: the kernel refuses perf events (Operation not permitted (os error \
               1)): sysctl kernel.perf_event_paranoid=2";
    let log = server.printed_errors();
    assert_eq!(log.matches(why).count(), 1, "{log}");
    let none = server.ctl(&["profile", "--last", "1m"]);
    assert!(errors_of(&none).contains("this server keeps no samples"), "{}", errors_of(&none));
    let now = profile(&server, "seconds=1");
    assert_eq!(now.status, 409);
    assert!(text(&now).starts_with("the kernel refuses perf events"), "{}", text(&now));
    let mut check = Command::new("python3");
    check.args(["-c", REFUSE, env!("CARGO_BIN_EXE_velodrome"), "check"]);
    check.arg(server.directory().join("site"));
    let checked = run(check.arg("--config").arg(server.directory().join("velodrome.toml")));
    assert!(
        printed_by(&checked).contains(&format!("  warning: {why}")),
        "{}",
        printed_by(&checked)
    );
}
