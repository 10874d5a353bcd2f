//! The settings of each scheduler: its share of connections, and the configured limits.
//!
//! Owns what of the configuration a scheduler is set up with. Opens nothing.

use config::Config;
use runtime::clock::nanoseconds;
use runtime::patience::PeerPatience;
use runtime::scheduler::SchedulerSettings;

use crate::connection_share::ConnectionShare;
use crate::site_data::patience;

pub(super) fn scheduler_settings(config: &Config, share: ConnectionShare) -> SchedulerSettings {
    let PeerPatience { send_idle_ns, send_rate, linger_bytes, linger_ms } =
        patience(&config.limits);
    SchedulerSettings {
        connections: share.of(config),
        spin_ns: nanoseconds(config.spin),
        busy_poll_us: u32::try_from(config.busy_poll.as_micros()).unwrap_or(u32::MAX),
        send_idle_ns,
        send_rate,
        linger_bytes,
        linger_ms,
        ..SchedulerSettings::default()
    }
}
