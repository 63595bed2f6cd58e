//! The kernel module in a virtual machine: Debian's kernel, a small initramfs with our programs, qemu's software emulation.
//!
//! Where something is missing, the part says what, and is skipped.

mod archive;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use self::archive::Archive;
use super::suite::Suite;
use crate::kmod::{self, BUSYBOX, Kernel, QEMU};
use crate::process::{cargo, quiet, root, target};
use crate::tools::{self, Tool};

const BUILD: Duration = Duration::from_secs(900);
/// Two minutes on a machine with nothing else to do.
const KMOD: Duration = Duration::from_secs(900);

/// Programs of several ranks that run over the module, with their ranks.
const PROGRAMS: [(&str, u32); 2] = [("large_messages", 2), ("point_to_point", 2)];

/// What of `kmod/test/kit.c` runs, in this order.
const CHECKS: [&str; 10] = [
    "versions", "basic", "descend", "users", "limits", "later", "huge", "killed", "fuzz", "timed",
];

/// Names of copies that are made while the rank goes on.
const LATER: [&str; 2] = ["kmod_thread", "kmod_dma"];

/// Papers of which a page is made in the machine.
const PAGES: [&str; 2] = ["nemesis", "limic"];

/// Programs of `bench/` that these pages need.
const MEASURING: [&str; 4] = ["pingpong", "bandwidth", "collectives", "breakdown"];

/// Build all that is needed, start the machine, look at what it says.
/// `full`: the numbers of its pages are measured as long as on a real machine.
pub fn run(suite: &mut Suite, prefix: &Path, full: bool) {
    const WHAT: &str = "kernel module in a virtual machine";
    let kernel = match kernel() {
        Ok(kernel) => kernel,
        Err(why) => return suite.skip(WHAT, &format!("{why:#}")),
    };
    let mut said = String::new();
    if !suite.step(WHAT, || {
        said = start(&kernel, prefix, full)?;
        Ok(())
    }) {
        return;
    }
    for check in expected() {
        suite.step(&format!("  in it: {check}"), || {
            ensure!(
                said.lines()
                    .any(|line| line.trim_end().ends_with(&format!("KMOD ok {check}"))),
                "not said to have gone well; the machine said:\n{said}"
            );
            Ok(())
        });
    }
    suite.step("  in it: its kernel complains of nothing", || complaints(&said));
    for name in PAGES {
        suite.step(&format!("  in it: the page of {name} has its numbers"), || {
            page(name, &said)
        });
    }
    for line in said.lines().filter(|line| line.contains("KMOD table ")) {
        println!("    {}", line.trim_end().replace("KMOD table ", ""));
    }
}

fn expected() -> Vec<String> {
    let checks = CHECKS.iter().map(|check| (*check).to_owned());
    let programs = PROGRAMS.iter().map(|(program, _)| (*program).to_owned());
    let others = [
        "conformance",
        "unload while open",
        "unload under a program",
        "no permission",
        "rmmod",
    ];
    checks
        .chain(programs)
        .chain(LATER.iter().flat_map(|by| {
            ["large_messages by", "overlap by", "faults of", "death under"].map(|what| format!("{what} {by}"))
        }))
        .chain(PAGES.iter().map(|name| format!("page of {name}")))
        .chain(others.into_iter().map(str::to_owned))
        .collect()
}

/// The page that the machine made, kept in target/kmod: it has lines of the module, and no hole.
fn page(name: &str, said: &str) -> Result<()> {
    let mark = format!("KMOD page {name} ");
    let lines = said
        .lines()
        .filter_map(|line| Some(line.split_once(&mark)?.1.trim_end_matches('\r')));
    let page: Vec<&str> = lines.collect();
    let page = page.join("\n");
    let file = target().join(format!("kmod/{name}.html"));
    std::fs::write(&file, &page).with_context(|| format!("cannot write {}", file.display()))?;
    println!("    {}", file.display());
    let lines: &[&str] = match name {
        "nemesis" => &["kmod_thread", "kmod_dma"],
        _ => &[
            "LiMIC2, huge pages",
            "enhanced LiMIC2",
            "pages of 4 KiB, a mapping each",
        ],
    };
    for part in lines.iter().chain(&["</html>", "reproduced"]) {
        ensure!(page.contains(part), "{}: no {part}", file.display());
    }
    for hole in ["class=\"hole\"", "Cannot be measured here", "no numbers in this run"] {
        ensure!(!page.contains(hole), "{}: {hole}", file.display());
    }
    Ok(())
}

