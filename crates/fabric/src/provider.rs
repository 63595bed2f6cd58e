//! Which provider, and which of its interfaces.
//!
//! It is asked for reliable messages in order (`FI_EP_RDM`, `FI_MSG`, `FI_ORDER_SAS`), with reads of remote memory (`FI_RMA`) if
//! there is a provider that has them. Of what libfabric offers, the first in
//! [`PREFERRED`] is taken, and of its interfaces the one with the address that the launcher reached this node by, else the first
//! that is no loopback. `FI_PROVIDER` (libfabric's own) limits what it offers, `ISTHMUS_FABRIC` names one, `ISTHMUS_FABRIC_NETWORK` a network.

use std::ffi::{CStr, CString};
use std::net::{IpAddr, SocketAddr};
use std::ptr::NonNull;

use crate::abi::{self, Info};
use crate::library::Library;
use crate::{Error, Result};

/// Providers, best first. `tcp` has reliable endpoints of its own from libfabric 1.18 on. Before that the same code was called `net`. In
/// libfabric 1.17 an endpoint of `net` takes 1.1 MiB and one of `tcp` with `ofi_rxm` 70; a bare loop takes, in us, 5.3 instead of 6.4 for
/// 8 bytes, 24 to 38 instead of 145 for 128 KiB, and 451 instead of 715 for 1 MiB. The `fi_trywait` of `net`, and of `tcp` in 1.18.0, does
/// nothing: `queue.rs` has a wait set there. Never `shm`: ranks that share memory do not use the network.
pub const PREFERRED: [&str; 8] = [
    "cxi",
    "efa",
    "psm3",
    "verbs;ofi_rxm",
    "tcp",
    "net",
    "tcp;ofi_rxm",
    "sockets",
];

/// What the endpoint is to be on.
#[derive(Debug, Clone, Default)]
pub struct ProviderFilter {
    /// The provider, by its name.
    pub provider: Option<String>,
    /// An address of the interface.
    pub interface: Option<IpAddr>,
    /// Nothing but this network will do.
    pub network: Option<Network>,
}

/// A network that this node is on.
#[derive(Debug, Clone)]
pub struct Network {
    /// As the user calls it.
    pub name: String,
    /// The addresses that this node has there.
    pub addresses: Vec<IpAddr>,
}

impl Network {
    /// Is this interface on it? Those without an address are known by the name that libfabric has for them.
    fn has(&self, info: NonNull<Info>) -> bool {
        match interface(info) {
            Some(address) => self.addresses.contains(&address),
            None => domain_of(info) == self.name,
        }
    }
}

/// What libfabric offers, and was chosen. Frees it.
#[derive(Debug)]
pub(crate) struct Offer {
    library: &'static Library,
    list: NonNull<Info>,
    chosen: NonNull<Info>,
}

// SAFETY: plain memory that libfabric allocated and does not touch by itself.
unsafe impl Send for Offer {}

impl Drop for Offer {
    fn drop(&mut self) {
        // SAFETY: from `fi_getinfo`, and not used after this.
        unsafe { (self.library.freeinfo)(self.list.as_ptr()) };
    }
}

impl Offer {
    /// Ask, and choose. Blocks while the providers look at their devices.
    pub fn find(library: &'static Library, wanted: &ProviderFilter) -> Result<Self> {
        let with_rma = Self::find_capable(library, wanted, abi::CAP_MSG | abi::CAP_RMA);
        with_rma.or_else(|_| Self::find_capable(library, wanted, abi::CAP_MSG))
    }

