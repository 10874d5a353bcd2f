//! Goal: only tokens that a key of the server has signed are good, only while they last, and only for what they name.
//! Method: tokens made by hand (RFC 7515, RFC 7518, RFC 8037), each wrong in one thing.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use channels::limits::{MEMBER_INFO_SIZE, TOKEN_PATTERNS, TOKEN_SIZE};
use channels::{
    Access, CertificateRule, ChannelGlob, ChannelPolicy, ChannelRefusal, ChannelScope, Channels,
    Credential, Rights, Rulebook, Sender, TokenKeys, TokenProblem,
};
use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::{Signer, SigningKey};
use hmac::{Hmac, KeyInit, Mac};
use runtime::mailbox::Endpoint;
use runtime::transport::{Agreed, ClientCertificate};
use sha2::Sha256;

const SECRET: &str = "a secret of thirty-two bytes, or more";
const NOW: u64 = 1_800_000_000;

/// The first two parts.
fn unsigned(header: &str, claims: &str) -> String {
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}", part(header), part(claims))
}

fn hs256(header: &str, claims: &str, secret: &str) -> String {
    let text = unsigned(header, claims);
    let mut code = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    code.update(text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(code.finalize().into_bytes()))
}

fn private_key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn eddsa(claims: &str, key: &SigningKey) -> String {
    let text = unsigned(r#"{"alg":"EdDSA","typ":"JWT"}"#, claims);
    let signature = key.sign(text.as_bytes()).to_bytes();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn pem(key: &SigningKey) -> String {
    key.verifying_key().to_public_key_pem(LineEnding::LF).unwrap()
}

const HS256: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

fn read(token: &str) -> Result<channels::Pass, TokenProblem> {
    TokenKeys::of_secrets(["another key, which is tried as well", SECRET])
        .read(token.as_bytes(), NOW)
}

/// The problem of a token with these claims, signed well.
fn problem_of(claims: &str) -> Option<TokenProblem> {
    read(&hs256(HS256, claims, SECRET)).err()
}

/// The channels of a scheduler with these rules for all.
fn channels(rules: &ChannelPolicy) -> Channels {
    let rulebook = Rulebook::new([(ChannelGlob::new("*"), rules.clone())]);
    Channels::new(Endpoint(0), 1, 1, rulebook.into())
}

fn to_subscribe(rights: &Rights, name: &str, rules: &ChannelPolicy) -> Result<(), ChannelRefusal> {
    channels(rules).may_subscribe(name, ChannelScope::Configured, rights).map(drop)
}

fn to_publish(rights: &Rights, name: &str, rules: &ChannelPolicy) -> Result<(), ChannelRefusal> {
    let sender = Sender { rights, address: None };
    channels(rules).may_publish(name, ChannelScope::Configured, sender).map(drop)
}

#[test]
fn a_good_token_allows_what_it_names_and_no_more() {
    let claims = r#"{"sub":"ann","exp":1800000060,"nbf":1800000000,"iat":1,"subscribe":["chat.*","news"],
        "publish":["chat.ann"],"info":{"name":"Ann"},"unknown":[1]}"#;
    let pass = read(&hs256(HS256, claims, SECRET)).unwrap();
    assert_eq!((pass.user(), pass.expires), (Some("ann"), NOW + 60));
    assert_eq!(pass.member.as_ref().unwrap().info.as_deref(), Some(r#"{"name":"Ann"}"#));
    let rights = Rights::new(Credential::Token(pass.into()), None);
    let of =
        |access| ChannelPolicy { subscribe: access, publish: access, ..ChannelPolicy::default() };
    let rules = of(Access::Token);
    assert_eq!(to_subscribe(&rights, "chat.hall", &rules), Ok(()));
    assert_eq!(to_subscribe(&rights, "news", &rules), Ok(()));
    assert_eq!(to_subscribe(&rights, "other", &rules), Err(ChannelRefusal::Denied));
    assert_eq!(to_publish(&rights, "chat.ann", &rules), Ok(()));
    assert_eq!(to_publish(&rights, "chat.hall", &rules), Err(ChannelRefusal::Denied));
    assert_eq!(to_publish(&rights, "chat.ann", &of(Access::Closed)), Err(ChannelRefusal::Denied));
    assert_eq!(to_subscribe(&rights, "other", &of(Access::Open)), Ok(()));
    assert_eq!(to_subscribe(&Rights::ANYBODY, "news", &rules), Err(ChannelRefusal::NoToken));
    assert_eq!(
        to_subscribe(&Rights::ANYBODY, "news", &of(Access::Closed)),
        Err(ChannelRefusal::Denied)
    );
    assert_eq!(to_publish(&Rights::ALL, "news", &of(Access::Closed)), Ok(()));
}

#[test]
fn a_channel_that_needs_a_certificate_takes_no_token_in_its_place() {
    let shown = |subject: &str| {
        let client = ClientCertificate {
            subject: subject.into(),
            issuer: "CN=Authority".into(),
            fingerprint: "a1b2".into(),
        };
        let agreed = Agreed { client: Some(client.into()), ..Agreed::default() };
        Rights::new(Credential::Nothing, Some(&agreed))
    };
    let (nobody, ann, bob) = (Rights::ANYBODY, shown("CN=ann"), shown("CN=bob"));
    let of = |certificates| ChannelPolicy {
        publish_certificate: Some(certificates),
        ..ChannelPolicy::default()
    };
    let may =
        |rules: &ChannelPolicy| [&nobody, &ann, &bob].map(|rights| to_publish(rights, "a", rules));
    let none = Err(ChannelRefusal::NoCertificate);
    assert_eq!(may(&of(CertificateRule::Any)), [none, Ok(()), Ok(())]);
    let these = |name: &str| of(CertificateRule::These([name.into()].into()));
    assert_eq!(may(&these("CN=ann")), [none, Ok(()), none]);
    assert_eq!(may(&these("A1B2")), [none, Ok(()), Ok(())], "a fingerprint");
    assert_eq!(may(&these("CN=Authority")), [none; 3], "the issuer is no name of the client");
    assert_eq!(to_subscribe(&nobody, "a", &these("CN=ann")), Ok(()), "only publishers need it");
    // A token and the certificate, both; a token that comes later takes no certificate away.
    let rules = ChannelPolicy { publish: Access::Token, ..these("CN=ann") };
    let token = hs256(HS256, r#"{"exp":1800000060,"publish":["a"]}"#, SECRET);
    let pass = Credential::Token(read(&token).unwrap().into());
    assert_eq!(to_publish(&Rights::new(pass.clone(), None), "a", &rules), none);
    let mut both = ann;
    assert_eq!(to_publish(&both, "a", &rules), Err(ChannelRefusal::NoToken));
    both.show(pass);
    assert_eq!(to_publish(&both, "a", &rules), Ok(()));
    both.show(Credential::Nothing);
    assert_eq!(to_publish(&both, "a", &rules), Err(ChannelRefusal::NoToken));
    assert_eq!(to_publish(&Rights::ALL, "a", &rules), Ok(()));
}

#[test]
fn the_key_says_how_it_is_signed_and_never_the_token() {
    let claims = r#"{"exp":1800000060}"#;
    let good = private_key(7);
    let keys = TokenKeys::of_public_keys(&format!("{}\n{}", pem(&private_key(1)), pem(&good)));
    let keys = keys.map(|(keys, others)| {
        assert_eq!(others.trim(), "");
        keys
    });
    let keys = keys.unwrap();
    let read_by_public = |token: &str| keys.read(token.as_bytes(), NOW).map(|pass| pass.expires);
    assert_eq!(read_by_public(&eddsa(claims, &good)), Ok(NOW + 60));
    assert_eq!(read_by_public(&eddsa(claims, &private_key(2))), Err(TokenProblem::Signature));
    // The public key, which everybody knows, taken for a secret.
    for known in [pem(&good), String::from_utf8_lossy(good.verifying_key().as_bytes()).into()] {
        let forged = hs256(HS256, claims, &known);
        assert_eq!(read_by_public(&forged), Err(TokenProblem::Algorithm));
    }
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":"HS512"}"#,
        r#"{"alg":"RS256"}"#,
        r#"{"alg":"EdDSA"}"#,
        r#"{"alg":""}"#,
        "{}",
        "[]",
        "",
        r#"{"alg":"HS256","crit":["exp"]}"#,
    ] {
        let signed = hs256(header, claims, SECRET);
        let unsigned = unsigned(header, claims);
        for token in [signed, format!("{unsigned}."), unsigned] {
            let problem = read(&token).unwrap_err();
            let is_told = matches!(problem, TokenProblem::Algorithm | TokenProblem::Malformed);
            assert!(is_told, "{header}: {problem:?}");
        }
    }
    assert_eq!(read(&eddsa(claims, &good)).unwrap_err(), TokenProblem::Algorithm);
}

#[test]
fn a_token_that_was_changed_is_not_good() {
    let claims = r#"{"sub":"ann","exp":1800000060,"subscribe":["a"]}"#;
    let token = hs256(HS256, claims, SECRET);
    assert!(read(&token).is_ok());
    let problem = read(&hs256(HS256, claims, "some other secret of 32 bytes ..")).unwrap_err();
    assert_eq!(problem, TokenProblem::Signature);
    let (text, signature) = token.rsplit_once('.').unwrap();
    let other = unsigned(HS256, &claims.replace("ann", "bob"));
    for forged in [
        format!("{other}.{signature}"),
        format!("{text}."),
        format!("{text}.{}", &signature[..20]),
        format!("{text}.{signature}."),
        format!("{text}.{signature}="),
        format!(".{token}"),
        format!("{token} "),
        text.to_owned(),
        signature.to_owned(),
        String::new(),
        "..".to_owned(),
    ] {
        assert!(read(&forged).is_err(), "{forged}");
    }
    // Each bit of it.
    for at in 0..token.len() {
        for bit in 0..8 {
            let mut bytes = token.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            assert!(TokenKeys::of_secrets([SECRET]).read(&bytes, NOW).is_err(), "{at}, {bit}");
        }
    }
}

#[test]
fn a_token_is_good_for_its_time_and_no_longer() {
    for (claims, problem) in [
        (r#"{"exp":1800000001}"#, None),
        (r#"{"exp":1800000001.5,"nbf":1800000000}"#, None),
        (r#"{"exp":1e300}"#, None),
        (r#"{"exp":1800000000}"#, Some(TokenProblem::Expired)),
        (r#"{"exp":1}"#, Some(TokenProblem::Expired)),
        (r#"{"exp":1800000060,"nbf":1800000001}"#, Some(TokenProblem::Early)),
        (r#"{"exp":1800000060,"aud":"somebody"}"#, Some(TokenProblem::Audience)),
    ] {
        assert_eq!(problem_of(claims), problem, "{claims}");
    }
    let long = |count: usize| "x".repeat(count);
    for claims in [
        "{}".to_owned(),
        r#"{"exp":null}"#.to_owned(),
        r#"{"exp":-1}"#.to_owned(),
        r#"{"exp":"1800000060"}"#.to_owned(),
        r#"{"exp":1800000060,"subscribe":"chat"}"#.to_owned(),
        r#"{"exp":1800000060,"subscribe":[1]}"#.to_owned(),
        r#"{"exp":1800000060,"sub":1}"#.to_owned(),
        r#"{"exp":1800000060,"sub":"a\nb"}"#.to_owned(),
        format!(r#"{{"exp":1800000060,"sub":"{}"}}"#, long(256)),
        format!(r#"{{"exp":1800000060,"info":"{}"}}"#, long(MEMBER_INFO_SIZE)),
        format!(r#"{{"exp":1800000060,"subscribe":{:?}}}"#, vec!["a"; TOKEN_PATTERNS + 1]),
        "not an object".to_owned(),
    ] {
        let problem = problem_of(&claims);
        assert!(matches!(problem, Some(TokenProblem::Claim(_))), "{claims}: {problem:?}");
    }
    assert_eq!(read(&long(TOKEN_SIZE + 1)).unwrap_err(), TokenProblem::TooLong);
    let none = TokenKeys::default();
    assert_eq!(none.read(b"a.b.c", NOW).unwrap_err(), TokenProblem::NoKeys);
}

#[test]
fn public_keys_and_secrets_are_told_apart() {
    let good = pem(&private_key(7));
    let number = |text: &str| TokenKeys::of_public_keys(text).err().map(|none| none.line);
    let others = |text: &str| TokenKeys::of_public_keys(text).map(|(_, others)| others);
    let lines = good.lines().count();
    assert_eq!(number(&format!("\n{good}\n\n{good}")), None);
    for text in [
        format!("{SECRET}\n{good}rubbish"),
        format!("{SECRET}\r\n{}rubbish\r\n", good.replace('\n', "\r\n")),
    ] {
        let empty = "\n".repeat(lines);
        assert_eq!(others(&text), Ok(format!("{SECRET}\n{empty}rubbish\n")), "{text}");
    }
    assert_eq!(number(&good.replace("PUBLIC", "PRIVATE")), Some(1));
    assert_eq!(number(&format!("{SECRET}\n{}", good.replace("MCow", "MCox"))), Some(2));
    assert_eq!(number(&format!("{good}{}", good.replace("MCow", "MCox"))), Some(lines + 1));
    assert_eq!(number(&format!("\n{}", good.replace("-----END", "END"))), Some(2));
    // The point of small order, for which signatures of nobody are good.
    let der = [
        &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00, 1][..],
        &[0; 31],
    ];
    let weak = base64::engine::general_purpose::STANDARD.encode(der.concat());
    let weak = format!("-----BEGIN PUBLIC KEY-----\n{weak}\n-----END PUBLIC KEY-----\n");
    assert_eq!(number(&weak), Some(1));
}
