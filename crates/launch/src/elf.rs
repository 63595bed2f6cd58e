//! What the headers of a program say: its machine, its loader, the libraries it needs, and an MPI that is linked into it.

use std::hint::black_box;

use isthmus_engine::other_mpi::MpiFamily;
use memchr::memmem;
use object::elf::{self, DT_NEEDED, DT_RPATH, DT_RUNPATH, ET_DYN, ET_EXEC, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};
use object::read::{ReadRef, StringTable};

#[cfg(target_arch = "x86_64")]
const OUR_MACHINE: u16 = elf::EM_X86_64;
#[cfg(target_arch = "aarch64")]
const OUR_MACHINE: u16 = elf::EM_AARCH64;

/// Texts that a library of MPI contains and a program that is only linked to one does not. They are spelled from their ends, so that
/// `mpiexec` does not contain them.
const TEXTS: [(MpiFamily, [&[u8]; 2]); 3] = [
    (MpiFamily::Mpich, [b"_RAVC_RIPM", b"DF_IMP"]),
    (MpiFamily::Mpich, [b"_IPM_I", b"DF_IMP"]),
    (MpiFamily::OpenMpi, [b"_ACM_IPMO", b"tini_ipm_ipmo"]),
];

/// The headers of an ELF file, as far as they concern us.
#[derive(Debug, Default)]
pub struct Elf {
    pub for_our_machine: bool,
    pub executable: bool,
    /// The loader; empty if the program needs none.
    pub interpreter: String,
    pub needed: Vec<String>,
    /// Folders that are searched before `LD_LIBRARY_PATH`.
    pub rpath: Vec<String>,
    /// It refers to symbols that only libraries of Open MPI have.
    pub wants_open_mpi: bool,
    /// The MPI that is linked into it. Looked for only in a program that needs no library of MPI.
    pub inside: Option<MpiFamily>,
}

impl Elf {
    /// Fields that cannot be read keep their defaults: then the kernel and the dynamic linker decide.
    pub fn read<'data, R: ReadRef<'data>>(data: R) -> Self {
        let mut found = Self::default();
        let Ok(header) = FileHeader64::<object::Endianness>::parse(data) else {
            return found;
        };
        let Ok(endian) = header.endian() else { return found };
        found.for_our_machine = header.e_machine(endian) == OUR_MACHINE;
        found.executable = matches!(header.e_type(endian), ET_EXEC | ET_DYN);
        let segments = header.program_headers(endian, data).unwrap_or_default();
        let interpreter = segments
            .iter()
            .find_map(|one| one.interpreter(endian, data).ok().flatten());
        found.interpreter = interpreter.map_or_else(String::new, |name| String::from_utf8_lossy(name).into_owned());
        let Ok(sections) = header.sections(endian, data) else {
            return found;
        };
        if let Ok(Some((dynamic, link))) = sections.dynamic(endian, data)
            && let Ok(strings) = sections.strings(endian, data, link)
        {
            found.read_dynamic(endian, dynamic, strings);
            let names = sections.section(link).and_then(|section| section.data(endian, data));
            found.wants_open_mpi = names.is_ok_and(|names| memmem::find(names, b"\0ompi_mpi_comm_world\0").is_some());
        }
        if !found.needed.iter().any(|name| MpiFamily::of_any(name).is_some()) {
            let constants = sections.section_by_name(endian, b".rodata");
            let constants = constants.and_then(|(_, section)| section.data(endian, data).ok());
            found.inside = constants.and_then(linked_in);
        }
        found
    }

    fn read_dynamic<'data, R: ReadRef<'data>>(
        &mut self,
        endian: object::Endianness,
        dynamic: &[elf::Dyn64<object::Endianness>],
        strings: StringTable<'data, R>,
    ) {
        let texts = |tag: u32| {
            let entries = dynamic.iter().filter(move |entry| entry.tag32(endian) == Some(tag));
            let texts = entries.filter_map(|entry| strings.get(entry.val32(endian)?).ok());
            texts.map(|text| String::from_utf8_lossy(text).into_owned())
        };
        self.needed = texts(DT_NEEDED).collect();
        // With a DT_RUNPATH, which comes behind LD_LIBRARY_PATH, the other counts for nothing.
        if texts(DT_RUNPATH).next().is_none() {
            self.rpath = texts(DT_RPATH)
                .flat_map(|path| path.split(':').map(str::to_owned).collect::<Vec<_>>())
                .collect();
        }
    }
}

/// The MPI that these constants of a program belong to.
fn linked_in(constants: &[u8]) -> Option<MpiFamily> {
    let has = |texts: &[&[u8]; 2]| {
        texts.iter().all(|text| {
            let text: Vec<u8> = black_box(text).iter().rev().copied().collect();
            memmem::find(constants, &text).is_some()
        })
    };
    TEXTS.iter().find(|(_, texts)| has(texts)).map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use object::read::ReadCache;

    use super::*;

    #[test]
    fn our_own_headers_can_be_read() {
        let own = File::open(std::env::current_exe().expect("our path")).expect("ourselves");
        let elf = Elf::read(&ReadCache::new(own));
        assert!(elf.for_our_machine && elf.executable && !elf.wants_open_mpi);
        assert!(elf.interpreter.contains("ld-linux"), "{}", elf.interpreter);
        assert!(
            elf.needed.iter().any(|name| name.starts_with("libc.so")),
            "{:?}",
            elf.needed
        );
    }

    #[test]
    fn a_library_inside_is_known_by_two_texts() {
        assert_eq!(linked_in(b"PMI_FD\0 MPIR_CVAR_ABORT\0"), Some(MpiFamily::Mpich));
        assert_eq!(linked_in(b"PMI_FD is not set\0"), None);
        assert_eq!(linked_in(b"ompi_mpi_init\0 OMPI_MCA_"), Some(MpiFamily::OpenMpi));
        assert_eq!(linked_in(b""), None);
    }
}
