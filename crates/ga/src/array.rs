//! Arrays: the owners of their elements, and their addresses.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use isthmus_armci::group::{self, Group};

use crate::distribution::{self, Block, Distribution};
use crate::error::{Error, Result};
use crate::kind::ElementKind;
use crate::patch::Patch;
use crate::plan::{LaidOut, Plan};
use crate::{getmem, life, mirror};

/// Where the elements of an array lie.
#[derive(Debug)]
pub(crate) enum ArrayMemory {
    /// In memory that it was created with.
    Own,
    /// In what `GA_Getmem` gave the program: the address that the caller was given, who may have no part.
    Taken(usize),
    /// In that of another array, which counts those that overlay it.
    Of(Arc<AtomicUsize>),
}

/// An array.
#[derive(Debug)]
pub struct Array {
    /// Shown in messages.
    pub name: String,
    /// Of elements.
    pub kind: ElementKind,
    /// Elements in each dimension.
    pub dims: Vec<i64>,
    /// Margins around each block.
    pub ghosts: Vec<i64>,
    /// The distribution of elements.
    pub distribution: Distribution,
    /// How it was planned, for duplicates.
    pub plan: Plan,
    /// The processes that have it: their numbers among all.
    processes: Vec<usize>,
    /// The calling process's place among these.
    me: Option<usize>,
    /// First byte of each process's part, as mapped here; null where there is none.
    parts: Vec<usize>,
    memory: ArrayMemory,
    /// How many arrays overlay this one.
    pub(crate) overlaid: Arc<AtomicUsize>,
    /// Bytes of the own part.
    own_bytes: u64,
    /// The block of each process, where each has at most one.
    single: Vec<Block>,
    /// A program has had pointers to others' parts.
    is_shown: AtomicBool,
    /// How its margins are filled, once that was asked for.
    pub(crate) margins: OnceLock<crate::ghosts::Margins>,
}

impl Array {
    /// `GA_Allocate`: give the plan memory, zeroed. Collective over the plan's group. Blocks.
    ///
    /// # Errors
    /// The plan makes no sense, the memory limit, or there is none, at every process.
    pub fn create(plan: Plan) -> Result<Self> {
        Self::create_if(plan, true)
    }

    /// As [`Array::create`]; a process at which there can be no array makes it fail at all, as if there were no memory.
    ///
    /// # Errors
    /// As for [`Array::create`].
    pub fn create_if(plan: Plan, is_possible: bool) -> Result<Self> {
        let laid_out = LaidOut::new(plan)?;
        let mut shown = life::allocate(&laid_out.group, laid_out.bytes, is_possible);
        if laid_out.plan.is_on_nodes()? && !mirror::agree(shown.is_ok())? {
            let own = shown.ok().and_then(|shown| Some(shown[laid_out.group.me()?].address));
            if let Some(own) = own {
                life::free(&laid_out.group, own, laid_out.bytes)?;
            }
            shown = Err(isthmus_armci::Error::Memory {
                bytes: laid_out.bytes,
                why: "a process of another node has none for its copy".into(),
            }
            .into());
        }
        let shown = shown?;
        let parts = laid_out.members.iter();
        let parts = parts.map(|member| shown[*member].address.expose_provenance()).collect();
        Ok(Self::of(laid_out, parts, ArrayMemory::Own))
    }

    /// The layout in memory: the address of each member's part here.
    pub(crate) fn of(laid_out: LaidOut, parts: Vec<usize>, memory: ArrayMemory) -> Self {
        let LaidOut {
            plan,
            kind,
            processes,
            distribution,
            me,
            bytes,
            ..
        } = laid_out;
        let total = match distribution {
            Distribution::Regular { .. } => distribution.total(&plan.dims),
            _ => 0,
        };
        let single = (0..total).map(|number| distribution.block(&plan.dims, &plan.ghosts, processes.len(), number));
        let single = single.collect();
        Self {
            name: plan.name.clone(),
            kind,
            dims: plan.dims.clone(),
            ghosts: plan.ghosts.clone(),
            distribution,
            processes,
            me,
            parts,
            memory,
            overlaid: Arc::default(),
            own_bytes: bytes,
            single,
            is_shown: AtomicBool::new(false),
            margins: OnceLock::new(),
            plan,
        }
    }

