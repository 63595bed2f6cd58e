//! Compiles what only C can say: functions that take and return `long double`, and variable arguments.

fn main() {
    println!("cargo::rerun-if-changed=src/long_double.c");
    cc::Build::new()
        .file("src/long_double.c")
        .opt_level(2)
        .compile("isthmus_openshmem_long_double");
}
