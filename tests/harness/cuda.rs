//! The stand-in for CUDA's driver library (`tests/cuda/libcuda.c`), where there is no GPU.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};

use crate::{folder, scratch};

/// Compile it, once per run of the tests; the folder with `libcuda.so.1` and, to link with, `libcuda.so`. Programs include
/// `cuda_standin.h`, are linked with [`links_to_cuda`], and need no `LD_LIBRARY_PATH`.
pub fn cuda() -> Result<PathBuf> {
    static COMPILED: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut compiled = COMPILED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(folder) = compiled.as_ref() {
        return Ok(folder.clone());
    }
    let to = scratch("stand_in_for_cuda")?;
    let new = to.join(format!("new-{}", std::process::id()));
    let output = Command::new("cc")
        .args("-std=gnu11 -shared -fPIC -O1 -g -Wall -Wextra -Werror -Wl,-soname,libcuda.so.1 -o".split(' '))
        .arg(&new)
        .arg(folder().join("cuda/libcuda.c"))
        .arg("-lpthread")
        .output()
        .context("cannot run cc")?;
    ensure!(
        output.status.success(),
        "the stand-in for CUDA does not compile:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::rename(&new, to.join("libcuda.so.1"))?;
    let link = to.join("libcuda.so");
    if !link.exists() {
        std::os::unix::fs::symlink("libcuda.so.1", link)?;
    }
    *compiled = Some(to.clone());
    Ok(to)
}

/// What a program is compiled with to use it (`compile_in`).
pub fn links_to_cuda() -> Result<[String; 4]> {
    let library = cuda()?.display().to_string();
    let header = folder().join("cuda");
    Ok([
        format!("-I{}", header.display()),
        format!("-L{library}"),
        format!("-Wl,-rpath,{library}"),
        "-lcuda".to_owned(),
    ])
}
