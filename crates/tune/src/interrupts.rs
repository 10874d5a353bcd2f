//! Interrupts of the queues of a network device, from the kernel, or else from `/proc/interrupts`.
//!
//! Owns the names by which drivers distinguish a queue's interrupt from others of the device, and
//! which queue it is (Seastar's perftune.py has the same list).

use crate::answers::{HANDOVERS, number_of};
use crate::host::HostReading;

/// An interrupt and its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interrupt {
    pub(crate) number: u32,
    pub(crate) queue: usize,
}

/// The texts before the number of a queue, in lower case: Intel, ENA, VMware, Broadcom, virtio, Mellanox, Azure,
/// Google.
const MARKS: [&str; 12] = [
    "-txrx-",
    "-tx-rx-",
    "-rxtx-",
    "-fp-",
    "-ntfy-blk",
    "-input.",
    "-output.",
    "mlx5_comp",
    "mlx4-",
    "mana_q",
    "-rx-",
    "-tx-",
];

/// The interrupts of the queues of a device; empty if they cannot be told from others.
pub(crate) fn interrupts_of(host: &HostReading, device: &str) -> Vec<Interrupt> {
    let told = told(host, device);
    if told.is_empty() { by_name(host, device) } else { told }
}

/// The interrupts that the driver has reported to the kernel, as newer drivers do.
fn told(host: &HostReading, device: &str) -> Vec<Interrupt> {
    let lines = host.text(HANDOVERS).unwrap_or_default();
    let own = lines.lines().filter(|line| line.split(' ').next() == Some(device));
    let interrupt = |line: &str| {
        let number = u32::try_from(number_of(line, "irq")?).ok().filter(|number| *number > 0)?;
        Some(Interrupt { number, queue: usize::try_from(number_of(line, "queue")?).ok()? })
    };
    own.filter_map(interrupt).collect()
}

fn by_name(host: &HostReading, device: &str) -> Vec<Interrupt> {
    let place = format!("/sys/class/net/{device}/device");
    let of_device = host.names(&format!("{place}/msi_irqs"));
    // The interrupts belong to the parent of a virtio device, but have the virtio device's name.
    let own = host.link(&place).filter(|name| name.starts_with("virtio"));
    let table = host.text("/proc/interrupts").unwrap_or_default();
    let interrupt = |line: &str| {
        let (number, rest) = line.trim_start().split_once(':')?;
        let name = rest.split_whitespace().last()?;
        let is_own = own
            .as_ref()
            .is_some_and(|own| name.strip_prefix(&**own).is_some_and(|rest| rest.starts_with('-')));
        if !is_own && !of_device.iter().any(|known| known == number) {
            return None;
        }
        Some(Interrupt { number: number.parse().ok()?, queue: queue_of(name)? })
    };
    table.lines().filter_map(interrupt).collect()
}

fn queue_of(name: &str) -> Option<usize> {
    let name = name.to_ascii_lowercase();
    let rest = MARKS.iter().find_map(|mark| name.split_once(mark).map(|(_, rest)| rest))?;
    let end = rest.find(|one: char| !one.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_drivers_tell_the_queue() {
        for (name, queue) in [
            ("eth0-TxRx-3", Some(3)),
            ("ens5-Tx-Rx-12", Some(12)),
            ("eth0-rxtx-3", Some(3)),
            ("eth0-event-4", None),
            ("eth1-rx-0", Some(0)),
            ("gve-ntfy-blk2@pci:0000:00:04.0", Some(2)),
            ("virtio0-input.0", Some(0)),
            ("virtio0-output.7", Some(7)),
            ("mlx5_comp4@pci:0000:3b:00.0", Some(4)),
            ("mlx4-2@0000:01:00.0", Some(2)),
            ("mana_q1@pci:7870", Some(1)),
            ("virtio0-config", None),
            ("mlx5_async0@pci:0000:3b:00.0", None),
            ("eth0", None),
        ] {
            assert_eq!(queue_of(name), queue, "{name}");
        }
    }
}
