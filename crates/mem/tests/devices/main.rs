//! Memory of devices, against the stand-in for CUDA's driver library (`tests/cuda/libcuda.c`).
//!
//! Each test runs in a process of its own, with the stand-in's settings that it names.
#![allow(unsafe_code)] // The driver's procedures are C.

#[macro_use]
mod driver;
mod copies;
mod exports;
mod kernels;
mod kinds;
mod layouts;
mod numbers;

use std::ffi::{CString, c_int, c_long, c_uint, c_void};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::ptr::null_mut;

use driver::*;
use isthmus_mem as mem;
use isthmus_mem::{Device, Export, Kind, Number, Op, Piece, Rows};
use numbers::{bytes_of, expected};
