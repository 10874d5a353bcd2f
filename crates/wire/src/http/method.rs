//! The methods this server knows.
//!
//! Owns the list. How one is read is in `head`.

/// A method of RFC 9110, 9.3 or RFC 5789 that resources here may support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`.
    Head,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `DELETE`.
    Delete,
    /// `OPTIONS`.
    Options,
    /// `PATCH`.
    Patch,
}

impl Method {
    /// All of them, as a list for a field.
    pub const LIST: &'static str = "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH";

    /// The method's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
            Method::Patch => "PATCH",
        }
    }
}
