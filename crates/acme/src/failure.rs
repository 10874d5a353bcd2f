//! Why an attempt failed, in one line, and what follows from it.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::agent::AgentError;
use crate::ending::Ended;
use crate::keeping::KeepingError;
use crate::limits::{ERROR_BYTES, IN_FORCE, NONCES, VALIDATION};

/// Why there is no certificate.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server ends; nothing failed.
    Ended,
    /// The state cannot be written. Nothing was asked of the authority.
    NotStored(io::Error),
    /// An account was made but could not be written down.
    AccountLost(io::Error),
    /// The authority was not reached.
    Agent(AgentError),
    /// The authority refused, or did not keep to ACME.
    Acme(instant_acme::Error),
    /// The limits allow no further order now.
    Bounded,
    /// The authority offers no challenge that may be used for this name.
    NoChallenge(String),
    /// The schedulers do not answer for this challenge.
    NotInForce,
    /// The names could not be proved.
    Validation { names: Vec<String>, error: String },
    /// The authority did not come to an end.
    Late,
    /// The certificate that was issued cannot be used.
    Keeping(KeepingError),
    /// The certificate that was issued has less than a third of its life left by the clock of this machine.
    Clock,
    /// The same, and it ends before the one in use, which stays.
    Ending,
    /// No key or certificate could be made.
    Key(rcgen::Error),
    /// `instant-acme` waited for something else than its HTTP client.
    Waited,
}

/// The prefix of the types of problems (RFC 8555 section 6.7).
const PROBLEM: &str = "urn:ietf:params:acme:error:";

impl Failure {
    /// The type of the authority's problem, without its prefix.
    pub(crate) fn problem(&self) -> Option<&str> {
        match self {
            Self::Acme(instant_acme::Error::Api(problem)) => {
                problem.r#type.as_deref().map(|kind| kind.strip_prefix(PROBLEM).unwrap_or(kind))
            }
            _ => None,
        }
    }

    /// Whether an order that was made may still lead to a certificate. An authority that is overloaded, or broken for
    /// now, has refused nothing.
    pub(crate) fn leaves_order(&self) -> bool {
        match self {
            Self::Ended
            | Self::NotStored(_)
            | Self::Agent(_)
            | Self::Bounded
            | Self::NotInForce
            | Self::Late => true,
            Self::Acme(instant_acme::Error::Api(problem)) => {
                let is_for_now = |status| status == 429 || status >= 500;
                problem.status.is_some_and(is_for_now)
                    || matches!(self.problem(), Some("rateLimited" | "serverInternal" | "badNonce"))
            }
            // An answer that is not what ACME says, such as the error page of a proxy before the authority.
            Self::Acme(_) => true,
            _ => false,
        }
    }

    /// The names whose validation failed.
    pub(crate) fn failed_names(&self) -> &[String] {
        if let Self::Validation { names, .. } = self { names } else { &[] }
    }

    /// The error in one line.
    pub(crate) fn line(&self) -> String {
        let text = match self {
            Self::Ended => "the server ends".to_owned(),
            Self::NotStored(error) => format!("the state cannot be written: {error}"),
            Self::AccountLost(error) => format!("the account cannot be written down: {error}"),
            Self::Agent(AgentError::Status(status)) => {
                format!("the authority answers with status {status} and does not say why")
            }
            Self::Agent(error) => format!("the authority was not reached: {error}"),
            Self::Acme(instant_acme::Error::Json(error)) => {
                format!("the answer of the authority is not that of an ACME server: {error}")
            }
            Self::Acme(error) => error.to_string(),
            Self::Bounded => "the limits allow no further order now".to_owned(),
            Self::NoChallenge(name) => {
                format!("the authority offers no usable challenge for {name}")
            }
            Self::NotInForce => {
                format!(
                    "the server did not answer for the challenge within {} s",
                    IN_FORCE.as_secs()
                )
            }
            Self::Validation { error, .. } => error.clone(),
            Self::Late => format!("the authority took longer than {} s", VALIDATION.as_secs()),
            Self::Keeping(error) => {
                format!("the certificate that was issued cannot be used: {error}")
            }
            Self::Clock => {
                "the certificate that was issued is about to end by the clock of this machine"
                    .to_owned()
            }
            Self::Ending => {
                "the certificate that was issued is about to end, or has ended, and is not used"
                    .to_owned()
            }
            Self::Key(error) => format!("no key can be made: {error}"),
            Self::Waited => "the client of ACME waited for something else".to_owned(),
        };
        one_line(&text)
    }
}

/// The mark of what is left out of a long text.
const LEFT_OUT: &str = " ... ";

/// A text without control characters. A long one is cut in the middle: authorities write the cause at the end.
fn one_line(text: &str) -> String {
    let clear = |char: char| if char.is_control() { ' ' } else { char };
    let line: String = text.chars().map(clear).collect();
    if line.len() <= ERROR_BYTES {
        return line;
    }
    let half = (ERROR_BYTES - LEFT_OUT.len()) / 2;
    let start = line.get(..line.floor_char_boundary(half)).unwrap_or_default();
    let end = line.get(line.ceil_char_boundary(line.len() - half)..).unwrap_or_default();
    format!("{start}{LEFT_OUT}{end}")
}

impl From<instant_acme::Error> for Failure {
    fn from(error: instant_acme::Error) -> Self {
        match error {
            instant_acme::Error::Other(other) => match other.downcast::<AgentError>() {
                Ok(error) => Self::from(*error),
                Err(other) => Self::Acme(instant_acme::Error::Other(other)),
            },
            error => Self::Acme(error),
        }
    }
}

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Self {
        if matches!(error, AgentError::Ended) { Self::Ended } else { Self::Agent(error) }
    }
}

impl From<Ended> for Failure {
    fn from(_: Ended) -> Self {
        Self::Ended
    }
}

impl From<rcgen::Error> for Failure {
    fn from(error: rcgen::Error) -> Self {
        Self::Key(error)
    }
}

/// Runs a future of `instant-acme`. Its HTTP client blocks, so the future is ready when it is first asked.
pub(crate) fn done<T>(
    future: impl Future<Output = Result<T, instant_acme::Error>>,
) -> Result<T, Failure> {
    match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Ok(result?),
        Poll::Pending => Err(Failure::Waited),
    }
}

/// Repeats a call as long as the authority refuses its nonce. `instant-acme` tries three times itself, which is too
/// few for an authority that forgets nonces.
pub(crate) fn with_nonces<T>(mut call: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    let mut tries = 1;
    loop {
        match call() {
            Err(failure) if failure.problem() == Some("badNonce") && tries < NONCES => tries += 1,
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_error_keeps_its_beginning_and_its_cause() {
        let long = "\u{fc}".repeat(ERROR_BYTES);
        let error = format!("one.test was not proved: {long}\nconnection refused");
        let line = Failure::Validation { names: Vec::new(), error }.line();
        assert!(line.len() <= ERROR_BYTES, "{line}");
        assert!(line.starts_with("one.test was not proved: "), "{line}");
        assert!(line.ends_with(" connection refused"), "{line}");
    }
}
