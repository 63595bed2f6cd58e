//! Fortran: every program of `tests/fortran` whose first line says `! ranks: 1 2 4`, compiled by our mpifort; calls of every procedure; the wrapper;
//! modules for a second compiler. Without gfortran they count as ignored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use isthmus_tests::{Run, command, folder, prefix, scratch, trial};
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let allowed = allowed();
    let mut trials = vec![
        trial("the_wrapper_shows_what_it_does", Ok(()), shows),
        trial("what_makes_integers_longer_is_refused", Ok(()), refused),
        trial("mpif_h_is_not_for_longer_integers", allowed, long_integers),
        trial("longer_reals_have_their_modules_and_datatypes", allowed, long_reals),
        trial("modules_that_are_missing_are_named_and_made", allowed, other_compiler),
        trial("bad_input_is_told_by_its_procedure_or_returned", allowed, errors),
        trial("no_conversion_has_many_names", allowed, no_conversion),
        trial("pkg_config", Ok(()), pkg_config),
        trial("tools_that_intercept_c_see_fortran", allowed, watched),
        trial("c_and_fortran_in_one_program", allowed, mixed),
    ];
    trials.push(trial("others_modules_are_refused", allowed, others_modules));
    trials.push(trial("every_procedure_in_include", allowed, || {
        every("INCLUDE", &["-DINCLUDE"])
    }));
    trials.push(trial("every_procedure_in_module", allowed, || {
        every("MODULE", &["-DMODULE"])
    }));
    trials.push(trial("every_procedure_in_f08", allowed, || {
        every("F08", &["-DF08", "-DF08 -DLARGE"])
    }));
    for (bytes, ranks) in [("4", "1"), ("4", "2"), ("4", "4"), ("8", "1"), ("8", "4")] {
        let title = format!("global_arrays_with_integers_of_{bytes}_bytes_on_{ranks}");
        let test = move || global_arrays(bytes, ranks).map_err(|error| format!("{error:#}").into());
        let ignored = allowed.is_err();
        trials.push(Trial::test(title, test).with_ignored_flag(ignored));
    }
    trials.push(trial("global_arrays_have_upstreams_names", Ok(()), names_of_arrays));
    match programs() {
        Ok(programs) => trials.extend(programs.into_iter().map(|(source, ranks)| {
            let title = format!("{source} on {ranks}");
            let test = move || run(&source, &ranks).map_err(|error| format!("{error:#}").into());
            match allowed {
                Ok(()) => Trial::test(title, test),
                Err(missing) => Trial::test(title, test).with_kind(missing).with_ignored_flag(true),
            }
        })),
        Err(error) => {
            eprintln!("tests/fortran: {error:#}");
            return ExitCode::FAILURE;
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Is there a compiler?
fn allowed() -> Result<(), &'static str> {
    let gfortran = Command::new("gfortran").arg("--version").output();
    gfortran.map(drop).map_err(|_| "there is no gfortran")
}

/// Sources and numbers of ranks.
fn programs() -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder().join("fortran"))? {
        let path = entry?.path();
        if path.is_dir() {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(ranks) = text.strip_prefix("! ranks:").and_then(|rest| rest.lines().next()) {
            found.extend(ranks.split_whitespace().map(|ranks| (name.clone(), ranks.to_owned())));
        }
    }
    found.sort();
    ensure!(!found.is_empty(), "there is no program");
    Ok(found)
}

/// `tests/fortran/<source>` as a program. Each test compiles its own, which takes no second.
fn compile(source: &str, name: &str) -> Result<PathBuf> {
    let program = scratch("fortran")?.join(name);
    Run::program(command("mpifort"))
        .words("-O1 -g -ffree-line-length-none -o")
        .arg(&program)
        .arg(folder().join("fortran").join(source))
        .succeed()?;
    Ok(program)
}

fn run(source: &str, ranks: &str) -> Result<()> {
    let program = compile(source, &format!("{source}.{ranks}"))?;
    // Some make a file.
    let file = program.with_extension(format!("{ranks}.data"));
    Run::mpiexec("-n")
        .words(ranks)
        .arg(program)
        .arg(file)
        .succeed()
        .map(drop)
}

