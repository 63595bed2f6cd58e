//! Running other programs, with what they said when they failed.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// The root of the repository.
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().map_or_else(|| own.into(), Path::to_path_buf)
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |target| root().join(target))
}

/// The cargo that runs us, at the root of the repository.
pub fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root());
    command
}

/// Run it with our own output; fails if it does.
pub fn show(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", line(command)))?;
    ensure!(status.success(), "{} failed ({status})", line(command));
    Ok(())
}

/// Run it silently; the answer is what it printed, on both channels. Fails, with that text, if it does or takes
/// longer than `limit`.
pub fn quiet(command: &mut Command, limit: Duration) -> Result<String> {
    let (mut reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let begun = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(writer.try_clone().context("cannot copy a pipe")?)
        .stderr(writer)
        .spawn();
    let mut child = child.with_context(|| format!("cannot run {}", line(command)))?;
    // The command keeps its ends of the pipe until they are replaced, and would keep the reader waiting.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let output = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // Output before an error is still useful.
        let _ = reader.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let status = wait(&mut child, begun + limit)?;
    let late = status.is_none();
    if late {
        child.kill().context("cannot end it")?;
        child.wait().context("cannot end it")?;
    }
    let text = output.join().unwrap_or_default();
    match status {
        Some(status) if status.success() => Ok(text),
        Some(status) => bail!("{}\n{status}; it said:\n{text}", line(command)),
        None => bail!(
            "{}\nnot done after {} s; it said:\n{text}",
            line(command),
            limit.as_secs()
        ),
    }
}

fn wait(child: &mut Child, until: Instant) -> Result<Option<std::process::ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait().context("cannot wait")? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The command as one would type it, more or less.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
