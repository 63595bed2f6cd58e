//! The corpus of the target `calls-mpich`, and that of `calls`, on the MPICH ABI; in a process of its own: it is one rank.

#[test]
fn the_corpora_of_calls_do_no_harm() {
    assert!(isthmus_fuzz::replay("calls-mpich") > 0);
    assert!(isthmus_fuzz::replay_other("calls-mpich", "calls") > 0);
}
