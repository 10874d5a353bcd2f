//! A small authority that can be told to misbehave. It checks no signature and asks no challenge; it counts what it is
//! asked.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rcgen::{
    BasicConstraints, CertificateParams, IsCa, KeyIdMethod, KeyPair, PublicKeyData, date_time_ymd,
};
use rustls_pki_types::CertificateDer;
use serde_json::{Value, json};

use crate::server::{OwnCertificate, listener, server_builder};

/// How the authority misbehaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trouble {
    #[default]
    None,
    /// An order that replaces something is answered 409.
    AlreadyReplaced,
    /// Orders are answered 429 with this `Retry-After`.
    RateLimited(u32),
    /// A download of a certificate is never answered.
    SilentDownload,
    /// A download of a certificate is answered with this status.
    BusyDownload(u16),
    /// Names have to be proved, and are refused.
    Unproved,
    /// Names have to be proved; it asks for one of two proofs already, and accepts it at the next look.
    AsksAlready,
    /// Names have to be proved; then it refuses the order, for a reason that is not about a name.
    RefusesOrder,
    /// Orders are answered with a page of this status, as by a proxy in front of the authority.
    Page(u16),
    /// Certificates have ended before they are issued.
    Ended,
    /// The directory is longer than any answer may be.
    LongDirectory,
    /// Every answer refuses the nonce.
    Nonces,
    /// It does not know accounts that it made.
    NoAccount,
}

/// The step before a certificate is sent.
type Hook = Box<dyn FnMut() + Send>;

#[derive(Default)]
struct Inside {
    trouble: Trouble,
    orders: Vec<Value>,
    counts: BTreeMap<String, usize>,
    certificates: BTreeMap<usize, String>,
    proved: bool,
    before_download: Option<Hook>,
    window: Option<Value>,
}

/// The authority.
pub(crate) struct Fake {
    pub(crate) root: CertificateDer<'static>,
    port: u16,
    inside: Arc<Mutex<Inside>>,
}

struct Request {
    method: String,
    path: String,
    payload: Value,
}

struct Reply {
    status: u16,
    fields: String,
    body: String,
}

impl Fake {
    pub(crate) fn start() -> Self {
        let own = OwnCertificate::new();
        let config =
            server_builder().with_single_cert(vec![own.certificate.clone()], own.key).unwrap();
        let (listener, port) = listener();
        let inside = Arc::new(Mutex::new(Inside::default()));
        let shared = Arc::clone(&inside);
        let config = Arc::new(config);
        thread::spawn(move || serve(&listener, &config, port, &shared));
        Self { root: own.certificate, port, inside }
    }

    pub(crate) fn directory(&self) -> String {
        format!("https://127.0.0.1:{}/directory", self.port)
    }

    pub(crate) fn trouble(&self, trouble: Trouble) {
        self.inside.lock().unwrap().trouble = trouble;
    }

    pub(crate) fn before_download(&self, hook: impl FnMut() + Send + 'static) {
        self.inside.lock().unwrap().before_download = Some(Box::new(hook));
    }

    /// The answer about renewals.
    pub(crate) fn window(&self, start: &str, end: &str) {
        self.inside.lock().unwrap().window =
            Some(json!({ "suggestedWindow": { "start": start, "end": end } }));
    }

    /// The orders that were asked for, accepted or not.
    pub(crate) fn orders(&self) -> Vec<Value> {
        self.inside.lock().unwrap().orders.clone()
    }

    /// How often the first segment of a path was asked for.
    pub(crate) fn count(&self, segment: &str) -> usize {
        self.inside.lock().unwrap().counts.get(segment).copied().unwrap_or(0)
    }
}

fn serve(
    listener: &TcpListener,
    config: &Arc<rustls::ServerConfig>,
    port: u16,
    inside: &Mutex<Inside>,
) {
    let mut silent = Vec::new();
    for stream in listener.incoming().flatten() {
        let connection = rustls::ServerConnection::new(Arc::clone(config)).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, stream);
        let Some(request) = read_request(&mut stream) else { continue };
        let Some(reply) = answer(&request, port, inside) else {
            silent.push(stream);
            continue;
        };
        let Reply { status, fields, body } = reply;
        let body = if request.method == "HEAD" { String::new() } else { body };
        let head = format!(
            "HTTP/1.1 {status} X\r\nReplay-Nonce: abc\r\n{fields}Content-Length: {}\r\nConnection: \
             close\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(format!("{head}{body}").as_bytes()).and_then(|()| stream.flush());
        stream.conn.send_close_notify();
        let _ = stream.flush();
    }
}

