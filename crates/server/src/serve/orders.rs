//! Certificates by themselves while the server runs: who orders them, and what they are used for.
//!
//! Owns the running control thread of ACME and what it has got. Whether and when something is ordered is decided
//! there; how listeners show it, in `site_tls`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use acme::{
    AcmeEvent, AcmeThread, CertificateStatus, ChallengeAnswer, Confirmation, IssuedCertificate,
    RecordKeeper, RenewalSettings, Severity, Sink, StartError,
};
use runtime::diagnostic::{self, Level};
use tls::Identity;

use super::certificates::Certificates;
use super::error::ServeError;
use super::post::Post;
use super::stored_state::StoredState;
use crate::issued::Issued;
use crate::message::ToControl;
use crate::site_data::SiteData;

/// The orders of a server.
pub(super) struct Orders {
    /// The keeper of their state, if it is the store.
    state: Option<StoredState>,
    running: Option<Running>,
    told: Arc<[CertificateStatus]>,
}

struct Running {
    settings: RenewalSettings,
    handle: AcmeThread,
    news: Receiver<News>,
}

/// News of the control thread of ACME.
enum News {
    Certificate(IssuedCertificate),
    Answer(ChallengeAnswer, Confirmation),
    Withdraw(ChallengeAnswer),
}

/// The server, as that thread sees it.
struct Desk(Sender<News>);

impl Desk {
    fn say(&self, news: News) {
        // If this fails, the main thread has begun another one, or ends.
        let _ = self.0.send(news);
    }
}

impl Sink for Desk {
    fn use_certificate(&mut self, certificate: IssuedCertificate) {
        self.say(News::Certificate(certificate));
    }

    fn answer(&mut self, answer: ChallengeAnswer, confirmation: Confirmation) {
        self.say(News::Answer(answer, confirmation));
    }

    fn withdraw(&mut self, answer: &ChallengeAnswer) {
        self.say(News::Withdraw(answer.clone()));
    }

    fn tell(&mut self, event: AcmeEvent) {
        let level = match event.severity() {
            Severity::Info => Level::Info,
            Severity::Warning => Level::Warn,
            Severity::Error => Level::Error,
        };
        diagnostic::write(level, format_args!("{event}"));
    }
}

impl Orders {
    /// Begins to order what the configuration says, if anything. What the state has is in use when this returns.
    pub(super) fn begin(
        (data, state): (&SiteData, Option<StoredState>),
        certificates: &mut Certificates,
        post: &mut Post,
    ) -> Result<Self, ServeError> {
        let mut orders = Self { state, running: None, told: Arc::default() };
        if let Some(settings) = &data.orders {
            let refused =
                |error| ServeError::Orders { state: settings.state.path().to_owned(), error };
            orders.running = Some(orders.start(settings).map_err(refused)?);
        }
        orders.look(data, certificates, post);
        Ok(orders)
    }

    /// Finds out whether the orders of a configuration could begin, before it comes into force.
    pub(super) fn prepare(&self, data: &SiteData) -> Result<(), StartError> {
        match &data.orders {
            Some(settings) if !self.runs_with(settings) => acme::prepare(settings),
            _ => Ok(()),
        }
    }

    /// A configuration has come into force.
    pub(super) fn adopt(
        &mut self,
        data: &SiteData,
        certificates: &mut Certificates,
        post: &mut Post,
    ) {
        match &data.orders {
            Some(settings) if self.runs_with(settings) => return,
            None if self.running.is_none() => return,
            _ => {}
        }
        // It gives the lock of the state back before another one asks for it.
        if let Some(running) = self.running.take() {
            let Running { handle, news, .. } = running;
            handle.stop();
            let mut issued = certificates.current().issued().clone();
            for one in news.try_iter() {
                // Nobody waits for a confirmation any more.
                let _never = take(&mut issued, one);
            }
            issued.withdraw_all();
            certificates.on_issued(data, issued, Vec::new(), post);
        }
        if let Some(settings) = &data.orders {
            match self.start(settings) {
                Ok(running) => self.running = Some(running),
                Err(error) => diagnostic::write(
                    Level::Error,
                    format_args!("no certificates are ordered: {error}; restart the server"),
                ),
            }
        }
        self.look(data, certificates, post);
    }

    /// Nothing is ordered from now on: the server ends. What is under way goes on after the next start.
    pub(super) fn end(&mut self) {
        self.running = None;
    }

    fn start(&self, settings: &RenewalSettings) -> Result<Running, StartError> {
        let (desk, news) = channel();
        let records = self.state.clone().map(|state| Box::new(state) as Box<dyn RecordKeeper>);
        let handle = acme::start(settings.clone(), records, Box::new(Desk(desk)))?;
        Ok(Running { settings: settings.clone(), handle, news })
    }

    fn runs_with(&self, settings: &RenewalSettings) -> bool {
        self.running.as_ref().is_some_and(|running| running.settings == *settings)
    }

    /// Takes news of the control thread, and passes them on.
    pub(super) fn look(
        &mut self,
        data: &SiteData,
        certificates: &mut Certificates,
        post: &mut Post,
    ) {
        let mut status = Arc::default();
        if let Some(running) = &self.running {
            let news: Vec<News> = running.news.try_iter().collect();
            // Read after the news: what it says is in force when it is told.
            status = running.handle.status();
            if !news.is_empty() {
                let mut issued = certificates.current().issued().clone();
                let taken = news.into_iter().filter_map(|one| take(&mut issued, one)).collect();
                certificates.on_issued(data, issued, taken, post);
            }
        }
        if !Arc::ptr_eq(&status, &self.told) && status != self.told {
            self.told = status;
            post.tell_control(ToControl::Orders(Arc::clone(&self.told)));
        }
    }
}

/// Takes one piece of news; what is to be confirmed once it is in force.
fn take(issued: &mut Issued, news: News) -> Option<Confirmation> {
    match news {
        News::Certificate(certificate) => {
            let IssuedCertificate { names, chain, key, .. } = certificate;
            let label = PathBuf::from(names.to_string());
            match Identity::of(chain, key, (&label, &label)) {
                Ok(identity) => issued.insert(&names, &identity),
                Err(error) => diagnostic::write(
                    Level::Error,
                    format_args!("the certificate for {names} cannot be used: {error}"),
                ),
            }
            None
        }
        News::Answer(answer, confirmation) => match issued.answer(answer) {
            Ok(()) => Some(confirmation),
            Err(error) => {
                diagnostic::write(Level::Error, format_args!("{error}"));
                None
            }
        },
        News::Withdraw(answer) => {
            issued.withdraw(&answer);
            None
        }
    }
}
