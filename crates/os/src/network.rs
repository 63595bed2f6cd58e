//! The addresses of this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses by which other machines may reach this one: those of interfaces that are up and no loopback, IPv4 first; the loopback
/// address last. Link-local ones are left out: they mean nothing elsewhere.
pub fn addresses() -> Vec<IpAddr> {
    let mut found = Vec::new();
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the list is ours to free; each entry and its address stay until then, and have the length of their family.
    unsafe {
        if libc::getifaddrs(&raw mut list) != 0 {
            return vec![Ipv4Addr::LOCALHOST.into()];
        }
        let mut next = list;
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            if entry.ifa_addr.is_null() || entry.ifa_flags & libc::IFF_UP as u32 == 0 {
                continue;
            }
            match i32::from((*entry.ifa_addr).sa_family) {
                libc::AF_INET => {
                    let address = (*entry.ifa_addr.cast::<libc::sockaddr_in>()).sin_addr;
                    found.push(IpAddr::from(Ipv4Addr::from(u32::from_be(address.s_addr))));
                }
                libc::AF_INET6 => {
                    let address = (*entry.ifa_addr.cast::<libc::sockaddr_in6>()).sin6_addr;
                    found.push(IpAddr::from(Ipv6Addr::from(address.s6_addr)));
                }
                _ => {}
            }
        }
        libc::freeifaddrs(list);
    }
    found.retain(|address| match address {
        IpAddr::V4(address) => !address.is_link_local(),
        IpAddr::V6(address) => !address.is_loopback() && address.segments()[0] & 0xffc0 != 0xfe80,
    });
    found.sort_by_key(|address| (address.is_loopback(), address.is_ipv6()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_address_comes_last() {
        let found = addresses();
        let first = found.iter().position(IpAddr::is_loopback);
        assert!(first.is_none_or(|at| at + 1 == found.len()), "{found:?}");
    }
}
