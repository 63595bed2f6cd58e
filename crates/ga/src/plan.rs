//! What an array is to be: its plan, and the plan laid out among processes.

use std::sync::Arc;

use isthmus_armci::group::{self, Group};

use crate::distribution::{self, Distribution};
use crate::error::{Error, Result};
use crate::kind::ElementKind;
use crate::patch::MOST_DIMENSIONS;
use crate::{life, mirror};

/// What an array is to be, before it has memory (`GA_Create_handle` and its setters).
#[derive(Debug, Clone)]
pub struct Plan {
    /// Shown in messages.
    pub name: String,
    /// Of elements.
    pub kind: Option<ElementKind>,
    /// Elements in each dimension.
    pub dims: Vec<i64>,
    /// See [`Distribution::even`].
    pub chunk: Vec<i64>,
    /// Margins.
    pub ghosts: Vec<i64>,
    /// The user's own distribution.
    pub cut: Cut,
    /// The number of the group whose processes have it.
    pub group: i32,
    /// Each node is to have a whole copy.
    pub is_mirrored: bool,
    /// Only these of the group.
    pub restricted: Option<Vec<usize>>,
}

/// How a plan is to be cut.
#[derive(Debug, Clone, Default)]
pub enum Cut {
    /// Evenly.
    #[default]
    Even,
    /// First indexes of blocks.
    Irregular(Vec<Vec<i64>>),
    /// Blocks in turn.
    Cyclic(Vec<i64>),
    /// Blocks, grid of processes, and whether blocks lie one behind the other.
    Grid(Vec<i64>, Vec<i64>, bool),
    /// First indexes of blocks, and the grid.
    TiledIrregular(Vec<Vec<i64>>, Vec<i64>),
}

/// More than any address space has, and so few that sums and products with numbers of processes can be counted.
const MOST_BYTES: i64 = 1 << 55;

impl Plan {
    /// Of nothing, for the default group.
    pub fn new() -> Self {
        Self {
            name: "unnamed".into(),
            kind: None,
            dims: Vec::new(),
            chunk: Vec::new(),
            ghosts: Vec::new(),
            cut: Cut::Even,
            group: group::default_number(),
            is_mirrored: life::default_is_mirror(),
            restricted: None,
        }
    }

    /// Of so many elements.
    ///
    /// # Errors
    /// Too many dimensions, or a negative one.
    pub fn set_data(&mut self, dims: Vec<i64>, kind: ElementKind) -> Result<()> {
        if dims.is_empty() || dims.len() > MOST_DIMENSIONS {
            return Err(Error::argument(format!(
                "ndim={}, there may be 1 to {MOST_DIMENSIONS}",
                dims.len()
            )));
        }
        if let Some(d) = dims.iter().position(|dim| *dim < 1) {
            return Err(Error::argument(format!("dims[{d}]={} must be at least 1", dims[d])));
        }
        self.ghosts = vec![0; dims.len()];
        self.dims = dims;
        self.kind = Some(kind);
        Ok(())
    }

    /// For this group, by the number that programs know.
    pub fn set_group(&mut self, number: i32) {
        self.group = life::group_number(number);
        self.is_mirrored = number == life::MIRROR;
    }

    /// Is there a copy of it at each of several nodes?
    ///
    /// # Errors
    /// Global Arrays are not initialized.
    pub fn is_on_nodes(&self) -> Result<bool> {
        Ok(self.is_mirrored && mirror::are_several()?)
    }

    /// Can all its elements be counted, and margins and blocks that are not full besides? If not, there is no memory for them.
    fn check_size(&self, bytes: usize) -> Result<()> {
        let block = match &self.cut {
            Cut::Cyclic(block) | Cut::Grid(block, ..) => block.as_slice(),
            _ => &[],
        };
        let extent = |d: usize| -> Option<i64> {
            let margins = self.ghosts[d].checked_mul(2)?;
            let block = block.get(d).copied().unwrap_or(0).max(0);
            let dim = match &self.cut {
                // Each has the room of the longest.
                Cut::TiledIrregular(cuts, _) => longest(&cuts[d], self.dims[d]).checked_mul(cuts[d].len() as i64)?,
                _ => self.dims[d],
            };
            dim.checked_add(margins)?.checked_add(block)
        };
        let mut extents = (0..self.dims.len()).map(extent);
        let total = extents.try_fold(bytes as i64, |total, extent| total.checked_mul(extent?));
        match total.is_some_and(|total| total <= MOST_BYTES) {
            true => Ok(()),
            false => Err(isthmus_armci::Error::Memory {
                bytes: MOST_BYTES as u64,
                why: format!("dims={:?} are more than can be addressed", self.dims),
            }
            .into()),
        }
    }

