//! Requests to a key/value store: keys, values, and their encoding in the dialects of stores.
//!
//! Owns the form of keys and values, which is the same for every store, so that an answer can be
//! checked: a key is `key:` and twelve digits, as in redis-benchmark, and its value begins with
//! these digits. Never reads an answer.

use wire::http::url::Scheme;

use super::address::{Ownership, resolve};
use super::aim::{Aim, AimError};
use super::key::{KeyDistribution, KeyError};
use super::request::AnswerBody;
use super::template::{RequestTemplate, RequestTemplateError};
use super::url::{LoadUrl, ServerPlace};
use super::{LoadTarget, TargetServer};

/// Digits of the number in a key.
pub(crate) const KEY_DIGITS: usize = 12;

/// The byte with which values are padded.
pub(crate) const FILLER: u8 = b'x';

/// The protocol of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Redis, RESP2 (<https://redis.io/docs/latest/develop/reference/protocol-spec/>).
    #[default]
    Resp,
    /// memcached's text protocol (<https://github.com/memcached/memcached/blob/master/doc/protocol.txt>).
    Memcached,
}

impl Dialect {
    /// The scheme in a URL: with an `s` at its end if it is encrypted.
    pub fn scheme(self, scheme: Scheme) -> &'static str {
        match (self, scheme) {
            (Self::Resp, Scheme::Http) => "redis",
            (Self::Resp, Scheme::Https) => "rediss",
            (Self::Memcached, Scheme::Http) => "memcached",
            (Self::Memcached, Scheme::Https) => "memcacheds",
        }
    }
}

/// The part of a plan about the answers of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorePlan {
    /// Its protocol.
    pub dialect: Dialect,
    /// Bytes of each value.
    pub value_size: usize,
    /// Which values are correct.
    pub values: RightValues,
}

/// Which values are correct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RightValues {
    /// The one that was written for the key.
    #[default]
    Own,
    /// Any.
    Any,
}

/// The requests to a store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreAsk {
    /// The keys, as in a template: `uniform:N`, `zipf:N:S` or `hot:N:HOT:SHARE`.
    pub keys: String,
    /// Bytes of each value.
    pub value_size: usize,
    /// Percent of the requests that write.
    pub sets: u32,
    /// Which values are correct.
    pub values: RightValues,
}

/// An error in the plan of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreAskError {
    /// Not the address of a store.
    #[error(
        "`{0}` is not the address of a store; write HOST:PORT, redis://HOST:PORT, \
         rediss://HOST:PORT or memcached://HOST:PORT"
    )]
    Address(String),
    /// Addresses of stores with different protocols, or encryption.
    #[error(
        "`{0}` has another protocol than the first address; measure one kind of store at a time"
    )]
    Mixed(String),
    /// The store may not be loaded, or cannot be found.
    #[error("{0}")]
    Aim(AimError),
    /// No keys.
    #[error("{0}")]
    Key(KeyError),
    /// Values too short for the number of their key.
    #[error(
        "values of {0} bytes have no room for the number of their key, by which they are \
         checked; say {KEY_DIGITS} at least"
    )]
    ValueSize(usize),
    /// More than 100 percent.
    #[error("{0} % of the requests cannot write; say 0 to 100")]
    Sets(u32),
    /// Too long.
    #[error("{0}")]
    Template(RequestTemplateError),
}

/// A store as a target.
#[derive(Clone, Debug)]
pub struct StoreAim {
    /// Reads and writes.
    pub aim: Aim,
    /// The part of a plan about its answers.
    pub store: StorePlan,
}

impl StoreAim {
    /// Parses addresses, looks them up and compiles the requests. Reads are spread over all addresses, and writes over
    /// all or to one of them, given as an index.
    ///
    /// # Errors
    /// The first error.
    pub fn at(
        texts: &[String],
        write_to: Option<usize>,
        ask: &StoreAsk,
        ownership: Ownership,
    ) -> Result<Self, StoreAskError> {
        let _checked: KeyDistribution = ask.keys.parse().map_err(StoreAskError::Key)?;
        let sets = Some(ask.sets).filter(|percent| *percent <= 100);
        let sets = sets.ok_or(StoreAskError::Sets(ask.sets))?;
        let key = format!("{{{{key:{}", ask.keys);
        // As many writes as if all addresses had some.
        let of_one = u32::try_from(texts.len()).unwrap_or(u32::MAX);
        let mut aim: Option<Self> = None;
        for (text, at) in texts.iter().zip(0..) {
            let sets = match write_to {
                None => sets,
                Some(only) if only == at => sets.saturating_mul(of_one),
                Some(_) => 0,
            };
            let kinds = [("GET", 100 - ask.sets, key.as_str()), ("SET", sets, key.as_str())];
            let kinds = kinds.into_iter().filter(|(_, weight, _)| *weight > 0);
            let one = Self::of(text, ask, kinds, ownership)?;
            match &mut aim {
                None => aim = Some(one),
                Some(aim) => aim.add(one, text)?,
            }
        }
        aim.ok_or_else(|| StoreAskError::Address(String::new()))
    }

