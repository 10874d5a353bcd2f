//! Redis clients among the connections of a scheduler.
//!
//! Owns what their sessions are lent, and what they ask of the site. Never reads a command: the crate `resp` does.

use channels::{Channels, Credential, TokenProblem};
use local::StoreStats;
use pages::{KeptRequest, RequestedAction};
use resp::{ChannelQuestion, Environment, NotAllowed, RespHost, Session};
use runtime::slots::ProcessId;
use sys::socket::Peer;

use super::{Connections, Process};
use crate::message::Context;
use crate::site::{Question, Site, Withheld, wish_of};
use config::Authentication;

impl RespHost for Site {
    fn has_keys(&self) -> bool {
        self.has_channel_keys()
    }

    fn read_shown(&self, text: &[u8], unix_seconds: u64) -> Result<Credential, TokenProblem> {
        Self::read_shown(self, text, unix_seconds)
    }

    fn ask_module(&mut self, question: &ChannelQuestion<'_>) -> Result<(), NotAllowed> {
        let ChannelQuestion { process, here, channel, rule, message, rights, address, now } =
            *question;
        let wish = message.map_or(RequestedAction::Subscribe, wish_of);
        let request = &KeptRequest::of_address(address);
        let question = Question { process, channel, rule, wish, rights, request };
        self.ask(question, (now, here)).map_err(|withheld| match withheld {
            Withheld::Refused(veto) => NotAllowed::Never(format!("NOPERM {}", veto.why)),
            Withheld::Undecided => NotAllowed::Yet,
        })
    }

    fn forget_question(&mut self, process: ProcessId) {
        Self::forget_question(self, process);
    }

    fn publish_earlier(&mut self, channels: &mut Channels, now_ms: u64) {
        self.publish_of_pages(channels, now_ms);
    }
}

impl Connections {
    /// Lends a session what it works with.
    pub(super) fn with_environment<T>(&mut self, run: impl FnOnce(&mut Environment<'_>) -> T) -> T {
        let host = self.http.application_mut();
        run(&mut Environment::new(&self.local, &mut self.clients, host))
    }

    /// A Redis client has connected, perhaps with a handshake before its first command.
    pub(super) fn accept_resp(
        &mut self,
        (authentication, is_encrypted): (Authentication, bool),
        peer: Peer,
        context: &mut Context<'_>,
    ) -> Process {
        let mut session = Session::new(peer, &mut self.clients, context);
        if authentication == Authentication::Required {
            session.require_authentication();
        }
        if is_encrypted {
            session.await_handshake(self.http.settings().header_deadline_ms, context);
        }
        Process::Resp(Box::new(session))
    }

    /// The counters of orders to the store, with what Redis clients keep and hold.
    pub(super) fn store_stats(&self) -> StoreStats {
        let Some(store) = self.local.store() else { return StoreStats::default() };
        let (kept, held) = (self.clients.kept_bytes() as u64, self.clients.held_bytes() as u64);
        StoreStats { kept, held, ..store.stats() }
    }
}
