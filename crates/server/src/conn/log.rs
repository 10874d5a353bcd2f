//! Access log lines on their way to the log writer.

use super::Connections;
use crate::message::{ServiceContext, ToLogWriter};

/// When waiting lines are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Due,
    Now,
}

impl Connections {
    /// Hands waiting lines to the log writer, if they are due or there will be no later chance.
    pub(super) fn hand_over_log(&mut self, context: &mut ServiceContext<'_>, when: When) {
        let Some(writer) = self.http.application().log_writer() else { return };
        let Some(log) = self.http.log_mut() else { return };
        if when == When::Due && !log.is_due(context.now) {
            if let Some(milliseconds) = log.due_in_ms(context.now) {
                context.wake_after_ms(milliseconds);
            }
            return;
        }
        let (lines, count) = log.take();
        if count == 0 {
            return;
        }
        if let Err(ToLogWriter::Lines(lines, count)) =
            context.mail.send_part(writer, ToLogWriter::Lines(lines, count))
        {
            log.put_back(lines, count);
            if log.is_overfull() {
                let (_, lost) = log.take();
                self.http.count_lost_lines(lost);
            }
        }
    }
}
