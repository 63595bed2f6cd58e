//! GPUs: what the driver says, and whether two processes can share memory of a device, which is tried.
#![allow(unsafe_code)] // Copies between memory of ours.

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use isthmus_engine::tunables;
use isthmus_mem::{self as mem, Device, Export, Scratch};

use super::Finding;
use crate::show;

const WHAT: &str = "GPUs";
const SHARED: &str = "memory of a GPU that two processes share (CUDA IPC)";
const PEERS: &str = "GPUs that reach each other's memory";

/// So many bytes are exchanged.
const BYTES: usize = 4096;

/// A machine without a driver has no finding.
pub(super) fn findings() -> Vec<Finding> {
    let wanted = tunables::DEVICE_MEMORY.get();
    if wanted < 2 && !mem::has_driver() {
        return Vec::new();
    }
    if wanted == 0 {
        return vec![Finding::limited(
            WHAT,
            "the machine has NVIDIA's driver, and ISTHMUS_DEVICE_MEMORY=0 keeps it unused: a buffer in the memory of a GPU ends the rank",
            "unset ISTHMUS_DEVICE_MEMORY",
        )];
    }
    let survey = match mem::survey() {
        Ok(survey) => survey,
        Err(error) => {
            return vec![Finding::limited(
                WHAT,
                error.to_string(),
                "install the driver's library in this container (nvidia-container-toolkit, --gpus all), of the version of the kernel's module",
            )];
        }
    };
    let names: Vec<String> = survey
        .devices
        .iter()
        .map(|device| format!("{} with {}", device.name, show::memory(device.memory)))
        .collect();
    let (major, minor) = (survey.version / 1000, survey.version % 1000 / 10);
    if names.is_empty() {
        return vec![Finding::limited(
            WHAT,
            format!("the driver (CUDA {major}.{minor}) shows none"),
            "CUDA_VISIBLE_DEVICES names those that a process may use; a container gets them by --gpus all",
        )];
    }
    let found = format!("{}; the driver's interface is CUDA {major}.{minor}", names.join(", "));
    let mut findings = vec![Finding::good(WHAT, found), shared()];
    if survey.devices.len() > 1 {
        findings.push(match survey.apart.first() {
            None => Finding::good(PEERS, "all"),
            Some((own, other)) => Finding::limited(
                PEERS,
                format!(
                    "{} of {} pairs do not, {} and {} for instance; bytes between them go through host memory",
                    survey.apart.len(),
                    survey.devices.len() * (survey.devices.len() - 1),
                    own.0,
                    other.0
                ),
                "the machine's wiring, its IOMMU or ACS settings decide (nvidia-smi topo -p2p r)",
            ),
        });
    }
    findings
}

/// Let a child read what lies in memory of a device here.
fn shared() -> Finding {
    match try_sharing() {
        Ok(()) => Finding::good(SHARED, "works"),
        Err(error) => Finding::limited(
            SHARED,
            format!("{error:#}; messages between processes go through pinned host memory"),
            "processes need one IPC namespace, as containers have by --ipc=host, and the same devices visible",
        ),
    }
}

fn try_sharing() -> Result<()> {
    let data = pattern();
    let memory = Scratch::on(Device(0), BYTES)?;
    // SAFETY: both are ours, and so long.
    unsafe { mem::copy(memory.start(), data.as_ptr(), BYTES) }?;
    let export = mem::export(memory.start()).context("the driver gives no handle of it")?;
    let own = std::env::current_exe().context("cannot name this command")?;
    let child = Command::new(own)
        .args(["try-device-memory", &text(&export)])
        .stdin(Stdio::null())
        .output()
        .context("cannot start a process")?;
    ensure!(
        child.status.success(),
        "{}",
        String::from_utf8_lossy(&child.stderr).trim()
    );
    Ok(())
}

/// In the child: look at what the parent has exported.
pub fn try_memory(export: &str) -> Result<ExitCode> {
    let export = parse(export).context("no export")?;
    mem::survey()?;
    // What makes this process one that uses the device.
    let _used = Scratch::on(Device(0), BYTES)?;
    let there = mem::map(0, &export).context("another process cannot map it")?;
    let mut data = vec![0; BYTES];
    // SAFETY: the parent's memory is so long, and ours too.
    unsafe { mem::copy(data.as_mut_ptr(), there.start(), BYTES) }?;
    ensure!(data == pattern(), "another process sees other bytes there");
    Ok(ExitCode::SUCCESS)
}

fn pattern() -> Vec<u8> {
    (0..BYTES).map(|at| (at * 7 + 3) as u8).collect()
}

/// As a word of a command line.
fn text(export: &Export) -> String {
    let mut words: Vec<String> = [&export.handle[..], &export.device[..]]
        .map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
        .into();
    words.extend([export.buffer, export.base, export.offset, export.size].map(|number| format!("{number:x}")));
    words.join("-")
}

fn parse(text: &str) -> Option<Export> {
    let mut words = text.split('-');
    let (handle, device) = (words.next()?, words.next()?);
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let mut export = Export {
        handle: [0; 64],
        device: [0; 16],
        buffer: 0,
        base: 0,
        offset: 0,
        size: 0,
        is_descriptor: 0,
        freed: [0; mem::FREED],
    };
    for (bytes, word) in [(&mut export.handle[..], handle), (&mut export.device[..], device)] {
        if word.len() != 2 * bytes.len() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(word.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
    }
    export.buffer = number()?;
    export.base = number()?;
    export.offset = number()?;
    export.size = number()?;
    Some(export)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_survives_a_command_line() {
        let export = Export {
            handle: std::array::from_fn(|at| at as u8 * 3),
            device: [0xab; 16],
            buffer: 77,
            base: 0x7f00_0000_0000,
            offset: 4096,
            size: u64::MAX,
            is_descriptor: 0,
            freed: [0; mem::FREED],
        };
        assert_eq!(parse(&text(&export)), Some(export));
        assert_eq!(parse("00-11-1-2-3-4"), None);
        assert_eq!(parse(""), None);
    }
}
