//! A row for each channel that a scheduler knows.

use channels::ChannelView;
use live::Row;

/// The row of a channel. Its rows on all schedulers have one id, and are added up.
pub(crate) fn row_of(channel: &ChannelView<'_>) -> Row {
    let row = Row::new(format!("n-{}", channel.name)).text("name", channel.name);
    let row = row.number("subscribers", channel.subscribers as u64);
    let row = row.number("behind", channel.behind as u64);
    if !channel.is_home {
        return row;
    }
    row.number("published", channel.published)
        .number("kept", channel.kept as u64)
        .number("kept_bytes", channel.kept_bytes as u64)
}
