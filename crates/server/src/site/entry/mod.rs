//! The checks that decide whether a request is answered at all: limits, passwords, maintenance, and the way to
//! encrypted connections.
//!
//! Owns what is known for that between requests. `limit` applies the limits, `metered` has the requests they delay,
//! `telling` what the other schedulers are to be told. Never writes a reply: `access`, `https` and `maintained` do.

mod limit;
mod metered;
mod telling;

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use http::Request;
use quota::Limiter;
use runtime::mailbox::Endpoint;
use runtime::slots::ProcessId;

pub(super) use self::limit::Metering;
use self::limit::new_limiter;
use self::metered::Metered;
use self::telling::Telling;
use super::endpoints::Helpers;
use super::exchange::address_of;
use crate::access::{Checked, PasswordCheck, Passwords, Shown, Standing, UserFile};
use crate::maintenance::{MaintenanceSource, Switch, Switches};
use crate::message::Mailbox;
use crate::site_data::SiteData;
use crate::site_tls::SiteTls;

/// The checks before a request is answered.
pub(super) struct EntryChecks {
    /// The schedulers among which uses of limits are told.
    schedulers: u16,
    /// The uses of limits by clients and pages.
    limiter: Rc<RefCell<Limiter>>,
    /// Requests that a limit delays, and what is counted when one ends.
    metered: Metered,
    telling: Telling,
    /// Passwords that requests have shown.
    passwords: Passwords,
    password_helper: Option<Endpoint>,
    /// Whether the site is maintained.
    maintenance: Switches,
    /// The certificates of listeners, and what authorities are answered.
    tls: Arc<SiteTls>,
}

impl EntryChecks {
    /// The checks of a scheduler on its own; `join` changes this.
    ///
    /// # Errors
    /// If there are no random numbers.
    pub(super) fn new(
        data: &SiteData,
        helpers: &Helpers,
        seed: u64,
    ) -> Result<Self, getrandom::Error> {
        Ok(Self {
            schedulers: helpers.schedulers,
            limiter: new_limiter(data, 1, seed),
            metered: Metered::default(),
            telling: Telling::default(),
            passwords: Passwords::new()?,
            password_helper: helpers.passwords,
            maintenance: Switches::default(),
            tls: Arc::clone(&data.tls),
        })
    }

    /// Counts uses of limits together with the other schedulers. The seed is the same on each.
    pub(super) fn join(&mut self, data: &SiteData, seed: u64) {
        self.limiter = new_limiter(data, self.schedulers, seed);
    }

    /// The credentials that a request shows may be right; otherwise what is not known yet.
    pub(super) fn look_up_password(
        &self,
        file: &Arc<UserFile>,
        shown: Shown<'_>,
        client: (ProcessId, IpAddr),
        now_ms: u64,
    ) -> Standing {
        self.passwords.look_up(file, shown, client, now_ms)
    }

    /// Has a password verified. `false`: the helper has no room, or there is none.
    pub(super) fn verify_password(
        &mut self,
        check: Box<PasswordCheck>,
        client: IpAddr,
        mail: &mut Mailbox,
    ) -> bool {
        let Some(helper) = self.password_helper else { return false };
        self.passwords.begin(&check, client);
        let sent = mail.send_part(helper, check).is_ok();
        if !sent {
            self.passwords.begin_not();
        }
        sent
    }

    /// The helper has verified a password.
    pub(super) fn learn_password(&mut self, checked: Checked, now_ms: u64) {
        self.passwords.learn(checked, now_ms);
    }

    /// Whether the password of a request was found to be wrong while its body arrives.
    pub(super) fn is_refused(&self, process: ProcessId) -> bool {
        self.passwords.is_refused(process)
    }

    /// A request was let in, or has ended.
    pub(super) fn forget_password(&mut self, process: ProcessId) {
        self.passwords.forget(process);
    }

    /// Another configuration may have other passwords.
    pub(super) fn forget_known_passwords(&mut self) {
        self.passwords.forget_known();
    }

    /// A source says whether the site is maintained.
    pub(super) fn set_maintenance(&mut self, source: MaintenanceSource, switch: Switch) {
        self.maintenance.set(source, switch);
    }

    /// Whether this client is told to come again.
    #[inline]
    pub(super) fn is_maintained_for(&self, request: &Request<'_>, data: &SiteData) -> bool {
        self.maintenance.is_on() && !data.config.maintenance.allows(address_of(request))
    }

    /// Uses other certificates, and answers authorities by them.
    pub(super) fn set_tls(&mut self, tls: &Arc<SiteTls>) {
        self.tls = Arc::clone(tls);
    }

    /// The port of encrypted connections, if there are any.
    pub(super) fn https_port(&self) -> Option<u16> {
        self.tls.https_port()
    }

    /// The answer to an authority that checks whether a name leads here, by the token that it asks for.
    pub(super) fn answer_to_authority(&self, token: Option<&str>) -> Option<&str> {
        let issued = self.tls.issued();
        if issued.has_http_answers() { issued.answer_to(token?) } else { None }
    }

    /// The limits, for pages that use them by themselves.
    pub(super) fn limits_of_pages(&self) -> &RefCell<Limiter> {
        &self.limiter
    }
}
