//! Goal: `velodrome tune ladder` starts the server itself and ends it, also when it is interrupted, and reports wrong
//! arguments. Method: the built binary; the gain of a step, and that the host is reverted, are tested in the crate.

use std::process::Command;

use crate::server::directory::Directory;
use crate::server::{PROGRAM, errors_of, printed_by, run};

/// Interrupted while its server runs: both end, and nothing stays changed.
#[test]
fn interrupted_ladder_ends_its_server() {
    let place = Directory::new();
    std::fs::create_dir(place.join("site")).unwrap();
    place.write("site/index.html", "hello\n");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    // Ended by a service manager, and by a terminal that is closed.
    for signal in ["TERM", "HUP"] {
        let script = format!(
            "cd {}
{PROGRAM} tune ladder http://{address}/ --server '{PROGRAM} serve site --listen={address} --schedulers=1 --admin-socket=admin' \
  --step 'spin: --spin=100us' --no-host -c 1 -d 1h --state state > told 2>&1 &
until [ -S admin ]; do kill -0 $!; done
kill -{signal} $!
wait $! || echo status $?
! [ -e admin ] && echo gone",
            place.path().display()
        );
        let output = run(Command::new("sh").args(["-ec", &script]));
        let told = place.text("told");
        assert_eq!(printed_by(&output), "status 3\ngone\n", "{told} {}", errors_of(&output));
        assert!(told.contains("stopped before the baseline was known"), "{told}");
    }
}

#[test]
fn wrong_words_and_a_taken_address_are_told() {
    let wrong = |words: &[&str], told: &str| {
        let output = run(Command::new(PROGRAM).args(["tune", "ladder"]).args(words));
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(errors_of(&output).contains(told), "{words:?}: {}", errors_of(&output));
    };
    let url = "http://127.0.0.1:1/";
    wrong(&[url, "--server", "a 'b", "--step", "a: --a"], "a quotation mark has no end");
    wrong(&[url, "--server", "a", "--no-host"], "there is no step");
    wrong(&[url, "--server", "a", "--no-host", "--step", "a"], "write NAME: FLAGS");
    wrong(&[url, "--server", "a", "--only", "no.such"], "no step of velodrome tune plan");
    wrong(
        &[url, "--server", "a", "--no-host", "--step", "a: --a", "--step", "a: --b"],
        "two steps",
    );
    wrong(
        &[url, "--server", "a", "--no-host", "--step", "a: --a", "--rounds", "0"],
        "from 1 to 100",
    );
    wrong(&["http://10.0.0.1/", "--server", "a", "--no-host", "--step", "a: --a"], "on this host");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", taken.local_addr().unwrap());
    let output = run(Command::new(PROGRAM).args([
        "tune",
        "ladder",
        &url,
        "--server",
        "true",
        "--no-host",
        "--step",
        "a: --a",
    ]));
    assert_eq!(output.status.code(), Some(1));
    assert!(errors_of(&output).contains("something answers at"), "{}", errors_of(&output));
}
