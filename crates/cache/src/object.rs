//! A stored answer.
//!
//! Owns which fields of an answer are stored (RFC 9111 section 3.1), how a validation changes them (section 3.2), and
//! the fields that ask for one (section 4.3.1). Its body is shared with the clients that are still reading it.

use std::rc::Rc;

use wire::http::date;
use wire::http::fields::{FRAMING, FieldList};
use wire::http::head::Fields;

use crate::answer_head::AnswerHead;
use crate::body::{Elsewhere, Reservation, StoredBody};
use crate::control::Control;
use crate::freshness::Freshness;
use crate::limits::ENTRY_COST;
use crate::rules::{CacheRules, SetCookie};
use crate::storing::{NotStored, StorageTerms, judge};
use crate::time::Time;
use crate::vary::Variant;

/// Fields that are for a proxy, or that this cache says anew.
const OWN: [&str; 5] =
    ["age", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization", "upgrade"];

/// Fields of a stored answer that describe its body, which a validation does not change (section 3.2).
const OF_BODY: [&str; 4] = ["content-encoding", "content-length", "content-range", "content-type"];

/// A stored answer.
#[derive(Clone, Debug)]
pub struct Object {
    status: u16,
    fields: FieldList,
    body: Rc<StoredBody>,
    terms: StorageTerms,
}

/// A 304 that is about another answer than the stored one (section 4.3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch;

/// An answer after a validation.
#[derive(Clone, Debug)]
pub struct Freshened {
    /// The answer for the client whose request has validated it.
    pub object: Object,
    /// Why no other one gets it, if so: it is not stored.
    pub refused: Option<NotStored>,
}

impl Object {
    /// An answer that is stored on these terms.
    pub fn new(
        answer: &AnswerHead<'_>,
        body: Vec<u8>,
        terms: StorageTerms,
        rules: &CacheRules,
        heard: Time,
    ) -> Self {
        let mut fields = FieldList::new();
        for (name, value) in kept(&answer.fields, rules) {
            // It fits, because the whole list did.
            let _fits = fields.add_as_spelt(name, value);
        }
        if !answer.fields.has("date") {
            // A recipient that stores an answer without a date adds it (RFC 9110 section 6.6.1).
            let _fits = fields.add("Date", &date::format(heard.unix_s));
        }
        fields.shrink();
        Self { status: answer.status, fields, body: Rc::new(StoredBody::of(body)), terms }
    }

    /// The same answer with a body, which was received meanwhile, and for which this was reserved.
    pub fn with_body(&self, body: Vec<u8>, reserved: &mut Reservation) -> Self {
        Self { body: Rc::new(StoredBody::received(body, reserved)), ..self.clone() }
    }

    /// One that was found where a [`record`](crate::record) of it was kept.
    pub(crate) fn recorded(status: u16, fields: FieldList, terms: StorageTerms) -> Self {
        Self { status, fields, body: Rc::new(StoredBody::of(Vec::new())), terms }
    }

    /// The same answer with a body that was read again.
    pub fn with_bytes(&self, body: Vec<u8>) -> Self {
        Self { body: Rc::new(StoredBody::of(body)), ..self.clone() }
    }

    /// The same answer with a body that is not in memory.
    pub fn with_body_at(&self, elsewhere: Elsewhere) -> Self {
        Self { body: Rc::new(StoredBody::at(elsewhere)), ..self.clone() }
    }

    /// Its status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Its fields, without those that frame a message and `Age`.
    pub fn fields(&self) -> Fields<'_, '_> {
        self.fields.fields()
    }

    /// Its body.
    pub fn body(&self) -> &Rc<StoredBody> {
        &self.body
    }

    /// On which terms it is stored.
    pub fn terms(&self) -> &StorageTerms {
        &self.terms
    }

    /// How long it is used.
    pub fn freshness(&self) -> &Freshness {
        &self.terms.freshness
    }

    /// The requests that it is for.
    pub fn variant(&self) -> &Variant {
        &self.terms.variant
    }

    /// Whether a server can be asked whether it has changed.
    pub fn can_be_validated(&self) -> bool {
        let fields = self.fields();
        self.status == 200 && (fields.has("etag") || fields.has("last-modified"))
    }

    /// The fields of a request that asks whether it has changed (section 4.3.1).
    pub fn conditions(&self) -> FieldList {
        let mut conditions = FieldList::new();
        let fields = self.fields();
        for (name, validator) in [("If-None-Match", "etag"), ("If-Modified-Since", "last-modified")]
        {
            if let Some(value) = fields.first(validator).filter(|_| self.can_be_validated()) {
                let _fits = conditions.add(name, value);
            }
        }
        conditions
    }

    /// The same answer after a validation: with the fields of the 304, in place of those of the same name (sections 3.2
    /// and 4.3.4). They are judged as those of any answer to this request are.
    ///
    /// # Errors
    /// If the 304 is about another answer.
    pub fn freshened(
        &self,
        fresh: &Fields<'_, '_>,
        request: &Fields<'_, '_>,
        rules: &CacheRules,
        times: (Time, Time),
    ) -> Result<Freshened, Mismatch> {
        let known = self.fields();
        if let (Some(theirs), Some(ours)) = (fresh.first("etag"), known.first("etag"))
            && opaque(theirs) != opaque(ours)
        {
            return Err(Mismatch);
        }
        let (fields, fits) = self.merged(fresh, rules, times.1);
        // The length is that of the stored body. `Age` is of this answer and not among the fields that are kept.
        let mut judged = fields.clone();
        let length = self.body.length().to_string();
        let is_measured = judged.add("Content-Length", length.as_bytes()).is_ok();
        if let Some(age) = fresh.first("age") {
            let _fits = judged.add("Age", age);
        }
        let answer = AnswerHead { status: self.status, fields: judged.fields() };
        // An older answer that was for all says nothing of the fields that a user gets now.
        let is_of_user = request.has("authorization") && !Control::of(fresh).is_for_all();
        let terms = match judge(&answer, request, rules, times) {
            Ok(_) if is_of_user => Err(NotStored::Authorization),
            Ok(_) if !fits || !is_measured => Err(NotStored::Length),
            judged => judged,
        };
        let (terms, refused) = match terms {
            Ok(terms) => (terms, None),
            Err(refusal) => {
                let control = Control::of(&answer.fields);
                let freshness = Freshness::of(&answer, &control, rules, times);
                let freshness = freshness.unwrap_or_else(|| self.freshness().again(times.1));
                (StorageTerms { freshness, ..self.terms.clone() }, Some(refusal))
            }
        };
        let object = Self { status: self.status, fields, body: Rc::clone(&self.body), terms };
        Ok(Freshened { object, refused })
    }

    /// Its fields with those of a 304 that came at `heard`, and whether all had room.
    fn merged(&self, fresh: &Fields<'_, '_>, rules: &CacheRules, heard: Time) -> (FieldList, bool) {
        let (known, mut fields, mut fits) = (self.fields(), FieldList::new(), true);
        let is_new = |name: &str| fresh.has(name) && !is_one(&OF_BODY, name);
        for (name, value) in known.iter().filter(|(name, _)| !is_new(name)) {
            fits &= fields.add_as_spelt(name, value).is_ok();
        }
        for (name, value) in kept(fresh, rules).filter(|(name, _)| !is_one(&OF_BODY, name)) {
            fits &= fields.add_as_spelt(name, value).is_ok();
        }
        if !fresh.has("date") {
            fields = with_date(&fields, heard);
        }
        fields.shrink();
        (fields, fits)
    }

    /// Bytes that it uses.
    pub fn cost(&self) -> usize {
        self.body.len() + self.fields.cost() + self.terms.variant.cost() + ENTRY_COST
    }
}

fn with_date(fields: &FieldList, heard: Time) -> FieldList {
    let mut dated = FieldList::new();
    for (name, value) in
        fields.fields().iter().filter(|(name, _)| !name.eq_ignore_ascii_case("date"))
    {
        let _fits = dated.add_as_spelt(name, value);
    }
    let _fits = dated.add("Date", &date::format(heard.unix_s));
    dated
}

/// The tag without what says how strong it is.
fn opaque(tag: &[u8]) -> &[u8] {
    let tag = tag.trim_ascii();
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

fn is_one(names: &[&str], name: &str) -> bool {
    names.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// The fields of an answer that are stored.
fn kept<'b>(
    fields: &Fields<'b, '_>,
    rules: &CacheRules,
) -> impl Iterator<Item = (&'b str, &'b [u8])> {
    let named: Vec<&'b [u8]> = fields.all("connection").collect();
    let is_named = move |name: &str| {
        let mut names = named.iter().flat_map(|line| line.split(|byte| *byte == b','));
        names.any(|one| one.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    };
    let removes_cookies = rules.set_cookie == SetCookie::Remove;
    fields.iter().filter(move |(name, _)| {
        let is_cookie = removes_cookies && name.eq_ignore_ascii_case("set-cookie");
        !is_one(&FRAMING, name) && !is_one(&OWN, name) && !is_named(name) && !is_cookie
    })
}