/// Every procedure of the library is called by `tests/fortran/every` in this form, compiled with each of the `flags`, on 1, 2 and 4 ranks, or is in
/// `not_called.txt` with a reason.
fn every(form: &str, flags: &[&str]) -> Result<()> {
    let mut called = BTreeSet::new();
    for flags in flags {
        let name = format!("every{}", flags.replace(" -D", "-"));
        let program = scratch("fortran")?.join(name);
        let folder = folder().join("fortran/every");
        let mut compile = Run::program(command("mpifort"))
            .words("-cpp -O0 -g -w -ffree-line-length-none")
            .words(flags)
            .arg("-J")
            .arg(scratch(&format!("fortran/modules{}", flags.replace(' ', "")))?)
            .arg("-o")
            .arg(&program);
        for source in families(&folder)? {
            compile = compile.arg(source);
        }
        compile.succeed()?;
        called.extend(symbols(&program, "--undefined-only")?);
        let file = program.with_extension("data");
        for ranks in ["1", "2", "4"] {
            let said = Run::mpiexec("-n").words(ranks).arg(&program).arg(&file).succeed()?.out;
            ensure!(said.contains("right: "), "{form} on {ranks}: {said}");
        }
    }
    let library = prefix().join("lib/libmpifort_abi.so.1");
    let not_called = std::fs::read_to_string(folder().join("fortran/every/not_called.txt"))?;
    let mut excused = BTreeSet::new();
    for line in not_called
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let (names, reason) = line.split_once(": ").context("not_called.txt: `NAME NAME: reason`")?;
        ensure!(!reason.is_empty(), "not_called.txt: {names} without a reason");
        let here = |name: &str| match name.split_once('/') {
            Some((only, name)) => (only == form).then(|| name.to_lowercase()),
            None => Some(name.to_lowercase()),
        };
        excused.extend(names.split_whitespace().filter_map(here));
    }
    let of_form: BTreeSet<String> = symbols(&library, "--defined-only")?
        .into_iter()
        .filter(|symbol| is_of(form, symbol))
        .collect();
    ensure!(of_form.len() > 400, "the library has {} procedures", of_form.len());
    let is_called = |symbol: &String| {
        let twin = match symbol.strip_suffix("_cptr_") {
            Some(name) => format!("{name}_"),
            None => format!("{}_cptr_", symbol.trim_end_matches('_')),
        };
        called.contains(symbol) || form != "F08" && called.contains(&twin)
    };
    let missing: Vec<&String> = of_form
        .iter()
        .filter(|symbol| !is_called(symbol) && !excused.contains(&name_of(symbol)))
        .collect();
    ensure!(missing.is_empty(), "{form}: nothing calls {missing:?}");
    let of_names: BTreeSet<String> = called
        .iter()
        .filter(|symbol| is_of(form, symbol))
        .map(|symbol| name_of(symbol))
        .collect();
    let stale: Vec<&String> = excused.intersection(&of_names).collect();
    ensure!(stale.is_empty(), "{form}: not_called.txt has what is called: {stale:?}");
    Ok(())
}

/// The sources of a program in the order in which they need each other.
fn families(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "F90") {
            found.push(path);
        }
    }
    found.sort_by_key(|path| (!path.ends_with("form.F90"), path.clone()));
    Ok(found)
}

/// The procedures of a program or library that begin with `mpi_`.
fn symbols(file: &Path, which: &str) -> Result<BTreeSet<String>> {
    let said = Run::program("nm").words("-D").arg(which).arg(file).succeed()?.out;
    // Variables are none.
    let is_code = |line: &&str| !line.split_whitespace().any(|word| ["B", "D", "V", "R"].contains(&word));
    let names = said
        .lines()
        .filter(is_code)
        .filter_map(|line| line.split_whitespace().last());
    let names = names.map(|name| name.split('@').next().unwrap_or(name));
    Ok(names
        .filter(|name| name.starts_with("mpi_"))
        .map(str::to_owned)
        .collect())
}

/// Is it what a compiler calls a procedure in this form?
fn is_of(form: &str, symbol: &str) -> bool {
    let is_f08 = symbol.ends_with("_f08_") || symbol.ends_with("_cdesc");
    match form {
        "F08" => is_f08,
        _ => symbol.ends_with('_') && !symbol.ends_with("__") && !symbol.contains("_f08"),
    }
}

