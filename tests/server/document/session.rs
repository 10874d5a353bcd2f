//! The commands of a document, run one after the other in a directory of their own.
//!
//! Owns that directory, the servers and the programs that run meanwhile. Ports are the operating system's: an address
//! in a command is replaced by that of the session's server, and the other way round in what is printed.
#![expect(clippy::print_stdout, reason = "what is skipped has to be seen")]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::super::channel::{API_KEY, SECRET};
use super::super::directory::Directory;
use super::super::patience::until;
use super::super::{Ending, PROGRAM, errors_of, printed_by, run, used_port};
use super::blocks::{Block, commands_of};
use super::likeness::{Likeness, is_like};

/// The addresses in documents: of HTTP, of Redis clients, and of metrics.
const HTTP: &str = "127.0.0.1:8080";
const REDIS: &str = "127.0.0.1:6379";
const METRICS: &str = "127.0.0.1:9090";
/// The number of a program in documents.
const PROCESS: &str = "--pid 812";

/// A directory with what a reader of the document has.
///
/// The directory is removed last.
pub(crate) struct Session {
    server: Option<Ending>,
    /// Programs that a command has left running.
    running: Vec<Reader>,
    /// The names that a document shows, and those here.
    names: Vec<(String, String)>,
    /// The address of metrics, which the server does not print.
    metrics: String,
    directory: Directory,
}

/// A program that prints while other commands run.
struct Reader {
    _program: Ending,
    output: PathBuf,
    /// How much of it a command has shown.
    shown: usize,
}

impl Session {
    pub(crate) fn new() -> Self {
        let directory = Directory::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        std::os::unix::fs::symlink(root.join("examples"), directory.join("examples")).unwrap();
        std::fs::create_dir(directory.join("run")).unwrap();
        directory.write("site/index.html", "<h1>Laps</h1>\n");
        directory.write("programs.keys", format!("{API_KEY}\n"));
        directory.write("channels.keys", SECRET);
        let metrics = used_port().1.to_string();
        Self { server: None, running: Vec::new(), names: Vec::new(), metrics, directory }
    }

    /// A file of the document.
    pub(crate) fn write(&self, name: &str, text: &str) {
        self.directory.write(name, text.replace(METRICS, &self.metrics));
    }

    /// `velodrome check` finds no mistake.
    pub(crate) fn check(&self, block: &Block<'_>, words: &[&str]) {
        let output = run(self.command(PROGRAM).arg("check").args(words));
        assert!(output.status.success(), "{block}: {}{}", printed_by(&output), errors_of(&output));
    }

    /// Runs the commands of a block, and compares what they print.
    pub(crate) fn try_block(&mut self, block: &Block<'_>, likeness: Likeness) {
        self.running.clear();
        for (command, shown) in commands_of(block.text) {
            if let Some(words) = command.strip_prefix("velodrome serve ") {
                assert_eq!(
                    shown, "",
                    "{block}: {command}: a server prints nothing while commands follow"
                );
                self.serve(words);
            } else if let Some(command) = command.strip_suffix(" &") {
                assert_eq!(
                    shown, "",
                    "{block}: {command}: it prints below the command that follows"
                );
                self.leave_running(command);
            } else {
                self.try_command(block, &command, &shown, likeness);
            }
        }
    }

    fn try_command(&mut self, block: &Block<'_>, command: &str, shown: &str, likeness: Likeness) {
        let local = self.localised(command);
        let output = run(self.command("sh").args(["-c", &format!("exec 2>&1\n{local}")]));
        let own = with_line_end(printed_by(&output));
        if likeness == Likeness::None && own.contains("may not be looked at") {
            println!("SKIPPED {block}: the kernel lets nobody sample");
            return;
        }
        if likeness == Likeness::None {
            assert!(output.status.success(), "{block}: {command}: {}\n{own}", output.status);
            return;
        }
        // An output that is left out entirely is like any, so the status has to tell whether there was one.
        let mut lines = shown.lines().map(str::trim);
        let is_left_out = !shown.trim().is_empty() && lines.all(|line| line == "...");
        let is_right = !is_left_out || output.status.success();
        assert!(is_right, "{block}: {command}: {}\n{own}", output.status);
        if self.running.is_empty() {
            let printed = self.shown(&own);
            let is_like = is_like(likeness, shown, &printed);
            return assert!(is_like, "{block}: {command}\nshown:\n{shown}\nprinted:\n{printed}");
        }
        // Other programs that run may print it a moment later.
        let what = format!("{block}: {command}\n{shown}\nafter: {own}");
        until(&what, || {
            let pieces = self.running.iter().map(|reader| reader.text()[reader.shown..].to_owned());
            let printed = self.shown(&(own.clone() + &pieces.collect::<String>()));
            is_like(likeness, shown, &printed).then_some(())
        });
        for reader in &mut self.running {
            reader.shown = reader.text().len();
        }
    }