    /// Another address.
    fn add(&mut self, mut one: Self, text: &str) -> Result<(), StoreAskError> {
        let name = |aim: &Aim| aim.peers.first().is_some_and(|peer| peer.server_name.is_some());
        if one.store.dialect != self.store.dialect || name(&one.aim) != name(&self.aim) {
            return Err(StoreAskError::Mixed(text.to_owned()));
        }
        // An address that gets neither reads nor writes has no connections.
        if one.aim.targets.is_empty() {
            return Ok(());
        }
        for target in &mut one.aim.targets {
            target.peer = self.aim.peers.len();
        }
        self.aim.targets.append(&mut one.aim.targets);
        self.aim.peers.append(&mut one.aim.peers);
        Ok(())
    }

    /// The same store, where each key is written once, in order.
    ///
    /// # Errors
    /// The first error.
    pub fn filling(
        text: &str,
        ask: &StoreAsk,
        ownership: Ownership,
    ) -> Result<Self, StoreAskError> {
        Self::of(text, ask, [("SET", 1, "{{counter")].into_iter(), ownership)
    }

    fn of<'k>(
        text: &str,
        ask: &StoreAsk,
        kinds: impl Iterator<Item = (&'static str, u32, &'k str)>,
        ownership: Ownership,
    ) -> Result<Self, StoreAskError> {
        if ask.value_size < KEY_DIGITS {
            return Err(StoreAskError::ValueSize(ask.value_size));
        }
        let (dialect, scheme, place) = place_of(text)?;
        let address = resolve(&place, ownership);
        let address = address.map_err(|error| StoreAskError::Aim(AimError::Address(error)))?;
        let mut targets = Vec::new();
        for (method, weight, key) in kinds {
            let template = request(dialect, method, key, ask.value_size);
            let request = template.map_err(StoreAskError::Template)?;
            targets.push(LoadTarget {
                url: LoadUrl {
                    scheme,
                    place: place.clone(),
                    path_and_query: format!("/{}", ask.keys),
                },
                method: method.to_owned(),
                peer: 0,
                weight,
                last_request: request.clone(),
                request,
                answer_body: if method == "GET" { AnswerBody::AsFramed } else { AnswerBody::Never },
            });
        }
        let weight = targets.iter().map(|target| u64::from(target.weight)).sum();
        let aim = Aim { targets, peers: vec![TargetServer { address, server_name: None, weight }] };
        let store = StorePlan { dialect, value_size: ask.value_size, values: ask.values };
        let aim = Self { aim, store };
        Ok(if scheme == Scheme::Https { aim.encrypted() } else { aim })
    }

    /// The same store over TLS.
    #[must_use]
    pub fn encrypted(mut self) -> Self {
        for target in &mut self.aim.targets {
            target.url.scheme = Scheme::Https;
            self.aim.peers[target.peer].server_name = target.url.server_name();
        }
        self
    }
}

fn place_of(text: &str) -> Result<(Dialect, Scheme, ServerPlace), StoreAskError> {
    let wrong = || StoreAskError::Address(text.to_owned());
    let (dialect, scheme, rest) = match text.split_once("://") {
        None => (Dialect::Resp, Scheme::Http, text),
        Some(("redis", rest)) => (Dialect::Resp, Scheme::Http, rest),
        Some(("rediss", rest)) => (Dialect::Resp, Scheme::Https, rest),
        Some(("memcached", rest)) => (Dialect::Memcached, Scheme::Http, rest),
        Some(("memcacheds", rest)) => (Dialect::Memcached, Scheme::Https, rest),
        Some(_) => return Err(wrong()),
    };
    let rest = rest.trim_end_matches('/');
    let has_port = rest.starts_with("unix:")
        || rest.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let url: LoadUrl = rest.parse().ok().filter(|_| has_port).ok_or_else(wrong)?;
    if url.path_and_query != "/" { Err(wrong()) } else { Ok((dialect, scheme, url.place)) }
}

