//! Buffers in the memory of CUDA devices, by a driver that stands in for NVIDIA's (`tests/cuda/libcuda.c`): there a processor that touches
//! memory of a device gets a segmentation fault.
//!
//! Every program of `tests/cuda` that begins with `// ranks: 1 2 4` makes its calls with memory of every kind, on so many ranks, with a
//! context of the program's that is current, another, none, and in a thread of its own. Bad input is tried apart.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use isthmus_tests::{Run, command, compile_in, full, prefix, programs, scratch};
use libtest_mimic::{Arguments, Failed, Trial};

/// Which context of the program's is current in its calls.
const CONTEXTS: [&str; 4] = ["own", "none", "other", "thread"];

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for (name, ranks) in programs("cuda") {
        // The context that is current concerns each call of the driver, not how many ranks there are.
        let contexts = if ranks == "2" || full() {
            &CONTEXTS[..]
        } else {
            &CONTEXTS[..1]
        };
        for context in contexts {
            let (name, ranks) = (name.clone(), ranks.clone());
            let title = format!("{name} on {ranks}, context: {context}");
            trials.push(trial(&title, move || run(&name, &ranks, context)));
        }
    }
    for (what, variable, value) in SURROUNDINGS {
        trials.push(trial(what, move || surroundings(variable, value)));
    }
    trials.push(trial("without a driver all is host memory", without_a_driver));
    trials.push(trial("where device memory is off nothing is asked", looks));
    trials.push(trial("what is wrong is told, by the driver's name", wrong));
    trials.push(trial("device memory is supported where it is", supported));
    trials.push(trial("other libraries say that they take host memory", refused));
    trials.push(trial("isthmus doctor tries devices", doctor));
    trials.push(trial("the measurement of a GPU checks its data", bench));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Surroundings of the driver that change which way bytes go, and programs that are tried there.
const SURROUNDINGS: [(&str, &str, &str); 4] = [
    ("devices that do not reach each other", "ISTHMUS_TEST_CUDA_PEER", "0"),
    ("work that is done late", "ISTHMUS_TEST_CUDA_LATE", "5"),
    (
        "managed memory that kernels have for themselves",
        "ISTHMUS_TEST_CUDA_MANAGED",
        "0",
    ),
    ("one device for all", "ISTHMUS_TEST_DEVICES", "1"),
];
const TRIED_THERE: [&str; 4] = ["messages", "collectives", "layouts", "windows"];

fn surroundings(variable: &str, value: &str) -> Result<()> {
    for name in TRIED_THERE {
        let program = compile_in("cuda", name, &["-ldl", "-lpthread"])?;
        let run = with_driver(Run::mpiexec("-n 3").arg(program).words("own"))?;
        run.env(variable, value).succeed()?;
    }
    Ok(())
}

fn trial(title: &str, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(title, move || {
        test().map_err(|error| Failed::from(format!("{error:#}")))
    })
}

/// The folder with the driver that stands in, compiled once.
fn driver() -> Result<PathBuf> {
    static MADE: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(folder) = &*made {
        return Ok(folder.clone());
    }
    let options = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-lpthread"];
    let library = compile_in("cuda", "libcuda", &options)?;
    let folder = scratch("cuda/driver")?;
    let link = folder.join("libcuda.so.1");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&library, &link).context("cannot link the driver")?;
    *made = Some(folder.clone());
    Ok(folder)
}

/// A run that finds it.
fn with_driver(run: Run) -> Result<Run> {
    Ok(run
        .env("LD_LIBRARY_PATH", driver()?)
        .env("ISTHMUS_TEST_DEVICES", "2")
        .env("ISTHMUS_DEVICE_MEMORY", "2")
        .limit(Duration::from_secs(if full() { 900 } else { 90 })))
}

fn run(name: &str, ranks: &str, context: &str) -> Result<()> {
    let program = compile_in("cuda", name, &["-ldl", "-lpthread"])?;
    let file = scratch("cuda")?.join(format!("file-{name}-{ranks}-{context}"));
    let run = Run::mpiexec("-n").words(ranks).arg(program).words(context).arg(file);
    with_driver(run)?.succeed().map(drop)
}

/// The programs themselves, which compare what they find with what host memory gives.
fn without_a_driver() -> Result<()> {
    let program = compile_in("cuda", "messages", &["-ldl", "-lpthread"])?;
    Run::mpiexec("-n 2").arg(program).words("host").succeed().map(drop)
}

