//! Keys and tokens of Redis clients: `AUTH`, and the option of `HELLO`.
//!
//! Owns Redis' error texts for them. The host decides which rights they give.

use channels::Shown;
use wire::resp::{write_error, write_simple};

use super::{After, Call, Session};

impl Session {
    /// Whether the client must authenticate before other commands.
    pub(super) fn must_authenticate(&self) -> bool {
        self.is_asked && matches!(self.rights.shown(), Shown::Nothing)
    }
}

/// `AUTH [user] key`, where the key may be a token. A user name is ignored: a token contains its own.
pub(super) fn auth(call: &mut Call<'_, '_>) -> After {
    let shown = match call.command.len() {
        length @ 2..=3 => show(call, call.word(length - 1)),
        _ => Err("ERR syntax error"),
    };
    match shown {
        Ok(()) => write_simple(call.out(), "OK"),
        Err(problem) => write_error(call.out(), problem),
    }
    After::More
}

/// Authenticates a client with a key or a token.
pub(super) fn show(call: &mut Call<'_, '_>, shown: &[u8]) -> Result<(), &'static str> {
    if !call.env.host.has_keys() {
        return Err(
            "ERR AUTH <password> called without any password configured for the default user. \
             Are you sure your configuration is correct?",
        );
    }
    let shown = call.env.host.read_shown(shown, call.now.unix_seconds);
    let shown =
        shown.map_err(|_| "WRONGPASS invalid username-password pair or user is disabled.")?;
    call.session.rights.show(shown);
    call.session.has_new_rights = true;
    Ok(())
}
