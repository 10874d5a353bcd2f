//! Goal: `velodrome profile` shows where the time of a server goes, as text and as a graph. Method: the built server
//! under load; reported as skipped if the kernel does not permit sampling.
#![expect(clippy::print_stdout, reason = "what is skipped has to be seen")]

use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::server::directory::Directory;
use crate::server::{PROGRAM, Plan, errors_of, printed_by, run};

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
    // A saved profile is drawn again unchanged.
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

/// The profiler needs no privilege for a user's own program: its files are opened by their paths.
#[test]
fn functions_have_names_without_root() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;
    let test = "functions_have_names_without_root";
    let place = Directory::new();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path(), open.clone()).unwrap();
    let own = place.join("velodrome");
    // By another program: a file that is open for writing here, and in a child of another test, cannot be run.
    assert!(run(Command::new("cp").arg(PROGRAM).arg(&own)).status.success());
    std::fs::set_permissions(&own, open).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    if !status.contains("\nUid:\t0\t0\t0\t0\n") {
        println!("SKIPPED {test}: it runs a program as another user, so it needs root");
        return;
    }
    let server = Plan::new().file("a.txt", "a").start();
    let url = format!("http://{}/a.txt", server.address());
    // On a busy host the program may take longer to start than it is looked at.
    for seconds in ["1s", "5s", "25s"] {
        let mut command = Command::new(&own);
        command.args(["profile", "-d", seconds, "-F", "999", "--rows", "500", "--"]);
        command.arg(&own).args(["bench", "http", &url, "-c", "8", "-d", "60s", "--warmup", "0"]);
        // The user nobody.
        let output = run(command.current_dir("/").uid(65534).gid(65534));
        if errors_of(&output).contains("may not be looked at") {
            println!("SKIPPED {test}: the kernel lets nobody sample");
            return;
        }
        let told = printed_by(&output);
        let is_named = |line: &str| line.contains("  program  ") && line.contains("bench::");
        if told.lines().any(is_named) {
            return;
        }
        assert!(seconds != "25s", "{told}{}", errors_of(&output));
    }
}

/// A page that spends its time in one loop, in its third line.
const BUSY: &str =
    "<%\nlocal sum = 0\nfor number = 1, 2000000 do sum = sum + number % 7 end\n%><%= sum %>";

#[test]
fn native_code_of_pages_is_named_by_page_and_line() {
    let test = "native_code_of_pages_is_named_by_page_and_line";
    let server = Plan::new().argument("--schedulers=1").file("busy.page.html", BUSY).start();
    let pid = server.id().to_string();
    let map = format!("/tmp/perf-{pid}.map");
    let is_over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        let mut client = server.client();
        assert_eq!(client.get("/busy").unwrap().status, 200);
        let is_over = &is_over;
        scope.spawn(move || {
            while !is_over.load(Relaxed) {
                assert_eq!(client.get("/busy").unwrap().status, 200);
            }
        });
        let socket = server.plan.socket().display().to_string();
        let output = profile(&["--pid", &pid, "-d", "1s", "-F", "999", "--pages", &socket]);
        is_over.store(true, Relaxed);
        if errors_of(&output).contains("may not be looked at") {
            println!("SKIPPED {test}, samples: the kernel lets nobody sample");
        }
        // It asks the server, and leaves no file.
        assert!(!std::path::Path::new(&map).exists(), "{map}");
        let mapped = run(Command::new(PROGRAM).args(["ctl", "--socket", &socket, "perf-map"]));
        assert_eq!(mapped.status.code(), Some(0), "{}", errors_of(&mapped));
        output
    });
    let lines = std::fs::read_to_string(&map).unwrap();
    std::fs::remove_file(&map).unwrap();
    assert!(lines.lines().any(|line| line.ends_with(" page busy.page.html:3")), "{lines}");
    if output.status.success() {
        let told = printed_by(&output);
        assert!(told.contains("program  page busy.page.html:3"), "{told}");
    }
}

/// A program with two threads that take the same lock in turn and wait for each other.
const TWO_FOR_ONE_LOCK: &str = "import threading, time
lock = threading.Lock()
def work():
    while True:
        with lock: time.sleep(0.002)
threading.Thread(target=work, daemon=True).start()
work()";

