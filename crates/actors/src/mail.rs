//! The mail of the processes of one scheduler: their mailboxes, the names that lead to them, and the letters to and
//! from other schedulers.
//!
//! Owns all three, and which names are to be those of one process in the cluster. Never resumes a run: it says who gets
//! what.

use runtime::clock::nanoseconds;
use runtime::mailbox::{Endpoint, Mailbox};
use runtime::slots::ProcessId;

use crate::id::RunKey;
use crate::leased_names::{LeaseStanding, LeasedNames, NameNews};
use crate::letters::{Letter, LetterNumber, Outgoing, Undelivered};
use crate::limits::{LEASE_WORD, LETTER_WORD, NAMES_PER_PROCESS, PROCESS_NAME_SIZE};
use crate::mail_answer::{Handed, MailAnswer, MailMoment, MailOutcome, NamesHeard};
use crate::mailboxes::{Awaits, MailboxLoad, Mailboxes, Put, RegisteredName};
use crate::names::{Names, Naming, is_name};
use crate::process_name::{NameToken, ProcessName};
use crate::schedule::ProcessPlace;

// The error text below states these numbers.
const _: () = assert!(PROCESS_NAME_SIZE == 255 && NAMES_PER_PROCESS == 16);

const NO_NAME: MailAnswer =
    MailAnswer::Refused("a name has 1 to 255 bytes, no spaces, and no digit at its beginning");

/// The mail of one scheduler.
pub struct Mail {
    mailboxes: Mailboxes,
    names: Names,
    leased: LeasedNames,
    place: ProcessPlace,
    outgoing: Outgoing,
    /// The number of schedulers with processes, which are the first endpoints.
    schedulers: u16,
}

impl Mail {
    /// With a secret key for the names of its processes: random, and another one for each scheduler and start.
    pub fn new(key: [u8; 32], schedulers: u16) -> Self {
        Self {
            mailboxes: Mailboxes::new(key),
            names: Names::default(),
            leased: LeasedNames::default(),
            place: ProcessPlace::Server,
            outgoing: Outgoing::default(),
            schedulers,
        }
    }

    /// The server belongs to a cluster. One that does not has all names of its own.
    pub fn join_cluster(&mut self) {
        self.place = ProcessPlace::Cluster;
    }

    /// Opens a mailbox; `None` if there are too many.
    pub fn open(&mut self, owner: RunKey) -> Option<ProcessId> {
        self.mailboxes.open(owner)
    }

    /// Opens the mailbox of a process that begins, which is known by it; `None` if there are too many.
    pub fn open_spawned(&mut self) -> Option<ProcessId> {
        let mailbox = self.mailboxes.next_id();
        self.mailboxes.open(RunKey::Spawned(mailbox))
    }

    /// Its process has ended, so its names are released.
    pub fn close(&mut self, mailbox: ProcessId) {
        // A letter that was not sent is taken back with its sender, so no ended process has a letter here.
        let _nobody_is_told = self.give_up_word(mailbox);
        self.leased.end(mailbox);
        for name in self.mailboxes.close(mailbox) {
            self.release(name);
        }
    }

    fn release(&mut self, name: RegisteredName) {
        let home = self.names.home(name.text(), self.schedulers);
        let process = name.process();
        if home == process.endpoint() {
            self.names.free(name.text(), process);
        } else {
            self.outgoing.add(home, Letter::Free { name: name.into_text(), process });
        }
    }

    /// A name that the cluster does not give is not its process' on this server either.
    fn release_of(&mut self, mailbox: ProcessId, text: &str) {
        if let Some(name) = self.mailboxes.take_name(mailbox, text) {
            self.release(name);
        }
    }

    /// Its process continues under another key.
    pub fn set_owner(&mut self, mailbox: ProcessId, owner: RunKey) {
        self.mailboxes.set_owner(mailbox, owner);
    }

    /// How full it is.
    pub fn load(&self, mailbox: ProcessId) -> MailboxLoad {
        self.mailboxes.load(mailbox)
    }

    /// The names that its process has registered.
    pub fn names(&self, mailbox: ProcessId) -> impl Iterator<Item = &str> {
        self.mailboxes.names(mailbox).iter().map(RegisteredName::text)
    }

