//! The way to a running server: its control socket, or its address for programs with a key.
//!
//! Owns the flags that choose it, and one request with its answer. Never prints anything.
#![expect(clippy::disallowed_types, reason = "a command has one thread and one descriptor table")]

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;
use observe::harmless_lines;
use server::serve::{control_directory, control_sockets};
use tls::{Authorities, Connector, TrustedServers};
use wire::http::url::{Authority, Origin, Scheme, UrlHost};

use super::connection::{Connection, FollowEnd, Socket, Stream, told};
use crate::Failure;

/// Timeout of an answer: longer than the control scheduler waits for the others.
pub(super) const PATIENCE: Duration = Duration::from_secs(35);

#[derive(Debug, Args)]
pub(crate) struct WayFlags {
    /// The control socket.
    #[arg(long, value_name = "PATH", global = true)]
    socket: Option<PathBuf>,
    /// The address of the server's `listen` in [admin], such as https://host:9443, in place of a socket.
    #[arg(long, value_name = "URL", global = true, conflicts_with = "socket")]
    url: Option<String>,
    /// A file whose first line is a key of that server, for --url.
    #[arg(long, value_name = "FILE", global = true)]
    key_file: Option<PathBuf>,
    /// Trust the authorities in this PEM file in place of those of the system, for --url.
    #[arg(long, value_name = "FILE", alias = "ca", global = true, conflicts_with = "insecure")]
    cacert: Option<PathBuf>,
    /// Accept any certificate, for --url: another host on the way can read the key.
    #[arg(short = 'k', long, global = true)]
    insecure: bool,
}

/// The way to a server.
pub(crate) enum Way {
    /// Over its control socket.
    Socket(PathBuf),
    /// Over the network.
    Network(Network),
}

/// The address of a server that is reached over the network, and what is shown there.
pub(crate) struct Network {
    url: String,
    /// Host and port.
    authority: String,
    /// The host without brackets.
    host: String,
    key: String,
    /// `None`: the connection is plain.
    connector: Option<Connector>,
}

impl fmt::Display for Way {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(out),
            Self::Network(network) => network.url.fmt(out),
        }
    }
}

/// Why a request has no answer, or is refused.
pub(crate) struct AskFailure {
    /// The status of the refusal, if there was an answer.
    status: Option<u16>,
    failure: Failure,
}

impl AskFailure {
    /// A refusal with this status is told in other words, which the caller knows; any other as it is.
    pub(crate) fn or_told(self, status: u16, told: impl FnOnce() -> Failure) -> Failure {
        if self.status == Some(status) { told() } else { self.failure }
    }

    /// Whether the server has not answered.
    pub(crate) fn is_silence(&self) -> bool {
        self.status.is_none()
    }

    /// Whether the server has answered with this status.
    pub(crate) fn is(&self, status: u16) -> bool {
        self.status == Some(status)
    }
}

impl From<AskFailure> for Failure {
    fn from(failed: AskFailure) -> Self {
        failed.failure
    }
}

impl Way {
    /// The way that the flags name; the only server of this user if they name none.
    pub(crate) fn of(flags: &WayFlags) -> Result<Self, Failure> {
        if let Some(url) = &flags.url {
            return Network::of(url, flags).map(Self::Network);
        }
        if flags.key_file.is_some() || flags.cacert.is_some() || flags.insecure {
            let why = "--key-file, --cacert and --insecure are for --url";
            return Err(Failure::WrongUse(why.to_owned()));
        }
        match &flags.socket {
            Some(path) => Ok(Self::Socket(path.clone())),
            None => only_socket(&control_directory()).map(Self::Socket),
        }
    }

    /// The body of the answer to a request without a body.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Result<String, AskFailure> {
        self.ask_with(method, path, "")
    }

    /// The body of the answer to a request.
    pub(crate) fn ask_with(
        &self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<String, AskFailure> {
        let (host, key) = self.shown();
        let length = match body.len() {
            0 => String::new(),
            length => format!("Content-Length: {length}\r\n"),
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{key}{length}Connection: close\r\n\r\n{body}"
        );
        let connected = self.connect(PATIENCE);
        let answer = connected.and_then(|connection| exchange(connection.stream, &request));
        let silent = |error| AskFailure { status: None, failure: self.silent(&error) };
        let answer = answer.map_err(silent)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        match head.split(' ').nth(1).unwrap_or("none") {
            status if status.starts_with('2') => Ok(body.to_owned()),
            status => Err(AskFailure {
                status: status.parse().ok(),
                failure: self.refused(status, body.trim_end(), path),
            }),
        }
    }
}