/// The waits of a program; `None` if the kernel does not show them.
fn waits(test: &str, view: &str, page: &str, seconds: &str) -> Option<String> {
    let program = ["-d", seconds, view, "-o", page, "--", "python3", "-c", TWO_FOR_ONE_LOCK];
    let output = profile(&program);
    if errors_of(&output).contains("may not be looked at") {
        println!("SKIPPED {test}: the kernel lets nobody see its frames");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{}", errors_of(&output));
    Some(printed_by(&output))
}

#[test]
fn a_program_that_waits_is_told_for_what() {
    let test = "a_program_that_waits_is_told_for_what";
    let place = Directory::new();
    let page = place.join("waits.html").display().to_string();
    let row = |told: &str, kind: &str| {
        told.lines().any(|line| line.starts_with(kind) && line.contains(" % "))
    };
    // On a busy host the program may take longer to start than it is looked at.
    for seconds in ["1s", "5s", "25s"] {
        let Some(told) = waits(test, "--off-cpu", &page, seconds) else { return };
        let is_shown = row(&told, "clock_nanosleep") && row(&told, "futex");
        assert!(told.contains(", off the CPU") && (is_shown || seconds != "25s"), "{told}");
        if is_shown {
            break;
        }
    }
    assert!(std::fs::read_to_string(&page).unwrap().contains("<title>futex_wait"));
    for seconds in ["1s", "5s", "25s"] {
        let Some(told) = waits(test, "--locks", &page, seconds) else { return };
        assert!(!told.lines().any(|line| line.starts_with("clock_nanosleep")), "{told}");
        if told.lines().any(|line| line.starts_with("futex ")) {
            return;
        }
    }
    panic!("no lock was waited for in 25 s");
}

/// A program with a lock that one thread takes often, and another one that is held for long.
const SELL_AND_HOLD: &str = "#include <pthread.h>
#include <unistd.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
volatile long sold;
__attribute__((noinline)) void sell(void) {
    pthread_mutex_lock(&lock); sold++; pthread_mutex_unlock(&lock); sold++;
}
__attribute__((noinline)) void hold(void) {
    pthread_mutex_lock(&lock); usleep(2000); pthread_mutex_unlock(&lock); sold++;
}
void *keep(void *nothing) { for (;;) { hold(); usleep(2000); } return nothing; }
int main(void) {
    pthread_t keeper;
    pthread_create(&keeper, 0, keep, 0);
    for (;;) { sell(); usleep(50); }
}
";

#[test]
fn locks_are_counted_where_they_are_taken() {
    let test = "locks_are_counted_where_they_are_taken";
    let place = Directory::new();
    place.write("locks.c", SELL_AND_HOLD);
    let (source, program) = (place.join("locks.c"), place.join("locks"));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-pthread", "-fno-omit-frame-pointer", "-o"]).arg(&program).arg(&source);
    match compiler.status() {
        Ok(status) => assert!(status.success()),
        Err(_) => return println!("SKIPPED {test}: cc is not installed"),
    }
    let program = program.display().to_string();
    let output = profile(&["-d", "1s", "--locks", "--tries", "--rows", "1000", "--", &program]);
    let (told, wrong) = (printed_by(&output), errors_of(&output));
    if wrong.contains("may not be looked at") || told.contains("tries are not counted: ") {
        return println!("SKIPPED {test}: the kernel lets nobody count: {wrong}{told}");
    }
    assert_eq!(output.status.code(), Some(0), "{wrong}");
    let row = |place: &str| -> [u64; 2] {
        let line = told.lines().find(|line| line.starts_with("mutex ") && line.ends_with(place));
        let numbers = line.unwrap_or_else(|| panic!("{told}")).split_whitespace().skip(1);
        let numbers: Vec<u64> = numbers.take(2).map(|number| number.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    };
    let [sold, sold_late] = row("  sell");
    let [held, held_late] = row("  hold");
    assert!(sold_late > 0 && sold > sold_late, "{told}");
    assert!(held > 0 && held >= held_late && held < sold, "{told}");
    // Lock calls are not slowed down unless requested.
    let told = printed_by(&profile(&["-d", "300ms", "--locks", "--", &program]));
    let is_counted = told.lines().any(|line| line.starts_with("mutex "));
    assert!(!is_counted && told.contains("is counted with --tries"), "{told}");
}

#[test]
fn system_calls_are_counted_where_tracefs_is_and_else_said_why_not() {
    // On a busy host the program may take longer to start than it is looked at.
    for seconds in ["500ms", "5s", "25s"] {
        let program = ["-d", seconds, "--syscalls", "--", "python3", "-c", TWO_FOR_ONE_LOCK];
        let output = profile(&program);
        let (told, wrong) = (printed_by(&output), errors_of(&output));
        match output.status.code() {
            Some(0) if told.contains("clock_nanosleep") => return,
            Some(0) => assert!(seconds != "25s", "{told}"),
            Some(1) => {
                let is_told = wrong.contains("tracefs") || wrong.contains("may not be looked at");
                assert!(is_told, "{wrong}");
                return println!(
                    "SKIPPED system_calls_are_counted_where_tracefs_is_and_else_said_why_not: {wrong}"
                );
            }
            other => panic!("{other:?}: {wrong}"),
        }
    }
}

#[test]
fn threads_are_told_with_their_wake_ups_without_any_rights() {
    let server = Plan::new().argument("--schedulers=1").start();
    let pid = server.id().to_string();
    let output = profile(&["--pid", &pid, "-d", "100ms", "--sched"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors_of(&output));
    let told = printed_by(&output);
    assert!(told.contains("velodrome-0 (") && told.contains("steal: "), "{told}");
}

#[test]
fn the_server_that_listens_at_a_url_is_looked_at() {
    let server = Plan::new().argument("--schedulers=1").start();
    let url = format!("http://{}/", server.address());
    let told = printed_by(&profile(&["--url", &url, "-d", "100ms", "--sched"]));
    assert!(told.contains(&format!("velodrome ({})", server.id())), "{told}");
    let output = profile(&["--url", "http://127.0.0.1:1/", "-d", "100ms", "--sched"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors_of(&output).contains("say --pid"), "{}", errors_of(&output));
}

#[test]
fn invalid_arguments_are_refused() {
    let place = Directory::new();
    place.write("bad.txt", "a;b 1\nnothing\n");
    let bad = place.join("bad.txt").display().to_string();
    for (words, status, why) in [
        (&[][..], 2, "nothing to profile"),
        (&["--pid", "4194305"], 2, "there is no process 4194305"),
        (&["--pid", "1", "-d", "soon"], 2, "it must begin with a number"),
        (&["--pid", "1", "-d", "0.05"], 2, "from 100ms to 3600s"),
        (&["--pid", "1", "-d", "2x"], 2, "`x` is not a unit; known are us, ms, s, m, h and d"),
        (&["--pid", "4194305", "-d", "0.2"], 2, "there is no process 4194305"),
        (&["--from", &bad], 1, "bad.txt:2: no stack with its count"),
        (&["--", "/nowhere/program"], 1, "/nowhere/program: "),
        (&["--pid", "1", "--sched", "-o", "x.html"], 2, "have tables alone"),
        (&["--pid", "1", "--sched", "--locks"], 2, "cannot be used with"),
        (&["--pid", "1", "--tries"], 2, "--locks"),
        (&["--from", "a", "--off-cpu"], 2, "cannot be used with"),
        (&["--diff", "/nowhere/a", "/nowhere/b"], 1, "/nowhere/a: "),
    ] {
        let output = profile(words);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {}", errors_of(&output));
        assert!(errors_of(&output).contains(why), "{words:?}: {}", errors_of(&output));
    }
}

/// A program with one busy function, whose name is removed by stripping.
const HOT: &str = "static __attribute__((noinline)) unsigned long turn_the_wheel(unsigned long n) {
    volatile unsigned long sum = 0;
    for (unsigned long at = 0; at < n; at++) sum += at * at;
    return sum;
}
int main(void) {
    for (;;) turn_the_wheel(1000000);
}
";

/// Builds the program, stripped in three ways: with its names, with a link to its debug file, with its build id only.
const STRIPPED: &str = r#"
cd HERE
mkdir -p linked/files bare id
cc -O1 -g -fno-omit-frame-pointer -Wl,--build-id hot.c -o whole
objcopy --only-keep-debug whole hot.debug
strip whole -o bare/hot
objcopy --add-gnu-debuglink=hot.debug bare/hot linked/hot
cp hot.debug linked/hot.debug
number=$(readelf -n whole | sed -n 's/.*Build ID: //p')
mkdir -p "id/.build-id/$(echo $number | cut -c1-2)"
mv hot.debug "id/.build-id/$(echo $number | cut -c1-2)/$(echo $number | cut -c3-).debug"
"#;

#[test]
fn names_of_stripped_programs_are_in_their_debug_files() {
    let test = "names_of_stripped_programs_are_in_their_debug_files";
    for program in ["cc", "objcopy", "readelf"] {
        if !crate::server::has(program, test) {
            return;
        }
    }
    let place = Directory::new();
    place.write("hot.c", HOT);
    let path = |name: &str| place.join(name).display().to_string();
    let script = STRIPPED.replace("HERE", &path(""));
    let made = run(Command::new("sh").args(["-ec", &script]));
    assert!(made.status.success(), "{}", errors_of(&made));
    for (program, files, is_named) in [
        ("linked/hot", None, true),
        ("bare/hot", Some("id"), true),
        ("bare/hot", None, false),
        ("bare/hot", Some("linked"), false),
    ] {
        let (program, files) = (path(program), files.map(&path));
        let mut words = vec!["-d", "300ms", "-F", "999"];
        words.extend(files.iter().flat_map(|files| ["--debug-files", files]));
        words.extend(["--", &program]);
        let output = profile(&words);
        if errors_of(&output).contains("may not be looked at") {
            println!("SKIPPED {test}: the kernel lets nobody sample");
            return;
        }
        let told = printed_by(&output);
        assert_eq!(told.contains("turn_the_wheel"), is_named, "{words:?}: {told}");
    }
}
