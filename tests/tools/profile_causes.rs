//! Goal: the views of `velodrome profile` name the cause of what is wrong with a program that is not ours. Method: a
//! small C program with one sin at a time, without frame pointers; reported as skipped if the kernel does not permit to
//! look, or there is no compiler.
#![expect(clippy::print_stdout, reason = "what is skipped has to be seen")]

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::server::directory::Directory;
use crate::server::{PROGRAM, errors_of, has, printed_by, run};

/// The sins. The program prints a line when it has begun.
const SINNER: &str = r#"#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#define ALONE __attribute__((noinline))
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile unsigned long sum;
ALONE void take_other(void) { pthread_mutex_lock(&other); sum++; pthread_mutex_unlock(&other); }
ALONE void take_one(void) { pthread_mutex_lock(&one); sum++; pthread_mutex_unlock(&one); }
ALONE void *first(void *nothing) {
    pthread_mutex_lock(&one); pthread_barrier_wait(&both); take_other(); sum++; return nothing;
}
ALONE void *second(void *nothing) {
    pthread_mutex_lock(&other); pthread_barrier_wait(&both); take_one(); sum++; return nothing;
}
ALONE void *stand_behind(void *nothing) { take_one(); sum++; return nothing; }
ALONE void hold_and_sleep(void) {
    pthread_t thread;
    pthread_mutex_lock(&one); pthread_create(&thread, 0, stand_behind, 0); puts("begun"); sleep(1000); sum++;
}
ALONE void turn(unsigned long times) { for (unsigned long at = 0; at < times; at++) sum += at * at; }
ALONE void turn_the_wheel(unsigned long times) { turn(times); sum++; }
ALONE void read_configuration(void) { if (open("/nowhere/at/all.conf", O_RDONLY) >= 0) sum++; }
ALONE void take_connections(void) { if (dup(0) >= 0) sum++; }
ALONE void write_log(int pipe) { char line[4096] = {0}; if (write(pipe, line, 4096) > 0) sum++; }
ALONE void keep_all(void) { char *kept = malloc(1 << 20); memset(kept, 1, 1 << 20); sum += kept[9]; usleep(10000); }
ALONE void turn_alone(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); for (;;) turn_the_wheel(1000000); }
int main(int count, char **words) {
    const char *sin = count > 1 ? words[1] : "";
    pthread_t thread, thread2;
    setbuf(stdout, 0);
    if (!strcmp(sin, "deadlock")) {
        pthread_barrier_init(&both, 0, 2);
        pthread_create(&thread, 0, first, 0); pthread_create(&thread2, 0, second, 0);
        puts("begun"); pthread_join(thread, 0);
    }
    if (!strcmp(sin, "hold")) hold_and_sleep();
    if (!strcmp(sin, "children")) { puts("begun"); if (!fork()) turn_alone(); for (;;) pause(); }
    puts("begun");
    if (!strcmp(sin, "turn")) for (;;) turn_the_wheel(1000000);
    if (!strcmp(sin, "missing")) for (;;) { read_configuration(); turn(100); }
    if (!strcmp(sin, "pipe")) for (;;) { write_log(3); turn(100); }
    if (!strcmp(sin, "leak")) for (;;) keep_all();
    if (!strcmp(sin, "descriptors")) {
        struct rlimit few = {16, 16}; setrlimit(RLIMIT_NOFILE, &few);
        for (;;) { take_connections(); turn(100); }
    }
    for (;;) pause();
}
"#;

/// A program with a sin, which ends with the test.
struct Sinner {
    _place: Directory,
    program: PathBuf,
    child: Child,
}

impl Drop for Sinner {
    fn drop(&mut self) {
        let _ended = (self.child.kill(), self.child.wait());
    }
}

