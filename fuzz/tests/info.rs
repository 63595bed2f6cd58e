//! The corpus of the target `info`, in a process of its own: it is one rank.

#[test]
fn the_corpus_of_info_does_no_harm() {
    assert!(isthmus_fuzz::replay("info") > 0);
}
