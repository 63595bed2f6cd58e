//! The pages of `docs/decisions`: each has a head, a file name that follows its title, and a row in the index, `README.md`, which is written
//! from the heads. A number that is cited anywhere is a page, or included in one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, Result, bail, ensure};
use regex::Regex;

use super::Document;

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";

/// Headings of the index, in its order.
const TOPICS: &[&str] = &[
    "messages",
    "copies",
    "transfer mechanisms",
    "memory",
    "waiting",
    "threads",
    "collectives",
    "one-sided",
    "files",
    "network",
    "launcher",
    "failures",
    "MPI semantics",
    "C surface",
    "openshmem",
    "armci and ga",
    "method",
];
const KINDS: &[&str] = &["architecture", "tuning log"];

/// The head of a page.
#[derive(Debug)]
struct Page {
    number: u32,
    title: String,
    file: String,
    status: String,
    date: String,
    topic: String,
    kind: String,
    superseded_by: Option<u32>,
    includes: Vec<u32>,
}

/// Errors of pages, the index, and citations of both. Writes the index first, if asked to.
pub fn check(root: &Path, documents: &[Document], write: bool) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let mut pages = BTreeMap::new();
    for document in documents
        .iter()
        .filter(|one| one.path.starts_with(FOLDER) && one.path != INDEX)
    {
        match parse(document) {
            Ok(page) => {
                if let Some(before) = pages.insert(page.number, page) {
                    wrong.push(format!("{}: a second page with this number", before.file));
                }
            }
            Err(error) => wrong.push(format!("{}: {error:#}", document.path)),
        }
    }
    let mut known: BTreeMap<u32, u32> = BTreeMap::new();
    for page in pages.values() {
        for number in std::iter::once(&page.number).chain(&page.includes) {
            if known.insert(*number, page.number).is_some() {
                wrong.push(format!("{}: {number} is another page, or included in one", page.file));
            }
        }
    }
    for page in pages.values() {
        if page.superseded_by.is_some_and(|by| !known.contains_key(&by)) {
            wrong.push(format!("{}: superseded by a page that is not there", page.file));
        }
    }
    let index = index(&pages)?;
    if write {
        std::fs::write(root.join(INDEX), &index).with_context(|| format!("cannot write {INDEX}"))?;
    } else if std::fs::read_to_string(root.join(INDEX)).ok().as_ref() != Some(&index) {
        wrong.push(format!(
            "{INDEX}: not what the heads of the pages say, run cargo xtask check-docs --write"
        ));
    }
    for document in documents {
        for cited in cited(&document.text) {
            let number = cited.number;
            if !known.contains_key(&number) {
                wrong.push(format!(
                    "{}: decision {number} is cited and is not there",
                    document.path
                ));
            } else if let Some(file) = cited.file
                && pages.get(&number).is_none_or(|page| page.file != file)
            {
                wrong.push(format!("{}: there is no {FOLDER}{file}", document.path));
            }
        }
    }
    Ok(wrong)
}

/// The head of a page, checked.
fn parse(document: &Document) -> Result<Page> {
    let file = document.path.strip_prefix(FOLDER).context("not a decision")?;
    let mut lines = document.text.lines();
    let heading = lines.next().and_then(|line| line.strip_prefix("# "));
    let heading = heading.context("the first line is '# NUMBER. TITLE'")?;
    let (number, title) = heading
        .split_once(". ")
        .context("the first line is '# NUMBER. TITLE'")?;
    let number: u32 = number.parse().context("its number")?;
    let name = format!("{number:04}-{}.md", slug(title));
    ensure!(file == name, "by its title its name is {name}");
    let fields: BTreeMap<&str, &str> = lines
        .skip_while(|line| line.is_empty())
        .map_while(|line| line.strip_prefix("- ")?.split_once(": "))
        .collect();
    let field = |name: &str| -> Result<String> {
        let value = fields
            .get(name)
            .with_context(|| format!("its head has no '- {name}: '"))?;
        Ok((*value).to_owned())
    };
    let superseded_by = match field("Superseded by")?.as_str() {
        "none" => None,
        number => Some(number.parse().context("'Superseded by' is a number, or none")?),
    };
    let includes = fields.get("Includes").map_or(Ok(Vec::new()), |list| {
        list.split(", ")
            .map(|one| one.parse().context("'Includes' lists numbers"))
            .collect()
    })?;
    let page = Page {
        number,
        title: title.to_owned(),
        file: file.to_owned(),
        status: field("Status")?,
        date: field("Date")?,
        topic: field("Topic")?,
        kind: field("Kind")?,
        superseded_by,
        includes,
    };
    let is_superseded = page.superseded_by.is_some();
    match page.status.as_str() {
        "in force" => ensure!(!is_superseded, "in force, and superseded by another"),
        "superseded" => ensure!(is_superseded, "superseded, and not said by which"),
        other => bail!("its status is '{other}', not 'in force' or 'superseded'"),
    }
    let date: Vec<&str> = page.date.split('-').collect();
    let is_date =
        date.iter().map(|part| part.len()).eq([4, 2, 2]) && date.concat().bytes().all(|byte| byte.is_ascii_digit());
    ensure!(is_date, "its date is '{}', not YYYY-MM-DD", page.date);
    ensure!(
        TOPICS.contains(&page.topic.as_str()),
        "no topic '{}'; there are: {}",
        page.topic,
        TOPICS.join(", ")
    );
    ensure!(
        KINDS.contains(&page.kind.as_str()),
        "no kind '{}'; there are: {}",
        page.kind,
        KINDS.join(", ")
    );
    Ok(page)
}