impl Way {
    /// Sends a request whose answer has lines that come one after the other, and passes each on when it is there. Its
    /// end is whatever the lines say: an answer of HTTP/1.0 ends with its connection.
    pub(crate) fn follow<E: From<Failure>>(
        &self,
        path: &str,
        patience: Duration,
        take: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let connection = self.connect(patience).map_err(|error| self.silent(&error))?;
        self.follow_on(connection.stream, path, take)
    }

    /// The same until Ctrl-C, which ends the answer.
    pub(crate) fn follow_until_interrupted<E: From<Failure>>(
        &self,
        path: &str,
        patience: Duration,
        take: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<FollowEnd, E> {
        let connection = self.connect(patience).map_err(|error| self.silent(&error))?;
        let is_interrupted = connection.socket.hang_up_when_interrupted();
        let followed = self.follow_on(connection.stream, path, take);
        match is_interrupted.load(Ordering::SeqCst) {
            true => Ok(FollowEnd::Interrupted),
            false => followed.map(|()| FollowEnd::Closed),
        }
    }

    fn follow_on<E: From<Failure>>(
        &self,
        mut stream: Box<dyn Stream>,
        path: &str,
        take: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let (host, key) = self.shown();
        let request = format!("POST {path} HTTP/1.0\r\nHost: {host}\r\n{key}\r\n");
        stream.write_all(request.as_bytes()).map_err(|error| self.silent(&error))?;
        let mut answer = BufReader::new(stream);
        let mut next = || {
            let mut line = String::new();
            let read = answer.read_line(&mut line).map_err(|error| self.silent(&error))?;
            Ok::<Option<String>, Failure>((read > 0).then(|| line.trim_end().to_owned()))
        };
        let status = next()?.unwrap_or_default();
        while next()?.is_some_and(|line| !line.is_empty()) {}
        match status.split(' ').nth(1).unwrap_or("none") {
            "200" => {
                while let Some(line) = next()? {
                    take(&line)?;
                }
                Ok(())
            }
            status => {
                let why = next().ok().flatten().unwrap_or_default();
                Err(self.refused(status, &why, path).into())
            }
        }
    }

    /// The host that a request names, and the field with its key.
    fn shown(&self) -> (&str, String) {
        match self {
            Self::Socket(_) => ("control", String::new()),
            Self::Network(network) => {
                (&network.authority, format!("Authorization: Bearer {}\r\n", network.key))
            }
        }
    }

    fn connect(&self, patience: Duration) -> io::Result<Connection> {
        match self {
            Self::Socket(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(patience))?;
                let socket = Socket::Unix(stream.try_clone()?);
                Ok(Connection { stream: Box::new(stream), socket })
            }
            Self::Network(network) => network.connect(patience),
        }
    }

    fn silent(&self, error: &io::Error) -> Failure {
        Failure::Failed(match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                format!("`{self}` takes the connection and does not answer: is the server stopped?")
            }
            io::ErrorKind::Other => format!("`{self}` is not asked: {error}"),
            _ => format!("`{self}` does not answer: {error}; does the server run?"),
        })
    }

    fn refused(&self, status: &str, why: &str, path: &str) -> Failure {
        match status {
            // It says which word is wrong.
            "400" if !why.is_empty() => Failure::WrongUse(harmless_lines(why)),
            // It says what stands against it, or who does not answer.
            "409" | "503" if !why.is_empty() => Failure::Failed(harmless_lines(why)),
            "401" if matches!(self, Self::Network(_)) => Failure::Failed(format!(
                "`{self}` does not know this key; --key-file names one of `keys` in [admin]"
            )),
            status => {
                let path = path.split('?').next().unwrap_or_default();
                Failure::Failed(format!("`{self}` answered {status} to {path}"))
            }
        }
    }
}

