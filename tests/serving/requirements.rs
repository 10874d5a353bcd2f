//! Goal: what would keep a server from starting is told by `check` and by `serve`, in the same words; what is opened
//! later is tried as the user whom the server becomes; and a reader that does not read its output keeps it from neither
//! starting nor ending. Method: the built binary with the mistakes of operators, some of which only root can make.

use std::fs::{File, OpenOptions};
use std::io::{PipeWriter, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::server::client::{Client, text};
use crate::server::patience::until;
use crate::server::{Ending, PROGRAM, Plan, errors_of, run};

/// A user of every machine.
const USER: &str = "nobody";

/// `check` or `serve` with the configuration alone.
fn alone(verb: &str, plan: &Plan) -> Output {
    let config = format!("--config={}", plan.directory.join("velodrome.toml").display());
    run(Command::new(PROGRAM).arg(verb).arg(plan.directory.join("site")).arg(config))
}

/// Fails unless both refuse, and say all of this.
fn assert_both_refuse(plan: &Plan, told: &[&str]) {
    let [check, serve] = ["check", "serve"].map(|verb| alone(verb, plan));
    assert_eq!(errors_of(&check), errors_of(&serve));
    for output in [check, serve] {
        let errors = errors_of(&output);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        for words in told {
            assert!(errors.contains(words), "no `{words}` in:\n{errors}");
        }
    }
}

fn mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).unwrap();
}

/// Whether this test is run by root; prints that it is skipped if not.
#[expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
fn is_root(plan: &Plan, test: &str) -> bool {
    let is_root = std::fs::metadata(plan.directory.path()).unwrap().uid() == 0;
    if !is_root {
        println!("SKIPPED {test}: not root");
    }
    // Others may look for what they are allowed to.
    mode(plan.directory.path(), 0o755);
    is_root
}

#[test]
fn check_refuses_what_serve_refuses() {
    for (config, told) in [
        (
            "[log]\naccess = \"missing/a.log\"\n",
            &["the access log", "missing/a.log", "make its directory"][..],
        ),
        ("[log]\naccess = \".\"\n", &["the access log", "s a directory"]),
        ("user = \"velodrome-no-such-user\"\n", &["velodrome-no-such-user", "useradd"]),
        (
            "[admin]\nsocket = \"missing/a.sock\"\n",
            &["the admin socket `", "missing/a.sock`", "make its directory", "[admin]"],
        ),
        ("[admin]\nmetrics = \"192.0.2.1:9090\"\n", &["the metrics", "192.0.2.1:9090", "[admin]"]),
        (
            "[[listener]]\naddress = \"unix:/missing/web.sock\"\n",
            &["cannot listen on unix:/missing/web.sock", "make its directory"],
        ),
        ("[[listener]]\naddress = \"192.0.2.1:80\"\n", &["192.0.2.1:80", "no interface"]),
        ("[pages]\nuploads = \"missing\"\n", &["uploads", "missing"]),
        ("[store]\npath = \"velodrome.toml\"\n", &["the store in `", "ot a directory"]),
        (
            "[log]\naccess = \"/proc/a.log\"\n",
            &["the access log", "/proc/a.log", "only the kernel"],
        ),
        ("[store]\npath = \"/proc/a\"\n", &["the store in `/proc/a`", "only the kernel"]),
        ("[pages]\nuploads = \"/proc\"\n", &["uploads", "only the kernel"]),
        ("[log]\naccess = \"site/a.log\"\n", &["the access log `", "site/a.log`", "is served"]),
    ] {
        assert_both_refuse(&Plan::new().config(config), told);
    }
}

