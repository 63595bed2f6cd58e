//! `-gdb`: a debugger for each rank, in a window of its own.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Result};

/// Runs the debugger in a window of tmux, and ends with it. The window's processes are children of tmux's, so the environment is
/// given to them.
const IN_TMUX: &str = r#"
set -- gdb -q --args "$@"
title="rank $ISTHMUS_RANK"
channel="isthmus-$ISTHMUS_JOB-$ISTHMUS_RANK"
command="env"
for name in ISTHMUS_JOB ISTHMUS_NODE ISTHMUS_RANK ISTHMUS_SIZE ISTHMUS_APPNUM MPI_LOCALRANKID MPI_LOCALNRANKS LD_LIBRARY_PATH; do
    eval "value=\${$name-}"
    [ -z "$value" ] || command="$command $name='$value'"
done
for word in "$@"; do
    command="$command '$(printf %s "$word" | sed "s/'/'\\\\''/g")'"
done
tmux new-window -n "$title" "$command; tmux wait-for -S $channel" && tmux wait-for "$channel"
"#;

/// What starts `program` so.
pub fn around(rank: u32, program: &Path, arguments: &[OsString]) -> Result<Command> {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut process = if is_set("TMUX") {
        let mut shell = Command::new("sh");
        shell.args(["-c", IN_TMUX, "sh"]);
        shell
    } else if is_set("DISPLAY") {
        let mut xterm = Command::new("xterm");
        xterm.args(["-T", &format!("rank {rank}"), "-e", "gdb", "-q", "--args"]);
        xterm
    } else {
        return Err(Failure::usage(
            "-gdb opens a window for each rank: run mpiexec inside tmux, or where DISPLAY is set and xterm installed \
             (or attach to a rank: gdb -p PID; mpiexec shows pids on SIGUSR1)",
        ));
    };
    process.arg(program).args(arguments);
    Ok(process)
}
