//! The fetches of one scheduler, from a page's request to the outcome.
//!
//! Owns the running fetches, what they hold, and which of them a page reads at the moment. Exchanges and connections
//! are the client's, which the service hands its events to ([`PageFetches::exchanges`]).

use std::rc::Rc;

use ahash::HashMap;
use client::{ClientBounds, ExchangeFailure, ExchangeId, ExchangeNews, Held};
use config::FetchRules;
use metric::Histogram;
use runtime::clock::nanoseconds;
use runtime::service::ServiceContext;
use tls::Connector;

use super::asked::{FetchOwner, FetchRequest, ResponseDelivery};
use super::outcome::{FetchResult, FetchedAnswer, Got, Number};
use super::rules::Rules;
use super::share::Share;
use super::times::Times;
use super::trust::FetchTrust;
use crate::limits::{FETCH_BODY_SIZE, FETCH_HELD_BYTES};

/// A running fetch.
#[derive(Debug)]
struct Fetch {
    owner: FetchOwner,
    wanted: ResponseDelivery,
    reader: Reader,
    /// How long a piece may take.
    timeout_ns: u64,
    answer: FetchedAnswer,
    /// When it began; `None` once its server is timed.
    began_ns: Option<u64>,
    /// Bytes of its request and answer that count towards [`FETCH_HELD_BYTES`].
    held_bytes: usize,
}

/// The news for which the page waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Whole,
    Head,
    Piece,
    /// Nothing: the page does something else.
    Nothing,
}

/// The fetches of one scheduler.
#[derive(Debug, Default)]
pub struct PageFetches {
    exchanges: client::Client,
    share: Share,
    rules: Rc<Rules>,
    connector: Option<Connector>,
    /// Boxed because the table has up to twice as many places as entries.
    fetches: HashMap<Number, Box<Fetch>>,
    outcomes: Vec<FetchResult>,
    /// Exchanges with news that are no fetches.
    others: Vec<ExchangeId>,
    held_bytes: usize,
    times: Times,
}

impl PageFetches {
    /// The client that makes the requests, for the events of its connections and for names.
    pub fn exchanges(&mut self) -> &mut client::Client {
        &mut self.exchanges
    }

    /// Its counts.
    pub fn stats(&self) -> client::ClientStats {
        self.exchanges.stats()
    }

    /// Bytes that are held for an exchange.
    pub fn held(&self, exchange: ExchangeId) -> Held {
        self.exchanges.held(exchange)
    }

    /// Sets how many connections the scheduler may have. Fetches get a part of them; other exchanges are limited by
    /// the connections of their clients.
    pub fn set_connections(&mut self, connections: usize) {
        self.share.set_connections(connections);
        // A line at the client would be a second one, behind that of an upstream.
        let connections_per_origin = usize::MAX;
        self.exchanges.set_bounds(ClientBounds { exchanges: connections, connections_per_origin });
    }

    /// Sets which targets may be fetched from now on.
    pub fn set_rules(&mut self, rules: FetchRules) {
        self.rules = Rc::new(Rules::from(rules));
    }

    /// Sets which certificates are trusted and shown from now on. A running fetch and its connection keep theirs.
    pub fn set_trust(&mut self, trust: &FetchTrust) {
        self.connector = trust.connector().cloned();
    }

    /// Begins a fetch. Its outcome appears under the returned number.
    pub fn begin(&mut self, asked: &FetchRequest, now_ns: u64) -> Number {
        self.try_to_begin(asked, now_ns).unwrap_or_else(|failure| {
            let number = self.exchanges.number();
            self.outcomes.push((number, Err(failure)));
            number
        })
    }

    fn try_to_begin(
        &mut self,
        asked: &FetchRequest,
        now_ns: u64,
    ) -> Result<Number, ExchangeFailure> {
        let bytes = asked.url.len() + asked.fields.len() + asked.body.as_ref().map_or(0, Vec::len);
        if !self.share.has_room_for(asked, self.fetches.len())
            || self.held_bytes + bytes > FETCH_HELD_BYTES
        {
            return Err(ExchangeFailure::TooMany);
        }
        let request = asked.request(Rc::clone(&self.rules) as _, self.connector.clone())?;
        let number = self.exchanges.begin(request, now_ns)?;
        let fetch = Fetch {
            owner: asked.owner,
            wanted: asked.wanted,
            reader: if asked.wanted == ResponseDelivery::Whole {
                Reader::Whole
            } else {
                Reader::Head
            },
            timeout_ns: nanoseconds(asked.timeout),
            answer: FetchedAnswer::default(),
            began_ns: Some(now_ns),
            held_bytes: bytes,
        };
        self.held_bytes += bytes;
        self.share.add(asked);
        self.fetches.insert(number, Box::new(fetch));
        Ok(number)
    }

    /// The outcome of a fetch is no longer wanted: closes its connection.
    pub fn give_up(&mut self, number: Number) {
        self.exchanges.cancel(number);
        if !self.forget(number) {
            self.outcomes.retain(|(of, _)| *of != number);
        }
    }

