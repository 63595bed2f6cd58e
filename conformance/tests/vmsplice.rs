//! The stream `vmsplice`.

use isthmus_conformance::stream_kit;
use isthmus_transfer::stream::Kind;

stream_kit!(Kind::Vmsplice);
