//! Goal: a plan names the files that set the same kernel file, by the rules of the programs that read them. Method:
//! fake hosts with such files.

use tune::{HostFiles, owners_of};

use crate::fake::poor::poor;

#[test]
fn sysctl_files_are_named_in_the_order_in_which_they_are_read() {
    let owners = |files: &[(&str, &str)]| -> Vec<String> {
        let fake = poor();
        for (path, text) in files {
            match *text {
                "null" => fake.link(path, "/dev/null"),
                text => fake.write(path, text),
            }
        }
        let owners = owners_of("/proc/sys/net/core/somaxconn", &HostFiles::below(fake.path()));
        owners.into_iter().map(|owner| format!("{} {}", owner.name, owner.when)).collect()
    };
    let line = "net.core.somaxconn = 128\n";
    // By name over all directories; the last one wins, also over a pattern behind it.
    let wins = "but /usr/local/lib/sysctl.d/70-site.conf wins for net.core.somaxconn";
    assert_eq!(
        owners(&[
            ("usr/local/lib/sysctl.d/70-site.conf", line),
            ("usr/lib/sysctl.d/50-vendor.conf", line),
            ("run/sysctl.d/60-run.conf", "-net/core/somaxconn=64\n"),
            ("etc/sysctl.d/90-all.conf", "net.core.*max* = 128\n"),
            ("etc/sysctl.d/99-not.conf.bak", line),
            ("etc/sysctl.d/.99-hidden.conf", line),
        ]),
        [
            format!("/usr/lib/sysctl.d/50-vendor.conf at the start of the host, {wins}"),
            format!("/run/sysctl.d/60-run.conf at the start of the host, {wins}"),
            "/usr/local/lib/sysctl.d/70-site.conf at the start of the host".to_owned(),
            format!("/etc/sysctl.d/90-all.conf at the start of the host, {wins}"),
        ]
    );
    // A file hides those of its name in later directories, whatever it contains.
    for mask in ["# nothing\n", "", "null", "\u{fffd}"] {
        let files = [("etc/sysctl.d/50-a.conf", mask), ("usr/lib/sysctl.d/50-a.conf", line)];
        assert_eq!(owners(&files), [""; 0], "{mask}");
    }
    // A link that leads nowhere does not.
    let files = [("usr/lib/sysctl.d/50-a.conf", line), ("lib/sysctl.d/50-a.conf", line)];
    assert_eq!(owners(&files), ["/usr/lib/sysctl.d/50-a.conf at the start of the host"]);
    let excluded = "but /etc/sysctl.d/60-b.conf excludes net.core.somaxconn";
    assert_eq!(
        owners(&[
            ("etc/sysctl.d/50-a.conf", "net.core.* = 1\n"),
            ("etc/sysctl.d/60-b.conf", "-net.core.somaxconn\n"),
        ]),
        [format!("/etc/sysctl.d/50-a.conf at the start of the host, {excluded}")]
    );
    // Systemd reads /etc/sysctl.conf only through a link.
    let (system, own, link) =
        ("run/systemd/system/x", "etc/sysctl.conf", "etc/sysctl.d/99-sysctl.conf");
    assert_eq!(
        owners(&[(system, ""), (own, line)]),
        ["/etc/sysctl.conf when `sysctl --system` or `sysctl -p` is run; systemd does not read it"]
    );
    assert_eq!(
        owners(&[(system, ""), (own, line), (link, line)]),
        ["/etc/sysctl.d/99-sysctl.conf at the start of the host"]
    );
    assert_eq!(
        owners(&[(own, line), ("etc/sysctl.d/50-a.conf", line)]),
        [
            "/etc/sysctl.d/50-a.conf at the start of the host, but /etc/sysctl.conf wins for \
             net.core.somaxconn",
            "/etc/sysctl.conf at the start of the host",
        ]
    );
}

#[test]
fn a_comment_that_is_not_utf_8_hides_nothing() {
    let fake = poor();
    fake.write("etc/sysctl.d/50-a.conf", "");
    let path = fake.path().join("etc/sysctl.d/50-a.conf");
    std::fs::write(path, b"# f\xfcr uns\nnet.core.somaxconn = 128\n").unwrap();
    let owners = owners_of("/proc/sys/net/core/somaxconn", &HostFiles::below(fake.path()));
    assert_eq!(owners.len(), 1);
}

#[test]
fn profiles_of_tuned_are_followed_through_their_main_section() {
    let fake = poor();
    fake.write("etc/tuned/active_profile", "own\n");
    fake.write("etc/tuned/post_loaded_profile", "late\n");
    let own = "[main]\ninclude_note = x\n# include = gone\ninclude=-missing, other\n[sysctl]\n; \
               net.core.somaxconn=1\ninclude=no\n";
    fake.write("etc/tuned/own/tuned.conf", own);
    for name in ["other", "late", "no", "gone", "x"] {
        let path = format!("usr/lib/tuned/profiles/{name}/tuned.conf");
        fake.write(&path, "[sysctl]\nnet.core.somaxconn=1\n");
    }
    let owners = owners_of("/proc/sys/net/core/somaxconn", &HostFiles::below(fake.path()));
    let mut names: Vec<String> = owners.into_iter().map(|owner| owner.name).collect();
    names.sort_unstable();
    let path = |name: &str| format!("/usr/lib/tuned/profiles/{name}/tuned.conf");
    assert_eq!(names, [path("late"), path("other")]);
}
