//! Goal: two users of a machine can run the same application, each with its own store and its own uploads. Method: the
//! built binary; the case of a second user needs root, and is reported as skipped without.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::server::patience::until;
use crate::server::{Ending, PROGRAM, Plan, errors_of};

const CONFIG: &str =
    "[store]\npath = \"own-{uid}/store\"\n[pages]\nuploads = \"own-{uid}/uploads\"\n";

/// The number of the user `nobody`.
const NOBODY: u32 = 65_534;

fn own_number(plan: &Plan) -> u32 {
    fs::metadata(plan.directory.path()).unwrap().uid()
}

#[test]
fn a_directory_that_is_named_after_the_user_is_made_for_it_alone() {
    let plan = Plan::new()
        .config(CONFIG)
        .file("a.page.txt", "<% store.put('a', 1) %><%= store.get('a') %>");
    let own = plan.directory.join(&format!("own-{}", own_number(&plan)));
    let server = plan.start();
    assert_eq!(server.get("/a").body, b"1");
    for part in ["", "store", "uploads"] {
        let mode = fs::metadata(own.join(part)).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o700, "{part}");
    }
    let server = server.kill_and_restart();
    assert_eq!(server.get("/a").body, b"1");
}

#[test]
fn a_directory_that_others_could_have_filled_is_refused() {
    for (made, why) in [
        ("open", "other users may write to it"),
        ("link", "it is not a directory"),
        ("file", "it is not a directory"),
    ] {
        let plan = Plan::new().config(CONFIG);
        let own = plan.directory.join(&format!("own-{}", own_number(&plan)));
        match made {
            "open" => {
                fs::create_dir(&own).unwrap();
                fs::set_permissions(&own, Permissions::from_mode(0o777)).unwrap();
            }
            "link" => symlink(plan.directory.path(), &own).unwrap(),
            _ => fs::write(&own, "").unwrap(),
        }
        let printed = errors_of(&plan.fail());
        let expected = format!("`{}` cannot be the directory of this user: {why}; ", own.display());
        assert!(printed.contains(&expected), "{made}: {printed}");
    }
}

/// Copies the example, without what no test needs.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap().path();
        let target = to.join(entry.file_name().unwrap());
        match entry.is_dir() {
            true => copy(&entry, &target),
            false => drop(fs::copy(&entry, &target).unwrap()),
        }
    }
}

#[test]
fn the_example_is_served_by_two_users_of_a_machine() {
    let plan = Plan::new();
    if own_number(&plan) != 0 {
        println!("SKIPPED the_example_is_served_by_two_users_of_a_machine: it needs root");
        return;
    }
    let directory = &plan.directory;
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/site"), &directory.join("example"));
    // The built binary may be where nobody else may look. Another process copies it: a program that another test starts
    // meanwhile would inherit the open file, and a file that is open for writing cannot be executed.
    assert!(
        Command::new("cp").arg(PROGRAM).arg(directory.path()).status().unwrap().success(),
        "the binary is copied"
    );
    let run = directory.join("of-nobody");
    fs::create_dir(&run).unwrap();
    chown(&run, Some(NOBODY), Some(NOBODY)).unwrap();
    for user in [0, NOBODY] {
        let mut command = Command::new(directory.join("velodrome"));
        command
            .arg("serve")
            .arg(directory.join("example"))
            .args(["--listen=127.0.0.1:0", "--schedulers=1"]);
        command.arg(format!("--admin-socket={}", run.join(format!("{user}.sock")).display()));
        command.stdin(Stdio::null()).uid(user).gid(user);
        let print = |name: &str| fs::File::create(directory.join(name)).unwrap();
        command.stdout(print("stdout.txt")).stderr(print("stderr.txt"));
        let mut server = Ending(command.spawn().unwrap());
        until("the server of the example", || {
            let ended = server.0.try_wait().unwrap();
            assert!(ended.is_none(), "user {user}: {}", directory.text("stderr.txt"));
            directory.text("stdout.txt").contains("http://").then_some(())
        });
    }
    // Root's may be that of the user that runs this test.
    fs::remove_dir_all(format!("/var/tmp/velodrome-example-{NOBODY}")).unwrap();
}
