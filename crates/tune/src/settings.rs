//! Settings of network devices, each as a file: `/velodrome/ethtool/eth0/queues`.
//!
//! Owns which settings exist, and where each is in the kernel's answer. A fake host and a recorded
//! host have real files. Only `apply` writes one.

use std::io;

use sys::ethtool::{EthtoolGroup, ask, features, tell};
use sys::netlink::{NetlinkFamily, attributes, family, list, text};

/// The directory of all settings.
pub(crate) const PLACE: &str = "/velodrome/ethtool/";

/// The directory of driver statistics.
const STATISTICS: &str = "/velodrome/statistics/";

/// The suffix of the maximum of a setting: `queues-most`.
const MOST: &str = "-most";

/// The path of a device's setting.
pub(crate) fn place(device: &str, name: &str) -> String {
    format!("{PLACE}{device}/{name}")
}

/// The device whose setting this path is.
pub(crate) fn device_of(path: &str) -> Option<&str> {
    path.strip_prefix(PLACE)?.split('/').next()
}

pub(crate) fn is_setting(path: &str) -> bool {
    path.starts_with(PLACE)
}

/// Driver statistics of a device: `rx_queue_0_packets 12`, one per line.
pub(crate) fn statistics(device: &str) -> String {
    format!("{STATISTICS}{device}")
}

/// The text form of a setting.
#[derive(Clone, Copy, Debug)]
enum Form {
    Number,
    /// `on` or `off`, by this bit of its word.
    Switch(u32),
}

/// Where a setting is: the query, the index of its word in the answer, and the index of its maximum.
struct Setting {
    question: EthtoolGroup,
    word: usize,
    most: Option<usize>,
    form: Form,
}

/// Whether the queues of a device both send and receive: other queues are counted separately.
fn has_both(device: &str) -> io::Result<bool> {
    Ok(ask(device, EthtoolGroup::Channels)?.get(3).is_some_and(|most| *most > 0))
}

fn setting(device: &str, name: &str) -> io::Result<Setting> {
    use EthtoolGroup::{
        Channels, Coalescing, Flags, ReceiveOffload, Rings, SegmentationOffload, SendOffload,
    };
    let (question, word, most, form) = match name {
        "queues" if has_both(device)? => (Channels, 7, Some(3), Form::Number),
        "queues" => (Channels, 4, Some(0), Form::Number),
        "rx-ring" => (Rings, 4, Some(0), Form::Number),
        "rx-usecs" => (Coalescing, 0, None, Form::Number),
        "adaptive-rx" => (Coalescing, 9, None, Form::Switch(0)),
        "tso" => (SegmentationOffload, 0, None, Form::Switch(0)),
        "gso" => (SendOffload, 0, None, Form::Switch(0)),
        "gro" => (ReceiveOffload, 0, None, Form::Switch(0)),
        "lro" => (Flags, 0, None, Form::Switch(15)),
        "ntuple" => (Flags, 0, None, Form::Switch(27)),
        _ => return Err(io::ErrorKind::NotFound.into()),
    };
    Ok(Setting { question, word, most, form })
}

/// Whether a device can change a setting: the kernel reports the state of fixed settings as well.
fn can_change(device: &str, name: &str) -> bool {
    let Ok(features) = features(device) else { return true };
    let feature = |name: &str| features.iter().find(|feature| feature.name == name);
    match name {
        // Segmentation offload needs packets with several fragments (scatter-gather).
        "gso" => feature("tx-scatter-gather").is_none_or(|parts| parts.is_active),
        "tso" => feature("tx-tcp-segmentation").is_none_or(|cuts| cuts.is_changeable),
        "lro" => feature("rx-lro").is_none_or(|joins| joins.is_changeable),
        "ntuple" => feature("rx-ntuple-filter").is_some_and(|filters| filters.is_changeable),
        "rx-usecs" => has_moderation(device, RECEIVE_TIME),
        "adaptive-rx" => has_moderation(device, ADAPTS),
        _ => true,
    }
}

/// `ETHTOOL_MSG_COALESCE_GET`; `ETHTOOL_A_COALESCE_RX_USECS`, `…_USE_ADAPTIVE_RX`.
const MODERATION: u8 = 19;
const RECEIVE_TIME: u16 = 2;
const ADAPTS: u16 = 10;

/// Whether a driver has a setting of interrupt moderation. In netlink answers the kernel leaves out those that the
/// driver does not have (Linux 5.7); assumed if it cannot be asked.
fn has_moderation(device: &str, wanted: u16) -> bool {
    let ask = || list(NetlinkFamily::Generic, family("ethtool")?, &[MODERATION, 1, 0, 0]);
    let Ok(answers) = ask() else { return true };
    let has = |answer: &Vec<u8>| {
        let all: Vec<_> = attributes(answer.get(4..)?).collect();
        let (_, head) = all.iter().find(|(kind, _)| *kind == 1)?;
        let (_, name) = attributes(head).find(|(kind, _)| *kind == 2)?;
        (text(name) == device).then(|| all.iter().any(|(kind, _)| *kind == wanted))
    };
    answers.iter().find_map(has).unwrap_or(false)
}

/// Reads a setting, or driver statistics; `None` if the device does not report it, or cannot change it.
pub(crate) fn read(path: &str) -> Option<String> {
    if let Some(device) = path.strip_prefix(STATISTICS) {
        let counts = sys::ethtool::statistics(device).ok()?;
        return Some(counts.iter().map(|(name, count)| format!("{name} {count}\n")).collect());
    }
    let (device, name) = path.strip_prefix(PLACE)?.split_once('/')?;
    let (name, is_most) = match name.strip_suffix(MOST) {
        Some(name) => (name, true),
        None => (name, false),
    };
    let Setting { question, word, most, form } = setting(device, name).ok()?;
    if !can_change(device, name) {
        return None;
    }
    let words = ask(device, question).ok()?;
    let value = *words.get(if is_most { most? } else { word })?;
    Some(match form {
        Form::Number => value.to_string(),
        Form::Switch(bit) => if value >> bit & 1 == 1 { "on" } else { "off" }.to_owned(),
    })
}

/// Writes a setting.
///
/// # Errors
/// The kernel's errors, with their meaning here.
pub(crate) fn write(path: &str, value: &str) -> io::Result<()> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "it is no value of this setting");
    let (device, name) =
        path.strip_prefix(PLACE).and_then(|rest| rest.split_once('/')).ok_or_else(wrong)?;
    let Setting { question, word, form, .. } = setting(device, name)?;
    let mut words = ask(device, question)?;
    let place = words.get_mut(word).ok_or_else(wrong)?;
    match (form, value) {
        (Form::Number, number) => *place = number.parse().map_err(|_| wrong())?,
        (Form::Switch(bit), "on") => *place |= 1 << bit,
        (Form::Switch(bit), "off") => *place &= !(1 << bit),
        (Form::Switch(_), _) => return Err(wrong()),
    }
    tell(device, question, &words).map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => io::Error::new(error.kind(), "the device cannot change it"),
        io::ErrorKind::InvalidInput => {
            io::Error::new(error.kind(), "the device does not take this value")
        }
        _ => error,
    })
}
