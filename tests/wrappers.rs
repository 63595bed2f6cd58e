//! The compiler wrappers, and a prefix that moves.

use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Result, ensure};
use isthmus_tests::{Run, command, folder, prefix, scratch};

const COMPILERS: [&str; 5] = ["mpicc", "mpicc_abi", "mpicxx", "mpicxx_abi", "mpic++"];

/// The examples of each model run on several ranks, and check what they compute.
#[test]
fn examples_of_all_models_run() -> Result<()> {
    let sources = folder().join("../examples");
    for (name, compiler, libraries, ranks, says) in [
        ("window", "mpicc", "", "3", "60000 samples, 60000 counted"),
        ("armci", "mpicc", "-larmci", "3", "96 rows checked, 0 elements wrong"),
        (
            "shmem",
            "oshcc",
            "-lm",
            "4",
            "256 points, 256 steps on 4 processing elements: off by",
        ),
        ("arrays", "mpicc", "-lga -larmci", "3", "64 tasks, 0 elements wrong"),
        ("heat", "mpicc", "-lm", "2", ""),
    ] {
        let program = scratch("examples")?.join(name);
        let compile = Run::program(command(compiler))
            .words("-O2 -Wall -Werror -o")
            .arg(&program);
        compile
            .arg(sources.join(name).with_extension("c"))
            .words(libraries)
            .succeed()?;
        let run = Run::mpiexec(&format!("-n {ranks}"))
            .arg(&program)
            .directory(scratch("examples")?);
        let run = run.succeed()?;
        ensure!(run.out.contains(says), "{name}: {}{}", run.out, run.err);
    }
    Ok(())
}

#[test]
fn they_show_what_they_do() -> Result<()> {
    let (include, lib) = (prefix().join("include"), prefix().join("lib"));
    for name in COMPILERS {
        for option in ["-show", "-compile-info", "-link-info", "-compile_info", "-link_info"] {
            let text = Run::program(command(name)).words(option).succeed()?.out;
            let compiler = if name.starts_with("mpicc") { "cc " } else { "c++ " };
            assert!(text.starts_with(compiler), "{name} {option}: {text}");
            for part in [
                format!("-I{}", include.display()),
                format!("-L{}", lib.display()),
                "-lmpi_abi".into(),
            ] {
                assert!(text.contains(&part), "{name} {option} lacks {part}: {text}");
            }
        }
        let text = Run::program(command(name)).words("-show -c a.c").succeed()?.out;
        assert!(text.contains("-c a.c") && !text.contains("-lmpi"), "{name}: {text}");
        let version = Run::program(command(name)).words("--version").succeed()?.out;
        let plain = Run::program(if name.starts_with("mpicc") { "cc" } else { "c++" })
            .words("--version")
            .succeed()?
            .out;
        assert_eq!(version, plain, "{name} --version is the compiler's");
        assert!(
            Run::program(command(name))
                .words("-v")
                .succeed()?
                .out
                .contains("Isthmus version"),
            "{name} -v"
        );
    }
    Ok(())
}

#[test]
fn they_take_other_compilers() -> Result<()> {
    for (name, variable) in [
        ("mpicc", "ISTHMUS_CC"),
        ("mpicc", "MPICH_CC"),
        ("mpicc", "OMPI_CC"),
        ("mpicxx", "MPICH_CXX"),
    ] {
        let text = Run::program(command(name))
            .words("-show a.c")
            .env(variable, "ccache gcc-99")
            .succeed()?
            .out;
        assert!(text.starts_with("ccache gcc-99 a.c "), "{variable}: {text}");
    }
    assert!(
        Run::program(command("mpicc"))
            .words("-cc=clang -show")
            .succeed()?
            .out
            .starts_with("clang ")
    );
    assert!(
        Run::program(command("mpicxx"))
            .words("-cxx=clang++ -show")
            .succeed()?
            .out
            .starts_with("clang++ ")
    );
    Ok(())
}

#[test]
fn wrong_calls_are_one_line() -> Result<()> {
    let mpicc = || Run::program(command("mpicc"));
    for (run, code, wanted) in [
        (mpicc().words("-cc=no-such-compiler a.c"), 127, "no-such-compiler"),
        (mpicc().words("a.c").env("ISTHMUS_CC", command("mpicc")), 1, "itself"),
        (mpicc(), 1, "-help"),
        (mpicc().words("-abi=cray a.c"), 1, "standard, mpich and openmpi"),
    ] {
        let run = run.finish()?;
        assert_eq!((run.code, run.err.lines().count()), (Some(code), 1), "{}", run.err);
        assert!(
            run.err.starts_with("mpicc: ") && run.err.contains(wanted),
            "{}",
            run.err
        );
    }
    Ok(())
}

#[test]
fn arguments_stay_whole() -> Result<()> {
    let folder = scratch("a folder with blanks")?;
    let source = folder.join("the program.c");
    let program = folder.join("the program");
    std::fs::write(
        &source,
        "#include <mpi.h>\n#include <stdio.h>\nint main(void) { puts(TEXT); return 0; }\n",
    )?;
    let run = Run::program(command("mpicc"))
        .arg("-DTEXT=\"two  words * $HOME\"")
        .arg("-o")
        .arg(&program)
        .arg(&source);
    run.succeed()?;
    assert_eq!(
        Run::mpiexec("-n 1").arg(&program).succeed()?.out,
        "two  words * $HOME\n"
    );
    Ok(())
}

