//! How a server is started: its configuration and its arguments, with the addresses and folders of a run put in.
//!
//! Each configuration (folder `configurations`) is as small as the server's offers allow, with the deadlines for slow
//! clients at one second, and otherwise without changes that affect the requirements. For HTTP/2 it is a plain
//! listener with prior knowledge, so that the suite needs no certificate. nginx has that of the suite's own test, so
//! that a known deviation there is one here.
//!
//! A proxy uses a connection of its own for each body: ours closes idle connections after a second, and a body sent on
//! one at that moment would fail because of our server.

use std::net::SocketAddr;

use crate::conformance::site::Site;
use crate::failure::Failure;

/// The largest body in bytes that the echo path accepts, here and in our own service.
const BODY_LIMIT_BYTES: u32 = 65_536;

/// The addresses of a run.
#[derive(Clone, Copy)]
pub(crate) struct Addresses {
    /// The server under test.
    pub(crate) own: SocketAddr,
    /// `velodrome serve` with the files.
    pub(crate) files: SocketAddr,
    /// The echo service.
    pub(crate) echo: SocketAddr,
}

/// A configuration and the arguments of its server. Names between two `@` stand for values of the run.
pub(crate) struct Configuration {
    /// The name of the file.
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
    pub(crate) arguments: &'static [&'static str],
}

impl Configuration {
    /// Writes the configuration and returns the arguments.
    pub(crate) fn write(&self, site: &Site, addresses: &Addresses) -> Result<Vec<String>, Failure> {
        let values = [
            ("@FOLDER@", site.folder().display().to_string()),
            ("@CONFIGURATION@", site.folder().join(self.file).display().to_string()),
            ("@ADDRESS@", addresses.own.to_string()),
            ("@IP@", addresses.own.ip().to_string()),
            ("@PORT@", addresses.own.port().to_string()),
            ("@FILE_SERVER@", addresses.files.to_string()),
            ("@ECHO@", addresses.echo.to_string()),
            ("@BODY_LIMIT_BYTES@", BODY_LIMIT_BYTES.to_string()),
        ];
        let filled = |text: &str| {
            let put = |text: String, (name, value): &(&str, String)| text.replace(name, value);
            values.iter().fold(text.to_owned(), put)
        };
        site.write(self.file, &filled(self.text))?;
        Ok(self.arguments.iter().map(|argument| filled(argument)).collect())
    }
}
