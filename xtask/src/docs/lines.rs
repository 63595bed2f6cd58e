//! Lines of documents are at most [`LONGEST`] characters long.

use super::Document;

const LONGEST: usize = 160;

/// Rows of tables that are longer, by document. Numbers only shrink.
const ROWS: &[(&str, usize)] = &[
    ("docs/armci.md", 3),
    ("docs/checking.md", 10),
    ("docs/files.md", 3),
    ("docs/mechanisms.md", 3),
    ("docs/memory.md", 10),
    ("docs/numbers/README.md", 1),
    ("docs/numbers/collectives.md", 2),
    ("docs/numbers/ga.md", 3),
    ("docs/numbers/neighbours.md", 2),
    ("docs/numbers/point-to-point-cheap-single-copies.md", 3),
    ("docs/numbers/point-to-point.md", 3),
    ("docs/openmpi.md", 2),
    ("docs/scaling.md", 4),
    ("docs/shmem.md", 4),
    ("docs/tests-of-others.md", 1),
    ("docs/waiting.md", 2),
    ("kmod/README.md", 2),
];

/// Generated, lists that changes add lines to, or licence texts of others.
const APART: &[&str] = &[
    "docs/compatibility.md",
    "docs/unfinished.md",
    "docs/decisions/README.md",
    "docs/papers.md",
    "CHANGELOG.md",
    "standard/README.md",
];

/// Lines and rows that are too long.
pub fn check(documents: &[Document]) -> Vec<String> {
    let mut wrong = Vec::new();
    for document in documents {
        if document.path.ends_with(".md") && !APART.contains(&document.path.as_str()) {
            let most = ROWS
                .iter()
                .find(|(path, _)| *path == document.path)
                .map_or(0, |(_, rows)| *rows);
            wrong.extend(too_long(document, most));
        }
    }
    wrong
}

fn too_long(document: &Document, most_rows: usize) -> Vec<String> {
    let long = |line: &&str| line.chars().count() > LONGEST;
    let mut wrong = Vec::new();
    for (number, line) in document.text.lines().enumerate() {
        if long(&line) && !line.starts_with('|') {
            wrong.push(format!(
                "{}:{}: longer than {LONGEST} characters",
                document.path,
                number + 1
            ));
        }
    }
    let rows = document
        .text
        .lines()
        .filter(|line| line.starts_with('|'))
        .filter(long)
        .count();
    if rows != most_rows {
        wrong.push(format!(
            "{}: {rows} rows of tables are longer than {LONGEST} characters, xtask/src/docs/lines.rs says {most_rows}",
            document.path
        ));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_and_rows_are_found() {
        let long = "x".repeat(LONGEST + 1);
        let text = format!("{long}\n{}\n| {long} |\n", "é".repeat(LONGEST));
        let document = Document {
            path: "docs/page.md".into(),
            text,
        };
        assert_eq!(too_long(&document, 1).len(), 1);
        assert_eq!(too_long(&document, 0).len(), 2);
        assert_eq!(too_long(&document, 2).len(), 2);
    }
}
