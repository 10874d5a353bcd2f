//! A trial of a server of NATS: whether it welcomes a node, and has JetStream. It changes nothing there.
//!
//! Owns what is said and asked for that. Never opens a connection.

use wire::nats::{NatsClientSaid, NatsHeaders, NatsServerSaid};

use crate::fault::LinkFault;
use crate::handshake::{NatsInfo, introduce};
use crate::limits::MESSAGE_BYTES;
use crate::plan::{ClusterPlan, LinkEncryption, NatsServer};
use crate::speech::{Request, Speech};
use crate::stream_forms::StreamAnswer;

/// A trial of one server.
#[derive(Debug, Default)]
pub struct NatsTrial {
    info: Option<NatsInfo>,
    speech: Speech,
    /// Answers that are missing.
    missing: u8,
    jetstream: Option<Result<(), String>>,
}

/// The findings of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFindings {
    /// The version of the server.
    pub version: String,
    /// The largest message that it takes.
    pub max_payload: usize,
    /// The cluster that the server is in, if it has others.
    pub cluster: Option<String>,
    /// Why there is no JetStream, if there is none.
    pub jetstream: Result<(), String>,
}

impl NatsTrial {
    /// Takes input of the connection to this server, and returns how many bytes it has consumed.
    ///
    /// # Errors
    /// If the server does not welcome the node.
    pub fn on_input(
        &mut self,
        input: &[u8],
        plan: &ClusterPlan,
        server: &NatsServer,
    ) -> Result<usize, LinkFault> {
        let mut consumed = 0;
        while let Some((said, length)) = NatsServerSaid::read(&input[consumed..], MESSAGE_BYTES)? {
            consumed += length;
            match said {
                NatsServerSaid::Info(json) if self.info.is_none() => {
                    self.introduce(json, plan, server)?;
                }
                NatsServerSaid::Info(_) | NatsServerSaid::Ok => {}
                NatsServerSaid::Ping => self.speech.say(&NatsClientSaid::Pong),
                NatsServerSaid::Pong => self.missing = self.missing.saturating_sub(1),
                NatsServerSaid::Error(text) => return Err(LinkFault::of_error(text)),
                NatsServerSaid::Message(message) => {
                    let headers = NatsHeaders::new(message.headers);
                    self.jetstream = Some(jetstream(headers, message.payload));
                }
            }
        }
        Ok(consumed)
    }

    fn introduce(
        &mut self,
        json: &[u8],
        plan: &ClusterPlan,
        server: &NatsServer,
    ) -> Result<(), LinkFault> {
        let info = NatsInfo::read(json).ok_or(LinkFault::NotNats)?;
        if !info.headers {
            return Err(LinkFault::TooOld);
        }
        if server.encryption == LinkEncryption::Plain && info.tls_required {
            return Err(LinkFault::WantsEncryption);
        }
        self.speech.begin(format!("_INBOX.{:016x}", plan.node.0));
        self.speech.say(&NatsClientSaid::Connect(&introduce(plan, &info)));
        self.speech.say(&NatsClientSaid::Ping);
        self.missing = 1;
        let inbox = self.speech.inbox();
        let _number = self.speech.subscribe(&inbox, None);
        let _number = self.speech.request("$JS.API.INFO", b"", b"", Request::Stream(0));
        self.info = Some(info);
        Ok(())
    }

    /// The output to send.
    #[must_use]
    pub fn take_output(&mut self) -> Vec<u8> {
        self.speech.take(0)
    }

    /// The findings, once all is known.
    pub fn findings(&self) -> Option<TrialFindings> {
        self.jetstream.as_ref()?;
        self.findings_so_far()
    }

    /// The findings if no more comes.
    pub fn findings_so_far(&self) -> Option<TrialFindings> {
        let info = self.info.as_ref().filter(|_| self.missing == 0)?;
        let (version, max_payload) = (info.version.clone(), info.max_payload);
        let none = || Err("JetStream does not answer".to_owned());
        let jetstream = self.jetstream.clone().unwrap_or_else(none);
        let cluster = info.cluster.clone();
        Some(TrialFindings { version, max_payload, cluster, jetstream })
    }
}

fn jetstream(headers: NatsHeaders<'_>, payload: &[u8]) -> Result<(), String> {
    if headers.status().is_some() {
        return Err("JetStream is not enabled".to_owned());
    }
    let answer: StreamAnswer = serde_json::from_slice(payload).unwrap_or_default();
    answer.error.map_or(Ok(()), |error| Err(error.description))
}