impl Sinner {
    /// Builds and starts it; `None` if there is no compiler.
    fn start(sin: &str, test: &str) -> Option<Self> {
        if !has("cc", test) {
            return None;
        }
        let place = Directory::new();
        place.write("sinner.c", SINNER);
        let (source, program) = (place.join("sinner.c"), place.join("sinner"));
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-pthread", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"]);
        let built = run(compiler.arg("-o").arg(&program).arg(&source));
        assert!(built.status.success(), "{}", errors_of(&built));
        // A pipe at descriptor 3 whose reader never reads.
        let script = "exec 3>&1; exec \"$0\" \"$@\" >&2 2>&2";
        let mut command = match sin {
            "pipe" => {
                let mut shell = Command::new("sh");
                shell.args(["-c", script]).arg(&program).stderr(Stdio::piped());
                shell
            }
            _ => Command::new(&program),
        };
        let mut child = command.arg(sin).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let begun = match child.stderr.take() {
            Some(told) => BufReader::new(told).read_line(&mut line),
            None => BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line),
        };
        assert_eq!((begun.unwrap(), &*line), (6, "begun\n"));
        Some(Self { _place: place, program, child })
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// The report of a view; `None` if the kernel does not permit it. On a busy host the program may not have had a
    /// turn yet, so it is looked at again, for longer, until the report is as wanted.
    fn told(&self, words: &[&str], test: &str, is_wanted: impl Fn(&str) -> bool) -> Option<String> {
        let mut told = String::new();
        for seconds in ["500ms", "3s", "20s"] {
            let mut command = Command::new(PROGRAM);
            command.args(["profile", "--pid", &self.pid(), "-d", seconds]).args(words);
            let output = run(&mut command);
            let wrong = errors_of(&output);
            if ["may not be looked at", "tracefs", "this kernel has no"]
                .iter()
                .any(|part| wrong.contains(part))
            {
                println!("SKIPPED {test}: {wrong}");
                return None;
            }
            assert_eq!(output.status.code(), Some(0), "{wrong}");
            told = printed_by(&output);
            if is_wanted(&told) {
                return Some(told);
            }
        }
        panic!("{words:?}: {told}")
    }
}

#[test]
fn threads_that_wait_for_each_other_are_a_deadlock_in_every_view() {
    let test = "threads_that_wait_for_each_other_are_a_deadlock_in_every_view";
    let Some(sinner) = Sinner::start("deadlock", test) else { return };
    for view in [&["--sched"][..], &["--locks"], &["--off-cpu"], &[]] {
        let is_named = |told: &str| {
            let line = told.lines().find(|line| line.starts_with("DEADLOCK: ")).unwrap_or_default();
            line.contains(" in take_one") && line.contains(" in take_other")
        };
        let Some(told) = sinner.told(view, test, is_named) else { continue };
        if view == ["--locks"] {
            let rows = told.lines().filter(|line| line.starts_with("mutex ")).count();
            assert_eq!(rows, 2, "{told}");
            assert!(!told.contains("no thread has waited"), "{told}");
        }
    }
}

#[test]
fn a_mutex_has_its_holder_and_what_that_does() {
    let test = "a_mutex_has_its_holder_and_what_that_does";
    let Some(sinner) = Sinner::start("hold", test) else { return };
    let holder =
        format!("before a mutex that sinner ({}) holds, which is in clock_nanosleep", sinner.pid());
    let is_named = |told: &str| {
        told.contains(&holder) && told.contains("hold_and_sleep") && !told.contains("DEADLOCK")
    };
    sinner.told(&["--sched"], test, is_named);
    // A pool that waits for work is set aside, but not these threads.
    let has_rows = |told: &str| {
        let row = |kind: &str, place: &str| {
            told.lines().any(|line| line.starts_with(kind) && line.ends_with(place))
        };
        row("futex ", "  take_one") && row("clock_nanosleep ", "  hold_and_sleep")
    };
    sinner.told(&["--off-cpu"], test, has_rows);
}

#[test]
fn callers_are_found_without_frame_pointers() {
    let test = "callers_are_found_without_frame_pointers";
    let Some(sinner) = Sinner::start("turn", test) else { return };
    let stacks = sinner._place.join("stacks.txt");
    let words = ["--folded", &stacks.display().to_string()];
    let is_whole = |_: &str| {
        let stacks = std::fs::read_to_string(&stacks).unwrap();
        stacks.lines().any(|line| line.contains(";main;turn_the_wheel;turn"))
    };
    sinner.told(&words, test, is_whole);
}