    fn find_capable(library: &'static Library, wanted: &ProviderFilter, capabilities: u64) -> Result<Self> {
        let described = wanted.provider.as_deref().unwrap_or("any");
        let on = wanted.network.as_ref().map_or_else(String::new, |network| {
            format!(
                ", on the network {} only: is that up, and has this node an address there?",
                network.name
            )
        });
        let none = || Error::NoProvider(format!("asked for {described}, reliable messages in order{on}"));
        // SAFETY: null asks for an empty one.
        let hints = NonNull::new(unsafe { (library.dupinfo)(std::ptr::null()) }).ok_or_else(none)?;
        // SAFETY: `fi_dupinfo` allocates all parts; the name is freed with it, by free(3).
        unsafe {
            let info = &mut *hints.as_ptr();
            info.caps = capabilities;
            info.mode = abi::MODE_CONTEXT | abi::MODE_CONTEXT2;
            (*info.ep_attr).kind = abi::EP_RDM;
            (*info.tx_attr).msg_order = abi::ORDER_SAS;
            (*info.rx_attr).msg_order = abi::ORDER_SAS;
            (*info.domain_attr).threading = abi::THREAD_DOMAIN;
            (*info.domain_attr).mr_mode =
                abi::MR_LOCAL | abi::MR_VIRT_ADDR | abi::MR_ALLOCATED | abi::MR_PROV_KEY | abi::MR_ENDPOINT;
            if let Some(name) = &wanted.provider
                && let Ok(name) = CString::new(name.as_str())
            {
                (*info.fabric_attr).prov_name = libc::strdup(name.as_ptr());
            }
        }
        let mut list = std::ptr::null_mut();
        // SAFETY: hints are whole, the list is ours to write.
        let code = unsafe {
            let code = (library.getinfo)(
                abi::VERSION,
                std::ptr::null(),
                std::ptr::null(),
                0,
                hints.as_ptr(),
                &raw mut list,
            );
            (library.freeinfo)(hints.as_ptr());
            code
        };
        let list = NonNull::new(list).filter(|_| code == 0).ok_or_else(none)?;
        let mut offer = Self {
            library,
            list,
            chosen: list,
        };
        let ranked = offer
            .all()
            .filter(|info| !shares_memory(&name_of(*info)))
            .filter(|info| wanted.network.as_ref().is_none_or(|network| network.has(*info)))
            .filter_map(|info| {
                let rank = match &wanted.provider {
                    Some(_) => 0,
                    None => PREFERRED.iter().position(|name| *name == name_of(info))?,
                };
                Some(((rank, unfitness(interface(info), wanted.interface)), info))
            });
        // The first of equals: libfabric lists the best first.
        let best = ranked.min_by_key(|(key, _)| *key).map(|(_, info)| info);
        offer.chosen = best.ok_or_else(none)?;
        Ok(offer)
    }

    fn all(&self) -> impl Iterator<Item = NonNull<Info>> {
        // SAFETY: a list of libfabric's, which lives as long as we.
        std::iter::successors(Some(self.list), |info| NonNull::new(unsafe { info.as_ref() }.next))
    }

    /// The choice.
    pub fn info(&self) -> NonNull<Info> {
        self.chosen
    }

    /// What an endpoint's name says of where it listens, if the provider uses the kernel's TCP.
    pub fn tcp_address(&self, name: &[u8]) -> Option<SocketAddr> {
        let provider = self.name();
        let is_tcp = provider == "sockets" || provider == "net" || provider.starts_with("tcp");
        // SAFETY: libfabric's, whole.
        let format = unsafe { self.chosen.as_ref() }.addr_format;
        is_tcp.then(|| address(format, name))?
    }

    /// Does it read memory of others?
    pub fn has_rma(&self) -> bool {
        // SAFETY: libfabric's, whole.
        unsafe { self.chosen.as_ref() }.caps & abi::CAP_RMA != 0
    }

    /// How it wants memory registered, and the bits of a key that we choose.
    pub fn registration(&self) -> (i32, u32) {
        // SAFETY: libfabric's, whole.
        let domain = unsafe { &*self.chosen.as_ref().domain_attr };
        (domain.mr_mode, domain.mr_key_size.min(8) as u32 * 8)
    }

    /// The name of the provider.
    pub fn name(&self) -> String {
        name_of(self.chosen)
    }