/// Of words that a sick kernel says.
fn complaints(said: &str) -> Result<()> {
    let sick = [
        "BUG:",
        "WARNING:",
        "Oops",
        "general protection",
        "stall",
        "hung task",
        "leaked",
    ];
    let line = said
        .lines()
        .filter(|line| line.contains("KMOD dmesg"))
        .find(|line| sick.iter().any(|word| line.contains(word)));
    match line {
        None if said.contains("KMOD dmesg is over") => Ok(()),
        None => bail!("the machine did not get to its end"),
        Some(line) => bail!("{line}"),
    }
}

/// All that the machine is made of: tools are installed where we may, the kernel's image is only taken out of its package.
fn kernel() -> Result<Kernel> {
    tools::need(&[Tool::Qemu, Tool::Headers, Tool::BusyBox, Tool::Binutils])?;
    let release = kmod::newest().context("no headers of a kernel")?;
    if let Some(image) = kmod::image(&release) {
        return Ok(Kernel { release, image });
    }
    let folder = kmod::images();
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let package = format!("linux-image-{release}");
    let mut download = Command::new("apt-get");
    download.args(["-qq", "download", &package]).current_dir(&folder);
    quiet(&mut download, BUILD).with_context(|| format!("no {package}"))?;
    for entry in std::fs::read_dir(&folder).context("packages")? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            quiet(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&folder), BUILD)?;
            std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
    }
    let image = kmod::image(&release).with_context(|| format!("{package} has no image"))?;
    Ok(Kernel { release, image })
}

fn start(kernel: &Kernel, prefix: &Path, full: bool) -> Result<String> {
    let module = kmod::build(&kernel.release)?;
    let folder = target().join("kmod");
    let mut archive = Archive::default();
    archive.file("init", INIT.as_bytes(), true);
    archive.copy("isthmus.ko", &module)?;
    archive.copy("bin/busybox", Path::new(BUSYBOX))?;
    for applet in APPLETS {
        archive.link(&format!("bin/{applet}"), "busybox");
    }
    let kit = folder.join("kit");
    quiet(
        Command::new("gcc")
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-static", "-o"])
            .arg(&kit)
            .arg(root().join("kmod/test/kit.c")),
        BUILD,
    )?;
    archive.copy("bin/kit", &kit)?;
    let conformance = stripped(&conformance_tests()?, &folder)?;
    archive.copy("bin/conformance", &conformance)?;
    let mut dynamic = vec![conformance];
    for (program, _) in PROGRAMS {
        let built = folder.join(program);
        quiet(
            Command::new(prefix.join("bin/mpicc"))
                .args(["-O1", "-o"])
                .arg(&built)
                .arg(root().join(format!("tests/programs/{program}.c"))),
            BUILD,
        )?;
        archive.copy(&format!("bin/{program}"), &built)?;
        dynamic.push(built);
    }
    let sources = MEASURING.map(|name| (format!("programs/{name}"), format!("bench/{name}.c")));
    let overlap = ("bin/overlap".to_owned(), "kmod/test/overlap.c".to_owned());
    for (place, source) in sources.into_iter().chain([overlap]) {
        let built = folder.join(place.replace('/', "-"));
        let mut mpicc = Command::new(prefix.join("bin/mpicc"));
        mpicc.args(["-O2", "-pthread", "-o"]).arg(&built);
        quiet(mpicc.arg(root().join(source)).arg("-lm"), BUILD)?;
        archive.copy(&place, &built)?;
        dynamic.push(built);
    }
    // Its programs are made already.
    archive.file("isthmus/share/isthmus/bench/none", b"", false);
    for program in ["mpiexec", "isthmus"] {
        let program = stripped(&prefix.join("bin").join(program), &folder)?;
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        archive.copy(&format!("isthmus/bin/{name}"), &program)?;
        dynamic.push(program);
    }
    for library in ["libisthmus.so.0", "libmpi_abi.so.1", "libmpi.so.12"] {
        let library = stripped(&prefix.join("lib").join(library), &folder)?;
        let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
        archive.copy(&format!("isthmus/lib/{name}"), &library)?;
        dynamic.push(library);
    }
    for library in needed(&dynamic)? {
        archive.copy(library.trim_start_matches('/'), Path::new(&library))?;
    }
    let initramfs = folder.join("initramfs");
    std::fs::write(&initramfs, archive.finish()).context("cannot write the initramfs")?;
    boot(kernel, &initramfs, full)
}

