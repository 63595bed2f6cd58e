//! What a frame between two nodes holds: a header, and the same records that cross in a ring on one node.
//!
//! ```text
//! magic 4 | source 4 | seal 8 | sequence 8 | consumed 8 | flags and length 4 | come 4     the header
//! header 8 | body | padding to 8                                                          each record; the header as in a ring
//! checksum 8                                                                              of the records, if the flags say so
//! ```
//! Numbers are in native order: a job does not mix machines of both kinds, and the magic tells.
//!
//! The seal is SipHash-2-4 (Aumasson and Bernstein, 2012) of the rest of the header and of the receiver's rank, with a key that is derived from
//! the job's nonce. It proves that a rank of the job has sent the frame to that receiver with that number; the records it does not cover.

use std::hash::Hasher;

use isthmus_fabric::FRAME;
use isthmus_shm::ring::Header;
use siphasher::sip::SipHasher24;

use super::rails::RAILS;
use crate::membership::control::Nonce;

/// To be raised when what follows changes, the records among it: ranks of another format are told apart.
pub const FORMAT: u32 = 6;
/// Bytes of the header.
pub const HEADER: usize = 40;
/// Bytes of a record's header.
const RECORD: usize = 8;
const MAGIC: u32 = 0x4953_4e31;
/// The sender has no room for unmatched payload: announce only.
pub const ANNOUNCE_ONLY: u32 = 1;
/// The sender wants to hear what has come: a frame back.
pub const ASKS: u32 = 2;
/// The sender has given the connection up: for it, the receiver has failed.
pub const PARTED: u32 = 4;

/// A frame is missing of those that the receiver has sent: it is to send again what it has kept.
pub const MISSES: u32 = 8;
/// A checksum of the records ends the frame.
pub const CHECKED: u32 = 16;
/// From this bit on one for each rail but the first: the sender has given it up.
const CLOSED_SHIFT: u32 = 5;
const CLOSED: u32 = (1 << (RAILS - 1)) - 1;
/// All of them.
const FLAGS: u32 = ANNOUNCE_ONLY | ASKS | PARTED | MISSES | CHECKED | CLOSED << CLOSED_SHIFT;
/// Bytes of a checksum: CRC-32 (IEEE 802.3), and zeros.
const CHECKSUM: usize = 8;
/// The flags stand above the length, which has so many bits.
const LENGTH_BITS: u32 = 20;
const _: () = assert!(FRAME < 1 << LENGTH_BITS);
/// Where it says who sends it, and where it is sealed.
const SOURCE: usize = 4;
const SEAL: usize = 8;
const SEALED: usize = 16;

/// Proves that frames are of the job.
#[derive(Debug)]
pub struct Seal(SipHasher24);

impl Seal {
    /// Of the job with this nonce.
    pub fn of(nonce: Nonce) -> Self {
        let key = nonce.derive("frames");
        Self(SipHasher24::new_with_key(
            key[..16].try_into().expect("there are 32 bytes"),
        ))
    }

    /// Seal a frame that goes to rank `to`.
    pub fn put_on(&self, frame: &mut [u8], to: u32) {
        let seal = self.seal(frame, to);
        frame[SEAL..SEALED].copy_from_slice(&seal.to_ne_bytes());
    }

    /// Has a rank of the job sealed this for rank `to`, frame or not?
    pub fn is_on(&self, frame: &[u8], to: u32) -> bool {
        frame.len() >= HEADER && long(frame, SEAL) == Some(self.seal(frame, to))
    }

    fn seal(&self, frame: &[u8], to: u32) -> u64 {
        let mut hasher = self.0;
        hasher.write(&frame[..SEAL]);
        hasher.write(&frame[SEALED..HEADER]);
        hasher.write_u32(to);
        hasher.finish()
    }
}

/// What a frame says besides its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// The sender's rank.
    pub source: u32,
    /// Frames that this sender sent to this receiver before.
    pub sequence: u64,
    /// Bytes of records of the receiver's that the sender has handled: credit.
    pub consumed: u64,
    /// [`ANNOUNCE_ONLY`] and those that follow it.
    pub flags: u32,
    /// Frames of the receiver's that have come to the sender in their turn, which need not be kept any more; wraps.
    pub come: u32,
}