    /// The process whose mailbox was full last since this was last asked, and for how many messages one was.
    pub fn take_full(&mut self) -> Option<(RunKey, u64)> {
        self.mailboxes.take_full()
    }

    /// The oldest message; if there is none, its process waits for one from now on.
    pub fn receive(&mut self, mailbox: ProcessId) -> Option<Vec<u8>> {
        let message = self.mailboxes.take(mailbox);
        if message.is_none() {
            self.mailboxes.set_awaits(mailbox, Awaits::Message);
        }
        message
    }

    /// Its process waits for nothing from here: what arrives is kept.
    pub fn stop_awaiting(&mut self, mailbox: ProcessId) {
        self.mailboxes.set_awaits(mailbox, Awaits::Nothing);
    }

    /// A process continues without a result: one that waited for the receipt of its letter has waited long enough.
    pub fn give_up_word(&mut self, mailbox: ProcessId) -> Option<MailAnswer> {
        match self.mailboxes.awaits(mailbox) {
            Awaits::Word(number) => {
                self.outgoing.withdraw(number);
                Some(said_of(Err(Undelivered::Unheard)))
            }
            Awaits::Lease => {
                let name = self.leased.give_up(mailbox)?;
                self.release_of(mailbox, &name);
                Some(MailAnswer::Refused("the cluster does not answer"))
            }
            Awaits::Nothing | Awaits::Message => None,
        }
    }

    /// The name that leads to a mailbox from everywhere.
    pub fn name_of(&self, here: Endpoint, mailbox: ProcessId) -> ProcessName {
        let token = self.mailboxes.token(mailbox).expect("it was opened, and its process lives");
        ProcessName::new(here, mailbox, token)
    }

    /// Sends a message. Also returns who gets it, if that process waits for it here.
    pub fn send(
        &mut self,
        from: ProcessId,
        to: &[u8],
        message: Vec<u8>,
        moment: MailMoment,
    ) -> (MailOutcome, Option<Handed>) {
        let name = str::from_utf8(to).ok().and_then(|name| name.parse::<ProcessName>().ok());
        let put = match name {
            None => Err(Undelivered::Nobody),
            Some(name) if name.endpoint().0 >= self.schedulers => Err(Undelivered::Ended),
            Some(name) if name.endpoint() == moment.here => {
                self.put(name.mailbox(), name.token(), message)
            }
            Some(name) => {
                let (to, token) = (name.mailbox(), name.token());
                let letter = |number| Letter::Message { to, token, from, number, message };
                return (self.ask(name.endpoint(), from, letter, moment), None);
            }
        };
        match put {
            Ok(awaited) => (MailOutcome::Now(MailAnswer::Done), awaited),
            Err(undelivered) => (MailOutcome::Now(said_of(Err(undelivered))), None),
        }
    }

    /// Puts a message into the mailbox of its process. Returns who gets it, if that one waits for it.
    fn put(
        &mut self,
        to: ProcessId,
        token: NameToken,
        message: Vec<u8>,
    ) -> Result<Option<Handed>, Undelivered> {
        Ok(match self.mailboxes.put(to, token, message)? {
            Put::Awaited(owner, message) => {
                Some(Handed { owner, answer: MailAnswer::Text(message) })
            }
            Put::Kept => None,
        })
    }

    /// A process wants a name, in addition to those that it has.
    pub fn register(&mut self, mailbox: ProcessId, text: &[u8], moment: MailMoment) -> MailOutcome {
        let Some(text) = str::from_utf8(text).ok().filter(|text| is_name(text)) else {
            return MailOutcome::Now(NO_NAME);
        };
        let known = self.mailboxes.names(mailbox);
        if known.iter().any(|known| known.text() == text) {
            return MailOutcome::Now(MailAnswer::Done);
        }
        if known.len() >= NAMES_PER_PROCESS {
            return MailOutcome::Now(MailAnswer::Refused("a process has at most 16 names"));
        }
        let process = self.name_of(moment.here, mailbox);
        let home = self.names.home(text, self.schedulers);
        if home == moment.here {
            let naming = self.names.give(text, process);
            if naming == Naming::Given {
                self.mailboxes.add_name(mailbox, RegisteredName::new(text, process));
            }
            return MailOutcome::Now(told(naming));
        }
        // It is released with the process, whatever the answer: the home knows its owner.
        self.mailboxes.add_name(mailbox, RegisteredName::new(text, process));
        let letter = |number| Letter::Register { name: text.into(), process, number };
        self.ask(home, mailbox, letter, moment)
    }