fn read_request(stream: &mut impl Read) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let signed: Value = serde_json::from_slice(&body).unwrap_or_default();
    let payload =
        BASE64_URL_SAFE_NO_PAD.decode(signed["payload"].as_str().unwrap_or_default()).ok()?;
    let payload = serde_json::from_slice(&payload).unwrap_or_default();
    let mut words = first.split(' ');
    Some(Request { method: words.next()?.to_owned(), path: words.next()?.to_owned(), payload })
}

fn reply(status: u16, body: &Value) -> Option<Reply> {
    Some(Reply { status, fields: String::new(), body: body.to_string() })
}

fn problem(status: u16, kind: &str) -> Option<Reply> {
    reply(
        status,
        &json!({ "type": format!("urn:ietf:params:acme:error:{kind}"), "detail": "scripted" }),
    )
}

/// `None` is silence.
fn answer(request: &Request, port: u16, inside: &Mutex<Inside>) -> Option<Reply> {
    let mut inside = inside.lock().unwrap();
    let url = |path: &str| format!("https://127.0.0.1:{port}/{path}");
    let mut segments = request.path.trim_start_matches('/').split('/');
    let (segment, number) = (segments.next()?, segments.next());
    let number = number.and_then(|number| number.parse::<usize>().ok()).unwrap_or(0);
    *inside.counts.entry(segment.to_owned()).or_default() += 1;
    if inside.trouble == Trouble::Nonces && request.method == "POST" {
        return problem(400, "badNonce");
    }
    match segment {
        "directory" if inside.trouble == Trouble::LongDirectory => {
            reply(200, &json!("x".repeat(2 << 20)))
        }
        "directory" => reply(
            200,
            &json!({
                "newNonce": url("nonce"), "newAccount": url("new-account"), "newOrder": url("new-order"),
                "renewalInfo": url("renewal"), "meta": { "profiles": { "shortlived": "six days" } },
            }),
        ),
        "nonce" => reply(200, &json!({})),
        "new-account" => located(reply(201, &json!({ "status": "valid" }))?, &url("account/1")),
        "new-order" => inside.new_order(&request.payload, &url),
        "order" => reply(200, &inside.order(number, &url)),
        "authorization" => reply(200, &inside.authorization(number, &url)),
        "challenge" => {
            inside.proved = true;
            reply(
                200,
                &json!({ "type": "http-01", "url": url("challenge/0"), "token": "abc", "status": "processing" }),
            )
        }
        "finalize" => {
            let request = BASE64_URL_SAFE_NO_PAD.decode(request.payload["csr"].as_str()?).ok()?;
            let life = if inside.trouble == Trouble::Ended { (-100, -10) } else { (-1, 89) };
            let names = &inside.orders[number]["identifiers"];
            let certificate = issue(&request, names, life);
            inside.certificates.insert(number, certificate);
            reply(200, &inside.order(number, &url))
        }
        "certificate" => {
            if inside.trouble == Trouble::SilentDownload {
                return None;
            }
            if let Trouble::BusyDownload(status) = inside.trouble {
                return problem(
                    status,
                    if status == 429 { "rateLimited" } else { "serverInternal" },
                );
            }
            if let Some(hook) = &mut inside.before_download {
                hook();
            }
            let body = inside.certificates.get(&number)?.clone();
            Some(Reply { status: 200, fields: String::new(), body })
        }
        "renewal" => match &inside.window {
            Some(window) => reply(200, window),
            None => problem(404, "malformed"),
        },
        _ => problem(404, "malformed"),
    }
}

fn located(mut reply: Reply, location: &str) -> Option<Reply> {
    reply.fields = format!("Location: {location}\r\n");
    Some(reply)
}

impl Inside {
    fn new_order(&mut self, payload: &Value, url: &impl Fn(&str) -> String) -> Option<Reply> {
        let number = self.orders.len();
        self.orders.push(payload.clone());
        match self.trouble {
            Trouble::AlreadyReplaced if payload["replaces"].is_string() => {
                problem(409, "alreadyReplaced")
            }
            Trouble::Page(status) => Some(Reply {
                status,
                fields: "Content-Type: text/html\r\n".to_owned(),
                body: "<h1>Sorry</h1>".to_owned(),
            }),
            Trouble::NoAccount => problem(400, "accountDoesNotExist"),
            Trouble::RateLimited(seconds) => {
                let mut reply = problem(429, "rateLimited")?;
                reply.fields = format!("Retry-After: {seconds}\r\n");
                Some(reply)
            }
            _ => located(reply(201, &self.order(number, url))?, &url(&format!("order/{number}"))),
        }
    }

