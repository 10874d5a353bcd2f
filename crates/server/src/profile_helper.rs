//! The profiler of the server: the thread that reads the samples of all threads, and makes profiles of them.
//!
//! Owns the continuous profile, if there is one, and the minutes that slow events have cut out of it. Without one it
//! sleeps until somebody asks for a profile. Finding the names of functions may take seconds, which no scheduler waits
//! for.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use live::Profile;
use profile::{Counted, KernelNames, Ring, Sampling, SymbolNames, refusal};
use runtime::clock::nanoseconds;
use runtime::helper::{HelperHandler, Onward, send_patiently};
use runtime::mailbox::Endpoint;
use sys::clock::monotonic_ns;

use crate::limits::{
    PROFILE_CUT_BYTES, PROFILE_CUT_HALF, PROFILE_CUTS, PROFILE_NOW_HERTZ, PROFILE_READ,
    PROFILE_RING_BYTES, PROFILE_RING_HERTZ, PROFILE_SEARCH,
};
use crate::message::{Mailbox, Message, ToControl};
use crate::profile_order::{NoProfile, ProfileAsk, ProfileCut, ProfileWish, Profiled, ToProfiler};

/// A second, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

/// The samples of a continuous profile, which were opened with the rights of the start.
pub(crate) struct Continuous {
    sampling: Sampling,
    span: Duration,
    kernel: Option<KernelNames>,
}

impl Continuous {
    /// Begins to sample all threads of this process.
    pub(crate) fn begin(span: Duration, kernel: Option<KernelNames>) -> io::Result<Self> {
        let sampling = Sampling::begin_small(std::process::id(), PROFILE_RING_HERTZ)?;
        Ok(Self { sampling, span, kernel })
    }
}

/// Samples that are being taken, and the ring in which they are kept.
struct Recording {
    sampling: Sampling,
    ring: Ring,
    hertz: u64,
    searched_ns: u64,
    /// `None`: its list is opened when names are wanted.
    kernel: Option<KernelNames>,
}

/// The minute around an event.
struct Minute {
    cut: ProfileCut,
    /// Its result, once it is over.
    counted: Option<Counted>,
}

/// Somebody waits while the server is sampled.
struct Waiting {
    recording: Recording,
    ask: Box<ProfileAsk>,
    from: Endpoint,
    begun_ns: u64,
    until_ns: u64,
}

/// The profiler.
pub(crate) struct ProfileHelper {
    continuous: Option<Recording>,
    minutes: VecDeque<Minute>,
    waiting: Option<Waiting>,
}

impl Recording {
    fn new(sampling: Sampling, span_ns: u64, hertz: u64) -> Self {
        let ring = Ring::new(span_ns, PROFILE_RING_BYTES);
        Self { sampling, ring, hertz, searched_ns: monotonic_ns(), kernel: None }
    }

    /// Reads the samples that there are.
    fn read(&mut self, now_ns: u64) {
        self.sampling.drain_into(&mut self.ring);
        if now_ns.saturating_sub(self.searched_ns) >= nanoseconds(PROFILE_SEARCH) {
            self.searched_ns = now_ns;
            // Threads that may not be sampled are missing, as those are that the start could not open.
            let _missing = self.sampling.find_threads();
        }
    }

    fn profile(&self, counted: &Counted, code: &str, title: &str) -> Profile {
        let mut remarks = self.sampling.taken().remarks.clone();
        let stacks = || counted.stacks().map(|(stack, _)| stack);
        let mut names = SymbolNames::find_by(stacks(), self.kernel.as_ref(), &mut remarks);
        names.add_map(code, stacks());
        let folded = names.fold(counted.stacks());
        let lost = self.sampling.taken().lost;
        if lost > 0 {
            remarks.push(format!("{lost} samples were lost since the server started to take them"));
        }
        if counted.left_out() > 0 {
            remarks.push(format!("{} samples of rare stacks were left out", counted.left_out()));
        }
        if folded.total() == 0.0 {
            remarks.push("no samples: the server was idle".to_owned());
        }
        let title = format!("velodrome ({}), {title} at {} Hz", std::process::id(), self.hertz);
        Profile { title, hertz: self.hertz, remarks, folded: folded.to_text() }
    }
}

impl ProfileHelper {
    /// A profiler, perhaps of a continuous profile.
    pub(crate) fn new(continuous: Option<Continuous>) -> Self {
        let continuous = continuous.map(|Continuous { sampling, span, kernel }| {
            let recording = Recording::new(sampling, nanoseconds(span), PROFILE_RING_HERTZ);
            Recording { kernel, ..recording }
        });
        Self { continuous, minutes: VecDeque::new(), waiting: None }
    }

