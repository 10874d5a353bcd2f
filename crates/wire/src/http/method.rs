//! The methods this server knows.
//!
//! Owns the list and its order, which is that of an Allow field. How one is read is in `head`.

/// A method of RFC 9110, 9.3 or RFC 5789 that resources here may support.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// `GET`.
    Get,
    /// `HEAD`.
    Head,
    /// `POST`.
    Post,
    /// `PUT`.
    Put,
    /// `PATCH`.
    Patch,
    /// `DELETE`.
    Delete,
    /// `OPTIONS`.
    Options,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Options];

    /// All of them, as the value of a field.
    pub const LIST: &'static str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

    /// The method's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_all_in_their_order() {
        assert!(Method::ALL.is_sorted());
        assert_eq!(Method::ALL.map(Method::as_str).join(", "), Method::LIST);
    }
}