    /// A process wants a name that it has registered for itself in the whole cluster.
    pub fn lease(&mut self, mailbox: ProcessId, text: &[u8], moment: MailMoment) -> MailOutcome {
        let known = str::from_utf8(text).ok();
        let known = known.filter(|text| self.names(mailbox).any(|known| known == *text));
        let Some(name) = known else { return MailOutcome::Now(NO_NAME) };
        if self.place == ProcessPlace::Server {
            return MailOutcome::Now(MailAnswer::Done);
        }
        match self.leased.want(name, mailbox) {
            Ok(true) => MailOutcome::Now(MailAnswer::Done),
            Ok(false) => {
                self.mailboxes.set_awaits(mailbox, Awaits::Lease);
                MailOutcome::Later { due_ns: moment.now_ns.saturating_add(nanoseconds(LEASE_WORD)) }
            }
            Err(why) => {
                self.release_of(mailbox, name);
                MailOutcome::Now(MailAnswer::Refused(why))
            }
        }
    }

    /// The leases of names that processes have or want.
    pub fn leases(&self) -> impl Iterator<Item = &str> {
        self.leased.leases()
    }

    /// The cluster says who has these leases now.
    pub fn hear_leases(&mut self, standing: impl Fn(&str) -> LeaseStanding) -> NamesHeard {
        let mut heard = NamesHeard::default();
        for news in self.leased.hear(standing) {
            match news {
                NameNews::Given(mailbox) => {
                    let owner = self.mailboxes.take_waiting(mailbox, Awaits::Lease);
                    let done = |owner| Handed { owner, answer: MailAnswer::Done };
                    heard.handed.extend(owner.map(done));
                }
                NameNews::Taken(mailbox, name) => {
                    let owner = self.mailboxes.take_waiting(mailbox, Awaits::Lease);
                    let taken = |owner| Handed { owner, answer: told(Naming::Taken) };
                    heard.handed.extend(owner.map(taken));
                    self.release_of(mailbox, &name);
                }
                NameNews::Lost(mailbox) => heard.ended.extend(self.mailboxes.owner(mailbox)),
            }
        }
        heard
    }

    /// A process asks which process has a name.
    pub fn whereis(&mut self, from: ProcessId, text: &[u8], moment: MailMoment) -> MailOutcome {
        let Some(name) = str::from_utf8(text).ok().filter(|text| is_name(text)) else {
            return MailOutcome::Now(told(Naming::Nobody));
        };
        let home = self.names.home(name, self.schedulers);
        if home == moment.here {
            return MailOutcome::Now(told(self.names.find(name)));
        }
        let letter = |number| Letter::Whereis { name: name.into(), from, number };
        self.ask(home, from, letter, moment)
    }

    /// Sends a letter whose receipt its process waits for.
    fn ask(
        &mut self,
        to: Endpoint,
        from: ProcessId,
        letter: impl FnOnce(LetterNumber) -> Letter,
        moment: MailMoment,
    ) -> MailOutcome {
        let number = self.outgoing.number();
        self.outgoing.add(to, letter(number));
        self.mailboxes.set_awaits(from, Awaits::Word(number));
        MailOutcome::Later { due_ns: moment.now_ns.saturating_add(nanoseconds(LETTER_WORD)) }
    }

    /// Whether a name is assigned by this scheduler.
    pub fn is_home(&self, name: &str, here: Endpoint) -> bool {
        self.names.home(name, self.schedulers) == here
    }

