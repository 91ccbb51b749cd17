//! Hosts that are reached without a proxy.

use std::net::IpAddr;

use crate::http::client::target::read_port;

/// What `no_proxy` says.
#[derive(Debug, Default)]
pub(super) struct Exceptions {
    entries: Vec<Entry>,
}

#[derive(Debug)]
enum Entry {
    Everything,
    /// A network; an address is one of a single address.
    Network {
        address: IpAddr,
        bits: u8,
    },
    /// A name and everything below it.
    Name {
        name: String,
        port: Option<u16>,
    },
}

impl Exceptions {
    /// Entries between commas or spaces. What cannot be read covers nothing.
    pub(super) fn read(text: &str) -> Self {
        let entries = text
            .split([',', ' ', '\t'])
            .filter(|entry| !entry.is_empty())
            .filter_map(Entry::read)
            .collect();
        Self { entries }
    }

    pub(super) fn cover(&self, host: &str, port: u16) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.entries.iter().any(|entry| entry.covers(host, port))
    }
}

impl Entry {
    fn read(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Everything);
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        if let Ok(address) = unbracketed(address).parse::<IpAddr>() {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = match bits {
                Some(bits) => bits.parse().ok().filter(|bits| *bits <= most)?,
                None => most,
            };
            return Some(Self::Network { address, bits });
        }
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(read_port(port)?)),
            None => (text, None),
        };
        let name = name.strip_prefix('*').unwrap_or(name);
        let name = unbracketed(name.strip_prefix('.').unwrap_or(name));
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        (!name.is_empty()).then_some(Self::Name { name, port })
    }

    fn covers(&self, host: &str, port: u16) -> bool {
        match self {
            Self::Everything => true,
            Self::Network { address, bits } => match host.parse() {
                Ok(host) => is_within(host, *address, *bits),
                Err(_) => false,
            },
            Self::Name { name, port: only } => {
                only.is_none_or(|only| only == port) && is_below(host, name)
            }
        }
    }
}

/// Is it this machine?
pub(super) fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => is_below(host.strip_suffix('.').unwrap_or(host), "localhost"),
    }
}

fn is_below(host: &str, name: &str) -> bool {
    let Some(start) = host.len().checked_sub(name.len()) else {
        return false;
    };
    let (Some(above), Some(end)) = (host.get(..start), host.get(start..)) else {
        return false;
    };
    end.eq_ignore_ascii_case(name) && (above.is_empty() || above.ends_with('.'))
}

fn is_within(host: IpAddr, network: IpAddr, bits: u8) -> bool {
    let (host, network, width) = match (host.to_canonical(), network) {
        (IpAddr::V4(host), IpAddr::V4(network)) => {
            (host.to_bits().into(), network.to_bits().into(), 32)
        }
        (IpAddr::V6(host), IpAddr::V6(network)) => (host.to_bits(), network.to_bits(), 128),
        _ => return false,
    };
    let differing: u128 = host ^ network;
    let ignored = 128_u32.min(width - u32::from(bits).min(width));
    differing.checked_shr(ignored).unwrap_or(0) == 0
}

fn unbracketed(text: &str) -> &str {
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    inner.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, covered: &[&str], not_covered: &[&str]) {
        let exceptions = Exceptions::read(text);
        let covers = |place: &&&str| {
            let (host, port) = place.rsplit_once('@').unwrap_or((place, "80"));
            exceptions.cover(host, port.parse().unwrap())
        };
        assert_eq!(covered.iter().find(|place| !covers(place)), None, "{text}");
        assert_eq!(not_covered.iter().find(covers), None, "{text}");
    }

    #[test]
    fn names_cover_what_is_below_them() {
        check(
            "b.test",
            &["b.test", "A.B.test", "b.test."],
            &["ab.test", "test", "b.test.c"],
        );
        check(".b.test", &["b.test", "a.b.test"], &["ab.test"]);
        check("*.b.test", &["a.b.test"], &["ab.test"]);
        check("x.test:81", &["x.test@81"], &["x.test@80"]);
        check("*", &["anything", "10.0.0.1"], &[]);
        check(
            "a.test b.test,,c.test",
            &["a.test", "b.test", "c.test"],
            &["d.test"],
        );
        check("", &[], &["a.test"]);
    }

    #[test]
    fn networks_cover_addresses() {
        check(
            "10.0.0.0/8",
            &["10.1.2.3", "::ffff:10.0.0.1"],
            &["11.0.0.1", "10.test"],
        );
        check("192.168.1.7", &["192.168.1.7"], &["192.168.1.8"]);
        check("[::1],fe80::/10", &["::1", "fe80::5"], &["::2", "fec0::1"]);
        check("0.0.0.0/0", &["1.2.3.4"], &["::5"]);
        check("::/0", &["::5"], &["1.2.3.4"]);
        check("10.0.0.0/33,1.2.3.4/x,é:1", &[], &["10.0.0.0", "1.2.3.4"]);
    }

    #[test]
    fn this_machine_has_several_names() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "127.8.0.1",
            "::1",
            "::ffff:127.0.0.1",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["localhost.evil", "notlocalhost", "10.0.0.1", "0.0.0.0"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