/// `mpi_send` of each of its symbols.
fn name_of(symbol: &str) -> String {
    let name = symbol.trim_end_matches('_');
    let name = ["_f08", "_cdesc", "_cptr"]
        .iter()
        .fold(name, |name, suffix| name.trim_end_matches(suffix));
    name.to_owned()
}

/// The interface of Global Arrays, for INTEGERs of so many bytes: mpifort refuses those of 8, which only Global Arrays have.
fn global_arrays(bytes: &str, ranks: &str) -> Result<()> {
    let program = scratch("fortran")?.join(format!("arrays.{bytes}.{ranks}"));
    let (flags, libraries) = match bytes {
        "4" => ("", "-lga_fortran"),
        _ => ("-fdefault-integer-8", "-lga_fortran_i8"),
    };
    let include = format!("-I{}", prefix().join("include").display());
    let lib = prefix().join("lib");
    let needed = Run::program(command("ga-config")).arg("--fflags").succeed()?.out;
    Run::program("gfortran")
        .words("-O1 -g -w -fallow-argument-mismatch -ffree-line-length-none")
        .words(needed.trim())
        .words(flags)
        .arg(include)
        .arg("-o")
        .arg(&program)
        .arg(folder().join("fortran/ga/arrays.F90"))
        .arg(format!("-L{}", lib.display()))
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .words(libraries)
        .words("-lga -larmci -lmpifort_abi -lmpi_abi")
        .succeed()?;
    let said = Run::mpiexec("-n").words(ranks).arg(program).succeed()?.out;
    ensure!(said.contains("right"), "{said}");
    Ok(())
}

/// What upstream's Fortran interface has, in both libraries.
fn names_of_arrays() -> Result<()> {
    let list = std::fs::read_to_string(folder().join("../standard/ga_fortran.txt"))?;
    for library in ["libga_fortran.so", "libga_fortran_i8.so"] {
        let said = Run::program("nm")
            .words("-D --defined-only")
            .arg(prefix().join("lib").join(library))
            .succeed()?
            .out;
        let there: BTreeSet<&str> = said.lines().filter_map(|line| line.split_whitespace().last()).collect();
        let names = list.lines().filter(|line| !line.starts_with('#'));
        let missing: Vec<&str> = names
            .filter(|name| !there.contains(format!("{name}_").as_str()))
            .collect();
        ensure!(there.len() > 500 && missing.is_empty(), "{library} lacks {missing:?}");
    }
    Ok(())
}

/// An option that puts other modules before ours.
fn others_modules() -> Result<()> {
    let folder = scratch("fortran/others")?;
    std::fs::write(folder.join("mpi.mod"), "what another MPI has")?;
    let include = format!("-I{}", folder.display());
    for options in [vec![include.clone()], vec!["-I".into(), folder.display().to_string()]] {
        let mut run = Run::program(command("mpifort")).words("-c a.f90");
        for option in options {
            run = run.arg(option);
        }
        let run = run.finish()?;
        ensure!(
            run.code == Some(1) && run.err.contains("mpi.mod") && run.err.lines().count() == 1,
            "{:?}: {}",
            run.code,
            run.err
        );
    }
    // Ours are no others', nor is what has no modules.
    std::fs::remove_file(folder.join("mpi.mod"))?;
    std::fs::copy(prefix().join("include/mpif.h"), folder.join("mpif.h"))?;
    let source = self::folder().join("fortran/f08.f90");
    let modules = prefix()
        .join("lib/isthmus/fortran")
        .join(env!("CARGO_PKG_VERSION"))
        .join("default");
    Run::program(command("mpifort"))
        .words("-c -o /dev/null")
        .arg(include)
        .arg(format!("-I{}", modules.display()))
        .arg(source)
        .succeed()
        .map(drop)
}

