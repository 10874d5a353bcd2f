//! A certificate that a listener shows: where it came from, its time, and what is wrong with it.
//!
//! Owns the words for it. Never reads a file.

use std::path::PathBuf;

use config::CertificateFiles;
use tls::{Certificate, Flaw, Identity};

use crate::limits::{CERTIFICATE_LEFT, ORDERED_CERTIFICATE_LEFT};

/// A certificate that is shown.
#[derive(Clone, Debug)]
pub struct ShownCertificate {
    /// Where it came from.
    origin: CertificateSource,
    identity: Identity,
    /// The file of one that every client gets in its place.
    hidden_by: Option<PathBuf>,
}

/// Where a certificate came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// A file.
    File(PathBuf),
    /// It was made at the start.
    Start,
    /// The server has ordered it.
    Order,
}

impl ShownCertificate {
    /// One from this place.
    pub(crate) fn new(origin: CertificateSource, identity: &Identity) -> Self {
        Self { origin, identity: identity.clone(), hidden_by: None }
    }

    /// One line: names, issuer, days left, file.
    pub fn summary(&self) -> String {
        let names = match self.names() {
            [] => "no name".to_owned(),
            names => names.join(", "),
        };
        let place = match &self.origin {
            CertificateSource::File(file) => file.display().to_string(),
            CertificateSource::Start => "made at the start".to_owned(),
            CertificateSource::Order => "ordered".to_owned(),
        };
        let Certificate { issuer, not_after, .. } = self.certificate();
        let now = i64::try_from(sys::clock::realtime().0).unwrap_or(i64::MAX);
        format!("{names} by {issuer}, {} ({place})", tls::time_left(*not_after, now))
    }

    /// The certificates of a list of files.
    pub(crate) fn of_files(files: &[CertificateFiles], identities: &[Identity]) -> Vec<Self> {
        let listed = files.iter().zip(identities);
        let one = |(index, (file, identity)): (usize, (&CertificateFiles, &Identity))| {
            let mut before = listed.clone().take(index);
            let hiding = before.find(|(_, before)| hides(before, identity));
            let origin = CertificateSource::File(file.certificate.clone());
            let hidden_by = hiding.map(|(file, _)| file.certificate.clone());
            Self { hidden_by, ..Self::new(origin, identity) }
        };
        listed.clone().enumerate().map(one).collect()
    }

    /// Another listener shows the same certificate.
    pub(crate) fn on_same(&mut self, other: &Self) {
        if other.hidden_by.is_none() {
            self.hidden_by = None;
        }
    }

    /// Where it came from.
    pub fn origin(&self) -> &CertificateSource {
        &self.origin
    }

    /// The content of the certificate.
    pub fn certificate(&self) -> &Certificate {
        self.identity.certificate()
    }

    /// The reasons for which clients refuse it at this time in seconds since 1970, though it can be used.
    pub fn problems(&self, now: i64) -> Vec<String> {
        let Certificate { not_before, not_after, .. } = self.certificate();
        let time = if *not_after < now {
            Some("it has expired: clients refuse it")
        } else if *not_before > now {
            Some("it is not valid yet: clients refuse it")
        } else {
            None
        };
        let flaws = self.identity.flaws().iter().map(Flaw::to_string);
        let hidden = self.hidden_by.as_ref().map(|file| {
            format!(
                "no client gets it: {} stands before it, with its names and the same kind of key; remove one",
                file.display()
            )
        });
        flaws.chain(time.map(str::to_owned)).chain(hidden).collect()
    }

    /// The host names and addresses that it is for.
    pub fn names(&self) -> &[String] {
        &self.certificate().names
    }

    /// Whole days until its end, at this time in seconds since 1970; negative behind it.
    pub fn days_left(&self, now: i64) -> i64 {
        tls::days_left(self.certificate().not_after, now)
    }

    /// Whether another one should have come by this time, in seconds since 1970.
    pub fn is_late(&self, now: i64) -> bool {
        let Certificate { not_before, not_after, .. } = self.certificate();
        let share = match self.origin {
            CertificateSource::Order => ORDERED_CERTIFICATE_LEFT,
            CertificateSource::File(_) | CertificateSource::Start => CERTIFICATE_LEFT,
        };
        not_after.saturating_sub(now) < not_after.saturating_sub(*not_before) / share
    }
}

/// Whether a certificate that stands before another one in a list is chosen for each of its names.
fn hides(before: &Identity, behind: &Identity) -> bool {
    let (before, behind) = (before.certificate(), behind.certificate());
    before.key == behind.key && behind.names.iter().all(|name| before.names.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_late_at_a_third_of_its_life_and_an_ordered_one_at_an_eighth() {
        let identity = tls::self_signed(&["one.example.org"]).expect("a name");
        let of = |origin| ShownCertificate::new(origin, &identity);
        let (file, order) =
            (of(CertificateSource::File(PathBuf::new())), of(CertificateSource::Order));
        let &Certificate { not_before, not_after, .. } = identity.certificate();
        for (share, expected) in [(2, (false, false)), (3, (true, false)), (8, (true, true))] {
            let now = not_after - (not_after - not_before) / share + 1;
            assert_eq!((file.is_late(now), order.is_late(now)), expected, "{share}");
        }
        assert_eq!(file.problems(not_before), [""; 0]);
        assert_eq!(file.problems(not_before - 1), ["it is not valid yet: clients refuse it"]);
        assert_eq!(file.problems(not_after + 1), ["it has expired: clients refuse it"]);
    }

    #[test]
    fn a_certificate_without_names_says_so() {
        let identity = tls::self_signed(&[]).expect("no name is needed");
        let shown = ShownCertificate::new(CertificateSource::Start, &identity);
        assert!(shown.summary().starts_with("no name by "), "{}", shown.summary());
    }

    #[test]
    fn one_behind_another_with_its_names_is_hidden_unless_another_listener_shows_it() {
        let files = ["first.pem", "second.pem"];
        let files =
            files.map(|name| CertificateFiles { certificate: name.into(), key: name.into() });
        let made = |names: &[&str]| tls::self_signed(names).expect("names");
        let wide = made(&["one.example.org", "two.example.org"]);
        let narrow = made(&["two.example.org"]);
        let last_problem = |identities: &[Identity]| {
            let shown =
                ShownCertificate::of_files(&files, identities).pop().expect("two are shown");
            (shown.problems(shown.certificate().not_after).pop(), shown)
        };
        assert_eq!(last_problem(&[narrow.clone(), wide.clone()]).0, None);
        let (problem, mut hidden) = last_problem(&[wide, narrow.clone()]);
        assert!(
            problem.is_some_and(
                |told| told.starts_with("no client gets it: first.pem stands before it")
            )
        );
        hidden.on_same(&ShownCertificate::new(CertificateSource::Start, &narrow));
        assert!(hidden.problems(hidden.certificate().not_after).is_empty());
    }
}