/// A way to go wrong, what is said of it, and whether the job ends well.
const WRONG: [(&str, &[&str], bool); 14] = [
    (
        "freed",
        &["a send of freed memory: ", "a receive into freed memory: "],
        true,
    ),
    ("context", &["a send of memory whose context is gone: "], true),
    ("copies", &["CUDA_ERROR_ILLEGAL_ADDRESS"], true),
    ("again", &[], true),
    ("forked", &[], true),
    ("killed", &[], false),
    ("handles", &[], true),
    ("mappings", &[], true),
    ("registration", &[], true),
    ("pinned", &[], true),
    ("kernels", &[], true),
    ("words", &[], true),
    ("rows", &[], true),
    ("start", &[], true),
];

fn looks() -> Result<()> {
    let program = compile_in("cuda", "looks", &["-rdynamic", "-ldl"])?;
    for setting in ["0", "2"] {
        let run = Run::mpiexec("-n 2 --set").arg(format!("device_memory={setting}"));
        run.arg(&program)
            .words(setting)
            .env("LD_LIBRARY_PATH", driver()?)
            .succeed()?;
    }
    Ok(())
}

fn wrong() -> Result<()> {
    let program = compile_in("cuda", "wrong", &["-ldl", "-lpthread"])?;
    for (what, says, ends_well) in WRONG {
        let mut run = with_driver(Run::mpiexec("-n 2").arg(&program).words(what))?;
        if what == "start" {
            run = run.env("ISTHMUS_TEST_CUDA_FAIL", "cuInit:999");
        }
        let run = run.finish()?;
        let ended_well = run.code == Some(0);
        let is_said = |text: &str| run.out.contains(text) || run.err.contains(text);
        let missing = says.iter().find(|text| !is_said(text));
        ensure!(
            ended_well == ends_well && run.code.is_some() && missing.is_none(),
            "{what}: code {:?}, not said: {missing:?}\n{}{}",
            run.code,
            run.out,
            run.err
        );
    }
    Ok(())
}

fn supported() -> Result<()> {
    let program = compile_in("cuda", "supported", &[])?;
    for (setting, answer) in [("0", "0"), ("2", "1")] {
        Run::mpiexec("-n 1 --set")
            .arg(format!("device_memory={setting}"))
            .arg(&program)
            .words(answer)
            .arg(scratch("cuda")?.join("supported-file"))
            .succeed()?;
    }
    Ok(())
}

/// Libraries that take host memory only, by a call of each.
const REFUSED: [&str; 10] = [
    "shmem_putmem",
    "shmem_long_get",
    "shmem_long_iput",
    "ARMCI_Put",
    "ARMCI_Get",
    "ARMCI_Acc",
    "ARMCI_PutV",
    "NGA_Put",
    "NGA_Get",
    "NGA_Acc",
];

fn refused() -> Result<()> {
    let libraries = ["-loshmem", "-lga", "-larmci", "-ldl", "-lpthread"];
    let program = compile_in("cuda", "refused", &libraries)?;
    for call in REFUSED {
        let run = with_driver(Run::mpiexec("-n 1").arg(&program).words(call))?.finish()?;
        ensure!(
            run.code.is_some_and(|code| code != 0) && run.err.contains(call) && run.err.contains("CUDA device"),
            "{call}: {:?}\n{}{}",
            run.code,
            run.out,
            run.err
        );
    }
    Ok(())
}

fn doctor() -> Result<()> {
    let found = with_driver(Run::program(command("isthmus")).words("doctor"))?.finish()?;
    ensure!(
        found.out.contains("GPUs: ") && found.out.contains("(CUDA IPC): works"),
        "{}{}",
        found.out,
        found.err
    );
    let info = with_driver(Run::program(command("isthmus")).words("info"))?.succeed()?;
    ensure!(info.out.contains("memory of CUDA devices"), "{}", info.out);
    Ok(())
}

fn bench() -> Result<()> {
    let script = prefix().join("share/isthmus/bench/gpu.sh");
    let run = with_driver(Run::program("sh").arg(script).words("--check").arg(prefix()))?.succeed()?;
    ensure!(run.out.contains("checked"), "{}", run.out);
    ensure!(command("isthmus").exists(), "an installation");
    Ok(())
}
