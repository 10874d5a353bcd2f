//! Opens connections: those that live through a run, and those that replace others.
//!
//! Owns when a connection is begun, and when it counts as open. Never ends one.

use runtime::limits::CONNECTS_PER_TURN;

use super::connection::LoadConnection;
use super::window::Stage;
use super::{LoadClient, OpeningTimes};
use crate::client::{Context, ServiceContext};

impl LoadClient {
    /// Opens connections that live through the run; others are opened when a request is due.
    pub(super) fn begin_opening(&mut self, now_ns: u64) {
        if self.opens_when_due() {
            for number in 0..self.share.connections {
                let peer = self.share.way(number).peer;
                if let Some(pacer) = &mut self.pacer {
                    pacer.list_closed(peer, number);
                }
            }
        } else {
            self.unopened = 0..self.share.connections;
        }
        self.opening_times = OpeningTimes { begun_ns: now_ns, last_ns: now_ns };
    }

    /// As many as one turn begins: a million at once would wait in a long queue, whose memory is not given back.
    pub(super) fn open_some(&mut self, context: &mut ServiceContext<'_>) {
        for _ in 0..CONNECTS_PER_TURN {
            let Some(number) = self.unopened.next() else { return };
            context.command(self.connect(number));
        }
    }

    /// The connection is established, and encrypted if it should be.
    pub(super) fn begin_use(&mut self, connection: &mut LoadConnection, context: &mut Context<'_>) {
        if self.is_multiplexed() {
            self.begin_streams(connection, context);
        } else {
            self.begin_requests(connection, context);
        }
    }

    /// The connection can carry requests.
    pub(super) fn begin_requests(
        &mut self,
        connection: &mut LoadConnection,
        context: &mut Context<'_>,
    ) {
        self.opened(connection.number());
        connection.begin_requests();
        if self.stage == Stage::Opening {
            self.greet(connection, context);
        } else {
            self.count_open(connection);
            connection.idle_since(self.now_ns);
            self.fill(connection, context);
        }
    }

    /// From now on the connection counts as open.
    pub(super) fn count_open(&mut self, connection: &mut LoadConnection) {
        connection.stand();
        self.tally.open();
        if self.stage != Stage::Counting {
            self.opening_times.last_ns = self.now_ns;
        }
    }

    /// An answer is whole: its connection counts as open, because a request went both ways, and is idle.
    #[inline]
    pub(super) fn count_answer(&mut self, connection: &mut LoadConnection) {
        if !connection.stands() {
            self.count_open(connection);
        }
        connection.take_answer(self.now_ns);
    }

    /// Opens connections again whose pause is over, or that need none.
    pub(super) fn reconnect_due(&mut self, now_ns: u64, context: &mut ServiceContext<'_>) {
        while let Some((due_ns, number)) = self.retries.front().copied()
            && due_ns <= now_ns
        {
            self.retries.pop_front();
            self.reconnects.push(number);
        }
        while let Some(number) = self.reconnects.pop() {
            context.command(self.connect(number));
        }
    }
}
