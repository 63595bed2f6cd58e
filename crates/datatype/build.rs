//! Compiles the reductions on types that only C has.

fn main() {
    println!("cargo::rerun-if-changed=src/op/extended.c");
    cc::Build::new()
        .file("src/op/extended.c")
        .opt_level(3)
        .compile("isthmus_extended");
}
