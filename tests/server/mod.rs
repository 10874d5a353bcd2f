//! The built server as a test sees it: a process with a directory of its own, started with a plan, ended with the test.
//! Never ends a process it did not start.

pub(crate) mod autobahn;
pub(crate) mod browser;
pub(crate) mod caches;
pub(crate) mod certificates;
pub(crate) mod channel;
pub(crate) mod client;
pub(crate) mod directory;
pub(crate) mod document;
pub(crate) mod forms;
pub(crate) mod island;
pub(crate) mod mounted;
pub(crate) mod nats;
pub(crate) mod other;
pub(crate) mod patience;
mod ports;
mod printed;
mod told;
pub(crate) mod upstreams;

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::thread;

use conformance::ParsedResponse;
use serde_json::Value;

use client::Client;
use directory::Directory;
use patience::{PATIENCE, is_of_a_slow_disk, until, within};

pub(crate) use ports::{free_address, used_port};
pub(crate) use printed::{errors_of, printed_by};

/// The built binary.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_velodrome");

/// How a server is started.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) directory: Directory,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    wrapper: Vec<String>,
    listen: Option<String>,
    addresses: usize,
    served: String,
    configured: String,
}

impl Plan {
    /// An empty site on a free port of 127.0.0.1.
    pub(crate) fn new() -> Self {
        Self::within(Directory::new())
    }

    /// The same in this directory.
    pub(crate) fn within(directory: Directory) -> Self {
        std::fs::create_dir(directory.join("site")).unwrap();
        std::fs::create_dir(directory.join("run")).unwrap();
        directory.write("velodrome.toml", "root = \"site\"\n");
        Self {
            directory,
            arguments: Vec::new(),
            environment: Vec::new(),
            wrapper: Vec::new(),
            listen: Some("127.0.0.1:0".to_owned()),
            addresses: 1,
            served: "site".to_owned(),
            configured: "velodrome.toml".to_owned(),
        }
    }

    /// Serves another directory of the test, with another configuration file.
    pub(crate) fn serving(mut self, directory: &str, config: &str) -> Self {
        (self.served, self.configured) = (directory.to_owned(), config.to_owned());
        self
    }

    /// With this configuration; the site is `root = "site"`, which is put before it.
    pub(crate) fn config(self, text: &str) -> Self {
        self.directory.write("velodrome.toml", configuration(text));
        self
    }

    /// With a file of the site.
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.directory.write(&format!("site/{name}"), content);
        self
    }

    /// With files of the site.
    pub(crate) fn files<T: AsRef<[u8]>>(self, files: &[(&str, T)]) -> Self {
        files.iter().fold(self, |plan, (name, content)| plan.file(name, content))
    }

    /// With one more argument.
    pub(crate) fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// With an environment variable.
    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Started by this program, which gets the server's command line after its own arguments and executes it.
    pub(crate) fn wrapped(mut self, wrapper: &[&str]) -> Self {
        self.wrapper = wrapper.iter().map(|&word| word.to_owned()).collect();
        self
    }

    /// Listens at this address instead.
    pub(crate) fn listen(mut self, address: &str) -> Self {
        self.listen = Some(address.to_owned());
        self
    }

    /// Listens at the configured addresses, which are this many.
    pub(crate) fn listen_as_configured(mut self, addresses: usize) -> Self {
        self.listen = None;
        self.addresses = addresses;
        self
    }

    /// The control socket, in a directory of its own, which the server may write.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join("run/control.sock")
    }

    /// The command that serves.
    pub(crate) fn command(&self) -> Command {
        let mut words = self.wrapper.clone();
        words.extend([PROGRAM, "serve"].map(str::to_owned));
        words.push(self.directory.join(&self.served).display().to_string());
        words.push(format!("--config={}", self.directory.join(&self.configured).display()));
        words.push(format!("--admin-socket={}", self.socket().display()));
        words.extend(self.listen.iter().map(|address| format!("--listen={address}")));
        words.extend(self.arguments.clone());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts it and waits until it listens.
    pub(crate) fn start(self) -> Server {
        let server = self.launch();
        server.stand()
    }

    /// Starts it and waits until it listens; its standard error is a pipe for the test.
    pub(crate) fn start_with_piped_errors(self) -> (Server, BufReader<ChildStderr>) {
        let mut command = self.command();
        let printed = File::create(self.directory.join("stdout.txt")).unwrap();
        self.directory.write("stderr.txt", "");
        let mut child = command.stdout(printed).stderr(Stdio::piped()).spawn().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        (Server { child, announced: Vec::new(), plan: self }.stand(), errors)
    }

    /// Starts it without waiting.
    pub(crate) fn launch(self) -> Server {
        let print = |name: &str| File::create(self.directory.join(name)).unwrap();
        let mut command = self.command();
        command.stdout(print("stdout.txt")).stderr(print("stderr.txt"));
        let child = command.spawn().unwrap();
        Server { child, announced: Vec::new(), plan: self }
    }

    /// Runs it, and expects that it does not start.
    pub(crate) fn fail(&self) -> Output {
        run(&mut self.command())
    }
}

