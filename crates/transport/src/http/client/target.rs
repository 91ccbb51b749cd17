//! Where a request goes: the part of its URL that names a connection.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};

/// A scheme and an authority. Cheap to make and to compare: every request does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) is_secure: bool,
    pub(super) authority: Authority,
}

impl Target {
    /// # Errors
    /// In words, why nothing can be sent there.
    pub(super) fn of(uri: &Uri) -> Result<Self, &'static str> {
        let is_secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err("it is neither http nor https"),
        };
        match uri.authority() {
            Some(authority) => Ok(Self {
                is_secure,
                authority: authority.clone(),
            }),
            None => Err("it names no host"),
        }
    }

    /// The name or address, an IPv6 one without its brackets.
    ///
    /// # Errors
    /// In words, what is wrong with the URL.
    pub(super) fn place(&self) -> Result<(&str, u16), &'static str> {
        let host = self.authority.host();
        let rest = place_of(&self.authority).strip_prefix(host);
        let standard = if self.is_secure { 443 } else { 80 };
        let port = match rest.map(|rest| rest.strip_prefix(':').ok_or(rest)) {
            Some(Err("") | Ok("")) => standard,
            Some(Ok(digits)) => read_port(digits).ok_or("its port is not a number up to 65535")?,
            Some(Err(_)) | None => return Err("its host cannot be read"),
        };
        let name = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        match name.is_empty() {
            true => Err("it names no host"),
            false => Ok((name, port)),
        }
    }

    /// What stands in the header `Host`.
    pub(super) fn host_header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(place_of(&self.authority)).ok()
    }
}

/// The host and port, without a name and a password.
pub(super) fn place_of(authority: &Authority) -> &str {
    let text = authority.as_str();
    text.rsplit_once('@').map_or(text, |(_, place)| place)
}

/// The name and password of a URL, as a header says them.
pub(super) fn basic_header(authority: &Authority) -> Option<HeaderValue> {
    let (user, _) = authority.as_str().rsplit_once('@')?;
    let mut pair = percent_decoded(user);
    if !user.contains(':') {
        pair.push(b':');
    }
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let byte = match (first, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match byte {
            Some((high, low)) => {
                decoded.push(high << 4 | low);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                decoded.push(first);
                rest = after;
            }
        }
    }
    decoded
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

pub(super) fn read_port(digits: &str) -> Option<u16> {
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(uri: &str) -> Result<(String, u16), &'static str> {
        let target = Target::of(&uri.parse().unwrap())?;
        target.place().map(|(host, port)| (host.to_owned(), port))
    }

    #[test]
    fn a_url_names_a_host_and_a_port() {
        assert_eq!(place("http://host/mcp"), Ok(("host".to_owned(), 80)));
        assert_eq!(place("https://host"), Ok(("host".to_owned(), 443)));
        assert_eq!(
            place("https://u:p@host:8443"),
            Ok(("host".to_owned(), 8443))
        );
        assert_eq!(place("http://[::1]:81/"), Ok(("::1".to_owned(), 81)));
        assert!(place("http://host:99999/").is_err());
        assert!(place("ftp://host/").is_err());
        assert!(place("/mcp").is_err());
    }

    #[test]
    fn a_name_and_password_become_a_header_and_leave_the_host() {
        let authority = Authority::from_static("ada:p%40ss@host:81");
        assert_eq!(basic_header(&authority).unwrap(), "Basic YWRhOnBAc3M=");
        assert_eq!(place_of(&authority), "host:81");
        let authority = Authority::from_static("ada@host");
        assert_eq!(basic_header(&authority).unwrap(), "Basic YWRhOg==");
        assert_eq!(basic_header(&Authority::from_static("host")), None);
        assert_eq!(percent_decoded("a%2"), b"a%2");
        assert_eq!(percent_decoded("%zz%41"), b"%zzA");
    }
}
