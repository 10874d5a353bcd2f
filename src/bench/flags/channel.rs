//! The flags of `velodrome bench channel`. Parsing only.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Agents, Surroundings};
use crate::duration::duration;
use crate::output::FormFlag;

const CHANNEL_EXAMPLES: &str = "Examples:
  velodrome bench channel 127.0.0.1:8080/channels/news                 1,000 subscribers, one message at a time
  velodrome bench channel 127.0.0.1:8080/channels/news -c 20000 -n 1   how long until the last of 20,000 receives a message?
  velodrome bench channel 127.0.0.1:8080/channels/news --rate 40 -d 30s
  velodrome bench channel 127.0.0.1:8080/channels/news --at-once 16
  velodrome bench channel wss://127.0.0.1:8443/channels/news -k
  velodrome bench channel 10.0.0.1:8080/channels/news 10.0.0.2:8080/channels/news --rate 100
                                                                       two nodes: local and other deliveries, one order
  velodrome bench channel 127.0.0.1:8080/channels/news --rate 10 --storm all@5s   all connections are cut after 5 seconds
  velodrome bench channel 127.0.0.1:8080/channels/news --rate 10 --churn 50       50 subscribers a second leave and come
  velodrome bench channel 10.0.0.1/channels/news --rate 40 --agents 10.0.0.2:7000,10.0.0.3:7000 --key-file bench.key

Subscribers are WebSockets; a message that one of them sends goes to all. Times count from when a message was due.
Every message is checked over all subscribers: gaps, doubles, and whether the order is the same for all.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 the result is not valid, or messages are wrong.";

/// The order that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderFlag {
    /// The same for all subscribers.
    All,
    /// That of each publisher.
    Publisher,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = CHANNEL_EXAMPLES)]
pub(crate) struct Channel {
    /// The channel: http://HOST:PORT/PATH, https:// or wss:// over TLS, HOST:PORT/PATH or unix:SOCKET:/PATH; a
    /// WebSocket that delivers what others send. With several URLs, subscribers are spread over them.
    #[arg(required = true, value_name = "URL")]
    pub(crate) urls: Vec<String>,
    /// Subscribers.
    #[arg(short, long, value_name = "N", default_value_t = 1000, allow_negative_numbers = true)]
    pub(crate) connections: u32,
    /// How long to publish messages.
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) duration: Duration,
    /// Messages per second, sent on schedule [default: the next one after the last has arrived].
    #[arg(long, value_name = "R", conflicts_with = "at_once")]
    pub(crate) rate: Option<f64>,
    /// Messages in flight, without a rate.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) at_once: NonZeroU32,
    /// End after N messages, or when -d is over.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) messages: Option<NonZeroU64>,
    /// Size of a message in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    pub(crate) size: usize,
    /// Publish at the N-th URL only [default: at all of them in turn].
    #[arg(long, value_name = "N")]
    pub(crate) publish_to: Option<NonZeroUsize>,
    /// The order to expect of messages that were published at different URLs.
    #[arg(
        long,
        value_name = "WHOSE",
        default_value = "all",
        help_heading = "Check of each message"
    )]
    pub(crate) order: OrderFlag,
    /// Count gaps, doubles and different orders, but do not let them make the result invalid.
    #[arg(long, help_heading = "Check of each message")]
    pub(crate) unchecked: bool,
    /// A reconnect storm: cut the connections of N subscribers, or of all, at this time after the begin. They come back
    /// at once, with their position if the server keeps one.
    #[arg(
        long,
        value_name = "N@TIME",
        requires = "rate",
        help_heading = "Subscribers that do not stay"
    )]
    pub(crate) storm: Option<String>,
    /// Churn: this many subscribers a second leave, and others come.
    #[arg(
        long,
        value_name = "R",
        requires = "rate",
        help_heading = "Subscribers that do not stay"
    )]
    pub(crate) churn: Option<f64>,
    #[command(flatten)]
    pub(crate) place: Surroundings,
    #[command(flatten)]
    pub(crate) agents: Agents,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) form: FormFlag,
}
