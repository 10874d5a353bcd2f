//! Network devices: queues, interrupts, and which CPUs they are for.

use crate::check::{Check, Gain, Risk};
use crate::finding::{Finding, Judged};
use crate::host::HostReading;
use crate::interrupts::{Interrupt, interrupts_of};
use crate::processes::{Process, cpu_list};
use crate::settings::place;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "net.irq",
        title: "interrupts of several queues on one CPU",
        gain: Gain::of(15.0, 15.0, 3.0, 0.0),
        expected: "a part of the 38 % of perfect locality",
        risk: Risk::Reversible,
        lost: "the kernel's own distribution of interrupts",
        why: "If the interrupts of several queues arrive on one CPU, that CPU receives for all, and each \
              packet is used on another.",
        fix: "echo N > /proc/irq/IRQ/smp_affinity_list for queue N, and exclude them from irqbalance.",
        source: "talawah.io, step 5",
        judge: interrupts,
    },
    Check {
        id: "net.rps",
        title: "one queue for several CPUs",
        gain: Gain::of(10.0, 5.0, 2.0, 0.0),
        expected: "helps a device with one queue; costs with one queue per CPU",
        risk: Risk::Reversible,
        lost: "an interrupt between CPUs for each packet that moves",
        why: "With one queue, one CPU receives everything. Receive packet steering distributes the work \
              after the interrupt.",
        fix: "echo MASK > /sys/class/net/DEVICE/queues/rx-0/rps_cpus, with the other CPUs of the same node.",
        source: "docs.kernel.org, scaling",
        judge: steering,
    },
    Check {
        id: "net.rps-twice",
        title: "software steering although each CPU has a queue",
        gain: Gain::of(5.0, 5.0, 0.0, 0.0),
        expected: "the interrupts between CPUs",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "With one queue per CPU, the hardware has already chosen the CPU. Software steering then moves \
              packets away from it.",
        fix: "echo 0 > /sys/class/net/DEVICE/queues/rx-*/rps_cpus",
        source: "docs.kernel.org, scaling",
        judge: steering_twice,
    },
    Check {
        id: "net.xps",
        title: "a transmit queue per CPU",
        gain: Gain::of(8.0, 5.0, 0.0, 0.0),
        expected: "a part of the 38 % of perfect locality; no CPU waits for another one's lock",
        risk: Risk::Reversible,
        lost: "nothing",
        why: "Without it a CPU sends through any queue, whose lock and completions belong to another CPU.",
        fix: "echo MASK > /sys/class/net/DEVICE/queues/tx-N/xps_cpus, with the bit of CPU N.",
        source: "talawah.io, step 5; docs.kernel.org, scaling",
        judge: sending,
    },
    Check {
        id: "net.irqbalance",
        title: "a daemon that moves interrupts",
        gain: Gain::of(4.0, 6.0, 0.0, 0.0),
        expected: "keeps the gain of net.irq",
        risk: Risk::Host,
        lost: "its balancing of other devices, if you stop it instead of configuring it",
        why: "irqbalance moves interrupts of busy devices every ten seconds, including those set by hand.",
        fix: "IRQBALANCE_ARGS=\"--banirq=N …\" in /etc/default/irqbalance or /etc/sysconfig/irqbalance, \
              then restart it.",
        source: "Seastar, perftune.py; AWS, ENA best practices",
        judge: balancing,
    },
    Check {
        id: "net.budget",
        title: "packets that wait for the kernel",
        gain: Gain::of(5.0, 15.0, 5.0, 0.0),
        expected: "no packets dropped; fewer late ones",
        risk: Risk::Host,
        lost: "CPU time of programs, which wait while the kernel receives longer",
        why: "The kernel receives a limited number of packets at a time. The rest waits for the next turn; \
              if its queue is full, packets are dropped.",
        fix: "sysctl net.core.netdev_budget=600 net.core.netdev_max_backlog=5000; better: more queues or \
              CPUs.",
        source: "docs.kernel.org, sysctl/net",
        judge: budget,
    },
    Check {
        id: "net.busy",
        title: "busy polling of devices",
        gain: Gain::of(10.0, 20.0, 0.0, 0.0),
        expected: "a part of the 28 % of fewer interrupts; needs one queue per worker",
        risk: Risk::Host,
        lost: "CPU time and power: a program that waits for packets spins that long",
        why: "A program that waits in epoll sleeps and is woken by an interrupt. Polling the device first, \
              for some microseconds, often finds the packet.",
        fix: "sysctl net.core.busy_poll=50; from Linux 6.9 for a single program (EPIOCSPARAMS): `velodrome \
              serve --busy-poll 50us`.",
        source: "talawah.io, step 6; docs.kernel.org, napi",
        judge: polling,
    },
    Check {
        id: "net.sriov",
        title: "a device limited to one queue",
        gain: Gain::of(10.0, 5.0, 0.0, 0.0),
        expected: "the gain of a queue per CPU",
        risk: Risk::Interruption,
        lost: "nothing; only the host of this virtual machine can change it",
        why: "A virtio device has as many queues as its host provides. With one, a single CPU receives \
              everything, whatever is set here.",
        fix: "libvirt: <driver queues='N'/>; in a cloud, a machine type with more queues.",
        source: "Red Hat, multi-queue virtio-net",
        judge: single,
    },
];

