//! Every limit of orders, answers and files: number, unit and consequence.

use std::time::Duration;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// First wait after a failed order (1 minute, in seconds). Each further failure doubles it.
pub const RETRY_FIRST_S: i64 = MINUTE;

/// Longest wait after a failed order (6 hours, in seconds), its jitter included. Further failures do not make it
/// longer.
pub const RETRY_LAST_S: i64 = 6 * HOUR;

/// Longest wait that an authority can impose with `Retry-After` (1 day, in seconds). It is asked again after that,
/// whatever it said.
pub const RETRY_AFTER_S: i64 = DAY;

/// Failures with one issuer after which the next is asked (2). After the last one the first is asked again.
pub const FAILURES_PER_ISSUER: u32 = 2;

/// Attempts in a row with one order (4). After the last one it is forgotten, and the next attempt makes another.
pub const ATTEMPTS_PER_ORDER: u32 = 4;

/// Orders over all names in [`ORDERS_BURST_S`] (10). The next one waits until one of them is that old.
pub const ORDERS_BURST: usize = 10;

/// The time over which [`ORDERS_BURST`] counts (10 s, in seconds). Orders that are older no longer hold others up.
pub const ORDERS_BURST_S: i64 = 10;

/// Orders over all names in [`ORDERS_S`] (300, a limit of Let's Encrypt for an account). The next one waits until one
/// of them is that old.
pub const ORDERS: usize = 300;

/// The time over which [`ORDERS`] counts (3 hours, in seconds). Orders that are older are forgotten.
pub const ORDERS_S: i64 = 3 * HOUR;

/// Failed validations of a name in [`FAILED_S`] (5). The next order with this name waits until one of them is that old.
pub const FAILED: usize = 5;

/// The time over which [`FAILED`] counts (1 hour, in seconds). Failures that are older are forgotten.
pub const FAILED_S: i64 = HOUR;

/// Certificates for the same names in [`DUPLICATES_S`] (5). The next order waits until one of them is that old.
pub const DUPLICATES: usize = 5;

/// The time over which [`DUPLICATES`] counts (a week, in seconds). Certificates that are older are forgotten.
pub const DUPLICATES_S: i64 = 7 * DAY;

/// The share of a certificate's life that is left when it is renewed (a third), unless its authority says when.
pub const RENEWAL_LEFT: i64 = 3;

/// The share of a certificate's life that is left when it is renewed at the latest (a sixth), whatever its authority
/// says.
pub const RENEWAL_LEFT_LEAST: i64 = 6;

/// Time after which an authority is asked again when to renew (6 hours, in seconds), if it does not say (RFC 9773
/// section 4.3.2).
pub const WINDOW_ASKED_AGAIN_S: i64 = 6 * HOUR;

/// Shortest time after which an authority is asked again when to renew (1 minute, in seconds), whatever it says.
pub const WINDOW_ASKED_AGAIN_LEAST_S: i64 = MINUTE;

/// Longest time between two looks at all certificates (10 minutes). It bounds how late a clock that was set, or a lost
/// file, is noticed.
pub const LOOK: Duration = Duration::from_secs(600);

/// Time between two looks at a directory whose lock another server has (30 s). It bounds how late its certificates are
/// used here.
pub const FOLLOWER_LOOK: Duration = Duration::from_secs(30);

/// Names of one certificate (100, as at Let's Encrypt). More are refused when the settings are checked.
pub const NAMES: usize = 100;

/// Certificates of one server (10,000). More are refused when the settings are checked.
pub const CERTIFICATES: usize = 10_000;

/// Issuers that are asked in turn (8). More are refused when the settings are checked.
pub const ISSUERS: usize = 8;

/// Bytes of a name (253, RFC 1035 section 2.3.4). A longer one is refused when it is read.
pub const NAME_BYTES: usize = 253;

/// Bytes of a label of a name (63, RFC 1035 section 2.3.4). A name with a longer one is refused when it is read.
pub const LABEL_BYTES: usize = 63;

/// Bytes of an answer of an authority, its head included (1 MiB). A longer one ends the exchange with an error.
pub const ANSWER_BYTES: usize = 1 << 20;

/// Time for one exchange with an authority (20 s), from the look-up of its name to the end of its answer. Beyond: it
/// has failed.
pub const EXCHANGE: Duration = Duration::from_secs(20);

/// Time for connecting to one address of an authority (5 s). Beyond: the next address is tried.
pub const CONNECT: Duration = Duration::from_secs(5);

/// Addresses of an authority that are tried (4). The others are ignored.
pub const ADDRESSES: usize = 4;

/// Longest wait inside the kernel while an answer is read (200 ms). It bounds how late the end of the server is
/// noticed.
pub const SLICE: Duration = Duration::from_millis(200);

/// Tries of a request whose nonce the authority refuses (8, each of them three times by `instant-acme`). Beyond: the
/// order has failed.
pub const NONCES: u32 = 8;

/// Time in which all schedulers have to answer for a challenge (5 s). Beyond: the order has failed, and the authority
/// is not told.
pub const IN_FORCE: Duration = Duration::from_secs(5);

/// Time for a validation, and for the issue of a certificate (2 minutes each). Beyond: the attempt has failed; the
/// next goes on with the order.
pub const VALIDATION: Duration = Duration::from_secs(120);

/// First wait before an order is looked at again (250 ms). Each further one is half as long again.
pub const POLL_FIRST: Duration = Duration::from_millis(250);

/// Longest wait before an order is looked at again (10 s), whatever the authority says.
pub const POLL_LAST: Duration = Duration::from_secs(10);

/// Time for which `Handle::stop` waits for the control thread (1 s). Beyond: the thread is left to end with the
/// process.
pub const STOP: Duration = Duration::from_secs(1);

/// Bytes of a record of the state, except for the ledger (1 MiB). A longer one is neither written nor read.
pub const FILE_BYTES: u64 = 1 << 20;

/// Bytes of the ledger (64 MiB). A longer one is neither written nor read, and nothing is ordered without it.
pub const LEDGER_BYTES: u64 = 64 << 20;

/// Bytes of an error that are kept as one line (300). The middle of a longer one is cut out.
pub const ERROR_BYTES: usize = 300;

/// Certificates of one chain (10). A longer one is refused.
pub const CHAIN: usize = 10;

/// Answers of an authority whose details wait for the order that asked (64). The others are not remembered.
pub const NOTES: usize = 64;

const _: () = assert!(RETRY_FIRST_S < RETRY_LAST_S && RETRY_LAST_S <= RETRY_AFTER_S);
const _: () = assert!(RENEWAL_LEFT < RENEWAL_LEFT_LEAST);