#[test]
fn cxx() -> Result<()> {
    let folder = scratch("wrappers")?;
    let (source, program) = (folder.join("hello.cpp"), folder.join("hello"));
    std::fs::write(
        &source,
        "#include <mpi.h>\n#include <iostream>\nint main() { MPI_Init(nullptr, nullptr); int n = 0; \
         MPI_Comm_size(MPI_COMM_WORLD, &n); std::cout << n << std::endl; return MPI_Finalize(); }\n",
    )?;
    Run::program(command("mpicxx"))
        .words("-Wall -Werror -o")
        .arg(&program)
        .arg(&source)
        .succeed()?;
    assert_eq!(Run::mpiexec("-n 2").arg(&program).succeed()?.out, "2\n2\n");
    Ok(())
}

/// A program for each ABI asks the library of that ABI by its soname, in C and C++, and runs on ours; what is in its data is an address.
#[test]
fn each_abi_compiles_links_and_runs() -> Result<()> {
    let source = folder().join("abi/each_abi.c");
    for (abi, soname, version) in [
        ("standard", "libmpi_abi.so.1", "Isthmus "),
        ("mpich", "libmpi.so.12", "MPICH Version:"),
        ("openmpi", "libmpi.so.40", "Open MPI v4."),
    ] {
        for (name, language, place) in [
            ("mpicc", "c", "-fPIE -pie"),
            ("mpicc", "c", "-fno-pie -no-pie"),
            ("mpicxx", "c++", "-fPIE -pie"),
        ] {
            let program = scratch("abi")?.join(format!("{abi}-{language}"));
            Run::program(command(name))
                .words(&format!("-abi={abi} {place} -Wall -Wextra -Werror -x {language}"))
                .arg(&source)
                .words("-o")
                .arg(&program)
                .succeed()?;
            let needed = Run::program("readelf").words("-d").arg(&program).succeed()?.out;
            ensure!(needed.contains(&format!("[{soname}]")), "{abi}: {needed}");
            let run = Run::mpiexec("-n 2").arg(&program).succeed()?;
            ensure!(run.out.contains(version), "{abi}: {}{}", run.out, run.err);
        }
        let by_variable = Run::program(command("mpicc"))
            .words("-show a.c")
            .env("ISTHMUS_ABI", abi);
        let by_option = Run::program(command("mpicc")).words(&format!("-abi={abi} -show a.c"));
        assert_eq!(by_variable.succeed()?.out, by_option.succeed()?.out);
    }
    let compile = Run::program(command("mpicc"))
        .words("-abi=openmpi --showme:compile")
        .succeed()?;
    assert!(compile.out.contains("include/isthmus/openmpi "), "{}", compile.out);
    Ok(())
}

/// Debian's Fortran and C++ libraries of MPICH, where they are: the loader finds all that they take, in ours.
#[test]
fn libraries_of_mpich_find_all_that_they_take() -> Result<()> {
    for name in ["libmpichfort.so.12", "libmpichcxx.so.12"] {
        let library = Path::new("/usr/lib/x86_64-linux-gnu").join(name);
        if !library.exists() {
            continue;
        }
        let loaded = Run::mpiexec("-n 1 env LD_BIND_NOW=1")
            .arg(format!("LD_PRELOAD={}", library.display()))
            .words("cat /proc/self/maps")
            .succeed()?;
        let ours = prefix().canonicalize()?.join("lib").display().to_string();
        ensure!(
            loaded.err.is_empty() && loaded.out.contains(name) && loaded.out.contains(&ours),
            "{name}: {}{}",
            loaded.out,
            loaded.err
        );
    }
    Ok(())
}

/// The whole installation, copied to another place, with blanks in its name, and called by symbolic links.
#[test]
fn the_prefix_may_be_moved() -> Result<()> {
    let moved = scratch("moved")?.join("pre fix");
    let _ = std::fs::remove_dir_all(&moved); // From the last time.
    Run::program("cp").words("-a").arg(prefix()).arg(&moved).succeed()?;
    let elsewhere = scratch("moved")?.join("links");
    std::fs::create_dir_all(&elsewhere)?;
    for name in ["mpicc", "mpiexec"] {
        let link = elsewhere.join(name);
        let _ = std::fs::remove_file(&link); // From the last time.
        symlink(moved.join("bin").join(name), &link)?;
    }
    let program = scratch("moved")?.join("attributes");
    let source = folder().join("programs/attributes.c");
    Run::program(elsewhere.join("mpicc"))
        .arg("-o")
        .arg(&program)
        .arg(source)
        .succeed()?;
    Run::program(elsewhere.join("mpiexec"))
        .words("-n 2")
        .arg(&program)
        .succeed()?;
    loaded_from(&program, &moved)?;
    std::fs::remove_dir_all(moved)?;
    Ok(())
}

fn loaded_from(program: &Path, prefix: &Path) -> Result<()> {
    let libraries = Run::program("ldd").arg(program).succeed()?.out;
    let wanted = prefix.join("lib/libmpi_abi.so.1").display().to_string();
    ensure!(libraries.contains(&wanted), "{libraries}");
    Ok(())
}

#[test]
fn pkg_config() -> Result<()> {
    let path = prefix().join("lib/pkgconfig");
    for name in ["isthmus", "mpi"] {
        let text = Run::program("pkg-config")
            .words("--cflags --libs")
            .arg(name)
            .env("PKG_CONFIG_PATH", &path)
            .succeed()?
            .out;
        assert!(text.contains("-lmpi_abi") && text.contains("-I"), "{text}");
    }
    Ok(())
}
