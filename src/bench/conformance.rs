//! The verb `bench conformance`: the suites of HTTP/1.1 and HTTP/2 requirements, played against any server.

use std::sync::Arc;

use bench::plan::{Encryption, LoadAddress, LoadAddressError, LoadUrl, Ownership, resolve};
use conformance::{Capability, Detail, Options, Over, RequirementLevel, TestedServer};

use super::flags::Conformance;
use super::plan::{encryption_ask, encryption_failure};
use super::reaching::Encrypted;
use crate::Failure;
use crate::output::{OutputForm, print_line};

/// Runs the suite and prints the report.
pub(crate) fn run(flags: &Conformance) -> Result<(), Failure> {
    let (target, options) = (target(flags)?, options(flags)?);
    super::reaching::reach(&target, flags.timeout)?;
    let report = match flags.h2 {
        true => conformance::h2::run_frames(&target, &options),
        false => conformance::run(&target, &options),
    };
    let detail = if flags.exchanges { Detail::Everything } else { Detail::Failures };
    let text = match flags.form.form() {
        OutputForm::Json => report.to_json(),
        OutputForm::Text => report.to_text(detail),
    };
    print_line(&text.to_string())?;
    let counts = report.counts;
    if counts.passed + counts.failed == 0 {
        let text = "nothing was tested; does it answer, and what does it offer? (--offers file=/PATH, see \
                    --help)";
        return Err(Failure::Failed(format!("{}: {text}", flags.address)));
    }
    if counts.failed > 0 {
        let text = format!("{}: {} requirements are not met", flags.address, counts.failed);
        return Err(Failure::Failed(text));
    }
    Ok(())
}

fn target(flags: &Conformance) -> Result<TestedServer, Failure> {
    let wrong = |text: String| Failure::WrongUse(format!("{}: {text}", flags.address));
    let url: LoadUrl = flags.address.parse().map_err(|error| wrong(format!("{error}")))?;
    if url.path_and_query != "/" {
        return Err(wrong("an address has no path; name paths with --offers".to_owned()));
    }
    let ownership = if flags.i_own_this_host { Ownership::Declared } else { Ownership::Unsaid };
    let address = match resolve(&url.place, ownership) {
        Ok(LoadAddress::Tcp(address)) => address,
        Ok(LoadAddress::Unix(_)) => {
            return Err(wrong("the suite is played over TCP; name HOST:PORT".to_owned()));
        }
        Err(error @ LoadAddressError::Stranger { .. }) => {
            return Err(Failure::WrongUse(error.to_string()));
        }
        Err(error) => return Err(Failure::Failed(error.to_string())),
    };
    let mut target = TestedServer::new(address);
    target.host = flags.host.clone().unwrap_or_else(|| url.host_field());
    target.over = over(&url, flags)?;
    for offer in &flags.offers {
        let names = || Capability::ALL.map(Capability::name).join(", ");
        let known = offer.split_once('=').and_then(|(name, value)| {
            Capability::from_name(name).map(|capability| (capability, value))
        });
        let (capability, value) = known.ok_or_else(|| {
            let text = format!("--offers {offer}: write WHAT=VALUE; WHAT is one of {}", names());
            Failure::WrongUse(text)
        })?;
        target = target.with(capability, value);
    }
    Ok(target)
}

/// The encryption of the connections, if the URL says so.
fn over(url: &LoadUrl, flags: &Conformance) -> Result<Option<Arc<dyn Over>>, Failure> {
    let Some(host) = url.server_name() else { return Ok(None) };
    let ask = encryption_ask(&flags.tls);
    let name = ask.server_name.clone().unwrap_or(host);
    let protocol = if flags.h2 { "h2" } else { "http/1.1" };
    let encryption = Encryption::new(ask, &[protocol]).map_err(encryption_failure)?;
    Ok(Some(Arc::new(Encrypted::new(encryption.connector().without_resumption(), name))))
}

fn options(flags: &Conformance) -> Result<Options, Failure> {
    let level = |name: &String| {
        let names = || RequirementLevel::ALL.map(RequirementLevel::name).join(", ");
        let wrong = || format!("--level {name}: there is no such level; choose among {}", names());
        RequirementLevel::from_name(name).ok_or_else(|| Failure::WrongUse(wrong()))
    };
    Ok(Options {
        response_timeout: flags.timeout,
        slow_deadline: flags.slow_deadline,
        threads: flags.parallel,
        only: flags.only.clone(),
        levels: flags.level.iter().map(level).collect::<Result<_, _>>()?,
        ..Options::default()
    })
}