/// A title as a file name.
fn slug(title: &str) -> String {
    let lower = title.to_lowercase().replace('\'', "");
    let words = lower
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

fn index(pages: &BTreeMap<u32, Page>) -> Result<String> {
    let mut text = String::from(
        "# Decisions, by topic\n\n\
         Written by `cargo xtask check-docs --write` from the heads of the pages. A page that *includes* other numbers has taken over what\n\
         these decided: a citation of such a number means that page. Numbers that are in no row were local to one file, whose header has\n\
         them now, or were never given. A *tuning log* lists what was tried, what it gained, and on which machine.\n",
    );
    for topic in TOPICS {
        let of_topic: Vec<&Page> = pages.values().filter(|page| page.topic == *topic).collect();
        if of_topic.is_empty() {
            continue;
        }
        write!(text, "\n## {}{}\n\n", topic[..1].to_uppercase(), &topic[1..])?;
        text.push_str("| number | decision | status | date | includes |\n|---|---|---|---|---|\n");
        for page in of_topic {
            let kind = if page.kind == KINDS[0] { "" } else { ", tuning log" };
            let by = page.superseded_by.map(|by| format!(" by {by}")).unwrap_or_default();
            let includes: Vec<String> = page.includes.iter().map(u32::to_string).collect();
            let Page {
                number,
                title,
                status,
                date,
                ..
            } = page;
            writeln!(
                text,
                "| {number} | [{title}][{number}] | {status}{by}{kind} | {date} | {} |",
                includes.join(", ")
            )?;
        }
    }
    text.push('\n');
    for page in pages.values() {
        writeln!(text, "[{}]: {}", page.number, page.file)?;
    }
    Ok(text)
}

/// A citation: `docs/decisions/0007`, or a link to a file.
#[derive(Debug, PartialEq)]
struct Cited {
    number: u32,
    file: Option<String>,
}

fn cited(text: &str) -> Vec<Cited> {
    static PATH: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"decisions/([0-9]{4})([a-z0-9_-]*\.md)?").expect("a valid pattern"));
    let cited = PATH.captures_iter(text).filter_map(|found| {
        let number = found.get(1)?.as_str();
        Some(Cited {
            number: number.parse().ok()?,
            file: found.get(2).map(|rest| format!("{number}{}", rest.as_str())),
        })
    });
    cited.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(file: &str, text: &str) -> Result<Page> {
        parse(&Document {
            path: format!("{FOLDER}{file}"),
            text: text.into(),
        })
    }

    const HEAD: &str = "# 7. Isthmus' rings are small\n\n- Status: in force\n- Date: 2026-11-21\n- Topic: messages\n- Kind: tuning log\n\
                        - Superseded by: none\n- Includes: 8, 9\n\ntext\n";
    const FILE: &str = "0007-isthmus-rings-are-small.md";

    #[test]
    fn a_head_is_read() {
        let page = page(FILE, HEAD).unwrap();
        assert_eq!((page.number, page.includes), (7, vec![8, 9]));
    }

    #[test]
    fn a_wrong_head_is_told() {
        for (path, text) in [
            ("0007-rings.md", HEAD.to_owned()),
            (FILE, HEAD.replace("- Date: 2026-11-21\n", "")),
            (FILE, HEAD.replace("2026-11-21", "yesterday")),
            (FILE, HEAD.replace("messages", "weather")),
            (FILE, HEAD.replace("none", "8")),
            (FILE, HEAD.replace("in force", "superseded")),
        ] {
            assert!(page(path, &text).is_err(), "{path}: {text}");
        }
    }

    #[test]
    fn citations_are_found() {
        let found = cited(&format!("see {FOLDER}0007, ({FOLDER}0008-a-b.md)"));
        let expected = [(7, None), (8, Some("0008-a-b.md".to_owned()))];
        assert_eq!(found, expected.map(|(number, file)| Cited { number, file }));
    }
}