    /// A letter has arrived from another scheduler. Returns who gets something by it.
    pub fn take_letter(&mut self, from: Endpoint, letter: Letter) -> Option<Handed> {
        let (to, number, naming) = match letter {
            Letter::Message { to, token, from: sender, number, message } => {
                let put = self.put(to, token, message);
                let outcome = put.as_ref().map(|_| ()).map_err(|undelivered| *undelivered);
                self.outgoing.add(from, Letter::Receipt { to: sender, number, outcome });
                return put.ok().flatten();
            }
            Letter::Free { name, process } => {
                self.names.free(&name, process);
                return None;
            }
            Letter::Named { to, number, naming } => {
                let owner = self.mailboxes.take_waiting(to, Awaits::Word(number))?;
                if naming == Naming::Taken {
                    self.mailboxes.forget_last_name(to);
                }
                return Some(Handed { owner, answer: told(naming) });
            }
            Letter::Receipt { to, number, outcome } => {
                let owner = self.mailboxes.take_waiting(to, Awaits::Word(number))?;
                return Some(Handed { owner, answer: said_of(outcome) });
            }
            Letter::Register { name, process, number } => {
                (process.mailbox(), number, self.names.give(&name, process))
            }
            Letter::Whereis { name, from, number } => (from, number, self.names.find(&name)),
        };
        self.outgoing.add(from, Letter::Named { to, number, naming });
        None
    }

    /// The number of letters that wait to be sent.
    pub fn unsent(&self) -> usize {
        self.outgoing.len()
    }

    /// Sends what waits to be sent. Returns whether all has left.
    pub fn leave<M>(&mut self, mail: &mut Mailbox<M>) -> bool
    where
        M: Send + From<Box<Letter>> + TryInto<Box<Letter>>,
    {
        self.outgoing.leave(mail)
    }
}

/// The answer to the sender of a message.
fn said_of(outcome: Result<(), Undelivered>) -> MailAnswer {
    match outcome {
        Ok(()) => MailAnswer::Done,
        Err(undelivered) => MailAnswer::Refused(undelivered.as_str()),
    }
}

