//! The words of an HTTP/2 client: its preface, requests, and their content as far as windows allow.
//!
//! Owns the order of these frames. Never reads one.

use runtime::service::Context;
use wire::h2::{
    AfterFrame, ErrorCode, PREFACE, SettingId, WINDOW_BYTES_AT_FIRST, begin_headers, end_headers,
    write_data_head, write_reset, write_settings, write_window_update,
};
use wire::hpack::Indexing;

use super::request::StreamRequest;
use crate::client::connection::{LoadConnection, Phase};
use crate::client::pending::Pending;
use crate::client::streams::{Stream, Streams};
use crate::client::{LoadClient, NoThreadMessage};
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
        context: &mut Context<'_, NoThreadMessage>,
    ) {
        connection.phase = Phase::AwaitingSettings;
        connection.since_ns = context.now.monotonic_ns;
        connection.streams = Some(Box::new(Streams::new(connection.since_ns)));
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
        context: &mut Context<'_, NoThreadMessage>,
    ) {
        let Some(streams) = connection.streams.as_deref_mut() else { return };
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
        let (number, is_last) = streams.take_number();
        if is_last {
            connection.phase = Phase::LastSent;
        }
        let out = context.output.buffer();
        let begin = begin_headers(out);
        streams.encoder.begin_block(out);
        for (name, value) in request.fields() {
            streams.encoder.encode(name, value, Indexing::Add, out);
        }
        let after =
            if request.content().is_empty() { AfterFrame::Nothing } else { AfterFrame::More };
        end_headers(begin, number, after, streams.settings.frame_bytes(), out);
        let window = streams.settings.window_bytes();
        let pending = Pending { key: self.state.last_key(), ..pending };
        let mut stream = Stream::new(number, pending, asked.answer_body, window);
        stream.unsent.extend_from_slice(request.content());
        streams.add(stream);
    }

    /// Sends content that has room in the windows of the server.
    pub(in crate::client) fn send_content(
        &mut self,
        connection: &mut LoadConnection,
        context: &mut Context<'_, NoThreadMessage>,
    ) {
        let Some(streams) = connection.streams.as_deref_mut() else { return };
        let frame_bytes = streams.settings.frame_bytes().into();
        let mut window = streams.window;
        let mut is_stalled = false;
        for stream in streams.iter() {
            while !stream.unsent.is_empty() && !context.output_is_full() {
                let room = window.min(stream.window).min(frame_bytes);
                if room <= 0 {
                    is_stalled = true;
                    break;
                }
                // Not more than a frame has.
                let size = (room as usize).min(stream.unsent.len());
                let is_last = size == stream.unsent.len();
                let after = if is_last { AfterFrame::Nothing } else { AfterFrame::More };
                let out = context.output.buffer();
                write_data_head(stream.number, size as u32, after, out);
                out.extend_from_slice(&stream.unsent[..size]);
                stream.unsent.drain(..size);
                stream.window -= size as i64;
                window -= size as i64;
            }
        }
        streams.window = window;
        self.note_stall(streams, is_stalled.then_some(context.now.monotonic_ns));
    }

    /// Content waits for a window since this time, or no longer.
    fn note_stall(&mut self, streams: &mut Streams, since_ns: Option<u64>) {
        match (streams.stalled_since_ns, since_ns) {
            (None, Some(_)) => {
                self.tally.streams.get_or_insert_default().window_stalls += 1;
                streams.stalled_since_ns = since_ns;
            }
            (Some(begun_ns), None) => {
                let lasted_ns = self.now_ns.saturating_sub(begun_ns.max(self.window.begin_ns));
                self.tally.streams.get_or_insert_default().window_stalled_ns += lasted_ns;
                streams.stalled_since_ns = None;
            }
            _ => {}
        }
    }

    /// Some requests were not answered in time: each fails alone. Returns whether the connection is of use: not if
    /// nothing at all came on it.
    pub(in crate::client) fn expire_streams(
        &mut self,
        connection: &mut LoadConnection,
        context: &mut Context<'_, NoThreadMessage>,
    ) -> bool {
        let now_ns = context.now.monotonic_ns;
        let timeout_ns = u64::try_from(self.work.plan.timeout.as_nanos()).unwrap_or(u64::MAX);
        let Some(streams) = connection.streams.as_deref_mut() else { return false };
        // The clock of deadlines has milliseconds.
        let is_over = |since_ns: u64| now_ns.saturating_sub(since_ns) + 1_000_000 >= timeout_ns;
        if is_over(streams.heard_ns) {
            return false;
        }
        let first = |streams: &mut Streams| {
            streams.iter().next().map(|stream| (stream.number, stream.pending.sent_ns))
        };
        while let Some((number, sent_ns)) = first(streams)
            && is_over(sent_ns)
        {
            write_reset(number, ErrorCode::Cancel, context.output.buffer());
            if let Some(pending) = streams.end(number) {
                self.tally.fail_sent(FailureKind::Timeout, pending.sent_ns, now_ns);
            }
        }
        true
    }
}
