//! Owns the run of the HTTP/2 cases: the facts about the server, the threads, and the report. Does not know the
//! meaning of a case.

use std::collections::BTreeMap;

use super::case::{Condition, FrameCase, Opening};
use super::client::{FrameClient, PlayError};
use super::expectation;
use super::judge::judge;
use super::limits::FRAME_BYTES;
use super::suite::FrameSuite;
use crate::escape::quote;
use crate::facts::Facts;
use crate::report::{CaseFailure, CaseReport, CaseResult, ConformanceReport};
use crate::run::play_all;
use crate::suite::SuiteCase;
use crate::target::{Capability, Options, TestedServer};

/// The settings that cases depend on.
const ANNOUNCED: [(u16, &str); 5] = [
    (3, "stream-limit"),
    (5, "frame-limit"),
    (6, "list-limit"),
    (8, "connect-protocol"),
    (9, "new-priorities"),
];
/// Limits above these are too large to be reached in a case.
const STREAM_LIMIT_MAX: u32 = 2_000;
const LIST_LIMIT_MAX: u32 = 256 * 1024;

/// A tested server, and what it announced in a first connection.
pub struct FrameTarget {
    server: TestedServer,
    facts: Facts,
    options: Options,
}

impl FrameTarget {
    /// Asks the server for its settings and its file. After any error the facts stay unknown.
    pub fn learn(server: &TestedServer, options: &Options) -> Self {
        let blank = Facts::told(server, server.file_content.clone(), BTreeMap::new());
        let (mut content, mut announced) = (server.file_content.clone(), BTreeMap::new());
        if let Ok(mut client) = FrameClient::connect(server, &blank, options)
            && client.open().is_ok()
        {
            for (id, name) in ANNOUNCED {
                let value = client.inbox().settings().and_then(|settings| settings.get(&id));
                announced.extend(value.map(|value| (name.to_owned(), value.to_string())));
            }
            if content.is_none()
                && server.resources.contains_key(&Capability::File)
                && client.play("request 1 GET {file}\nwait end 1").is_ok()
                && let Some(answer) = client.answer(1).filter(|answer| answer.status() == Some(200))
            {
                content = Some(answer.content().to_vec());
            }
        }
        Self {
            facts: Facts::told(server, content, announced),
            server: server.clone(),
            options: options.clone(),
        }
    }

    /// A new connection, with the preface sent and the settings exchanged.
    ///
    /// # Errors
    /// If there is no connection.
    pub fn client(&self) -> Result<FrameClient<'_>, PlayError> {
        let mut client = FrameClient::connect(&self.server, &self.facts, &self.options)?;
        client.open()?;
        Ok(client)
    }

    /// A new connection on which nothing is sent yet.
    ///
    /// # Errors
    /// If there is no connection.
    pub fn silent_client(&self) -> Result<FrameClient<'_>, PlayError> {
        FrameClient::connect(&self.server, &self.facts, &self.options)
    }

    /// Why a case with this need cannot be played, if so.
    fn lacks(&self, need: Condition) -> Option<String> {
        let number =
            |name: &str| self.facts.value(name).and_then(|value| value.parse::<u32>().ok());
        let connects = number("connect-protocol") == Some(1);
        let lacking = |holds: bool, text: &str| (!holds).then(|| text.to_owned());
        match need {
            Condition::ConnectProtocol => lacking(connects, "RFC 8441 is not announced"),
            Condition::NoConnectProtocol => lacking(!connects, "RFC 8441 is announced"),
            Condition::SmallFrames => lacking(
                number("frame-limit").is_none_or(|bytes| bytes <= FRAME_BYTES),
                "longer frames are allowed",
            ),
            Condition::ExtensiblePriorities => {
                lacking(number("new-priorities") == Some(1), "RFC 9218 is not announced")
            }
            Condition::StreamLimit => lacking(
                number("stream-limit").is_some_and(|limit| (1..=STREAM_LIMIT_MAX).contains(&limit)),
                "no small limit of streams is announced",
            ),
            Condition::ListLimit => lacking(
                number("list-limit").is_some_and(|limit| (1..=LIST_LIMIT_MAX).contains(&limit)),
                "no small limit of fields is announced",
            ),
            Condition::File if self.facts.content().is_none() => {
                Some("the target does not answer a plain GET of its file".to_owned())
            }
            Condition::File | Condition::Echo | Condition::Missing | Condition::BodyLimit => {
                let capability = need.capability()?;
                let offered = self.server.resources.contains_key(&capability);
                (!offered).then(|| format!("no '{capability}' was named"))
            }
        }
    }

    fn play(&self, case: &FrameCase) -> CaseReport {
        let lack = case.needs.iter().find_map(|need| self.lacks(*need));
        let (outcome, received) = match lack {
            Some(reason) => (CaseResult::Skipped { reason }, String::new()),
            None => self.outcome(case),
        };
        let skipped = matches!(outcome, CaseResult::Skipped { .. });
        let sent: Vec<&str> = case.lines().collect();
        let sent = if skipped { String::new() } else { quote(sent.join("; ").as_bytes()) };
        CaseReport::new(&case.head(), outcome, [sent, received])
    }

    /// The outcome, and the frames that came.
    fn outcome(&self, case: &FrameCase) -> (CaseResult, String) {
        let failed = |problem: String| {
            CaseResult::Failed(CaseFailure { expected: case.right.join(", or "), problem })
        };
        let client = match case.opening {
            Opening::Usual => self.client(),
            Opening::None => self.silent_client(),
        };
        let played = client.and_then(|mut client| {
            case.lines().try_for_each(|line| client.line(line))?;
            let outcomes = expectation::read(&case.right).unwrap_or_default();
            let problem = judge(&mut client, &outcomes, &self.facts, &self.options)?;
            Ok((problem, client.frames()))
        });
        match played {
            Ok((None, frames)) => (CaseResult::Passed, frames),
            Ok((Some(problem), frames)) => (failed(problem), frames),
            Err(error) => (failed(error.to_string()), String::new()),
        }
    }
}

/// Plays the embedded suite against a server.
pub fn run_frames(server: &TestedServer, options: &Options) -> ConformanceReport {
    let suite = FrameSuite::embedded().expect("a test of this crate reads the embedded suite");
    let target = FrameTarget::learn(server, options);
    let reports = play_all(suite.cases(), options, |case| target.play(case));
    ConformanceReport::new("HTTP/2", server.address.to_string(), reports)
}
