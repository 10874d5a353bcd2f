//! The servers of these tests: with prior knowledge on a plain listener, or with TLS; and clients that send frames.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use conformance::h2::{FrameClient, FrameTarget, StreamAnswer};
use conformance::{Capability, Options, TestedServer};

use crate::server::certificates::Authority;
use crate::server::patience::PATIENCE;
use crate::server::{Plan, Server};

/// A plain listener whose clients may begin with HTTP/2.
pub(crate) const PLAIN: &str = "[[listener]]\naddress = \"127.0.0.1:0\"\nh2c = true\n";

/// A listener with TLS, whose certificate is that of [`encrypted`].
pub(crate) const ENCRYPTED: &str = "[[listener]]\naddress = \"127.0.0.1:0\"\ntls = { certificate = \"site.pem\", key = \
                                    \"site.key\" }\n";

/// A site that speaks HTTP/2 on a plain listener, with these other settings.
pub(crate) fn plan(config: &str) -> Plan {
    let plan = Plan::new().config(&format!("{PLAIN}{config}")).listen_as_configured(1);
    plan.argument("--schedulers=1")
}

/// A site with TLS for `localhost`, its address, and the file of its authority.
pub(crate) fn encrypted(plan: Plan) -> (Server, SocketAddr, PathBuf) {
    let plan = plan.listen_as_configured(1);
    let authority = Authority::in_directory(&plan.directory);
    authority.issue(&plan.directory, "site", &["localhost"]);
    let server = plan.start();
    let address = server.announced[0].strip_prefix("https://").unwrap().trim_end_matches('/');
    let (address, ca) = (address.parse().unwrap(), server.directory().join("ca.pem"));
    (server, address, ca)
}

/// How frames are played: patiently, because tests share two cores.
pub(crate) fn options() -> Options {
    Options {
        response_timeout: PATIENCE,
        close_timeout: PATIENCE,
        settle_timeout: Duration::from_millis(150),
        ..Options::default()
    }
}

/// The facts about a server for clients that send frames: `{file}` is this path.
pub(crate) fn target(server: &Server, file: &str) -> FrameTarget {
    let tested = TestedServer::new(server.address()).with(Capability::File, file);
    FrameTarget::learn(&tested, &options())
}

/// Plays lines, and expects that no wait was in vain and that the server broke no rule.
pub(crate) fn play(client: &mut FrameClient<'_>, lines: &str) {
    client.play(lines).unwrap();
    assert_eq!(client.violation(), None, "{lines}: {}", client.frames());
    assert_eq!(client.in_vain(), None, "{lines}: {}", client.frames());
}

/// The answer on a stream, which must have come.
pub(crate) fn answer<'c>(client: &'c FrameClient<'_>, stream: u32) -> &'c StreamAnswer {
    client.answer(stream).unwrap_or_else(|| panic!("nothing on {stream}: {}", client.frames()))
}

/// The final status on a stream, which must have come.
pub(crate) fn status(client: &FrameClient<'_>, stream: u32) -> u16 {
    let status = answer(client, stream).status();
    status.unwrap_or_else(|| panic!("no head on {stream}: {}", client.frames()))
}

/// The content on a stream as text.
pub(crate) fn content(client: &FrameClient<'_>, stream: u32) -> String {
    String::from_utf8_lossy(answer(client, stream).content()).into_owned()
}

/// A field of the final head on a stream, or nothing.
pub(crate) fn field(client: &FrameClient<'_>, stream: u32, name: &str) -> String {
    let value = answer(client, stream).field(name).unwrap_or_default();
    String::from_utf8_lossy(value).into_owned()
}
