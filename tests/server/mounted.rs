//! A small file system in memory, gone with the test.

use std::path::Path;
use std::process::Command;

pub(crate) struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    /// One of so many bytes (`1m`); says that the test is skipped where it may make none.
    #[expect(clippy::print_stdout, reason = "what is skipped has to be seen")]
    pub(crate) fn small(place: &'a Path, size: &str, test: &str) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=0777"), "tmpfs"]).arg(place);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        if !mounted {
            println!("SKIPPED {test}: no file system can be mounted here");
        }
        mounted.then_some(Self(place))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _unmounted = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}
