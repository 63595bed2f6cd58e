//! `kmod`: build the kernel module.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::process::{quiet, root, target};

const BUILD: Duration = Duration::from_secs(300);

/// `kmod [--kernel RELEASE]`. Needs that kernel's headers.
pub fn run(arguments: &[String]) -> Result<()> {
    let release = match arguments {
        [] => running()?,
        [option, release] if option == "--kernel" => release.clone(),
        _ => bail!("usage: cargo xtask kmod [--kernel RELEASE]"),
    };
    let module = build(&release)?;
    println!("{}", module.display());
    Ok(())
}

/// The running kernel's release.
fn running() -> Result<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").context("the kernel's release")?;
    Ok(text.trim().to_owned())
}

/// Where the headers of a kernel are.
pub fn headers(release: &str) -> PathBuf {
    Path::new("/lib/modules").join(release).join("build")
}

/// The emulator that tests the module.
pub const QEMU: &str = "qemu-system-x86_64";
/// The programs of the emulated machine beside ours.
pub const BUSYBOX: &str = "/bin/busybox";

/// A kernel whose image and headers are here.
pub struct Kernel {
    pub release: String,
    pub image: PathBuf,
}

/// The newest release whose headers are here, by name.
pub fn newest() -> Option<String> {
    let releases = std::fs::read_dir("/lib/modules").into_iter().flatten().flatten();
    let names = releases.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|release| headers(release).exists()).max()
}

/// Where images are that are not installed.
pub fn images() -> PathBuf {
    target().join("kmod/image")
}

/// The image of a release: an installed one, or one out of a package.
pub fn image(release: &str) -> Option<PathBuf> {
    let installed = PathBuf::from(format!("/boot/vmlinuz-{release}"));
    let unpacked = images().join(format!("boot/vmlinuz-{release}"));
    [installed, unpacked].into_iter().find(|image| image.exists())
}

/// Build it outside the sources; where the module is.
pub fn build(release: &str) -> Result<PathBuf> {
    if !headers(release).exists() {
        bail!("no headers of Linux {release}: apt-get install linux-headers-{release}");
    }
    let folder = target().join("kmod").join(release);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for entry in std::fs::read_dir(root().join("kmod")).context("kmod/")? {
        let source = entry?.path();
        let name = source.file_name().unwrap_or_default();
        if source.is_file() && is_changed(&source, &folder.join(name)) {
            std::fs::copy(&source, folder.join(name)).with_context(|| format!("cannot copy {}", source.display()))?;
        }
    }
    let mut make = Command::new("make");
    make.arg("-C").arg(&folder).arg(format!("KERNEL={release}"));
    let text = quiet(&mut make, BUILD)?;
    if let Some(line) = text.lines().find(|line| line.contains("warning:")) {
        bail!("the module is built with warnings: {line}");
    }
    Ok(folder.join("isthmus.ko"))
}

fn is_changed(source: &Path, copy: &Path) -> bool {
    std::fs::read(source).ok() != std::fs::read(copy).ok()
}