#[test]
fn a_log_that_nobody_reads_is_refused_by_both() {
    let plan = Plan::new().config("[log]\naccess = \"a.fifo\"\n");
    let fifo = plan.directory.join("a.fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    assert_both_refuse(&plan, &["the access log", "a.fifo", "a FIFO that nobody reads"]);
}

/// The configuration of a server is checked while it runs.
#[test]
fn check_does_not_mind_the_server_that_runs() {
    let plan = Plan::new();
    let (run, web) = (plan.socket(), plan.directory.join("web.sock"));
    let config = format!(
        "[admin]\nsocket = \"{}\"\n[log]\naccess = \"access.log\"\n[store]\npath = \"store\"\n\
         [pages]\nuploads = \"up\"\n[[listener]]\naddress = \"unix:{}\"\n",
        run.display(),
        web.display()
    );
    std::fs::create_dir(plan.directory.join("up")).unwrap();
    let plan = plan.config(&config).listen_as_configured(1);
    let check = |plan: &Plan| {
        let check = alone("check", plan);
        assert_eq!(check.status.code(), Some(0), "{check:?}");
    };
    check(&plan);
    for name in ["access.log", "store", "web.sock"] {
        assert!(!plan.directory.join(name).exists(), "check makes nothing: {name}");
    }
    let server = plan.start();
    check(&server.plan);
    let mut client = Client::connect_unix(&web).unwrap();
    assert_eq!(client.get("/").unwrap().status, 404);
}

#[test]
fn a_socket_replaces_no_other_file() {
    let plan = Plan::new();
    let kept = plan.directory.join("kept.txt");
    plan.directory.write("kept.txt", "kept");
    let plan = plan.config(&format!("[admin]\nsocket = \"{}\"\n", kept.display()));
    assert_both_refuse(&plan, &["the admin socket `", "kept.txt` cannot be made", "not a socket"]);
    let plan = plan.listen(&format!("unix:{}", kept.display()));
    let told = errors_of(&plan.fail());
    assert!(told.contains("kept.txt") && told.contains("not a socket"), "{told}");
    assert_eq!(plan.directory.text("kept.txt"), "kept");
}

#[test]
fn another_server_with_the_same_admin_socket_is_told_which() {
    let server = Plan::new().start();
    let mut command = Command::new(PROGRAM);
    command.arg("serve").arg(server.directory().join("site")).arg("--listen=127.0.0.1:0");
    command.arg(format!("--admin-socket={}", server.plan.socket().display()));
    let output = run(&mut command);
    let told = errors_of(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("the admin socket `") && told.contains("another server has it"),
        "{told}"
    );
    assert!(!told.contains("--listen"), "{told}");
    assert!(server.ctl(&["status"]).status.success());
}

#[test]
fn a_configuration_in_a_pipe_is_refused() {
    let plan = Plan::new();
    let path = plan.directory.join("velodrome.toml");
    std::fs::remove_file(&path).unwrap();
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert_both_refuse(&plan, &["velodrome.toml", "it is not a regular file"]);
}

#[test]
fn files_made_for_a_user_belong_to_that_user() {
    let config = format!(
        "user = \"{USER}\"\n[log]\naccess = \"access.log\"\n[store]\npath = \"data/store\"\nsync = \"log\"\n"
    );
    let plan = Plan::new().config(&config).file("a.txt", "a\n");
    if !is_root(&plan, "files_made_for_a_user_belong_to_that_user") {
        return;
    }
    let mut server = plan.start();
    let socket = server.plan.socket();
    let directory = server.directory();
    let mut made = vec![directory.join("access.log"), directory.join("data/store"), socket];
    made.extend(
        std::fs::read_dir(directory.join("data/store")).unwrap().map(|entry| entry.unwrap().path()),
    );
    assert!(made.len() > 4, "{made:?}");
    for path in made {
        assert_ne!(std::fs::metadata(&path).unwrap().uid(), 0, "{}", path.display());
    }
    assert_eq!(text(&server.get("/a.txt?one")), "a\n");
    // The user may not create a file there, so the log stays.
    std::fs::rename(directory.join("access.log"), directory.join("old.log")).unwrap();
    server.signal("USR1");
    until("the error", || server.printed_errors().contains("cannot be reopened").then_some(()));
    assert_eq!(text(&server.get("/a.txt?two")), "a\n");
    until("the line", || server.directory().text("old.log").contains("?two").then_some(()));
    // A dump has a place where the user may write, and what the user may ask.
    let dump = server.plan.socket().with_extension("dumps").join("dump.json");
    server.signal("QUIT");
    assert!(server.wait().success(), "{}", server.printed_errors());
    let dump: serde_json::Value = serde_json::from_slice(&std::fs::read(dump).unwrap()).unwrap();
    assert_eq!(dump["status"]["state"], "serving", "{}", dump["status"]);
}

#[test]
fn files_opened_later_are_tried_as_the_user() {
    const TEST: &str = "files_opened_later_are_tried_as_the_user";
    let base = format!("user = \"{USER}\"\n");
    let of_user = format!("as the user `{USER}`");
    for (config, closed, told) in [
        (
            "[pages]\nsecret_file = \"closed\"\n",
            "closed",
            &["secret_file", "closed", "ermission denied"][..],
        ),
        (
            "[pages]\nfetch_certificate = \"closed\"\nfetch_key = \"closed\"\n",
            "closed",
            &["fetch_key", "closed", "ermission denied"],
        ),
        ("[channels]\ntoken_keys = \"closed\"\n", "closed", &["token_keys", "ermission denied"]),
        ("[pages]\nuploads = \"up\"\n", "up/file", &["uploads", "ermission denied"]),
        ("[store]\npath = \"store\"\n", "store/data.mdb", &["the store in `", "ermission denied"]),
        ("[log]\naccess = \"a.log\"\n", "a.log", &["the access log", "ermission denied"]),
        (
            "[[route]]\nprefix = \"/in/\"\nfiles = { root = \"in\" }\n",
            "in/a.txt",
            &["/in", "ermission denied"],
        ),
        ("", "app/main.lua", &["the app modules of `", "/app`", "ermission denied"]),
    ] {
        let plan = Plan::new().config(&format!("{base}{config}"));
        if !is_root(&plan, TEST) {
            return;
        }
        plan.directory.write(closed, "a secret that is long enough for it, at least");
        mode(&plan.directory.join(closed), 0o600);
        if let Some((directory, _)) = closed.split_once('/') {
            mode(&plan.directory.join(directory), 0o700);
        }
        assert_both_refuse(&plan, told);
        assert_both_refuse(&plan, &[&of_user]);
    }
}

/// Writes as much as a pipe holds.
fn fill(pipe: &PipeWriter) {
    let mut filler = Command::new("sh");
    filler.args(["-c", "exec head -c 65536 /dev/zero"]);
    let filled = filler.stdout(Stdio::from(pipe.try_clone().unwrap())).status().unwrap();
    assert!(filled.success());
}

/// Standard output and standard error are a pipe that is full and never read.
#[test]
fn a_server_whose_output_nobody_reads_starts_and_ends() {
    let plan = Plan::new().file("a.txt", "a\n");
    let (_reader, writer) = std::io::pipe().unwrap();
    fill(&writer);
    let web = plan.directory.join("web.sock");
    let plan = plan.listen(&format!("unix:{}", web.display()));
    let mut command = plan.command();
    command.stdout(Stdio::from(writer.try_clone().unwrap())).stderr(Stdio::from(writer));
    let mut server = Ending(command.spawn().unwrap());
    until("an answer", || {
        let mut client = Client::connect_unix(&web).ok()?;
        assert_eq!(text(&client.get("/a.txt").unwrap()), "a\n");
        Some(())
    });
    let end = Command::new("kill").arg(server.0.id().to_string()).status().unwrap();
    assert!(end.success());
    let status = until("the end of the server", || server.0.try_wait().unwrap());
    assert!(status.success(), "{status}");
}

/// The announcement waits a second for room in standard output; a request that is answered meanwhile did not wait for
/// it. On a busy machine the answer may come later, so there are several tries; a server that announces first fails all
/// of them.
#[test]
fn the_first_request_does_not_wait_for_the_reader_of_standard_output() {
    let is_answered_first = || {
        let plan = Plan::new().file("a.txt", "a\n");
        let (mut reader, writer) = std::io::pipe().unwrap();
        fill(&writer);
        let web = plan.directory.join("web.sock");
        let plan = plan.listen(&format!("unix:{}", web.display()));
        let mut command = plan.command();
        command.stdout(Stdio::from(writer)).stderr(Stdio::null());
        let mut server = Ending(command.spawn().unwrap());
        drop(command);
        until("an answer", || {
            let mut client = Client::connect_unix(&web).ok()?;
            client.get("/a.txt").is_ok_and(|answer| text(&answer) == "a\n").then_some(())
        });
        // Output that it printed before the room was made is lost.
        reader.read_exact(&mut vec![0; 65536]).unwrap();
        let end = Command::new("kill").arg(server.0.id().to_string()).status().unwrap();
        assert!(end.success());
        until("the end of the server", || server.0.try_wait().unwrap());
        let mut announced = String::new();
        reader.read_to_string(&mut announced).unwrap();
        announced.contains("web.sock")
    };
    assert!((0..5).any(|_| is_answered_first()));
}

/// Another program has the store, and is stopped, for example.
#[test]
fn a_start_that_waits_for_the_store_says_so_and_can_be_ended() {
    let plan = Plan::new().config("[store]\npath = \"store\"\n").file("a.txt", "a\n");
    let store = plan.directory.join("store");
    std::fs::create_dir(&store).unwrap();
    let holder = File::open(&store).unwrap();
    holder.lock().unwrap();
    let mut server = plan.launch();
    until("the line", || server.printed_errors().contains("is not open yet").then_some(()));
    server.signal("TERM");
    assert_eq!(server.wait().signal(), Some(15));
    let server = server.launch_again();
    until("the line", || server.printed_errors().contains("is not open yet").then_some(()));
    server.signal("HUP");
    holder.unlock().unwrap();
    let server = server.stand();
    until("the reload", || server.printed_errors().contains("is in force").then_some(()));
    assert_eq!(text(&server.get("/a.txt")), "a\n");
}

/// The queue of its datagrams is full.
#[test]
fn a_service_manager_that_does_not_read_delays_nothing() {
    let plan = Plan::new().file("a.txt", "a\n");
    let path = plan.directory.join("notify.sock");
    let _manager = UnixDatagram::bind(&path).unwrap();
    let full = UnixDatagram::unbound().unwrap();
    full.set_nonblocking(true).unwrap();
    while full.send_to(b"X=1", &path).is_ok() {}
    let mut server = plan.environment("NOTIFY_SOCKET", &path.display().to_string()).start();
    server.signal("HUP");
    until("the reload", || server.printed_errors().contains("is in force").then_some(()));
    assert_eq!(text(&server.get("/a.txt")), "a\n");
    server.signal("TERM");
    assert!(server.wait().success());
}

#[test]
fn a_command_whose_output_is_refused_says_so() {
    let plan = Plan::new();
    let site = plan.directory.join("site").display().to_string();
    for words in [&["check", "--defaults"][..], &["check", "--definitions"], &["check", &site]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(PROGRAM).args(words).stdout(full).output().unwrap();
        let errors = errors_of(&output);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(errors.contains("cannot print") && !errors.contains("panicked"), "{errors}");
        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(PROGRAM).args(words).stdout(closed).output().unwrap();
        assert_eq!((output.status.code(), errors_of(&output)), (Some(0), String::new()));
    }
}

#[test]
fn a_log_in_a_served_directory_is_refused_unless_it_is_hidden() {
    let plan = |rest: &str| {
        let plan =
            Plan::new().config(&format!("[log]\naccess = \"site/logs/a.log\"\n[files]\n{rest}"));
        plan.directory.write("site/logs/other", "");
        plan
    };
    for rest in ["", "hide = [\"/other/*\"]\n"] {
        assert_both_refuse(&plan(rest), &["the access log `", "which is served"]);
    }
    let server = plan("hide = [\"/logs/*\"]\n").start();
    let mut client = server.client();
    for name in ["/logs/a.log", "/logs/other"] {
        assert_eq!(client.get(name).unwrap().status, 404, "{name}");
    }
}
