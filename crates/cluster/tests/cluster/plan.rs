//! The plan of a node that tests use.

use std::sync::Arc;

use channels::{ClusterNews, ClusterNode};
use cluster::{
    ClusterPlan, LinkEncryption, LinkSeat, NatsCredentials, NatsLink, NatsServer, StreamPlan,
};

/// A node with two streams, whose server is on this port.
pub(crate) fn plan(node: u64, port: u16, prefix: &str) -> Arc<ClusterPlan> {
    Arc::new(ClusterPlan {
        node: ClusterNode(node),
        name: format!("node-{node}"),
        version: "1".to_owned(),
        prefix: prefix.to_owned(),
        servers: vec![NatsServer {
            host: "127.0.0.1".to_owned(),
            port,
            encryption: LinkEncryption::Plain,
        }],
        credentials: NatsCredentials::default(),
        streams: StreamPlan {
            count: 2,
            replicas: 1,
            bytes: 1 << 24,
            messages: 3,
            age_ms: 60_000,
            sections: 0,
        },
        publish_wait_ms: 2_000,
    })
}

/// The news so far in short.
pub(crate) fn told(link: &mut NatsLink) -> Vec<String> {
    link.take_news().iter().map(short).collect()
}

/// A piece of news in short. Epochs are not shown.
pub(crate) fn short(news: &ClusterNews) -> String {
    let text = |body: &channels::Payload| String::from_utf8_lossy(body.bytes()).into_owned();
    match news {
        ClusterNews::Announced { name, body } => format!("announced {name} {}", text(body)),
        ClusterNews::Committed { name, position, before, body } => {
            format!("committed {name} {before} {} {}", position.offset, text(body))
        }
        ClusterNews::CommitResult { commit, result } => match result {
            Ok(position) => format!("result {commit} {}", position.offset),
            Err(refusal) => format!("result {commit} {refusal:?}"),
        },
        ClusterNews::History { name, read, part } => {
            let messages: Vec<String> = part
                .messages
                .iter()
                .map(|message| format!("{} {}", message.number, text(&message.body)))
                .collect();
            let (after, last, rest) = (part.complete_after, part.last, part.rest);
            format!("history {name} {read} after {after} {messages:?} to {last} rest {rest:?}")
        }
        ClusterNews::ReadFailed { name, read } => format!("read failed {name} {read}"),
        ClusterNews::Member { node, name, member, step } => {
            format!("member {} {name} {} {step:?}", node.0, member.user)
        }
        ClusterNews::NodeCame { node } => format!("came {}", node.0),
        ClusterNews::NodeGone { node } => format!("gone {}", node.0),
        ClusterNews::Asked { question, .. } => format!("asked {question:?}"),
        ClusterNews::Answered { query, node, answer } => {
            format!("answered {query} {} {answer:?}", node.0)
        }
        ClusterNews::QueryOver { query } => format!("over {query}"),
        ClusterNews::Followed { name } => format!("followed {name}"),
        ClusterNews::FollowedAll => "followed all".to_owned(),
        ClusterNews::Away => "away".to_owned(),
        ClusterNews::Back => "back".to_owned(),
    }
}

/// The only link of a node.
pub(crate) const SEAT: LinkSeat = LinkSeat { number: 0, schedulers: 1 };
