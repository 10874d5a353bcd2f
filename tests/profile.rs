//! Goal: `velodrome profile` says where the time of a server goes, and draws it. Method: the built server under load; skipped and said so where the kernel lets nobody
//! sample.
#![expect(clippy::disallowed_types, reason = "a test has files of its own")]
#![expect(clippy::disallowed_methods, reason = "a test's patience is measured by its own clock")]
#![expect(clippy::unwrap_used, reason = "what cannot be set up fails its test")]

mod server;

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use server::directory::Directory;
use server::{PROGRAM, Plan, errors_of, printed_by, run};

fn profile(words: &[&str]) -> Output {
    run(Command::new(PROGRAM).arg("profile").args(words))
}

#[test]
fn a_server_under_load_is_drawn_and_listed() {
    let server = Plan::new().argument("--schedulers=1").file("a.txt", "hello").start();
    let place = Directory::new();
    let (page, stacks) = (place.join("flame.html"), place.join("stacks.txt"));
    let (page, stacks) = (page.display().to_string(), stacks.display().to_string());
    let is_over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.client();
            while !is_over.load(Relaxed) {
                assert_eq!(client.get("/a.txt").unwrap().status, 200);
            }
        });
        let pid = server.id().to_string();
        let output =
            profile(&["--pid", &pid, "-d", "1s", "-F", "999", "-o", &page, "--folded", &stacks]);
        is_over.store(true, Relaxed);
        output
    });
    if errors_of(&output).contains("may not be looked at") {
        println!("SKIPPED a_server_under_load_is_drawn_and_listed: the kernel lets nobody sample");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", errors_of(&output));
    let told = printed_by(&output);
    assert!(told.starts_with("velodrome (") && told.contains(" samples; "), "{told}");
    let stacks_text = std::fs::read_to_string(&stacks).unwrap();
    let names_ours = stacks_text.lines().any(|line| line.contains("on_input"));
    assert!(names_ours, "{}", &stacks_text[..stacks_text.len().min(2_000)]);
    let drawn = std::fs::read_to_string(&page).unwrap();
    assert!(drawn.contains("<g class=u ") && drawn.ends_with("</html>\n"));
    // What was kept is drawn again, as it was.
    let again = place.join("again.html").display().to_string();
    let told = printed_by(&profile(&["--from", &stacks, "-o", &again]));
    assert!(told.contains(" samples; "), "{told}");
    let frames = |text: &str| text.lines().filter(|line| line.starts_with("<g ")).count();
    assert_eq!(frames(&std::fs::read_to_string(&again).unwrap()), frames(&drawn));
}

#[test]
fn a_program_that_is_started_is_looked_at_and_ended() {
    let output = profile(&["-d", "300ms", "--", "sh", "-c", "while :; do :; done"]);
    if errors_of(&output).contains("may not be looked at") {
        println!(
            "SKIPPED a_program_that_is_started_is_looked_at_and_ended: the kernel lets nobody sample"
        );
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", errors_of(&output));
    assert!(printed_by(&output).starts_with("sh ("), "{}", printed_by(&output));
}

#[test]
fn what_is_asked_wrongly_is_refused() {
    let place = Directory::new();
    place.write("bad.txt", "a;b 1\nnothing\n");
    let bad = place.join("bad.txt").display().to_string();
    for (words, status, why) in [
        (&[][..], 2, "what is to be looked at?"),
        (&["--pid", "4194305"], 2, "there is no process 4194305"),
        (&["--pid", "1", "-d", "soon"], 2, "`soon` is no time; write 10s or 500ms"),
        (&["--from", &bad], 1, "bad.txt:2: no stack with its count"),
        (&["--", "/nowhere/program"], 1, "/nowhere/program: "),
    ] {
        let output = profile(words);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {}", errors_of(&output));
        assert!(errors_of(&output).contains(why), "{words:?}: {}", errors_of(&output));
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let place = Directory::new();
    let stacks: String = (0..20_000).map(|number| format!("a;b{number} 1\n")).collect();
    place.write("stacks.txt", &stacks);
    let stacks = place.join("stacks.txt").display().to_string();
    let line = format!(
        "{PROGRAM} profile --from {stacks} --rows 20000 | head -1; echo ${{PIPESTATUS[0]}}"
    );
    let output = run(Command::new("bash").args(["-c", &line]));
    assert_eq!(printed_by(&output), format!("{stacks}\n0\n"), "{}", errors_of(&output));
    assert_eq!(errors_of(&output), "");
}
