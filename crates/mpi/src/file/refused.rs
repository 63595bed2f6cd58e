//! Collective calls whose arguments were refused before they began, as null addresses and freed infos are: the other members make the call, so it
//! fails on them, too.

use super::File;
use super::operation::{FileAccess, Pending, drive};
use crate::error::{Error, Result};

/// Tell the other members, who call this (as in `file_set_view`), of the error: what the call fails with here. Blocks until all have called, if
/// the call does.
#[cold]
pub fn file_refused(fh: &File, call: &'static str, error: Error) -> Error {
    fh.tell(call, error.clone()).err().unwrap_or(error)
}

impl File {
    fn tell(&self, call: &'static str, error: Error) -> Result<()> {
        let is_access = call.contains("read") || call.contains("write");
        if call == "file_set_info" {
            return self.same(call);
        }
        if !is_access {
            return self.together(call, Err(error), "", 0);
        }
        if call.ends_with("_ordered") {
            return self.in_order(call, Err(error)).map(drop);
        }
        let writes = call.contains("write");
        let file = self.share()?;
        if call.contains("_iread") || call.contains("_iwrite") {
            Pending::together(Err(error), &file, writes, call).detach();
            return Ok(());
        }
        let (future, back) = FileAccess::together(Err(error), &file, writes, call, true);
        self.agree_on_conversion(writes, back.finish(drive(future)?)).map(drop)
    }
}
