//! Leases: of all nodes, one at a time does what a name stands for.
//!
//! A lease is the last message of a subject in a stream. A node takes it or renews it by adding a message on the
//! condition that the last one is that which it has seen, so of two nodes that try, one fails. Its holder lets go
//! [`LEASE_HELD_MS`] after it *sent* the last renewal that was confirmed; another takes it that has *seen* no renewal
//! for [`LEASE_FREE_MS`], which is later. Clocks need not agree, only run equally fast.
//! Owns the leases of one link. Never does what a name stands for, and knows no connection; time is an argument.

use std::collections::BTreeMap;

use wire::nats::{NatsHeaders, put_first_line, put_header};

use crate::limits::{LEASE_FREE_MS, LEASE_HELD_MS, LEASE_LOOK_MS, STREAM_ANSWER_MS};
use crate::speech::{Request, Speech};
use crate::stream_forms::AddedForm;
use crate::subjects::Subjects;

/// The text of a lease that its holder has given back.
const GIVEN_BACK: &[u8] = b"free";

/// The holder of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseHolder {
    /// This link: until its time is over, no other has it.
    ThisLink,
    /// Another link, which was seen to renew it.
    Another,
    /// None that is known.
    Unknown,
}

/// The last message of a lease, as far as this node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// Its number; 0: there is none.
    number: u64,
    since_ms: u64,
}

/// The request that waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Nothing,
    Look { request: u64, sent_ms: u64 },
    Take { request: u64, sent_ms: u64 },
}

#[derive(Debug)]
struct Lease {
    seen: Option<Seen>,
    /// It may be taken now: it was given back, or is this node's.
    is_ours_to_take: bool,
    /// Another has renewed it since this link wants it. A message that was there before may be of one that has ended.
    is_renewed: bool,
    held_until_ms: u64,
    asked: Asked,
    due_ms: u64,
    /// The number of its requests, so that an answer finds it.
    number: u64,
}

/// A lease that is not wanted any more, and was asked for before: whether it is had will be answered.
#[derive(Debug)]
struct Leaving {
    name: String,
    request: u64,
    until_ms: u64,
    /// The message that made it this link's before.
    behind: Option<u64>,
}

/// The leases that a link wants.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    wanted: BTreeMap<String, Lease>,
    leaving: Vec<Leaving>,
    last: u64,
    /// The text of a message of this holder.
    holder: String,
}

impl Leases {
    /// Those of the holder with this name, which no other has.
    pub(crate) fn of(holder: String) -> Self {
        Self { holder, ..Self::default() }
    }

    /// From now on these are wanted, and no others. Those that are held and not wanted any more are given back.
    pub(crate) fn want(
        &mut self,
        names: &[String],
        speech: &mut Speech,
        subjects: &Subjects,
        now_ms: u64,
    ) {
        let before = std::mem::take(&mut self.wanted);
        for (name, lease) in before {
            let held = lease.seen.filter(|_| now_ms < lease.held_until_ms);
            let behind = held.map(|seen| seen.number);
            if names.contains(&name) {
                self.wanted.insert(name, lease);
            } else {
                match (lease.asked, behind) {
                    // After a connection was lost, a look tells which renewal was the last.
                    (Asked::Look { .. }, _) if now_ms >= lease.held_until_ms => {}
                    (Asked::Take { request, sent_ms } | Asked::Look { request, sent_ms }, _) => {
                        let until_ms = sent_ms + STREAM_ANSWER_MS;
                        self.leaving.push(Leaving { name, request, until_ms, behind });
                    }
                    (Asked::Nothing, Some(behind)) => give_back(&name, behind, speech, subjects),
                    (Asked::Nothing, None) => {}
                }
            }
        }
        // A lease that is wanted again is found to be this link's by a look.
        self.leaving.retain(|leaving| !names.contains(&leaving.name));
        for name in names {
            self.last += 1;
            self.wanted.entry(name.clone()).or_insert(Lease {
                seen: None,
                is_ours_to_take: false,
                is_renewed: false,
                held_until_ms: 0,
                asked: Asked::Nothing,
                due_ms: now_ms,
                number: self.last,
            });
        }
    }

