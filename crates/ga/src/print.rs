//! What `GA_Print` and its kin show; the first process of the array's group writes.

use std::fmt::Write;

use crate::array::Array;
use crate::element::Element;
use crate::error::Result;
use crate::handles;
use crate::kind::{Generic, dispatch};
use crate::life::{self, collectively, sync_group};
use crate::onesided::fetch;
use crate::patch::Patch;

/// Columns of a matrix that are shown side by side.
const BESIDE: usize = 6;

struct DoText<'a>(&'a Array, &'a Patch);

impl Generic for DoText<'_> {
    type Output = String;

    fn call<T: Element>(self) -> Result<String> {
        let Self(array, patch) = self;
        let values: Vec<T> = fetch(array, patch)?;
        let extents = patch.extents();
        let width = extents.last().copied().unwrap_or(0).max(1) as usize;
        let rows: Vec<Vec<i64>> = patch.rows().collect();
        let mut text = String::new();
        let begin = patch.lo.last().copied().unwrap_or(0) as usize;
        for first in (0..width).step_by(BESIDE) {
            let columns = first..(first + BESIDE).min(width);
            let _ = write!(text, "\n{:12}", "");
            for column in columns.clone() {
                let _ = write!(text, "{:>12}", begin + column);
            }
            text.push('\n');
            for (row, index) in rows.iter().enumerate() {
                let label: Vec<String> = index[..index.len() - 1].iter().map(ToString::to_string).collect();
                let _ = write!(text, "{:>12}", label.join(","));
                for column in columns.clone() {
                    let _ = write!(text, " {:>11}", values[row * width + column].text());
                }
                text.push('\n');
            }
        }
        Ok(text)
    }
}

/// `name[0:3,0:7]`
pub fn title(array: &Array, patch: &Patch) -> String {
    let ranges: Vec<String> = patch
        .lo
        .iter()
        .zip(&patch.hi)
        .map(|(lo, hi)| format!("{lo}:{hi}"))
        .collect();
    format!("{}[{}]", array.name, ranges.join(","))
}

/// The elements of a patch, as the first process gets them to write; the others an empty text. Collective.
///
/// # Errors
/// The patch is not within the array.
pub fn text(handle: i32, array: &Array, patch: &Patch) -> Result<String> {
    let group = array.group()?;
    collectively(&group, || {
        array.check(patch)?;
        let mut text = String::new();
        if group.me() == Some(0) {
            text = format!("\n global array: {},  handle: {handle} \n", title(array, patch));
            text += &dispatch(array.kind, DoText(array, patch))?;
        }
        // Nobody changes it before it is read.
        sync_group(&group)?;
        Ok(text)
    })
}

/// The distribution, for the first process. Collective.
///
/// # Errors
/// A process has failed.
pub fn distribution(handle: i32, array: &Array) -> Result<String> {
    let group = array.group()?;
    collectively(&group, || {
        let mut text = String::new();
        if group.me() == Some(0) {
            let kind = array.kind;
            let _ = writeln!(
                text,
                "Array Handle={handle} Name:'{}' Data Type:{kind:?}\nArray Dimensions:{:?}",
                array.name, array.dims
            );
            for process in 0..array.processes() {
                for block in array.blocks_of(process) {
                    let _ = writeln!(
                        text,
                        "Process={process}\t owns array section: {}",
                        title(array, &block.patch)
                    );
                }
            }
        }
        Ok(text)
    })
}

/// `GA_Summarize`: the arrays that there are, for the first process.
///
/// # Errors
/// None, so far.
pub fn summary(verbose: bool) -> Result<String> {
    let mut text = " Summary of allocated global arrays\n-----------------------------------\n".to_owned();
    let arrays = handles::all();
    if arrays.is_empty() {
        text += "  No active global arrays\n";
    }
    for (handle, array) in arrays {
        let _ = writeln!(
            text,
            "  array {handle} => {:?} {} \"{}\"",
            array.kind,
            title(&array, &array.whole()),
            array.name
        );
        if verbose {
            for process in 0..array.processes() {
                for block in array.blocks_of(process) {
                    let _ = writeln!(text, "    process {process}: {}", title(&array, &block.patch));
                }
            }
        }
    }
    Ok(text)
}

/// `GA_Print_stats`: of the calling process.
pub fn statistics() -> String {
    format!(
        " GA Statistics for process {}\n ------------------------------\n arrays: {}; bytes of them here: {}\n",
        isthmus_armci::life::job().map_or(-1, |job| job.me as i64),
        handles::all().len(),
        life::memory_used()
    )
}
