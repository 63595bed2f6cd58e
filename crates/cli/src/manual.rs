//! The manual and the completion of `isthmus`, from the table of its commands and options.

use std::collections::BTreeSet;
use std::fmt::Write;

use clap::Command;

/// A page of the manual, in the language of `man`(7).
pub fn manual(command: &Command) -> String {
    let mut text = String::from(
        ".TH ISTHMUS 1 \"\" Isthmus\n.SH NAME\nisthmus \\- look at Isthmus, at this machine, and at how fast the one is on the other\n",
    );
    text.push_str(".SH SYNOPSIS\n.B isthmus\nCOMMAND [options]\n.SH COMMANDS\n");
    page(command, "", &mut text);
    text
}

fn page(command: &Command, before: &str, text: &mut String) {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let name = format!("{before}{}", below.get_name());
        let about = below.get_about().map(ToString::to_string).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, ".SS {}\n{}", plain(&name), plain(&about));
        for argument in below.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let Some(long) = argument.get_long().filter(|long| *long != "help") else {
                continue;
            };
            let values: Vec<String> = match argument.get_action().takes_values() {
                true => argument
                    .get_value_names()
                    .into_iter()
                    .flatten()
                    .map(ToString::to_string)
                    .collect(),
                false => Vec::new(),
            };
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(
                text,
                ".TP\n\\fB\\-\\-{}\\fR {}\n{}",
                plain(long),
                plain(&values.join(" ")),
                plain(&help)
            );
        }
        page(below, &format!("{name} "), text);
    }
}

fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A line that begins so is a command of the language.
    text.strip_prefix(['.', '\''])
        .map_or_else(|| text.clone(), |rest| format!("\\&.{rest}"))
}

/// Completion for bash: commands, and the options of the command that has been named.
pub fn completion(command: &Command) -> String {
    let commands = |of: &Command| {
        let shown = of.get_subcommands().filter(|below| !below.is_hide_set());
        shown
            .map(|below| below.get_name().to_owned())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut cases = String::new();
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        let mut options = BTreeSet::new();
        options_of(below, &mut options);
        let words: Vec<String> = options.into_iter().map(|option| format!("--{option}")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            cases,
            "        {}) words='{} {}' ;;",
            below.get_name(),
            commands(below),
            words.join(" ")
        );
    }
    format!(
        "# Completion of isthmus for bash.\n_isthmus() {{\n    local word=${{COMP_WORDS[COMP_CWORD]}} words\n    case ${{COMP_WORDS[1]}} in\n\
         {cases}        *) words='{} --help --version' ;;\n    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n    \
         [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n}}\ncomplete -o filenames -F _isthmus isthmus\n",
        commands(command)
    )
}

fn options_of(command: &Command, found: &mut BTreeSet<String>) {
    found.extend(
        command
            .get_arguments()
            .filter_map(|argument| argument.get_long().map(str::to_owned)),
    );
    command.get_subcommands().for_each(|below| options_of(below, found));
}
