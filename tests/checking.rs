//! `ISTHMUS_CHECK=1`: ranks that disagree in a collective get an error, all of them, and one line says who disagrees on what.

use anyhow::Result;
use isthmus_tests::{Run, command, compile, folder, scratch};

/// `disagree` on four ranks, which must find what it expects; the lines about it.
fn lines(case: &str) -> Result<Vec<String>> {
    let run = Run::mpiexec("-n 4").arg(compile("disagree")?).arg(case);
    let finished = run.env("ISTHMUS_CHECK", "1").succeed()?;
    Ok(finished.err.lines().map(str::to_owned).collect())
}

/// One line, which says this.
fn says(case: &str, text: &str) -> Result<()> {
    let mut said = lines(case)?;
    // That communicator is not freed, which is said, too.
    said.retain(|line| case != "finalized" || !line.contains("MPI_Finalize: 1 communicator of MPI_Comm_dup"));
    assert_eq!(
        said,
        [format!("isthmus: ranks disagree in collective call {text}")],
        "{case}"
    );
    Ok(())
}

/// `misused` on two ranks, which must find what it expects; what it says.
fn misused(case: &str, check: &str) -> Result<Vec<String>> {
    let run = Run::mpiexec("-n 2").arg(compile("misused")?).arg(case);
    let finished = run.env("ISTHMUS_CHECK", check).succeed()?;
    Ok(finished.err.lines().map(str::to_owned).collect())
}

/// Messages are received as what they were sent as; buffers are left alone while a request has them.
#[test]
fn what_is_wrong_with_messages() -> Result<()> {
    for case in ["types", "buffers", "collectives", "partitions"] {
        assert_eq!(misused(case, "1")?, [""; 0], "{case}");
    }
    Ok(())
}

/// A second thread calls, for which the program has not asked: it is said, and the program goes on.
#[test]
fn threads_that_were_not_asked_for() -> Result<()> {
    let run = Run::mpiexec("-n 2").arg(compile("second_thread")?);
    let finished = run.env("ISTHMUS_CHECK", "1").succeed()?;
    assert_eq!(finished.out, "right\n");
    let said: Vec<&str> = finished.err.lines().collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said.iter()
            .all(|line| line.contains("a second thread calls MPI") && line.contains("MPI_THREAD_SINGLE")),
        "{said:?}"
    );
    Ok(())
}

/// Programs of Open MPI's ABI may do so: libraries of Debian's do.
#[test]
fn threads_of_programs_of_open_mpi() -> Result<()> {
    let program = scratch("second_thread")?.join("second_thread");
    let source = folder().join("programs/second_thread.c");
    let compiler = Run::program(command("mpicc")).words("-abi=openmpi -O1 -pthread -o");
    compiler.arg(&program).arg(source).succeed()?;
    let finished = Run::mpiexec("-n 4").arg(program).succeed()?;
    assert_eq!((finished.out.as_str(), finished.err.as_str()), ("right\n", ""));
    Ok(())
}

/// `sync`: a standard send ends when its receive has begun, and not before.
#[test]
fn standard_sends_that_wait() -> Result<()> {
    assert_eq!(misused("standard", "1")?, [""; 0]);
    assert_eq!(misused("waiting", "sync")?, [""; 0]);
    // The option of mpiexec takes the word, too.
    let run = Run::mpiexec("-n 2 --set check=sync").arg(compile("misused")?);
    assert_eq!(run.arg("waiting").succeed()?.err, "");
    Ok(())
}

/// One line for each kind and place, with the ranks.
#[test]
fn what_is_left_at_the_end() -> Result<()> {
    let said = misused("left", "1")?;
    let expected = [
        "rank 0: MPI_Finalize: 1 send request of MPI_Isend at misused.c:",
        "rank 1: MPI_Finalize: 1 message of 16 bytes from rank 0 with tag 9 on a communicator of 2 ranks was not received",
        "ranks 0-1: MPI_Finalize: 1 datatype of MPI_Type_contiguous at misused.c:",
        "ranks 0-1: MPI_Finalize: 1 persistent request of MPI_Recv_init at misused.c:",
        "ranks 0-1: MPI_Finalize: 1 receive request of MPI_Irecv at misused.c:",
        "ranks 0-1: MPI_Finalize: 2 communicators of MPI_Comm_dup at misused.c:",
        "ranks 0-1: MPI_Finalize: 1 operation of MPI_Op_create at misused.c:",
        "ranks 0-1: MPI_Finalize: 1 communicator keyval of MPI_Comm_create_keyval at misused.c:",
        "ranks 0-1: MPI_Finalize: 1 window keyval of MPI_Win_create_keyval at misused.c:",
    ];
    for text in expected {
        let line = format!("isthmus: {text}");
        assert!(said.iter().any(|said| said.starts_with(&line)), "{line}: {said:?}");
    }
    assert_eq!(said.len(), expected.len(), "{said:?}");
    Ok(())
}

