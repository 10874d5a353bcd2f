//! The servers of NATS that a link may connect to, and when.
//!
//! Owns their order, and the pauses between attempts. Never connects.

use crate::limits::{FIRST_PAUSE_MS, LAST_PAUSE_MS, SERVERS};
use crate::plan::NatsServer;

/// The servers of a link.
#[derive(Debug)]
pub(crate) struct Servers {
    known: Vec<NatsServer>,
    /// How many of them are configured: the others were told by servers.
    configured: usize,
    at: usize,
    /// Attempts since the last success.
    failures: usize,
}

impl Servers {
    /// Links of a node begin with different servers.
    pub(crate) fn new(configured: &[NatsServer], first: usize) -> Self {
        let known: Vec<NatsServer> = configured.iter().take(SERVERS).cloned().collect();
        let at = first % known.len().max(1);
        Self { configured: known.len(), known, at, failures: 0 }
    }

    /// The server that is connected to, or the next one.
    pub(crate) fn current(&self) -> Option<&NatsServer> {
        self.known.get(self.at)
    }

    /// A server tells of others (`HOST:PORT`). Those it no longer tells of are forgotten.
    pub(crate) fn learn(&mut self, told: &[String]) {
        let Some(current) = self.current().cloned() else { return };
        self.known.truncate(self.configured);
        for text in told {
            let Some(server) = parse(text, &current) else { continue };
            if self.known.len() < SERVERS && !self.known.contains(&server) {
                self.known.push(server);
            }
        }
        if !self.known.contains(&current) {
            self.known.push(current.clone());
        }
        self.at = self.known.iter().position(|server| *server == current).unwrap_or(0);
    }

    /// The server has welcomed the link.
    pub(crate) fn succeed(&mut self) {
        self.failures = 0;
    }

    /// The link has ended the connection to a server that is there, and connects to it again after so many
    /// milliseconds: another one may be cut off.
    pub(crate) fn stay(random: &mut fastrand::Rng) -> u64 {
        random.u64(1..=FIRST_PAUSE_MS / 2)
    }

    /// The connection has ended or failed. The next server is tried after so many milliseconds: at once until all were
    /// tried, then after growing pauses, which differ from link to link, so that a server that comes back is not
    /// met by all at once.
    pub(crate) fn fail(&mut self, random: &mut fastrand::Rng) -> u64 {
        let count = self.known.len().max(1);
        self.at = (self.at + 1) % count;
        self.failures += 1;
        // Also the first attempt after a loss is not that of everybody at the same moment.
        let Some(rounds) = (self.failures / count).checked_sub(1) else {
            return random.u64(1..=FIRST_PAUSE_MS / 2);
        };
        let pause = FIRST_PAUSE_MS.saturating_mul(1 << rounds.min(16)).min(LAST_PAUSE_MS);
        random.u64(pause / 2..=pause)
    }
}

/// The server in a text of another one, which does not say whether connections are encrypted.
fn parse(text: &str, like: &NatsServer) -> Option<NatsServer> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_host =
        !host.is_empty() && host.len() <= 253 && host.bytes().all(|byte| byte.is_ascii_graphic());
    let (host, encryption) = (host.to_owned(), like.encryption);
    is_host.then_some(NatsServer { host, port: port.parse().ok()?, encryption })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LinkEncryption;

    fn server(port: u16) -> NatsServer {
        NatsServer { host: "a".to_owned(), port, encryption: LinkEncryption::Plain }
    }

    #[test]
    fn pauses_grow_once_all_servers_were_tried() {
        let mut servers = Servers::new(&[server(1), server(2)], 1);
        let mut random = fastrand::Rng::with_seed(1);
        assert_eq!(servers.current().unwrap().port, 2);
        let mut pauses = Vec::new();
        for port in [1, 2, 1, 2, 1, 2] {
            pauses.push(servers.fail(&mut random));
            assert_eq!(servers.current().unwrap().port, port);
        }
        for (pause, most) in pauses.iter().zip([50, 100, 100, 200, 200, 400]) {
            assert!((1..=most).contains(pause), "{pauses:?}");
        }
        for _ in 0..100 {
            assert!(servers.fail(&mut random) <= LAST_PAUSE_MS);
        }
        servers.succeed();
        assert!(servers.fail(&mut random) <= FIRST_PAUSE_MS / 2);
    }

    #[test]
    fn servers_that_are_told_of_are_tried_after_the_configured_ones() {
        let mut servers = Servers::new(&[server(1)], 0);
        servers.learn(&[
            "a:2".to_owned(),
            "[::1]:3".to_owned(),
            "no port".to_owned(),
            "a:1".to_owned(),
        ]);
        let mut random = fastrand::Rng::with_seed(1);
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(servers.current().unwrap().to_string());
            servers.fail(&mut random);
        }
        assert_eq!(seen, ["a:1", "a:2", "[::1]:3", "a:1"]);
        let many: Vec<String> = (0..1_000).map(|port| format!("b:{port}")).collect();
        servers.learn(&many);
        assert!(servers.known.len() <= SERVERS + 1);
        servers.learn(&[]);
        assert!(servers.known.len() <= 2);
    }
}
