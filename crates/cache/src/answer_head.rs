//! The head of an answer, as the rules look at it.

use wire::http::head::Fields;

/// The head of an answer to a GET.
#[derive(Clone, Copy, Debug)]
pub struct AnswerHead<'a> {
    /// Its status.
    pub status: u16,
    /// Its fields.
    pub fields: Fields<'a, 'a>,
}
