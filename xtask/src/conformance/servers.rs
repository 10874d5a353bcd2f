//! The servers under test: what each offers, how it is started, and its version.
//!
//! Owns the processes. Never touches a server that it did not start.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::client;
use crate::conformance::configuration::{Addresses, Configuration};
use crate::conformance::site::Site;
use crate::failure::Failure;
use crate::process::{self, Guarded};
use crate::server;

/// A value of `--offers`.
type Offer = &'static str;

const PLAIN: &[Offer] = &["file=/sample.txt", "missing=/missing"];
const SITE: &[Offer] = &[
    "empty-file=/empty.txt",
    "directory=/directory",
    "redirect=/moved",
    "dotfile=/.hidden",
    "outside-link=/link.txt",
];
const PRECOMPRESSED: &[Offer] = &["precompressed=/packed.txt"];
const BODIES: &[Offer] = &["echo=/echo", "body-limit=65536"];
const EVERYTHING: &[&[Offer]] = &[PLAIN, SITE, PRECOMPRESSED, BODIES];

/// All that cases of HTTP/2 need.
const FRAMES: &[&[Offer]] = &[PLAIN, BODIES];

/// Which requirements are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.1.
    One,
    /// HTTP/2.
    Two,
}

/// The name of our own server.
pub(crate) const OURS: &str = "velodrome";

/// A server of the distribution.
pub(crate) struct Server {
    /// Its name, which is also that of its program.
    pub(crate) name: &'static str,
    /// How it is started, for the reader of the table.
    pub(crate) note: &'static str,
    /// The argument that prints its version.
    version: &'static str,
    offers: &'static [&'static [Offer]],
    configuration: Configuration,
}

/// The other servers.
pub(crate) const OTHERS: [Server; 4] = [
    Server {
        name: "nginx",
        note: "one process; bodies are sent back by an error page",
        version: "-v",
        offers: EVERYTHING,
        configuration: Configuration {
            file: "nginx.conf",
            text: include_str!(
                "../../../crates/conformance/tests/conformance/nginx_server/nginx.conf"
            ),
            arguments: &["-p", "@FOLDER@", "-e", "stderr", "-c", "@CONFIGURATION@"],
        },
    },
    Server {
        name: "apache2",
        note: "mpm_event with mod_dir, mod_alias, mod_mime, mod_reqtimeout; bodies are sent back by the \
               service of ours behind mod_proxy_http",
        version: "-v",
        offers: &[PLAIN, SITE, BODIES],
        configuration: Configuration {
            file: "apache2.conf",
            text: include_str!("configurations/apache2.conf"),
            arguments: &["-f", "@CONFIGURATION@", "-D", "FOREGROUND"],
        },
    },
    Server {
        name: "caddy",
        note: "`file_server` with `precompressed gzip`; bodies are sent back by the service of ours behind \
               `reverse_proxy`",
        version: "version",
        offers: EVERYTHING,
        configuration: Configuration {
            file: "Caddyfile",
            text: include_str!("configurations/Caddyfile"),
            arguments: &["run", "--adapter", "caddyfile", "--config", "@CONFIGURATION@"],
        },
    },
    Server {
        name: "haproxy",
        note: "a proxy before both of ours, which have the files and send bodies back",
        version: "-v",
        offers: EVERYTHING,
        configuration: Configuration {
            file: "haproxy.cfg",
            text: include_str!("configurations/haproxy.cfg"),
            arguments: &["-db", "-f", "@CONFIGURATION@"],
        },
    },
];

/// The servers that are tried with HTTP/2, ours first.
pub(crate) const OVER_FRAMES: [Server; 6] = [
    Server {
        name: OURS,
        note: "`velodrome serve` with `h2c = true`; bodies are sent back by `examples/reflect.rs` behind its proxy",
        version: "--version",
        offers: FRAMES,
        configuration: Configuration {
            file: "velodrome-h2.toml",
            text: include_str!("configurations/velodrome-h2.toml"),
            arguments: &[
                "serve",
                "@FOLDER@/files",
                "--config=@CONFIGURATION@",
                "--admin-socket=@FOLDER@/run/control-h2.sock",
                "--schedulers=1",
            ],
        },
    },
    Server {
        name: "nginx",
        note: "one process, `listen ... http2`",
        version: "-v",
        offers: FRAMES,
        configuration: Configuration {
            file: "nginx-h2.conf",
            text: include_str!(
                "../../../crates/conformance/tests/conformance/nginx_server/nginx_frames.conf"
            ),
            arguments: &["-p", "@FOLDER@", "-e", "stderr", "-c", "@CONFIGURATION@"],
        },
    },
    Server {
        name: "h2o",
        note: "one thread",
        version: "--version",
        offers: FRAMES,
        configuration: Configuration {
            file: "h2o.conf",
            text: include_str!("configurations/h2o.conf"),
            arguments: &["-c", "@CONFIGURATION@"],
        },
    },
    Server {
        name: "apache2",
        note: "mpm_event with mod_http2",
        version: "-v",
        offers: FRAMES,
        configuration: Configuration {
            file: "apache2-h2.conf",
            text: include_str!("configurations/apache2-h2.conf"),
            arguments: &["-f", "@CONFIGURATION@", "-D", "FOREGROUND"],
        },
    },
    Server {
        name: "caddy",
        note: "`protocols h1 h2c`",
        version: "version",
        offers: FRAMES,
        configuration: Configuration {
            file: "Caddyfile-h2",
            text: include_str!("configurations/Caddyfile-h2"),
            arguments: &["run", "--adapter", "caddyfile", "--config", "@CONFIGURATION@"],
        },
    },
    Server {
        name: "haproxy",
        note: "a proxy before our file server",
        version: "-v",
        offers: FRAMES,
        configuration: Configuration {
            file: "haproxy-h2.cfg",
            text: include_str!("configurations/haproxy-h2.cfg"),
            arguments: &["-db", "-f", "@CONFIGURATION@"],
        },
    },
];