    /// The link that may do what the name stands for.
    pub(crate) fn holder(&self, name: &str, now_ms: u64) -> LeaseHolder {
        match self.wanted.get(name) {
            Some(lease) if now_ms < lease.held_until_ms => LeaseHolder::ThisLink,
            Some(lease) if lease.is_renewed => LeaseHolder::Another,
            _ => LeaseHolder::Unknown,
        }
    }

    /// Lets go of those whose time is over.
    pub(crate) fn let_go(&mut self, now_ms: u64) {
        for lease in self.wanted.values_mut() {
            if lease.held_until_ms <= now_ms {
                lease.held_until_ms = 0;
            }
        }
    }

    /// When the next one ends that is held, connected or not.
    pub(crate) fn next_end_ms(&self) -> Option<u64> {
        self.wanted.values().map(|lease| lease.held_until_ms).filter(|until_ms| *until_ms > 0).min()
    }

    /// The connection is lost, and with it all answers. A lease that this node holds stays held until its time.
    pub(crate) fn forget_asked(&mut self) {
        self.leaving.clear();
        for lease in self.wanted.values_mut() {
            lease.asked = Asked::Nothing;
            // A renewal may have been added whose answer was lost: a look tells.
            lease.due_ms = 0;
            if lease.held_until_ms > 0 {
                lease.seen = None;
            }
        }
    }

    /// Asks what is due. `is_known`: whether a stream is there.
    pub(crate) fn ask(
        &mut self,
        speech: &mut Speech,
        subjects: &Subjects,
        is_known: impl Fn(u16) -> bool,
        now_ms: u64,
    ) {
        for late in self.leaving.extract_if(.., |leaving| leaving.until_ms <= now_ms) {
            speech.close(late.request);
            // If it was added all the same, this is not.
            if let Some(behind) = late.behind {
                give_back(&late.name, behind, speech, subjects);
            }
        }
        for (name, lease) in &mut self.wanted {
            lease.give_up_late(speech, now_ms);
            if lease.asked != Asked::Nothing || now_ms < lease.due_ms {
                continue;
            }
            let shard = subjects.shard(name);
            if !is_known(shard) {
                lease.due_ms = now_ms + LEASE_LOOK_MS;
                continue;
            }
            let to = Request::Lease(lease.number);
            lease.asked = match lease.number_to_follow(now_ms) {
                Some(number) => {
                    let (headers, holder) = (condition(number), self.holder.as_bytes());
                    let request = speech.request(&subjects.lease(name), &headers, holder, to);
                    Asked::Take { request, sent_ms: now_ms }
                }
                None => {
                    let subject = format!("$JS.API.DIRECT.GET.{}", subjects.stream(shard));
                    let wish = format!(r#"{{"last_by_subj":"{}"}}"#, subjects.lease(name));
                    let request = speech.request(&subject, b"", wish.as_bytes(), to);
                    Asked::Look { request, sent_ms: now_ms }
                }
            };
        }
    }

    /// The answer to a request.
    pub(crate) fn on_answer(
        &mut self,
        (lease, request): (u64, u64),
        (headers, payload): (NatsHeaders<'_>, &[u8]),
        (speech, subjects): (&mut Speech, &Subjects),
        now_ms: u64,
    ) {
        if let Some(at) = self.leaving.iter().position(|one| one.request == request) {
            let leaving = self.leaving.swap_remove(at);
            let is_own = payload == self.holder.as_bytes() && headers.status().is_none();
            let seen = headers.number("Nats-Sequence").filter(|_| is_own);
            if let Some(number) = added(headers, payload).or(seen) {
                give_back(&leaving.name, number, speech, subjects);
            }
            return;
        }
        let Some(lease) = self.wanted.values_mut().find(|one| one.number == lease) else { return };
        match lease.asked {
            Asked::Look { request: of, .. } if of == request => {
                lease.asked = Asked::Nothing;
                lease.due_ms = now_ms + LEASE_LOOK_MS;
                lease.on_look(headers, payload, self.holder.as_bytes(), now_ms);
            }
            Asked::Take { request: of, sent_ms } if of == request => {
                lease.asked = Asked::Nothing;
                if let Some(number) = added(headers, payload) {
                    lease.seen = Some(Seen { number, since_ms: now_ms });
                    lease.is_ours_to_take = true;
                    lease.held_until_ms = sent_ms + LEASE_HELD_MS;
                    lease.due_ms = sent_ms + LEASE_LOOK_MS;
                } else {
                    // Another was faster, or the stream has no leader: a look tells.
                    lease.seen = None;
                    lease.due_ms = now_ms + LEASE_LOOK_MS;
                }
            }
            _ => {}
        }
    }

    /// When something is to be asked.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        let leaving = self.leaving.iter().map(|leaving| leaving.until_ms);
        self.wanted.values().map(Lease::next_ms).chain(leaving).min()
    }

    /// Whether all that are not wanted any more were given back.
    pub(crate) fn are_settled(&self) -> bool {
        self.leaving.is_empty()
    }
}

impl Lease {
    fn next_ms(&self) -> u64 {
        match self.asked {
            Asked::Nothing => self.due_ms,
            Asked::Look { sent_ms, .. } | Asked::Take { sent_ms, .. } => sent_ms + STREAM_ANSWER_MS,
        }
    }

