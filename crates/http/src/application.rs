//! The application contract: what answers requests.
//!
//! Owns the vocabulary between an HTTP connection and its application. An application makes no
//! system calls; if it cannot answer at once, it is asked again later.

use runtime::mailbox::Endpoint;
use runtime::output::FileRegion;
use runtime::service::{Context, ListenerIndex, ServiceContext};
use runtime::slots::ProcessId;
use runtime::transport::Transport;
use wire::http::fields::FieldList;
use wire::http::status::Status;

use super::answer_context::AnswerContext;
use super::reply::Reply;
use super::request::Request;
use super::slow::SlowRequest;
use super::unanswered::Unanswered;
use super::waiting::{Patience, Urgency};
use crate::Http;

/// The result of asking an application about a request.
///
/// ```
/// use http::{Answer, AnswerContext, Application, BodyPolicy, Http, ClientInterest, Reply, Request, HttpSettings};
/// use runtime::service::{SchedulerCommand, ServiceContext};
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
///     fn body_policy(
///         &mut self,
///         _request: &Request<'_>,
///         _context: &mut AnswerContext<'_, ()>,
///     ) -> BodyPolicy {
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
///             context.command(SchedulerCommand::Resume(*process));
///         }
///     }
///
///     fn on_peer_finished(&mut self, _process: ProcessId) -> ClientInterest {
///         ClientInterest::Kept
///     }
///
///     fn on_gone(&mut self, process: ProcessId) {
///         self.0.retain(|waits| *waits != process);
///     }
/// }
///
/// let mut stage = Stage::new(1, || Http::new(Later::default(), HttpSettings::default().into(), None));
/// let client = stage.connect();
/// assert!(stage.exchange(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").ends_with("\r\n\r\nlater"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The reply is written.
    Done,
    /// The application has to wait for something, and nothing was written. The connection waits until its process is
    /// resumed ([`runtime::service::SchedulerCommand::Resume`]), then asks again about the same request.
    ///
    /// After a part: nothing more was written.
    Wait,
    /// A part of the reply was written ([`Reply::begin_parts`], [`Reply::part`]), and more follows. The connection asks
    /// again about the same request once the client has read what was written, but not before, so an application that
    /// produces parts without end has at most one in memory.
    Part,
    /// The connection or stream changes to another protocol: [`Reply::switch_protocols`] was written, and the bytes
    /// after the request are not HTTP. Or a 200 head was written with `Connection: close` and no length
    /// ([`Reply::close`]): then the body is whatever the other process writes until it ends. The connection's run ends
    /// with [`Next::Changed`](runtime::service::Next::Changed), and the service puts another process in its place. A
    /// service of HTTP alone has no such process and closes the connection.
    Upgrade,
    /// Nothing is answered: nothing was written, and the connection ends. The log has the status 444, as nginx's does.
    Drop,
    /// The rest will not come: what was written is sent, and the connection ends in a way that shows the client that
    /// the reply is incomplete.
    Cut,
}

impl Answer {
    /// Whether the request has ended: nothing is asked about it again.
    #[inline]
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Done | Self::Upgrade | Self::Drop | Self::Cut => true,
            Self::Wait | Self::Part => false,
        }
    }
}

/// Whether a client that has ended its output still wants the answer.
///
/// Returned by [`Application::on_peer_finished`]; the example of [`Answer`] has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientInterest {
    /// Yes: the answer will come soon.
    Kept,
    /// Unknown: the connection finds out by sending the first bytes of the answer now. A client that has closed answers
    /// with a reset.
    Doubted,
    /// No: the connection is closed.
    Lost,
}

/// How to handle a request's body.
///
/// ```
/// use http::{Answer, AnswerContext, Application, BodyPolicy, Http, Intake, Reply, Request, HttpSettings};
/// use world::Stage;
///
/// /// Counts the bytes of a body and keeps none.
/// #[derive(Default)]
/// struct Length(usize);
///
/// impl Application for Length {
///     type Message = ();
///
///     fn body_policy(
///         &mut self,
///         _request: &Request<'_>,
///         _context: &mut AnswerContext<'_, ()>,
///     ) -> BodyPolicy {
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
/// let mut stage = Stage::new(1, || Http::new(Length::default(), HttpSettings::default().into(), None));
/// let client = stage.connect();
/// let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
/// assert_eq!(stage.exchange(client, &format!("{head}abc")), "");
/// assert!(stage.exchange(client, "de").ends_with("\r\n\r\n5"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyPolicy {
    /// Collect it, up to a limit; a larger body is refused with 413.
    Collect {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// Ask first whether it may come ([`Application::admit_body`]); then collect it. Until then nothing of it is read,
    /// and a client that waits for `100 Continue` goes on waiting (RFC 9110 section 10.1.1).
    Admit {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// Hand it over as it arrives, up to a limit; a larger body is refused with 413. Nothing is kept here: the
    /// application is asked about the request without a body.
    Stream {
        /// Maximum number of bytes.
        limit: u64,
    },
    /// It is not needed: the application is asked about the request without it. A short one is discarded, a longer one
    /// is left unread, and the connection closes behind the answer.
    Ignore,
}

/// An application's response to a piece of a body.
///
/// The example of [`BodyPolicy`] accepts a whole body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// Continue.
    More,
    /// Pause. The connection reads nothing until its process is resumed, and then asks again with an empty piece. A
    /// process that is resumed without a pause is asked too.
    Pause,
    /// Stop. The application is asked for the answer now, and the connection ends with it.
    Enough,
}

