//! `demo`: from a fresh clone to a picture and a table.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::install;
use crate::process::{root, show};
use crate::tools::{self, Tool};

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
    println!("the picture is {}", picture.display());

    title("Ping-pong between two ranks, with both floors");
    show(Command::new(bin.join("isthmus")).args(["bench", "pingpong"]))?;
    println!(
        "\nNext: {0}/mpicc, {0}/mpiexec -n 4 ./a.out; existing programs for the standard or the MPICH ABI run as they are.",
        bin.display()
    );
    Ok(())
}

fn title(text: &str) {
    println!("\n== {text}");
}