impl Prefix {
    /// Write it before records that end at `length` bytes; what is written is to be sealed then.
    pub fn write(&self, frame: &mut [u8], length: usize) {
        let parts: [&[u8]; 7] = [
            &MAGIC.to_ne_bytes(),
            &self.source.to_ne_bytes(),
            &[0; SEALED - SEAL],
            &self.sequence.to_ne_bytes(),
            &self.consumed.to_ne_bytes(),
            &(self.flags << LENGTH_BITS | length as u32).to_ne_bytes(),
            &self.come.to_ne_bytes(),
        ];
        let mut at = 0;
        for part in parts {
            frame[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
    }

    /// Read it; `None`: this is no frame.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let (flags, length) = (
            word(frame, 32)? >> LENGTH_BITS,
            word(frame, 32)? & ((1 << LENGTH_BITS) - 1),
        );
        let whole = word(frame, 0)? == MAGIC && length as usize == frame.len() && frame.len() >= HEADER;
        (whole && flags & !FLAGS == 0).then_some(())?;
        Some(Self {
            source: source(frame)?,
            sequence: long(frame, 16)?,
            consumed: long(frame, 24)?,
            flags,
            come: word(frame, 36)?,
        })
    }
}

/// The flags that tell which rails the sender has given up.
pub const fn closed_flags(closed: u32) -> u32 {
    closed << CLOSED_SHIFT
}

/// Which rails those are.
pub const fn closed(flags: u32) -> u32 {
    flags >> CLOSED_SHIFT & CLOSED
}

/// The sender that it names, frame or not.
pub fn source(frame: &[u8]) -> Option<u32> {
    word(frame, SOURCE)
}

/// Bytes of the header and the records of a frame, at most.
pub const fn room(is_checked: bool) -> usize {
    if is_checked { FRAME - CHECKSUM } else { FRAME }
}

/// The records end at `end`. Where the frame does: after a checksum of them, if that is wanted and there are any.
pub fn close(frame: &mut [u8], end: usize, is_checked: bool) -> usize {
    if !is_checked || end == HEADER {
        return end;
    }
    let checksum = u64::from(crc32fast::hash(&frame[HEADER..end]));
    frame[end..end + CHECKSUM].copy_from_slice(&checksum.to_ne_bytes());
    end + CHECKSUM
}

/// The records of a frame, and what is before them. `None`: they are not as their sender has sent them.
pub fn open(frame: &[u8], flags: u32) -> Option<&[u8]> {
    if flags & CHECKED == 0 {
        return Some(frame);
    }
    let (records, checksum) = frame.split_at_checked(frame.len().checked_sub(CHECKSUM)?)?;
    let expected = u64::from(crc32fast::hash(records.get(HEADER..)?));
    (checksum == expected.to_ne_bytes()).then_some(records)
}

fn word(frame: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(frame.get(at..at + 4)?.try_into().ok()?))
}

fn long(frame: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(frame.get(at..at + 8)?.try_into().ok()?))
}

/// Bytes that a record with `body` bytes takes in a frame.
pub fn footprint(body: u32) -> usize {
    (RECORD + body as usize).next_multiple_of(8)
}

/// Write a record's header at `at`; where its body belongs.
pub fn begin(frame: &mut [u8], at: usize, header: Header) -> &mut [u8] {
    let word = u64::from(header.handler) | u64::from(header.length) << 8 | u64::from(header.context) << 32;
    frame[at..at + RECORD].copy_from_slice(&word.to_ne_bytes());
    &mut frame[at + RECORD..][..header.length as usize]
}