#[test]
fn what_is_called() -> Result<()> {
    says(
        "names",
        "1 on MPI_COMM_WORLD: MPI_Bcast on ranks 0-2, MPI_Barrier on rank 3",
    )?;
    says(
        "order",
        "1 on MPI_COMM_WORLD: MPI_Gather on ranks 0 and 2, MPI_Reduce on ranks 1 and 3",
    )?;
    says(
        "forms",
        "1 on MPI_COMM_WORLD: MPI_Barrier on ranks 0-2, MPI_Ibarrier on rank 3",
    )?;
    says(
        "communicators",
        "1 on MPI_COMM_WORLD: MPI_Comm_split on ranks 0-2, MPI_Comm_dup on rank 3",
    )?;
    says(
        "later communicators",
        "1 on MPI_COMM_WORLD: MPI_Barrier on ranks 0-2, MPI_Comm_idup on rank 3",
    )?;
    says(
        "freed",
        "1 on a communicator of 4 ranks: MPI_Allgather on ranks 0-2, MPI_Comm_free on rank 3",
    )?;
    says(
        "finalized",
        "1 on a communicator of 4 ranks: MPI_Barrier on ranks 0-2, MPI_Finalize on rank 3",
    )
}

#[test]
fn with_what_root_and_operation() -> Result<()> {
    says(
        "root",
        "1 on MPI_COMM_WORLD: MPI_Bcast: root=0 on ranks 0-2, root=1 on rank 3",
    )?;
    says(
        "later root",
        "1 on MPI_COMM_WORLD: MPI_Ireduce: root=0 on ranks 0-2, root=1 on rank 3",
    )?;
    says(
        "persistent root",
        "1 on MPI_COMM_WORLD: MPI_Bcast_init: root=0 on ranks 0-2, root=1 on rank 3",
    )?;
    says(
        "op",
        "1 on MPI_COMM_WORLD: MPI_Allreduce: MPI_MIN on ranks 0 and 2, MPI_MAX on ranks 1 and 3",
    )?;
    says(
        "arguments",
        "1 on MPI_COMM_WORLD: MPI_Bcast: the arguments are wrong on rank 3",
    )?;
    says(
        "later arguments",
        "1 on MPI_COMM_WORLD: MPI_Ibcast: the arguments are wrong on rank 3",
    )
}

/// What the entry refuses is a call like any other: the ranks stay in step.
#[test]
fn with_what_is_no_argument_at_all() -> Result<()> {
    let wrong = |call: u32, name: &str| {
        format!(
            "isthmus: ranks disagree in collective call {call} on MPI_COMM_WORLD: {name}: the arguments are wrong on rank 3"
        )
    };
    let refused = |call: u32, name: &str| {
        format!(
            "isthmus: ranks disagree in collective call {call} on MPI_COMM_WORLD: {name} on ranks 0-2, {name} (refused) on rank 3"
        )
    };
    assert_eq!(
        lines("refused")?,
        [
            wrong(1, "MPI_Allreduce"),
            wrong(2, "MPI_Iscan"),
            wrong(3, "MPI_Bcast_init"),
            wrong(4, "MPI_Barrier_init"),
            refused(5, "MPI_Comm_split"),
            refused(6, "MPI_Comm_idup"),
        ]
    );
    Ok(())
}

/// Windows: accesses outside an epoch and outside the window, conflicting ones, fences that do not match; and nothing else.
#[test]
fn what_is_wrong_with_windows() -> Result<()> {
    let finished = Run::mpiexec("-n 2")
        .arg(compile("win_wrong")?)
        .env("ISTHMUS_CHECK", "1")
        .succeed()?;
    assert_eq!(finished.err, "");
    let lines = [
        (
            "fatal",
            "isthmus: rank 1: MPI_Put: MPI_ERR_RMA_CONFLICT: bytes 8 to 15 of rank 1 of a window of 2 ranks, which rank 1 accesses, \
             have been put by rank 0 in the same epoch",
        ),
        (
            "far",
            "isthmus: rank 1: MPI_Put: MPI_ERR_RMA_RANGE: bytes 240 to 259 are not among the 256 bytes that process 0 exposes: \
             target_disp=60 of rank 0 of a window of 2 ranks, which has 64 displacements of 4 bytes",
        ),
        (
            "far sum",
            "isthmus: rank 1: MPI_Accumulate: MPI_ERR_RMA_RANGE: bytes 240 to 259 are not among the 256 bytes that process 0 exposes: \
             target_disp=60 of rank 0 of a window of 2 ranks, which has 64 displacements of 4 bytes",
        ),
    ];
    for (case, line) in lines {
        let finished = Run::mpiexec("-n 2")
            .arg(compile("win_wrong")?)
            .arg(case)
            .env("ISTHMUS_CHECK", "1")
            .finish()?;
        assert!(finished.err.lines().any(|said| said == line), "{}", finished.err);
        assert_ne!(finished.code, Some(0));
    }
    let finished = Run::mpiexec("-n 2")
        .arg(compile("win_wrong")?)
        .arg("kept")
        .env("ISTHMUS_CHECK", "1")
        .finish()?;
    let line = "isthmus: rank 1: MPI_Finalize: a window of 2 ranks was not freed, where all targets are locked, which MPI_Win_unlock_all ends";
    assert!(finished.err.lines().any(|said| said == line), "{}", finished.err);
    Ok(())
}