/// The receive queues of a device.
fn queues(host: &HostReading, device: &str, kind: &str) -> Vec<String> {
    let mut names = host.names(&format!("/sys/class/net/{device}/queues"));
    names.retain(|name| name.starts_with(kind));
    names
}

/// The devices that carry packets; there has to be one.
pub(super) fn hardware(host: &HostReading) -> Result<Vec<String>, Finding> {
    match host.hardware() {
        none if none.is_empty() => {
            Finding::not_here("no hardware device was found that carries packets")
        }
        devices => Ok(devices),
    }
}

fn interrupts(host: &HostReading) -> Judged {
    let devices = hardware(host)?;
    let mut unknown = false;
    for device in devices {
        let count = queues(host, &device, "rx-").len();
        if count < 2 {
            continue;
        }
        let of = |one: Interrupt| {
            let place = format!("/proc/irq/{}", one.number);
            let set = host.text(&format!("{place}/smp_affinity_list"));
            // A new affinity takes effect at the next interrupt: the wanted CPU may differ from the last one.
            let is_one = |text: &&String| cpu_list(text).len() == 1;
            let last = || host.text(&format!("{place}/effective_affinity_list"));
            set.as_ref().filter(is_one).cloned().or_else(last).or_else(|| set.clone())
        };
        let places: Vec<Vec<usize>> = interrupts_of(host, &device)
            .into_iter()
            .filter_map(of)
            .map(|text| cpu_list(&text))
            .collect();
        if places.is_empty() {
            unknown = true;
            continue;
        }
        let mut cpus: Vec<usize> = places.iter().filter_map(|cpus| cpus.first().copied()).collect();
        cpus.sort_unstable();
        cpus.dedup();
        let expected = count.min(host.now.cpus.len().max(1));
        if cpus.len() < expected {
            let text = format!(
                "{device} has {count} queues, whose interrupts come to {} CPUs",
                cpus.len()
            );
            return Finding::set(text, (expected - cpus.len()) as f64 / expected as f64 * 1.5);
        }
    }
    if unknown {
        Finding::unknown("the interrupts of its queues cannot be told from others")
    } else {
        Finding::good("spread over CPUs")
    }
}

fn is_zero(mask: &str) -> bool {
    mask.chars().all(|one| one == '0' || one == ',')
}

fn steering(host: &HostReading) -> Judged {
    let devices = hardware(host)?;
    if host.now.cpus.len() < 2 {
        return Finding::not_here("there is one CPU");
    }
    for device in devices {
        let all = queues(host, &device, "rx-");
        let [queue] = &*all else { continue };
        let mask = host.text(&format!("/sys/class/net/{device}/queues/{queue}/rps_cpus"));
        if mask.is_some_and(|mask| is_zero(&mask)) {
            let text = format!(
                "{device} has one queue for {} CPUs, and rps_cpus is 0",
                host.now.cpus.len()
            );
            return Finding::set(text, 0.6);
        }
    }
    Finding::good("as many queues as are used, or steering")
}

