//! Subscribers join, leave, and fetch what waited for them.
//!
//! Owns the room for them. `publishing` adds their messages to audiences, `sending` queues them.

use super::{Channels, Subscribed, Subscriber, Subscription};
use crate::audience::Audience;
use crate::limits::SUBSCRIPTIONS;
use crate::outcome::ChannelRefusal;
use crate::patterns::Known;
use crate::position::Position;
use crate::rights::Rights;
use crate::ruling::SubscribeRight;

/// Whether a subscription is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionState {
    /// Every message published from now on reaches it.
    Active,
    /// Other schedulers have not answered.
    Awaited,
    /// A scheduler has no room for the pattern.
    NoRoom,
}

impl Channels {
    /// A client subscribes. The messages since the position it names, if any, are written to `out`, or queued when the
    /// channel's home has answered. Later messages follow.
    ///
    /// # Errors
    /// If there is no room.
    pub fn subscribe(
        &mut self,
        right: &SubscribeRight<'_>,
        subscriber: Subscriber,
        since: Option<Position>,
        out: &mut Vec<u8>,
    ) -> Result<Subscription, ChannelRefusal> {
        let Subscriber { process, format } = subscriber;
        self.check_subscriptions()?;
        let ruled = self.rulebook.renew(right.channel());
        let member = right.rights().pass().and_then(|pass| pass.member.clone());
        if member.is_some() {
            let room = self.check_member(ruled);
            self.counted(room)?;
        }
        let place = self.find_or_make(ruled)?;
        let Some(channel) = &mut self.channels[place as usize] else {
            return Err(ChannelRefusal::Full);
        };
        let must_wait = channel.must_wait(since);
        let (audience, seat) = channel.join(process, format, since);
        if !must_wait {
            channel.write_since(since, format, out);
        } else if let Some(since) = since.filter(|_| channel.is_known()) {
            self.reach(place, since);
        }
        self.subscriptions += 1;
        self.recount(place);
        if let Some(member) = &member {
            self.add_user(place, process, member);
        }
        let of_user = member.map(|member| Box::new((process, member)));
        Ok(Subscription { of: Subscribed::Channel(place), audience, seat, of_user })
    }

    /// Whether there is room for another subscription.
    pub(super) fn check_subscriptions(&mut self) -> Result<(), ChannelRefusal> {
        let has_room = self.subscriptions < SUBSCRIPTIONS;
        self.counted(if has_room { Ok(()) } else { Err(ChannelRefusal::Full) })
    }

    /// Whether a subscription is active, so that every message published from now on reaches it. A process that waits
    /// for this is resumed.
    pub fn standing(&self, subscription: &Subscription) -> SubscriptionState {
        match subscription.of {
            Subscribed::Channel(place) => {
                let channel = self.channels[place as usize].as_ref();
                let audience =
                    channel.and_then(|of| of.audiences.get(usize::from(subscription.audience)));
                let is_joining = audience.is_some_and(|of| of.is_joining(subscription.seat));
                if is_joining { SubscriptionState::Awaited } else { SubscriptionState::Active }
            }
            Subscribed::Pattern(place) => match self.patterns.get(place).map(|of| of.known) {
                Some(Known::Yes) | None => SubscriptionState::Active,
                Some(Known::No | Known::Told { .. }) => SubscriptionState::Awaited,
                Some(Known::NoRoom) => SubscriptionState::NoRoom,
            },
        }
    }

    /// A client subscribes to all channels whose names match a pattern, which only RESP has. If any channel is not open
    /// to all, a client without all rights may not, because it would also get the messages of that channel.
    ///
    /// # Errors
    /// If the rules do not allow it, or there are too many patterns or subscriptions.
    pub fn subscribe_to_pattern(
        &mut self,
        glob: &str,
        subscriber: Subscriber,
        rights: &Rights,
    ) -> Result<Subscription, ChannelRefusal> {
        let Subscriber { process, format } = subscriber;
        if !rights.are_all() && !self.rulebook.is_open() {
            return self.counted(Err(ChannelRefusal::Denied));
        }
        let has_room = self.subscriptions < SUBSCRIPTIONS;
        let place =
            has_room.then(|| self.patterns.place(glob)).flatten().ok_or(ChannelRefusal::Full);
        let place = self.counted(place)?;
        let is_alone = self.schedulers == 1 && self.cluster.is_none();
        let pattern = self.patterns.at(place).ok_or(ChannelRefusal::Full)?;
        if is_alone {
            pattern.known = Known::Yes;
        }
        let known = pattern.audiences.iter().position(|audience| audience.format == format);
        let at = known.unwrap_or_else(|| {
            pattern.audiences.push(Audience::new(format));
            pattern.audiences.len() - 1
        });
        let audience = &mut pattern.audiences[at];
        let is_known = pattern.known == Known::Yes;
        // It gets no message before its confirmation.
        let seat = if is_known { audience.join(process) } else { audience.wait(process, None) };
        self.subscriptions += 1;
        self.patterns.recount(place);
        Ok(Subscription { of: Subscribed::Pattern(place), audience: at as u8, seat, of_user: None })
    }

    /// A subscriber leaves.
    pub fn unsubscribe(&mut self, subscription: Subscription) {
        self.remove_user(&subscription);
        let Subscription { of, audience, seat, .. } = subscription;
        self.subscriptions -= 1;
        match of {
            Subscribed::Channel(place) => {
                if let Some(channel) = &mut self.channels[place as usize] {
                    let audience = &mut channel.audiences[usize::from(audience)];
                    if audience.behind(seat).is_some() {
                        self.behind -= 1;
                    }
                    audience.leave(seat);
                }
                self.recount(place);
            }
            Subscribed::Pattern(place) => {
                if let Some(pattern) = self.patterns.at(place) {
                    pattern.audiences[usize::from(audience)].leave(seat);
                }
                self.patterns.recount(place);
            }
        }
    }

    /// The subscriptions of a process that has read everything that waited for it.
    pub fn on_drained(&mut self, subscriptions: &[Subscription]) {
        if self.behind == 0 {
            return;
        }
        for Subscription { of, audience, seat, .. } in subscriptions {
            if let Subscribed::Channel(place) = *of {
                self.drained.push((place, *audience, *seat));
            }
        }
    }

    /// Whether a process should end because it was too slow for one of its subscriptions.
    pub fn is_too_slow(&self, subscriptions: &[Subscription]) -> bool {
        subscriptions.iter().any(|Subscription { of, audience, seat, .. }| {
            let audience = self.audiences(*of).get(usize::from(*audience));
            audience.is_some_and(|audience| audience.is_over(*seat))
        })
    }
}