/// A request for a key, which begins a place that varies.
fn request(
    dialect: Dialect,
    method: &str,
    key: &str,
    value_size: usize,
) -> Result<RequestTemplate, RequestTemplateError> {
    let key = format!("key:{key},{KEY_DIGITS}}}}}");
    let key_size = "key:".len() + KEY_DIGITS;
    let mut request = RequestTemplate::default();
    let text = match (dialect, method) {
        (Dialect::Resp, "GET") => format!("*2\r\n$3\r\nGET\r\n${key_size}\r\n{key}\r\n"),
        (Dialect::Resp, _) => format!(
            "*3\r\n$3\r\nSET\r\n${key_size}\r\n{key}\r\n${value_size}\r\n{{{{same,{KEY_DIGITS}}}}}"
        ),
        (Dialect::Memcached, "GET") => format!("get {key}\r\n"),
        (Dialect::Memcached, _) => {
            format!("set {key} 0 0 {value_size}\r\n{{{{same,{KEY_DIGITS}}}}}")
        }
    };
    request.add_text(&text)?;
    if method != "GET" {
        request.add_bytes(&vec![FILLER; value_size - KEY_DIGITS])?;
        request.add_bytes(b"\r\n")?;
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::super::template::TemplateState;
    use super::*;

    fn ask(keys: &str, value_size: usize, sets: u32) -> StoreAsk {
        StoreAsk { keys: keys.to_owned(), value_size, sets, values: RightValues::Own }
    }

    fn rendered(target: &LoadTarget, state: &mut TemplateState) -> String {
        let mut out = Vec::new();
        target.request.render(state, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn requests_are_what_stores_read_and_a_value_names_its_key() {
        let at = |text: &str, sets| {
            let texts = [text.to_owned()];
            StoreAim::at(&texts, None, &ask("uniform:1000", 15, sets), Ownership::Unsaid).unwrap()
        };
        let mut state = TemplateState::new(1, 0, 1);
        let both = at("127.0.0.1:6379", 25);
        let weights: Vec<u32> = both.aim.targets.iter().map(|target| target.weight).collect();
        assert_eq!((weights, both.aim.peers[0].weight), (vec![75, 25], 100));
        let get = rendered(&both.aim.targets[0], &mut state);
        let key = format!("key:{:012}", state.last_key());
        assert_eq!(get, format!("*2\r\n$3\r\nGET\r\n$16\r\n{key}\r\n"));
        let set = rendered(&both.aim.targets[1], &mut state);
        let number = format!("{:012}", state.last_key());
        let expected = format!("*3\r\n$3\r\nSET\r\n$16\r\nkey:{number}\r\n$15\r\n{number}xxx\r\n");
        assert_eq!(set, expected);
        let cache = at("memcached://127.0.0.1:11211/", 100);
        assert_eq!(
            cache.store,
            StorePlan { dialect: Dialect::Memcached, value_size: 15, values: RightValues::Own }
        );
        let set = rendered(&cache.aim.targets[0], &mut state);
        let number = format!("{:012}", state.last_key());
        assert_eq!(set, format!("set key:{number} 0 0 15\r\n{number}xxx\r\n"));
    }

    #[test]
    fn reads_go_to_all_addresses_and_writes_to_all_or_one() {
        let texts = ["127.0.0.1:1", "127.0.0.1:2"].map(str::to_owned);
        let shown = |write_to, sets| -> Vec<String> {
            let aim =
                StoreAim::at(&texts, write_to, &ask("uniform:9", 12, sets), Ownership::Unsaid);
            let aim = aim.unwrap().aim;
            let shown = |target: &LoadTarget| {
                let port = aim.peers[target.peer].address.tcp().unwrap().port();
                format!("{} {port} {}", target.method, target.weight)
            };
            aim.targets.iter().map(shown).collect()
        };
        assert_eq!(shown(None, 10), ["GET 1 90", "SET 1 10", "GET 2 90", "SET 2 10"]);
        assert_eq!(shown(Some(1), 10), ["GET 1 90", "GET 2 90", "SET 2 20"]);
        let mixed = ["127.0.0.1:1", "memcached://127.0.0.1:2"].map(str::to_owned);
        let error = StoreAim::at(&mixed, None, &ask("uniform:9", 12, 0), Ownership::Unsaid);
        assert!(error.unwrap_err().to_string().contains("one kind of store at a time"));
    }

    #[test]
    fn a_store_is_filled_with_each_key_once() {
        let filling = StoreAim::filling("127.0.0.1:1", &ask("zipf:9:1", 12, 0), Ownership::Unsaid);
        let target = &filling.unwrap().aim.targets[0];
        let mut keys: Vec<u64> = Vec::new();
        for thread in 0..2 {
            let mut state = TemplateState::new(1, thread, 2);
            for _ in 0..3 {
                let _request = rendered(target, &mut state);
                keys.push(state.last_key());
            }
        }
        keys.sort_unstable();
        assert_eq!(keys, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn invalid_plan_is_error_with_mend() {
        for (text, ask, expected) in [
            ("127.0.0.1", ask("uniform:9", 100, 0), "`127.0.0.1` is not the address of a store"),
            (
                "http://127.0.0.1:1",
                ask("uniform:9", 100, 0),
                "`http://127.0.0.1:1` is not the address",
            ),
            ("127.0.0.1:1/x", ask("uniform:9", 100, 0), "`127.0.0.1:1/x` is not the address"),
            ("127.0.0.1:1", ask("9", 100, 0), "`9` is not a distribution"),
            ("127.0.0.1:1", ask("uniform:9", 11, 0), "values of 11 bytes have no room"),
            ("127.0.0.1:1", ask("uniform:9", 100, 101), "101 % of the requests"),
            ("8.8.8.8:1", ask("uniform:9", 100, 0), "8.8.8.8:1 is outside this host"),
        ] {
            let error = StoreAim::at(&[text.to_owned()], None, &ask, Ownership::Unsaid);
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
