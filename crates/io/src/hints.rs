//! What users may say about a file (MPI-5.0 §14.2.8; names from ROMIO's user's guide), and what follows. What is not understood is ignored.

use crate::layout::Layout;

/// Shall it be done?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Where it pays.
    Automatic,
    /// Always.
    Enable,
    /// Never.
    Disable,
}

impl Choice {
    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "automatic" => Some(Self::Automatic),
            "enable" | "true" => Some(Self::Enable),
            "disable" | "false" => Some(Self::Disable),
            _ => None,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Enable => "enable",
            Self::Disable => "disable",
        }
    }
}

/// The hints in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hints {
    /// Ranks that write and read for others in collective calls; `None`: as many as pay.
    pub cb_nodes: Option<u64>,
    /// No more of them are on one node (`cb_config_list`); `None`: any number.
    pub cb_each_node: Option<u64>,
    /// Bytes of a file that such a rank has in memory at a time.
    pub cb_buffer: u64,
    /// Shall collective reads go through such ranks?
    pub cb_read: Choice,
    /// Shall collective writes?
    pub cb_write: Choice,
    /// Shall a read of pieces read what lies between them, too?
    pub ds_read: Choice,
    /// Shall a write of pieces write what lies between them, under a lock, as it was? Automatic: no.
    pub ds_write: Choice,
    /// Bytes that such a read takes at a time.
    pub read_buffer: u64,
    /// Bytes that such a write takes at a time.
    pub write_buffer: u64,
    /// The parts of ranks that write for others begin at multiples of this; `None`: of what the file system says.
    pub striping_unit: Option<u64>,
    /// Permissions of a new file.
    pub permissions: u32,
    /// Has the program promised that all accesses are collective? All ranks open the file even so; ROMIO's tests want to be told.
    pub is_collective: bool,
}

impl Default for Hints {
    fn default() -> Self {
        Self {
            cb_nodes: None,
            cb_each_node: None,
            cb_buffer: 16 << 20,
            cb_read: Choice::Automatic,
            cb_write: Choice::Automatic,
            ds_read: Choice::Automatic,
            ds_write: Choice::Automatic,
            // Stays in the cache of a core.
            read_buffer: 512 << 10,
            write_buffer: 512 << 10,
            striping_unit: None,
            permissions: 0o666,
            is_collective: false,
        }
    }
}

/// How many ranks of each node a list of `HOST:NUMBER`, separated by commas, allows: what it says of `*`. `Some(None)`: as many as there are. Names of
/// hosts have no effect. `None`: there is no `*`, or what it allows makes no sense.
fn each_node(list: &str) -> Option<Option<u64>> {
    let all = list.split(',').find_map(|entry| entry.trim().strip_prefix('*'))?;
    match all {
        "" => Some(Some(1)),
        ":*" => Some(None),
        number => number
            .strip_prefix(':')?
            .parse()
            .ok()
            .filter(|number| *number > 0)
            .map(Some),
    }
}

/// No buffer is larger.
const LARGEST: u64 = 1 << 30;

impl Hints {
    /// Take over one.
    pub fn set(&mut self, key: &str, value: &str) {
        let size = || {
            value
                .trim()
                .parse::<u64>()
                .ok()
                .filter(|bytes| (1..=LARGEST).contains(bytes))
        };
        match key {
            "cb_nodes" => self.cb_nodes = size().or(self.cb_nodes),
            "cb_buffer_size" => self.cb_buffer = size().unwrap_or(self.cb_buffer),
            "romio_cb_read" => self.cb_read = Choice::parse(value).unwrap_or(self.cb_read),
            "romio_cb_write" => self.cb_write = Choice::parse(value).unwrap_or(self.cb_write),
            "romio_ds_read" => self.ds_read = Choice::parse(value).unwrap_or(self.ds_read),
            "romio_ds_write" => self.ds_write = Choice::parse(value).unwrap_or(self.ds_write),
            "ind_rd_buffer_size" => self.read_buffer = size().unwrap_or(self.read_buffer),
            "ind_wr_buffer_size" => self.write_buffer = size().unwrap_or(self.write_buffer),
            "striping_unit" => self.striping_unit = size().or(self.striping_unit),
            "file_perm" => {
                let bits = u32::from_str_radix(value.trim(), 8).ok();
                self.permissions = bits.filter(|bits| *bits <= 0o7777).unwrap_or(self.permissions);
            }
            "romio_no_indep_rw" => self.is_collective = value.parse().unwrap_or(self.is_collective),
            "cb_config_list" => {
                if let Some(number) = each_node(value) {
                    self.cb_each_node = number;
                }
            }
            _ => {}
        }
    }

