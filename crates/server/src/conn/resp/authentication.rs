//! Keys and tokens of Redis clients: `AUTH`, and the option of `HELLO`.
//!
//! Owns Redis' error texts for them. The site decides which rights they give.

use channels::Shown;
use runtime::service::Context;

use super::Session;
use crate::message::Message;
use crate::site::Site;

impl Session {
    /// Whether the client must authenticate before other commands.
    pub(super) fn must_authenticate(&self) -> bool {
        self.is_asked && matches!(self.lease.rights().shown(), Shown::Nothing)
    }
}

/// Authenticates a client with a key or a token. A user name before it is ignored: a token contains its own.
pub(super) fn show<'c>(
    session: &mut Session,
    arguments: impl Iterator<Item = &'c [u8]>,
    site: &Site,
    context: &mut Context<'_, Message>,
) -> Result<(), &'static str> {
    let arguments: Vec<&[u8]> = arguments.take(3).collect();
    let ([shown] | [_, shown]) = *arguments else { return Err("ERR syntax error") };
    if !site.has_channel_keys() {
        return Err(
            "ERR AUTH <password> called without any password configured for the default user. \
             Are you sure your configuration is correct?",
        );
    }
    let shown = site.read_shown(shown, context.now.unix_seconds);
    let shown =
        shown.map_err(|_| "WRONGPASS invalid username-password pair or user is disabled.")?;
    session.lease.show(shown);
    if !context.is_draining() {
        session.set_deadline(context);
    }
    Ok(())
}