fn shows() -> Result<()> {
    for name in ["mpifort", "mpif90", "mpif77", "mpifort_abi"] {
        for option in ["-show", "-compile-info", "-link-info"] {
            let text = Run::program(command(name))
                .words(option)
                .env("ISTHMUS_FC", "gfortran")
                .succeed()?
                .out;
            for part in [
                format!("-I{}", prefix().join("include").display()),
                format!("-L{}", prefix().join("lib").display()),
                "-lmpifort_abi -lmpi_abi".into(),
                format!("lib/isthmus/fortran/{}/", env!("CARGO_PKG_VERSION")),
            ] {
                ensure!(
                    text.starts_with("gfortran ") && text.contains(&part),
                    "{name} {option} lacks {part}: {text}"
                );
            }
        }
    }
    let text = Run::program(command("mpifort"))
        .words("-fc=flang -show a.f90")
        .succeed()?
        .out;
    ensure!(text.starts_with("flang a.f90 "), "{text}");
    Ok(())
}

fn refused() -> Result<()> {
    for (option, wanted) in [
        ("-fdefault-integer-8", "INTEGER has"),
        ("-i8", "INTEGER has"),
        ("-finteger-4-integer-8", "INTEGER has"),
        ("-integer-size 64", "INTEGER has"),
        ("-freal-4-real-8", "REAL has"),
        ("-fdefault-real-16", "REAL has"),
        ("-real-size 128", "REAL has"),
    ] {
        for compile in [
            Run::program(command("mpifort")).words(option),
            Run::program(command("mpifort")).env("ISTHMUS_FC", format!("gfortran {option}")),
        ] {
            let run = compile.words("-c a.f90").finish()?;
            ensure!(
                run.code == Some(1)
                    && run.err.lines().count() == 1
                    && run.err.contains(option)
                    && run.err.contains(wanted),
                "{option}: {:?}: {}",
                run.code,
                run.err
            );
        }
    }
    let shown = Run::program(command("mpifort"))
        .words("-fc=ifx -show -integer-size 32 -real-size 64 a.f90")
        .succeed()?
        .out;
    ensure!(
        shown.starts_with("ifx -integer-size 32 -real-size 64 a.f90 "),
        "{shown}"
    );
    Ok(())
}

/// A compiler that is called without mpifort does not take mpif.h with longer INTEGERs, and shows why.
fn long_integers() -> Result<()> {
    let include = format!("-I{}", prefix().join("include").display());
    let run = Run::program("gfortran")
        .words("-fdefault-integer-8 -w -c -o /dev/null")
        .arg(include)
        .arg(folder().join("fortran/include.f"))
        .finish()?;
    ensure!(
        run.code != Some(0) && run.err.contains("mpif.h") && run.err.contains("Division by zero"),
        "{:?}: {}",
        run.code,
        run.err
    );
    Ok(())
}

/// REALs of 8 bytes, and DOUBLE PRECISION of 8 or 16: modules are made by the command that mpifort tells, and datatypes are of as many bytes.
fn long_reals() -> Result<()> {
    let all = prefix().join("lib/isthmus/fortran").join(env!("CARGO_PKG_VERSION"));
    let default = std::fs::read_link(all.join("default")).context("no modules by default")?;
    for options in ["-fdefault-real-8", "-fdefault-real-8 -fdefault-double-8"] {
        let suffix = if options.contains("double") { "-r8-d8" } else { "-r8" };
        let made = all.join(format!("{}{suffix}", default.display()));
        // There may be those of a run before.
        let _ = std::fs::remove_dir_all(&made);
        for form in ["INCLUDE", "MODULE", "F08"] {
            let program = scratch("fortran")?.join(format!("long_reals-{form}{suffix}"));
            let modules = scratch(&format!("fortran/long_reals-{form}{suffix}-modules"))?;
            let folder = folder().join("fortran");
            let compile = || {
                Run::program(command("mpifort"))
                    .words("-cpp -g -w -ffree-line-length-none")
                    .words(options)
                    .arg(format!("-D{form}"))
                    .arg("-J")
                    .arg(&modules)
                    .arg("-o")
                    .arg(&program)
                    .arg(folder.join("every/form.F90"))
                    .arg(folder.join("long_reals.F90"))
            };
            if form == "MODULE" {
                let failed = compile().finish()?;
                let cure = format!("isthmus fortran --fc 'gfortran {options}'");
                ensure!(
                    failed.code != Some(0) && failed.err.contains(&cure),
                    "no word of {cure}: {}",
                    failed.err
                );
                Run::program(command("isthmus"))
                    .words("fortran --fc")
                    .arg(format!("gfortran {options}"))
                    .succeed()?;
            }
            compile().succeed()?;
            for ranks in ["1", "3"] {
                let said = Run::mpiexec("-n").words(ranks).arg(&program).succeed()?.out;
                ensure!(said.contains("right"), "{form}, {options}: {said}");
            }
        }
        std::fs::remove_dir_all(&made).with_context(|| format!("no modules in {}", made.display()))?;
    }
    let now = std::fs::read_link(all.join("default"))?;
    ensure!(
        now == default,
        "modules for longer REALs are the default: {}",
        now.display()
    );
    Ok(())
}

