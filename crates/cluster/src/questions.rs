//! Questions to other nodes, and theirs.
//!
//! Owns their form in JSON, and when no more answers come. Never answers: the channels do.

use std::collections::BTreeMap;
use std::sync::Arc;

use channels::{
    ChannelGlob, ClusterAnswer, ClusterNews, ClusterNode, ClusterQuestion, Findings, Member,
    Members, MembersOf, QueryOrigin, Remainder, SubscriberQuery,
};
use serde::{Deserialize, Serialize};

use crate::limits::{ANSWER_BYTES, ANSWERS_MS, QUESTIONS};
use crate::member_form::MemberForm;

#[derive(Debug, Serialize, Deserialize)]
struct QuestionForm {
    node: u64,
    ask: AskForm,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AskForm {
    Channels(String),
    Subscribers(Vec<String>),
    Members(String, usize),
    Patterns,
    Dismiss(String, Option<String>),
    Present(String, Option<String>),
}

#[derive(Debug, Serialize, Deserialize)]
struct AnswerForm {
    node: u64,
    found: FoundForm,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FoundForm {
    Found { counts: Vec<(String, u64)>, total: u64, some: Vec<MemberForm> },
    Present { name: String, after: Option<String>, members: Vec<MemberForm>, more: bool },
}

fn owned(text: &Option<Arc<str>>) -> Option<String> {
    text.as_ref().map(|text| text.to_string())
}

/// A question in JSON.
pub(crate) fn question(node: ClusterNode, question: &ClusterQuestion) -> Vec<u8> {
    let ask = match question {
        ClusterQuestion::Subscribers(query) => match query {
            SubscriberQuery::Channels(glob) => AskForm::Channels(glob.as_str().to_owned()),
            SubscriberQuery::Subscribers(names) => {
                AskForm::Subscribers(names.iter().map(|name| name.to_string()).collect())
            }
            SubscriberQuery::Members(of) => AskForm::Members(of.name().to_string(), of.most()),
            SubscriberQuery::Patterns => AskForm::Patterns,
            SubscriberQuery::Dismiss(user, channel) => {
                AskForm::Dismiss(user.to_string(), owned(channel))
            }
        },
        ClusterQuestion::Present { name, after } => {
            AskForm::Present(name.to_string(), owned(after))
        }
    };
    let form = QuestionForm { node: node.0, ask };
    serde_json::to_vec(&form).expect("texts and numbers are always JSON")
}

/// The question of another node. `None`: it is this one's, or cannot be read.
pub(crate) fn asked(payload: &[u8], reply: &str, own: ClusterNode) -> Option<ClusterNews> {
    let form: QuestionForm = serde_json::from_slice(payload).ok()?;
    if form.node == own.0 {
        return None;
    }
    let question = match form.ask {
        AskForm::Channels(glob) => {
            ClusterQuestion::Subscribers(SubscriberQuery::Channels(ChannelGlob::new(&glob)))
        }
        AskForm::Subscribers(names) => {
            let names = names.into_iter().map(Into::into).collect();
            ClusterQuestion::Subscribers(SubscriberQuery::Subscribers(names))
        }
        AskForm::Members(name, most) => {
            let members = MembersOf::asked_by_node(&name, most);
            ClusterQuestion::Subscribers(SubscriberQuery::Members(members))
        }
        AskForm::Patterns => ClusterQuestion::Subscribers(SubscriberQuery::Patterns),
        AskForm::Dismiss(user, channel) => {
            let query = SubscriberQuery::Dismiss(user.into(), channel.map(Into::into));
            ClusterQuestion::Subscribers(query)
        }
        AskForm::Present(name, after) => {
            ClusterQuestion::Present { name: name.into(), after: after.map(Into::into) }
        }
    };
    Some(ClusterNews::Asked { from: QueryOrigin(reply.into()), question })
}

/// An answer in JSON, of which a part is left out if it is too long.
pub(crate) fn answer(node: ClusterNode, answer: &ClusterAnswer) -> Vec<u8> {
    let mut found = match answer {
        ClusterAnswer::Found(findings) => FoundForm::Found {
            counts: findings
                .counts
                .iter()
                .map(|(name, count)| (name.to_string(), *count))
                .collect(),
            total: findings.members.total,
            some: findings.members.some.iter().map(MemberForm::from).collect(),
        },
        ClusterAnswer::Present { name, after, members, rest } => FoundForm::Present {
            name: name.to_string(),
            after: owned(after),
            members: members.iter().map(MemberForm::from).collect(),
            more: *rest == Remainder::Some,
        },
    };
    loop {
        let form = AnswerForm { node: node.0, found };
        let bytes = serde_json::to_vec(&form).expect("texts and numbers are always JSON");
        if bytes.len() <= ANSWER_BYTES {
            return bytes;
        }
        found = form.found;
        match &mut found {
            FoundForm::Found { counts, some, .. } => {
                counts.truncate(counts.len() / 2);
                some.truncate(some.len() / 2);
            }
            FoundForm::Present { members, more, .. } => {
                members.truncate(members.len() / 2);
                *more = true;
            }
        }
    }
}

#[derive(Debug)]
struct Question {
    request: u64,
    until_ms: u64,
    /// Nodes that have not answered. Others may answer as well.
    left: Vec<ClusterNode>,
}

/// The questions of this node that wait for answers.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: BTreeMap<u64, Question>,
}

impl Questions {
    /// Whether one more may be asked.
    pub(crate) fn have_room(&self) -> bool {
        self.open.len() < QUESTIONS
    }