/// The record at `at`, and where the next one is. `None`: there is none, or it does not fit.
pub fn record(frame: &[u8], at: usize) -> Option<(Header, &[u8], usize)> {
    let word = u64::from_ne_bytes(frame.get(at..at + RECORD)?.try_into().ok()?);
    let header = Header {
        handler: word as u8,
        length: (word >> 8) as u32 & 0xff_ffff,
        context: (word >> 32) as u32,
    };
    let body = frame.get(at + RECORD..)?.get(..header.length as usize)?;
    Some((header, body, at + footprint(header.length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_the_trip() {
        let prefix = Prefix {
            source: 3,
            sequence: 1 << 40,
            consumed: 99,
            flags: ANNOUNCE_ONLY | closed_flags(0b101),
            come: 77,
        };
        let mut frame = [0_u8; 256];
        let headers = [(1, 13), (5, 0), (7, 40)].map(|(handler, length)| Header {
            handler,
            length,
            context: u32::MAX - u32::from(handler),
        });
        let mut at = HEADER;
        for header in headers {
            begin(&mut frame, at, header).fill(header.handler);
            at += footprint(header.length);
        }
        prefix.write(&mut frame, at);
        assert_eq!(Prefix::read(&frame[..at]), Some(prefix));
        assert_eq!(closed(prefix.flags), 0b101);
        let mut next = HEADER;
        for expected in headers {
            let (header, body, after) = record(&frame[..at], next).expect("a record");
            assert_eq!(header, expected);
            assert!(body.len() == header.length as usize && body.iter().all(|byte| *byte == header.handler));
            next = after;
        }
        assert_eq!(next, at);
        assert!(record(&frame[..at], next).is_none(), "there are no more");
    }

    #[test]
    fn nonsense_is_refused() {
        let mut frame = [0_u8; 64];
        assert_eq!(Prefix::read(&frame), None);
        let prefix = Prefix {
            source: 0,
            sequence: 0,
            consumed: 0,
            flags: 0,
            come: 0,
        };
        prefix.write(&mut frame, 64);
        assert!(Prefix::read(&frame).is_some());
        for length in 0..64 {
            assert_eq!(Prefix::read(&frame[..length]), None, "cut to {length}");
        }
        let other_flags = Prefix { flags: 256, ..prefix };
        other_flags.write(&mut frame, 64);
        assert_eq!(Prefix::read(&frame), None, "a flag that nobody knows");
        let seal = Seal::of(Nonce([1; 16]));
        seal.put_on(&mut frame, 1);
        assert!(
            source(&frame) == Some(0) && seal.is_on(&frame, 1),
            "it is of the job all the same"
        );
        begin(
            &mut frame,
            HEADER,
            Header {
                handler: 1,
                length: 16,
                context: 0,
            },
        );
        assert!(record(&frame, HEADER).is_some());
        frame[HEADER + 2] = 1; // 272 bytes
        assert!(record(&frame, HEADER).is_none(), "longer than the frame");
    }

    #[test]
    fn a_checksum_shows_each_changed_bit() {
        let mut frame = [3_u8; 128];
        assert_eq!(close(&mut frame, 96, false), 96);
        assert_eq!(
            close(&mut frame, HEADER, true),
            HEADER,
            "the seal covers what has no records"
        );
        let length = close(&mut frame, 96, true);
        assert_eq!((length, room(true) + CHECKSUM), (96 + CHECKSUM, FRAME));
        assert_eq!(open(&frame[..length], CHECKED).map(<[u8]>::len), Some(96));
        assert_eq!(open(&frame[..length], 0).map(<[u8]>::len), Some(length));
        let prefix = Prefix {
            source: 0,
            sequence: 0,
            consumed: 0,
            flags: CHECKED,
            come: 0,
        };
        prefix.write(&mut frame, length);
        assert_eq!(Prefix::read(&frame[..length]), Some(prefix), "whole");
        assert_eq!(
            open(&frame[..length], CHECKED).and_then(Prefix::read),
            None,
            "without its checksum"
        );
        for bit in HEADER * 8..length * 8 {
            frame[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&frame[..length], CHECKED), None, "bit {bit}");
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        for cut in 0..length {
            assert_eq!(open(&frame[..cut], CHECKED), None, "cut to {cut}");
        }
    }

    #[test]
    fn a_seal_tells_nothing_of_the_nonce_and_fits_one_frame_to_one_rank() {
        let nonce = Nonce([0xab; 16]);
        let (seal, mut frame) = (Seal::of(nonce), [0_u8; 64]);
        let prefix = Prefix {
            source: 3,
            sequence: 7,
            consumed: 0,
            flags: 0,
            come: 0,
        };
        prefix.write(&mut frame, 64);
        assert!(!seal.is_on(&frame, 1), "it is not sealed");
        seal.put_on(&mut frame, 1);
        assert!(seal.is_on(&frame, 1) && !frame.windows(2).any(|bytes| bytes == [0xab; 2]));
        assert!(!seal.is_on(&frame, 2), "another receiver");
        assert!(!Seal::of(Nonce([0; 16])).is_on(&frame, 1), "another job");
        for at in 0..HEADER {
            frame[at] ^= 1;
            assert!(!seal.is_on(&frame, 1), "byte {at} is another");
            frame[at] ^= 1;
        }
        for length in 0..HEADER {
            assert!(!seal.is_on(&frame[..length], 1), "cut to {length}");
        }
    }
}
