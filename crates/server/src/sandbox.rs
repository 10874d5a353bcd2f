//! Landlock: which files the process may access once it runs.
//!
//! Owns the list of exceptions: reading what is served and configured, writing logs and sockets. On
//! a kernel without Landlock there is no restriction, and `status` says so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus,
};

/// Paths that stay accessible.
#[derive(Clone, Debug, Default)]
pub struct Openings {
    /// Directories and files that are read.
    pub read: Vec<PathBuf>,
    /// Directories in which files and sockets are created and written.
    pub write: Vec<PathBuf>,
}

/// The result of entering the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sandbox {
    /// Everything requested is enforced.
    Enforced,
    /// The kernel supports only a part of it.
    Partly,
    /// The kernel has no Landlock, or refuses it.
    None,
}

impl Sandbox {
    /// The name in `status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "landlock",
            Self::Partly => "landlock, partly",
            Self::None => "none",
        }
    }
}

/// The newest set of rights used here. Older kernels enforce the part they support.
const RIGHTS: ABI = ABI::V3;

/// Files that the C library reads to look up a host name, if pages may fetch: the hosts table, the servers, and the
/// order. Links among them lead into one of the directories.
pub const NAME_SERVICE: [&str; 8] = [
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
];

/// The time zone database and the machine's time zone. A reload may name other zones.
pub const TIME_ZONES: [&str; 3] = ["/usr/share/zoneinfo", "/etc/localtime", "/etc/timezone"];

/// Denies everything except the openings, for this thread and the threads it starts from now on.
pub fn enter(openings: &Openings) -> Sandbox {
    match restrict(openings) {
        Ok(RulesetStatus::FullyEnforced) => Sandbox::Enforced,
        Ok(RulesetStatus::PartiallyEnforced) => Sandbox::Partly,
        Ok(RulesetStatus::NotEnforced) | Err(_) => Sandbox::None,
    }
}

fn restrict(openings: &Openings) -> Result<RulesetStatus, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RIGHTS))?
        .create()?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    for path in &openings.read {
        rules = add(rules, path, read)?;
    }
    for path in &openings.write {
        let write = AccessFs::WriteFile
            | AccessFs::Truncate
            | AccessFs::MakeReg
            | AccessFs::MakeSock
            | AccessFs::RemoveFile
            | read;
        rules = add(rules, path, write)?;
    }
    // The process reads its own statistics (memory, descriptors) here.
    rules = add(rules, Path::new("/proc/self"), read)?;
    // The names of functions in back-traces and profiles are in its program file and its libraries.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let files = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    for file in files.collect::<BTreeSet<_>>() {
        rules = add(rules, Path::new(file), AccessFs::ReadFile.into())?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Allows a path. A path that does not exist needs no rule.
fn add(
    rules: landlock::RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<landlock::RulesetCreated, RulesetError> {
    let Ok(descriptor) = PathFd::new(path) else { return Ok(rules) };
    // A file accepts fewer rights than a directory. Rights that only a directory has would be dropped, and the rule
    // reported as partly enforced.
    let is_directory = path.metadata().is_ok_and(|metadata| metadata.is_dir());
    let access = if is_directory { access } else { access & AccessFs::from_file(RIGHTS) };
    rules.add_rule(PathBeneath::new(descriptor, access))
}
