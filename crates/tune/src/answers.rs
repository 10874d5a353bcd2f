//! Facts that the kernel provides only by query: packet filters, device queues.
//!
//! Owns the queries, and the text form of the answers: they are read as files below `/velodrome`,
//! so that a recorded host has them, too. Changes nothing and loads no kernel module: a query that
//! would load one is skipped.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;

use sys::netlink::{NetlinkFamily, attributes, family, list, text};

use crate::files::HostFiles;
use crate::queues::{self, QUEUE_COUNTS};
use crate::rules::{AUDIT_RULES, CHAINS, NO_AUDIT_RULES, audit_rules, chains};

/// Hooks of the packet filter: `ipv4 input -200 nf_conntrack_in nf_conntrack`. Absent if the kernel cannot be asked.
pub(crate) const HOOKS: &str = "/velodrome/hooks";

/// The reason why the hooks cannot be read.
pub(crate) const NO_HOOKS: &str = "/velodrome/hooks-why-not";

/// Tables of nftables, one per line. Absent if the kernel cannot be asked.
pub(crate) const TABLES: &str = "/velodrome/nftables";

/// Queueing disciplines of devices: `eth0 pfifo_fast`.
pub(crate) const QUEUES: &str = "/velodrome/qdisc";

/// NAPI instances, one per line: `eth0 257 queue 0 irq 45 suspend 0`: its queue, its interrupt, and for how many
/// nanoseconds the interrupt stays masked while a program polls (`irq-suspend-timeout`). Values that the driver or the
/// kernel does not report are left out; absent before Linux 6.8.
pub(crate) const HANDOVERS: &str = "/velodrome/napi";

/// Devices with a BPF program, at the device (XDP) or behind it (tc), one per line.
pub(crate) const PROGRAMS: &str = "/velodrome/xdp";

/// The largest sends of devices, before they are cut into packets: `eth0 65535 65536` (segments, bytes).
pub(crate) const SEGMENTS: &str = "/velodrome/segments";

/// All answers of this host, by the path under which they are read.
pub(crate) fn answers(files: &HostFiles) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    match hooks(files) {
        Ok(text) => all.insert(HOOKS.to_owned(), text),
        Err(why) => all.insert(NO_HOOKS.to_owned(), why),
    };
    if let Some(tables) = tables(files) {
        if !tables.is_empty()
            && let Ok(chains) = chains()
        {
            all.insert(CHAINS.to_owned(), chains);
        }
        all.insert(TABLES.to_owned(), tables);
    }
    match audit_rules() {
        Ok(rules) => all.insert(AUDIT_RULES.to_owned(), rules),
        Err(why) => all.insert(NO_AUDIT_RULES.to_owned(), why),
    };
    if let Ok(devices) = devices() {
        let is_with = |one: &&NetworkDevice| one.has_program || has_classifier(one.number);
        let with: Vec<&str> = devices.iter().filter(is_with).map(|one| &*one.name).collect();
        let lines = devices.iter().filter_map(NetworkDevice::largest_send);
        all.insert(SEGMENTS.to_owned(), lines.collect());
        all.insert(PROGRAMS.to_owned(), with.join("\n"));
        if let Ok(queues) = queues(&devices) {
            all.insert(QUEUES.to_owned(), queues);
        }
        if let Ok(handovers) = handovers(&devices) {
            all.insert(HANDOVERS.to_owned(), handovers);
        }
    }
    all
}

/// The answers that are counts: asked again for each reading.
pub(crate) fn counts() -> BTreeMap<String, String> {
    let devices: BTreeMap<u32, String> =
        devices().unwrap_or_default().into_iter().map(|one| (one.number, one.name)).collect();
    let told = queues::told(&devices).ok().map(|text| (QUEUE_COUNTS.to_owned(), text));
    told.into_iter().collect()
}

/// Whether a part of the kernel is loaded: a query to one that is not would load its module.
fn has_part(files: &HostFiles, part: &str) -> bool {
    let is_loaded = files
        .text("/proc/modules")
        .is_some_and(|modules| modules.lines().any(|line| line.split(' ').next() == Some(part)));
    let release = files.text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let is_within = files
        .text(&format!("/lib/modules/{release}/modules.builtin"))
        .is_some_and(|all| all.lines().any(|line| line.ends_with(&format!("/{part}.ko"))));
    // A kernel without modules loads none.
    is_loaded || is_within || !files.has("/proc/modules")
}

