//! How much CPU time the control groups of this process allow.
//!
//! Owns the reading of /proc/self/cgroup, /proc/self/mountinfo and the limit files. Never writes there. Anything
//! that is missing or cannot be parsed means "no limit".

use std::cmp::Ordering;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::text::of_kernel_file;

/// CPU time allowed within each period, all processors together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuQuota {
    /// CPU time allowed, in microseconds.
    pub quota_us: NonZeroU64,
    /// Length of the period, in microseconds.
    pub period_us: NonZeroU64,
}

impl CpuQuota {
    /// How many processors the quota can keep busy, rounded up.
    pub fn whole_cpus(&self) -> usize {
        let cpus = self.quota_us.get().div_ceil(self.period_us.get());
        usize::try_from(cpus).unwrap_or(usize::MAX)
    }

    /// Compares the ratios quota / period without dividing.
    fn compare(&self, other: &Self) -> Ordering {
        let share = |quota: NonZeroU64, period: NonZeroU64| {
            u128::from(quota.get()) * u128::from(period.get())
        };
        share(self.quota_us, other.period_us).cmp(&share(other.quota_us, self.period_us))
    }
}

/// The tightest limit of this process's groups.
pub(super) fn of_this_process() -> Option<CpuQuota> {
    let groups = of_kernel_file("/proc/self/cgroup").ok()?;
    let mounts = of_kernel_file("/proc/self/mountinfo").ok()?;
    tightest(&groups, &mounts, |file| of_kernel_file(file).ok())
}

/// The tightest limit among all groups from this process's own to the root of each hierarchy: a limit applies to
/// everything below it, so it need not be in the innermost group.
fn tightest(
    groups: &str,
    mounts: &str,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<CpuQuota> {
    [Version::Two, Version::One]
        .into_iter()
        .filter_map(|version| Some((version, own_group(groups, version)?)))
        .flat_map(|(version, group)| {
            directories(mounts, version, group).into_iter().map(move |at| (version, at))
        })
        .filter_map(|(version, directory)| limit_in(&directory, version, &read))
        .min_by(CpuQuota::compare)
}

/// The two generations of control groups; both can be mounted at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The group this process is in, from lines `hierarchy:controllers:path` (cgroups(7)).
fn own_group(groups: &str, version: Version) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (hierarchy, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let ours = match version {
            Version::One => controllers.split(',').any(|controller| controller == "cpu"),
            Version::Two => hierarchy == "0" && controllers.is_empty(),
        };
        ours.then_some(path)
    })
}

/// The directories of `group` and of everything above it, innermost first.
fn directories(mounts: &str, version: Version, group: &str) -> Vec<PathBuf> {
    let mounts: Vec<Mount> =
        mounts.lines().filter_map(Mount::parse).filter(|mount| mount.version == version).collect();
    // A container often sees only its own part of the tree, or a path that begins outside of what it sees. Then
    // the mount point is the innermost group.
    let found = mounts.iter().find_map(|mount| Some((mount, mount.directory_of(group)?)));
    let fallback = || mounts.first().map(|mount| (mount, mount.point.clone()));
    found.or_else(fallback).map_or_else(Vec::new, |(mount, innermost)| {
        let inside = |directory: &&Path| directory.starts_with(&mount.point);
        innermost.ancestors().take_while(inside).map(Path::to_path_buf).collect()
    })
}

/// One line of mountinfo that mounts control groups with the cpu controller.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    version: Version,
    /// The mounted part of the hierarchy.
    root: PathBuf,
    /// The mount point.
    point: PathBuf,
}

