//! The users of tokens: their subscriptions, and those that a program disconnects.
//!
//! Owns presence and its events, and the processes of each user. An event is not a message: it has
//! no number and is not in the history.

use std::collections::BTreeMap;
use std::sync::Arc;

use ahash::{HashMap, HashSet};
use runtime::service::{SchedulerCommand, ServiceContext};
use runtime::slots::ProcessId;

use super::{Channels, Subscribed, Subscription};
use crate::channel::{Channel, Place};
use crate::format::Event;
use crate::letter::Item;
use crate::limits::MEMBERS_BYTES;
use crate::member::{Member, MemberStep, StepReach, Whereabouts};
use crate::outcome::ChannelRefusal;
use crate::ruled::Ruled;
use crate::rules::Presence;

/// The processes of each user, and those that will lose something.
#[derive(Debug, Default)]
pub(super) struct Users {
    /// Those of a user are run in their order.
    processes: HashMap<Arc<str>, BTreeMap<ProcessId, u32>>,
    dismissed: HashMap<ProcessId, Dismissal>,
    to_run: Vec<ProcessId>,
    /// Bytes of the members here, and of those known here because this is the home of their channel.
    bytes: usize,
}

impl Users {
    pub(super) fn held_bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn has_room(&self) -> bool {
        self.bytes <= MEMBERS_BYTES
    }
}

/// The subscriptions that a process loses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dismissal {
    /// Its connection.
    All,
    /// Its subscriptions to these channels.
    From(HashSet<Arc<str>>),
}

impl Channels {
    /// Whether there is room for a subscriber with presence.
    pub(super) fn check_member(&self, channel: Ruled<'_>) -> Result<(), ChannelRefusal> {
        if self.rulebook.rules_of(channel).presence == Presence::Off {
            return Ok(());
        }
        if !self.users.has_room() {
            return Err(ChannelRefusal::Full);
        }
        let home = usize::from(self.home(channel.name()).0);
        if self.outgoing[home].is_full() { Err(ChannelRefusal::Busy) } else { Ok(()) }
    }

    /// A user has subscribed.
    pub(super) fn add_user(&mut self, place: u32, process: ProcessId, member: &Member) {
        let processes = self.users.processes.entry(Arc::clone(&member.user)).or_default();
        *processes.entry(process).or_default() += 1;
        let Some(channel) = &mut self.channels[place as usize] else { return };
        if channel.rules.presence == Presence::On && channel.members.come(member) {
            self.users.bytes += member.held_bytes();
            self.tell_member(place, member, MemberStep::Comes);
        }
    }

    /// A subscription of a user ends.
    pub(super) fn remove_user(&mut self, subscription: &Subscription) {
        let Some(of_user) = &subscription.of_user else { return };
        let (process, member) = &**of_user;
        if let Some(processes) = self.users.processes.get_mut(&member.user) {
            let count = processes.entry(*process).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 {
                processes.remove(process);
                self.users.dismissed.remove(process);
            }
            if processes.is_empty() {
                self.users.processes.remove(&member.user);
            }
        }
        let Subscribed::Channel(place) = subscription.of else { return };
        let Some(channel) = &mut self.channels[place as usize] else { return };
        if let Some(member) = channel.members.leave(&member.user) {
            self.users.bytes -= member.held_bytes();
            self.tell_member(place, &member, MemberStep::Leaves);
        }
    }

    /// Tells the home of a channel.
    fn tell_member(&mut self, place: u32, member: &Member, step: MemberStep) {
        let Some(channel) = &self.channels[place as usize] else { return };
        let name = Arc::clone(&channel.name);
        match channel.place {
            Place::Home(_) => {
                self.on_member(Whereabouts::Scheduler(self.here), &name, member, step);
            }
            Place::Elsewhere { home, .. } => {
                let member = member.clone();
                self.outgoing[usize::from(home.0)].push(Item::Member { name, member, step });
            }
        }
    }

    /// A member of a channel whose home this is.
    pub(super) fn on_member(
        &mut self,
        at: Whereabouts,
        name: &str,
        member: &Member,
        step: MemberStep,
    ) {
        let Some(place) = self.by_name.get(name).copied() else { return };
        let Some(channel) = &mut self.channels[place as usize] else { return };
        let reach = match step {
            MemberStep::Comes => channel.everywhere.come(member, at),
            MemberStep::Leaves => {
                let (reach, known) = channel.everywhere.leave(&member.user, at);
                self.users.bytes -= known.map_or(0, |known| known.held_bytes());
                reach
            }
        };
        if matches!(reach, StepReach::Node | StepReach::All) {
            self.tell_nodes(name, member, step);
        }
        if matches!(reach, StepReach::Nothing | StepReach::Node) {
            return;
        }
        if step == MemberStep::Comes {
            self.users.bytes += member.held_bytes();
        }
        let Some(channel) = &mut self.channels[place as usize] else { return };
        if let Place::Home(others) = &channel.place {
            for (other, _) in others {
                let outgoing = &mut self.outgoing[usize::from(other.0)];
                // An event is only a hint: clients can ask for the members.
                if !outgoing.is_full() {
                    let (name, member) = (Arc::clone(&channel.name), member.clone());
                    outgoing.push(Item::Presence { name, member, step });
                }
            }
        }
        self.announce(place, member, step);
    }

    /// A member of a channel whose home is another scheduler.
    pub(super) fn on_presence(&mut self, name: &str, member: &Member, step: MemberStep) {
        if let Some(place) = self.by_name.get(name).copied() {
            self.announce(place, member, step);
        }
    }

    /// Tells the subscribers of this scheduler.
    fn announce(&mut self, place: u32, member: &Member, step: MemberStep) {
        let Some(channel) = &mut self.channels[place as usize] else { return };
        self.order += 1;
        let (order, next) = (self.order, channel.history.known().saturating_add(1));
        let event = Event { channel: &channel.name, member, step };
        for audience in &mut channel.audiences {
            audience.put_event(order, next, |format, out| format.encode_event(event, out));
        }
        self.note(place);
    }

    /// A channel is removed, with its members.
    pub(super) fn forget_members(&mut self, channel: &Channel) {
        self.users.bytes -= channel.members.held_bytes() + channel.everywhere.held_bytes();
    }

    /// Disconnects a user of this scheduler.
    pub(super) fn dismiss(&mut self, user: &str, channel: Option<&Arc<str>>) {
        let Some(processes) = self.users.processes.get(user) else { return };
        for process in processes.keys() {
            let dismissal = self.users.dismissed.entry(*process).or_default();
            match (channel, dismissal) {
                (None, dismissal) => *dismissal = Dismissal::All,
                (Some(name), Dismissal::From(names)) => {
                    names.insert(Arc::clone(name));
                }
                (Some(_), Dismissal::All) => {}
            }
            self.users.to_run.push(*process);
        }
    }

    /// The subscriptions that a process loses, if it was run for that.
    pub fn take_dismissal(&mut self, process: ProcessId) -> Option<Dismissal> {
        self.users.dismissed.remove(&process)
    }

    /// Runs the processes that lose something.
    pub(super) fn run_dismissed<M>(&mut self, context: &mut ServiceContext<'_, M>) {
        for process in self.users.to_run.drain(..) {
            context.command(SchedulerCommand::Run(process));
        }
    }
}

impl Dismissal {
    /// Whether a subscription to this channel ends.
    pub fn is_from(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::From(names) => names.contains(name),
        }
    }
}

impl Default for Dismissal {
    fn default() -> Self {
        Self::From(HashSet::default())
    }
}
