//! The corpus of the target `packed`, in a process of its own: it is one rank.

#[test]
fn the_corpus_of_packed_does_no_harm() {
    assert!(isthmus_fuzz::replay("packed") > 0);
}
