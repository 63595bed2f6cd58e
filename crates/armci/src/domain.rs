//! Domains: the processes of each node.

use isthmus_engine::rma;

use crate::error::{Result, argument};
use crate::life::job;

/// The processes of each domain, by their numbers among all; domains in the order of their first processes.
///
/// # Errors
/// ARMCI is not initialized.
pub fn all() -> Result<Vec<Vec<usize>>> {
    let job = job()?;
    let mut domains: Vec<(u32, Vec<usize>)> = Vec::new();
    for proc in 0..job.processes() {
        let node = rma::node_of(job.peer(proc));
        match domains.iter_mut().find(|(known, _)| *known == node) {
            Some((_, members)) => members.push(proc),
            None => domains.push((node, vec![proc])),
        }
    }
    Ok(domains.into_iter().map(|(_, members)| members).collect())
}

/// The domain of a process.
///
/// # Errors
/// There is no such process.
pub fn of(proc: usize) -> Result<usize> {
    let found = all()?.iter().position(|members| members.contains(&proc));
    found.ok_or_else(|| argument(format!("process {proc} is in no domain")))
}

/// The processes of a domain.
///
/// # Errors
/// There is no such domain.
pub fn members(id: i32) -> Result<Vec<usize>> {
    let mut domains = all()?;
    match usize::try_from(id) {
        Ok(at) if at < domains.len() => Ok(domains.swap_remove(at)),
        _ => Err(argument(format!(
            "id={id} is no domain: they are 0 to {}",
            domains.len() - 1
        ))),
    }
}
