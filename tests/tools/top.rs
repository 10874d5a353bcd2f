//! Goal: `velodrome top` shows a running server, survives its silence and its end, and gives the terminal back. Method:
//! the built binary in a terminal of tmux, with keys as a user presses them; reported as skipped if tmux is missing.
//! One interval is also read as text and JSON.
#![expect(clippy::print_stdout, reason = "what is skipped has to be seen")]

use std::process::{Command, Output};

use serde_json::Value;

use crate::server::directory::Directory;
use crate::server::patience::until;
use crate::server::{PROGRAM, Plan, Server, errors_of, printed_by, run};

fn server() -> Server {
    Plan::new().argument("--schedulers=2").file("a.txt", "hello").start()
}

fn once(server: &Server, words: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["top", "--once", "--interval=200ms", "--socket"]).arg(server.plan.socket());
    run(command.args(words))
}

#[test]
fn one_interval_is_text_or_json() {
    let server = server();
    let mut client = server.client();
    client.get("/a.txt").unwrap();
    let output = once(&server, &["--list", "connections"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors_of(&output));
    let text = printed_by(&output);
    let head = format!("process {}  serving", server.id());
    for part in [&*head, "1 open", "schedulers", "\nconnections\n", "127.0.0.1:"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let output = once(&server, &["--json", "--list", "connections", "--most", "5"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["server"]["process"], server.id());
    assert_eq!(document["connections"], 1);
    assert!(document["interval_ms"].as_u64().unwrap() >= 100, "{document}");
    let schedulers = document["schedulers"].as_array().unwrap();
    assert_eq!(schedulers.len(), 2);
    for scheduler in schedulers {
        let shares = scheduler["shares"].as_object().unwrap().values();
        let whole: f64 = shares.map(|share| share.as_f64().unwrap()).sum();
        assert!((0.999..1.001).contains(&whole), "{scheduler}");
    }
    assert_eq!(document["list"]["rows"].as_array().unwrap().len(), 1, "{document}");
}

#[test]
fn commands_that_events_advise_are_understood() {
    let server = server();
    let advised: Vec<&str> = include_str!("../../docs/events.md").split('`').collect();
    let advised = advised.into_iter().filter(|text| text.starts_with("velodrome top --"));
    for command in advised.collect::<Vec<_>>() {
        let mut top = Command::new(PROGRAM);
        top.args(command.split(' ').skip(1)).arg("--socket").arg(server.plan.socket());
        let output = run(&mut top);
        assert_eq!(output.status.code(), Some(0), "{command}: {}", errors_of(&output));
    }
}

#[test]
fn pages_have_their_rate_and_their_memory() {
    let server = Plan::new().argument("--schedulers=1").file("p.page.txt", "<%= 1 %>").start();
    let document = until("an interval with pages", || {
        let output = std::thread::scope(|scope| {
            let top = scope.spawn(|| once(&server, &["--json"]));
            while !top.is_finished() {
                server.get("/p.txt");
            }
            top.join().unwrap()
        });
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        (document["rates"]["pages"].as_f64().unwrap() > 0.0).then_some(document)
    });
    assert!(document["memory"]["pages"].as_u64().unwrap() > 1_000, "{document}");
}

#[test]
fn wrong_use_and_no_server_have_their_own_status() {
    let server = server();
    let told = |output: &Output| (output.status.code(), errors_of(output));
    let (status, why) = told(&once(&server, &["--list", "connections", "--sort", "nothing"]));
    assert_eq!(status, Some(2));
    assert!(why.contains("--sort nothing: connections have no such column"), "{why}");
    assert_eq!(told(&once(&server, &["--list", "planets"])).0, Some(2));
    let mut command = Command::new(PROGRAM);
    let (status, why) = told(&run(command.args(["top", "--socket"]).arg(server.plan.socket())));
    assert_eq!(status, Some(2));
    assert!(why.contains("no terminal") && why.contains("--once"), "{why}");
    let mut command = Command::new(PROGRAM);
    let (status, why) = told(&run(command.args(["top", "--once", "--socket=/nowhere/a.sock"])));
    assert_eq!(status, Some(1));
    assert!(why.contains("`/nowhere/a.sock` does not answer"), "{why}");
}

/// A terminal of 80 columns and 24 rows with a shell.
struct Terminal {
    place: Directory,
}

impl Terminal {
    /// `None` if tmux is missing.
    fn open(test: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            println!("SKIPPED {test}: tmux is not installed");
            return None;
        }
        let terminal = Self { place: Directory::new() };
        let directory = terminal.place.path().display().to_string();
        let shell = "env -u ENV -u NO_COLOR PS1='ready> ' sh -i";
        terminal.tmux(&["new-session", "-d", "-x", "80", "-y", "24", "-c", &directory, shell]);
        terminal.shows("ready>");
        Some(terminal)
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-u", "-S"]).arg(self.place.join("tmux")).args(["-f", "/dev/null"]);
        command.args(words);
        let output = run(&mut command);
        assert!(output.status.success(), "{words:?}: {}", errors_of(&output));
        printed_by(&output)
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until a text is on the screen.
    fn shows(&self, part: &str) -> String {
        let mut text = String::new();
        until(&format!("`{part}` on the screen"), || {
            text = self.text();
            text.contains(part).then_some(())
        });
        text
    }

    /// Starts the screens; the file `top.pid` has the process.
    fn top(&self, server: &Server) {
        let socket = server.plan.socket().display().to_string();
        let script =
            format!("echo $$ > top.pid\nexec {PROGRAM} top --interval 200ms --socket {socket}\n");
        self.place.write("top.sh", script);
        self.keys(&["clear; sh top.sh", "Enter"]);
        self.shows(&format!("process {}  serving", server.id()));
    }

    /// Waits until the shell has the terminal again, as it was.
    fn is_given_back(&self) {
        until("the usual screen", || {
            let flags = self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
            (flags.trim() == "0 1").then_some(())
        });
        self.keys(&["clear; stty -a | grep -o ' icanon' | sed 's/^/lines are/'", "Enter"]);
        self.shows("lines are icanon");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn a_server_is_watched_and_one_of_its_connections_ended() {
    let Some(terminal) = Terminal::open("a_server_is_watched_and_one_of_its_connections_ended")
    else {
        return;
    };
    let server = server();
    let mut client = server.client();
    client.get("/a.txt").unwrap();
    terminal.top(&server);
    let text = terminal.shows("1 open");
    assert!(text.contains("schedulers") && text.contains("1 overview"), "{text}");
    terminal.keys(&["2"]);
    // The head has the address of the listener.
    let addresses = || terminal.text().matches("127.0.0.1").count();
    until("a row with the client", || (addresses() == 2).then_some(()));
    terminal.keys(&["Enter"]);
    terminal.shows("Esc back");
    until("all about the connection", || (!terminal.text().contains("asked ...")).then_some(()));
    terminal.keys(&["k"]);
    terminal.shows("y for yes");
    terminal.keys(&["y"]);
    client.rest().unwrap();
    terminal.shows("0 open");
    terminal.keys(&["q"]);
    terminal.is_given_back();
}

#[test]
fn a_server_falls_silent_ends_and_comes_back() {
    let Some(terminal) = Terminal::open("a_server_falls_silent_ends_and_comes_back") else {
        return;
    };
    let server = server();
    terminal.top(&server);
    server.signal("STOP");
    terminal.shows("no answer since");
    // Keys work meanwhile.
    terminal.keys(&["?"]);
    terminal.shows("Ctrl-Z");
    server.signal("CONT");
    until("an answer", || (!terminal.text().contains("no answer")).then_some(()));
    let before = server.id();
    let server = server.kill_and_restart();
    terminal.shows(&format!("process {}", server.id()));
    terminal.shows(&format!("process {before} is now {}", server.id()));
    drop(server);
    terminal.shows("no server since");
    terminal.keys(&["C-c"]);
    terminal.is_given_back();
}

#[test]
fn signals_give_the_terminal_back() {
    let Some(terminal) = Terminal::open("signals_give_the_terminal_back") else { return };
    let server = server();
    terminal.top(&server);
    let signal = |name: &str| {
        let process = terminal.place.text("top.pid");
        let status = run(Command::new("kill").args([name, process.trim()])).status;
        assert!(status.success(), "{name} {process}");
    };
    // Stopped, it gives the terminal back; continued, it draws again.
    for stop in ["key", "-TSTP"] {
        if stop == "key" {
            terminal.keys(&["C-z"])
        } else {
            signal(stop)
        }
        terminal.is_given_back();
        terminal.keys(&["fg", "Enter"]);
        terminal.shows("1 overview");
    }
    signal("-TERM");
    terminal.is_given_back();
    terminal.top(&server);
    signal("-INT");
    terminal.is_given_back();
}

#[test]
fn a_key_makes_a_profile() {
    let Some(terminal) = Terminal::open("a_key_makes_a_profile") else { return };
    let server = server();
    terminal.top(&server);
    terminal.keys(&["P"]);
    terminal.shows(&format!("profiling process {}", server.id()));
    let text = until("the profile", || {
        let text = terminal.text();
        (text.contains("all frames: ") || text.contains("no profile: ")).then_some(text)
    });
    if text.contains("no profile: ") {
        println!("SKIPPED a part of a_key_makes_a_profile: the kernel lets nobody sample");
        return;
    }
    assert!(text.contains("  own    all         function"), "{text}");
    let file = terminal.place.join(&format!("profile-{}-1.html", server.id()));
    assert!(std::fs::read_to_string(file).unwrap().ends_with("</html>\n"));
}
