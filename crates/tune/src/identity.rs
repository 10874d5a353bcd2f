//! The device that a file belongs to, because another device may get its name or its interrupt
//! later.
//!
//! Owns how devices are identified. A file without a device has no identity.

use crate::files::HostFiles;
use crate::settings;

/// The text before the number that a device keeps until it is removed.
const NUMBER: &str = " number ";

/// The driver, address and number of the device that a file belongs to; the names of an interrupt's users; empty for
/// other files.
pub(crate) fn identity(files: &HostFiles, path: &str) -> String {
    if let Some(number) = path.strip_prefix("/proc/irq/").and_then(|rest| rest.split('/').next()) {
        let place = format!("/proc/irq/{number}");
        let mut users = files.names(&place);
        // In this directory files are settings and directories are users.
        users.retain(|name| files.is_directory(&format!("{place}/{name}")));
        return users.join(" ");
    }
    let of_class = || path.strip_prefix("/sys/class/net/")?.split('/').next();
    let Some(device) = settings::device_of(path).or_else(of_class) else { return String::new() };
    let place = format!("/sys/class/net/{device}");
    let driver = files.link(&format!("{place}/device/driver")).unwrap_or_default();
    let address = files.text(&format!("{place}/address")).unwrap_or_default();
    let number = files.text(&format!("{place}/ifindex")).unwrap_or_default();
    format!("{driver} {address}{NUMBER}{number}").trim_start().to_owned()
}

/// The path of a file of this device now: a device that was renamed keeps its number and its address.
pub(crate) fn present_path(files: &HostFiles, path: &str, device: &str) -> String {
    let of_class = || path.strip_prefix("/sys/class/net/")?.split('/').next();
    let (Some(old), false) = (settings::device_of(path).or_else(of_class), device.is_empty())
    else {
        return path.to_owned();
    };
    if identity(files, path) == device {
        return path.to_owned();
    }
    let renamed = |name: &String| path.replacen(&format!("/{old}/"), &format!("/{name}/"), 1);
    let names = files.names("/sys/class/net");
    let mut paths = names.iter().map(renamed);
    paths.find(|path| identity(files, path) == device).unwrap_or_else(|| path.to_owned())
}

/// Whether both are the same device, also after a reboot, which gives devices new numbers.
pub(crate) fn is_same_hardware(one: &str, other: &str) -> bool {
    let hardware = |identity: &str| identity.split(NUMBER).next().unwrap_or_default().to_owned();
    hardware(one) == hardware(other)
}
