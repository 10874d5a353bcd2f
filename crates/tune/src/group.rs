//! Control groups of the server, of both versions, with all groups above them.
//!
//! Owns where a group's files are, and what of them counts. Judges nothing.

use std::collections::BTreeMap;

use crate::files::HostFiles;
use crate::limits::GROUPS;
use crate::lines::named;

/// A group: the directory of each of its controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Its path within its hierarchy, from the root: `/system.slice/app.service`.
    pub(crate) name: String,
    /// Its directory.
    pub(crate) place: String,
    /// Version 1: the controller whose hierarchy it is in; `None` for version 2.
    pub(crate) controller: Option<String>,
}

/// The groups of a program and all above them, the innermost first; the reason why they are not known.
pub(crate) fn groups_of(files: &HostFiles, process: u32) -> Result<Vec<Group>, String> {
    let Some(text) = files.text(&format!("/proc/{process}/cgroup")) else {
        return Err(format!("the control group of process {process} cannot be read"));
    };
    let mounts = mounts(files);
    let mut all = Vec::new();
    let mut missing = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        // `name=systemd` has no controller.
        if controllers.contains("name=") {
            continue;
        }
        let wanted: Vec<Option<&str>> = match controllers {
            "" => vec![None],
            names => names.split(',').filter(|name| COUNTED.contains(name)).map(Some).collect(),
        };
        for controller in wanted {
            match place_of(files, &mounts, controller, path) {
                Ok(found) => all.extend(found),
                Err(why) => missing = Some(why),
            }
        }
    }
    match missing {
        Some(why) if all.is_empty() => Err(why),
        _ => Ok(all),
    }
}

/// Controllers of version 1 that count something here. Several may have one hierarchy.
const COUNTED: [&str; 6] = ["cpu", "cpuset", "memory", "pids", "blkio", "freezer"];

/// A mounted hierarchy.
struct Mount {
    /// Which part of the hierarchy is mounted.
    root: String,
    place: String,
    /// `None` for version 2.
    controllers: Option<Vec<String>>,
}

fn mounts(files: &HostFiles) -> Vec<Mount> {
    let text = files.text("/proc/self/mountinfo").unwrap_or_default();
    let mount = |line: &str| {
        let (front, back) = line.split_once(" - ")?;
        let (mut front, mut back) = (front.split(' ').skip(3), back.split(' '));
        let (root, place) = (front.next()?.to_owned(), front.next()?.to_owned());
        let controllers = match back.next()? {
            "cgroup2" => None,
            "cgroup" => Some(back.next_back()?.split(',').map(str::to_owned).collect()),
            _ => return None,
        };
        Some(Mount { root, place, controllers })
    };
    let mut all: Vec<Mount> = text.lines().filter_map(mount).collect();
    if text.is_empty() {
        // A host of which only some files were copied.
        let (root, place) = ("/".to_owned(), "/sys/fs/cgroup".to_owned());
        all.push(Mount { root, place, controllers: None });
    }
    all
}

/// The directories of a path in one hierarchy, the innermost first.
fn place_of(
    files: &HostFiles,
    mounts: &[Mount],
    controller: Option<&str>,
    path: &str,
) -> Result<Vec<Group>, String> {
    let is_it = |mount: &&Mount| match (&mount.controllers, controller) {
        (None, None) => true,
        (Some(all), Some(wanted)) => all.iter().any(|one| one == wanted),
        _ => false,
    };
    let what = controller.unwrap_or("version 2");
    let mount = mounts
        .iter()
        .find(is_it)
        .ok_or_else(|| format!("control groups ({what}) are not mounted"))?;
    let root = mount.root.trim_end_matches('/');
    let below = path.strip_prefix(root).filter(|_| !path.starts_with("/..")).ok_or_else(|| {
        format!("its control group {path} ({what}) is outside of what is mounted here")
    })?;
    let (mut below, mut all) = (below.trim_end_matches('/'), Vec::new());
    loop {
        let place = format!("{}{below}", mount.place);
        if !files.has(&place) {
            return Err(format!("{place} cannot be read"));
        }
        let name = if below.is_empty() { "/" } else { below };
        let controller = controller.map(str::to_owned);
        all.push(Group { name: name.to_owned(), place, controller });
        match below.rsplit_once('/') {
            Some((above, _)) if all.len() < GROUPS => below = above,
            _ => return Ok(all),
        }
    }
}

