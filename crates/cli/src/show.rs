//! How quantities and aligned columns look on the terminal.

/// A number of bytes in the largest unit that divides it: `512`, `8K`, `3M`.
pub fn bytes(bytes: u64) -> String {
    let units = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    match units
        .iter()
        .find(|(size, _)| bytes >= *size && bytes.is_multiple_of(*size))
    {
        Some((size, unit)) => format!("{}{unit}", bytes / size),
        None => bytes.to_string(),
    }
}

/// An amount of memory to about three digits: `23.5 GiB`.
pub fn memory(bytes: u64) -> String {
    let units = [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{} {unit}", significant(bytes as f64 / *size as f64)),
        None => format!("{bytes} B"),
    }
}

/// Three significant digits, never an exponent.
pub fn significant(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// A count to about three digits, in thousands or millions: `45.0k`.
pub fn count(count: f64) -> String {
    match count {
        0.0 => "0".to_owned(),
        count if count >= 1e6 => format!("{}M", significant(count / 1e6)),
        count if count >= 1e3 => format!("{}k", significant(count / 1e3)),
        _ => significant(count),
    }
}

/// CPU numbers as the kernel writes them: `0-3,8`.
pub fn cpus(cpus: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = cpus;
    while let [first, ..] = rest {
        let run = rest.iter().zip(*first..).take_while(|(cpu, next)| *cpu == next).count();
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&first.to_string());
        if run > 1 {
            text.push_str(&format!("-{}", rest[run - 1]));
        }
        rest = &rest[run..];
    }
    text
}

/// Rows in columns as wide as they need, the first `left` of them aligned left and the others right.
pub fn columns(rows: &[Vec<String>], left: usize) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows.iter().map(Vec::len).max().unwrap_or(0)).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
            if at < left {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Lines of at most `width` characters, each after so many spaces; longer words have a line of their own.
pub fn wrapped(text: &str, indent: usize, width: usize) -> String {
    let mut lines = String::new();
    let mut used = usize::MAX;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used.saturating_add(1 + length) > width {
            if !lines.is_empty() {
                lines.push('\n');
            }
            lines.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        } else {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        assert_eq!(bytes(512), "512");
        assert_eq!(bytes(8192), "8K");
        assert_eq!(bytes(4 << 20), "4M");
        assert_eq!(bytes(1000), "1000");
        assert_eq!(memory(25_000_000_000), "23.3 GiB");
        assert_eq!(significant(0.1234), "0.123");
        assert_eq!([0.0, 91.0, 2783.0, 11.25e6].map(count), ["0", "91.0", "2.78k", "11.2M"]);
        assert_eq!(significant(1234.5), "1234");
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(cpus(&[0, 1, 2, 8, 10, 11]), "0-2,8,10-11");
        assert_eq!(cpus(&[]), "");
    }

    #[test]
    fn text_is_wrapped_at_spaces() {
        assert_eq!(wrapped("one two three", 2, 9), "  one two\n  three\n");
        assert_eq!(wrapped("a verylongword b", 1, 6), " a\n verylongword\n b\n");
    }

    #[test]
    fn columns_line_up() {
        let rows = vec![
            vec!["a".to_owned(), "1".to_owned()],
            vec!["bcd".to_owned(), "23".to_owned()],
        ];
        assert_eq!(columns(&rows, 1), "a     1\nbcd  23\n");
    }
}
