//! `mpiexec`.

fn main() -> std::process::ExitCode {
    isthmus_launch::main()
}