impl Mount {
    /// The fields are described in proc_pid_mountinfo(5): four, the mount point, options, optional fields, a dash,
    /// file system type, source, options of the super block.
    fn parse(line: &str) -> Option<Self> {
        let (place, file_system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        let mut file_system = file_system.split(' ');
        let (kind, options) = (file_system.next()?, file_system.nth(1)?);
        let version = match kind {
            "cgroup2" => Version::Two,
            "cgroup" if options.split(',').any(|option| option == "cpu") => Version::One,
            _ => return None,
        };
        Some(Self { version, root: unescape(root), point: unescape(point) })
    }

    /// The directory of a group, if it is in the mounted part.
    fn directory_of(&self, group: &str) -> Option<PathBuf> {
        let inside = Path::new(group).strip_prefix(&self.root).ok()?;
        let outside = inside.components().any(|part| part == std::path::Component::ParentDir);
        (!outside).then(|| self.point.join(inside))
    }
}

/// Mountinfo writes blank, tab, newline and backslash as `\` with three octal digits.
fn unescape(field: &str) -> PathBuf {
    let mut pieces = field.split('\\');
    let mut text = String::from(pieces.next().unwrap_or_default());
    for piece in pieces {
        let escaped = piece.split_at_checked(3).and_then(|(digits, rest)| {
            Some((u8::from_str_radix(digits, 8).ok().filter(u8::is_ascii)?, rest))
        });
        match escaped {
            Some((byte, rest)) => {
                text.push(char::from(byte));
                text.push_str(rest);
            }
            None => {
                text.push('\\');
                text.push_str(piece);
            }
        }
    }
    PathBuf::from(text)
}

fn limit_in(
    directory: &Path,
    version: Version,
    read: &impl Fn(&Path) -> Option<String>,
) -> Option<CpuQuota> {
    match version {
        Version::Two => parse_maximum(&read(&directory.join("cpu.max"))?),
        Version::One => parse_pair(
            &read(&directory.join("cpu.cfs_quota_us"))?,
            &read(&directory.join("cpu.cfs_period_us"))?,
        ),
    }
}

/// `cpu.max`: `max 100000` or `150000 100000`.
fn parse_maximum(text: &str) -> Option<CpuQuota> {
    let (quota, period) = text.trim().split_once(' ')?;
    parse_pair(quota, period)
}

/// A quota of `max`, -1 or zero means no limit.
fn parse_pair(quota: &str, period: &str) -> Option<CpuQuota> {
    Some(CpuQuota { quota_us: quota.trim().parse().ok()?, period_us: period.trim().parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(quota_us: u64, period_us: u64) -> CpuQuota {
        let positive = |number| NonZeroU64::new(number).expect("tests give positive numbers");
        CpuQuota { quota_us: positive(quota_us), period_us: positive(period_us) }
    }

    /// Runs `tightest` over files given as pairs of path and text.
    fn tightest_of(groups: &str, mounts: &str, files: &[(&str, &str)]) -> Option<CpuQuota> {
        tightest(groups, mounts, |wanted| {
            let file = files.iter().find(|(path, _)| Path::new(path) == wanted)?;
            Some(file.1.to_owned())
        })
    }

    const UNIFIED: &str =
        "34 25 0:29 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const DISK: &str = "25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n";

    #[test]
    fn limits_are_read_in_both_spellings() {
        assert_eq!(parse_maximum("150000 100000\n"), Some(quota(150_000, 100_000)));
        for text in ["max 100000\n", "", "100000", "0 100000", "5 0", "-1 100000", "a b"] {
            assert_eq!(parse_maximum(text), None, "{text:?}");
        }
        assert_eq!(parse_pair("50000\n", "100000\n"), Some(quota(50_000, 100_000)));
        assert_eq!(parse_pair("-1\n", "100000\n"), None);
    }

    #[test]
    fn quotas_round_up_to_processors_and_compare_by_share() {
        assert_eq!(quota(1, 100_000).whole_cpus(), 1);
        assert_eq!(quota(100_000, 100_000).whole_cpus(), 1);
        assert_eq!(quota(100_001, 100_000).whole_cpus(), 2);
        assert_eq!(quota(150_000, 100_000).compare(&quota(15_000, 10_000)), Ordering::Equal);
        assert_eq!(quota(140_000, 100_000).compare(&quota(15_000, 10_000)), Ordering::Less);
        assert_eq!(quota(u64::MAX, 1).compare(&quota(1, u64::MAX)), Ordering::Greater);
    }

    #[test]
    fn the_tightest_of_all_groups_above_counts() {
        let groups = "0::/system.slice/velodrome.service\n";
        let files = [
            ("/sys/fs/cgroup/system.slice/velodrome.service/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/system.slice/cpu.max", "150000 50000\n"),
            ("/sys/fs/cgroup/cpu.max", "800000 100000\n"),
            ("/sys/fs/cpu.max", "1000 100000\n"),
        ];
        let mounts = format!("{DISK}{UNIFIED}");
        assert_eq!(tightest_of(groups, &mounts, &files), Some(quota(150_000, 50_000)));
        assert_eq!(tightest_of(groups, &mounts, &files[..1]), None);
        assert_eq!(tightest_of(groups, DISK, &files), None);
        assert_eq!(tightest_of("", &mounts, &files), None);
    }

    #[test]
    fn the_first_version_is_found_by_its_controller() {
        let groups = "12:pids:/a\n5:cpu,cpuacct:/docker/abc\n1:name=systemd:/b\n0::/c\n";
        let mounts = "\
            33 24 0:28 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n\
            34 24 0:29 /docker/abc /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n";
        let files = [
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "1000\n"),
            ("/sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(tightest_of(groups, mounts, &files), Some(quota(250_000, 100_000)));
    }

    #[test]
    fn both_versions_at_once_give_the_tighter() {
        let groups = "1:cpu:/web\n0::/web\n";
        let mounts = "\
            32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
            41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n";
        let files = [
            ("/cg/cpu/web/cpu.cfs_quota_us", "300000"),
            ("/cg/cpu/web/cpu.cfs_period_us", "100000"),
            ("/cg/unified/web/cpu.max", "200000 100000"),
        ];
        assert_eq!(tightest_of(groups, mounts, &files), Some(quota(200_000, 100_000)));
        assert_eq!(tightest_of(groups, mounts, &files[..2]), Some(quota(300_000, 100_000)));
    }

    #[test]
    fn a_group_outside_of_what_is_mounted_falls_back_to_the_mount_point() {
        let files = [("/sys/fs/cgroup/cpu.max", "200000 100000")];
        assert_eq!(tightest_of("0::/../other\n", UNIFIED, &files), Some(quota(200_000, 100_000)));
        let part = "34 25 0:29 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        assert_eq!(tightest_of("0::/\n", part, &files), Some(quota(200_000, 100_000)));
    }

    #[test]
    fn a_mount_that_holds_the_group_wins_over_one_that_does_not() {
        let mounts = format!("9 1 0:29 /other /mnt rw - cgroup2 cgroup2 rw\n{UNIFIED}");
        let files = [("/mnt/cpu.max", "1000 100000"), ("/sys/fs/cgroup/web/cpu.max", "9 3")];
        assert_eq!(tightest_of("0::/web\n", &mounts, &files), Some(quota(9, 3)));
    }

    #[test]
    fn escapes_in_mount_points_are_undone() {
        assert_eq!(unescape(r"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescape(r"/a\9b\"), Path::new(r"/a\9b\"));
        assert_eq!(unescape(r"/ä\04ö"), Path::new(r"/ä\04ö"));
    }
}
