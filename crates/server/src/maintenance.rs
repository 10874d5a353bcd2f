//! The two switches of maintenance: the operator's by the control socket, and the presence of a file.
//!
//! Owns how both add up. Never answers a request, and never looks for the file.

/// One who says that the site is maintained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaintenanceSource {
    /// `velodrome ctl set maintenance`.
    Operator,
    /// The file of `[maintenance]`.
    File,
}

/// The state of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Switch {
    /// The site is maintained.
    On,
    /// As far as this source knows it is not.
    #[default]
    Off,
}

/// The state of both switches: one that is on is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Switches {
    operator: Switch,
    file: Switch,
}

impl Switches {
    /// A source says something new.
    pub(crate) fn set(&mut self, source: MaintenanceSource, switch: Switch) {
        match source {
            MaintenanceSource::Operator => self.operator = switch,
            MaintenanceSource::File => self.file = switch,
        }
    }

    /// Whether the site is maintained.
    #[inline]
    pub(crate) fn is_on(self) -> bool {
        self.operator == Switch::On || self.file == Switch::On
    }

    /// In words, for the status.
    pub(crate) fn as_str(self) -> &'static str {
        match (self.operator, self.file) {
            (Switch::Off, Switch::Off) => "off",
            (Switch::On, Switch::Off) => "on, by ctl",
            (Switch::Off, Switch::On) => "on, by the file",
            (Switch::On, Switch::On) => "on, by ctl and the file",
        }
    }
}
