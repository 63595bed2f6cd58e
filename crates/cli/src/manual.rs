//! isthmus_tunables(7): the tables of tunables, counters and limits as a page of the manual.

use std::fmt::Write;

use isthmus_engine::{counters, limits, tunables};

/// The page, in the language of `man`(7).
pub fn tunables() -> String {
    let mut text = format!(
        ".TH ISTHMUS_TUNABLES 7 \"\" \"Isthmus {}\"\n.SH NAME\nisthmus_tunables \\- variables that steer Isthmus, what it counts, and its limits\n\
         .SH DESCRIPTION\nA tunable is set by a variable of the environment, or by mpiexec \\-\\-set NAME=VALUE. isthmus info prints the values in \
         force, and where each comes from.\n.SH TUNABLES\n",
        env!("CARGO_PKG_VERSION")
    );
    // Writing to a string cannot fail.
    for row in tunables::TABLE {
        let _ = writeln!(
            text,
            ".TP\n\\fB{}\\fR (default {} {})\n{}",
            plain(&row.variable()),
            row.default,
            plain(row.unit),
            plain(row.doc)
        );
    }
    for row in tunables::TEXTS {
        let _ = writeln!(
            text,
            ".TP\n\\fB{}\\fR (text)\n{}",
            plain(&row.variable()),
            plain(row.doc)
        );
    }
    text.push_str(".SH COUNTERS\nmpiexec \\-\\-stats prints them, and tools read them by the interface MPI_T.\n");
    for row in counters::TABLE {
        let _ = writeln!(text, ".TP\n\\fB{}\\fR\n{}", plain(row.name), plain(row.doc));
    }
    text.push_str(
        ".SH LIMITS\nThey are compiled in; isthmus info \\-\\-limits names the machine and the decision of each.\n",
    );
    for row in limits::TABLE {
        let _ = writeln!(
            text,
            ".TP\n\\fB{}\\fR = {} {}\n{}",
            plain(&row.name.to_lowercase()),
            row.value,
            plain(row.unit),
            plain(row.doc)
        );
    }
    text.push_str(".SH SEE ALSO\n\\fBisthmus\\fR(1), \\fBmpiexec\\fR(1)\n");
    text
}

fn plain(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A line that begins so is a command of the language.
    text.strip_prefix(['.', '\''])
        .map_or_else(|| text.clone(), |rest| format!("\\&.{rest}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_table_is_in_the_page() {
        let page = super::tunables();
        for wanted in [
            "ISTHMUS_EAGER_LIMIT",
            "ISTHMUS_COLLECTIVES",
            ".SH COUNTERS",
            ".SH LIMITS",
        ] {
            assert!(page.contains(wanted), "{wanted}");
        }
    }
}
