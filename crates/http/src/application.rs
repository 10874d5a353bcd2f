//! The application contract: what answers requests.
//!
//! Owns the vocabulary between an HTTP connection and its application. An application makes no
//! system calls; if it cannot answer at once, it is asked again later.

use runtime::mailbox::Endpoint;
use runtime::output::FileRegion;
use runtime::service::{Context, ServiceContext};
use runtime::slots::ProcessId;
use wire::http::status::Status;

use super::reply::Reply;
use super::request::Request;
use super::shared::Http;

/// What became of a request.
///
/// ```
/// use http::{Answer, AnswerContext, Application, BodyPolicy, Http, Interest, Reply, Request, Settings};
/// use runtime::service::{Command, ServiceContext};
/// use runtime::slots::ProcessId;
/// use world::Stage;
///
/// /// Answers each request a turn after it came.
/// #[derive(Default)]
/// struct Later(Vec<ProcessId>);
///
/// impl Application for Later {
///     type Message = ();
///
///     fn body_policy(&mut self, _request: &Request<'_>) -> BodyPolicy {
///         BodyPolicy::Ignore
///     }
///
///     fn on_request(
///         &mut self,
///         _request: &Request<'_>,
///         reply: &mut Reply<'_>,
///         context: &mut AnswerContext<'_, ()>,
///     ) -> Answer {
///         if let Some(waits) = self.0.iter().position(|process| *process == context.id) {
///             self.0.remove(waits);
///             reply.text("later");
///             return Answer::Done;
///         }
///         self.0.push(context.id);
///         Answer::Wait
///     }
///
///     fn on_turn_end(http: &mut Http<Self>, context: &mut ServiceContext<'_, ()>) {
///         for process in &http.application().0 {
///             context.command(Command::Resume(*process));
///         }
///     }
///
///     fn on_peer_finished(&mut self, _process: ProcessId) -> Interest {
///         Interest::Kept
///     }
///
///     fn on_gone(&mut self, process: ProcessId) {
///         self.0.retain(|waits| *waits != process);
///     }
/// }
///
/// let mut stage = Stage::new(1, || Http::new(Later::default(), Settings::default().into(), None));
/// let client = stage.connect();
/// assert!(stage.exchange(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").ends_with("\r\n\r\nlater"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The reply is written.
    Done,
    /// Something has to come first; nothing was written. The connection waits until its process is resumed
    /// ([`runtime::service::Command::Resume`]) and then asks again with the same request.
    ///
    /// After a part: nothing more was written.
    Wait,
    /// A part of the reply is written ([`Reply::begin_parts`], [`Reply::part`]), and more follows. The same request is asked
    /// again as soon as the client has taken what was written, and not before: who produces parts without end has no more
    /// than one in memory.
    Part,
    /// The connection becomes another protocol's: [`Reply::switch_protocols`] is written, and what follows the request is not
    /// HTTP. Or a head of 200 is written that says `Connection: close` and no length ([`Reply::close`]): the body is then what the other
    /// process puts out until it ends. The connection's run ends with [`Next::Changed`](runtime::service::Next::Changed), and the service puts another
    /// process in its place. A service of HTTP alone has none, and closes it.
    Upgrade,
    /// The rest will not come: what was written is sent, and the connection ends so that the client sees that the reply is
    /// cut.
    Cut,
}

/// Whether an answer is still wanted by a client that has ended its side.
///
/// [`Application::on_peer_finished`] says it; there is one in the example of [`Answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// It is: the answer will not be long in coming.
    Kept,
    /// Perhaps: the connection finds out, by sending the first bytes of the answer now. A client that is gone resets them.
    Doubted,
    /// It is not: the connection is closed.
    Lost,
}

/// What is to be done with a request's body.
///
/// ```
/// use http::{Answer, AnswerContext, Application, BodyPolicy, Http, Intake, Reply, Request, Settings};
/// use world::Stage;
///
/// /// Counts the bytes of a body and keeps none.
/// #[derive(Default)]
/// struct Length(usize);
///
/// impl Application for Length {
///     type Message = ();
///
///     fn body_policy(&mut self, _request: &Request<'_>) -> BodyPolicy {
///         BodyPolicy::Stream { limit: 1 << 30 }
///     }
///
///     fn on_body(&mut self, piece: &[u8], _context: &mut AnswerContext<'_, ()>) -> Intake {
///         self.0 += piece.len();
///         Intake::More
///     }
///
///     fn on_request(
///         &mut self,
///         _request: &Request<'_>,
///         reply: &mut Reply<'_>,
///         _context: &mut AnswerContext<'_, ()>,
///     ) -> Answer {
///         reply.json(&std::mem::take(&mut self.0));
///         Answer::Done
///     }
/// }
///
/// let mut stage = Stage::new(1, || Http::new(Length::default(), Settings::default().into(), None));
/// let client = stage.connect();
/// let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
/// assert_eq!(stage.exchange(client, &format!("{head}abc")), "");
/// assert!(stage.exchange(client, "de").ends_with("\r\n\r\n5"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyPolicy {
    /// Collect it, up to so many bytes; more is refused with 413.
    Collect {
        /// Most bytes.
        limit: u64,
    },
    /// Hand it over as it comes, up to so many bytes; more is refused with 413. Nothing of it is kept here: the request
    /// is asked about without a body.
    Stream {
        /// Most bytes.
        limit: u64,
    },
    /// It does not matter: answer first, then discard a small one or close.
    Ignore,
}

