//! Goal: an audit of a recorded host has the same findings as one of the host, and a page has all of them. Method: the
//! files of a host in a directory, recorded and unpacked.

use tune::{Allowed, HostReading, Load, Risk, audit, plan, record, to_html, to_json, to_text};

use crate::fake::Fake;

#[test]
fn a_recorded_host_is_judged_as_the_host_itself() {
    let fake = Fake::new();
    fake.sysctl("net/core/somaxconn", "16");
    fake.program(812, "irqbalance");
    fake.link("sys/class/net/eth0/device/driver", "../../bus/virtio/drivers/virtio_net");
    let mut archive = Vec::new();
    let count = record(&HostReading::of(fake.path(), Some(100)), &mut archive).unwrap();
    assert!(count > 50, "{count}");
    let copy = Fake::empty();
    tar::Archive::new(&*archive).unpack(copy.path()).unwrap();
    let host = |fake: &Fake| HostReading::of(fake.path(), Some(100));
    for load in [Load::Throughput, Load::Latency, Load::Connections, Load::Density] {
        let [one, other] = [&fake, &copy].map(|fake| to_json(&audit(&host(fake), load)));
        assert_eq!(one, other, "{}", load.name());
        let steps = [&fake, &copy].map(|fake| {
            let host = host(fake);
            let steps = plan(&host, &audit(&host, load), &Allowed::up_to(Risk::Reboot)).steps;
            steps.into_iter().flat_map(|step| step.changes).collect::<Vec<_>>()
        });
        assert_eq!(steps[0], steps[1]);
    }
    assert!(to_text(&audit(&host(&copy), Load::Connections)).contains("stack.somaxconn"));
}

#[test]
fn a_page_has_all_checks_and_explains_what_costs() {
    let fake = Fake::new();
    fake.sysctl("net/core/somaxconn", "16");
    let report = audit(&HostReading::of(fake.path(), None), Load::Connections);
    let page = to_html(&report);
    for audited in &report.findings {
        assert!(page.contains(audited.check.id), "{}", audited.check.id);
    }
    assert!(page.contains("sysctl net.core.somaxconn=4096") && !page.contains("<script"));
}
