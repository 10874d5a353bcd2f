//! Owns the notation of right outcomes in HTTP/2 cases: alternatives, each made of facts joined with ` + `.
//! Never looks at a connection (`judge` does).

use super::names;

/// The stream `last`: the newest that the client has opened when it is asked.
pub(super) const LAST: u32 = u32::MAX;

/// Which error codes an expectation allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Codes {
    Any,
    These(Vec<u32>),
}

impl Codes {
    pub(super) fn contain(&self, code: u32) -> bool {
        match self {
            Self::Any => true,
            Self::These(codes) => codes.contains(&code),
        }
    }
}

/// A fact that an outcome needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// `connection CODE`: the server ends the connection, with GOAWAY of one of these codes or without GOAWAY.
    ConnectionError(Codes),
    /// `goaway CODE`: GOAWAY of one of these codes came, whatever follows.
    Farewell(Codes),
    /// `closed`: the server ends the connection.
    Closed,
    /// `reset STREAM CODE`: RST_STREAM of one of these codes.
    Reset(u32, Codes),
    /// `answer STREAM STATUS`: a final head with one of these statuses.
    Answer(u32, Vec<StatusPattern>),
    /// `interim STREAM STATUS`: an interim head.
    Interim(u32, u16),
    /// `ended STREAM`: END_STREAM came, without a reset before.
    Ended(u32),
    /// `unanswered STREAM`: neither a final head nor a reset.
    Unanswered(u32),
    /// `file STREAM`: the content is that of the file.
    File(u32),
    /// `content STREAM N`: exactly so many bytes of content.
    ContentBytes(u32, usize),
    /// `field STREAM NAME VALUE`: a field of the final head.
    Field(u32, String, String),
    /// `ping BYTES`: a PING with these bytes is acknowledged.
    Ping(String),
    /// `acks N`: so many SETTINGS are acknowledged, or more.
    Acks(usize),
    /// `alive`: the connection answers a PING and one more request.
    Alive,
}

/// A status, or a class such as 4xx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatusPattern {
    least: u16,
    most: u16,
}

impl StatusPattern {
    fn read(word: &str) -> Option<Self> {
        if let Some(class) = word.strip_suffix("xx") {
            let class: u16 = class.parse().ok().filter(|class| (2..=5).contains(class))?;
            return Some(Self { least: class * 100, most: class * 100 + 99 });
        }
        let status = word.parse().ok().filter(|status| (200..=599).contains(status))?;
        Some(Self { least: status, most: status })
    }

    pub(super) fn holds(self, status: u16) -> bool {
        (self.least..=self.most).contains(&status)
    }
}

/// The outcomes that are right, as facts that hold together.
pub(super) fn read(texts: &[String]) -> Result<Vec<Vec<Fact>>, String> {
    let mut outcomes = Vec::new();
    for text in texts {
        outcomes.extend(outcome(text).ok_or_else(|| format!("'{text}' is no outcome"))?);
    }
    Ok(outcomes)
}

fn outcome(text: &str) -> Option<Vec<Vec<Fact>>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        // RFC 9113 section 5.4: a server may treat an error of a stream as one of the connection.
        ["stream", stream, code] => {
            let (stream, codes) = (number(stream)?, codes(code)?);
            let reset = vec![Fact::Reset(stream, codes.clone()), Fact::Alive];
            Some(vec![reset, vec![Fact::ConnectionError(codes)]])
        }
        // RFC 9113 section 8.1.1: an error of the stream, or an answer before it.
        ["malformed", stream] => {
            let stream = number(stream)?;
            let codes = codes("PROTOCOL_ERROR")?;
            let answer = Fact::Answer(stream, vec![StatusPattern::read("4xx")?]);
            Some(vec![
                vec![Fact::Reset(stream, codes.clone()), Fact::Alive],
                vec![answer, Fact::Alive],
                vec![Fact::ConnectionError(codes)],
            ])
        }
        _ => text.split(" + ").map(fact).collect::<Option<Vec<_>>>().map(|facts| vec![facts]),
    }
}

fn fact(text: &str) -> Option<Fact> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let stream = || words.get(1).and_then(|word| number(word));
    Some(match words[..] {
        ["connection", code] => Fact::ConnectionError(codes(code)?),
        ["goaway", code] => Fact::Farewell(codes(code)?),
        ["closed"] => Fact::Closed,
        ["reset", _, code] => Fact::Reset(stream()?, codes(code)?),
        ["answer", _, statuses] => {
            let statuses = statuses.split('/').map(StatusPattern::read);
            Fact::Answer(stream()?, statuses.collect::<Option<_>>()?)
        }
        ["interim", _, status] => Fact::Interim(stream()?, status.parse().ok()?),
        ["ended", _] => Fact::Ended(stream()?),
        ["unanswered", _] => Fact::Unanswered(stream()?),
        ["file", _] => Fact::File(stream()?),
        ["content", _, bytes] => Fact::ContentBytes(stream()?, bytes.parse().ok()?),
        ["field", _, name, ref value @ ..] => {
            Fact::Field(stream()?, name.to_owned(), value.join(" "))
        }
        ["ping", opaque] => Fact::Ping(opaque.to_owned()),
        ["acks", count] => Fact::Acks(count.parse().ok()?),
        ["alive"] => Fact::Alive,
        _ => return None,
    })
}

fn number(word: &str) -> Option<u32> {
    if word == "last" { Some(LAST) } else { names::integer(word) }
}

fn codes(word: &str) -> Option<Codes> {
    if word == "any" {
        return Some(Codes::Any);
    }
    word.split('/').map(names::error_code).collect::<Option<_>>().map(Codes::These)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_facts_that_hold_together() {
        let outcomes =
            read(&["answer 1 200/4xx + alive".to_owned(), "closed".to_owned()]).expect("right");
        assert_eq!(outcomes.len(), 2);
        assert_eq!(outcomes[0][1], Fact::Alive);
        assert!(matches!(&outcomes[0][0], Fact::Answer(1, statuses) if statuses[1].holds(404)));
    }

    #[test]
    fn an_error_of_a_stream_may_be_one_of_the_connection() {
        let outcomes = read(&["stream 3 STREAM_CLOSED".to_owned()]).expect("right");
        assert_eq!(outcomes[0], [Fact::Reset(3, Codes::These(vec![5])), Fact::Alive]);
        assert_eq!(outcomes[1], [Fact::ConnectionError(Codes::These(vec![5]))]);
    }

    #[test]
    fn mistakes_are_told() {
        for text in ["answer 1", "answer x 200", "answer 1 999", "reset 1 NO_SUCH", "happy", ""] {
            assert!(read(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
