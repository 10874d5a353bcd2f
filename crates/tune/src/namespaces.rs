//! The network namespace in which a host is read: that of the server, if one is named.
//!
//! Owns that the network's sysctls, counters, devices and sockets are those of the server. Other namespaces need
//! nothing: a program's own files below `/proc` name its groups and its memory as they are seen from here.

use sys::namespace::{devices, enter_network, network_cookie};

use crate::files::HostFiles;
use crate::processes::{Process, ProcessStat};

/// Whether the network that is read is the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetworkPlace {
    /// The server is where this program is, or no server is named.
    Same,
    /// This program has gone where the server is.
    Entered,
    /// The server is elsewhere, and this program may not go there.
    Barred,
}

/// Enters the network namespace of a program, unless the calling thread is there already.
pub(crate) fn enter(process: u32, files: &mut HostFiles) -> NetworkPlace {
    let namespace = |of: &str| files.link(&format!("/proc/{of}/ns/net"));
    let theirs = namespace(&process.to_string());
    match (namespace("thread-self"), theirs) {
        (Some(own), Some(theirs)) if own == theirs => return NetworkPlace::Same,
        // Their file may not be read, or the kernel has no namespaces: what is read may be another one's.
        (_, None) if files.has(&format!("/proc/{process}/ns")) => return NetworkPlace::Barred,
        (_, None) => return NetworkPlace::Same,
        _ => {}
    }
    let entered = enter_network(process).and_then(|()| devices());
    match entered {
        Ok(sys) => {
            files.read_devices_from(sys);
            NetworkPlace::Entered
        }
        Err(_) => NetworkPlace::Barred,
    }
}

/// The network namespace of the calling thread, for the journal: its number, a cookie that no other one gets, and
/// whether it is that of the first program of the host, which comes again after a reboot. Empty if it is not known.
pub(crate) fn own_network(files: &HostFiles) -> String {
    let Some(mut name) = files.link("/proc/thread-self/ns/net") else { return String::new() };
    if files.link("/proc/1/ns/net").is_some_and(|first| first == name) {
        name.push_str(FIRST);
    }
    if files.are_live()
        && let Ok(cookie) = network_cookie()
    {
        name.push_str(&format!(" {cookie}"));
    }
    name
}

const FIRST: &str = " first";

/// Whether a namespace of the journal is that of the first program of its host.
pub(crate) fn is_of_host(network: &str) -> bool {
    network.is_empty() || network.contains(FIRST)
}

/// How to get to a network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By this command.
    Known(String),
    /// Not all programs may be looked at.
    Unknown,
    /// No program is in it, and it is mounted nowhere: with its last program its settings went.
    None,
}

/// The way to a namespace of the journal: one that is mounted (`ip netns`), or that of a program.
pub(crate) fn way_to(files: &HostFiles, network: &str) -> Way {
    let name = network.split(' ').next().unwrap_or_default();
    let mounts = files.text("/proc/self/mountinfo").unwrap_or_default();
    let mounted = mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(3);
        (words.next()? == name).then(|| words.next())?
    });
    if let Some(place) = mounted {
        return Way::Known(format!("nsenter --net={place}"));
    }
    // A container sees its own programs alone; where kernel threads are seen, all are.
    let is_whole = Process::name(files, 2).is_some_and(|name| name == "kthreadd");
    for process in Process::all(files) {
        match files.link(&format!("/proc/{process}/ns/net")) {
            Some(theirs) if theirs == name => {
                return Way::Known(format!("nsenter --net --target {process}"));
            }
            // It has ended, or is not to be looked at.
            None if is_there(files, process) => return Way::Unknown,
            Some(_) | None => {}
        }
    }
    if is_whole { Way::None } else { Way::Unknown }
}

/// Whether a program has not ended; one for which nobody has waited is in no namespace.
fn is_there(files: &HostFiles, process: u32) -> bool {
    let stat = files.text(&format!("/proc/{process}/stat"));
    let stat = stat.and_then(|line| ProcessStat::parse(&line));
    stat.map_or_else(|| files.has(&format!("/proc/{process}/comm")), |stat| stat.state != 'Z')
}

/// Whether a file has another value in each network namespace.
pub(crate) fn is_of_network(path: &str) -> bool {
    ["/proc/sys/net/", "/sys/class/net/", crate::settings::PLACE]
        .iter()
        .any(|place| path.starts_with(place))
}