/// The text of a configuration whose site is the test's.
pub(crate) fn configuration(text: &str) -> String {
    format!("root = \"site\"\n{text}")
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) plan: Plan,
    /// The addresses that it printed.
    pub(crate) announced: Vec<String>,
}

impl Server {
    /// A server of an empty site with this configuration.
    pub(crate) fn start(config: &str) -> Self {
        Plan::new().config(config).start()
    }

    /// Waits until it has printed its addresses.
    pub(crate) fn stand(mut self) -> Self {
        let expected = self.plan.addresses;
        self.announced = until("the server's announcement", || {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the server ended with {status}: {}", self.printed_errors());
            }
            let printed = self.plan.directory.text("stdout.txt");
            let lines: Vec<String> =
                printed.split_inclusive('\n').skip(1).map(|line| line.trim().to_owned()).collect();
            (lines.len() >= expected && printed.ends_with('\n')).then_some(lines)
        });
        self
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The directory of the test.
    pub(crate) fn directory(&self) -> &Directory {
        &self.plan.directory
    }

    /// Its first TCP address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.addresses()[0]
    }

    /// Its TCP addresses.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        let tcp = |line: &String| {
            let address = line.strip_prefix("http://")?.strip_suffix('/')?;
            Some(address.parse().unwrap())
        };
        self.announced.iter().filter_map(tcp).collect()
    }

    /// A new connection.
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address()).unwrap()
    }

    /// One GET on a connection of its own.
    pub(crate) fn get(&self, path: &str) -> ParsedResponse {
        self.client().get(path).unwrap()
    }

    /// One request without a body on a connection of its own.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        fields: &[(&str, &str)],
    ) -> ParsedResponse {
        self.client().request(method, path, fields).unwrap()
    }

    /// Sends a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.id());
        let status = Command::new("sh").args(["-c", &command]).status().unwrap();
        assert!(status.success(), "{command}: {status}");
    }

    /// `velodrome ctl` with these arguments.
    pub(crate) fn ctl(&self, words: &[&str]) -> Output {
        run(&mut self.ctl_command(words))
    }

    /// The command `velodrome ctl` with these arguments.
    pub(crate) fn ctl_command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("ctl").arg("--socket").arg(self.plan.socket()).args(words);
        command
    }

    /// The JSON output of `velodrome ctl`.
    pub(crate) fn ctl_json(&self, words: &[&str]) -> Value {
        let output = self.ctl(&[words, &["--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// Its standard error so far.
    pub(crate) fn printed_errors(&self) -> String {
        self.plan.directory.text("stderr.txt")
    }

    /// The same without lines about orders it carried out, and about a disk that other programs make slow.
    pub(crate) fn printed_troubles(&self) -> String {
        let is_told =
            |line: &&str| line.starts_with("velodrome: info: ") || is_of_a_slow_disk(line);
        self.printed_errors().lines().filter(|line| !is_told(line)).collect()
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        until("the end of the server", || self.child.try_wait().unwrap())
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Starts it once more after it has ended, without waiting.
    pub(crate) fn launch_again(mut self) -> Self {
        let print = |name: &str| File::create(self.plan.directory.join(name)).unwrap();
        let mut command = self.plan.command();
        command.stdout(print("stdout.txt")).stderr(print("stderr.txt"));
        self.child = command.spawn().unwrap();
        self
    }

    /// Kills it with SIGKILL, and starts it again at the same address at once.
    pub(crate) fn kill_and_restart(mut self) -> Self {
        self.plan.listen = Some(self.address().to_string());
        self.kill_and_restart_as_configured()
    }

    /// The same at the configured addresses.
    pub(crate) fn kill_and_restart_as_configured(mut self) -> Self {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.launch_again().stand()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ended = self.child.kill();
        let _waited = self.child.wait();
        if thread::panicking() {
            let printed = self.printed_errors();
            let _nobody_to_tell = writeln!(io::stderr(), "the server printed:\n{printed}");
        }
    }
}

/// A process that is killed when dropped.
pub(crate) struct Ending(pub(crate) Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ended = self.0.kill();
        let _waited = self.0.wait();
    }
}

/// Runs a program to its end, with a time limit.
pub(crate) fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Ending(command.spawn().unwrap());
    let (out, errors) = (collect(child.0.stdout.take()), collect(child.0.stderr.take()));
    let what = format!("the end of {command:?}");
    let status = within(PATIENCE * 2, &what, || child.0.try_wait().unwrap());
    Output { status, stdout: out.join().unwrap(), stderr: errors.join().unwrap() }
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).unwrap();
        }
        bytes
    })
}

/// Whether a program is installed; reports the test as skipped if not.
#[expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
pub(crate) fn has(program: &str, test: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|place| place.join(program).is_file());
    if !found {
        println!("SKIPPED {test}: {program} is not installed");
    }
    found
}
