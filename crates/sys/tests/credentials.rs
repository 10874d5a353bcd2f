//! Giving up root, in a separate process, and the errors if it is not possible.

mod child;

use std::thread;

use sys::credentials::{CredentialsError, User, drop_to};

const UNPRIVILEGED: &str = "nobody";

/// A number that no user database assigns to a group of `nobody`.
const FOREIGN_GROUP: u32 = 42_424;

/// Reports it in the form that `cargo xtask test` counts, so that a run that proves less than it could is visible.
#[expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
fn is_root_or_says_skipped(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("SKIPPED {test}: not root");
    }
    root
}

/// The numbers after `field` in the status of every thread of this process.
fn of_all_threads(field: &str) -> Vec<Vec<u32>> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("/proc is mounted");
    tasks
        .map(|task| {
            let status = task.expect("the list can be read").path().join("status");
            let text = std::fs::read_to_string(status).expect("no thread ends meanwhile");
            let line = text.lines().find(|line| line.starts_with(field)).expect("it is there");
            line.split_whitespace().skip(1).filter_map(|number| number.parse().ok()).collect()
        })
        .collect()
}

#[test]
fn root_is_given_up_in_all_threads_and_for_good() {
    const TEST: &str = "root_is_given_up_in_all_threads_and_for_good";
    if !is_root_or_says_skipped(TEST) {
        return;
    }
    child::in_child(TEST, || {
        let user = User::look_up(UNPRIVILEGED).expect("every machine has this user");
        // Lives until the end of the process: a thread that existed before.
        thread::spawn(|| {
            loop {
                thread::park();
            }
        });
        // A group that must be gone afterwards, besides root's.
        let foreign = rustix::process::Gid::from_raw(FOREIGN_GROUP);
        rustix::thread::set_thread_groups(&[rustix::process::Gid::ROOT, foreign])
            .expect("root may join any group");
        drop_to(&user).expect("root may become anybody");
        let (users, groups) = (of_all_threads("Uid:"), of_all_threads("Gid:"));
        assert!(users.len() >= 3, "the program's threads and ours: {users:?}");
        assert!(users.iter().all(|ids| *ids == [user.user_id(); 4]), "{users:?}");
        assert!(groups.iter().all(|ids| *ids == [user.group_id(); 4]), "{groups:?}");
        let supplementary = of_all_threads("Groups:");
        let is_left_over = |group: &u32| [0, FOREIGN_GROUP].contains(group);
        assert!(!supplementary.iter().flatten().any(is_left_over), "{supplementary:?}");

        // A second call is not a mistake: a service manager may have done it before.
        drop_to(&user).expect("it is this user already");
        let other = User::look_up("daemon").expect("every machine has this user");
        assert!(matches!(drop_to(&other), Err(CredentialsError::NotRoot { .. })));
    });
}

/// Only the one thread changes, for the time of the work.
#[test]
fn work_done_as_a_user_has_the_rights_of_that_user() {
    const TEST: &str = "work_done_as_a_user_has_the_rights_of_that_user";
    if !is_root_or_says_skipped(TEST) {
        return;
    }
    child::in_child(TEST, || {
        let user = User::look_up(UNPRIVILEGED).expect("every machine has this user");
        let own = std::env::temp_dir().join(format!("velodrome-as-user-{}", std::process::id()));
        std::fs::create_dir(&own).expect("a directory of the test");
        let closed = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&own, closed).expect("it is ours");
        let create = || {
            let mut options = std::fs::OpenOptions::new();
            let opened = options.write(true).create(true).truncate(true).open(own.join("file"));
            opened.map_err(|error| error.kind())
        };
        let refused = user.doing(create).expect("root may become anybody");
        assert_eq!(refused.err(), Some(std::io::ErrorKind::PermissionDenied));
        user.own_directory_or_socket(&own).expect("root may give files away");
        let ids = user.doing(|| {
            let made = create().expect("it is that user's directory now");
            let owner = std::os::unix::fs::MetadataExt::uid(&made.metadata().expect("it is open"));
            let groups = rustix::process::getgroups().expect("a process may ask");
            (owner, groups.iter().any(|group| group.is_root()))
        });
        assert_eq!(ids.expect("root may become anybody"), (user.user_id(), false));
        assert!(user.own_directory_or_socket(&own.join("file")).is_err(), "a file is neither");
        std::fs::remove_dir_all(&own).expect("this thread is still root");
        assert!(of_all_threads("Uid:").iter().all(|ids| *ids == [0; 4]));
        drop_to(&user).expect("root may become anybody");
        let other = User::look_up("daemon").expect("every machine has this user");
        assert!(matches!(other.doing(|| ()), Err(CredentialsError::NotRoot { .. })));
        assert!(user.doing(|| ()).is_ok(), "it is this user already");
    });
}

#[test]
fn dropping_to_root_is_refused() {
    let root = User::look_up("root").expect("every machine has this user");
    assert_eq!((root.name(), root.user_id(), root.group_id()), ("root", 0, 0));
    let error = drop_to(&root).expect_err("that gives up nothing");
    assert!(matches!(&error, CredentialsError::IsRoot { name } if name == "root"));
    assert!(error.to_string().contains("without privileges"), "{error}");
}

#[test]
fn a_user_that_does_not_exist_is_named_with_the_mend() {
    for name in ["velodrome-no-such-user", "", "with\0nul"] {
        let error = User::look_up(name).expect_err("nobody has that name");
        assert!(matches!(&error, CredentialsError::NoSuchUser { name: told } if told == name));
        assert!(error.to_string().contains("useradd"), "{error}");
    }
}