    /// A question was sent to these nodes.
    pub(crate) fn add(&mut self, query: u64, request: u64, left: Vec<ClusterNode>, now_ms: u64) {
        self.open.insert(query, Question { request, until_ms: now_ms + ANSWERS_MS, left });
    }

    /// A node has answered, or there is none (status 503). Returns the news, and the request if it is done with.
    pub(crate) fn on_answer(
        &mut self,
        query: u64,
        is_unheard: bool,
        payload: &[u8],
    ) -> (Vec<ClusterNews>, Option<u64>) {
        let mut news = Vec::new();
        let Some(question) = self.open.get_mut(&query) else { return (news, None) };
        if is_unheard {
            question.left.clear();
        } else if let Ok(form) = serde_json::from_slice::<AnswerForm>(payload) {
            let node = ClusterNode(form.node);
            question.left.retain(|left| *left != node);
            news.push(ClusterNews::Answered { query, node, answer: form.found.into() });
        }
        let is_over = question.left.is_empty();
        let request = question.request;
        if is_over {
            self.open.remove(&query);
            news.push(ClusterNews::QueryOver { query });
        }
        (news, is_over.then_some(request))
    }

    /// No more answers come to these: the numbers of their requests.
    pub(crate) fn take_late(&mut self, now_ms: u64) -> Vec<(u64, u64)> {
        let late = self.open.iter().filter(|(_, question)| question.until_ms <= now_ms);
        let late: Vec<(u64, u64)> = late.map(|(query, it)| (*query, it.request)).collect();
        late.iter().for_each(|(query, _)| drop(self.open.remove(query)));
        late
    }

    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        self.open.values().map(|question| question.until_ms).min()
    }
}

impl From<FoundForm> for ClusterAnswer {
    fn from(form: FoundForm) -> Self {
        match form {
            FoundForm::Found { counts, total, some } => {
                let counts = counts.into_iter().map(|(name, count)| (name.into(), count)).collect();
                let some = some.into_iter().map(Member::from).collect();
                Self::Found(Findings { counts, members: Members { total, some } })
            }
            FoundForm::Present { name, after, members, more } => Self::Present {
                name: name.into(),
                after: after.map(Into::into),
                members: members.into_iter().map(Member::from).collect(),
                rest: if more { Remainder::Some } else { Remainder::None },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_as_it_was_asked_but_not_by_the_node_that_asks() {
        for ask in [
            ClusterQuestion::Subscribers(SubscriberQuery::Channels(ChannelGlob::new("a*"))),
            ClusterQuestion::Subscribers(SubscriberQuery::Subscribers(vec![
                "a".into(),
                "b".into(),
            ])),
            ClusterQuestion::Subscribers(SubscriberQuery::Members(MembersOf::asked_by_node(
                "a", 7,
            ))),
            ClusterQuestion::Subscribers(SubscriberQuery::Patterns),
            ClusterQuestion::Subscribers(SubscriberQuery::Dismiss("ann".into(), None)),
            ClusterQuestion::Present { name: "a".into(), after: Some("ann".into()) },
        ] {
            let bytes = question(ClusterNode(1), &ask);
            assert!(asked(&bytes, "r", ClusterNode(1)).is_none());
            let Some(ClusterNews::Asked { from, question }) = asked(&bytes, "r", ClusterNode(2))
            else {
                panic!("{ask:?}")
            };
            assert_eq!((&*from.0, format!("{question:?}")), ("r", format!("{ask:?}")));
        }
    }

    #[test]
    fn an_answer_that_is_too_long_is_cut_and_says_so() {
        let member = |number: usize| Member { user: format!("{number:01000}").into(), info: None };
        let members: Vec<Member> = (0..2_000).map(member).collect();
        let all = ClusterAnswer::Present {
            name: "a".into(),
            after: None,
            members,
            rest: Remainder::None,
        };
        let bytes = answer(ClusterNode(1), &all);
        assert!(bytes.len() <= ANSWER_BYTES);
        let form: AnswerForm = serde_json::from_slice(&bytes).unwrap();
        let ClusterAnswer::Present { members, rest, .. } = form.found.into() else { panic!() };
        assert_eq!((members.len(), rest), (500, Remainder::Some));
    }

    #[test]
    fn a_question_is_over_when_all_have_answered_or_it_is_too_late() {
        let mut questions = Questions::default();
        questions.add(1, 10, vec![ClusterNode(7)], 0);
        questions.add(2, 20, vec![ClusterNode(7)], 0);
        questions.add(3, 30, vec![], 100);
        let found = answer(ClusterNode(7), &ClusterAnswer::Found(Findings::default()));
        let (news, request) = questions.on_answer(1, false, &found);
        assert!(matches!(news[..], [ClusterNews::Answered { .. }, ClusterNews::QueryOver { .. }]));
        assert_eq!(request, Some(10));
        assert_eq!(questions.on_answer(3, true, b"").1, Some(30));
        assert_eq!(questions.next_due_ms(), Some(ANSWERS_MS));
        assert_eq!(questions.take_late(ANSWERS_MS - 1), []);
        assert_eq!(questions.take_late(ANSWERS_MS), [(2, 20)]);
    }
}
