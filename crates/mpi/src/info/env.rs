//! What `MPI_INFO_ENV` tells (MPI-5.0 §11.2.1).

use std::sync::Arc;

use isthmus_engine::tunables;

use super::Info;
use crate::constants::MAX_INFO_VAL;
use crate::handle::Object;
use crate::process::{cut, kinds};

/// How a program with these arguments was started, as `MPI_INFO_ENV` tells it.
pub(super) fn env_pairs(arguments: &[String]) -> Vec<(String, String)> {
    let mut pairs = Vec::new();
    let mut tell = |key: &str, mut value: String| {
        cut(&mut value, MAX_INFO_VAL - 1);
        pairs.push((key.to_owned(), value));
    };
    if let Some((command, rest)) = arguments.split_first() {
        tell("command", command.clone());
        tell("argv", rest.join(" "));
    }
    if let Some(size) = isthmus_engine::expected_size() {
        tell("maxprocs", size.to_string());
        tell("soft", size.to_string());
    }
    if let Some(level) = tunables::THREAD_LEVEL.get() {
        tell("thread_level", format!("MPI_THREAD_{}", level.to_ascii_uppercase()));
    }
    tell("mpi_memory_alloc_kinds", kinds::supported(kinds::asked_at_start()));
    tell("host", isthmus_os::host::name());
    tell("arch", std::env::consts::ARCH.to_owned());
    if let Ok(directory) = std::env::current_dir() {
        tell("wdir", directory.to_string_lossy().into_owned());
    }
    pairs
}

/// Make `MPI_INFO_ENV`, the environment that this process was started in.
pub(crate) fn publish_env() {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let env = Info {
        read_only: true,
        ..Info::from_pairs(env_pairs(&arguments))
    };
    Info::table().set_predefined(vec![None, Some(Arc::new(env))]);
}
