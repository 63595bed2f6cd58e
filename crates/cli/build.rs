//! Tells `isthmus info` how it was built.

use std::process::Command;

fn main() {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default();
    println!("cargo::rustc-env=ISTHMUS_RUSTC={version}");
    for name in ["TARGET", "PROFILE"] {
        let value = std::env::var(name).unwrap_or_default();
        println!("cargo::rustc-env=ISTHMUS_{name}={value}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
