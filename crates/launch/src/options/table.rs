//! The options of `mpiexec`, as help, completion and the manual show them.

use std::fmt::Write;

/// An option that does something.
#[derive(Debug)]
pub struct Row {
    /// Without dashes; the first is the one that is shown.
    pub names: &'static [&'static str],
    /// What follows it, as the help shows it.
    pub values: &'static str,
    /// What it does.
    pub help: &'static str,
}

const fn row(names: &'static [&'static str], values: &'static str, help: &'static str) -> Row {
    Row { names, values, help }
}

/// Every option that does something. One dash or two are the same, and `--option=value` is `--option value`.
pub const OPTIONS: &[Row] = &[
    row(
        &["n", "np", "c"],
        "RANKS",
        "ranks to start (default 1); more than there are cores is fine",
    ),
    row(
        &["ppn", "N", "npernode", "perhost"],
        "RANKS",
        "ranks per node; without -n so many are started",
    ),
    row(
        &["configfile", "app"],
        "FILE",
        "read arguments from FILE, a command a line",
    ),
    row(&["env"], "NAME VALUE", "set an environment variable for this command"),
    row(&["genv"], "NAME VALUE", "set it for all commands"),
    row(
        &["x"],
        "NAME[=VALUE]",
        "as -env; without a value, pass it on (all variables are)",
    ),
    row(
        &["genvnone", "envnone"],
        "",
        "pass none of mpiexec's own environment on",
    ),
    row(&["genvlist", "envlist"], "NAME,NAME...", "pass only these on"),
    row(
        &["set"],
        "NAME=VALUE",
        "set a tunable for all commands (see: isthmus info)",
    ),
    row(
        &["stats"],
        "",
        "when the job ends, print what each rank counted: messages and bytes by their way, sleeps, wakes (see: isthmus info)",
    ),
    row(
        &["memory-alloc-kinds", "memory-allocation-kinds"],
        "LIST",
        "kinds of memory that the program asks support for (MPI-5.0 11.4.3)",
    ),
    row(&["wdir", "wd"], "DIR", "run this command in DIR"),
    row(
        &["map-by"],
        "UNIT",
        "each rank in turn on the next core, hwthread, l2, l3, numa or socket; ppr:N:UNIT: N ranks on each; UNIT:PE=N: N cores for each rank",
    ),
    row(&["pernode"], "", "as -ppn 1"),
    row(&["npersocket"], "N", "as --map-by ppr:N:socket"),
    row(
        &["bynode", "byslot", "bycore", "bysocket", "bynuma"],
        "",
        "as --map-by node and so on",
    ),
    row(&["cpus-per-rank", "cpus-per-proc"], "N", "as --bind-to core:N"),
    row(
        &["bind-to", "bind"],
        "WHAT",
        "none (default: placement is the kernel's), core, core:N, hwthread, l2, l3, numa, socket: each rank in turn gets one",
    ),
    row(
        &["report-bindings", "display-map", "display-allocation"],
        "",
        "say which CPUs each rank may use",
    ),
    row(&["display"], "LIST", "the same, as map, bind or allocation"),
    row(
        &["l", "tag-output", "prepend-rank"],
        "",
        "start each line of output with its rank: [3] ...",
    ),
    row(
        &["timestamp-output"],
        "",
        "start each line with the seconds since the job began",
    ),
    row(
        &["outfile-pattern", "outfile"],
        "NAME",
        "standard output of each rank to a file on its host; %r is the rank, %h the host",
    ),
    row(
        &["errfile-pattern", "errfile"],
        "NAME",
        "standard error of each rank to a file",
    ),
    row(
        &["output-filename"],
        "NAME",
        "both, to NAME.RANK.out and NAME.RANK.err; folders are made",
    ),
    row(
        &["merge-stderr-to-stdout"],
        "",
        "standard error of each rank goes where its standard output goes",
    ),
    row(
        &["output"],
        "LIST",
        "the same as a list: tag, timestamp, merge-stderr-to-stdout, file=NAME",
    ),
    row(
        &["stdin", "s"],
        "RANK|none",
        "the rank that gets standard input (default: rank 0)",
    ),
    row(
        &["timeout"],
        "SECONDS",
        "end the job after this time (exit code 124), and say what each rank waits for (default: MPIEXEC_TIMEOUT, if set)",
    ),
    row(
        &["report-hang"],
        "SECONDS",
        "say what each rank waits for when all have waited for so long (default 60; 0: never)",
    ),
    row(
        &["disable-auto-cleanup", "continuous", "enable-recovery"],
        "",
        "never end the other ranks when one fails",
    ),
    row(
        &["gdb"],
        "",
        "run each rank in gdb, in an xterm or a window of tmux of its own",
    ),
    row(
        &["host", "hosts", "H"],
        "NAMES",
        "hosts to run on, with how many ranks each: A:2,B:2",
    ),
    row(
        &["hostfile", "f", "machinefile", "default-hostfile"],
        "FILE",
        "the same from a file, a line each (A:2 or A slots=2)",
    ),
    row(
        &["launcher", "bootstrap"],
        "COMMAND",
        "what starts a program on a host, as ssh does: COMMAND HOST PROGRAM arguments..., and ends with the program (default ssh)",
    ),
    row(&["version", "V", "info"], "", "say which version this is"),
    row(&["help", "h", "?"], "", "say this"),
];