/// The counters of a group. Those that it does not have are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupCounts {
    /// CPUs that it may use, in thousandths, if it has a quota.
    pub(crate) quota: Option<u64>,
    pub(crate) periods: u64,
    /// Periods in which it was stopped.
    pub(crate) throttled: u64,
    /// Nanoseconds for which it was stopped, on all CPUs together.
    pub(crate) throttled_ns: u64,
    /// Its weight, in percent of the usual one.
    pub(crate) weight: Option<u64>,
    /// CPUs that it may use, as the kernel writes them; empty if it is not known.
    pub(crate) cpus: String,
    /// Bytes that it uses, and those from which it is slowed down or ended.
    pub(crate) memory: Option<(u64, u64)>,
    /// How often it met that bound.
    pub(crate) memory_events: u64,
    /// Bytes of its TCP sockets, and those above which their buffers are kept small (`memory.kmem.tcp`, version 1
    /// alone). The kernel does not count how often that was.
    pub(crate) sockets: Option<(u64, u64)>,
    /// Programs that were killed for it.
    pub(crate) killed: u64,
    /// Pages that were freed for that bound, and were needed again soon after (`workingset_refault`).
    pub(crate) refaults: u64,
    /// Programs and threads, and how many there may be.
    pub(crate) tasks: Option<(u64, u64)>,
    /// How often a new one was refused.
    pub(crate) refused_tasks: u64,
    /// Bounds for requests of disks, as the kernel writes them: `8:0 wiops=20`; empty if it has none.
    pub(crate) disks: String,
    /// Whether a freezer holds all that is in it.
    pub(crate) frozen: bool,
    /// Microseconds in which something in it waited, by resource.
    pub(crate) pressure: BTreeMap<String, u64>,
}

impl Group {
    /// Reads its counts.
    pub(crate) fn counts(&self, files: &HostFiles) -> GroupCounts {
        match self.controller.as_deref() {
            None => self.of_version_2(files),
            Some("cpu") => self.of_cpu(files),
            Some("memory") => GroupCounts {
                memory: self.number(files, "memory.usage_in_bytes").zip(
                    self.number(files, "memory.limit_in_bytes").filter(|most| *most < 1 << 60),
                ),
                memory_events: self.number(files, "memory.failcnt").unwrap_or(0),
                sockets: self
                    .number(files, "memory.kmem.tcp.usage_in_bytes")
                    .zip(self.number(files, "memory.kmem.tcp.limit_in_bytes")),
                killed: self.count(files, "memory.oom_control", "oom_kill"),
                refaults: self.refaults(files),
                ..GroupCounts::default()
            },
            Some("cpuset") => GroupCounts {
                cpus: files.text(&format!("{}/cpuset.cpus", self.place)).unwrap_or_default(),
                ..GroupCounts::default()
            },
            Some("pids") => self.of_tasks(files),
            Some("freezer") => GroupCounts {
                frozen: files
                    .text(&format!("{}/freezer.state", self.place))
                    .is_some_and(|state| state == "FROZEN"),
                ..GroupCounts::default()
            },
            Some("blkio") => GroupCounts { disks: self.of_disks(files), ..GroupCounts::default() },
            Some(_) => GroupCounts::default(),
        }
    }

    fn number(&self, files: &HostFiles, name: &str) -> Option<u64> {
        files.number(&format!("{}/{name}", self.place))
    }

    fn lines(&self, files: &HostFiles, name: &str) -> BTreeMap<String, u64> {
        named(&files.text(&format!("{}/{name}", self.place)).unwrap_or_default())
    }

    /// A line of a file with its number; 0 if it is not there.
    fn count(&self, files: &HostFiles, name: &str, line: &str) -> u64 {
        self.lines(files, name).get(line).copied().unwrap_or(0)
    }

