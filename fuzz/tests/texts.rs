//! The corpus of the target `texts`, in a process of its own: it is one rank.

#[test]
fn the_corpus_of_texts_does_no_harm() {
    assert!(isthmus_fuzz::replay("texts") > 0);
}