/// An option of another launcher that changes nothing here.
#[derive(Debug)]
pub struct Accepted {
    /// Without dashes.
    pub name: &'static str,
    /// How many values it takes.
    pub values: usize,
    /// What the user is told, if it may matter.
    pub note: Option<&'static str>,
}

const fn accepted(name: &'static str, values: usize) -> Accepted {
    Accepted {
        name,
        values,
        note: None,
    }
}

const fn noted(name: &'static str, values: usize, note: &'static str) -> Accepted {
    Accepted {
        name,
        values,
        note: Some(note),
    }
}

/// Parameters of Open MPI, in the launcher's words.
const PARAMETERS: &str =
    "Open MPI's parameters are none of this library's; isthmus info lists the tunables that --set NAME=VALUE sets";

/// The same of lists of CPUs.
const CONFINED: &str = "`taskset -c LIST mpiexec ...` confines the ranks to CPUs, which --bind-to deals out";

/// Options of other launchers that change nothing here.
pub const ACCEPTED: &[Accepted] = &[
    accepted("oversubscribe", 0),
    noted("nooversubscribe", 0, "more ranks than cores are always allowed"),
    accepted("allow-run-as-root", 0),
    accepted("use-hwthread-cpus", 0),
    accepted("genvall", 0),
    accepted("envall", 0),
    accepted("q", 0),
    accepted("quiet", 0),
    accepted("v", 0),
    accepted("verbose", 0),
    noted(
        "rankfile",
        1,
        "ranks are not placed one by one; --bind-to gives each a core, a cache, a NUMA node or a socket in turn",
    ),
    noted(
        "rf",
        1,
        "ranks are not placed one by one; --bind-to gives each a core, a cache, a NUMA node or a socket in turn",
    ),
    accepted("rmk", 1),
    accepted("iface", 1),
    noted("mca", 2, PARAMETERS),
    noted("gmca", 2, PARAMETERS),
    noted("omca", 2, PARAMETERS),
    noted("prtemca", 2, PARAMETERS),
    noted("pmixmca", 2, PARAMETERS),
    noted("am", 1, PARAMETERS),
    noted("tune", 1, PARAMETERS),
    noted("rank-by", 1, "ranks are numbered in the order in which they are placed"),
    noted("cpu-set", 1, CONFINED),
    noted("cpu-list", 1, CONFINED),
    noted("nolocal", 0, "ranks run on the hosts that are named"),
    noted("path", 1, "programs are looked for in PATH"),
    noted("preload-binary", 0, "a program has to be on each host"),
    noted("preload-files", 1, "files have to be on each host"),
    noted("max-restarts", 1, "no rank is started again"),
    noted("xterm", 1, "--gdb gives each rank a terminal"),
    accepted("prefix", 1),
    accepted("noprefix", 0),
    accepted("disable-recovery", 0),
    accepted("personality", 1),
    accepted("runtime-options", 1),
    accepted("rtos", 1),
    accepted("show-progress", 0),
    accepted("get-stack-traces", 0),
    accepted("leave-session-attached", 0),
    accepted("debug-daemons", 0),
    accepted("debug-devel", 0),
];

/// Every name that is accepted.
pub fn names() -> impl Iterator<Item = &'static str> {
    let own = OPTIONS.iter().flat_map(|row| row.names.iter().copied());
    own.chain(ACCEPTED.iter().map(|accepted| accepted.name))
}

/// Names of one letter have one dash, others two; both are the same.
fn dashed(name: &str) -> String {
    let dashes = if name.len() <= 3 { "-" } else { "--" };
    format!("{dashes}{name}")
}