    fn serve(&mut self, words: &str) {
        // The next one may use the same store.
        drop(self.server.take());
        let free = |text: &str| {
            [HTTP, REDIS]
                .iter()
                .fold(text.to_owned(), |text, address| text.replace(address, "127.0.0.1:0"))
        };
        let socket = self.directory.join("run/control.sock");
        let mut line =
            format!("exec velodrome serve {} --admin-socket={}", free(words), socket.display());
        if !words.contains("--listen ") {
            line += " --listen=127.0.0.1:0";
        }
        let print = |name: &str| File::create(self.directory.join(name)).unwrap();
        let mut command = self.command("sh");
        command.args(["-c", &line]).stdin(Stdio::null());
        let mut server = Ending(
            command.stdout(print("served.txt")).stderr(print("troubles.txt")).spawn().unwrap(),
        );
        let expected = if words.contains("--listen-resp") { 2 } else { 1 };
        let lines: Vec<String> = until("the server's announcement", || {
            if let Some(status) = server.0.try_wait().unwrap() {
                panic!(
                    "velodrome serve {words}: {status}: {}",
                    self.directory.text("troubles.txt")
                );
            }
            let printed = self.directory.text("served.txt");
            let lines: Vec<String> =
                printed.split_inclusive('\n').skip(1).map(|line| line.trim().to_owned()).collect();
            (lines.len() >= expected && printed.ends_with('\n')).then_some(lines)
        });
        self.names = self.names_of(&lines, &server.0, &socket);
        self.server = Some(server);
    }

    fn names_of(&self, lines: &[String], server: &Child, socket: &Path) -> Vec<(String, String)> {
        let mut names = Vec::new();
        for line in lines {
            if let Some(address) = line.strip_prefix("redis://") {
                let (_, port) = address.rsplit_once(':').unwrap();
                names.push((REDIS.to_owned(), address.to_owned()));
                names.push(("-p 6379".to_owned(), format!("-p {port}")));
            } else if let Some(address) = line.strip_prefix("http://") {
                names.push((HTTP.to_owned(), address.trim_end_matches('/').to_owned()));
            }
        }
        names.push((METRICS.to_owned(), self.metrics.clone()));
        names.push((PROCESS.to_owned(), format!("--pid {}", server.id())));
        names.push(("/run/velodrome/8080.sock".to_owned(), socket.display().to_string()));
        for verb in ["velodrome ctl ", "velodrome top "] {
            names.push((verb.to_owned(), format!("{verb}--socket {} ", socket.display())));
        }
        for bench in ["velodrome bench http ", "velodrome bench store "] {
            names.push((bench.to_owned(), format!("{bench}--warmup 0s ")));
        }
        names
    }

    /// A command with what its names are here, and with less patience than a reader has.
    fn localised(&self, command: &str) -> String {
        let names = self.names.iter();
        let command =
            names.fold(command.to_owned(), |text, (shown, here)| text.replace(shown, here));
        // As on a terminal that a person reads: no progress, and the answers of Redis with their types.
        let command = command.replace("curl ", "curl --silent --show-error --max-time 20 ");
        let command = command.replace("redis-cli ", "redis-cli --no-raw ");
        ["-d 10s", "-d 5s", "-d 2s"]
            .iter()
            .fold(command, |text, time| text.replace(time, "-d 200ms"))
    }

    /// The printed text, with the names of the document.
    fn shown(&self, printed: &str) -> String {
        let names = self.names.iter().filter(|(shown, _)| shown.contains(':'));
        names.fold(printed.to_owned(), |text, (shown, here)| text.replace(here, shown))
    }

    /// Starts a client that reads on, and waits until it is answered.
    fn leave_running(&mut self, command: &str) {
        let number = self.running.len();
        let [output, head] =
            ["output", "head"].map(|what| self.directory.join(&format!("run/{what}-{number}")));
        let local = self.localised(command).replacen(
            "curl ",
            &format!("exec curl --dump-header {} ", head.display()),
            1,
        );
        let mut child = self.command("sh");
        child.args(["-c", &local]).stdin(Stdio::null()).stderr(Stdio::null());
        let child = Ending(child.stdout(File::create(&output).unwrap()).spawn().unwrap());
        until(command, || {
            std::fs::read_to_string(&head).ok().filter(|head| head.ends_with("\r\n\r\n"))
        });
        self.running.push(Reader { _program: child, output, shown: 0 });
    }

    /// A program in this directory, which finds `velodrome`.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let mut path = Path::new(PROGRAM).parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        command.current_dir(self.directory.path()).env("PATH", path).env("KEY", API_KEY);
        command
            .env("HOME", self.directory.path())
            .env("XDG_RUNTIME_DIR", self.directory.join("run"));
        command
    }
}

impl Reader {
    fn text(&self) -> String {
        std::fs::read_to_string(&self.output).unwrap()
    }
}

/// A text that ends without a line end, as JSON does, is followed by the output of others.
fn with_line_end(text: String) -> String {
    if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
}
