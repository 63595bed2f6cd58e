//! An initramfs, as the kernel's `cpio` (Documentation/driver-api/early-userspace/buffer-format.rst).

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;
const FOLDER: u32 = 0o040_755;

/// Files in the making.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// A file with this content.
    pub fn file(&mut self, name: &str, content: &[u8], is_program: bool) {
        self.folders_of(name);
        self.entry(name, if is_program { PROGRAM } else { FILE }, content);
    }

    /// A program or library of this machine.
    pub fn copy(&mut self, name: &str, source: &Path) -> Result<()> {
        let content = std::fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
        self.file(name, &content, true);
        Ok(())
    }

    /// A symbolic link.
    pub fn link(&mut self, name: &str, to: &str) {
        self.folders_of(name);
        self.entry(name, LINK, to.as_bytes());
    }

    /// The whole.
    pub fn finish(mut self) -> Vec<u8> {
        for folder in ["proc", "sys", "dev", "tmp", "etc"] {
            self.folders_of(&format!("{folder}/"));
        }
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn folders_of(&mut self, name: &str) {
        for (at, _) in name.match_indices('/') {
            if self.folders.insert(name[..at].to_owned()) {
                self.entry(&name[..at], FOLDER, &[]);
            }
        }
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let numbers = [
            self.entries,
            mode,
            0,
            0,
            1,
            0,
            content.len() as u32,
            0,
            0,
            0,
            0,
            name.len() as u32 + 1,
            0,
        ];
        self.bytes.extend(b"070701");
        for number in numbers {
            self.bytes.extend(format!("{number:08x}").bytes());
        }
        self.bytes.extend(name.bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend(content);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_before_what_is_in_them() {
        let mut archive = Archive::default();
        archive.file("a/b/c", b"12345", false);
        archive.link("a/d", "b/c");
        let bytes = archive.finish();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let at = |name: &str| text.find(&format!("{name}\0")).expect("it is there");
        assert!(at("a") < at("a/b") && at("a/b") < at("a/b/c") && at("a/b/c") < at("TRAILER!!!"));
        assert!(bytes.len().is_multiple_of(4) && text.contains("12345"));
    }
}