/// The netfilter hooks in the order of their numbers (`NF_INET_*`).
const WAY: [&str; 5] = ["prerouting", "input", "forward", "output", "postrouting"];

fn hooks(files: &HostFiles) -> Result<String, String> {
    if !has_part(files, "nfnetlink_hook") {
        return Err("its list is a module that is not loaded: modprobe nfnetlink_hook".to_owned());
    }
    let mut lines = String::new();
    for (family, number) in [("ipv4", 2), ("ipv6", 10)] {
        for (place, hook) in WAY.into_iter().zip(0_u32..) {
            // `struct nfgenmsg`, and the attribute with the number of the hook.
            let (length, kind) = (8_u16.to_ne_bytes(), 1_u16.to_ne_bytes());
            let content = [&[number, 0, 0, 0][..], &length, &kind, &hook.to_be_bytes()].concat();
            let found = match list(NetlinkFamily::Netfilter, 12 << 8, &content) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Err("only root may ask for it (CAP_NET_ADMIN)".to_owned());
                }
                // The kernel does not have this address family.
                Err(_) if !lines.is_empty() || family == "ipv6" => continue,
                Err(error) => return Err(format!("this kernel does not list it: {error}")),
            };
            for entry in found {
                push_hook(
                    &mut lines,
                    &format!("{family} {place}"),
                    entry.get(4..).unwrap_or_default(),
                );
            }
        }
    }
    Ok(lines)
}

/// The names of the tables of nftables (`NFT_MSG_GETTABLE`, `NFTA_TABLE_NAME`).
fn tables(files: &HostFiles) -> Option<String> {
    if !has_part(files, "nf_tables") {
        return Some(String::new());
    }
    let name = |message: Vec<u8>| {
        let name = attributes(message.get(4..)?).find(|(kind, _)| *kind == 1)?;
        Some(text(name.1))
    };
    let tables = list(NetlinkFamily::Netfilter, 10 << 8 | 1, &[0; 4]).ok()?;
    Some(tables.into_iter().filter_map(name).collect::<Vec<_>>().join("\n"))
}

/// Appends a line for one function of a hook (`NFNLA_HOOK_*`): its priority, name and module.
fn push_hook(lines: &mut String, place: &str, entry: &[u8]) {
    let (mut priority, mut function, mut module) = (0, String::new(), String::new());
    for (kind, content) in attributes(entry) {
        match kind {
            2 => priority = content.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes)),
            4 => function = text(content),
            5 => module = text(content),
            _ => {}
        }
    }
    let _endless = writeln!(lines, "{place} {priority} {function} {module}");
}

/// A device, as `RTM_GETLINK` tells it.
#[derive(Debug, Default)]
struct NetworkDevice {
    number: u32,
    name: String,
    /// Whether an XDP program is attached.
    has_program: bool,
    /// The segments of its largest send, if the kernel tells.
    segments: Option<u32>,
    /// The bytes of its largest send.
    bytes: Option<u32>,
}

impl NetworkDevice {
    /// Reads it: `IFLA_IFNAME`, `IFLA_GSO_MAX_SEGS`, `IFLA_GSO_MAX_SIZE`, `IFLA_XDP`.
    fn read(message: &[u8]) -> Option<Self> {
        let number = |bytes: &[u8]| Some(u32::from_ne_bytes(*bytes.first_chunk()?));
        let mut device = Self { number: number(message.get(4..)?)?, ..Self::default() };
        for (kind, content) in attributes(message.get(16..)?) {
            match kind {
                3 => device.name = text(content),
                40 => device.segments = number(content),
                41 => device.bytes = number(content),
                43 => {
                    device.has_program = attributes(content)
                        .any(|(kind, content)| kind == 2 && content.first() != Some(&0));
                }
                _ => {}
            }
        }
        Some(device)
    }

    /// Its line in [`SEGMENTS`].
    fn largest_send(&self) -> Option<String> {
        Some(format!("{} {} {}\n", self.name, self.segments?, self.bytes?))
    }
}

fn devices() -> io::Result<Vec<NetworkDevice>> {
    let messages = list(NetlinkFamily::Route, 18, &[0; 16])?;
    Ok(messages.iter().filter_map(|message| NetworkDevice::read(message)).collect())
}

