//! Bodies that are collected fill the room of a connection: who of its streams may go on.
//!
//! Owns the order. The oldest stream whose body is collected has its turn until its request is answered: it gets as
//! much as its body needs. The others get small steps, while there is room. So the memory is bounded, and each body
//! becomes whole. Streams have no windows of their own meanwhile (RFC 9113, 6.9.2). Never sees content.

use runtime::service::Context;
use runtime::streams::InputHold;
use wire::h2::{SettingId, write_settings, write_window_update};

use super::Http2Connection;
use super::room::RoomStep;
use crate::h2_streams::Open;
use crate::limits::{H2_CONNECTION_WINDOW_BYTES, H2_STREAM_WINDOW_BYTES};

impl Http2Connection {
    /// Opens the window of the connection if that is due, and shares its room out if it is crowded.
    pub(super) fn open_room<M>(&mut self, context: &mut Context<'_, M>) {
        if self.room.step() == RoomStep::ChooseTurn {
            self.choose_turn();
        }
        match self.room.step() {
            RoomStep::Nothing => {}
            // Bodies that are whole and not answered yet may fill it, too: then it is nobody's turn.
            RoomStep::ChooseTurn | RoomStep::Take => {
                write_settings(&[(SettingId::INITIAL_WINDOW_SIZE, 0)], context.output.buffer());
                self.room.on_taken();
            }
            RoomStep::Grant => self.grant(context),
            RoomStep::GiveBack => self.give_windows_back(context),
        }
        if let Some(step) = self.room.open_window() {
            write_window_update(0, step, context.output.buffer());
        }
        self.hold_all(context);
    }

    /// Content that is unread may use up the window of the connection: nobody else is to blame for sending nothing.
    fn hold_all<M>(&mut self, context: &mut Context<'_, M>) {
        let Some(hold) = self.room.hold() else { return };
        let now_ns = context.now.monotonic_ns;
        for (_, open) in self.streams.all() {
            context.streams().hold_input(open.id(), hold, now_ns);
        }
    }

    /// The client has acknowledged SETTINGS.
    pub(super) fn on_settings_ack(&mut self) {
        if !self.room.on_acknowledged() {
            return;
        }
        for (_, open) in self.streams.all() {
            open.held_mut().content_mut().change_window(-i64::from(H2_STREAM_WINDOW_BYTES));
        }
    }

    fn give_windows_back<M>(&mut self, context: &mut Context<'_, M>) {
        let settings = [(SettingId::INITIAL_WINDOW_SIZE, H2_STREAM_WINDOW_BYTES)];
        write_settings(&settings, context.output.buffer());
        self.room.on_given_back();
        let now_ns = context.now.monotonic_ns;
        for (_, open) in self.streams.all() {
            open.held_mut().content_mut().change_window(H2_STREAM_WINDOW_BYTES.into());
            context.streams().hold_input(open.id(), InputHold::Open, now_ns);
        }
    }

    /// The turn goes to the oldest stream whose body is collected, if it is nobody's.
    fn choose_turn(&mut self) {
        if let Some(turn) = self.room.turn() {
            let is_collected = |(_, open): (usize, &mut Open)| {
                open.number() == turn && open.held_mut().content_mut().is_collected()
            };
            if self.streams.all().any(is_collected) {
                return;
            }
            self.room.end_turn();
        }
        let collected = self.streams.all().filter_map(|(_, open)| {
            let (number, content) = (open.number(), open.held_mut().content_mut());
            let may_come = content.is_open() && content.is_collected();
            may_come.then(|| (number, content.held().kept()))
        });
        if let Some((number, kept)) = collected.min()
            && self.room.turn().is_none()
        {
            self.room.begin_turn(number, kept);
        }
    }

    /// Grants streams what there is room for, in the order of their age.
    fn grant<M>(&mut self, context: &mut Context<'_, M>) {
        self.choose_turn();
        let turn = self.room.turn();
        let mut by_age = Vec::with_capacity(self.streams.len());
        let mut taken = 0;
        for (place, open) in self.streams.all() {
            let (number, content) = (open.number(), open.held_mut().content_mut());
            by_age.push((number, place));
            if Some(number) != turn {
                taken += content.held().unread() + content.held().kept() + content.room();
            }
        }
        by_age.sort_unstable();
        let (now_ns, mut granted) = (context.now.monotonic_ns, 0);
        for (number, place) in by_age {
            let Some(open) = self.streams.at(place) else { continue };
            let (id, content) = (open.id(), open.held_mut().content_mut());
            if !content.is_open() {
                continue;
            }
            let step = match turn == Some(number) {
                true => Some(H2_STREAM_WINDOW_BYTES as usize),
                false => content.share_of(H2_CONNECTION_WINDOW_BYTES as usize, taken),
            };
            if let Some(most) = step
                && let Some(step) = content.open_window(content.wanted(most))
            {
                write_window_update(number, step, context.output.buffer());
                if turn != Some(number) {
                    taken += step as usize;
                }
            }
            // Its end needs no room.
            let may_send = content.room() > 0 || content.wanted(1) == 0;
            let hold = if may_send { InputHold::Open } else { InputHold::HeldBack };
            granted += content.room();
            context.streams().hold_input(id, hold, now_ns);
        }
        if let Some(step) = self.room.open_for(granted) {
            write_window_update(0, step, context.output.buffer());
        }
    }
}
