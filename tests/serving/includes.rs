//! Goal: a configuration of several files, with variables and secrets, is read at the start and with each reload, and
//! no client and no message shows a part of it that is secret. Method: the built binary.

use std::process::Command;

use crate::server::client::{field, text};
use crate::server::patience::until;
use crate::server::{Plan, configuration};

const MAIN: &str = "include = \"conf.d/*.toml\"\n[headers]\nX-Zone = \"${VELODROME_TEST_ZONE}\"\n";

fn plan() -> Plan {
    let plan = Plan::new().config(MAIN).environment("VELODROME_TEST_ZONE", "east");
    plan.directory.write("secret.key", "s3cret-s3cret\n");
    plan.directory.write(
        "conf.d/a.toml",
        "[[route]]\npath = \"/a\"\nrespond = { body = \"a\" }\nheaders = { X-Key = \"${file:secret.key}\" \
         }\n",
    );
    plan
}

#[test]
fn included_files_are_read_again_with_each_reload() {
    let server = plan().start();
    let answer = server.get("/a");
    assert_eq!((text(&answer), field(&answer, "X-Zone")), ("a", "east"));
    assert_eq!(field(&answer, "X-Key"), "s3cret-s3cret");
    server
        .directory()
        .write("conf.d/b.toml", "[[route]]\npath = \"/b\"\nrespond = { body = \"b\" }\n");
    server.directory().write("secret.key", "another");
    assert_eq!(server.ctl_json(&["reload"])["state"], "in force");
    until("the new file", || (text(&server.get("/b")) == "b").then_some(()));
    assert_eq!(field(&server.get("/a"), "X-Key"), "another");
    // A mistake is told with its file, and a secret one without its value.
    server.directory().write("secret.key", "t0psecret\u{7f}");
    server.directory().write("conf.d/b.toml", "lisen = 1\n");
    let report = server.ctl_json(&["reload"]);
    let problems = report["problems"].to_string();
    assert_eq!(report["state"], "refused");
    assert!(problems.contains("conf.d/b.toml:1:1: unknown key `lisen`"), "{problems}");
    assert!(problems.contains("conf.d/a.toml:4:21: ") && !problems.contains("t0p"), "{problems}");
    assert!(!server.directory().text("stderr.txt").contains("t0p"));
    assert_eq!(text(&server.get("/b")), "b", "the old configuration stays");
    assert_eq!(field(&server.get("/a"), "X-Key"), "another");
}

#[test]
fn a_part_of_the_configuration_in_a_served_directory_is_refused() {
    for (main, name) in [
        ("include = \"site/b.toml\"\n", "site/b.toml"),
        ("[headers]\nX-Key = \"${file:site/key}\"\n", "site/key"),
    ] {
        let plan = Plan::new().config(main).file("b.toml", "").file("key", "s3cret");
        let output = plan.fail();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains(name), "{told}");
        assert!(told.contains("which is served") && !told.contains("s3cret"), "{told}");
        // The hidden files are served to nobody.
        let hidden = configuration(&format!("{main}[files]\nhide = [\"b.toml\", \"key\"]\n"));
        plan.directory.write("velodrome.toml", hidden);
        let server = plan.start();
        assert_eq!(server.get("/b.toml").status, 404);
    }
}

#[test]
fn check_tells_what_is_missing_and_shows_no_secret() {
    let plan = plan();
    let check = |plan: &Plan, words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_velodrome"))
            .arg("check")
            .arg(plan.directory.join("site"))
            .arg(format!("--config={}", plan.directory.join("velodrome.toml").display()))
            .args(words)
            .env_remove("VELODROME_TEST_ZONE")
            .output()
            .unwrap();
        let told = [output.stdout, output.stderr].concat();
        String::from_utf8(told).unwrap()
    };
    let told = check(&plan, &[]);
    assert!(
        told.contains("velodrome.toml:4:10: the variable `VELODROME_TEST_ZONE` is not set"),
        "{told}"
    );
    plan.directory.write("velodrome.toml", configuration("include = \"conf.d/*.toml\"\n"));
    for words in [&[][..], &["--explain", "/a"]] {
        let told = check(&plan, words);
        assert!(told.contains(".toml") && !told.contains("s3cret"), "{told}");
    }
}
