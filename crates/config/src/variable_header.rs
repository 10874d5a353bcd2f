//! Values of the request in the fields that a server of an upstream gets.
//!
//! Owns which values there are, and how they are written. Never knows a request.

use wire::access_log::{Known, LogField, LogFormat, LogFormatError, LogPiece};

use crate::model::header::{Header, HeaderEdits, HeaderPart, RequestVariable, VariableHeader};
use crate::wording::shown;

/// The values that are known before a request is answered.
const KNOWN: [(Known, RequestVariable); 9] = [
    (Known::Peer, RequestVariable::Peer),
    (Known::Host, RequestVariable::Host),
    (Known::Scheme, RequestVariable::Scheme),
    (Known::RequestId, RequestVariable::RequestId),
    (Known::User, RequestVariable::User),
    (Known::Tls, RequestVariable::Tls),
    (Known::TlsClientSubject, RequestVariable::TlsClientSubject),
    (Known::TlsClientIssuer, RequestVariable::TlsClientIssuer),
    (Known::TlsClientFingerprint, RequestVariable::TlsClientFingerprint),
];

impl HeaderEdits {
    /// Reads the values in which a dollar sign is: `$NAME` is a value of the request, `$$` a dollar sign.
    ///
    /// # Errors
    /// The field with a value that cannot be, and why.
    pub(super) fn read_variables(&mut self) -> Result<(), String> {
        let all = std::mem::take(&mut self.set);
        for Header { name, value } in all {
            if !value.contains('$') {
                self.set.push(Header { name, value });
                continue;
            }
            let parts = parts(&value)
                .map_err(|why| format!("`{name}` cannot be \"{}\": {why}", shown(&value)))?;
            match &*parts {
                [HeaderPart::Text(value)] => self.set.push(Header { name, value: value.clone() }),
                _ if name.eq_ignore_ascii_case("host") => {
                    return Err(
                        "`Host` has no variables; without it here it is that of the client"
                            .to_owned(),
                    );
                }
                _ => self.variable.push(VariableHeader { name, parts }),
            }
        }
        Ok(())
    }
}

fn parts(value: &str) -> Result<Vec<HeaderPart>, String> {
    let pieces = match LogFormat::text(value) {
        Ok(LogFormat::Text(pieces)) => pieces,
        Ok(_) => return Ok(Vec::new()),
        Err(LogFormatError::Unknown(name)) => return Err(unknown(&name)),
        Err(why) => return Err(why.to_string()),
    };
    let part = |piece: &LogPiece| match piece {
        LogPiece::Literal(text) => Ok(HeaderPart::Text(text.to_string())),
        LogPiece::Field(field) => {
            let known = KNOWN.iter().find(|(known, _)| *field == LogField::Known(*known));
            let variable = known.map(|(_, variable)| HeaderPart::Variable(*variable));
            variable.ok_or_else(|| unknown(&field.name()))
        }
    };
    pieces.iter().map(part).collect()
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = KNOWN.iter().map(|(known, _)| known.name()).collect();
    let names = names.join(", ");
    format!(
        "there is no value `${}` here; known are {names}, and `$$` is a dollar sign",
        shown(name)
    )
}