impl Network {
    fn of(url: &str, flags: &WayFlags) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::WrongUse(format!("--url {url}: {why}"));
        let text = url.trim_end_matches('/');
        let origin =
            Origin::parse(text.as_bytes()).ok_or_else(|| wrong("write https://host:port"))?;
        let authority = String::from_utf8_lossy(origin.authority).into_owned();
        let parsed = Authority::parse(&authority).map_err(|error| wrong(&error.to_string()))?;
        if !authority.ends_with(&format!(":{}", parsed.port)) {
            return Err(wrong("write its port"));
        }
        let is_here = match parsed.host {
            UrlHost::Name(name) => name == "localhost",
            UrlHost::Address(address) => address.is_loopback(),
        };
        let connector = match origin.scheme {
            Scheme::Https => Some(connector(flags)?),
            Scheme::Http if is_here => None,
            Scheme::Http => return Err(wrong("write https: the key would be sent in clear")),
        };
        let Some(file) = &flags.key_file else {
            return Err(wrong("name a file with a key of this server with --key-file"));
        };
        let key = std::fs::read_to_string(file)
            .map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
        let key = key.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let host = parsed.host_text.trim_matches(['[', ']']).to_owned();
        let (url, key) = (text.to_owned(), key.to_owned());
        Ok(Self { url, authority, host, key, connector })
    }

    fn connect(&self, patience: Duration) -> io::Result<Connection> {
        let plain = TcpStream::connect(&self.authority)?;
        plain.set_read_timeout(Some(patience))?;
        plain.set_write_timeout(Some(patience))?;
        let socket = Socket::Tcp(plain.try_clone()?);
        let stream: Box<dyn Stream> = match &self.connector {
            None => Box::new(plain),
            Some(connector) => {
                let stream = tls::TlsStream::connect(connector, &self.host, plain);
                Box::new(stream.map_err(|error| io::Error::other(told(&error)))?)
            }
        };
        Ok(Connection { stream, socket })
    }
}

/// The authorities that the flags trust.
fn connector(flags: &WayFlags) -> Result<Connector, Failure> {
    let failed = |error: &dyn fmt::Display| Failure::Failed(error.to_string());
    let peers = match &flags.cacert {
        _ if flags.insecure => TrustedServers::Any,
        Some(file) => {
            TrustedServers::Known(Authorities::read(file).map_err(|error| failed(&error))?)
        }
        None => TrustedServers::Known(Authorities::of_system().map_err(|error| failed(&error))?),
    };
    Connector::new(&peers, &["http/1.1"], None).map_err(|error| failed(&error))
}

fn exchange(mut stream: impl Read + Write, request: &str) -> io::Result<String> {
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The only control socket in this user's directory.
fn only_socket(directory: &Path) -> Result<PathBuf, Failure> {
    // A server that was killed leaves its socket behind: only sockets that are answered count.
    let mut sockets = control_sockets(directory);
    sockets.retain(|path| is_answered(path));
    match sockets.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Failure::Failed(format!(
            "no server is found: no control socket in `{}` is answered; one elsewhere ([admin] socket, \
             another user) is named with --socket",
            directory.display()
        ))),
        several => {
            let names: Vec<_> = several.iter().map(|path| path.display().to_string()).collect();
            Err(Failure::WrongUse(format!(
                "several servers run; name one with --socket: {}",
                names.join(", ")
            )))
        }
    }
}

fn is_answered(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The socket of a server that was killed stays behind: nothing answers there.
    #[test]
    fn only_a_socket_that_is_answered_is_a_server() {
        use std::os::unix::net::UnixListener;
        let directory = std::env::temp_dir().join(format!("velodrome-ctl-{}", std::process::id()));
        // An earlier process with the same id may have left one.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("a directory for the test");
        let listen = |name: &str| UnixListener::bind(directory.join(name)).expect("a new socket");
        drop(listen("8080.sock"));
        // A process that another test forks holds the listener until it executes its program.
        while is_answered(&directory.join("8080.sock")) {
            std::thread::yield_now();
        }
        let Err(Failure::Failed(told)) = only_socket(&directory) else { panic!("nobody is there") };
        let place = directory.display().to_string();
        assert!(told.contains(&place) && told.contains("--socket"), "{told}");
        let first = listen("8081.sock");
        let found = only_socket(&directory).ok();
        assert_eq!(found, Some(directory.join("8081.sock")));
        let second = listen("8082.sock");
        let Err(Failure::WrongUse(told)) = only_socket(&directory) else { panic!("which one?") };
        assert!(told.contains("8081.sock, ") && told.contains("8082.sock"), "{told}");
        drop((first, second));
        std::fs::remove_dir_all(&directory).expect("the directory of the test");
    }
}