    /// Does its `fi_trywait` do nothing, so that a queue's own descriptor stays readable (see [`crate::queue`])?
    pub fn needs_wait_set(&self) -> bool {
        // SAFETY: libfabric's, whole. Version 1.18.2 counts as 118.20.
        let version = unsafe { (*self.chosen.as_ref().fabric_attr).prov_version };
        match self.name().as_str() {
            "net" => true,
            "tcp" => version < (118 << 16 | 20),
            _ => false,
        }
    }

    /// Does it end a read twice, and free its memory twice, when a connection is replaced while the answer to that read has come in part? After
    /// that its frames are mixed up. `net` of libfabric 1.17 does (mended in 1.18.0, where it is called `tcp`:
    /// <https://github.com/ofiwg/libfabric/commit/a74ea0fcd>). It replaces only connections that it has accepted; those of an endpoint that
    /// nobody else knows are all its own.
    pub fn ends_reads_twice(&self) -> bool {
        self.name() == "net"
    }
}

/// Is it `shm`, or does it stand on it? What shares memory is no matter of the network, whoever asks for it.
fn shares_memory(provider: &str) -> bool {
    provider.split(';').any(|part| part == "shm")
}

fn name_of(info: NonNull<Info>) -> String {
    // SAFETY: libfabric's, whole; names are strings or null.
    unsafe {
        let name = (*info.as_ref().fabric_attr).prov_name;
        match name.is_null() {
            true => String::new(),
            false => CStr::from_ptr(name).to_string_lossy().into_owned(),
        }
    }
}

/// What libfabric calls its interface.
fn domain_of(info: NonNull<Info>) -> String {
    // SAFETY: libfabric's, whole; names are strings or null.
    unsafe {
        let name = (*info.as_ref().domain_attr).name;
        match name.is_null() {
            true => String::new(),
            false => CStr::from_ptr(name).to_string_lossy().into_owned(),
        }
    }
}

/// The address of its interface, where it is one of IP.
fn interface(info: NonNull<Info>) -> Option<IpAddr> {
    // SAFETY: libfabric's, whole; the address has as many bytes as it says.
    unsafe {
        let info = info.as_ref();
        let bytes = match info.src_addr.is_null() {
            true => &[][..],
            false => std::slice::from_raw_parts(info.src_addr.cast::<u8>(), info.src_addrlen),
        };
        address(info.addr_format, bytes).map(|address| address.ip())
    }
}

/// A `sockaddr_in` or `sockaddr_in6`, as libfabric's formats name them.
fn address(format: u32, bytes: &[u8]) -> Option<SocketAddr> {
    let ip = match format {
        abi::SOCKADDR_IN => IpAddr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?),
        abi::SOCKADDR_IN6 => IpAddr::from(<[u8; 16]>::try_from(bytes.get(8..24)?).ok()?),
        _ => return None,
    };
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    Some(SocketAddr::new(ip, port))
}

/// Of two interfaces, the one with the smaller number serves better.
fn unfitness(address: Option<IpAddr>, wanted: Option<IpAddr>) -> u32 {
    match address {
        Some(address) if Some(address) == wanted => 0,
        Some(IpAddr::V4(address)) if !address.is_loopback() && !address.is_link_local() => 1,
        None => 1,
        Some(IpAddr::V6(address)) if !address.is_loopback() && address.segments()[0] & 0xffc0 != 0xfe80 => 2,
        Some(address) if !address.is_loopback() => 3,
        Some(_) => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_no_network() {
        assert!(shares_memory("shm") && shares_memory("shm;ofi_rxd"));
        assert!(!PREFERRED.iter().any(|name| shares_memory(name)));
    }

    #[test]
    fn interfaces_that_others_reach_come_first() {
        let ip = |text: &str| Some(text.parse().expect("an address"));
        let order = ["10.9.0.2", "192.0.2.1", "fd00::1", "fe80::1", "127.0.0.1"];
        let unfit = order.map(|text| unfitness(ip(text), ip("10.9.0.2")));
        assert_eq!(unfit, [0, 1, 2, 3, 4]);
    }
}
