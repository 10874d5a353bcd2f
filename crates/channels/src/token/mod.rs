//! Tokens: what a client may do, signed with a key that this server knows (JWT, RFC 7519).
//!
//! Owns which tokens are valid, and their content. Never reads a clock.

mod provider;

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::VerifyingKey;
use ed25519_dalek::pkcs8::DecodePublicKey;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, Validation, decode, decode_header};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::glob::{ChannelGlob, PatternTooLong, check_pattern};
use crate::limits::{MEMBER_INFO_SIZE, NAME_SIZE, TOKEN_PATTERNS, TOKEN_SIZE};
use crate::member::Member;

/// The beginning of a public key in PEM (RFC 7468).
const PEM_BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const PEM_MARK: &str = "-----BEGIN";
const PEM_END: &str = "-----END PUBLIC KEY-----";

/// The rights of a token.
#[derive(Debug)]
pub struct Pass {
    /// The user (`sub`), with its public information (`info`).
    pub member: Option<Member>,
    /// When it expires, in seconds since 1970 (`exp`).
    pub expires: u64,
    /// The channels to which it may subscribe.
    pub(crate) subscribe: Vec<ChannelGlob>,
    /// The channels to which it may publish.
    pub(crate) publish: Vec<ChannelGlob>,
    /// The databases of the store that it may read.
    read: Vec<ChannelGlob>,
    /// The databases of the store that it may write.
    write: Vec<ChannelGlob>,
    /// All its claims, in JSON.
    pub claims: Box<str>,
}

impl Pass {
    /// A token for this user that allows no channel.
    pub fn of_user(member: Member, expires: u64) -> Self {
        let none = Vec::new;
        Self {
            member: Some(member),
            expires,
            subscribe: none(),
            publish: none(),
            read: none(),
            write: none(),
            claims: Box::default(),
        }
    }

    /// Whether it may read this database of the store.
    pub fn reads(&self, database: &str) -> bool {
        self.read.iter().any(|glob| glob.matches(database))
    }

    /// Whether it may write this database of the store.
    pub fn writes(&self, database: &str) -> bool {
        self.write.iter().any(|glob| glob.matches(database))
    }

    /// The user.
    pub fn user(&self) -> Option<&str> {
        self.member.as_ref().map(|member| &*member.user)
    }
}

/// Why a token is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    /// The server has no key to verify tokens.
    #[error("this server has no key for tokens; see `token_keys`")]
    NoKeys,
    /// It is too long.
    #[error("the token has more than {TOKEN_SIZE} bytes")]
    TooLong,
    /// It is not three parts in base64 with JSON objects, or requires an extension that this server does not know.
    #[error("the token is not a signed JWT")]
    Malformed,
    /// It uses an algorithm for which there is no key, or `none`.
    #[error("the token is not signed by HS256 or EdDSA, as the server's keys are")]
    Algorithm,
    /// Its signature matches no key of the server.
    #[error("no key of this server has signed the token")]
    Signature,
    /// It has expired.
    #[error("the token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the token is not good yet (`nbf`)")]
    Early,
    /// It names an audience, but this server has no name.
    #[error("the token is for another audience (`aud`)")]
    Audience,
    /// A claim is missing or invalid.
    #[error("the token's claims: {0}")]
    Claim(String),
}

/// Something in a text looks like a public key but is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoPublicKey {
    /// The line in which it begins, from 1.
    pub line: usize,
}

/// The keys that verify tokens.
#[derive(Clone, Default)]
pub struct TokenKeys(Arc<[(Algorithm, DecodingKey)]>);

impl fmt::Debug for TokenKeys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "TokenKeys({})", self.0.len())
    }
}

#[derive(Deserialize)]
struct Claims {
    exp: Option<f64>,
    nbf: Option<f64>,
    sub: Option<String>,
    info: Option<Box<RawValue>>,
    #[serde(default)]
    subscribe: Vec<String>,
    #[serde(default)]
    publish: Vec<String>,
    #[serde(default)]
    read: Vec<String>,
    #[serde(default)]
    write: Vec<String>,
}

impl TokenKeys {
    /// Secrets with which tokens are signed by HS256 (RFC 7518, section 3.2).
    pub fn of_secrets<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Self {
        Self::default().and_secrets(secrets)
    }

