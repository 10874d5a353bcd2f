//! The resources of each scheduler: its share of descriptors and connections, and the configured
//! limits.
//!
//! Owns how the host's limits are divided. Opens nothing.

use config::{Config, DescriptorTables};
use runtime::clock::nanoseconds;
use runtime::patience::PeerPatience;
use runtime::scheduler::SchedulerSettings;

use super::error::ServeError;
use crate::limits;
use crate::site_data::patience;

pub(super) fn scheduler_settings(
    config: &Config,
    schedulers: usize,
    descriptors: u64,
) -> Result<SchedulerSettings, ServeError> {
    let share = match config.descriptor_tables {
        DescriptorTables::Private => descriptors,
        DescriptorTables::Shared => descriptors / schedulers as u64,
    };
    if share < limits::DESCRIPTORS_MIN {
        return Err(ServeError::Descriptors { share });
    }
    let part = share / limits::DESCRIPTORS_RESERVED_PART;
    let reserved = part.clamp(limits::DESCRIPTORS_RESERVED_MIN, limits::DESCRIPTORS_RESERVED_MAX);
    let most = config.limits.connections.div_ceil(schedulers as u64);
    let connections = most.min(share - reserved);
    let PeerPatience { send_idle_ns, send_rate, linger_bytes, linger_ms } =
        patience(&config.limits);
    Ok(SchedulerSettings {
        connections: usize::try_from(connections).unwrap_or(usize::MAX),
        spin_ns: nanoseconds(config.spin),
        busy_poll_us: u32::try_from(config.busy_poll.as_micros()).unwrap_or(u32::MAX),
        send_idle_ns,
        send_rate,
        linger_bytes,
        linger_ms,
        ..SchedulerSettings::default()
    })
}
