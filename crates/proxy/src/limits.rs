//! The limits of an upstream that cannot be configured: name, number, consequence.

/// 64 servers of one upstream, because the servers that a request has met are 64 bits. Beyond: others get no requests;
/// the configuration refuses them before.
pub const SERVERS: usize = 64;
/// A repetition is paid with this many thousandths. Beyond: the failure of a request is its answer.
pub const RETRY_PRICE: u32 = 1_000;
/// 200 thousandths of a repetition are earned with each request: a fifth of the requests may be repeated. Beyond: as
/// for [`RETRY_PRICE`].
pub const RETRY_EARNED: u32 = 200;
/// 10 repetitions may be saved, and are there at the start. Beyond: no more are earned.
pub const RETRY_SAVED: u32 = 10 * RETRY_PRICE;
/// 10 % of its weight is what a server begins with that is warmed up (`slow_start`). Beyond: it grows from there.
pub const WARM_PERCENT: u32 = 10;
/// 32 times the configured pause, for a server that fails again and again. Beyond: the pause grows no longer.
pub const PAUSE_FACTOR: u32 = 32;
