//! Subscriptions that the server ends: a token has expired, or a program has disconnected the user.
//!
//! Owns the close codes for that, and the notice for a socket with several subscriptions.

use channels::Dismissal;
use wire::websocket::CloseCode;

use super::{After, Speaks, WebSocket, orders, tell};
use crate::message::Context;
use crate::site::Site;

/// The code for a subscriber that was too slow.
pub(super) const TOO_SLOW: CloseCode = of_application(4008);
/// The code for a client whose token has expired.
const TOKEN_OVER: CloseCode = of_application(4001);
/// The code for a user that a program has disconnected.
const DISMISSED: CloseCode = of_application(4003);

const fn of_application(number: u16) -> CloseCode {
    match CloseCode::of_application(number) {
        Some(code) => code,
        None => panic!("an application's codes are 4000 to 4999"),
    }
}

/// The reason given when a subscription ends with its token.
pub(super) const EXPIRED: &str = "the token has expired";

impl WebSocket {
    /// The client's rights have changed: ends the subscriptions it is no longer allowed.
    pub(super) fn lose(
        &mut self,
        why: &'static str,
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> After {
        let rights = self.lease.rights().clone();
        let is_lost = |site: &Site, name: &str| !site.channels().still_allows(name, &rights);
        self.end(is_lost, (TOKEN_OVER, why), site, context)
    }

    /// A program has disconnected the user.
    pub(super) fn leave(
        &mut self,
        dismissal: &Dismissal,
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> After {
        match dismissal {
            Dismissal::All => After::Close(DISMISSED, "disconnected by the server"),
            Dismissal::From(names) => {
                let is_lost = |_: &Site, name: &str| names.contains(name);
                self.end(is_lost, (DISMISSED, "unsubscribed by the server"), site, context)
            }
        }
    }

    /// Ends all subscriptions: from now on the client does not count as a subscriber.
    pub(in crate::conn) fn leave_all(&mut self, site: &mut Site) {
        if let Speaks::Json(names) | Speaks::Talk(names) = &mut self.speaks {
            names.clear();
        }
        for subscription in self.subscriptions.drain(..) {
            site.channels().unsubscribe(subscription);
        }
    }

    /// Ends subscriptions. A socket that can have only one ends too.
    fn end(
        &mut self,
        is_lost: impl Fn(&Site, &str) -> bool,
        (code, why): (CloseCode, &'static str),
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> After {
        let names = match &mut self.speaks {
            Speaks::Plain(name) if is_lost(site, name) => return After::Close(code, why),
            Speaks::Plain(_) | Speaks::Talk(_) => return After::More,
            Speaks::Json(names) => names,
        };
        for at in (0..names.len()).rev() {
            if is_lost(site, &names[at]) {
                let name = names.swap_remove(at);
                site.channels().unsubscribe(self.subscriptions.swap_remove(at));
                tell(&orders::unsubscribed(&name, Some(why)), context);
            }
        }
        After::More
    }
}
