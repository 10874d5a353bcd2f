//! A small file system in memory, removed with the test.

use std::path::Path;
use std::process::Command;

pub(crate) struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    /// A file system of this size (`1m`); reports the test as skipped if mounting is not permitted.
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
