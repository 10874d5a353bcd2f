//! The order in which streams send (RFC 9218).
//!
//! Owns the priority of a request, and the queue of streams that have something to send. Never asks a stream.

use std::collections::VecDeque;

use wire::h2::StreamPriority;
use wire::http::head::Fields;

/// The urgency of a picture whose request says none: behind documents, styles and scripts.
const PICTURE_URGENCY: u8 = 5;

/// The priority of a request. Without the field of RFC 9218, answers share the connection, and pictures come after the
/// rest.
pub(crate) fn priority_of(fields: &Fields<'_, '_>) -> StreamPriority {
    if let Some(value) = fields.first("priority") {
        return StreamPriority::parse(value);
    }
    let is_picture = match fields.first("sec-fetch-dest") {
        Some(kind) => matches!(kind, b"image" | b"video" | b"audio"),
        None => fields.first("accept").is_some_and(|accept| accept.starts_with(b"image/")),
    };
    let usual = StreamPriority::SHARED;
    if is_picture { usual.with_urgency(PICTURE_URGENCY) } else { usual }
}

/// The places of the streams that may have something to send, by urgency, and within one urgency in the order in which
/// they came.
#[derive(Debug, Default)]
pub(crate) struct SendQueue(VecDeque<Waiting>);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: usize,
    urgency: u8,
}

impl SendQueue {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a stream behind all that are as urgent.
    pub(crate) fn push(&mut self, place: usize, priority: StreamPriority) {
        let urgency = priority.urgency();
        let waiting = Waiting { place, urgency };
        match self.0.back() {
            Some(last) if last.urgency > urgency => {
                let at = self.0.partition_point(|other| other.urgency <= urgency);
                self.0.insert(at, waiting);
            }
            _ => self.0.push_back(waiting),
        }
    }

    /// Adds a stream before all that are as urgent: it goes on.
    pub(crate) fn push_first(&mut self, place: usize, priority: StreamPriority) {
        let urgency = priority.urgency();
        let at = self.0.partition_point(|other| other.urgency < urgency);
        self.0.insert(at, Waiting { place, urgency });
    }

    /// The stream that is next.
    pub(crate) fn pop(&mut self) -> Option<usize> {
        self.0.pop_front().map(|waiting| waiting.place)
    }

    /// The places of the streams that wait.
    pub(crate) fn places(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|waiting| waiting.place)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use wire::http::fields::FieldList;

    use super::*;

    fn priority(value: &str) -> StreamPriority {
        StreamPriority::parse(value.as_bytes())
    }

    fn of_fields(fields: &[(&str, &str)]) -> StreamPriority {
        let mut list = FieldList::new();
        for (name, value) in fields {
            list.add(name, value.as_bytes()).expect("a field");
        }
        priority_of(&list.fields())
    }

    #[test]
    fn a_request_without_a_priority_shares_and_pictures_come_later() {
        assert_eq!(of_fields(&[]), priority("u=3, i"));
        assert_eq!(of_fields(&[("accept", "image/avif,*/*")]), priority("u=5, i"));
        assert_eq!(
            of_fields(&[("sec-fetch-dest", "document"), ("accept", "image/a")]),
            priority("i")
        );
        assert_eq!(of_fields(&[("priority", "u=1"), ("accept", "image/png")]), priority("u=1"));
    }

    #[test]
    fn the_most_urgent_comes_first_and_of_equals_the_one_that_waits_longest() {
        let mut queue = SendQueue::default();
        for (number, value) in [(1, "u=3"), (3, "u=5"), (5, "u=3"), (7, "u=0"), (9, "u=5")] {
            queue.push(number, priority(value));
        }
        queue.push_first(11, priority("u=3"));
        let order: Vec<usize> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [7, 11, 1, 5, 3, 9]);
    }
}
