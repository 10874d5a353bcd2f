//! Settings of a network device (`SIOCETHTOOL`).
//!
//! Owns the call. The caller interprets the numbers of an answer (include/uapi/linux/ethtool.h). A change keeps the
//! other settings of its group.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// A group of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EthtoolGroup {
    /// Interrupt coalescing: `struct ethtool_coalesce`.
    Coalescing,
    /// Ring sizes, maximum values first: `struct ethtool_ringparam`.
    Rings,
    /// Numbers of queues, maximum values first: `struct ethtool_channels`.
    Channels,
    /// Whether the kernel merges received segments: `struct ethtool_value`.
    ReceiveOffload,
    /// Whether large sends are segmented as late as possible: `struct ethtool_value`.
    SendOffload,
    /// Whether the device segments what is sent: `struct ethtool_value`.
    SegmentationOffload,
    /// Bits, of which the fifteenth is merging of segments in the device: `struct ethtool_value`.
    Flags,
}

/// Words of the longest answer.
const WORDS: usize = 32;

impl EthtoolGroup {
    /// The number of the read request (`ETHTOOL_G…`). The next number writes (`ETHTOOL_S…`).
    fn number(self) -> u32 {
        match self {
            Self::Coalescing => 0x0e,
            Self::Rings => 0x10,
            Self::Channels => 0x3c,
            Self::ReceiveOffload => 0x2b,
            Self::SendOffload => 0x23,
            Self::SegmentationOffload => 0x1e,
            Self::Flags => 0x25,
        }
    }
}

/// `struct ifreq` with the address of the request.
#[repr(C)]
struct Request {
    name: [u8; 16],
    data: *mut u32,
    /// The kernel copies the size of the longest form.
    _rest: [u64; 2],
}

/// Queries a device; returns the words of the answer, after the number of the request.
///
/// # Errors
/// The kernel's: the device may not support the query (`EOPNOTSUPP`), or not exist (`ENODEV`).
pub fn ask(device: &str, question: EthtoolGroup) -> io::Result<Vec<u32>> {
    let mut words = [0_u32; WORDS];
    words[0] = question.number();
    // SAFETY: no answer to such a question has more than 23 words.
    unsafe { call(device, &mut words) }?;
    Ok(words[1..].to_vec())
}

/// Writes settings: the words from [`ask`], with some changed.
///
/// # Errors
/// The kernel's: the device may refuse a value (`EINVAL`) or not support the setting (`EOPNOTSUPP`); it requires
/// `CAP_NET_ADMIN` (`EPERM`).
pub fn tell(device: &str, question: EthtoolGroup, settings: &[u32]) -> io::Result<()> {
    let mut words = [0_u32; WORDS];
    words[0] = question.number() + 1;
    words.get_mut(1..=settings.len()).ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(settings);
    // SAFETY: the kernel reads these settings, of which none has more than 23 words.
    unsafe { call(device, &mut words) }
}

/// Maximum statistics of a driver (16,384). Of a device with more, none are returned.
const STATISTICS: usize = 16 << 10;

/// Bytes of a name (`ETH_GSTRING_LEN`).
const NAME: usize = 32;

/// `ETHTOOL_GDRVINFO`, `ETHTOOL_GSTRINGS`, `ETHTOOL_GSTATS`.
const DRIVER: u32 = 0x03;
const NAMES: u32 = 0x1b;
const COUNTS: u32 = 0x1d;

/// `ETH_SS_STATS`, `ETH_SS_FEATURES`.
const STATISTICS_SET: u32 = 1;
const FEATURES_SET: u32 = 4;

/// Index of the number of statistics in `struct ethtool_drvinfo`, in words.
const COUNT_OF_STATISTICS: usize = 45;

/// The driver's statistics of a device, under the driver's own names.
///
/// # Errors
/// The kernel's: a device may have no statistics (`EOPNOTSUPP`), or not exist (`ENODEV`).
pub fn statistics(device: &str) -> io::Result<Vec<(String, u64)>> {
    // The kernel writes all current statistics, which may be more than were counted: there is room for four times as
    // many.
    let mut words = vec![0_u32; 3 + STATISTICS * 4 * NAME / 4];
    words[0] = DRIVER;
    // SAFETY: `struct ethtool_drvinfo` is shorter.
    unsafe { call(device, &mut words) }?;
    let count = words[COUNT_OF_STATISTICS] as usize;
    if count == 0 || count > STATISTICS {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: there is room for the names of four times as many as the driver has.
    let names = unsafe { names(device, STATISTICS_SET, count, &mut words) }?;
    words[..2].copy_from_slice(&[COUNTS, count as u32]);
    // SAFETY: the kernel writes as many numbers as the driver has now: there is room for more than four times as many
    // as it had.
    unsafe { call(device, &mut words) }?;
    let counts = words[2..].chunks_exact(2).map(|pair| {
        let [low, high] = [pair[0].to_ne_bytes(), pair[1].to_ne_bytes()];
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&low);
        bytes[4..].copy_from_slice(&high);
        u64::from_ne_bytes(bytes)
    });
    Ok(names.into_iter().zip(counts).collect())
}