    fn order(&self, number: usize, url: &impl Fn(&str) -> String) -> Value {
        let asked = self.orders.get(number).cloned().unwrap_or_default();
        let status = match (self.certificates.contains_key(&number), self.trouble) {
            (true, _) => "valid",
            (false, Trouble::Unproved | Trouble::RefusesOrder) if self.proved => "invalid",
            (false, Trouble::Unproved | Trouble::RefusesOrder) => "pending",
            (false, Trouble::AsksAlready) if !self.counts.contains_key("order") => "pending",
            (false, _) => "ready",
        };
        let is_refused = status == "invalid" && self.trouble == Trouble::RefusesOrder;
        let error = is_refused.then(|| json!({ "type": "x", "detail": "CAA forbids it" }));
        json!({
            "error": error,
            "status": status, "identifiers": asked["identifiers"], "replaces": asked["replaces"],
            "authorizations": [url(&format!("authorization/{number}"))],
            "finalize": url(&format!("finalize/{number}")), "certificate": url(&format!("certificate/{number}")),
        })
    }

    fn authorization(&self, number: usize, url: &impl Fn(&str) -> String) -> Value {
        let status = match (self.proved, self.trouble) {
            (false, _) => "pending",
            (true, Trouble::RefusesOrder) => "valid",
            (true, _) => "invalid",
        };
        let first = if self.trouble == Trouble::AsksAlready { "processing" } else { status };
        let error = (status == "invalid")
            .then(|| json!({ "type": "x", "detail": "the token was not found" }));
        json!({
            "status": status, "identifier": self.orders[number]["identifiers"][0],
            "challenges": [{
                "type": "http-01", "url": url("challenge/0"), "token": "abc", "status": first, "error": error,
            }, {
                "type": "tls-alpn-01", "url": url("challenge/1"), "token": "abc", "status": status,
            }],
        })
    }
}

/// A certificate for the key of a request, which lives from some days to some days from today.
fn issue(request: &[u8], identifiers: &Value, (from, to): (i32, i32)) -> String {
    let names: Vec<String> = identifiers
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["value"].as_str().unwrap().to_owned())
        .collect();
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_identifier_method = KeyIdMethod::PreSpecified(vec![1, 2, 3]);
    let authority = rcgen::Issuer::new(authority, KeyPair::generate().unwrap());
    let mut params = CertificateParams::new(names).unwrap();
    params.use_authority_key_identifier_extension = true;
    let day = |days: i32| {
        let day = jiff::tz::Offset::UTC.to_datetime(jiff::Timestamp::now()).date();
        let day = day.saturating_add(jiff::Span::new().days(days));
        date_time_ymd(day.year().into(), day.month().unsigned_abs(), day.day().unsigned_abs())
    };
    (params.not_before, params.not_after) = (day(from), day(to));
    params.signed_by(&RequestedKey(public_key(request).to_vec()), &authority).unwrap().pem()
}

/// The point of a key on P-256: the last bytes of its description.
struct RequestedKey(Vec<u8>);

impl PublicKeyData for RequestedKey {
    fn der_bytes(&self) -> &[u8] {
        &self.0[self.0.len() - 65..]
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

/// The public key in a request: the third element in the first of the outer sequence (RFC 2986 section 4.1).
fn public_key(request: &[u8]) -> &[u8] {
    let (_, inside) = element(request);
    let (_, mut fields) = element(inside);
    for _ in 0..2 {
        let (whole, _) = element(fields);
        fields = &fields[whole.len()..];
    }
    element(fields).0
}

/// The first element, whole and its body.
fn element(bytes: &[u8]) -> (&[u8], &[u8]) {
    let long = usize::from(bytes[1] & 0x7f) * usize::from(bytes[1] >= 0x80);
    let length = match long {
        0 => usize::from(bytes[1]),
        _ => bytes[2..2 + long].iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
    };
    let start = 2 + long;
    (&bytes[..start + length], &bytes[start..start + length])
}
