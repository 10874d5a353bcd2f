//! The end of a connection: announced in two steps (RFC 9113, 6.8), or at once because of an error (5.4.1).
//!
//! Owns GOAWAY and the question whether the client is still there. Never ends a stream that may go on.

use runtime::service::{Context, Next};
use wire::h2::{ErrorCode, write_goaway, write_ping};

use super::connection_error::ConnectionError;
use super::{Http2Connection, Phase, Timer};
use crate::application::Application;
use crate::limits::H2_LEAVE_AFTER_MS;
use crate::shared::Http;

/// How far the end of a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// It stays.
    Stays,
    /// The client was told that it will end. Requests that are on their way are served.
    Announced,
    /// The client was told the last stream, or has said itself that it opens no more.
    Left,
}

/// The PING behind the first GOAWAY: its answer says that the client has read that.
const LEAVE_PING: [u8; 8] = *b"leaving.";
/// The PING of a connection on which nothing has come for a while.
const SILENCE_PING: [u8; 8] = *b"silence?";
/// The number of no stream, as the last one that will be served: all that are on their way will.
const ANY_STREAM: u32 = (1 << 31) - 1;

impl Http2Connection {
    /// Tells the client that the connection will end.
    pub(super) fn announce_end<M>(&mut self, context: &mut Context<'_, M>) {
        if self.leaving != Leaving::Stays || self.phase == Phase::Over {
            return;
        }
        let out = context.output.buffer();
        write_goaway(ANY_STREAM, ErrorCode::NoError, "", out);
        write_ping(LEAVE_PING, out);
        (self.leaving, self.timer) = (Leaving::Announced, Timer::Leaving);
        context.set_deadline_after_ms(H2_LEAVE_AFTER_MS);
    }

    /// Tells the client the last stream that is served.
    pub(super) fn leave<M>(&mut self, context: &mut Context<'_, M>) {
        if self.leaving == Leaving::Announced {
            self.leaving = Leaving::Left;
            let last = self.streams.last();
            write_goaway(last, ErrorCode::NoError, "", context.output.buffer());
        }
    }

    /// The client has said that it opens no more streams.
    pub(super) fn on_goaway(&mut self) {
        self.leaving = Leaving::Left;
    }

    /// Asks the client whether it is there.
    pub(super) fn ask_whether_there<M>(&mut self, context: &mut Context<'_, M>) {
        write_ping(SILENCE_PING, context.output.buffer());
    }

    /// The client has answered a PING.
    pub(super) fn on_ping_ack<M>(&mut self, opaque: [u8; 8], context: &mut Context<'_, M>) {
        if opaque == LEAVE_PING {
            self.leave(context);
        }
    }

    /// Ends the connection, and all its streams.
    pub(super) fn fail<A: Application>(
        &mut self,
        error: ConnectionError,
        http: &mut Http<A>,
        context: &mut Context<'_, A::Message>,
    ) -> Next {
        self.count_resets(http);
        http.stats_mut().http2_broken += u64::from(error.code() != ErrorCode::NoError);
        http.stats_mut().http2_calmed += u64::from(error.code() == ErrorCode::EnhanceYourCalm);
        let last = self.streams.last();
        write_goaway(last, error.code(), error.text(), context.output.buffer());
        self.drop_streams(context);
        Next::Linger
    }

    /// Lets go of all streams: the connection is over.
    pub(super) fn drop_streams<M>(&mut self, context: &mut Context<'_, M>) {
        self.phase = Phase::Over;
        for (_, open) in self.streams.all() {
            context.streams().reset(open.id());
        }
        self.streams.clear();
        self.block = None;
    }
}