    /// The answer to a question; `None`: it comes later.
    fn answer(
        &mut self,
        ask: Box<ProfileAsk>,
        from: Endpoint,
    ) -> Option<(u64, Result<Profile, NoProfile>)> {
        let number = ask.number;
        let now_ns = monotonic_ns();
        let Some(recording) = &mut self.continuous else {
            let ProfileWish::Seconds(seconds) = ask.wish else {
                return Some((number, Err(NoProfile::NoRing)));
            };
            return self.begin((ask, from), seconds, now_ns).err().map(|why| (number, Err(why)));
        };
        recording.read(now_ns);
        let profile = match ask.wish {
            ProfileWish::Last(seconds) | ProfileWish::Seconds(seconds) => {
                let from_ns = now_ns.saturating_sub(seconds.saturating_mul(SECOND_NS));
                let counted = recording.ring.between(from_ns, now_ns);
                let title = format!("the last {seconds} s");
                let mut profile = recording.profile(&counted, &ask.code, &title);
                let since_ns = recording.ring.since_ns().unwrap_or(from_ns);
                let without = since_ns.saturating_sub(from_ns) / SECOND_NS;
                if without > 1 {
                    profile.remarks.push(format!("its first {without} s have no samples"));
                }
                Ok(profile)
            }
            ProfileWish::Event(event) => {
                let found = self.minutes.iter().find(|minute| minute.cut.event == event);
                found.ok_or(NoProfile::NoEvent).map(|minute| {
                    let so_far = || recording.ring.between(minute.begun_ns(), now_ns);
                    let counted = minute.counted.clone().unwrap_or_else(so_far);
                    let title = format!("the minute around event {event}");
                    recording.profile(&counted, &ask.code, &title)
                })
            }
        };
        Some((number, profile))
    }

    /// Begins to sample a server that has no continuous profile.
    fn begin(
        &mut self,
        (ask, from): (Box<ProfileAsk>, Endpoint),
        seconds: u64,
        begun_ns: u64,
    ) -> Result<(), NoProfile> {
        if self.waiting.is_some() {
            return Err(NoProfile::Busy);
        }
        let sampling = Sampling::begin_small(std::process::id(), PROFILE_NOW_HERTZ)
            .map_err(|error| NoProfile::Refused(refusal(&error)))?;
        let recording = Recording::new(sampling, u64::MAX, PROFILE_NOW_HERTZ);
        let until_ns = begun_ns.saturating_add(seconds.saturating_mul(SECOND_NS));
        self.waiting = Some(Waiting { recording, ask, from, begun_ns, until_ns });
        Ok(())
    }

    /// Ends the sampling that somebody waits for, when its time is over.
    fn end_if_due(&mut self, now_ns: u64, mailbox: &mut Mailbox) {
        let Some(waiting) = self.waiting.take_if(|waiting| now_ns >= waiting.until_ns) else {
            return;
        };
        let Waiting { mut recording, ask, from, begun_ns, .. } = waiting;
        recording.read(now_ns);
        let counted = recording.ring.between(0, now_ns);
        let title = format!("{} s", now_ns.saturating_sub(begun_ns) / SECOND_NS);
        let profile = recording.profile(&counted, &ask.code, &title);
        send(mailbox, from, (ask.number, Ok(profile)));
    }

    fn keep(&mut self, cut: ProfileCut) {
        if self.minutes.len() >= PROFILE_CUTS {
            self.minutes.pop_front();
        }
        self.minutes.push_back(Minute { cut, counted: None });
    }
}

impl Minute {
    fn begun_ns(&self) -> u64 {
        self.cut.at_ns.saturating_sub(nanoseconds(PROFILE_CUT_HALF))
    }

    /// Takes its samples from the ring when it is over.
    fn cut_if_due(&mut self, ring: &Ring, now_ns: u64) {
        let until_ns = self.cut.at_ns.saturating_add(nanoseconds(PROFILE_CUT_HALF));
        if self.counted.is_none() && now_ns >= until_ns {
            self.counted = Some(ring.between(self.begun_ns(), until_ns).within(PROFILE_CUT_BYTES));
        }
    }
}

fn send(mailbox: &mut Mailbox, to: Endpoint, (number, answer): (u64, Result<Profile, NoProfile>)) {
    let profiled = ToControl::Profiled(Box::new(Profiled { number, answer }));
    // If there is no receiver, nobody waits any more.
    let _nobody_turns = send_patiently(mailbox, to, profiled.into());
}

impl HelperHandler<Message> for ProfileHelper {
    fn on_message(&mut self, from: Endpoint, message: Message, mailbox: &mut Mailbox) -> Onward {
        match message {
            Message::Profiler(ToProfiler::Ask(ask)) => {
                if let Some(answer) = self.answer(ask, from) {
                    send(mailbox, from, answer);
                }
            }
            Message::Profiler(ToProfiler::Cut(cut)) => self.keep(cut),
            _ => {}
        }
        Onward::Wait
    }

    fn on_rest(&mut self, mailbox: &mut Mailbox) -> Option<Duration> {
        let now_ns = monotonic_ns();
        if let Some(recording) = &mut self.continuous {
            recording.read(now_ns);
            self.minutes.iter_mut().for_each(|one| one.cut_if_due(&recording.ring, now_ns));
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.recording.read(now_ns);
            self.end_if_due(now_ns, mailbox);
        }
        let left_ns = self.waiting.as_ref().map(|one| one.until_ns.saturating_sub(now_ns));
        let left = left_ns.map(|left_ns| Duration::from_nanos(left_ns).min(PROFILE_READ));
        left.or(self.continuous.as_ref().map(|_| PROFILE_READ))
    }
}
