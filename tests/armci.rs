//! ARMCI: every program of `tests/armci` on as many ranks as its first line says; what is wrong, told by one line; upstream's header
//! names, by pkg-config.

use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use isthmus_tests::{Run, compile_in, full, prefix, programs, scratch};
use libtest_mimic::{Arguments, Failed, Trial};

/// Mistakes on two ranks, and the line that each must print.
const WRONG: [(&str, &[&str]); 38] = [
    ("before", &["ARMCI_Put", "not initialized"]),
    ("wild", &["rank 0", "ARMCI_Put", "dst=0x10", "process 1"]),
    ("stack", &["rank 0", "ARMCI_Get", "src=0x", "process 1"]),
    ("end", &["rank 0", "ARMCI_Put", "dst=0x", "process 1"]),
    ("before-it", &["ARMCI_Put", "dst=0x", "process 1"]),
    ("section", &["ARMCI_PutS", "dst=0x", "1088 bytes", "process 1"]),
    ("acc", &["rank 0", "ARMCI_Acc", "dst=0x", "process 1"]),
    ("section-get", &["rank 0", "ARMCI_GetS", "src=0x", "process 1"]),
    ("section-acc", &["rank 0", "ARMCI_AccS", "dst=0x", "process 1"]),
    ("vector", &["rank 0", "ARMCI_PutV", "dst_ptr_array=0x", "process 1"]),
    ("vector-get", &["rank 0", "ARMCI_GetV", "src_ptr_array=0x", "process 1"]),
    ("vector-acc", &["rank 0", "ARMCI_AccV", "dst_ptr_array=0x", "process 1"]),
    ("nb-put", &["rank 0", "ARMCI_NbPut", "dst=0x", "process 1"]),
    ("nb-get", &["rank 0", "ARMCI_NbGetS", "src=0x", "process 1"]),
    ("value", &["rank 0", "ARMCI_PutValueLong", "dst=0x", "process 1"]),
    ("value-get", &["rank 0", "ARMCI_GetValueDouble", "src=0x", "process 1"]),
    ("flag", &["rank 0", "ARMCI_Put_flag", "flag=0x", "process 1"]),
    ("rmw-wild", &["rank 0", "ARMCI_Rmw", "prem=0x", "process 1"]),
    ("other", &["ARMCI_Put", "dst=0x", "process 1"]),
    ("proc", &["ARMCI_Put", "proc=2", "there are 2"]),
    ("negative", &["ARMCI_Put", "bytes=-8"]),
    ("optype", &["ARMCI_Acc", "optype=99"]),
    ("rmw", &["ARMCI_Rmw", "prem=0x", "multiple of 8"]),
    ("mutex", &["ARMCI_Lock", "no mutexes"]),
    ("free", &["ARMCI_Free_local", "ptr=0x"]),
    ("count", &["rank 0", "armci_msg_dgop", "x=0x", "17179869176 bytes"]),
    (
        "count-absmax",
        &["rank 0", "armci_msg_igop", "x=0x", "is the count wrong"],
    ),
    (
        "count-broadcast",
        &["rank 0", "armci_msg_bcast", "buf=0x", "2147483647 bytes"],
    ),
    ("count-send", &["rank 0", "armci_msg_snd", "buf=0x", "2147483647 bytes"]),
    ("counts", &["armci_msg_dgop"]),
    ("error", &["rank 0", "ARMCI_Error", "the program gives up", "code 7"]),
    ("members", &["ARMCI_Init_mpi_comm", "other members"]),
    ("group", &["armci_msg_group_barrier", "group=17"]),
    ("freed", &["ARMCI_Put", "dst=0x", "freed"]),
    ("twice", &["ARMCI_Lock", "holds this mutex already"]),
    ("unlock", &["ARMCI_Unlock", "nobody holds"]),
    ("huge", &[]),
    ("kill", &[]),
];

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for (name, ranks) in programs("armci") {
        let title = format!("{name} on {ranks}");
        trials.push(Trial::test(title, move || told(run(&name, &ranks))));
    }
    for (what, words) in WRONG {
        trials.push(Trial::test(format!("wrong: {what}"), move || told(wrong(what, words))));
    }
    trials.push(Trial::test("pkg-config", || told(package())));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn told(result: Result<()>) -> Result<(), Failed> {
    result.map_err(|error| format!("{error:#}").into())
}

fn run(name: &str, ranks: &str) -> Result<()> {
    let program = compile_in("armci", name, &["-larmci"])?;
    let rounds = match (full(), name) {
        (false, _) => 1,
        (true, "random") => 40,
        (true, _) => 10,
    };
    for round in 0..rounds {
        Run::mpiexec("-n")
            .words(ranks)
            .arg(&program)
            .arg(round.to_string())
            .limit(Duration::from_secs(90))
            .succeed()?;
    }
    Ok(())
}

fn wrong(what: &str, words: &[&str]) -> Result<()> {
    let program = compile_in("armci", "wrong", &["-larmci"])?;
    let finished = Run::mpiexec("-n 2")
        .arg(&program)
        .arg(what)
        .limit(Duration::from_secs(30))
        .finish()?;
    let is_survived = what == "huge";
    ensure!(
        (finished.code == Some(0)) == is_survived && finished.code != Some(5),
        "{what} ends with {:?}: {}",
        finished.code,
        finished.err
    );
    let line = finished
        .err
        .lines()
        .find(|line| words.iter().all(|word| line.contains(word)));
    ensure!(
        words.is_empty() || line.is_some(),
        "no line with {words:?} in: {}",
        finished.err
    );
    Ok(())
}

/// A program that knows nothing but pkg-config's word.
fn package() -> Result<()> {
    let source = isthmus_tests::folder().join("armci/messages.c");
    let program = scratch("armci")?.join("by_package");
    let packages = prefix().join("lib/pkgconfig");
    let output = Command::new("pkg-config")
        .args(["--cflags", "--libs", "armci"])
        .env("PKG_CONFIG_PATH", packages)
        .output();
    let Ok(output) = output else {
        // Without pkg-config there is nothing to ask.
        return Ok(());
    };
    ensure!(output.status.success(), "pkg-config does not know armci");
    let flags = String::from_utf8(output.stdout).context("flags")?;
    let compiled = Command::new("cc")
        .arg(source)
        .arg("-o")
        .arg(&program)
        .args(flags.split_whitespace())
        .output()
        .context("cannot run cc")?;
    ensure!(
        compiled.status.success(),
        "{}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    Run::mpiexec("-n 2").arg(program).succeed().map(drop)
}
