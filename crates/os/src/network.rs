//! The addresses of this machine, and what the kernel says of its TCP connections.

use std::collections::HashSet;
use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

/// Addresses by which other machines may reach this one: those of interfaces that are up, IPv4 first. Link-local ones are left out: they mean
/// nothing elsewhere; and the loopback address, which is another machine elsewhere, unless there is no other.
pub fn addresses() -> Vec<IpAddr> {
    let mut found: Vec<_> = interfaces().into_iter().map(|(_, address)| address).collect();
    if found.is_empty() {
        return vec![Ipv4Addr::LOCALHOST.into()];
    }
    found.retain(|address| match address {
        IpAddr::V4(address) => !address.is_link_local(),
        IpAddr::V6(address) => !address.is_loopback() && address.segments()[0] & 0xffc0 != 0xfe80,
    });
    found.sort_by_key(IpAddr::is_ipv6);
    let is_alone = found.iter().all(IpAddr::is_loopback);
    found.retain(|address| is_alone || !address.is_loopback());
    found
}

/// The addresses that this machine has on a network: that of an interface (`eth1`), or a subnet (`10.2.0.0/16`). None: there is no such network
/// here.
pub fn addresses_on(network: &str) -> Vec<IpAddr> {
    let subnet = network.split_once('/').and_then(|(base, length)| {
        let base: IpAddr = base.parse().ok()?;
        Some((base, length.parse().ok()?))
    });
    let is_on = |name: &str, address: IpAddr| match subnet {
        Some((base, length)) => is_within(address, base, length),
        None => name == network,
    };
    let all = interfaces().into_iter();
    all.filter(|(name, address)| is_on(name, *address))
        .map(|(_, address)| address)
        .collect()
}

/// Do the first so many bits of both agree?
fn is_within(address: IpAddr, base: IpAddr, length: u32) -> bool {
    let (one, other, bits) = match (address, base) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (u128::from(one.to_bits()), u128::from(other.to_bits()), 32),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits(), other.to_bits(), 128),
        _ => return false,
    };
    length <= bits && (one ^ other).checked_shr(bits - length).unwrap_or(0) == 0
}

/// The addresses of interfaces that are up, each with its interface's name.
fn interfaces() -> Vec<(String, IpAddr)> {
    let mut found = Vec::new();
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the list is ours to free; each entry, its name and its address stay until then, and have the length of their family.
    unsafe {
        if libc::getifaddrs(&raw mut list) != 0 {
            return found;
        }
        let mut next = list;
        while let Some(entry) = next.as_ref() {
            next = entry.ifa_next;
            if entry.ifa_addr.is_null() || entry.ifa_flags & libc::IFF_UP as u32 == 0 {
                continue;
            }
            let address = match i32::from((*entry.ifa_addr).sa_family) {
                libc::AF_INET => {
                    let address = (*entry.ifa_addr.cast::<libc::sockaddr_in>()).sin_addr;
                    IpAddr::from(Ipv4Addr::from(u32::from_be(address.s_addr)))
                }
                libc::AF_INET6 => {
                    let address = (*entry.ifa_addr.cast::<libc::sockaddr_in6>()).sin6_addr;
                    IpAddr::from(Ipv6Addr::from(address.s6_addr))
                }
                _ => continue,
            };
            let name = CStr::from_ptr(entry.ifa_name).to_string_lossy().into_owned();
            found.push((name, address));
        }
        libc::freeifaddrs(list);
    }
    found
}

/// How the kernel decides how much a TCP connection may have under way, by its name, for connections of this network namespace; `None`: it does not tell.
pub fn congestion_control() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").ok()?;
    Some(name.trim().to_owned())
}

/// Of this process' TCP connections, let the kernel end those to `peers`, and those that were made to `own`, whose other end answers
/// nothing for so long, also if nothing is to be answered. Others are left alone. Blocks while descriptors are looked at.
pub fn limit_silence(own: Option<SocketAddr>, peers: &[SocketAddr], limit: Duration) {
    let peers: HashSet<&SocketAddr> = peers.iter().collect();
    limit_silence_where(limit, |fd, remote| {
        end_of(fd, libc::getsockname).is_some_and(|local| Some(local) == own) || peers.contains(&remote)
    });
}

/// The same of all connections with a host, whichever end made them.
pub fn limit_silence_of(host: IpAddr, limit: Duration) {
    limit_silence_where(limit, |_, remote| remote.ip() == host);
}

fn limit_silence_where(limit: Duration, is_meant: impl Fn(i32, SocketAddr) -> bool) {
    let Ok(list) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    for entry in list.flatten() {
        let Some(fd) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if end_of(fd, libc::getpeername).is_some_and(|remote| is_meant(fd, remote)) {
            // By its number alone: should it have become another socket since, that is watched more closely.
            crate::socket::keep_number_alive(fd, limit);
        }
    }
}

type EndOf = unsafe extern "C" fn(i32, *mut libc::sockaddr, *mut libc::socklen_t) -> i32;