fn told(naming: Naming) -> MailAnswer {
    match naming {
        Naming::Given | Naming::Nobody => MailAnswer::Done,
        Naming::Taken => MailAnswer::Refused("another process has that name"),
        Naming::Is(process) => MailAnswer::Text(process.to_string().into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use runtime::mailbox::{EndpointRole, Waking, mesh};

    use super::*;

    /// Two schedulers and the mailboxes between them.
    struct Pair {
        mails: [Mail; 2],
        boxes: [Mailbox<Box<Letter>>; 2],
    }

    impl Pair {
        fn new() -> Self {
            let seats = mesh(&[EndpointRole::Scheduler; 2], Waking::Driven).unwrap();
            let mut boxes = seats.into_iter().map(|seat| seat.mailbox);
            let boxes = [boxes.next().unwrap(), boxes.next().unwrap()];
            Self { mails: [Mail::new([1; 32], 2), Mail::new([2; 32], 2)], boxes }
        }

        fn open(&mut self, scheduler: usize) -> ProcessId {
            self.mails[scheduler].open_spawned().unwrap()
        }

        fn name(&mut self, scheduler: usize, mailbox: ProcessId) -> String {
            self.mails[scheduler].name_of(at(scheduler).here, mailbox).to_string()
        }

        /// The letters of one scheduler arrive at the other. Returns who gets something by them.
        fn carry(&mut self, from: usize) -> Vec<Handed> {
            assert!(self.mails[from].leave(&mut self.boxes[from]));
            let (mail, mailbox) = (&mut self.mails[1 - from], &mut self.boxes[1 - from]);
            let arrived = std::iter::from_fn(|| mailbox.take());
            arrived.filter_map(|(sender, letter)| mail.take_letter(sender, *letter)).collect()
        }

        /// A name whose home is this scheduler.
        fn name_of_home(&self, scheduler: usize) -> String {
            let mut names = (0..).map(|number| format!("name-{number}"));
            let here = at(scheduler).here;
            names.find(|name| self.mails[0].is_home(name, here)).unwrap()
        }
    }

    fn at(scheduler: usize) -> MailMoment {
        MailMoment { here: Endpoint(scheduler as u16), now_ns: 0 }
    }

    fn text(text: &str) -> MailAnswer {
        MailAnswer::Text(text.as_bytes().to_vec())
    }

    fn is_asked(outcome: &MailOutcome) -> bool {
        *outcome == MailOutcome::Later { due_ns: nanoseconds(LETTER_WORD) }
    }

    #[test]
    fn a_message_to_another_scheduler_is_received_once() {
        let mut pair = Pair::new();
        let (from, to) = (pair.open(0), pair.open(1));
        let name = pair.name(1, to);
        assert_eq!(pair.mails[1].receive(to), None);
        let (outcome, here) = pair.mails[0].send(from, name.as_bytes(), b"1".to_vec(), at(0));
        assert!(is_asked(&outcome) && here.is_none());
        assert_eq!(pair.carry(0), [Handed { owner: RunKey::Spawned(to), answer: text("1") }]);
        let receipt = Handed { owner: RunKey::Spawned(from), answer: MailAnswer::Done };
        assert_eq!(pair.carry(1), [receipt]);
        assert_eq!((pair.carry(0), pair.mails[1].receive(to)), (Vec::new(), None));
    }

    #[test]
    fn a_name_in_the_cluster_is_waited_for_and_one_that_is_not_given_is_free_again() {
        let mut pair = Pair::new();
        let [first, second] = [(); 2].map(|()| pair.open(0));
        let names = [0, 0].map(|_| pair.name_of_home(0));
        let (name, mail) = (names[0].as_bytes(), &mut pair.mails[0]);
        mail.join_cluster();
        assert_eq!(mail.lease(first, name, at(0)), MailOutcome::Now(NO_NAME), "not its own");
        let due_ns = nanoseconds(LEASE_WORD);
        let register = |mail: &mut Mail, mailbox| mail.register(mailbox, name, at(0));
        let done = MailOutcome::Now(MailAnswer::Done);
        for (standing, answer) in
            [(LeaseStanding::Others, told(Naming::Taken)), (LeaseStanding::Ours, MailAnswer::Done)]
        {
            assert_eq!(register(mail, first), done);
            assert_eq!(mail.lease(first, name, at(0)), MailOutcome::Later { due_ns });
            assert_eq!(mail.leases().count(), 1);
            let handed = vec![Handed { owner: RunKey::Spawned(first), answer }];
            let heard = NamesHeard { handed, ended: Vec::new() };
            assert_eq!(mail.hear_leases(|_| standing), heard);
        }
        assert_eq!(register(mail, second), MailOutcome::Now(told(Naming::Taken)));
        assert_eq!(mail.lease(first, name, at(0)), done, "it has it");
        let ended = vec![RunKey::Spawned(first)];
        let heard = NamesHeard { handed: Vec::new(), ended };
        assert_eq!(mail.hear_leases(|_| LeaseStanding::Unknown), heard);
        mail.close(first);
        assert_eq!(register(mail, second), done);
        assert_eq!(mail.lease(second, name, at(0)), MailOutcome::Later { due_ns });
        let silent = MailAnswer::Refused("the cluster does not answer");
        assert_eq!(mail.give_up_word(second), Some(silent));
        assert_eq!((mail.leases().count(), mail.names(second).count()), (0, 0));
    }

    #[test]
    fn a_server_without_a_cluster_has_all_names() {
        let mut pair = Pair::new();
        let (mailbox, name) = (pair.open(0), pair.name_of_home(0));
        let (name, mail) = (name.as_bytes(), &mut pair.mails[0]);
        let done = MailOutcome::Now(MailAnswer::Done);
        assert_eq!(mail.register(mailbox, name, at(0)), done);
        assert_eq!(mail.lease(mailbox, name, at(0)), done);
    }

    #[test]
    fn late_receipt_is_not_that_of_the_next_letter() {
        let mut pair = Pair::new();
        let (from, to) = (pair.open(0), pair.open(1));
        let name = pair.name(1, to);
        let send = |pair: &mut Pair| {
            let (outcome, _) = pair.mails[0].send(from, name.as_bytes(), Vec::new(), at(0));
            assert!(is_asked(&outcome));
        };
        send(&mut pair);
        assert_eq!(pair.carry(0), []);
        let unheard = MailAnswer::Refused(Undelivered::Unheard.as_str());
        assert_eq!(pair.mails[0].give_up_word(from), Some(unheard));
        send(&mut pair);
        assert_eq!(pair.carry(1), [], "the receipt for the first");
        assert_eq!(pair.carry(0), []);
        let receipt = Handed { owner: RunKey::Spawned(from), answer: MailAnswer::Done };
        assert_eq!(pair.carry(1), [receipt]);
    }

    #[test]
    fn letter_of_ended_sender_is_not_sent() {
        let mut pair = Pair::new();
        let (from, to) = (pair.open(0), pair.open(1));
        let name = pair.name(1, to);
        let _asked = pair.mails[0].send(from, name.as_bytes(), Vec::new(), at(0));
        assert_eq!(pair.mails[0].unsent(), 1);
        pair.mails[0].close(from);
        assert_eq!(pair.mails[0].unsent(), 0);
    }

    #[test]
    fn a_name_belongs_to_one_process_until_it_ends_wherever_its_home_is() {
        for home in 0..2 {
            let mut pair = Pair::new();
            let name = pair.name_of_home(home);
            let (first, second) = (pair.open(0), pair.open(0));
            let register = |pair: &mut Pair, mailbox| {
                let outcome = pair.mails[0].register(mailbox, name.as_bytes(), at(0));
                answer(pair, outcome)
            };
            assert_eq!(register(&mut pair, first), MailAnswer::Done);
            assert_eq!(register(&mut pair, first), MailAnswer::Done, "again");
            let taken = MailAnswer::Refused("another process has that name");
            assert_eq!(register(&mut pair, second), taken);
            assert_eq!(pair.mails[0].names(first).collect::<Vec<_>>(), [&*name]);
            assert_eq!(pair.mails[0].names(second).count(), 0);
            let found = text(&pair.name(0, first));
            assert_eq!(whereis(&mut pair, second, &name), found);
            pair.mails[0].close(first);
            assert_eq!(whereis(&mut pair, second, &name), MailAnswer::Done, "nobody has it");
            assert_eq!(register(&mut pair, second), MailAnswer::Done);
        }
    }

    #[test]
    fn name_requested_of_a_silent_scheduler_is_released_with_its_process() {
        let mut pair = Pair::new();
        let name = pair.name_of_home(1);
        let (first, second) = (pair.open(0), pair.open(0));
        assert!(is_asked(&pair.mails[0].register(first, name.as_bytes(), at(0))));
        assert!(pair.mails[0].give_up_word(first).is_some());
        pair.mails[0].close(first);
        assert_eq!(whereis(&mut pair, second, &name), MailAnswer::Done, "nobody has it");
    }

    #[test]
    fn a_process_has_so_many_names_and_no_more() {
        let mut pair = Pair::new();
        let mailbox = pair.open(0);
        let mut register = |name: &str| {
            let outcome = pair.mails[0].register(mailbox, name.as_bytes(), at(0));
            answer(&mut pair, outcome)
        };
        for number in 0..NAMES_PER_PROCESS {
            assert_eq!(register(&format!("name-{number}")), MailAnswer::Done);
        }
        assert_eq!(register("other"), MailAnswer::Refused("a process has at most 16 names"));
        assert_eq!(register("name-3"), MailAnswer::Done, "it has that one");
        assert_eq!(register("no name"), NO_NAME);
    }

    fn whereis(pair: &mut Pair, from: ProcessId, name: &str) -> MailAnswer {
        let outcome = pair.mails[0].whereis(from, name.as_bytes(), at(0));
        answer(pair, outcome)
    }

    /// The answer to a process of the first scheduler.
    fn answer(pair: &mut Pair, outcome: MailOutcome) -> MailAnswer {
        match outcome {
            MailOutcome::Now(answer) => answer,
            MailOutcome::Later { .. } => {
                assert_eq!(pair.carry(0), []);
                let [Handed { answer, .. }] = pair.carry(1).try_into().unwrap();
                answer
            }
        }
    }
}