fn boot(kernel: &Kernel, initramfs: &Path, full: bool) -> Result<String> {
    let extent = if full { "full" } else { "" };
    let mut qemu = Command::new(QEMU);
    qemu.args(["-M", "pc,accel=tcg"])
        // Copies by `rep movsb`, which the kernel prefers where the processor is said to be good at them, are emulated byte by byte.
        .args(["-cpu", "max,-erms,-fsrm"])
        .args(["-smp", "2", "-m", "1024", "-nographic", "-no-reboot"])
        .args(["-net", "none", "-monitor", "none"])
        .arg("-kernel")
        .arg(&kernel.image)
        .arg("-initrd")
        .arg(initramfs)
        .args(["-append", &format!("console=ttyS0 quiet panic=-1 oops=panic {extent}")]);
    quiet(&mut qemu, KMOD)
}

/// The kit of `Transfer` for the module, built as a test.
fn conformance_tests() -> Result<PathBuf> {
    let arguments = ["test", "-p", "isthmus-conformance", "--test", "kmod", "--no-run"];
    let text = quiet(cargo().args(arguments), BUILD)?;
    let path = text.split('(').next_back().and_then(|rest| rest.split(')').next());
    let path = path.filter(|path| path.contains("kmod-"));
    Ok(root().join(path.with_context(|| format!("cargo does not say where the test is:\n{text}"))?))
}

/// A copy without symbols: the machine's memory is small, and its processor slow.
fn stripped(file: &Path, folder: &Path) -> Result<PathBuf> {
    let folder = folder.join("stripped");
    std::fs::create_dir_all(&folder).context("cannot make target/kmod/stripped")?;
    let copy = folder.join(file.file_name().unwrap_or_default());
    quiet(Command::new("strip").arg("-o").arg(&copy).arg(file), BUILD)?;
    Ok(copy)
}

/// System libraries that these need, the loader included.
fn needed(programs: &[PathBuf]) -> Result<Vec<String>> {
    let mut libraries = std::collections::BTreeSet::new();
    for program in programs {
        let text = quiet(Command::new("ldd").arg(program), BUILD)?;
        for line in text.lines() {
            let path = line.split_whitespace().find(|word| word.starts_with('/'));
            libraries.extend(path.filter(|path| path.contains("/lib")).map(str::to_owned));
        }
    }
    libraries.retain(|path| !path.contains("isthmus") && !path.contains("libmpi"));
    Ok(libraries.into_iter().collect())
}

const APPLETS: [&str; 14] = [
    "sh",
    "mount",
    "insmod",
    "rmmod",
    "dmesg",
    "poweroff",
    "cat",
    "sed",
    "sleep",
    "chmod",
    "grep",
    "setuidgid",
    "su",
    "kill",
];

/// What the machine does. Each line that matters begins with KMOD.
const INIT: &str = include_str!("kmod/init.sh");
