//! Goal: a cluster can be tried before it is used, and encrypted. Method: `velodrome check` against servers of NATS
//! that lack something, `velodrome cluster demo`, and nodes over TLS; skipped where `nats-server` is not installed.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use crate::server::certificates::Authority;
use crate::server::channel::say;
use crate::server::directory::Directory;
use crate::server::nats::Nats;
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, free_address, has, run};

use super::cluster::{events, publish};

const CONFIG: &str = "[[channel]]\npattern = \"chat.*\"\nhistory = 100\n";

/// The verdict of `velodrome check` on this configuration.
fn check(config: &str, files: &[(&str, &str)]) -> (Option<i32>, String) {
    let plan = Plan::new().config(config);
    for (file, content) in files {
        plan.directory.write(file, content);
        let others_may_read = Permissions::from_mode(0o644);
        fs::set_permissions(plan.directory.join(file), others_may_read).unwrap();
    }
    let mut command = Command::new(PROGRAM);
    command.arg("check").arg(plan.directory.join("site"));
    command.arg("--config").arg(plan.directory.join("velodrome.toml"));
    let output = run(&mut command);
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn check_says_what_a_server_of_nats_lacks() {
    let test = "check_says_what_a_server_of_nats_lacks";
    let config = |nats: &Nats| format!("{CONFIG}{}", nats.section("one"));
    let Some(nats) = Nats::start(test) else { return };
    let (status, text) = check(&config(&nats), &[]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("cluster: welcome at 127.0.0.1:"), "{text}");
    assert!(text.contains("this is the node `one`"), "{text}");
    let on_three = format!("{}replicas = 3\n", config(&nats));
    let (status, text) = check(&on_three, &[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("it is alone, and `replicas = 3` in [cluster]"), "{text}");
    drop(nats);
    let nobody = format!("{CONFIG}[cluster]\nservers = [\"nats://{}\"]\n", free_address());
    let (status, text) = check(&nobody, &[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("no server listens there"), "{text}");
    let Some(locked) = Nats::start_with(test, &["--user", "u", "--pass", "secret"]) else { return };
    let (status, text) = check(&config(&locked), &[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("does not accept the credentials"), "{text}");
    let with_password =
        format!("{}user = \"u\"\npassword_file = \"nats.password\"\n", config(&locked));
    let (status, text) = check(&with_password, &[("nats.password", "secret\n")]);
    assert_eq!(status, Some(0), "{text}");
    drop(locked);
    let Some(small) = Nats::start_configured(test, "max_payload: 32768\n") else { return };
    let (status, text) = check(&config(&small), &[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("NATS takes messages of 32768 bytes"), "{text}");
    let with_store =
        format!("[store]\npath = \"data\"\nrole = \"leader\"\n{}", small.section("one"));
    let (status, text) = check(&with_store, &[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains("stores with a `role` send those of 525312; raise `max_payload`"),
        "{text}"
    );
    drop(small);
    let Some(plain) = Nats::start_without_jetstream(test) else { return };
    let (status, text) = check(&config(&plain), &[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("JetStream is not enabled"), "{text}");
    let with_process =
        format!("[[process]]\nmodule = \"clock\"\nwhere = \"cluster\"\n{}", plain.section("one"));
    let (status, text) = check(&with_process, &[("app/clock.lua", "return function() end\n")]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("JetStream is not enabled; the [[process]] `clock`"), "{text}");
    let tls = config(&plain).replace("nats://", "tls://");
    let (status, text) = check(&tls, &[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("does not offer it; write \"nats://\""), "{text}");
}

#[test]
fn check_tries_each_address_of_a_name() {
    let test = "check_tries_each_address_of_a_name";
    let Some(nats) = Nats::start(test) else { return };
    let directory = Directory::new();
    // An address of IPv6 is tried first, and no server listens at this one.
    directory.write("hosts", "127.0.0.1 nats.test\n::1 nats.test\n");
    let own_hosts = format!("mount --bind {} /etc/hosts", directory.join("hosts").display());
    if !run(Command::new("unshare").args(["--mount", "sh", "-c", &own_hosts])).status.success() {
        println!("SKIPPED {test}: no file can be mounted here");
        return;
    }
    let plan = Plan::new().config(&nats.section("one").replace("127.0.0.1", "nats.test"));
    let place = |file: &str| plan.directory.join(file).display().to_string();
    let (site, config) = (place("site"), place("velodrome.toml"));
    let script = format!("{own_hosts} && exec {PROGRAM} check {site} --config {config}");
    let output = run(Command::new("unshare").args(["--mount", "sh", "-c", &script]));
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("cluster: welcome at nats.test:"), "{text}");
}

#[test]
fn check_says_what_a_file_of_credentials_should_have_and_who_may_read_it() {
    let section = format!("[cluster]\nservers = [\"nats://{}\"]\n", free_address());
    for (setting, words) in [
        (
            "nkey_file = \"none\"",
            "No such file or directory (os error 2); write the seed of the nkey",
        ),
        ("token_file = \"blank\"", "is empty; write the token into it"),
        ("user = \"u\"\npassword_file = \"blank\"", "is empty; write the password of `user`"),
    ] {
        let (status, text) = check(&format!("{section}{setting}\n"), &[("blank", "\n")]);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains(words) && !text.contains("openssl"), "{text}");
    }
    for setting in ["token_file = \"open\"", "user = \"u\"\npassword_file = \"open\""] {
        let (_, text) = check(&format!("{section}{setting}\n"), &[("open", "secret\n")]);
        assert!(text.contains("open: others than its owner may read"), "{text}");
    }
}

#[test]
fn nodes_are_connected_over_tls() {
    let test = "nodes_are_connected_over_tls";
    let directory = Directory::new();
    let authority = Authority::in_directory(&directory);
    authority.issue(&directory, "nats", &["127.0.0.1"]);
    let file = |name: &str| directory.join(name).display().to_string();
    let config = format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\" }}\n",
        file("nats.pem"),
        file("nats.key")
    );
    let Some(nats) = Nats::start_configured(test, &config) else { return };
    let section = |name: &str| {
        let section = nats.section(name).replace("nats://", "tls://");
        format!("{CONFIG}{section}ca = \"{}\"\n", file("ca.pem"))
    };
    let (status, text) = check(&section("one"), &[]);
    assert_eq!(status, Some(0), "{text}");
    let (one, two) = (nats.node_of(&section("one")), nats.node_of(&section("two")));
    let mut stream = events(&two, "chat.a");
    assert_eq!(publish(&one, "chat.a", "secret").0, 200);
    say(&mut stream, b"", b"data: secret\n\n");
    // Without the authority nobody is believed.
    let unknown = format!("{CONFIG}{}", nats.section("one").replace("nats://", "tls://"));
    let (status, text) = check(&unknown, &[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("TLS handshake failed"), "{text}");
    let plain = format!("{CONFIG}{}", nats.section("one"));
    let (_, text) = check(&plain, &[]);
    assert!(text.contains("the server wants TLS"), "{text}");
}

#[test]
fn demonstration_starts_nodes_and_ends_them() {
    if !has("nats-server", "demonstration_starts_nodes_and_ends_them") {
        return;
    }
    demonstration_ends_with("TERM");
    // The terminal is closed.
    demonstration_ends_with("HUP");
    demonstration_ends_with("KILL");
    let mut missing = Command::new(PROGRAM);
    missing.args(["cluster", "demo", "--nats-server", "no-such-program"]);
    let output = run(&mut missing);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is not installed; get it from"), "{said}");
}

fn demonstration_ends_with(signal: &str) {
    let mut command = Command::new(PROGRAM);
    command.args(["cluster", "demo", "-n", "2"]).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut demo = command.spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let said: Vec<String> = lines.by_ref().take_while(|line| !line.starts_with("Ctrl-C")).collect();
    let address = |node: &str| {
        let line =
            said.iter().find(|line| line.contains(node)).unwrap_or_else(|| panic!("{said:?}"));
        line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned()
    };
    let addresses = [address("node-1"), address("node-2")];
    let status = Command::new("sh").args(["-c", &format!("kill -{signal} {}", demo.id())]).status();
    assert!(status.unwrap().success());
    assert_eq!(demo.wait().unwrap().success(), signal != "KILL");
    for address in addresses {
        let ends = || std::net::TcpStream::connect(&address).is_err().then_some(());
        if signal == "KILL" {
            // Nobody waits for them.
            until("it listens no more", ends);
        } else {
            assert!(ends().is_some(), "{address} still listens");
        }
    }
}
