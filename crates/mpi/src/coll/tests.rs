//! Every algorithm on 1 to 17 threads against what the standard says it computes.

mod cases;
mod inter;
mod moves;
mod ranks;
mod reductions;

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::arguments::Root;
use super::elements::Elements;
use super::layout::Layout;
use super::link::{Incoming, Link, Memory as Room, Outgoing};
use super::operand::Operand;
use super::schedule::{Recorder, Step};
use super::select::tests::WANTED;
use super::select::{Choice, Traits};
use super::*;
use crate::counts::{Counts, Width};
use crate::datatype::{self, Datatype, type_commit};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::op::{Op, op_create};
use cases::*;
use ranks::*;
