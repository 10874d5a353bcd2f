//! The verb `serve`: from flags to a source, and the output for the user.

use config::{
    CertificatesOverride, DescriptorTables, ListenerAddress, Overrides, PageErrors, Protocol,
    Steering, parse_duration,
};
use runtime::diagnostic::{self, Level};
use runtime::outlet;
use server::load::ConfigSource;
use server::serve::{Security, StartedServer, serve};

use crate::Failure;
use crate::flags;

/// Serves until told to stop.
pub(crate) fn run(flags: &flags::Serve) -> Result<(), Failure> {
    let source = ConfigSource {
        directory: flags.source.directory.clone(),
        config: flags.source.config.clone(),
        overrides: overrides(flags)?,
    };
    serve(&source, announce).map_err(|error| {
        // Nobody may read standard error by now, and the process has to end.
        for line in error.to_string().lines() {
            outlet::write_by_itself(&format!("velodrome: {line}\n"));
        }
        Failure::Told
    })
}

fn overrides(flags: &flags::Serve) -> Result<Overrides, Failure> {
    let addresses = |flag: &str, texts: &[String]| {
        let address = |text: &String| {
            let wrong = |error| Failure::WrongUse(format!("{flag} {text}: {error}"));
            text.parse::<ListenerAddress>().map_err(wrong)
        };
        texts.iter().map(address).collect::<Result<_, _>>()
    };
    let time = |flag: &str, text: Option<&String>| {
        let wrong = |text, error| Failure::WrongUse(format!("{flag} {text}: {error}"));
        text.map(|text| parse_duration(text).map_err(|error| wrong(text, error))).transpose()
    };
    let pin = if flags.pin { Some(true) } else { flags.no_pin.then_some(false) };
    Ok(Overrides {
        listen: addresses("--listen", &flags.listen)?,
        listen_resp: addresses("--listen-resp", &flags.listen_resp)?,
        store: flags.store.clone(),
        schedulers: flags.schedulers,
        pin,
        spin: time("--spin", flags.spin.as_ref())?,
        busy_poll: time("--busy-poll", flags.busy_poll.as_ref())?,
        profile_ring: time("--profile-ring", flags.profile_ring.as_ref())?,
        descriptor_tables: flags.descriptor_tables.map(|whose| match whose {
            flags::Tables::Private => DescriptorTables::Private,
            flags::Tables::Shared => DescriptorTables::Shared,
        }),
        steering: flags.reuseport_cpu.then_some(Steering::Cpu),
        defer_accept: time("--defer-accept", flags.defer_accept.as_ref())?,
        admin_socket: flags.admin_socket.clone(),
        certificates: if flags.tls_self_signed {
            CertificatesOverride::SelfSigned
        } else {
            CertificatesOverride::None
        },
        page_errors: if flags.dev { PageErrors::Shown } else { PageErrors::Hidden },
        ..Overrides::default()
    })
}

/// The server starts even if nobody reads its standard output.
fn announce(standing: &StartedServer) {
    let schedulers = match standing.schedulers {
        1 => "1 scheduler".to_owned(),
        count => format!("{count} schedulers"),
    };
    let mut text = format!(
        "velodrome {} serves {} with {schedulers} at\n",
        env!("CARGO_PKG_VERSION"),
        standing.directory
    );
    for (address, (protocol, security)) in standing.addresses.iter().zip(&standing.protocols) {
        let secure = if *security == Security::Tls { "s" } else { "" };
        text += &match address.strip_prefix("unix:") {
            Some(path) => format!("  unix:{path}\n"),
            None if address.starts_with("inherited") => format!("  {address}\n"),
            None if *protocol == Protocol::Resp => format!("  redis{secure}://{address}\n"),
            None => format!("  http{secure}://{address}/\n"),
        };
    }
    if let Err(error) = outlet::print(&text) {
        let line = format_args!("the addresses are not printed on standard output: {error}");
        diagnostic::write(Level::Warn, line);
    }
}