    fn give_up_late(&mut self, speech: &mut Speech, now_ms: u64) {
        if let Asked::Look { request, sent_ms } | Asked::Take { request, sent_ms } = self.asked
            && sent_ms + STREAM_ANSWER_MS <= now_ms
        {
            speech.close(request);
            self.asked = Asked::Nothing;
            self.seen = None;
            self.due_ms = now_ms;
        }
    }

    /// The number of the message behind which this node adds its own, if it may.
    fn number_to_follow(&self, now_ms: u64) -> Option<u64> {
        let seen = self.seen?;
        let is_free = self.is_ours_to_take || seen.since_ms + LEASE_FREE_MS <= now_ms;
        is_free.then_some(seen.number)
    }

    fn on_look(&mut self, headers: NatsHeaders<'_>, payload: &[u8], holder: &[u8], now_ms: u64) {
        let number = match headers.status() {
            Some(404) => 0,
            Some(_) => return,
            None => headers.number("Nats-Sequence").unwrap_or(0),
        };
        let before = self.seen.map(|seen| seen.number);
        if before != Some(number) {
            self.seen = Some(Seen { number, since_ms: now_ms });
        }
        self.is_ours_to_take = number > 0 && (payload == holder || payload == GIVEN_BACK);
        self.is_renewed = number > 0
            && !self.is_ours_to_take
            && (self.is_renewed || before.is_some_and(|before| before != number));
        if self.is_ours_to_take {
            self.due_ms = now_ms;
        } else {
            // Another has it, whatever this node has sent.
            self.held_until_ms = 0;
        }
    }
}

/// A lease is given back, if the last message of its subject has this number.
fn give_back(name: &str, number: u64, speech: &mut Speech, subjects: &Subjects) {
    let _said = speech.publish_with(&subjects.lease(name), &condition(number), GIVEN_BACK);
}

/// The number of a message that was added.
fn added(headers: NatsHeaders<'_>, payload: &[u8]) -> Option<u64> {
    let form: AddedForm = serde_json::from_slice(payload).unwrap_or_default();
    (form.seq > 0 && form.error.is_none() && headers.status().is_none()).then_some(form.seq)
}

/// The condition that the last message of the subject has this number.
fn condition(number: u64) -> Vec<u8> {
    let mut headers = Vec::with_capacity(64);
    put_first_line(&mut headers);
    put_header(&mut headers, "Nats-Expected-Last-Subject-Sequence", &number.to_string());
    headers.extend_from_slice(b"\r\n");
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: &str = "1.0";
    const NAME: &str = "clock";

    /// A lease that is wanted, with the answers of a server that the test writes.
    struct Stage {
        leases: Leases,
        speech: Speech,
        subjects: Subjects,
    }

    impl Stage {
        fn new() -> Self {
            let mut stage = Self {
                leases: Leases::of(MINE.to_owned()),
                speech: Speech::default(),
                subjects: Subjects::new("v", 1),
            };
            stage.want(&[NAME.to_owned()]);
            stage
        }

        fn want(&mut self, names: &[String]) {
            self.leases.want(names, &mut self.speech, &self.subjects, 0);
        }

        /// The request at this time: a word, and the number of the condition.
        fn asks(&mut self, now_ms: u64) -> String {
            self.leases.let_go(now_ms);
            self.leases.ask(&mut self.speech, &self.subjects, |_| true, now_ms);
            let said = String::from_utf8(self.speech.take(0)).unwrap();
            match said.split_once("Sequence: ") {
                Some((_, rest)) => format!("take behind {}", rest.lines().next().unwrap()),
                None if said.contains("last_by_subj") => "look".to_owned(),
                None => said,
            }
        }

        fn hears(&mut self, headers: &str, payload: &str, now_ms: u64) {
            let (number, asked) = match self.leases.wanted.get(NAME) {
                Some(lease) => (lease.number, lease.asked),
                None => panic!("it is not wanted"),
            };
            let request = match asked {
                Asked::Look { request, .. } | Asked::Take { request, .. } => request,
                Asked::Nothing => panic!("nothing was asked"),
            };
            self.hears_of((number, request), headers, payload, now_ms);
        }

        fn hears_of(&mut self, of: (u64, u64), headers: &str, payload: &str, now_ms: u64) {
            let answer = (NatsHeaders::new(headers.as_bytes()), payload.as_bytes());
            let with = (&mut self.speech, &self.subjects);
            self.leases.on_answer(of, answer, with, now_ms);
        }

        /// A lease that is held since this time, and whose renewal was sent 2 s later; the number of the request.
        fn renewing(now_ms: u64) -> (Self, (u64, u64)) {
            let mut stage = Self::new();
            stage.asks(now_ms);
            stage.hears(SEVENTH, "free", now_ms);
            stage.asks(now_ms);
            stage.hears("", r#"{"stream":"v-h-0","seq":8}"#, now_ms);
            assert_eq!(stage.asks(now_ms + 2_000), "take behind 8");
            let lease = &stage.leases.wanted[NAME];
            let Asked::Take { request, .. } = lease.asked else { panic!("it is being renewed") };
            let of = (lease.number, request);
            (stage, of)
        }

        fn is_held(&self, now_ms: u64) -> bool {
            self.leases.holder(NAME, now_ms) == LeaseHolder::ThisLink
        }
    }

    const SEVENTH: &str = "NATS/1.0\r\nNats-Sequence: 7\r\n\r\n";

    #[test]
    fn a_lease_of_another_is_taken_when_no_renewal_was_seen_for_long_enough() {
        let mut stage = Stage::new();
        assert_eq!(stage.asks(0), "look");
        stage.hears(SEVENTH, "2.0", 10);
        for now_ms in (2_010..8_000).step_by(2_000) {
            assert_eq!(stage.asks(now_ms), "look");
            stage.hears(SEVENTH, "2.0", now_ms);
        }
        assert_eq!(stage.asks(8_010), "take behind 7");
        assert!(!stage.is_held(8_010), "not before it is confirmed");
        stage.hears("", r#"{"stream":"v-h-0","seq":9}"#, 8_500);
        assert!(stage.is_held(14_009));
        assert!(!stage.is_held(14_010), "counted from when it was sent");
        assert_eq!(stage.asks(10_010), "take behind 9");
        // Another has taken it meanwhile.
        stage.hears("", r#"{"error":{"code":400,"err_code":10071}}"#, 10_020);
        assert!(stage.is_held(14_009), "what was confirmed holds");
        assert_eq!(stage.asks(12_020), "look");
        stage.hears("NATS/1.0\r\nNats-Sequence: 10\r\n\r\n", "2.0", 12_021);
        assert!(!stage.is_held(12_021));
    }

    #[test]
    fn another_holds_a_lease_when_it_was_seen_to_renew_it() {
        let mut stage = Stage::new();
        let holder = |stage: &Stage, now_ms| stage.leases.holder(NAME, now_ms);
        stage.asks(0);
        stage.hears(SEVENTH, "2.0", 10);
        assert_eq!(holder(&stage, 10), LeaseHolder::Unknown, "it may have ended long ago");
        stage.asks(2_010);
        stage.hears("NATS/1.0\r\nNats-Sequence: 8\r\n\r\n", "2.0", 2_011);
        assert_eq!(holder(&stage, 2_011), LeaseHolder::Another);
        stage.asks(4_011);
        stage.hears("NATS/1.0\r\nNats-Sequence: 9\r\n\r\n", "free", 4_012);
        assert_eq!(holder(&stage, 4_012), LeaseHolder::Unknown);
        assert_eq!(stage.asks(4_012), "take behind 9");
        stage.hears("", r#"{"stream":"v-h-0","seq":10}"#, 4_013);
        assert_eq!(holder(&stage, 4_013), LeaseHolder::ThisLink);
    }

    #[test]
    fn a_lease_that_was_given_back_is_taken_at_once_and_one_that_is_not_wanted_is_given_back() {
        let mut stage = Stage::new();
        stage.asks(0);
        stage.hears(SEVENTH, "free", 10);
        assert_eq!(stage.asks(10), "take behind 7");
        stage.hears("", r#"{"stream":"v-h-0","seq":8}"#, 11);
        assert!(stage.is_held(11));
        stage.want(&[]);
        assert_eq!(stage.asks(12), "take behind 8", "with the text of one that is free");
        assert!(!stage.is_held(12));
    }

    #[test]
    fn a_lease_is_given_back_behind_the_renewal_that_was_under_way() {
        let (mut stage, renewal) = Stage::renewing(0);
        stage.want(&[]);
        assert_eq!(stage.asks(2_001), "", "its number is not known yet");
        assert!(!stage.leases.are_settled());
        stage.hears_of(renewal, "", r#"{"stream":"v-h-0","seq":9}"#, 2_010);
        assert_eq!(stage.asks(2_011), "take behind 9", "with the text of one that is free");
        assert!(stage.leases.are_settled() && stage.leases.next_due_ms().is_none());

        // A renewal that was not added leaves nothing to give back: another has it.
        let (mut stage, renewal) = Stage::renewing(0);
        stage.want(&[]);
        stage.hears_of(renewal, "", r#"{"error":{"code":400,"err_code":10071}}"#, 2_010);
        assert_eq!(stage.asks(2_011), "");
        assert!(stage.leases.are_settled());

        // Without an answer it was perhaps not added.
        let (mut stage, _) = Stage::renewing(0);
        stage.want(&[]);
        assert_eq!(stage.leases.next_due_ms(), Some(4_000));
        assert_eq!(stage.asks(4_000), "take behind 8", "with the text of one that is free");
        assert!(stage.leases.are_settled());

        // Behind a connection that was lost, a look tells.
        let (mut stage, _) = Stage::renewing(0);
        stage.leases.forget_asked();
        assert_eq!(stage.asks(2_100), "look");
        let lease = &stage.leases.wanted[NAME];
        let Asked::Look { request, .. } = lease.asked else { panic!("it is looked at") };
        let look = (lease.number, request);
        stage.want(&[]);
        stage.hears_of(look, "NATS/1.0\r\nNats-Sequence: 9\r\n\r\n", MINE, 2_110);
        assert_eq!(stage.asks(2_111), "take behind 9", "with the text of one that is free");
    }

    #[test]
    fn a_lease_that_is_wanted_again_during_its_renewal_is_kept() {
        let (mut stage, renewal) = Stage::renewing(0);
        stage.want(&[]);
        stage.want(&[NAME.to_owned()]);
        assert_eq!(stage.asks(2_001), "look");
        stage.hears_of(renewal, "", r#"{"stream":"v-h-0","seq":9}"#, 2_010);
        stage.hears("NATS/1.0\r\nNats-Sequence: 9\r\n\r\n", MINE, 2_010);
        assert_eq!(stage.asks(2_010), "take behind 9", "it is renewed");
    }

    #[test]
    fn a_renewal_whose_answer_is_lost_does_not_lose_the_lease() {
        let mut stage = Stage::new();
        stage.asks(0);
        stage.hears("NATS/1.0 404 Message Not Found\r\n\r\n", "", 0);
        assert_eq!(stage.asks(8_000), "take behind 0");
        stage.hears("", r#"{"stream":"v-h-0","seq":1}"#, 8_000);
        assert_eq!(stage.asks(10_000), "take behind 1");
        stage.leases.forget_asked();
        assert!(stage.is_held(13_999), "without a connection, until its time");
        assert_eq!(stage.asks(10_100), "look");
        stage.hears("NATS/1.0\r\nNats-Sequence: 2\r\n\r\n", MINE, 10_101);
        assert_eq!(stage.asks(10_101), "take behind 2");
        stage.hears("", r#"{"stream":"v-h-0","seq":3}"#, 10_102);
        assert!(stage.is_held(16_100));
        // An answer that does not come is not waited for.
        assert_eq!(stage.asks(12_101), "take behind 3");
        assert_eq!(stage.asks(14_101), "look");
    }
}
