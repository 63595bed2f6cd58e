//! Every algorithm on 1 to 13 threads, in the full test 17, against what the standard says it computes.

mod cases;
mod inter;
mod moves;
mod ranks;
mod reductions;

use std::cell::Cell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use isthmus_datatype::{Custom, Predefined, Reduction, Type};

use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::link::elements::Elements;
use crate::link::operand::Operand;
use crate::link::{Incoming, Link, Outgoing};
use crate::memory::ScratchMemory as Room;
use crate::root::{Direction, Root};
use crate::schedule::{Recorder, Step};
use crate::select::tests::WANTED;
use crate::select::{Choice, Traits};
use crate::*;
use cases::*;
use ranks::*;