/// A compiler of another version, as far as its name for itself goes.
fn other_compiler() -> Result<()> {
    let other = scratch("fortran")?.join("other-gfortran");
    let version = format!("another Fortran {}", std::process::id());
    let text = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{version}' && exit\nexec gfortran \"$@\"\n");
    std::fs::write(&other, text)?;
    Run::program("chmod").words("+x").arg(&other).succeed()?;
    let name = other.display().to_string();
    let all = prefix().join("lib/isthmus/fortran").join(env!("CARGO_PKG_VERSION"));
    let folder_of = all.join(version.replace(' ', "-"));
    let default = std::fs::read_link(all.join("default")).context("no modules by default")?;
    let compile = |program: &str| {
        Run::program(command("mpifort"))
            .env("ISTHMUS_FC", &name)
            .words("-o")
            .arg(scratch("fortran").unwrap_or_default().join("other"))
            .arg(folder().join("fortran").join(program))
    };
    let failed = compile("f08.f90").finish()?;
    let cure = format!("isthmus fortran --fc '{name}'");
    ensure!(
        failed.code != Some(0) && failed.err.contains(&cure),
        "no word of {cure}: {}",
        failed.err
    );
    // An error about something else is not about modules.
    let wrong = scratch("fortran")?.join("wrong.f90");
    std::fs::write(&wrong, "program wrong\n  call\nend program\n")?;
    let failed = Run::program(command("mpifort"))
        .env("ISTHMUS_FC", &name)
        .words("-c -o /dev/null")
        .arg(&wrong)
        .finish()?;
    ensure!(
        failed.code != Some(0) && failed.err.contains("wrong.f90") && !failed.err.contains("isthmus fortran"),
        "an error of the program: {:?}: {}",
        failed.code,
        failed.err
    );
    Run::program(command("isthmus"))
        .words("fortran --fc")
        .arg(&name)
        .succeed()?;
    let compiled = compile("f08.f90").succeed();
    let newest = std::fs::read_link(all.join("default"))?;
    let link = all.join("default.before");
    std::os::unix::fs::symlink(&default, &link)?;
    std::fs::rename(&link, all.join("default"))?;
    ensure!(folder_of.ends_with(&newest), "by default: {}", newest.display());
    std::fs::remove_dir_all(&folder_of).with_context(|| format!("no modules in {}", folder_of.display()))?;
    compiled.map(drop)
}

/// Bad input in each form: one line with the name of the procedure ends the job; where the program has set MPI_ERRORS_RETURN, it goes on, with `ierror` or
/// without (mpi_f08).
fn errors() -> Result<()> {
    for form in ["INCLUDE", "MODULE", "F08"] {
        let program = scratch("fortran")?.join(format!("bad_input-{form}"));
        let folder = folder().join("fortran");
        Run::program(command("mpifort"))
            .words("-cpp -g -w -ffree-line-length-none")
            .arg(format!("-D{form}"))
            .arg("-J")
            .arg(scratch(&format!("fortran/bad_input-{form}-modules"))?)
            .arg("-o")
            .arg(&program)
            .arg(folder.join("every/form.F90"))
            .arg(folder.join("bad_input.F90"))
            .succeed()?;
        for (kind, procedure, wanted) in [
            ("handle", "MPI_Send", "comm"),
            ("request", "MPI_Wait", "request"),
            ("count", "MPI_Bcast", "count"),
            ("truncated", "MPI_Recv", "longer than the buffer"),
        ] {
            let run = Run::mpiexec("-n 1").arg(&program).arg(kind).finish()?;
            let line = run
                .err
                .lines()
                .find(|line| line.contains(procedure))
                .unwrap_or_default();
            ensure!(
                run.code != Some(0) && line.contains(wanted) && !run.out.contains("it went on"),
                "{form}, {kind}: {:?}: {}{}",
                run.code,
                run.out,
                run.err
            );
            let run = Run::mpiexec("-n 1").arg(&program).arg(kind).arg("return").finish()?;
            ensure!(
                run.out.contains("it went on"),
                "{form}, {kind}, returned: {:?}: {}{}",
                run.code,
                run.out,
                run.err
            );
        }
    }
    Ok(())
}

