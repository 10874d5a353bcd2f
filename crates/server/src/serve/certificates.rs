//! The certificates while the server runs: files that change are read again, and an end that comes near is told.
//!
//! Owns when the files are looked at, and what was told. Broken files never replace working ones.

use ahash::HashMap;
use std::sync::Arc;

use acme::Confirmation;
use runtime::clock::nanoseconds;
use runtime::diagnostic::{self, Level};
use sys::clock::monotonic_ns;

use super::post::Post;
use crate::certificate_files::CertificateStamps;
use crate::issued::Issued;
use crate::limits::{CERTIFICATE_LOOK, CERTIFICATE_SOON};
use crate::message::{ToControl, ToScheduler};
use crate::shown_certificate::{CertificateSource, ShownCertificate};
use crate::site_data::SiteData;
use crate::site_tls::SiteTls;

/// The certificates in force, and the files they came from.
pub(super) struct Certificates {
    current: Arc<SiteTls>,
    files: CertificateStamps,
    /// The files have changed, and may go on changing: they are read when they have been the same twice.
    has_changed: bool,
    looked_ns: u64,
    /// The nearness that was told of the end of a certificate, by its fingerprint.
    told: HashMap<[u8; 32], Nearness>,
}

/// How near the end of a certificate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    Far,
    /// Another one should have come.
    Late,
    /// Less than a week is left.
    Soon,
    Over,
}

impl Certificates {
    /// Those of a configuration in force.
    pub(super) fn of(data: &SiteData, post: &mut Post) -> Self {
        let mut certificates = Self {
            current: Arc::clone(&data.tls),
            files: CertificateStamps::default(),
            has_changed: false,
            looked_ns: monotonic_ns(),
            told: HashMap::default(),
        };
        certificates.adopt(data, post);
        certificates
    }

    /// Those in force, from which a reload takes what stays.
    pub(super) fn current(&self) -> &Arc<SiteTls> {
        &self.current
    }

    /// A configuration has come into force.
    pub(super) fn adopt(&mut self, data: &SiteData, post: &mut Post) {
        self.current = Arc::clone(&data.tls);
        self.files = data.tls.files().clone();
        self.has_changed = false;
        post.tell_control(ToControl::Certificates(Arc::clone(&self.current)));
        post.tell_control(ToControl::CertificatesRefused(None));
        self.tell_of_ends();
    }

    /// Looks at the files, every [`CERTIFICATE_LOOK`].
    pub(super) fn look(&mut self, data: &SiteData, post: &mut Post) {
        let now_ns = monotonic_ns();
        if now_ns.saturating_sub(self.looked_ns) < nanoseconds(CERTIFICATE_LOOK) {
            return;
        }
        self.looked_ns = now_ns;
        self.tell_of_ends();
        let changes = self.files.have_changed();
        if changes || !self.has_changed {
            self.has_changed |= changes;
            return;
        }
        self.has_changed = false;
        match SiteTls::load(&data.config, &self.current) {
            Ok(read) => {
                self.replace(read, &[], post);
                post.tell_control(ToControl::CertificatesRefused(None));
                let is_file = |shown: &&ShownCertificate| {
                    matches!(shown.origin(), CertificateSource::File(_))
                };
                for shown in self.current.shown().iter().filter(is_file) {
                    let line = format_args!("certificate read again: {}", shown.summary());
                    diagnostic::write(Level::Info, line);
                }
            }
            Err(error) => {
                let line = format!("changed certificates are not used, the old ones stay: {error}");
                diagnostic::write(Level::Error, format_args!("{line}"));
                post.tell_control(ToControl::CertificatesRefused(Some(line)));
            }
        }
    }

    /// Authorities have issued something, or ask for something. What is to be confirmed is confirmed by each scheduler.
    pub(super) fn on_issued(
        &mut self,
        data: &SiteData,
        issued: Issued,
        mut confirmations: Vec<Confirmation>,
        post: &mut Post,
    ) {
        let (changed, error) = self.current.with_issued(&data.config, issued);
        if let Some(error) = error {
            let line = format_args!("certificates of authorities are not used: {error}");
            diagnostic::write(Level::Error, line);
            // Dropped: an authority must not be told that it may ask.
            confirmations.clear();
        }
        self.replace(changed, &confirmations, post);
        // These shares are the main thread's own.
        confirmations.into_iter().for_each(Confirmation::in_force);
    }

    fn replace(&mut self, tls: SiteTls, confirmations: &[Confirmation], post: &mut Post) {
        self.current = Arc::new(tls);
        for scheduler in post.schedulers() {
            let shares = confirmations.iter().map(Confirmation::share).collect();
            post.send(scheduler, ToScheduler::Certificates(Arc::clone(&self.current), shares));
        }
        post.tell_control(ToControl::Certificates(Arc::clone(&self.current)));
        self.tell_of_ends();
    }

    /// Tells of each certificate whose end comes near, once for each step.
    fn tell_of_ends(&mut self) {
        let now = sys::clock::realtime().0;
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let mut told = HashMap::default();
        for shown in self.current.shown() {
            let fingerprint = shown.certificate().fingerprint;
            let known = self.told.get(&fingerprint).copied().unwrap_or(Nearness::Far);
            let nearness = nearness_of(shown, now).max(known);
            if nearness > Nearness::Far {
                told.insert(fingerprint, nearness);
            }
            if nearness == known {
                continue;
            }
            let (level, what) = match nearness {
                Nearness::Over => (Level::Error, "has expired: clients refuse it"),
                _ => (Level::Warn, "expires soon"),
            };
            diagnostic::write(level, format_args!("a certificate {what}: {}", shown.summary()));
        }
        self.told = told;
    }
}

fn nearness_of(shown: &ShownCertificate, now: i64) -> Nearness {
    let left = shown.certificate().not_after.saturating_sub(now);
    let soon = i64::try_from(CERTIFICATE_SOON.as_secs()).unwrap_or(i64::MAX);
    match left {
        ..0 => Nearness::Over,
        _ if !shown.is_late(now) => Nearness::Far,
        left if left < soon => Nearness::Soon,
        _ => Nearness::Late,
    }
}
