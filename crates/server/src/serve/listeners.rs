//! Opens the configured addresses.

use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::path::Path;

use runtime::mailbox::Endpoint;
use sys::pollset::{ListenOptions, Silence, Speaks};
use sys::socket::{ListenAddress, UnixAddress};

use super::error::ServeError;
use crate::admin::{AddressReach, Entrance};
use crate::limits;
use config::{Config, ListenerAddress, ListenerSettings, Protocol};

/// Whether connections of a listener are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// No.
    None,
    /// By TLS.
    Tls,
}

/// The first descriptor that systemd passes (sd_listen_fds(3)).
const FIRST_INHERITED: RawFd = 3;

/// Sockets that were open when the process started, with their names.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited(Vec<(RawFd, String)>);

impl Inherited {
    /// Their descriptor numbers.
    pub(super) fn descriptors(&self) -> Vec<RawFd> {
        self.0.iter().map(|(number, _)| *number).collect()
    }
}

/// The sockets that systemd passed to this process: `LISTEN_PID`, `LISTEN_FDS`, `LISTEN_FDNAMES`.
pub(super) fn inherited() -> Inherited {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let ours = number("LISTEN_PID") == Some(std::process::id());
    let count = number("LISTEN_FDS").filter(|_| ours).unwrap_or(0).min(limits::INHERITED_MAX);
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':').map(str::to_owned);
    let named = |offset: u32| {
        let number = FIRST_INHERITED + RawFd::try_from(offset).unwrap_or(0);
        (number, names.next().unwrap_or_default())
    };
    Inherited((0..count).map(named).collect())
}

/// The listeners of the data plane, and the configured rules for each.
#[derive(Clone, Debug, Default)]
pub(super) struct DataListeners {
    opened: Vec<ListenOptions>,
    /// For each listener, its index in the configuration: one `systemd` entry may stand for several listeners.
    configured: Vec<usize>,
}

impl DataListeners {
    fn add(&mut self, options: ListenOptions, configured: usize) {
        self.opened.push(options);
        self.configured.push(configured);
    }

    /// The listeners to open.
    pub(super) fn opened(&self) -> &[ListenOptions] {
        &self.opened
    }

    /// The protocol of each, and whether it is encrypted.
    pub(super) fn protocols(&self, config: &Config) -> Vec<(Protocol, Security)> {
        let configured = self.configured.iter().filter_map(|place| config.listeners.get(*place));
        let protocol = |listener: &ListenerSettings| {
            let security = if listener.tls.is_some() { Security::Tls } else { Security::None };
            (listener.protocol, security)
        };
        configured.map(protocol).collect()
    }

    /// The configured index of each listener that a scheduler opens. Only the first scheduler opens Unix sockets.
    pub(super) fn configured(&self, scheduler: Endpoint) -> Vec<usize> {
        let all = self.opened.iter().zip(&self.configured);
        let is_its_own = |options: &ListenOptions| {
            scheduler.0 == 0 || !matches!(options.address, ListenAddress::Unix(_))
        };
        all.filter(|(options, _)| is_its_own(options)).map(|(_, place)| *place).collect()
    }
}

/// The listeners of the data plane.
pub(super) fn data(config: &Config, inherited: &Inherited) -> Result<DataListeners, ServeError> {
    let mut listeners = DataListeners::default();
    for (place, listener) in config.listeners.iter().enumerate() {
        let first = Speaks::Client { defer: listener.defer_accept };
        let silent = match listener.protocol {
            // No deadline ends a Redis client that has subscribed, and the protocol has no ping from the server.
            Protocol::Resp => Silence::Probed,
            Protocol::Http => Silence::Trusted,
        };
        let options = |address| ListenOptions { address, backlog: listener.backlog, first, silent };
        match &listener.address {
            ListenerAddress::Tcp(address) => {
                listeners.add(options(ListenAddress::Tcp(*address)), place);
            }
            ListenerAddress::Unix(path) => {
                let address = UnixAddress { path: path.clone(), mode: listener.mode };
                listeners.add(options(ListenAddress::Unix(address)), place);
            }
            ListenerAddress::Systemd(name) => {
                let wanted = |known: &str| name.as_ref().is_none_or(|name| name == known);
                let before = listeners.opened.len();
                for (number, known) in &inherited.0 {
                    if wanted(known) {
                        listeners.add(options(ListenAddress::Inherited(*number)), place);
                    }
                }
                if listeners.opened.len() == before {
                    let called =
                        name.as_ref().map_or_else(String::new, |name| format!(" called `{name}`"));
                    return Err(ServeError::NoInheritedSocket(called));
                }
            }
        }
    }
    put_behind_what_covers(&mut listeners);
    Ok(listeners)
}

