//! The whole operating-system surface of Isthmus: system calls and machine facts, one file each.
//!
//! Every function is a thin, checked cover of one kernel service. Failures keep the call's name and `errno`.
#![allow(unsafe_code)] // This crate is where the system calls are made.

pub mod callers;
pub mod cgroup;
pub mod checker;
pub mod child;
pub mod clock;
pub mod cma_probe;
pub mod cpu;
pub mod device;
pub mod epoll;
pub mod error;
pub mod futex;
pub mod guarded;
pub mod host;
pub mod huge;
pub mod interrupt;
pub mod kmod;
pub mod libraries;
pub mod limits;
pub mod loopback;
pub mod membarrier;
pub mod memfd;
pub mod memory;
pub mod mmap;
pub mod network;
pub mod pidfd;
pub mod pipe;
pub mod poll;
pub mod process;
pub mod process_vm;
pub mod random;
pub mod signal;
pub mod small_file;
pub mod socket;
pub mod stdio;
pub mod subnet;
pub mod switches;
pub mod tap;
pub mod thread;
pub mod topology;
pub mod xpmem;
pub mod yama;

pub use error::{Error, Result, errno};
