//! The reference passes the kit: it asks for what can be done.

use isthmus_conformance::transfer::Staged;
use isthmus_conformance::transfer_kit;

transfer_kit!(Staged: every_size, every_alignment, every_form, both_far_apart, parts_in_any_order, nothing_at_all,
    ranges_beyond_are_refused, holes_are_found, death_is_an_error);
