//! The words of an HTTP/2 client: its preface, requests, and their content as far as windows allow.
//!
//! Owns when they are said. Never reads a frame.

use wire::h2::{PREFACE, SettingId, WINDOW_BYTES_AT_FIRST, write_settings, write_window_update};

use crate::client::connection::LoadConnection;
use crate::client::pending::Pending;
use crate::client::streams::StreamRequest;
use crate::client::{Context, LoadClient};
use crate::limits::STREAM_WINDOW_BYTES;
use crate::plan::LoadProtocol;
use crate::tally::FailureKind;

impl LoadClient {
    /// Whether requests go over HTTP/2.
    pub(in crate::client) fn is_multiplexed(&self) -> bool {
        self.work.plan.protocol == LoadProtocol::Http2
    }

    /// Begins a connection: requests follow when the server's settings have come, which say how many streams it allows.
    pub(in crate::client) fn begin_streams(
        &mut self,
        connection: &mut LoadConnection,
        context: &mut Context<'_>,
    ) {
        connection.begin_streams(context.now.monotonic_ns);
        let out = context.output.buffer();
        out.extend_from_slice(PREFACE);
        let settings =
            [(SettingId::ENABLE_PUSH, 0), (SettingId::INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES)];
        write_settings(&settings, out);
        write_window_update(0, STREAM_WINDOW_BYTES - WINDOW_BYTES_AT_FIRST, out);
        let timeout_ms = u64::try_from(self.work.plan.timeout.as_millis()).unwrap_or(u64::MAX);
        context.set_deadline_after_ms(timeout_ms.max(1));
    }

    /// Sends a request on a stream of its own.
    pub(in crate::client) fn send_on_stream(
        &mut self,
        connection: &mut LoadConnection,
        pending: Pending,
        context: &mut Context<'_>,
    ) {
        let Some(streams) = connection.streams() else { return };
        let target = pending.target as usize;
        let asked = &self.work.plan.targets[target];
        let varying;
        let request = match &self.work.stream_requests[target] {
            Some(request) => request,
            None => {
                let mut text = Vec::with_capacity(asked.request.bytes_max());
                asked.request.render(&mut self.state, &mut text);
                varying = StreamRequest::read(&text, asked.url.scheme);
                &varying
            }
        };
        let pending = Pending { key: self.state.last_key(), ..pending };
        if streams.send(request, pending, asked.answer_body, context.output.buffer()) {
            connection.close_to_requests();
        }
    }

    /// Sends content that has room in the windows of the server.
    pub(in crate::client) fn send_content(
        &mut self,
        connection: &mut LoadConnection,
        context: &mut Context<'_>,
    ) {
        let Some(streams) = connection.streams() else { return };
        if !streams.send_content(context) {
            if streams.begin_stall(context.now.monotonic_ns) {
                self.tally.streams.get_or_insert_default().window_stalls += 1;
            }
        } else if let Some(begun_ns) = streams.end_stall() {
            let lasted_ns = self.now_ns.saturating_sub(begun_ns.max(self.window.begin_ns));
            self.tally.streams.get_or_insert_default().window_stalled_ns += lasted_ns;
        }
    }

    /// Some requests were not answered in time: each fails alone. Returns whether the connection is of use: not if
    /// nothing at all came on it.
    pub(in crate::client) fn expire_streams(
        &mut self,
        connection: &mut LoadConnection,
        context: &mut Context<'_>,
    ) -> bool {
        let now_ns = context.now.monotonic_ns;
        let timeout_ns = u64::try_from(self.work.plan.timeout.as_nanos()).unwrap_or(u64::MAX);
        let Some(streams) = connection.streams() else { return false };
        // The clock of deadlines has milliseconds.
        let is_over = |since_ns: u64| now_ns.saturating_sub(since_ns) + 1_000_000 >= timeout_ns;
        if is_over(streams.heard_ns()) {
            return false;
        }
        let is_late = |pending: &Pending| is_over(pending.sent_ns);
        while let Some(pending) = streams.cancel_oldest(is_late, context.output.buffer()) {
            self.tally.fail_sent(FailureKind::Timeout, pending.sent_ns, now_ns);
        }
        true
    }
}
