//! Mail between the writer of this node's store and the link.
//!
//! Owns how much of other stores may wait for the writer. What is lost is asked for again, by the stores.

use cluster::{StoreMail, StoreMailNews};
use runtime::mailbox::Endpoint;
use store::{ReplicationNews, ReplicationOrder};

use super::ClusterLink;
use crate::limits::STORE_MAIL_BYTES;
use crate::message::{ServiceContext, StorePost, ToStoreWriter};

/// The way to the writer of the node's store.
#[derive(Debug)]
pub(super) struct MailWay {
    writer: Endpoint,
    /// Bytes that were sent to it, and that it has not taken.
    under_way: usize,
    /// Orders that wait for another store, as the writer has last said.
    waiting: usize,
}

impl ClusterLink {
    /// This link carries the mail of the node's store, before its first connection.
    pub(in crate::conn) fn carry_mail(&mut self, writer: Endpoint) {
        self.link.carry_mail(self.node);
        self.mail = Some(MailWay { writer, under_way: 0, waiting: 0 });
    }

    /// The writer of the store sends this.
    pub(in crate::conn) fn post(&mut self, post: StorePost) {
        let Some(mail) = &mut self.mail else { return };
        mail.under_way = mail.under_way.saturating_sub(post.taken);
        mail.waiting = post.waiting;
        let form = |order| match order {
            ReplicationOrder::Everyone(bytes) => StoreMail::Everyone(bytes),
            ReplicationOrder::One(peer, bytes) => StoreMail::One(peer.0, bytes),
        };
        self.link.post(post.orders.into_iter().map(form).collect());
    }

    /// Whether nobody waits for an answer that comes through this link, and clients may write no more.
    pub(super) fn is_idle(&self) -> bool {
        let is_done = |mail: &MailWay| mail.waiting == 0 && self.now_ms >= self.stays_until_ms;
        self.link.is_idle() && self.mail.as_ref().is_none_or(is_done)
    }

    /// At the end of a turn: passes on what came from other stores.
    pub(super) fn bring_mail(&mut self, context: &mut ServiceContext<'_>) {
        let Some(mail) = &mut self.mail else { return };
        let mut all = Vec::new();
        let mut size = 0;
        for news in self.link.take_mail() {
            all.push(match news {
                StoreMailNews::Away => ReplicationNews::Away,
                StoreMailNews::Back => ReplicationNews::Back,
                StoreMailNews::Heard(_) if mail.under_way + size >= STORE_MAIL_BYTES => continue,
                StoreMailNews::Heard(bytes) => {
                    size += bytes.len();
                    ReplicationNews::Heard(bytes)
                }
            });
        }
        if all.is_empty() {
            return;
        }
        // A writer that takes nothing learns the rest from the next message of its leader.
        if context.mail.send_part(mail.writer, ToStoreWriter::Replication(all)).is_ok() {
            mail.under_way += size;
        }
    }
}