/// Sorts the listener of an address after one that covers it (`0.0.0.0:80` covers `127.0.0.1:80`): the first one opened
/// checks that no other program listens there, and the second shares the port with it.
fn put_behind_what_covers(listeners: &mut DataListeners) {
    let all: Vec<SocketAddr> =
        listeners.opened.iter().filter_map(|options| options.address.tcp()).collect();
    let is_covered = |options: &ListenOptions| {
        options.address.tcp().is_some_and(|address| {
            all.iter().any(|other| {
                *other != address
                    && other.ip().is_unspecified()
                    && other.port() == address.port()
                    && other.is_ipv4() == address.is_ipv4()
                    && address.port() != 0
            })
        })
    };
    let pairs = std::mem::take(&mut listeners.opened).into_iter().zip(&listeners.configured);
    let (covered, others): (Vec<_>, Vec<_>) = pairs.partition(|(options, _)| is_covered(options));
    let covered = covered.into_iter().map(|(mut options, place)| {
        if let Some(address) = options.address.tcp() {
            options.address = ListenAddress::TcpBeside(address);
        }
        (options, place)
    });
    (listeners.opened, listeners.configured) =
        others.into_iter().chain(covered).map(|(options, place)| (options, *place)).unzip();
}

/// The listeners of the control scheduler, and the clients of each.
pub(super) fn control(config: &Config, socket: Option<&Path>) -> Vec<(Entrance, ListenOptions)> {
    let options = |address| ListenOptions {
        address,
        backlog: limits::ADMIN_BACKLOG,
        first: Speaks::CLIENT,
        silent: Silence::Trusted,
    };
    let unix = |path: &Path| UnixAddress { path: path.to_path_buf(), mode: 0o600 };
    let socket = socket.map(|path| (Entrance::Socket, ListenAddress::Unix(unix(path))));
    let keyed = config.admin.listen.map(|address| (Entrance::Keyed, ListenAddress::Tcp(address)));
    let metrics = config.admin.metrics.map(|address| {
        let reach =
            if address.ip().is_loopback() { AddressReach::Machine } else { AddressReach::Network };
        (Entrance::Metrics(reach), ListenAddress::Tcp(address))
    });
    let all = [socket, keyed, metrics].into_iter().flatten();
    all.map(|(entrance, address)| (entrance, options(address))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Overrides;

    #[test]
    fn each_listener_defers_as_it_is_configured() {
        let text = "[[listener]]\naddress = \"127.0.0.1:0\"\ndefer_accept = \"5s\"\n\
            [[listener]]\naddress = \"[::1]:0\"\ndefer_accept = \"0s\"\n\
            [[listener]]\naddress = \"127.0.0.2:0\"\n\
            [[listener]]\naddress = \"systemd\"\ndefer_accept = \"2m\"\n";
        let config =
            Config::from_text(text, "velodrome.toml", Path::new("/"), &Overrides::default());
        let inherited = Inherited(vec![(FIRST_INHERITED, "web".to_owned())]);
        let listeners = data(&config.unwrap(), &inherited).unwrap();
        let seconds: Vec<_> =
            listeners.opened().iter().map(|options| options.first.defer_s()).collect();
        assert_eq!(seconds, [5, 0, 1, 120]);
    }
}