/// The names of a set. The kernel returns none if the number requested is too small (Linux 6.18); 0 requests all.
///
/// # Safety
/// The words have room for all names of the set.
unsafe fn names(
    device: &str,
    set: u32,
    asked: usize,
    words: &mut [u32],
) -> io::Result<Vec<String>> {
    words[..3].copy_from_slice(&[NAMES, set, asked as u32]);
    // SAFETY: the caller has made room.
    unsafe { call(device, words) }?;
    let given = words[2] as usize;
    let bytes: Vec<u8> =
        words[3..].iter().flat_map(|word| word.to_ne_bytes()).take(given * NAME).collect();
    let name = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    Ok(bytes.chunks_exact(NAME).map(name).collect())
}

/// Maximum number of features (256); the kernel has 64.
const FEATURES: usize = 256;

/// `ETHTOOL_GFEATURES`.
const FEATURE_BITS: u32 = 0x3a;

/// A feature of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The kernel's name: `tx-tcp-segmentation`.
    pub name: String,
    /// Whether it can be changed.
    pub is_changeable: bool,
    /// Whether it is on.
    pub is_active: bool,
}

/// The features of a device (`ETHTOOL_GFEATURES`).
///
/// # Errors
/// The kernel's: the device may not exist (`ENODEV`).
pub fn features(device: &str) -> io::Result<Vec<Feature>> {
    let mut words = vec![0_u32; 3 + FEATURES * 4 * NAME / 4];
    // SAFETY: there is room for the names of sixteen times as many as the kernel has.
    let names = unsafe { names(device, FEATURES_SET, 0, &mut words) }?;
    // For each 32 features four words: which can be changed, are wanted, are on, can never be changed.
    let blocks = FEATURES / 32;
    words[..2].copy_from_slice(&[FEATURE_BITS, blocks as u32]);
    words[2..2 + blocks * 4].fill(0);
    // SAFETY: the kernel writes no more blocks than the request says, for which there is room.
    unsafe { call(device, &mut words) }?;
    let bit = |at: usize, word: usize| words[2 + at / 32 * 4 + word] >> (at % 32) & 1 == 1;
    let feature = |(at, name)| Feature { name, is_changeable: bit(at, 0), is_active: bit(at, 2) };
    let all = names.into_iter().take(FEATURES).enumerate().map(feature);
    Ok(all.filter(|feature| !feature.name.is_empty()).collect())
}

/// Makes a request, whose number is the first word.
///
/// # Safety
/// The words have room for everything that the kernel writes.
unsafe fn call(device: &str, words: &mut [u32]) -> io::Result<()> {
    let mut name = [0; 16];
    let bytes = device.as_bytes();
    // The last byte ends the name.
    name.get_mut(..bytes.len())
        .filter(|_| bytes.len() < 16)
        .ok_or(io::ErrorKind::InvalidInput)?
        .copy_from_slice(bytes);
    let mut request = Request { name, data: words.as_mut_ptr(), _rest: [0; 2] };
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: the kernel reads the request, whose layout is that of `struct ifreq`; the caller guarantees that the
    // words are enough.
    let result = unsafe {
        libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as libc::Ioctl, &raw mut request)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_answers_or_says_why_not() {
        let error = ask("no-such-device", EthtoolGroup::Rings);
        assert_eq!(error.err().and_then(|error| error.raw_os_error()), Some(libc::ENODEV));
        let long = ask("a-name-that-is-too-long", EthtoolGroup::Rings);
        assert_eq!(long.err().map(|error| error.kind()), Some(io::ErrorKind::InvalidInput));
        // The loopback device merges segments, and has no rings.
        let own = ask("lo", EthtoolGroup::ReceiveOffload);
        assert!(own.is_ok_and(|words| words[0] <= 1));
        let rings = ask("lo", EthtoolGroup::Rings);
        assert_eq!(rings.err().and_then(|error| error.raw_os_error()), Some(libc::EOPNOTSUPP));
        assert!(statistics("lo").is_err(), "it has no driver that counts");
        let features = features("lo").unwrap();
        let feature = |name: &str| features.iter().find(|feature| feature.name == name).unwrap();
        // Packets of the loopback device never leave the kernel: their parts need not be joined, which no setting
        // changes.
        let gathers = feature("tx-scatter-gather");
        assert_eq!((gathers.is_changeable, gathers.is_active), (false, true));
        assert!(feature("tx-tcp-segmentation").is_changeable);
        let told = tell("lo", EthtoolGroup::Rings, &[0; 8]);
        let why = told.err().and_then(|error| error.raw_os_error());
        assert!(matches!(why, Some(libc::EOPNOTSUPP | libc::EPERM)), "{why:?}");
        let long = tell("lo", EthtoolGroup::Rings, &[0; WORDS]);
        assert_eq!(long.err().map(|error| error.kind()), Some(io::ErrorKind::InvalidInput));
    }
}
