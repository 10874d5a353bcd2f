//! A member of a channel in JSON.

use channels::Member;
use serde::{Deserialize, Serialize};

/// A user, and the public information about it as text.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MemberForm {
    user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    info: Option<String>,
}

impl From<&Member> for MemberForm {
    fn from(member: &Member) -> Self {
        let info = member.info.as_ref().map(|info| info.to_string());
        Self { user: member.user.to_string(), info }
    }
}

impl From<MemberForm> for Member {
    fn from(form: MemberForm) -> Self {
        Self { user: form.user.into(), info: form.info.map(Into::into) }
    }
}