    fn distribution(&self, processes: usize) -> Result<Distribution> {
        let dims = &self.dims;
        let right = |list: &[i64], what: &str| -> Result<()> {
            if list.len() == dims.len() && list.iter().all(|value| *value > 0) {
                return Ok(());
            }
            Err(Error::argument(format!(
                "{what}={list:?} must be a positive number for each of {} dimensions",
                dims.len()
            )))
        };
        let fits = |grid: &[i64]| -> Result<()> {
            right(grid, "proc_grid")?;
            let wanted = grid.iter().try_fold(1_i64, |wanted, &count| wanted.checked_mul(count));
            let wanted = wanted.unwrap_or(i64::MAX);
            if wanted > processes as i64 {
                return Err(Error::argument(format!(
                    "proc_grid={grid:?} needs {wanted} processes of {processes}"
                )));
            }
            Ok(())
        };
        let has_ghosts = self.ghosts.iter().any(|width| *width > 0);
        if has_ghosts && !matches!(self.cut, Cut::Even | Cut::Irregular(_)) {
            return Err(Error::argument(
                "ghost cells need one block per process, not block-cyclic data",
            ));
        }
        match &self.cut {
            Cut::Even => Ok(Distribution::even(dims, &self.chunk, processes)),
            Cut::Irregular(cuts) => Distribution::irregular(dims, cuts.clone(), processes),
            Cut::Cyclic(block) => {
                right(block, "block dims")?;
                Ok(Distribution::Cyclic { block: block.clone() })
            }
            Cut::Grid(block, grid, tiled) => {
                right(block, "block dims")?;
                fits(grid)?;
                Ok(distribution::block_cyclic(dims, block.clone(), grid.clone(), *tiled))
            }
            Cut::TiledIrregular(cuts, grid) => {
                fits(grid)?;
                Distribution::irregular(dims, cuts.clone(), usize::MAX)?;
                Ok(Distribution::Grid {
                    block: (0..dims.len()).map(|d| longest(&cuts[d], dims[d])).collect(),
                    cuts: cuts.clone(),
                    grid: grid.clone(),
                    tiled: true,
                })
            }
        }
    }
}

/// The longest block of a dimension that is cut so.
fn longest(cuts: &[i64], dim: i64) -> i64 {
    let ends = cuts.iter().skip(1).chain(std::iter::once(&dim));
    ends.zip(cuts)
        .map(|(end, cut)| end.saturating_sub(*cut))
        .max()
        .unwrap_or(1)
}

impl Default for Plan {
    fn default() -> Self {
        Self::new()
    }
}

/// A plan laid out among the processes of its group: an array but for its memory.
pub(crate) struct LaidOut {
    pub(crate) plan: Plan,
    pub(crate) kind: ElementKind,
    pub(crate) group: Arc<Group>,
    /// Those that have it, by their numbers in the group.
    pub(crate) members: Vec<usize>,
    /// By their numbers among all.
    pub(crate) processes: Vec<usize>,
    pub(crate) distribution: Distribution,
    /// The calling process's place among these.
    pub(crate) me: Option<usize>,
    /// What the calling process needs.
    pub(crate) bytes: u64,
}

impl LaidOut {
    /// Lay a plan out.
    ///
    /// # Errors
    /// It makes no sense.
    pub(crate) fn new(mut plan: Plan) -> Result<Self> {
        let kind = plan
            .kind
            .ok_or_else(|| Error::argument("the array has no dimensions yet: call GA_Set_data first"))?;
        plan.check_size(kind.bytes())?;
        if plan.is_on_nodes()? {
            plan.group = mirror::own_node()?;
        }
        let group = group::find(plan.group)?;
        let members = match &plan.restricted {
            Some(list) => list.clone(),
            None => (0..group.size()).collect(),
        };
        let processes = members.iter().map(|member| Ok(group.absolute(*member as i32)?));
        let processes = processes.collect::<Result<Vec<usize>>>()?;
        let distribution = plan.distribution(members.len())?;
        let me = members.iter().position(|member| Some(*member) == group.me());
        let elements = me.map_or(0, |me| distribution.room(&plan.dims, &plan.ghosts, members.len(), me));
        let bytes = u64::try_from(elements)
            .ok()
            .and_then(|elements| elements.checked_mul(kind.bytes() as u64))
            .ok_or_else(|| Error::argument("more bytes than a process can have"))?;
        Ok(Self {
            plan,
            kind,
            group,
            members,
            processes,
            distribution,
            me,
            bytes,
        })
    }
}
