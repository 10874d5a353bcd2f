//! Goal: `velodrome profile` reads files of folded stacks, also those of other tools, and writes what other tools read.
//! Method: small files with known shares.

use std::process::{Command, Output};

use crate::server::directory::Directory;
use crate::server::{PROGRAM, errors_of, printed_by, run};

fn profile(words: &[&str]) -> Output {
    run(Command::new(PROGRAM).arg("profile").args(words))
}

#[test]
fn kept_stacks_are_compared_and_exported() {
    let place = Directory::new();
    place.write("before.txt", "main;a 50\nmain;b_[k] 50\n");
    place.write("after.txt", "main;a 90\nmain;b_[k] 10\n");
    let path = |name: &str| place.join(name).display().to_string();
    let words = ["--diff", &path("before.txt"), &path("after.txt"), "-o", &path("diff.html")];
    let told = printed_by(&profile(&words));
    assert!(told.contains("50.0 %  90.0 %  +40.0  program  a"), "{told}");
    assert!(told.contains("50.0 %  10.0 %  -40.0  kernel   b"), "{told}");
    let page = std::fs::read_to_string(path("diff.html")).unwrap();
    assert!(page.contains("data-d=0.400000") && page.contains("data-d=-0.400000"), "{page}");
    let (firefox, pprof) = (path("firefox.json"), path("profile.pb.gz"));
    let words = ["--from", &path("after.txt"), "--firefox", &firefox, "--pprof", &pprof];
    assert_eq!(profile(&words).status.code(), Some(0));
    let profile: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&firefox).unwrap()).unwrap();
    assert_eq!(profile["threads"][0]["samples"]["weight"].to_string(), "[90,10]");
    let read = Command::new("go").args(["tool", "pprof", "-top", &pprof]).output();
    match read {
        Ok(read) if read.status.success() => {
            let told = printed_by(&read);
            assert!(told.contains("accounting for 100, 100% of 100 total"), "{told}");
        }
        _ => println!("SKIPPED kept_stacks_are_compared_and_exported: go is not installed"),
    }
}

#[test]
fn stacks_of_other_tools_are_drawn_by_their_rules() {
    let place = Directory::new();
    let path = |name: &str| place.join(name).display().to_string();
    for (text, head) in [
        (&b"# mode: wall\n\nmain;run 3\n"[..], "3 samples; "),
        (b"main;run 3.5\r\nmain;caf\xe9 0.25 \r\n", "3.75 samples; "),
        (b"a 18446744073709551615\nb 18446744073709551615\n", "36893488147419103000 samples; "),
        (b"a;b 50 90\na;c_[k] 50 10\n", "100 samples before, 100 behind"),
    ] {
        std::fs::write(path("in.txt"), text).unwrap();
        let words = ["--from", &path("in.txt"), "-o", &path("flame.html"), "--rows", "1"];
        let output = profile(&words);
        let told = printed_by(&output);
        let line = told.lines().nth(1).unwrap_or_default();
        assert!(line.starts_with(head), "{head}: {told}{}", errors_of(&output));
        assert!(std::fs::read_to_string(path("flame.html")).unwrap().contains("<g class=u "));
    }
    let output = profile(&["--diff", &path("in.txt"), &path("in.txt")]);
    assert!(errors_of(&output).contains("give it to --from"), "{}", errors_of(&output));
    // Thousandths are counted in files whose counts are whole numbers.
    place.write("half.txt", "a;b 0.5\na;c 1\n");
    let words = ["--from", &path("half.txt"), "--firefox", &path("half.json")];
    assert_eq!(profile(&words).status.code(), Some(0));
    let profile: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path("half.json")).unwrap()).unwrap();
    assert_eq!(profile["threads"][0]["samples"]["weight"].to_string(), "[500,1000]");
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