/// Callbacks of MPI's own are known by all of their names.
fn no_conversion() -> Result<()> {
    let program = scratch("fortran")?.join("no_conversion");
    Run::program(command("mpifort"))
        .words("-O1 -fno-pie -no-pie -o")
        .arg(&program)
        .arg(folder().join("fortran/no_conversion.f90"))
        .succeed()?;
    let file = scratch("fortran")?.join("no_conversion.data");
    Run::mpiexec("-n 1").arg(program).arg(file).succeed().map(drop)
}

/// A tool that intercepts procedures of C sees calls of each form.
fn watched() -> Result<()> {
    let sources = folder().join("fortran/mixed");
    let tool = scratch("fortran")?.join("tool.so");
    Run::program(command("mpicc"))
        .words("-shared -fPIC -o")
        .arg(&tool)
        .arg(sources.join("tool.c"))
        .succeed()?;
    for form in ["INCLUDE", "MODULE", "F08"] {
        let program = scratch("fortran")?.join(format!("watched-{form}"));
        Run::program(command("mpifort"))
            .words("-cpp -g -w -ffree-line-length-none")
            .arg(format!("-D{form}"))
            .arg("-J")
            .arg(scratch(&format!("fortran/watched-{form}-modules"))?)
            .arg("-o")
            .arg(&program)
            .arg(sources.join("../every/form.F90"))
            .arg(sources.join("watched.F90"))
            .succeed()?;
        let said = Run::mpiexec("-n 1")
            .arg(program)
            .env("LD_PRELOAD", tool.display().to_string())
            .succeed()?
            .out;
        ensure!(
            said.contains("the tool saw 2 sends, 1 broadcasts, 3 barriers"),
            "{form}: {said}"
        );
    }
    Ok(())
}

/// C and Fortran in one program, whichever has the main program.
fn mixed() -> Result<()> {
    let sources = folder().join("fortran/mixed");
    let object = |compiler: &str, source: &str, name: &str, flags: &str| -> Result<PathBuf> {
        let object = scratch("fortran")?.join(name);
        Run::program(command(compiler))
            .words(flags)
            .words("-g -c -o")
            .arg(&object)
            .arg(sources.join(source))
            .succeed()?;
        Ok(object)
    };
    let parts = [
        ("mpicc", "-lmpifort_abi -lgfortran", "-DC_MAIN", ""),
        ("mpifort", "", "", "-DFORTRAN_MAIN"),
    ];
    for (linker, libraries, of_c, of_fortran) in parts {
        let program = scratch("fortran")?.join(format!("mixed-{linker}"));
        Run::program(command(linker))
            .words("-o")
            .arg(&program)
            .arg(object("mpicc", "mixed.c", &format!("{linker}.c.o"), of_c)?)
            .arg(object("mpifort", "mixed.F90", &format!("{linker}.f.o"), of_fortran)?)
            .words(libraries)
            .succeed()?;
        let said = Run::mpiexec("-n 1").arg(program).succeed()?.out;
        ensure!(said.contains("right"), "the main program by {linker}: {said}");
    }
    Ok(())
}

fn pkg_config() -> Result<()> {
    for name in ["isthmus-fortran", "mpi-fort"] {
        let text = Run::program("pkg-config")
            .words("--cflags --libs")
            .arg(name)
            .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"))
            .succeed()?
            .out;
        ensure!(
            text.contains("-lmpifort_abi") && text.contains(concat!("fortran/", env!("CARGO_PKG_VERSION"), "/default")),
            "{text}"
        );
    }
    Ok(())
}