/// The code that answers the requests of one scheduler. [`App`](crate::App) implements it with routes; implement it for
/// what `App` cannot do.
///
/// ```
/// use http::{Answer, AnswerContext, Application, BodyPolicy, Http, Reply, Request, HttpSettings};
/// use world::Stage;
///
/// /// Counts requests.
/// struct Counter(u64);
///
/// impl Application for Counter {
///     type Message = ();
///
///     fn body_policy(
///         &mut self,
///         _request: &Request<'_>,
///         _context: &mut AnswerContext<'_, ()>,
///     ) -> BodyPolicy {
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
/// let mut stage = Stage::new(1, || Http::new(Counter(0), HttpSettings::default().into(), None));
/// let client = stage.connect();
/// let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/// assert!(stage.exchange(client, request).ends_with("\r\n\r\n1"));
/// assert!(stage.exchange(client, request).ends_with("\r\n\r\n2"));
/// ```
pub trait Application: Sized {
    /// Its messages between schedulers: a closed enum.
    type Message: Send;

    /// The transport of a connection that a listener has accepted; `None`: it is plain. A service whose processes are
    /// not all HTTP chooses transports itself.
    fn transport(&mut self, _listener: ListenerIndex) -> Option<Box<dyn Transport>> {
        None
    }

    /// How to handle the body of this request. Called before the body is read. What `context` keeps, such as the
    /// request's route, is there in the next call about it.
    fn body_policy(
        &mut self,
        request: &Request<'_>,
        context: &mut AnswerContext<'_, Self::Message>,
    ) -> BodyPolicy;

    /// Whether a body may come that is collected then ([`BodyPolicy::Admit`]). After [`Intake::Pause`] it is asked
    /// again when the process is resumed.
    fn admit_body(
        &mut self,
        _request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> Intake {
        Intake::More
    }

    /// A body will be handed over ([`BodyPolicy::Stream`]). After this call the request is either answered, or
    /// [`on_gone`](Self::on_gone) is called.
    fn begin_body(
        &mut self,
        _request: &Request<'_>,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> Intake {
        Intake::More
    }

    /// The next piece of such a body. It counts as consumed whatever the response. An empty piece asks whether a pause
    /// is over.
    fn on_body(
        &mut self,
        _piece: &[u8],
        _context: &mut AnswerContext<'_, Self::Message>,
    ) -> Intake {
        Intake::More
    }

    /// A body that was handed over is complete, and these fields came behind it. The application is asked about the
    /// request next.
    fn on_body_end(
        &mut self,
        _trailers: &FieldList,
        _context: &mut AnswerContext<'_, Self::Message>,
    ) {
    }

    /// Whether a request needs to be answered before the end of its body, or cut before its client has taken what was
    /// sent. Called after each piece of a body that is handed over, and when the process is resumed
    /// ([`Command::Run`](runtime::service::SchedulerCommand::Run), because a process that reads is not waiting).
    fn urgency(&mut self, _process: ProcessId) -> Urgency {
        Urgency::Nothing
    }

    /// Bytes of memory in which the application keeps what was handed over of the body of this request. They count
    /// towards the scheduler's memory limit until the request is answered.
    fn kept_of_body(&self, _process: ProcessId) -> usize {
        0
    }

    /// Whether the deadline of the settings applies to a request that waits, or whose body or answer pauses.
    fn patience(&self, _process: ProcessId) -> Patience {
        Patience::Settings
    }

    /// Answers a request.
    fn on_request(
        &mut self,
        request: &Request<'_>,
        reply: &mut Reply<'_>,
        context: &mut AnswerContext<'_, Self::Message>,
    ) -> Answer;

    /// A request took long until it was answered, refused, or given up by its client, as
    /// [`HttpSettings::slow_ns`](crate::HttpSettings::slow_ns) says.
    fn on_slow(&mut self, _request: &Request<'_>, _slow: &SlowRequest<'_>) {}

    /// Writes the body of an error page that the connection itself sends, and returns its media type.
    fn error_page(&mut self, status: Status, body: &mut Vec<u8>) -> &'static str {
        body.extend_from_slice(status.code().to_string().as_bytes());
        body.push(b' ');
        body.extend_from_slice(status.reason().as_bytes());
        body.push(b'\n');
        "text/plain; charset=utf-8"
    }

    /// A client whose request waits, or whose reply is sent in parts, has ended its output. It will send no
    /// more, and may have closed.
    fn on_peer_finished(&mut self, _process: ProcessId) -> ClientInterest {
        ClientInterest::Kept
    }

    /// A request that waited, or whose body was to come, ends without the application: its client has left, or it is
    /// answered or cut without it. What the application knows of it for the access log, it notes now; what the request
    /// has used, it counts. [`on_gone`](Self::on_gone) follows.
    fn on_unanswered(&mut self, _request: &Request<'_>, _unanswered: Unanswered<'_>) {}

    /// The application will not be asked again about a request that waited or whose body was to come: its connection
    /// has ended, or it was answered without the application. Also called after the application panicked in this
    /// request.
    fn on_gone(&mut self, _process: ProcessId) {}

    /// Called once, before the first turn.
    fn on_start(_http: &mut Http<Self>, _context: &mut ServiceContext<'_, Self::Message>) {}

    /// A message arrived. `http` is the service around this application, with settings, log and counters.
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