    /// These keys and secrets.
    pub fn and_secrets<'s>(&self, secrets: impl IntoIterator<Item = &'s str>) -> Self {
        let key = |secret: &str| (Algorithm::HS256, DecodingKey::from_secret(secret.as_bytes()));
        Self(self.0.iter().cloned().chain(secrets.into_iter().map(key)).collect())
    }

    /// The public Ed25519 keys in PEM of a text; tokens are signed with the private keys (RFC 8037). Also returns the
    /// text without them: their lines are empty, so that the others keep their numbers.
    ///
    /// # Errors
    /// If one is not such a key.
    pub fn of_public_keys(text: &str) -> Result<(Self, String), NoPublicKey> {
        let (mut keys, mut others) = (Vec::new(), String::new());
        let mut lines = (1..).zip(text.lines());
        while let Some((line, first)) = lines.next() {
            if !first.trim_start().starts_with(PEM_MARK) {
                others.push_str(first);
                others.push('\n');
                continue;
            }
            others.push('\n');
            let problem = NoPublicKey { line };
            let mut pem = first.trim().to_owned();
            while !pem.ends_with(PEM_END) {
                let (_, next) = lines.next().ok_or(problem)?;
                others.push('\n');
                pem.push('\n');
                pem.push_str(next.trim());
            }
            let key = Some(pem).filter(|pem| pem.starts_with(PEM_BEGIN)).ok_or(problem)?;
            let key = VerifyingKey::from_public_key_pem(&key).map_err(|_| problem)?;
            // A key of small order accepts forged signatures.
            if key.is_weak() {
                return Err(problem);
            }
            keys.push((Algorithm::EdDSA, DecodingKey::from_ed_der(key.as_bytes())));
        }
        Ok((Self(keys.into()), others))
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rights of a token.
    ///
    /// # Errors
    /// If it is not valid.
    pub fn read(&self, token: &[u8], unix_seconds: u64) -> Result<Pass, TokenProblem> {
        if self.is_empty() {
            return Err(TokenProblem::NoKeys);
        }
        if token.len() > TOKEN_SIZE {
            return Err(TokenProblem::TooLong);
        }
        provider::install();
        let header = decode_header(token).map_err(|_| TokenProblem::Malformed)?;
        // It requires an extension that is not understood (RFC 7515, section 4.1.11).
        if header.crit.is_some() {
            return Err(TokenProblem::Malformed);
        }
        // The key determines the algorithm, never the token.
        let mut fitting =
            self.0.iter().filter(|(algorithm, _)| *algorithm == header.alg).peekable();
        if fitting.peek().is_none() {
            return Err(TokenProblem::Algorithm);
        }
        let mut problem = TokenProblem::Signature;
        for (algorithm, key) in fitting {
            match decode::<Claims>(token, key, &validation(*algorithm)) {
                Ok(read) => return pass(read.claims, claims_text(token), unix_seconds),
                Err(error) => match error.into_kind() {
                    ErrorKind::InvalidSignature => {}
                    kind => problem = problem_of(&kind),
                },
            }
        }
        Err(problem)
    }
}

/// The times are compared here, with the time of the turn.
fn validation(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation
}

fn problem_of(kind: &ErrorKind) -> TokenProblem {
    match kind {
        ErrorKind::InvalidAudience => TokenProblem::Audience,
        ErrorKind::Json(error) => TokenProblem::Claim(error.to_string()),
        _ => TokenProblem::Malformed,
    }
}

fn pass(claims: Claims, text: Box<str>, unix_seconds: u64) -> Result<Pass, TokenProblem> {
    let wrong = |problem: String| Err(TokenProblem::Claim(problem));
    let Some(exp) = claims.exp.filter(|exp| *exp >= 0.0) else {
        return wrong("`exp` is required, in seconds since 1970".to_owned());
    };
    // A fraction of the last second is dropped; a number beyond the largest never expires.
    let expires = exp as u64;
    if expires <= unix_seconds {
        return Err(TokenProblem::Expired);
    }
    if claims.nbf.is_some_and(|nbf| nbf > unix_seconds as f64) {
        return Err(TokenProblem::Early);
    }
    let all = [&claims.subscribe, &claims.publish, &claims.read, &claims.write];
    if all.iter().map(|patterns| patterns.len()).sum::<usize>() > TOKEN_PATTERNS {
        return wrong(format!(
            "`subscribe`, `publish`, `read` and `write` have more than {TOKEN_PATTERNS} patterns"
        ));
    }
    let user = claims.sub.unwrap_or_default();
    if user.len() > NAME_SIZE || user.chars().any(char::is_control) {
        return wrong(format!("`sub` has more than {NAME_SIZE} bytes, or control characters"));
    }
    let info = claims.info.map(|info| Arc::<str>::from(info.get()));
    if info.as_ref().is_some_and(|info| info.len() > MEMBER_INFO_SIZE) {
        return wrong(format!("`info` has more than {MEMBER_INFO_SIZE} bytes"));
    }
    if all
        .iter()
        .flat_map(|patterns| patterns.iter())
        .any(|one| check_pattern(one.as_bytes()).is_err())
    {
        return wrong(PatternTooLong.to_string());
    }
    let globs =
        |patterns: &[String]| patterns.iter().map(|pattern| ChannelGlob::new(pattern)).collect();
    Ok(Pass {
        member: (!user.is_empty()).then(|| Member { user: user.into(), info }),
        expires,
        subscribe: globs(&claims.subscribe),
        publish: globs(&claims.publish),
        read: globs(&claims.read),
        write: globs(&claims.write),
        claims: text,
    })
}

/// The claims of a valid token, as they were written.
fn claims_text(token: &[u8]) -> Box<str> {
    let part = token.split(|byte| *byte == b'.').nth(1).unwrap_or_default();
    let bytes = URL_SAFE_NO_PAD.decode(part).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default().into()
}

/// Whether a key is for this algorithm.
fn is_for(algorithm: Algorithm, key: &DecodingKey) -> bool {
    match algorithm {
        Algorithm::HS256 => key.family() == AlgorithmFamily::Hmac,
        Algorithm::EdDSA => key.family() == AlgorithmFamily::Ed,
        _ => false,
    }
}