#[test]
fn code_without_symbols_has_its_file_as_name() {
    let test = "code_without_symbols_has_its_file_as_name";
    if !has("strip", test) {
        return;
    }
    let Some(mut sinner) = Sinner::start("turn", test) else { return };
    let (_ended, _waited) = (sinner.child.kill(), sinner.child.wait());
    let stripped = sinner.program.with_file_name("stripped");
    let made = run(Command::new("strip").arg("-o").arg(&stripped).arg(&sinner.program));
    assert!(made.status.success(), "{}", errors_of(&made));
    sinner.child = Command::new(&stripped).arg("turn").stdout(Stdio::null()).spawn().unwrap();
    let is_named = |told: &str| {
        let named = told.lines().find(|line| line.contains("  program  [stripped+0x"));
        // All samples of a function have one name.
        named.is_some_and(|line| line.trim_start().starts_with(['5', '6', '7', '8', '9', '1']))
    };
    sinner.told(&["-F", "999"], test, is_named);
}

#[test]
fn errors_of_system_calls_have_their_cause() {
    let test = "errors_of_system_calls_have_their_cause";
    for (sin, call, error, cause) in [
        ("missing", "openat ", "ENOENT 100.0 %", "it looks for files that are not there"),
        ("descriptors", "dup ", "EMFILE ", "the process has no descriptors left"),
    ] {
        let Some(sinner) = Sinner::start(sin, test) else { return };
        let is_named = |told: &str| {
            let row = told.lines().find(|line| line.starts_with(call)).unwrap_or_default();
            row.contains(error) && told.contains(cause)
        };
        if sinner.told(&["--syscalls"], test, is_named).is_none() {
            return;
        }
    }
}

#[test]
fn a_pipe_that_nobody_reads_is_the_cause_of_a_wait() {
    let test = "a_pipe_that_nobody_reads_is_the_cause_of_a_wait";
    let Some(sinner) = Sinner::start("pipe", test) else { return };
    let is_named = |told: &str| {
        told.lines()
            .any(|line| line.starts_with("write: full pipe ") && line.ends_with("  write_log"))
    };
    sinner.told(&["--off-cpu"], test, is_named);
}

#[test]
fn memory_that_grows_has_the_function_that_touches_it() {
    let test = "memory_that_grows_has_the_function_that_touches_it";
    let Some(sinner) = Sinner::start("leak", test) else { return };
    let is_named = |told: &str| {
        told.contains("the memory grew all the time") && told.contains("  program  keep_all")
    };
    sinner.told(&["--memory"], test, is_named);
}

#[test]
fn children_are_looked_at_with_their_master() {
    let test = "children_are_looked_at_with_their_master";
    let Some(sinner) = Sinner::start("children", test) else { return };
    let is_named = |told: &str| {
        told.starts_with(&format!("sinner ({}) and a child, ", sinner.pid()))
            && told.contains("  program  turn")
    };
    sinner.told(&["-F", "999"], test, is_named);
}

#[test]
fn a_stopped_program_is_told_from_an_idle_one() {
    let test = "a_stopped_program_is_told_from_an_idle_one";
    let Some(sinner) = Sinner::start("turn", test) else { return };
    let stopped = run(Command::new("kill").args(["-STOP", &sinner.pid()]));
    assert!(stopped.status.success());
    let is_named = |told: &str| told.contains("stopped by a signal (SIGSTOP)");
    sinner.told(&["--sched"], test, is_named);
}

#[test]
fn the_whole_machine_is_looked_at_without_its_idle_time() {
    let test = "the_whole_machine_is_looked_at_without_its_idle_time";
    let Some(sinner) = Sinner::start("turn", test) else { return };
    let place = sinner._place.join("machine.txt").display().to_string();
    for seconds in ["500ms", "5s", "20s"] {
        let output =
            run(Command::new(PROGRAM).args(["profile", "-a", "-d", seconds, "--folded", &place]));
        if errors_of(&output).contains("may not be looked at") {
            return println!("SKIPPED {test}: {}", errors_of(&output));
        }
        let (told, stacks) = (printed_by(&output), std::fs::read_to_string(&place).unwrap());
        assert!(told.starts_with("all of this machine, ") && told.contains("\nCPU "), "{told}");
        assert!(!stacks.contains("do_idle_[k];default_idle"), "{stacks}");
        let own = format!("sinner ({});", sinner.pid());
        if stacks.lines().any(|line| line.starts_with(&own) && line.contains("turn_the_wheel")) {
            return;
        }
        assert!(seconds != "20s", "{told}");
    }
}
