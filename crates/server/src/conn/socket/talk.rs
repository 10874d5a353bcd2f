//! A WebSocket whose client talks to a module.
//!
//! Owns the module's operations on the socket, and that the next message is read when the module
//! waits for one.

use channels::{ChannelRefusal, NameProblem, Subscriber, SubscriptionState, check_name};
use pages::Saying;
use wire::websocket::{
    CloseCode, Extension, MessageKind, Opcode, write_close, write_deflated, write_frame,
};

use super::{After, Speaks, WebSocket};
use crate::conn::lease::Lease;
use crate::message::Context;
use crate::site::{Said, Site};

impl WebSocket {
    /// A socket whose messages a module handles. The conversation begins at the end of the turn.
    pub(in crate::conn) fn talking(client: (Lease, Extension), context: &mut Context<'_>) -> Self {
        Self::new(Speaks::Talk(Vec::new()), client, context)
    }

    /// The client has sent a message.
    pub(super) fn hand_message(
        &mut self,
        kind: MessageKind,
        bytes: &[u8],
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> After {
        let kind = match kind {
            MessageKind::Text => "text",
            MessageKind::Binary => "binary",
        };
        site.hand_message(context.id, kind, bytes);
        self.talk(site, context)
    }

    /// Continues until the module waits, or the client has to read its output.
    pub(super) fn talk(&mut self, site: &mut Site, context: &mut Context<'_>) -> After {
        loop {
            if context.output_is_full() || self.is_joining(site) {
                return After::Busy;
            }
            let moment = (context.now, context.mail.endpoint());
            let (saying, text) = match site.talk(context.id, moment) {
                Said::This(saying, text) => (saying, text),
                Said::Nothing if site.hears(context.id) => return After::More,
                Said::Nothing => return After::Busy,
                Said::Over => return After::Close(CloseCode::NORMAL, ""),
                Said::Failure => {
                    let why = "the server's module has failed";
                    return After::Close(CloseCode::INTERNAL_ERROR, why);
                }
            };
            let out = context.output.buffer();
            let write = match self.reader.extension() {
                Extension::None => write_frame,
                Extension::Deflate => write_deflated,
            };
            match saying {
                Saying::Text => write(out, Opcode::Text, &text),
                Saying::Binary => write(out, Opcode::Binary, &text),
                Saying::Subscribe => {
                    if let Err(why) = self.join(&text, site, context) {
                        site.refuse_saying(context.id, why);
                    }
                }
                Saying::Unsubscribe => self.part(&text, site),
                Saying::Close(code) => {
                    let code = CloseCode::received(code).unwrap_or(CloseCode::NORMAL);
                    write_close(out, Some(code), &String::from_utf8_lossy(&text));
                    self.end = code.number();
                    return After::Closed;
                }
            }
        }
    }

    /// Whether the home of the channel that was joined last has not answered. The module goes on when messages of the
    /// channel arrive.
    fn is_joining(&self, site: &Site) -> bool {
        let last = self.subscriptions.last();
        last.is_some_and(|last| site.channels().standing(last) == SubscriptionState::Awaited)
    }

    /// Subscribes the client to a channel, whose messages it gets as they were published.
    fn join(
        &mut self,
        name: &[u8],
        site: &mut Site,
        context: &mut Context<'_>,
    ) -> Result<(), &'static str> {
        let name = check_name(name).map_err(NameProblem::as_str)?;
        let format = self.format();
        let Speaks::Talk(names) = &mut self.speaks else { return Ok(()) };
        if names.iter().any(|known| **known == *name) {
            return Ok(());
        }
        if names.len() >= channels::limits::SUBSCRIPTIONS_PER_CONNECTION {
            return Err(ChannelRefusal::Full.as_str());
        }
        let subscriber = Subscriber { process: context.id, format };
        let (mut channels, out) = (site.channels(), context.output.buffer());
        let right = channels.server_right(name);
        let subscription = channels.subscribe(&right.to_subscribe(), subscriber, None, out);
        self.subscriptions.push(subscription.map_err(ChannelRefusal::as_str)?);
        names.push(name.into());
        Ok(())
    }

    fn part(&mut self, name: &[u8], site: &mut Site) {
        let Speaks::Talk(names) = &mut self.speaks else { return };
        if let Some(at) = names.iter().position(|known| known.as_bytes() == name) {
            names.swap_remove(at);
            site.channels().unsubscribe(self.subscriptions.swap_remove(at));
        }
    }
}