/// The answer to `--help`.
pub fn help() -> String {
    let mut text = String::from(
        "usage: mpiexec [-n RANKS] [options] PROGRAM [arguments] [: [-n RANKS] [options] PROGRAM [arguments]]...\n\n",
    );
    for row in OPTIONS {
        let names: Vec<String> = row.names.iter().take(2).map(|name| dashed(name)).collect();
        let left = format!("{} {}", names.join(", "), row.values);
        // Writing to a string cannot fail.
        let _ = match left.trim_end() {
            left if left.len() <= 22 => writeln!(text, "  {left:22} {}", row.help),
            left => writeln!(text, "  {left}\n{:25}{}", "", row.help),
        };
    }
    text.push_str(
        "\nStandard input goes to rank 0. The exit code is that of the first rank that failed (128 + signal if one was killed).\n\
         When a rank dies, the others are ended. SIGUSR1 makes mpiexec say what each rank waits for.\n\
         Options of other launchers that mean nothing here (--oversubscribe, --allow-run-as-root, --mca A B, ...) are accepted.\n",
    );
    text
}

/// A page of the manual, in the language of `man`(7).
pub fn manual() -> String {
    let plain = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    let mut text = String::from(
        ".TH MPIEXEC 1 \"\" Isthmus\n.SH NAME\nmpiexec, mpirun \\- run an MPI program\n.SH SYNOPSIS\n.B mpiexec\n[\\-n RANKS] [options] PROGRAM \
         [arguments] [: [\\-n RANKS] [options] PROGRAM [arguments]]...\n.SH OPTIONS\n",
    );
    for row in OPTIONS {
        let names: Vec<String> = row.names.iter().map(|name| plain(&dashed(name))).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            ".TP\n\\fB{}\\fR {}\n{}",
            names.join(", "),
            plain(row.values),
            plain(row.help)
        );
    }
    text.push_str(".SH EXIT STATUS\nThat of the first rank that failed, 128 + signal if one was killed; 124 after \\-\\-timeout; 2 for a wrong command line.\n");
    text
}

/// Shells that completion is printed for.
pub const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Completion for a shell; `None` if it is none of [`SHELLS`].
pub fn completion(shell: &str) -> Option<String> {
    let shown = || {
        OPTIONS
            .iter()
            .flat_map(|row| row.names.iter().map(move |name| (*name, row.help)))
    };
    let all = || shown().filter(|(name, _)| *name != "?");
    // One dash or two are the same before a name of several letters.
    let long = || all().filter(|(name, _)| name.len() > 1);
    Some(match shell {
        "bash" => format!(
            "# Completion of mpiexec for bash.\n_isthmus_mpiexec() {{\n    local word=${{COMP_WORDS[COMP_CWORD]}}\n    case $word in\n        \
             --*) COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n        -*) COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n        *) COMPREPLY=($(compgen -c -f -- \"$word\")) ;;\n    esac\n}}\n\
             complete -o filenames -F _isthmus_mpiexec mpiexec mpirun\n",
            long()
                .map(|(name, _)| format!("--{name}"))
                .collect::<Vec<_>>()
                .join(" "),
            all().map(|(name, _)| dashed(name)).collect::<Vec<_>>().join(" ")
        ),
        "zsh" => {
            let mut text =
                String::from("#compdef mpiexec mpirun\n# Completion of mpiexec for zsh.\nlocal -a options=(\n");
            let spelt = all().map(|(name, help)| (dashed(name), help));
            let twice = long().map(|(name, help)| (format!("--{name}"), help));
            for (name, help) in spelt.chain(twice.filter(|(name, _)| dashed(&name[2..]) != *name)) {
                let _ = writeln!(text, "    '{name}:{}'", help.replace('\'', "'\\''"));
            }
            text + ")\nif [[ $PREFIX == -* ]]; then\n    _describe option options\nelse\n    _command_names -e || _files\nfi\n"
        }
        "fish" => {
            let mut text = String::from("# Completion of mpiexec for fish.\n");
            for command in ["mpiexec", "mpirun"] {
                for (name, help) in all() {
                    let form = match (name.len(), dashed(name).starts_with("--")) {
                        (1, _) => format!("-o {name}"),
                        (_, true) => format!("-l {name}"),
                        _ => format!("-o {name} -l {name}"),
                    };
                    let help = help.replace('\\', "\\\\").replace('\'', "\\'");
                    let _ = writeln!(text, "complete -c {command} {form} -d '{help}'");
                }
            }
            text
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_shown_once() {
        let mut all: Vec<&str> = names().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(help().lines().all(|line| line.len() <= 180), "{}", help());
        for name in ["--bind-to", "--timeout", "--stdin"] {
            assert!(help().contains(name) && manual().contains(&name.replace('-', "\\-")));
            for shell in SHELLS {
                let completion = completion(shell).unwrap_or_default();
                assert!(completion.contains(&name[2..]), "{shell}: {completion}");
            }
        }
    }
}