    /// Take over those of a text, as users of ROMIO keep them in files: a line each, of a key and a value. The first of a key counts; lines of another
    /// kind, and those that begin with `#`, are skipped.
    pub fn set_all(&mut self, text: &str) {
        let mut seen = Vec::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let (Some(key), Some(value), None) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            if !key.starts_with('#') && !seen.contains(&key) {
                seen.push(key);
                self.set(key, value);
            }
        }
    }

    /// All that have an effect, with the values in force, for so many aggregators and a file that lies so. A user's hint that is ignored is not among
    /// them (MPI-5.0 §14.2.8): a program sees whether what it asked for was heard.
    pub fn pairs(&self, aggregators: usize, layout: Layout) -> Vec<(String, String)> {
        let mut pairs = vec![
            ("cb_buffer_size", self.cb_buffer.to_string()),
            ("cb_nodes", aggregators.to_string()),
            (
                "cb_config_list",
                self.cb_each_node
                    .map_or("*:*".to_owned(), |number| format!("*:{number}")),
            ),
            ("romio_cb_read", self.cb_read.text().to_owned()),
            ("romio_cb_write", self.cb_write.text().to_owned()),
            ("romio_ds_read", self.ds_read.text().to_owned()),
            ("romio_ds_write", self.ds_write.text().to_owned()),
            ("ind_rd_buffer_size", self.read_buffer.to_string()),
            ("ind_wr_buffer_size", self.write_buffer.to_string()),
            ("file_perm", format!("{:o}", self.permissions)),
            ("romio_no_indep_rw", self.is_collective.to_string()),
        ];
        let unit = self.striping_unit.unwrap_or(layout.unit);
        pairs.push(("striping_unit", unit.to_string()));
        // As the file has them: one that is made here gets none by a hint.
        pairs.extend(layout.stripes.map(|stripes| ("striping_factor", stripes.to_string())));
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_a_hint_in_each_line() {
        let mut hints = Hints::default();
        hints.set_all("# cb_nodes 7\nromio_cb_read enable\n\nind_rd_buffer_size 49\n two words too\n\tind_rd_buffer_size 60\ncb_nodes\n");
        let expected = Hints {
            cb_read: Choice::Enable,
            read_buffer: 49,
            ..Hints::default()
        };
        assert_eq!(hints, expected);
    }

    #[test]
    fn what_makes_no_sense_changes_nothing() {
        let mut hints = Hints::default();
        for (key, value) in [
            ("cb_nodes", "-3"),
            ("cb_buffer_size", "many"),
            ("ind_rd_buffer_size", "0"),
            ("ind_wr_buffer_size", "99999999999999999999"),
            ("romio_cb_write", "perhaps"),
            ("file_perm", "rw"),
            ("cb_config_list", "*:0"),
            ("cb_config_list", "*:few"),
            ("cb_config_list", "host:2"),
            ("no_such_hint", "1"),
        ] {
            hints.set(key, value);
        }
        assert_eq!(hints, Hints::default());
        hints.set("cb_nodes", "3");
        hints.set("romio_ds_write", "enable");
        hints.set("cb_config_list", "first:7, *:1");
        hints.set("striping_factor", "8");
        hints.set("access_style", "read_once");
        hints.set("romio_no_indep_rw", "true");
        assert_eq!(hints.cb_each_node, Some(1));
        let each = ["*", "host:2, *:3", "*:*"].map(each_node);
        assert_eq!(each, [Some(Some(1)), Some(Some(3)), Some(None)]);
        let pairs = hints.pairs(3, Layout::default());
        let value = |key: &str| {
            pairs
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(
            (value("cb_nodes"), value("romio_ds_write"), value("cb_config_list")),
            (Some("3"), Some("enable"), Some("*:1"))
        );
        assert_eq!((value("striping_factor"), value("access_style")), (None, None));
        assert_eq!(value("romio_no_indep_rw"), Some("true"));
        let striped = Layout {
            stripes: Some(2),
            ..Layout::default()
        };
        let told = hints
            .pairs(3, striped)
            .into_iter()
            .find(|(key, _)| key == "striping_factor");
        assert_eq!(told.map(|(_, value)| value), Some("2".to_owned()));
    }
}
