//! What in a program is not for this library: constants of another ABI, processes that it cannot start. It
//! is told in words, and no rank hangs.

use anyhow::{Result, ensure};
use isthmus_tests::{Run, compile};

#[test]
fn a_constant_of_another_abi_is_told_as_that_and_aborts() -> Result<()> {
    for when in ["inside", "before", "after"] {
        let run = Run::mpiexec("-n 2")
            .arg(compile("foreign_handle")?)
            .arg(when)
            .finish()?;
        ensure!(run.code == Some(7), "{when}: {:?}\n{}{}", run.code, run.out, run.err);
        ensure!(
            when == "before" || run.out.contains("0x44000000 (MPI_Comm) is a constant of the MPICH ABI"),
            "{when}: {}{}",
            run.out,
            run.err
        );
        ensure!(!run.out.contains("not aborted"), "{when}: {}", run.out);
    }
    Ok(())
}

#[test]
fn a_thread_that_spawns_ends_the_job_that_waits_for_it() -> Result<()> {
    let run = Run::mpiexec("-n 2").arg(compile("spawn_in_thread")?).finish()?;
    ensure!(
        run.code.is_some_and(|code| code != 0),
        "{:?}\n{}{}",
        run.code,
        run.out,
        run.err
    );
    ensure!(run.err.contains("MPI_Comm_spawn: "), "{}", run.err);
    ensure!(run.err.contains("mpi4py.futures"), "{}", run.err);
    Ok(())
}
