//! `demo`: from a fresh clone to a picture and a table.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::install;
use crate::process::{quiet, root, show};
use crate::tools::{self, Tool};

/// Rows of the ping-pong: short, medium, long.
const SIZES: &str = "8,64K,1M";
/// The ping-pong takes some ten seconds.
const LIMIT: Duration = Duration::from_secs(300);

/// `demo`: blocks for as long as the build, the heat program and the ping-pong take.
pub fn run(arguments: &[String]) -> Result<()> {
    ensure!(arguments.is_empty(), "usage: cargo xtask demo");
    tools::need(&[Tool::C, Tool::Python])?;
    let prefix = root().join("dist");
    let bin = prefix.join("bin");
    title("Build and install");
    install::into(&prefix)?;
    println!("installed in {}", prefix.display());

    title("Compile examples/heat.c with our mpicc, run it on 4 ranks");
    let heat = prefix.join("heat");
    let picture = root().join("heat.png");
    let mut mpicc = Command::new(bin.join("mpicc"));
    mpicc
        .args(["-O3", "-o"])
        .arg(&heat)
        .arg(root().join("examples/heat.c"))
        .arg("-lm");
    show(&mut mpicc)?;
    show(
        Command::new(bin.join("mpiexec"))
            .args(["-n", "4"])
            .arg(&heat)
            .arg(&picture),
    )?;
    title("Ping-pong between two ranks, beside the floor of this machine");
    let mut bench = Command::new(bin.join("isthmus"));
    bench.args(["bench", "pingpong", "--sizes", SIZES]);
    println!("{}", quiet(&mut bench, LIMIT)?);

    title("What next");
    println!("the picture:            {}", picture.display());
    println!(
        "your program:           {0}/mpicc prog.c -o prog && {0}/mpiexec -n 4 ./prog",
        bin.display()
    );
    println!(
        "an existing program:    {}/mpiexec -n 4 PROGRAM (ABI of the standard, MPICH or Open MPI, as it is)",
        bin.display()
    );
    println!("what this machine has:  {}/isthmus doctor", bin.display());
    println!(
        "beside other libraries: {}/isthmus bench pingpong --peers DIR --install-peers",
        bin.display()
    );
    Ok(())
}

fn title(text: &str) {
    println!("\n== {text}");
}