/// What an application says to a piece of a body that is handed over to it.
///
/// The example of [`BodyPolicy`] takes all of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// Go on.
    More,
    /// No more now. The connection reads nothing until its process is resumed, and then asks again with an empty piece.
    Pause,
    /// No more at all: the request is asked about now, and its connection ends with the answer.
    Enough,
}

/// The code that answers the requests of one scheduler. [`App`](crate::App) is one with routes; this is for what it cannot do.
///
/// ```
/// use http::{Answer, AnswerContext, Application, BodyPolicy, Http, Reply, Request, Settings};
/// use world::Stage;
///
/// /// Counts requests.
/// struct Counter(u64);
///
/// impl Application for Counter {
///     type Message = ();
///
///     fn body_policy(&mut self, _request: &Request<'_>) -> BodyPolicy {
///         BodyPolicy::Ignore
///     }
///
///     fn on_request(
///         &mut self,
///         _request: &Request<'_>,
///         reply: &mut Reply<'_>,
///         _context: &mut AnswerContext<'_, ()>,
///     ) -> Answer {
///         self.0 += 1;
///         reply.json(&self.0);
///         Answer::Done
///     }
/// }
///
/// let mut stage = Stage::new(1, || Http::new(Counter(0), Settings::default().into(), None));
/// let client = stage.connect();
/// let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/// assert!(stage.exchange(client, request).ends_with("\r\n\r\n1"));
/// assert!(stage.exchange(client, request).ends_with("\r\n\r\n2"));
/// ```
pub trait Application: Sized {
    /// What crosses schedulers for its sake: a closed enum.
    type Message: Send;

    /// What to do with the body of this request, asked before the body is read.
    fn body_policy(&mut self, request: &Request<'_>) -> BodyPolicy;

    /// A body is about to be handed over ([`BodyPolicy::Stream`]). From now on there is an answer to this request, or
    /// [`on_gone`](Self::on_gone).
    fn begin_body(
        &mut self,
        _request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> Intake {
        Intake::More
    }

    /// The next piece of such a body: all of it is taken, whatever is said to it. An empty one asks whether a pause is over.
    fn on_body(
        &mut self,
        _piece: &[u8],
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> Intake {
        Intake::More
    }

    /// Answers a request.
    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Self::Message>,
    ) -> Answer;

    /// Writes the body of an error page that the connection itself has to send, and says its media type.
    fn error_page(&mut self, status: Status, body: &mut Vec<u8>) -> &'static str {
        body.extend_from_slice(status.code().to_string().as_bytes());
        body.push(b' ');
        body.extend_from_slice(status.reason().as_bytes());
        body.push(b'\n');
        "text/plain; charset=utf-8"
    }

    /// The client of a request that waits, or whose reply is sent in parts, has ended its side of the connection: it sends no
    /// more, or it has gone.
    fn on_peer_finished(&mut self, _process: ProcessId) -> Interest {
        Interest::Kept
    }

    /// A request that waited, or whose body was handed over, is not asked about again: its connection has ended, or was
    /// answered without the application. The same after a panic of the application about a request.
    fn on_gone(&mut self, _process: ProcessId) {}

    /// The scheduler begins: before its first turn.
    fn on_start(_http: &mut Http<Self>, _context: &mut ServiceContext<'_, Self::Message>) {}

    /// A message came. `http` is the service around this application: settings, log and counters.
    fn on_message(
        _http: &mut Http<Self>,
        _from: Endpoint,
        _message: Self::Message,
        _context: &mut ServiceContext<'_, Self::Message>,
    ) {
    }

    /// A turn ends.
    fn on_turn_end(_http: &mut Http<Self>, _context: &mut ServiceContext<'_, Self::Message>) {}

    /// The scheduler has ended.
    fn on_stop(_http: &mut Http<Self>, _context: &mut ServiceContext<'_, Self::Message>) {}

    /// A file that is being sent is not in memory: have the region read, then resume the process.
    fn on_cold_file(
        &mut self,
        _region: &FileRegion,
        _context: &mut Context<'_, Self::Message>,
    ) -> bool {
        false
    }
}

/// What an application may use besides the reply.
///
/// The example of [`Answer`] keeps `id` for a request that waits.
pub struct AnswerContext<'a, M> {
    /// The process that is to be resumed after [`Answer::Wait`].
    pub id: ProcessId,
    /// The turn's time.
    pub now: runtime::clock::Now,
    /// The scheduler's mailbox.
    pub mail: &'a mut runtime::mailbox::Mailbox<M>,
}
