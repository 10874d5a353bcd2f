//! Certificates that end soon.
//!
//! Owns when they are looked at. Never reads a file.

use crate::events::{Kind, Trouble};
use crate::limits::{EVENTS_CERTIFICATE_DAYS, EVENTS_CERTIFICATES_MS};
use crate::shown_certificate::{CertificateSource, ShownCertificate};
use crate::site_tls::SiteTls;

/// When certificates are looked at next.
#[derive(Debug, Default)]
pub(super) struct Ends {
    next_ms: u64,
}

impl Ends {
    /// Those that end soon, if it is time to look.
    pub(super) fn look(&mut self, tls: &SiteTls, now_ms: u64, unix_seconds: u64) -> Vec<Trouble> {
        if now_ms < self.next_ms {
            return Vec::new();
        }
        self.next_ms = now_ms + EVENTS_CERTIFICATES_MS;
        let now = i64::try_from(unix_seconds).unwrap_or(i64::MAX);
        // One that is made at the start is for trying things out.
        let real = tls.shown().iter().filter(|shown| *shown.origin() != CertificateSource::Start);
        // One of six days that the server orders is renewed in time.
        let is_told = |shown: &&ShownCertificate| {
            *shown.origin() != CertificateSource::Order || shown.is_late(now)
        };
        let ends =
            real.filter(is_told).map(|shown| (shown.names().join(", "), shown.days_left(now)));
        ends.filter_map(|(names, days)| of_days(&names, days)).collect()
    }
}

fn of_days(names: &str, days: i64) -> Option<Trouble> {
    let text = match days {
        ..0 => format!("the certificate for {names} has ended"),
        0 => format!("the certificate for {names} ends within a day"),
        1 => format!("the certificate for {names} ends in a day"),
        2..=EVENTS_CERTIFICATE_DAYS => {
            format!("the certificate for {names} ends in {days} days")
        }
        _ => return None,
    };
    Some(Trouble::new(Kind::Certificate, names, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_told_a_week_before_its_end_and_behind_it() {
        let text = |days| of_days("a.example", days).map(|trouble| trouble.text);
        assert_eq!(text(8), None);
        assert_eq!(text(7).as_deref(), Some("the certificate for a.example ends in 7 days"));
        assert_eq!(text(1).as_deref(), Some("the certificate for a.example ends in a day"));
        assert_eq!(text(0).as_deref(), Some("the certificate for a.example ends within a day"));
        assert_eq!(text(-1).as_deref(), Some("the certificate for a.example has ended"));
    }
}
