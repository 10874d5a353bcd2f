//! The client for browsers: a script, and its types.
//!
//! Owns these two answers, which exist if there are channels.

use config::route::FoundRoute;
use http::{Answer, FieldList};
use wire::http::method::Method;
use wire::http::status::Status;

use super::Site;
use super::exchange::{Exchange, allow};
use super::file::FILE_METHODS;
use crate::message::AnswerContext;

/// The paths, their media types and their content.
const FILES: [(&str, &str, &str); 2] = [
    ("/velodrome.js", "text/javascript; charset=utf-8", include_str!("velodrome.js")),
    ("/velodrome.d.ts", "text/plain; charset=utf-8", include_str!("velodrome.d.ts")),
];

impl Site {
    /// Answers a request for one of these.
    pub(super) fn answer_client(
        &mut self,
        found: &FoundRoute<'_>,
        exchange: &mut Exchange<'_, '_>,
        context: &mut AnswerContext<'_>,
    ) -> Answer {
        let file = FILES.iter().find(|(known, ..)| *known == found.path);
        let Some((_, media_type, text)) = file else {
            return self.refuse(Status::NOT_FOUND, &FieldList::new(), found, exchange, context);
        };
        if !matches!(exchange.request.method(), Method::Get | Method::Head) {
            let status = Status::METHOD_NOT_ALLOWED;
            return self.refuse(status, &allow(FILE_METHODS), found, exchange, context);
        }
        exchange.reply.begin(Status::OK);
        exchange.configured_fields_but(|field| field.eq_ignore_ascii_case("content-type"));
        let _valid = exchange.reply.field("Content-Type", media_type.as_bytes());
        exchange.reply.end_head_with_length(text.len() as u64);
        exchange.reply.body(text.as_bytes());
        Answer::Done
    }
}
