//! The stream `writev`.

use isthmus_conformance::stream_kit;
use isthmus_transfer::stream::Kind;

stream_kit!(Kind::Writev);