/// One end of a connection, if this descriptor is one of TCP's.
fn end_of(fd: i32, ask: EndOf) -> Option<SocketAddr> {
    // SAFETY: zero is a value of the structure, which has room for any address and is as long as we say.
    unsafe {
        let mut storage: libc::sockaddr_storage = std::mem::zeroed();
        let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
        if ask(fd, (&raw mut storage).cast(), &raw mut length) != 0 {
            return None;
        }
        match i32::from(storage.ss_family) {
            libc::AF_INET => {
                let address = &*(&raw const storage).cast::<libc::sockaddr_in>();
                let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
                Some(SocketAddr::new(ip.into(), u16::from_be(address.sin_port)))
            }
            libc::AF_INET6 => {
                let address = &*(&raw const storage).cast::<libc::sockaddr_in6>();
                let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
                Some(SocketAddr::new(ip.into(), u16::from_be(address.sin6_port)))
            }
            _ => None,
        }
    }
}

/// The TCP connections that this process has made, at one time. Not from `/proc/net/tcp`: for that the kernel walks over the table of all
/// connections of the machine, however few there are, and each rank of a job would have it do so.
#[derive(Debug)]
pub struct Connections(HashSet<SocketAddr>);

impl Connections {
    /// Those of now. Blocks while descriptors are looked at.
    pub fn now() -> std::io::Result<Self> {
        let mut made = HashSet::new();
        for entry in std::fs::read_dir("/proc/self/fd")?.flatten() {
            let fd = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
            let remote = fd.and_then(|fd| end_of(fd, libc::getpeername).filter(|_| is_established(fd)));
            made.extend(remote);
        }
        Ok(Self(made))
    }

    /// Has that address answered?
    pub fn are_made(&self, to: SocketAddr) -> bool {
        self.0.contains(&to)
    }
}

/// Is it a connection that both ends have, and none has closed?
fn is_established(fd: i32) -> bool {
    const ESTABLISHED: u8 = 1;
    let mut state = 0_u8;
    let mut length = 1 as libc::socklen_t;
    // SAFETY: the kernel writes as much of the structure as there is room for, which begins with the state.
    let code = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut state).cast(),
            &raw mut length,
        )
    };
    code == 0 && state == ESTABLISHED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_named_by_interface_or_subnet() {
        let loopback = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert!(addresses_on("lo").contains(&loopback) && addresses_on("127.0.0.0/8") == [loopback]);
        for nothing in [
            "",
            "no-such-interface",
            "203.0.113.0/24",
            "127.0.0.0/33",
            "127.0.0.0/",
            "::1/8",
        ] {
            assert!(!addresses_on(nothing).contains(&loopback), "{nothing}");
        }
    }

    #[test]
    fn subnets_are_prefixes() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert!(is_within(ip("10.2.3.4"), ip("10.2.0.0"), 16) && !is_within(ip("10.3.3.4"), ip("10.2.0.0"), 16));
        assert!(is_within(ip("10.2.3.4"), ip("0.0.0.0"), 0) && !is_within(ip("10.2.3.4"), ip("10.2.3.5"), 32));
        assert!(is_within(ip("fd00::1"), ip("fd00::"), 8) && !is_within(ip("fd00::1"), ip("10.0.0.0"), 8));
    }

    #[test]
    fn made_connections_are_listed() {
        for any in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = std::net::TcpListener::bind(any) else {
                continue; // No IPv6 here.
            };
            let address = listener.local_addr().expect("bound");
            assert!(!Connections::now().expect("a list").are_made(address));
            let _made = std::net::TcpStream::connect(address).expect("a connection");
            assert!(Connections::now().expect("a list").are_made(address));
        }
    }

    #[test]
    fn who_is_not_answered_or_has_hung_up_has_made_none() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let made = std::net::TcpStream::connect(address).expect("a connection");
        let own = made.local_addr().expect("its own end");
        drop(listener.accept().expect("the other end"));
        assert!(
            !Connections::now().expect("a list").are_made(address),
            "the other end is closed"
        );
        assert!(
            !Connections::now().expect("a list").are_made(own),
            "nobody has connected to that"
        );
    }

    #[test]
    fn connections_to_peers_are_watched() {
        use std::os::fd::AsFd;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let one = std::net::TcpStream::connect(address).expect("a connection");
        let (other, _) = listener.accept().expect("the other end");
        let limit = Duration::from_secs(77);
        limit_silence(None, &["127.0.0.1:1".parse().expect("an address")], limit);
        assert_ne!(crate::socket::silence_limit(one.as_fd()), limit);
        limit_silence(None, &[address], limit);
        assert_eq!(crate::socket::silence_limit(one.as_fd()), limit);
        assert_ne!(crate::socket::silence_limit(other.as_fd()), limit);
        limit_silence(Some(address), &[], limit);
        assert_eq!(crate::socket::silence_limit(other.as_fd()), limit);
        let shorter = Duration::from_secs(3);
        limit_silence_of("127.0.0.2".parse().expect("an address"), shorter);
        assert_eq!(crate::socket::silence_limit(one.as_fd()), limit);
        limit_silence_of(address.ip(), shorter);
        for end in [one.as_fd(), other.as_fd()] {
            assert_eq!(crate::socket::silence_limit(end), shorter);
        }
    }

    #[test]
    fn the_loopback_address_is_named_alone_or_not() {
        let found = addresses();
        assert!(found.len() == 1 || !found.iter().any(IpAddr::is_loopback), "{found:?}");
    }
}
