//! The stream `loopback`.

use isthmus_conformance::stream_kit;
use isthmus_transfer::stream::StreamKind;

stream_kit!(StreamKind::Loopback);