    /// Version 1 has lines of the group alone, and of all below it (`total_`).
    fn refaults(&self, files: &HostFiles) -> u64 {
        let stat = self.lines(files, "memory.stat");
        let sum = |part: &str| -> Option<u64> {
            let found = stat.iter().filter(|(name, _)| name.starts_with(part));
            found.map(|(_, count)| *count).reduce(|one, other| one + other)
        };
        sum("total_workingset_refault").or_else(|| sum("workingset_refault")).unwrap_or(0)
    }

    fn of_version_2(&self, files: &HostFiles) -> GroupCounts {
        let stat = self.lines(files, "cpu.stat");
        let count = |name: &str| stat.get(name).copied().unwrap_or(0);
        let max = files.text(&format!("{}/cpu.max", self.place)).unwrap_or_default();
        let mut words = max.split_whitespace().map(str::parse::<u64>);
        let quota = match (words.next(), words.next()) {
            (Some(Ok(quota)), Some(Ok(period))) => Some(quota * 1000 / period.max(1)),
            _ => None,
        };
        let most = [self.number(files, "memory.high"), self.number(files, "memory.max")];
        let events = self.lines(files, "memory.events");
        let event = |name: &str| events.get(name).copied().unwrap_or(0);
        let pressure = ["cpu", "memory", "io"].into_iter().filter_map(|name| {
            let text = files.text(&format!("{}/{name}.pressure", self.place))?;
            Some((name.to_owned(), waited(&text)?))
        });
        GroupCounts {
            quota,
            periods: count("nr_periods"),
            throttled: count("nr_throttled"),
            throttled_ns: count("throttled_usec") * 1000,
            weight: self.number(files, "cpu.weight"),
            cpus: files.text(&format!("{}/cpuset.cpus.effective", self.place)).unwrap_or_default(),
            memory: self.number(files, "memory.current").zip(most.into_iter().flatten().min()),
            memory_events: event("high") + event("max"),
            killed: event("oom_kill"),
            refaults: self.refaults(files),
            disks: files.text(&format!("{}/io.max", self.place)).unwrap_or_default(),
            frozen: self.count(files, "cgroup.events", "frozen") == 1,
            pressure: pressure.collect(),
            ..self.of_tasks(files)
        }
    }

    fn of_cpu(&self, files: &HostFiles) -> GroupCounts {
        let stat = self.lines(files, "cpu.stat");
        let count = |name: &str| stat.get(name).copied().unwrap_or(0);
        // Without a quota it is -1.
        let quota = self.number(files, "cpu.cfs_quota_us").map(|quota| {
            quota * 1000 / self.number(files, "cpu.cfs_period_us").unwrap_or(100_000).max(1)
        });
        GroupCounts {
            quota,
            periods: count("nr_periods"),
            throttled: count("nr_throttled"),
            throttled_ns: count("throttled_time"),
            weight: self.number(files, "cpu.shares").map(|shares| shares * 100 / 1024),
            ..GroupCounts::default()
        }
    }

    fn of_disks(&self, files: &HostFiles) -> String {
        let bound = |name: &&str| {
            let text = files.text(&format!("{}/blkio.throttle.{name}_device", self.place))?;
            let lines = text.lines().map(|line| line.replacen(' ', &format!(" {name}="), 1));
            Some(lines.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
        };
        let names = ["read_bps", "read_iops", "write_bps", "write_iops"];
        names.iter().filter_map(bound).collect::<Vec<_>>().join(", ")
    }

    fn of_tasks(&self, files: &HostFiles) -> GroupCounts {
        GroupCounts {
            tasks: self.number(files, "pids.current").zip(self.number(files, "pids.max")),
            refused_tasks: self.count(files, "pids.events", "max"),
            ..GroupCounts::default()
        }
    }
}

/// Microseconds in which something waited (`some … total=`).
pub(crate) fn waited(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some"))?;
    line.split(' ').find_map(|word| word.strip_prefix("total=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_of_pressure_is_read() {
        let text = "some avg10=1.00 avg60=2.00 avg300=3.00 total=45\nfull avg10=0.00 total=6\n";
        assert_eq!(waited(text), Some(45));
        assert_eq!(waited("full avg10=0.00 total=6"), None);
    }
}
