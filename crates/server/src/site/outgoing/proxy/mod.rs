//! Upstreams, and the requests on their way to their servers.
//!
//! `upstreams` has the upstreams of this scheduler, `carried` one request on its way, `desk` all of them. `dispatch`
//! gives a request a server, `upload` hands on its body, `failing` says what a failure means. What a server is told of
//! a client before the first byte is in `introduction`, what is changed in heads is in `request_head` and
//! `answer_head`, and `upgrade` says to which protocols both may change. Which server is chosen is the decision of the
//! crate `proxy`; the exchange with it belongs to `client`. The site's side is in `proxied`.

pub(in crate::site) mod answer_head;
pub(in crate::site) mod carried;
mod checks;
pub(in crate::site) mod desk;
mod dispatch;
pub(in crate::site) mod failing;
pub(in crate::site) mod hop;
pub(in crate::site) mod introduction;
mod log_gate;
pub(in crate::site) mod question;
pub(in crate::site) mod request_head;
mod schedule;
mod sticky;
pub(in crate::site) mod target;
pub(in crate::site) mod upgrade;
mod upload;
mod upstreams;

pub(crate) use carried::Tunnelled;
pub(crate) use desk::Proxies;
