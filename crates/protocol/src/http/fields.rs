//! The headers of a request that MCP gives a meaning, found in one look.
//!
//! Every check of a server asks for some of them. Looking each up by its name costs more than
//! all of the checks, so they are sorted out once. What they say is judged elsewhere.
//!
//! Specification: basic/transports of each revision; RFC 9110, section 5.3 (a field that is
//! not a list may be there once).

use http::{HeaderMap, HeaderName, HeaderValue};

use super::mirror::Mismatch;

/// The headers of a request that a server asks about.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    /// Where the lists are read that stand in several headers.
    pub(super) headers: &'a HeaderMap,
    pub(super) host: Field<'a>,
    pub(super) origin: Field<'a>,
    pub(super) accept: Field<'a>,
    pub(super) content_type: Field<'a>,
    pub(super) content_encoding: Field<'a>,
    pub(super) version: Field<'a>,
    pub(super) method: Field<'a>,
    pub(super) name: Field<'a>,
    pub(super) session: Field<'a>,
}

impl<'a> Fields<'a> {
    /// Looks through all headers.
    pub fn of(headers: &'a HeaderMap) -> Self {
        let mut fields = Self {
            headers,
            host: Field::Absent,
            origin: Field::Absent,
            accept: Field::Absent,
            content_type: Field::Absent,
            content_encoding: Field::Absent,
            version: Field::Absent,
            method: Field::Absent,
            name: Field::Absent,
            session: Field::Absent,
        };
        for (name, value) in headers {
            // As in `header`, and in lower case like every name here.
            let field = match name.as_str() {
                "host" => &mut fields.host,
                "origin" => &mut fields.origin,
                "accept" => &mut fields.accept,
                "content-type" => &mut fields.content_type,
                "content-encoding" => &mut fields.content_encoding,
                "mcp-protocol-version" => &mut fields.version,
                "mcp-method" => &mut fields.method,
                "mcp-name" => &mut fields.name,
                "mcp-session-id" => &mut fields.session,
                _ => continue,
            };
            *field = match field {
                Field::Absent => Field::Once(value),
                Field::Once(_) | Field::Repeated => Field::Repeated,
            };
        }
        fields
    }

    /// The page that the request comes from, if it names exactly one.
    pub const fn origin(&self) -> Option<&'a HeaderValue> {
        match self.origin {
            Field::Once(origin) => Some(origin),
            Field::Absent | Field::Repeated => None,
        }
    }
}

/// The same without the headers themselves, for those that come again: looking them through costs
/// more than this.
#[derive(Clone, Debug)]
pub struct KnownFields([Found<HeaderValue>; COUNT]);

impl KnownFields {
    /// Keeps what was found.
    pub fn of(fields: &Fields<'_>) -> Self {
        let Fields {
            headers: _,
            host,
            origin,
            accept,
            content_type,
            content_encoding,
            version,
            method,
            name,
            session,
        } = *fields;
        let all = [
            host,
            origin,
            accept,
            content_type,
            content_encoding,
            version,
            method,
            name,
            session,
        ];
        Self(all.map(|field| match field {
            Found::Absent => Found::Absent,
            Found::Once(value) => Found::Once(value.clone()),
            Found::Repeated => Found::Repeated,
        }))
    }

    /// The same in these headers, which must be those that were looked through.
    #[inline]
    pub const fn within<'a>(&'a self, headers: &'a HeaderMap) -> Fields<'a> {
        let [
            host,
            origin,
            accept,
            content_type,
            content_encoding,
            version,
            method,
            name,
            session,
        ] = &self.0;
        Fields {
            headers,
            host: host.as_ref(),
            origin: origin.as_ref(),
            accept: accept.as_ref(),
            content_type: content_type.as_ref(),
            content_encoding: content_encoding.as_ref(),
            version: version.as_ref(),
            method: method.as_ref(),
            name: name.as_ref(),
            session: session.as_ref(),
        }
    }
}

const COUNT: usize = 9;

/// A header of a request.
pub(super) type Field<'a> = Found<&'a HeaderValue>;

/// How often a header is there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<T> {
    Absent,
    Once(T),
    Repeated,
}

impl<T> Found<T> {
    #[inline]
    const fn as_ref(&self) -> Found<&T> {
        match self {
            Self::Absent => Found::Absent,
            Self::Once(value) => Found::Once(value),
            Self::Repeated => Found::Repeated,
        }
    }
}

impl<'a> Field<'a> {
    /// The header of this name.
    pub(super) fn of(headers: &'a HeaderMap, name: &HeaderName) -> Self {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Self::Absent,
            (Some(value), None) => Self::Once(value),
            (Some(_), Some(_)) => Self::Repeated,
        }
    }

    pub(super) const fn is_absent(self) -> bool {
        matches!(self, Self::Absent)
    }

    /// Its only value, if there is one. The name is for the message.
    pub(super) fn one(self, name: &HeaderName) -> Result<Option<&'a HeaderValue>, Mismatch> {
        match self {
            Self::Absent => Ok(None),
            Self::Once(value) => Ok(Some(value)),
            Self::Repeated => Err(Mismatch::Repeated {
                header: name.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST, ORIGIN};

    use super::*;
    use crate::http::header;

    #[test]
    fn every_header_is_found_as_by_its_name() {
        let names = [
            HOST,
            ORIGIN,
            ACCEPT,
            CONTENT_TYPE,
            CONTENT_ENCODING,
            header::PROTOCOL_VERSION,
            header::METHOD,
            header::NAME,
            header::SESSION_ID,
        ];
        for count in 0..3 {
            for name in &names {
                let mut headers = HeaderMap::new();
                headers.insert("x-other", HeaderValue::from_static("1"));
                for _ in 0..count {
                    headers.append(name, HeaderValue::from_static("2"));
                }
                let found = Fields::of(&headers);
                let known = KnownFields::of(&found);
                let fields = known.within(&headers);
                let all = [
                    fields.host,
                    fields.origin,
                    fields.accept,
                    fields.content_type,
                    fields.content_encoding,
                    fields.version,
                    fields.method,
                    fields.name,
                    fields.session,
                ];
                for (name, field) in names.iter().zip(all) {
                    let expected = Field::of(&headers, name).one(name);
                    assert_eq!(field.one(name), expected, "{count} of {name}");
                    assert_eq!(field.is_absent(), !headers.contains_key(name));
                }
            }
        }
    }

    #[test]
    fn a_page_is_named_by_exactly_one_header() {
        let page = HeaderValue::from_static("https://a.example");
        let mut headers = HeaderMap::new();
        assert_eq!(Fields::of(&headers).origin(), None);
        headers.append(ORIGIN, page.clone());
        assert_eq!(Fields::of(&headers).origin(), Some(&page));
        headers.append(ORIGIN, page);
        assert_eq!(Fields::of(&headers).origin(), None);
    }
}
