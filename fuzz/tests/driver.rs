//! The stable driver: it runs what it is told, and says what it cannot run.

use std::process::{Command, Output};

fn drive(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_drive")).args(words).output().expect("it starts")
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn targets_are_run_with_the_given_seed() {
    let output =
        drive(&["--seconds", "0", "--seed", "7", "--changed", "crates/wire/src/json.rs,README.md"]);
    let printed = printed(&output);
    assert!(output.status.success() && printed.starts_with("seed 7\n"), "{output:?}");
    for target in checks::TARGETS {
        assert!(printed.contains(&format!("{}: ", target.name)), "{}: {printed}", target.name);
    }
}

#[test]
fn an_unknown_target_is_told() {
    let output = drive(&["nowhere"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("no target `nowhere`"), "{told}");
}

#[test]
fn files_that_targets_cover_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for target in checks::TARGETS {
        for path in target.covers {
            let found = root.join(path).exists() || root.join(format!("{path}.rs")).exists();
            assert!(found, "{}: {path}", target.name);
        }
    }
}