    /// Give its memory back. Collective over its group. Blocks until all are here.
    ///
    /// # Errors
    /// A process has failed; other arrays overlay it.
    pub fn destroy(&self) -> Result<()> {
        if self.overlaid.load(Ordering::Relaxed) > 0 {
            return Err(Error::argument(format!(
                "array '{}' is overlaid by another: destroy that one first",
                self.name
            )));
        }
        let group = self.group()?;
        group.link()?.barrier()?;
        if let Some(margins) = self.margins.get() {
            margins.give_back(&group)?;
        }
        match &self.memory {
            ArrayMemory::Own => life::free(&group, self.own_part(), self.own_bytes)?,
            ArrayMemory::Taken(own) => getmem::give_back_array(std::ptr::with_exposed_provenance_mut(*own))?,
            ArrayMemory::Of(overlaid) => {
                overlaid.fetch_sub(1, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// The program gets a pointer to this process's part.
    pub fn show(&self, process: usize) {
        if self.me != Some(process) {
            self.is_shown.store(true, Ordering::Relaxed);
        }
    }

    /// Can this process have written to others' parts otherwise than by put and its kin: through pointers, or another array?
    pub fn can_be_written_unseen(&self) -> bool {
        self.is_shown.load(Ordering::Relaxed)
            || !matches!(self.memory, ArrayMemory::Own)
            || self.overlaid.load(Ordering::Relaxed) > 0
    }

    /// Dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The group whose processes have it.
    ///
    /// # Errors
    /// It was destroyed.
    pub fn group(&self) -> Result<Arc<Group>> {
        Ok(group::find(self.plan.group)?)
    }

    /// How many processes have it.
    pub fn processes(&self) -> usize {
        self.processes.len()
    }

    /// The calling process's place among its owners.
    pub fn me(&self) -> Option<usize> {
        self.me
    }

    /// The place among its owners of a process of its group. `None`: that process owns no part.
    pub fn place_of(&self, process: usize) -> Option<usize> {
        match &self.plan.restricted {
            Some(list) => list.iter().position(|member| *member == process),
            None => Some(process).filter(|process| *process < self.processes()),
        }
    }

    /// The number in its group of the process at a place.
    pub fn process_at(&self, place: usize) -> usize {
        self.plan.restricted.as_ref().map_or(place, |list| list[place])
    }

    /// The number among all of a process that has it.
    pub fn absolute(&self, process: usize) -> usize {
        self.processes[process]
    }

    /// Is that process's part on another node, where this one does not map it?
    ///
    /// # Errors
    /// ARMCI has been finalized.
    pub fn is_far(&self, process: usize) -> Result<bool> {
        Ok(isthmus_armci::life::job()?.far(self.processes[process]).is_some())
    }

    /// The first byte of a process's part, as mapped here. Of another node it is a name that ARMCI's operations take.
    pub fn part(&self, process: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.parts[process])
    }

    /// That of the calling process; null: it has none.
    pub fn own_part(&self) -> *mut u8 {
        self.me.map_or(std::ptr::null_mut(), |me| self.part(me))
    }

    /// Bytes of the own part.
    pub fn own_bytes(&self) -> u64 {
        self.own_bytes
    }

    /// All of it.
    pub fn whole(&self) -> Patch {
        Patch::whole(&self.dims)
    }

    /// Has it margins?
    pub fn has_ghosts(&self) -> bool {
        self.ghosts.iter().any(|width| *width > 0)
    }

    /// The blocks that a patch touches, cut to it.
    pub fn blocks(&self, patch: &Patch) -> Vec<Block> {
        self.distribution
            .blocks(&self.dims, &self.ghosts, self.processes(), patch)
    }

    /// The block that has all of a patch, if a single one has, and each process has at most one. Takes no memory.
    #[inline]
    pub fn block_around(&self, lo: &[i64], hi: &[i64]) -> Option<&Block> {
        let Distribution::Regular { cuts } = &self.distribution else {
            return None;
        };
        let mut number = 0;
        for d in 0..cuts.len() {
            if lo[d] < 0 || hi[d] < lo[d] || hi[d] >= self.dims[d] {
                return None;
            }
            number = number * cuts[d].len() + distribution::find(&cuts[d], lo[d]);
        }
        let block = self.single.get(number)?;
        (0..cuts.len()).all(|d| hi[d] <= block.patch.hi[d]).then_some(block)
    }

    /// The blocks of a process.
    pub fn blocks_of(&self, process: usize) -> Vec<Block> {
        self.distribution
            .of_process(&self.dims, &self.ghosts, self.processes(), process)
    }

    /// A block by its number.
    ///
    /// # Errors
    /// There is none.
    pub fn block(&self, number: i64) -> Result<Block> {
        let total = self.distribution.total(&self.dims);
        if !(0..total).contains(&number) {
            return Err(Error::argument(format!(
                "block {number} of array '{}', which has {total}",
                self.name
            )));
        }
        Ok(self
            .distribution
            .block(&self.dims, &self.ghosts, self.processes(), number))
    }

    /// What the calling process has of a patch.
    pub fn own_blocks(&self, patch: &Patch) -> Vec<Block> {
        let own = self.me.map_or_else(Vec::new, |me| self.blocks_of(me));
        own.iter().filter_map(|block| block.within(patch)).collect()
    }

    /// Is a patch within it?
    ///
    /// # Errors
    /// It is not: which index, and what would be.
    pub fn check(&self, patch: &Patch) -> Result<()> {
        let wrong = |what, dimension: usize, value, low, high| {
            Err(Error::Range {
                name: self.name.clone(),
                what,
                dimension,
                value,
                low,
                high,
            })
        };
        if patch.rank() != self.rank() {
            return Err(Error::argument(format!(
                "array '{}' has {} dimensions, the patch {}",
                self.name,
                self.rank(),
                patch.rank()
            )));
        }
        for d in 0..self.rank() {
            let (lo, hi) = (patch.lo[d], patch.hi[d]);
            if !(0..self.dims[d]).contains(&lo) {
                return wrong("lo", d, lo, 0, self.dims[d]);
            }
            if !(lo..self.dims[d]).contains(&hi) {
                return wrong("hi", d, hi, lo, self.dims[d]);
            }
        }
        Ok(())
    }

    /// Are these of the same type, and of the same number of elements?
    ///
    /// # Errors
    /// They are not.
    pub fn check_like(&self, patch: &Patch, other: &Self, its: &Patch) -> Result<()> {
        if self.kind != other.kind {
            return Err(Error::argument(format!(
                "arrays '{}' and '{}' have elements of different types",
                self.name, other.name
            )));
        }
        if patch.count() != its.count() {
            return Err(Error::argument(format!(
                "patches of '{}' ({} elements) and '{}' ({}) differ",
                self.name,
                patch.count(),
                other.name,
                its.count()
            )));
        }
        Ok(())
    }
}
