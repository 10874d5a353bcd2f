//! An authority: its directory, the account with it, and what it says about renewals.
//!
//! Owns the requests that belong to no order. Accounts are kept in the state.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;

use instant_acme::{Account, AccountCredentials, ExternalAccountKey, NewAccount};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::agent::{Agent, AgentError, Note};
use crate::failure::{Failure, done, with_nonces};
use crate::limits::{RETRY_AFTER_S, WINDOW_ASKED_AGAIN_LEAST_S, WINDOW_ASKED_AGAIN_S};
use crate::moment::UtcSecond;
use crate::schedule::RenewalWindow;
use crate::settings::Issuer;
use crate::state::{State, Stored};

/// The way to authorities, and what was noted on it.
#[derive(Debug)]
pub(crate) struct Line {
    agent: Agent,
    notes: Receiver<Note>,
    /// Directories read in this look, by URL: one answer is enough for all certificates of an issuer.
    directories: RefCell<BTreeMap<String, Directory>>,
}

/// The offers of a directory besides orders (RFC 8555 section 7.1.1, RFC 9773 section 4.1).
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Directory {
    #[serde(rename = "renewalInfo", default)]
    pub(crate) renewal_info: Option<String>,
    #[serde(default)]
    meta: Meta,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Meta {
    #[serde(default)]
    profiles: BTreeMap<String, serde_json::Value>,
}

impl Directory {
    pub(crate) fn has_profile(&self, profile: &str) -> bool {
        self.meta.profiles.contains_key(profile)
    }
}

/// When to renew, as an authority says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Suggestion {
    pub(crate) window: Option<RenewalWindow>,
    pub(crate) ask_after_s: i64,
}

#[derive(Deserialize)]
struct RenewalInfo {
    #[serde(rename = "suggestedWindow")]
    window: SuggestedWindow,
}

#[derive(Deserialize)]
struct SuggestedWindow {
    start: String,
    end: String,
}

impl Line {
    /// The way that an agent takes, and its notes.
    pub(crate) fn new(agent: Agent, notes: Receiver<Note>) -> Self {
        Self { agent, notes, directories: RefCell::default() }
    }

    /// Directories are read anew from now on.
    pub(crate) fn forget_directories(&self) {
        self.directories.borrow_mut().clear();
    }

    /// The notes since this was asked last.
    pub(crate) fn noted(&self) -> impl Iterator<Item = Note> + '_ {
        self.notes.try_iter()
    }

    /// Reads a directory, unless it was read since they were forgotten.
    pub(crate) fn directory(&self, url: &str) -> Result<Directory, Failure> {
        if let Some(known) = self.directories.borrow().get(url) {
            return Ok(known.clone());
        }
        let answered = self.agent.get(url)?;
        if answered.status != 200 {
            return Err(AgentError::Status(answered.status).into());
        }
        let read: Directory =
            serde_json::from_slice(&answered.body).map_err(instant_acme::Error::from)?;
        self.directories.borrow_mut().insert(url.to_owned(), read.clone());
        Ok(read)
    }

    /// Asks when to renew a certificate (RFC 9773 section 4.2). An answer that cannot be read is no window.
    pub(crate) fn suggestion(&self, url: &str, identifier: &str) -> Result<Suggestion, AgentError> {
        let answered = self.agent.get(&format!("{}/{identifier}", url.trim_end_matches('/')))?;
        let window = if answered.status == 200 { window(&answered.body) } else { None };
        let asked = answered.retry_after_s().unwrap_or(WINDOW_ASKED_AGAIN_S);
        let ask_after_s = asked.clamp(WINDOW_ASKED_AGAIN_LEAST_S, RETRY_AFTER_S);
        Ok(Suggestion { window, ask_after_s })
    }

    /// The account with an authority: the one that is kept, or a new one.
    pub(crate) fn account(
        &self,
        issuer: &Issuer,
        email: Option<&str>,
        state: &State,
    ) -> Result<Account, Failure> {
        let key = issuer_key(&issuer.directory);
        let stored = Stored::Account(&key);
        let kept = state.read(&stored).map_err(Failure::NotStored)?;
        // An account file that cannot be read is replaced: accounts cost nothing, and certificates do not depend on
        // them.
        let credentials =
            kept.and_then(|bytes| serde_json::from_slice::<AccountCredentials>(&bytes).ok());
        if let Some(credentials) = credentials {
            return done(self.builder().from_credentials(credentials));
        }
        let contact = email.map(|email| format!("mailto:{email}"));
        let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
        let external = issuer.external_account.as_ref();
        let external =
            external.map(|account| ExternalAccountKey::new(account.id.clone(), &account.key));
        let new = NewAccount {
            contact: &contact,
            terms_of_service_agreed: true,
            only_return_existing: false,
        };
        let (account, credentials) = with_nonces(|| {
            done(self.builder().create(&new, issuer.directory.clone(), external.as_ref()))
        })?;
        let bytes = serde_json::to_vec(&credentials).map_err(instant_acme::Error::from)?;
        state.write(&stored, &bytes).map_err(Failure::AccountLost)?;
        Ok(account)
    }

    fn builder(&self) -> instant_acme::AccountBuilder {
        Account::builder_with_http(Box::new(self.agent.clone()))
    }
}

/// The key of an issuer in names of files.
pub(crate) fn issuer_key(directory: &str) -> String {
    Sha256::digest(directory).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn window(body: &[u8]) -> Option<RenewalWindow> {
    let info: RenewalInfo = serde_json::from_slice(body).ok()?;
    let moment = |text: &str| {
        let time: jiff::Timestamp = text.parse().ok()?;
        Some(UtcSecond::from_unix(time.as_second()))
    };
    Some(RenewalWindow { start: moment(&info.window.start)?, end: moment(&info.window.end)? })
}