    /// The page wants the next piece of an answer.
    pub fn read_on(&mut self, number: Number, now_ns: u64) {
        let Some(fetch) = self.fetches.get_mut(&number) else { return };
        fetch.reader = Reader::Piece;
        self.exchanges.limit(number, now_ns.saturating_add(fetch.timeout_ns));
        self.hear(number, now_ns);
    }

    /// Ends fetches that took too long, and returns the outcomes since the last call.
    pub fn outcomes(&mut self, now_ns: u64) -> Vec<FetchResult> {
        self.hear_all(now_ns);
        std::mem::take(&mut self.outcomes)
    }

    /// Exchanges of the service with news that are no fetches.
    pub fn take_heard_of_others(&mut self, now_ns: u64) -> Vec<ExchangeId> {
        self.hear_all(now_ns);
        std::mem::take(&mut self.others)
    }

    fn hear_all(&mut self, now_ns: u64) {
        for number in self.exchanges.heard(now_ns) {
            if self.fetches.contains_key(&number) {
                self.hear(number, now_ns);
            } else {
                self.others.push(number);
            }
        }
    }

    /// At the end of a turn: sends the requests to the scheduler.
    pub fn end_turn<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        if !self.outcomes.is_empty() {
            context.wake_at_ns(context.now.monotonic_ns);
        }
        self.exchanges.end_turn(context);
    }

    /// Takes what has arrived, as far as the page wants it.
    fn hear(&mut self, number: Number, now_ns: u64) {
        while let Some(fetch) = self.fetches.get(&number)
            && fetch.reader != Reader::Nothing
            && let Some(news) = self.exchanges.next(number, usize::MAX, now_ns)
        {
            if matches!(news, ExchangeNews::Head(_) | ExchangeNews::Failed(_)) {
                self.time(number, now_ns);
            }
            match self.take(number, news) {
                Ok(None) => {}
                Ok(Some(got)) => self.deliver(number, Ok(got)),
                Err(failure) => {
                    self.exchanges.cancel(number);
                    self.deliver(number, Err(failure));
                }
            }
        }
    }

    /// The server of a fetch has answered, or it has failed.
    fn time(&mut self, number: Number, now_ns: u64) {
        let Some(fetch) = self.fetches.get_mut(&number) else { return };
        let Some(origin) = self.exchanges.origin(number) else { return };
        if let Some(began_ns) = fetch.began_ns.take() {
            self.times.count(origin, now_ns.saturating_sub(began_ns));
        }
    }

    /// How long servers took for the heads of their answers, in ticks of [`runtime::account::ticks_since`].
    pub fn times(&self) -> impl Iterator<Item = (String, &Histogram)> {
        self.times.each()
    }

    /// The meaning of one piece of news for the page; `None`: nothing yet.
    fn take(&mut self, number: Number, news: ExchangeNews) -> Result<Option<Got>, ExchangeFailure> {
        let Some(fetch) = self.fetches.get_mut(&number) else { return Ok(None) };
        match news {
            // Pages get no trailers, and send no body piece by piece.
            ExchangeNews::Interim(_) | ExchangeNews::Trailers(_) | ExchangeNews::Room => Ok(None),
            ExchangeNews::Head(head) if fetch.reader == Reader::Head => {
                Ok(Some(Got::Head(FetchedAnswer::of(&head))))
            }
            ExchangeNews::Head(head) => {
                fetch.answer = FetchedAnswer::of(&head);
                Ok(None)
            }
            ExchangeNews::Body(piece) if fetch.reader == Reader::Piece => {
                Ok(Some(Got::Piece(piece)))
            }
            ExchangeNews::Body(piece) => {
                if fetch.answer.body.len() + piece.len() > FETCH_BODY_SIZE {
                    return Err(ExchangeFailure::AnswerTooLong(FETCH_BODY_SIZE));
                }
                if self.held_bytes + piece.len() > FETCH_HELD_BYTES {
                    return Err(ExchangeFailure::TooMany);
                }
                self.held_bytes += piece.len();
                fetch.held_bytes += piece.len();
                if fetch.answer.body.is_empty() {
                    fetch.answer.body = piece;
                } else {
                    fetch.answer.body.extend_from_slice(&piece);
                }
                Ok(None)
            }
            ExchangeNews::End if fetch.reader == Reader::Whole => {
                Ok(Some(Got::Whole(std::mem::take(&mut fetch.answer))))
            }
            ExchangeNews::End => Ok(Some(Got::End)),
            ExchangeNews::Failed(failure) => Err(failure),
        }
    }

    fn deliver(&mut self, number: Number, result: Result<Got, ExchangeFailure>) {
        match result {
            Ok(Got::Head(_) | Got::Piece(_)) => {
                self.exchanges.limit(number, u64::MAX);
                if let Some(fetch) = self.fetches.get_mut(&number) {
                    fetch.reader = Reader::Nothing;
                }
            }
            Ok(Got::Whole(_) | Got::End) | Err(_) => _ = self.forget(number),
        }
        self.outcomes.push((number, result));
    }

    /// Gives back what a fetch has used. Returns whether it was running.
    fn forget(&mut self, number: Number) -> bool {
        let Some(fetch) = self.fetches.remove(&number) else { return false };
        self.held_bytes -= fetch.held_bytes;
        self.share.remove(fetch.owner, fetch.wanted);
        true
    }
}
