//! Commands about the connection and the server that use neither the store nor channels.
//!
//! Owns their replies, and Redis' error texts for keys and tokens. The host decides which rights they give.

use channels::Credential;
use wire::resp::{
    RespVersion, write_array, write_bulk, write_error, write_integer, write_map, write_simple,
};

use super::client::{self, ReplyMode};
use super::pending::PendingReplies;
use super::{After, Call, Session};

/// `ECHO word`.
pub(super) fn echo(call: &mut Call<'_, '_>) -> After {
    let word = call.word(1);
    write_bulk(call.out(), word);
    After::More
}

/// `PING [word]`.
pub(super) fn ping(call: &mut Call<'_, '_>) -> After {
    let word = call.word(1);
    if call.session.version == RespVersion::Two && call.session.subscriptions() > 0 {
        write_array(call.out(), 2);
        write_bulk(call.out(), b"pong");
        write_bulk(call.out(), word);
    } else if call.command.len() == 1 {
        write_simple(call.out(), "PONG");
    } else {
        write_bulk(call.out(), word);
    }
    After::More
}

pub(super) fn role(call: &mut Call<'_, '_>) -> After {
    let out = call.out();
    write_array(out, 3);
    write_bulk(out, b"master");
    write_integer(out, 0);
    write_array(out, 0);
    After::More
}

pub(super) fn time(call: &mut Call<'_, '_>) -> After {
    let (seconds, nanoseconds) = sys::clock::realtime();
    let out = call.out();
    write_array(out, 2);
    write_bulk(out, seconds.to_string().as_bytes());
    write_bulk(out, (nanoseconds / 1_000).to_string().as_bytes());
    After::More
}

pub(super) fn quit(call: &mut Call<'_, '_>) -> After {
    write_simple(call.out(), "OK");
    After::End
}

pub(super) fn reset(call: &mut Call<'_, '_>) -> After {
    let session = &mut *call.session;
    session.leave(&mut call.env.channels);
    session.version = RespVersion::Two;
    session.about = None;
    session.reply_mode = ReplyMode::On;
    session.pending = PendingReplies::default();
    session.database = store::Database(0);
    session.rights.show(Credential::Nothing);
    write_simple(call.out(), "RESET");
    After::More
}

/// `HELLO [2 | 3 [AUTH user key] [SETNAME name]]`.
pub(super) fn hello(call: &mut Call<'_, '_>) -> After {
    if let Err(text) = agree(call) {
        write_error(call.out(), &text);
        return After::More;
    }
    let (version, number) = (call.session.version, call.session.number);
    let out = call.out();
    write_map(out, 7, version);
    for (name, value) in [("server", "velodrome"), ("version", env!("CARGO_PKG_VERSION"))] {
        write_bulk(out, name.as_bytes());
        write_bulk(out, value.as_bytes());
    }
    write_bulk(out, b"proto");
    write_integer(out, if version == RespVersion::Three { 3 } else { 2 });
    write_bulk(out, b"id");
    write_integer(out, i64::try_from(number).unwrap_or(i64::MAX));
    for word in [&b"mode"[..], b"standalone", b"role", b"master", b"modules"] {
        write_bulk(out, word);
    }
    write_array(out, 0);
    After::More
}

/// Does what `HELLO` asks for. A refused one changes nothing, except that it may have authenticated the client.
fn agree(call: &mut Call<'_, '_>) -> Result<(), String> {
    let version = match call.word(1) {
        b"" => call.session.version,
        b"2" => RespVersion::Two,
        b"3" => RespVersion::Three,
        _ => return Err("NOPROTO unsupported protocol version".to_owned()),
    };
    let (mut name, mut shown) = (None, None);
    let mut at = 2;
    while at < call.command.len() {
        let option = call.word(at).to_ascii_lowercase();
        match (&*option, call.command.len() - at) {
            (b"auth", 3..) => {
                shown = Some(call.word(at + 2));
                at += 3;
            }
            (b"setname", 2..) => {
                name = Some(call.word(at + 1));
                at += 2;
            }
            _ => {
                let option = String::from_utf8_lossy(&option);
                return Err(format!("ERR Syntax error in HELLO option '{option}'"));
            }
        }
    }
    if name.is_some_and(|name| !client::is_name(name)) {
        return Err(client::BAD_NAME.to_owned());
    }
    if let Some(shown) = shown {
        show(call, shown)?;
    }
    if call.session.must_authenticate() {
        let text = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
                    <proto> AUTH <user> <pass> option can be used to authenticate the client and select the \
                    RESP protocol version at the same time";
        return Err(text.to_owned());
    }
    if let Some(name) = name {
        call.session.set_name(name);
    }
    call.session.version = version;
    Ok(())
}

impl Session {
    /// Whether the client must authenticate before other commands.
    pub(super) fn must_authenticate(&self) -> bool {
        self.is_asked && matches!(self.rights.shown(), Credential::Nothing)
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
