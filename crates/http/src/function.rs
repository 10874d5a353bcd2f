//! A function as an application, and the shortest way to serve one.
//!
//! For services written against the library: each scheduler has its own function, so it may keep
//! state without locks.

use std::io;
use std::sync::Arc;

use sys::pollset::Speaks;

use super::answer_context::AnswerContext;
use super::application::{Answer, Application, BodyPolicy};
use super::reply::Reply;
use super::request::Request;
use super::settings::HttpSettings;
use super::shared::Http;

/// A function that answers every request at once.
///
/// [`serve`] makes one; the example of [`AccessLog`](crate::AccessLog) makes one by hand.
pub struct Function<F>(pub F);

/// Has no values, because a function gets no messages.
#[derive(Debug)]
pub enum NoMessage {}

impl<F: FnMut(&Request<'_>, &mut Reply<'_>)> Application for Function<F> {
    type Message = NoMessage;

    fn body_policy(
        &mut self,
        _request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy {
        BodyPolicy::Collect { limit: crate::limits::BODY_SIZE }
    }

    #[inline]
    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        _context: &mut AnswerContext<'_, NoMessage>,
    ) -> Answer {
        self.0(request, reply);
        Answer::Done
    }
}

/// Serves HTTP at an address such as `127.0.0.1:8080` until the process ends, with one scheduler for each CPU that
/// the process may use. `make` makes the function of each scheduler.
///
/// ```no_run
/// http::serve("127.0.0.1:8080", || {
///     let mut visits = 0;
///     move |_request, reply| {
///         visits += 1;
///         reply.text(&format!("visit {visits} on this scheduler"));
///     }
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If the address cannot be resolved or bound, or a thread cannot be started.
pub fn serve<F, M>(address: &str, make: M) -> io::Result<()>
where
    F: FnMut(&Request<'_>, &mut Reply<'_>) + 'static,
    M: Fn() -> F + Send + Sync + 'static,
{
    let settings = Arc::new(HttpSettings::default());
    runtime::serve::serve(address, Speaks::CLIENT, move || {
        Http::new(Function(make()), Arc::clone(&settings), None)
    })
}