fn steering_twice(host: &HostReading) -> Judged {
    let devices = hardware(host)?;
    for device in devices {
        let all = queues(host, &device, "rx-");
        let is_steered = |queue: &&String| {
            host.text(&format!("/sys/class/net/{device}/queues/{queue}/rps_cpus"))
                .is_some_and(|mask| !is_zero(&mask))
        };
        if all.len() > 1
            && all.len() >= host.now.cpus.len()
            && all.iter().any(|queue| is_steered(&queue))
        {
            return Finding::set(
                format!("{device} has {} queues and rps_cpus as well", all.len()),
                1.0,
            );
        }
    }
    Finding::good("none")
}

fn sending(host: &HostReading) -> Judged {
    let devices = hardware(host)?;
    let mut is_judged = false;
    for device in devices {
        let all = queues(host, &device, "tx-");
        if all.len() < 2 {
            continue;
        }
        let mask =
            |queue: &String| host.text(&format!("/sys/class/net/{device}/queues/{queue}/xps_cpus"));
        let masks: Vec<String> = all.iter().filter_map(mask).collect();
        is_judged |= !masks.is_empty();
        let unset = masks.iter().filter(|mask| is_zero(mask)).count();
        if unset > 0 {
            return Finding::set(
                format!("{device}: {unset} of {} queues are nobody's", all.len()),
                unset as f64 / all.len() as f64,
            );
        }
    }
    if is_judged {
        Finding::good("each queue has its CPUs")
    } else {
        Finding::not_here("there is one queue")
    }
}

fn balancing(host: &HostReading) -> Judged {
    if host.now.programs.is_empty() {
        return Finding::unknown("the programs of this host cannot be read");
    }
    let many = host.hardware().iter().any(|device| queues(host, device, "rx-").len() > 1);
    match Process::named(host, "irqbalance") {
        Some(process) if many => Finding::set(format!("irqbalance runs (process {process})"), 1.0),
        Some(_) => Finding::good("irqbalance runs, and there is one queue"),
        None => Finding::good("no irqbalance"),
    }
}

fn budget(host: &HostReading) -> Judged {
    if host.now.softnet.is_none() {
        return Finding::unknown("/proc/net/softnet_stat cannot be read");
    }
    let dropped = host.moved(|counters| Some(counters.softnet?.0)).unwrap_or(0);
    let squeezed = host.moved(|counters| Some(counters.softnet?.1)).unwrap_or(0);
    if host.seconds.is_none() {
        return Finding::good(format!(
            "{dropped} dropped, {squeezed} times cut short {}",
            host.span()
        ));
    }
    if dropped > 0 {
        return Finding::seen(format!("{dropped} packets were dropped {}", host.span()), 1.0);
    }
    if squeezed > 10 {
        return Finding::seen(
            format!("receiving was cut short {squeezed} times {}", host.span()),
            0.5,
        );
    }
    Finding::good("none waited")
}

fn polling(host: &HostReading) -> Judged {
    hardware(host)?;
    if let Some(time @ 1..) = host.sockets().map(|sockets| sockets.polling_us) {
        return Finding::good(format!("the server polls for {time} us itself"));
    }
    match host.sysctl("net.core.busy_poll") {
        None => Finding::unknown("net.core.busy_poll cannot be read here"),
        Some(0) => Finding::set("net.core.busy_poll is 0", 0.3),
        Some(time) => Finding::good(format!("net.core.busy_poll is {time}")),
    }
}

fn single(host: &HostReading) -> Judged {
    let devices = hardware(host)?;
    if host.now.cpus.len() < 2 {
        return Finding::not_here("there is one CPU");
    }
    let is_virtio = |device: &&String| {
        host.link(&format!("/sys/class/net/{device}/device/driver"))
            .is_some_and(|driver| driver == "virtio_net")
            && queues(host, device, "rx-").len() == 1
            && host.number(&place(device, "queues-most")).is_none_or(|most| most < 2)
    };
    match devices.iter().find(is_virtio) {
        Some(device) => Finding::set(format!("{device} is virtio with one queue"), 0.5),
        None => Finding::good("none"),
    }
}
