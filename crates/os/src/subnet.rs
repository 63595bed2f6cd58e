//! A network of this machine's own, for nodes that are network namespaces: addresses and names of interfaces that nobody else uses who
//! asks here.

use std::io::{Error, ErrorKind, Result};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// `10.A.B.0/24`, claimed until this is dropped or its process ends.
#[derive(Debug)]
pub struct Subnet {
    first: u8,
    number: u8,
    /// Bound to a name that only one process can have.
    _claim: UnixDatagram,
}

impl Subnet {
    /// The first that is free of the 254 that begin with `10.first.1`. Does not block.
    ///
    /// # Errors
    /// All are taken, or the machine has no more descriptors.
    pub fn claim(first: u8) -> Result<Self> {
        for number in 1..=254 {
            let name = SocketAddr::from_abstract_name(format!("isthmus-subnet-10.{first}.{number}"))?;
            match UnixDatagram::bind_addr(&name) {
                Ok(claim) => {
                    return Ok(Self {
                        first,
                        number,
                        _claim: claim,
                    });
                }
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(ErrorKind::AddrInUse, "all subnets are taken"))
    }

    /// Which it is: names of interfaces with it are unique, too.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// `10.A.B.last`.
    pub fn address(&self, last: u8) -> [u8; 4] {
        [10, self.first, self.number, last]
    }

    /// The same as text.
    pub fn text(&self, last: u8) -> String {
        std::net::Ipv4Addr::from(self.address(last)).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own() {
        let one = Subnet::claim(250).expect("one");
        let other = Subnet::claim(250).expect("another");
        assert_ne!(one.number(), other.number());
        let number = one.number();
        assert_eq!(one.text(7), format!("10.250.{number}.7"));
    }
}
