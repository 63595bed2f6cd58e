//! The corpus of the target `calls`, in a process of its own: it is one rank.

#[test]
fn the_corpus_of_calls_does_no_harm() {
    assert!(isthmus_fuzz::replay("calls") > 0);
}
