//! Build, install, generate, check and test Isthmus.

fn main() {}