/// Ours, with files.
const FILE_SERVER: Configuration = Configuration {
    file: "velodrome.toml",
    text: include_str!("configurations/velodrome.toml"),
    arguments: &[
        "serve",
        "@FOLDER@/files",
        "--config=@CONFIGURATION@",
        "--listen=@ADDRESS@",
        "--admin-socket=@FOLDER@/run/control.sock",
        "--schedulers=1",
    ],
};

/// A running server; it ends when dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    /// The `--offers` flags.
    pub(crate) offers: Vec<String>,
    _guarded: Guarded,
}

/// Our server with files, and our echo service.
pub(crate) struct Ours {
    pub(crate) files: Running,
    pub(crate) echo: Running,
    pub(crate) version: String,
}

impl Ours {
    /// Starts both.
    pub(crate) fn start(site: &Site, programs: &Path) -> Result<Ours, Failure> {
        let program = programs.join("velodrome");
        let unknown = Failure::Work("velodrome does not say its version".to_owned());
        let version = version_of(&program, "--version").ok_or(unknown)?;
        let address = server::free_address()?;
        let words =
            FILE_SERVER.write(site, &Addresses { own: address, files: address, echo: address })?;
        let offers = &[PLAIN, SITE, PRECOMPRESSED];
        let files = launch("velodrome", &program, &words, site, address, offers, Protocol::One)?;
        let program = programs.join("examples/reflect");
        let address = server::free_address()?;
        let words = [address.to_string()];
        let offers = &[PLAIN, BODIES];
        let echo = launch("reflect", &program, &words, site, address, offers, Protocol::One)?;
        Ok(Ours { files, echo, version })
    }
}

impl Server {
    /// The path of its program and its version, or `None` if it is not installed.
    pub(crate) fn installed(&self) -> Option<(PathBuf, String)> {
        let program = process::find(self.name)?;
        let version = version_of(&program, self.version)?;
        Some((program, version))
    }

    /// Starts it, and waits until it answers.
    pub(crate) fn start(
        &self,
        program: &Path,
        site: &Site,
        ours: &Ours,
        protocol: Protocol,
    ) -> Result<Running, Failure> {
        let own = server::free_address()?;
        let addresses = Addresses { own, files: ours.files.address, echo: ours.echo.address };
        let words = self.configuration.write(site, &addresses)?;
        launch(self.name, program, &words, site, own, self.offers, protocol)
    }
}

fn launch(
    name: &str,
    program: &Path,
    words: &[String],
    site: &Site,
    address: SocketAddr,
    offers: &[&[Offer]],
    protocol: Protocol,
) -> Result<Running, Failure> {
    let program = program.display().to_string();
    let mut command = server::leashed(&[&program]);
    command.args(words);
    // A server that writes files beside its configuration writes them here.
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env(variable, site.folder());
    }
    let request = match protocol {
        Protocol::One => client::request(address, "/sample.txt"),
        // It listens: that is all that a client of HTTP/1.1 can see.
        Protocol::Two => String::new(),
    };
    let guarded = server::start(command, name, site.folder(), address, request.as_bytes())
        .map_err(|failure| Failure::Work(format!("{name}: {failure}")))?;
    let offers = offers.concat().iter().map(|offer| format!("--offers={offer}")).collect();
    Ok(Running { address, offers, _guarded: guarded })
}

fn version_of(program: &Path, word: &str) -> Option<String> {
    let output = Command::new(program).arg(word).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    version_in(&String::from_utf8_lossy(&text))
}

/// The first word that begins with a digit.
fn version_in(text: &str) -> Option<String> {
    let mut words = text.split(|byte: char| byte.is_whitespace() || byte == '/');
    words.find(|word| word.starts_with(|first: char| first.is_ascii_digit())).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_servers_say() {
        let told = [
            ("nginx version: nginx/1.22.1\n", "1.22.1"),
            ("Server version: Apache/2.4.71 (Debian)\nServer built: 2026\n", "2.4.71"),
            (
                "HAProxy version 2.6.12-1+deb12u4 2025/10/03 - https://haproxy.org/\n",
                "2.6.12-1+deb12u4",
            ),
            ("velodrome 0.1.0\n", "0.1.0"),
            ("2.6.2\n", "2.6.2"),
        ];
        for (text, version) in told {
            assert_eq!(version_in(text).as_deref(), Some(version));
        }
        assert_eq!(version_in("unknown"), None);
    }
}