/// `NETDEV_CMD_QUEUE_GET` with `NETDEV_A_QUEUE_ID`, `…_IFINDEX`, `…_NAPI_ID`.
const LIST_OF_QUEUES: u8 = 10;
const OF_QUEUE: [u16; 3] = [1, 2, 4];

/// `NETDEV_CMD_NAPI_GET` with `NETDEV_A_NAPI_IFINDEX`, `…_ID`, `…_IRQ`, `…_IRQ_SUSPEND_TIMEOUT`.
const LIST_OF_HANDOVERS: u8 = 11;
const OF_HANDOVER: [u16; 4] = [1, 2, 3, 7];

fn handovers(devices: &[NetworkDevice]) -> io::Result<String> {
    let family = family("netdev")?;
    let queues = numbers(family, LIST_OF_QUEUES, OF_QUEUE)?;
    let line = |[device, own, interrupt, suspend]: [Option<u32>; 4]| {
        let name = &devices.iter().find(|one| Some(one.number) == device)?.name;
        let queue = queues.iter().find(|[_, of, handover]| *of == device && *handover == own);
        let told =
            [("queue", queue.and_then(|[id, ..]| *id)), ("irq", interrupt), ("suspend", suspend)];
        let mut line = format!("{name} {}", own?);
        for (name, number) in told {
            number.into_iter().for_each(|number| line.push_str(&format!(" {name} {number}")));
        }
        Some(line)
    };
    let all = numbers(family, LIST_OF_HANDOVERS, OF_HANDOVER)?;
    Ok(all.into_iter().filter_map(line).collect::<Vec<_>>().join("\n"))
}

/// Requests a list of a generic netlink family; returns the values of these attributes for each entry.
fn numbers<const COUNT: usize>(
    family: u16,
    question: u8,
    kinds: [u16; COUNT],
) -> io::Result<Vec<[Option<u32>; COUNT]>> {
    let entry = |message: Vec<u8>| {
        kinds.map(|wanted| {
            let (_, content) = attributes(message.get(4..)?).find(|(kind, _)| *kind == wanted)?;
            content.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
        })
    };
    Ok(list(NetlinkFamily::Generic, family, &[question, 1, 0, 0])?.into_iter().map(entry).collect())
}

/// The number behind this name in a line of [`HANDOVERS`].
pub(crate) fn number_of(line: &str, name: &str) -> Option<u64> {
    line.split(' ').skip_while(|word| *word != name).nth(1)?.parse().ok()
}

/// The places where tc attaches programs: ingress and egress (`TC_H_MIN_INGRESS`, `TC_H_MIN_EGRESS` of `TC_H_CLSACT`).
const CLASSIFIERS: [u32; 2] = [0xffff_fff2, 0xffff_fff3];

/// Whether tc has attached a BPF program to a device (`RTM_GETTFILTER`, `TCA_KIND`).
fn has_classifier(device: u32) -> bool {
    CLASSIFIERS.iter().any(|parent| {
        // `struct tcmsg`: family, interface number, handle, parent, information.
        let parts = [0, device, 0, *parent, 0].map(u32::to_ne_bytes);
        let found = list(NetlinkFamily::Route, 46, &parts.concat()).unwrap_or_default();
        found.iter().any(|message| {
            attributes(message.get(20..).unwrap_or_default())
                .any(|(kind, content)| kind == 1 && text(content) == "bpf")
        })
    })
}

/// The queueing disciplines of each device (`RTM_GETQDISC`, `TCA_KIND`).
fn queues(devices: &[NetworkDevice]) -> io::Result<String> {
    let mut lines: Vec<String> = Vec::new();
    for message in list(NetlinkFamily::Route, 38, &[0; 20])? {
        let Some(number) = message.get(4..).and_then(|bytes| bytes.first_chunk()) else { continue };
        let number = u32::from_ne_bytes(*number);
        let name = devices.iter().find(|one| one.number == number).map(|one| &one.name);
        let kind = attributes(message.get(20..).unwrap_or_default()).find(|(kind, _)| *kind == 1);
        if let (Some(name), Some((_, kind))) = (name, kind) {
            lines.push(format!("{name} {}", text(kind)));
        }
    }
    lines.sort_unstable();
    lines.dedup();
    Ok(lines.join("\n"))
}
