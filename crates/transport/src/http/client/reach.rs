//! How far a client reaches: everywhere, or only what is public.
//!
//! A peer that names a URL can name one behind our own firewall. Which addresses are public is
//! said here; `connect` asks about each address that it is about to use, after the name was
//! resolved, so that no second answer of a resolver comes in between.
//!
//! Specification: the registries of special-purpose addresses of RFC 6890, IPv4 and IPv6;
//! RFC 6052 and RFC 3056 (addresses within addresses).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How far a client reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// Every address, this machine and its networks too.
    #[default]
    Anywhere,
    /// Public addresses only, for URLs that others name. Behind a proxy it is the proxy that
    /// resolves names, and the proxy that must know which are public.
    Public,
}

impl Reach {
    /// May this address be connected to?
    pub fn includes(self, address: IpAddr) -> bool {
        match self {
            Self::Anywhere => true,
            Self::Public => is_public(address),
        }
    }

    /// May a proxy be asked for this host, as far as its name says?
    pub(super) fn includes_host(self, host: &str) -> bool {
        match (self, host.parse()) {
            (Self::Anywhere, _) => true,
            (Self::Public, Ok(address)) => is_public(address),
            (Self::Public, Err(_)) => !is_own_name(host),
        }
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    match address.octets() {
        // This network, private networks, loopback.
        [0 | 10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] => false,
        // Behind a provider's translation, link-local (where clouds keep their metadata).
        [100, 64..=127, ..] | [169, 254, ..] => false,
        // Protocols, documentation, old relays, benchmarks.
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => false,
        [192, 88, 99, _] | [198, 18 | 19, ..] => false,
        // Multicast, reserved, broadcast.
        [224..=255, ..] => false,
        _ => true,
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(within) = address_within(address) {
        return is_public_v4(within);
    }
    match address.segments() {
        // Protocols, Teredo among them.
        [0x2001, 0..=0x01ff, ..] => false,
        // Documentation.
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // All that is given out as global unicast; the rest is private, local or reserved.
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

/// The IPv4 address to which an IPv6 one leads.
fn address_within(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match address.segments() {
        // Mapped, and translated by NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => (high, low),
        // 6to4.
        [0x2002, high, low, ..] => (high, low),
        _ => return None,
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

/// Is it a name of this machine, or a number in one of the old ways to write an address?
fn is_own_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let last = host.rsplit('.').next().unwrap_or_default();
    // `127.1` and `0x7f000001` are 127.0.0.1 to many resolvers. No top-level domain is a number.
    let is_number = match last.strip_prefix("0x") {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => last.bytes().all(|byte| byte.is_ascii_digit()),
    };
    last == "localhost" || is_number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_public_is_out_of_reach() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::808:808",
            "100::1",
            "2001::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:a00:1::1",
            "2002:7f00:1::",
            "3fff::1",
            "4000::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            let address = address.parse().unwrap();
            assert!(!Reach::Public.includes(address), "{address}");
            assert!(Reach::Anywhere.includes(address), "{address}");
        }
    }

    #[test]
    fn what_is_public_is_within_reach() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "223.255.255.255",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2606:4700:4700::1111",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(
                Reach::Public.includes(address.parse().unwrap()),
                "{address}"
            );
        }
    }

    #[test]
    fn a_proxy_is_not_asked_for_this_machine_by_any_of_its_names() {
        for host in [
            "localhost",
            "LocalHost.",
            "a.localhost",
            "127.0.0.1",
            "::1",
            "127.1",
            "0x7f000001",
            "0x7f.1",
            "2130706433",
            "10.1.",
            "127.0.0.01",
            "",
        ] {
            assert!(!Reach::Public.includes_host(host), "{host}");
            assert!(Reach::Anywhere.includes_host(host), "{host}");
        }
        for host in ["example.com", "1.example.com", "8.8.8.8", "0xample", "a.b."] {
            assert!(Reach::Public.includes_host(host), "{host}");
        }
    }
}