/// Correct operations on windows are not reported: random operations, which never conflict.
#[test]
fn what_is_right_with_windows() -> Result<()> {
    let run = Run::mpiexec("-n 3").arg(compile("win_random")?).words("7 60");
    run.env("ISTHMUS_CHECK", "1").succeed().map(drop)
}

/// A communicator leaves nothing behind: what ranks tell one another when they free it is taken.
#[test]
fn freed_communicators_leave_nothing() -> Result<()> {
    for kind in ["duplicates", "parts", "intercommunicators"] {
        let run = Run::mpiexec("-n 2")
            .arg(compile("object_cycles")?)
            .arg("2000")
            .arg(kind);
        run.env("ISTHMUS_CHECK", "1").succeed()?;
    }
    Ok(())
}

#[test]
fn with_what_elements() -> Result<()> {
    says(
        "count",
        "1 on MPI_COMM_WORLD: MPI_Bcast: 4 x MPI_INT on ranks 0-2, 5 x MPI_INT on rank 3",
    )?;
    says(
        "type",
        "1 on MPI_COMM_WORLD: MPI_Scan: 4 x MPI_INT on ranks 0-2, 4 x MPI_FLOAT on rank 3",
    )?;
    says(
        "gather",
        "1 on MPI_COMM_WORLD: MPI_Gather: rank 2 sends 3 x MPI_INT to rank 1, which expects 1 x MPI_INT",
    )?;
    says(
        "scatter",
        "1 on MPI_COMM_WORLD: MPI_Scatter: rank 0 sends 8 x MPI_BYTE to rank 1, which expects 2 x MPI_INT",
    )?;
    says(
        "allgather",
        "1 on MPI_COMM_WORLD: MPI_Allgather: rank 3 sends 2 x MPI_INT to rank 0, which expects 1 x MPI_INT",
    )?;
    let unequal = "rank 1 sends 2 x MPI_INT to rank 2, which expects 1 x MPI_INT";
    says("alltoall", &format!("1 on MPI_COMM_WORLD: MPI_Alltoallv: {unequal}"))?;
    says(
        "later alltoall",
        &format!("1 on MPI_COMM_WORLD: MPI_Ialltoallv: {unequal}"),
    )?;
    let shares = "recvcounts on ranks 0-2 are not those on rank 3";
    says("shares", &format!("1 on MPI_COMM_WORLD: MPI_Reduce_scatter: {shares}"))?;
    let unequal = "rank 3 sends 2 x MPI_INT to rank 0, which expects 1 x MPI_INT";
    says("neighbors", &format!("1 on ring: MPI_Neighbor_allgather: {unequal}"))?;
    assert!(lines("packed")?.is_empty());
    Ok(())
}

#[test]
fn between_two_groups() -> Result<()> {
    let said = lines("roots")?;
    let line = |call: u32, text: &str| {
        format!("isthmus: ranks disagree in collective call {call} on an intercommunicator of 2 and 2 ranks: {text}")
    };
    let both = "MPI_Bcast: root=MPI_ROOT on rank 0 and rank 0 of the other group, \
                root=MPI_PROC_NULL on rank 1 and rank 1 of the other group";
    let counts = "MPI_Reduce: 1 x MPI_INT on rank 0 and rank 0 of the other group, \
                  2 x MPI_INT on rank 1 of the other group";
    assert_eq!(
        said,
        [
            line(1, both),
            line(2, "MPI_Gather: no rank is the root"),
            line(3, counts)
        ]
    );
    Ok(())
}

#[test]
fn the_job_ends_where_errors_are_fatal() -> Result<()> {
    let run = Run::mpiexec("-n 4").arg(compile("disagree")?).words("root fatal");
    let finished = run.env("ISTHMUS_CHECK", "1").finish()?;
    assert_ne!(finished.code, Some(0));
    let about: Vec<_> = finished.err.lines().filter(|line| line.contains("disagree")).collect();
    let text = "MPI_Bcast: MPI_ERR_NOT_SAME: ranks disagree in collective call 1 on MPI_COMM_WORLD: MPI_Bcast: root=0";
    assert!(about.len() == 1 && about[0].contains(text), "{}", finished.err);
    Ok(())
}

#[test]
fn who_agrees_is_left_alone() -> Result<()> {
    for program in [
        "random_collectives",
        "collectives",
        "persistent_collectives",
        "communicators",
    ] {
        let run = Run::mpiexec("-n 3")
            .arg(compile(program)?)
            .env("ISTHMUS_CHECK", "1")
            .succeed()?;
        assert!(!run.err.contains("disagree"), "{program}: {}", run.err);
    }
    Ok(())
}
