//! Goal: a plan contains nothing that its host cannot do. Method: fake hosts with one fact of the hardware changed.

use crate::fake::Fake;
use tune::{Allowed, Finding, HostReading, Load, audit, changes_of, plan};

const CLOCKS: &str = "sys/devices/system/clocksource/clocksource0";

/// The writes of a plan for a check: the ends of paths, and the new values.
fn written(fake: &Fake, check: &str) -> Vec<(String, String)> {
    let changes = changes_of(check, &HostReading::of(fake.path(), None));
    changes.into_iter().map(|change| (change.path, change.new)).collect()
}

#[test]
fn a_clock_that_the_machine_has_not_is_not_chosen() {
    let fake = Fake::new();
    for (others, chosen) in [
        ("hpet acpi_pm", None),
        ("kvm-clock tsc acpi_pm", Some("tsc")),
        ("xen kvm-clock", Some("kvm-clock")),
        ("tsc-early hpet", None),
    ] {
        fake.write(&format!("{CLOCKS}/current_clocksource"), "hpet");
        fake.write(&format!("{CLOCKS}/available_clocksource"), others);
        let values: Vec<String> =
            written(&fake, "cpu.clocksource").into_iter().map(|(_, new)| new).collect();
        assert_eq!(values, chosen.into_iter().collect::<Vec<_>>(), "{others}");
    }
}

#[test]
fn packets_are_steered_where_a_device_has_one_queue() {
    let fake = Fake::new();
    // The other device of the host has four.
    fake.write("sys/class/net/eth1/device/vendor", "0x8086");
    fake.write("sys/class/net/eth1/queues/rx-0/rps_cpus", "0");
    let steered = written(&fake, "net.rps");
    let place = "/sys/class/net/eth1/queues/rx-0/rps_cpus".to_owned();
    assert_eq!(steered, [(place, "f".to_owned())]);
}

#[test]
fn a_device_that_cannot_adapt_waits_and_a_driver_that_does_so_by_itself_is_left_alone() {
    let fake = Fake::new();
    fake.device(&[("rx-usecs", "3"), ("adaptive-rx", "off")]);
    let place = |name: &str| format!("/velodrome/ethtool/eth0/{name}");
    assert_eq!(written(&fake, "net.coalesce"), [(place("adaptive-rx"), "on".to_owned())]);
    std::fs::remove_file(fake.path().join("velodrome/ethtool/eth0/adaptive-rx")).unwrap();
    assert_eq!(written(&fake, "net.coalesce"), [(place("rx-usecs"), "64".to_owned())]);
    let driver = "sys/class/net/eth0/device/driver";
    fake.link(driver, "../../../../bus/pci/drivers/e1000e");
    assert_eq!(written(&fake, "net.coalesce"), []);
    // A virtio device whose host does not offer moderation, and one whose host does.
    std::fs::remove_file(fake.path().join(driver)).unwrap();
    fake.link(driver, "../../../../bus/virtio/drivers/virtio_net");
    fake.write("sys/class/net/eth0/device/features", &"0".repeat(64));
    assert_eq!(written(&fake, "net.coalesce"), []);
    let offered = format!("{}1{}", "0".repeat(53), "0".repeat(10));
    fake.write("sys/class/net/eth0/device/features", &offered);
    assert_eq!(written(&fake, "net.coalesce"), [(place("rx-usecs"), "64".to_owned())]);
}

/// The finding of a check.
fn finding(fake: &Fake, check: &str) -> Finding {
    let report = audit(&HostReading::of(fake.path(), None), Load::Throughput);
    report.findings.into_iter().find(|audited| audited.check.id == check).unwrap().finding
}

#[test]
fn a_device_gets_its_queues_before_they_are_set() {
    let fake = Fake::new();
    fake.one_queue();
    fake.device(&[("queues", "1"), ("queues-most", "4")]);
    fake.write("sys/class/net/eth0/queues/rx-0/rps_cpus", "0");
    let host = HostReading::of(fake.path(), None);
    let report = audit(&host, Load::Throughput);
    let names = |allowed: &[u8]| -> Vec<&str> {
        let steps = plan(&host, &report, &Allowed::of(allowed)).steps;
        steps.iter().map(|step| step.check.id).filter(|id| id.starts_with("net.")).collect()
    };
    assert_eq!(names(&[]), ["net.rps"]);
    assert_eq!(names(&[3]), ["net.queues"]);
    let left_out = plan(&host, &report, &Allowed::of(&[3])).left_out;
    let why = left_out.iter().find(|(check, _)| check.id == "net.rps").unwrap();
    assert!(why.1.contains("eth0 has more queues first (net.queues)"), "{}", why.1);
}

#[test]
fn interrupts_of_one_queue_are_left_where_they_are() {
    let fake = Fake::new();
    fake.write("sys/class/net/eth1/device/msi_irqs/60", "msi");
    fake.write("sys/class/net/eth1/device/msi_irqs/61", "msi");
    let own = "60: 0 PCI-MSI eth1-rx-0\n61: 0 PCI-MSI eth1-tx-0\n";
    let others = std::fs::read_to_string(fake.path().join("proc/interrupts")).unwrap();
    fake.write("proc/interrupts", &format!("{others}{own}"));
    for number in [40, 60, 61] {
        fake.write(&format!("proc/irq/{number}/smp_affinity"), "f");
    }
    let moved = written(&fake, "net.irq");
    assert_eq!(moved, [("/proc/irq/40/smp_affinity".to_owned(), "1".to_owned())]);
}

#[test]
fn interrupts_that_the_kernel_tells_need_no_name() {
    let fake = Fake::new();
    let lines =
        "lo 1\neth0 257 queue 0 irq 80 suspend 0\neth0 258 queue 1 irq 81\neth1 259 queue 2 irq 40";
    fake.write("velodrome/napi", lines);
    for number in [80, 81] {
        fake.write(&format!("proc/irq/{number}/smp_affinity"), "f");
    }
    let moved = written(&fake, "net.irq");
    let place = |number: u32| format!("/proc/irq/{number}/smp_affinity");
    assert_eq!(moved, [(place(80), "1".to_owned()), (place(81), "2".to_owned())]);
}

#[test]
fn an_interrupt_that_is_set_to_a_cpu_is_there_before_it_comes() {
    let fake = Fake::new();
    for queue in 0..4 {
        fake.write(&format!("proc/irq/{}/effective_affinity_list", 40 + queue), "0");
    }
    assert!(matches!(finding(&fake, "net.irq"), Finding::Costs(..)));
    for queue in 0..4 {
        fake.write(&format!("proc/irq/{}/smp_affinity_list", 40 + queue), &queue.to_string());
    }
    assert!(matches!(finding(&fake, "net.irq"), Finding::Good(_)));
}

#[test]
fn a_virtio_device_that_can_have_more_queues_needs_nothing_of_its_host() {
    let fake = Fake::new();
    fake.one_queue();
    fake.link("sys/class/net/eth0/device/driver", "../../../../bus/virtio/drivers/virtio_net");
    fake.device(&[("queues", "1"), ("queues-most", "1")]);
    assert!(matches!(finding(&fake, "net.sriov"), Finding::Costs(..)));
    fake.device(&[("queues", "1"), ("queues-most", "4")]);
    assert!(matches!(finding(&fake, "net.sriov"), Finding::Good(_)));
}
