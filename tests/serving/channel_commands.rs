//! Goal: the commands about channels, `check --explain` and `bench channel`, report the truth. Method: the built
//! program.

use std::process::Command;

use crate::server::{PROGRAM, Plan, Server, printed_by, run};

fn site() -> Server {
    let config = "[[channel]]\npattern = \"chat.*\"\n[[channel]]\npattern = \"echo\"\n";
    Plan::new().config(config).start()
}

#[test]
fn check_explains_that_a_channel_answers() {
    let server = site();
    let directory = server.directory();
    let (site, config) = (directory.join("site"), directory.join("velodrome.toml"));
    for (path, result) in [
        ("/channels/chat.a", "result: the channel `chat.a`"),
        ("/channels/none", "result: 404: no [[channel]] has a pattern for `none`"),
        ("/velodrome.js", "result: the client of channels for browsers"),
        ("/%63hannels/chat.a", "result: the channel `chat.a`"),
    ] {
        let mut command = Command::new(PROGRAM);
        command.arg("check").arg(&site).arg("--config").arg(&config).args(["--explain", path]);
        let printed = printed_by(&run(&mut command));
        assert_eq!(printed.lines().last(), Some(result), "{printed}");
    }
}

#[test]
fn the_load_generator_hears_every_message() {
    let server = site();
    let url = format!("{}/channels/echo", server.address());
    let output =
        run(Command::new(PROGRAM)
            .args(["bench", "channel", &url, "-c", "50", "-n", "20", "--json"]));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["received"], &report["reach"]), (&1000.into(), &1.0.into()), "{report}");
    assert_eq!((&report["fewest"], &report["disordered"]), (&20.into(), &0.into()));
    let nowhere = url.replace("echo", "nowhere");
    let output =
        run(Command::new(PROGRAM).args(["bench", "channel", &nowhere, "-c", "2", "-n", "1"]));
    assert_eq!(output.status.code(), Some(3));
    assert!(printed_by(&output).contains("2 answered `HTTP/1.1 404 Not Found`"));
}
