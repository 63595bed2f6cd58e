//! Memory of other processes.

use super::*;

/// The other process of the tests of exports: it exports memory and writes how, on one line for each line that it reads.
#[test]
fn helper_that_exports() {
    let Some(kind) = std::env::var_os("ISTHMUS_MEM_EXPORTER") else {
        return;
    };
    let is_mapped = kind == "mapped";
    let allocate = if is_mapped { allocate_mapped } else { allocate };
    let free = if is_mapped { free_mapped } else { free };
    start();
    context(0);
    let mut at = allocate(100_000);
    let mut input = BufReader::new(std::io::stdin());
    let mut rounds = 0;
    loop {
        seen(at, 100_000).copy_from_slice(&noise(100_000, 11));
        let export = mem::export(at.wrapping_add(1000)).expect("an export");
        assert_eq!(mem::export(at.wrapping_add(1000)), Some(export));
        assert!(mem::export(allocate_of_pool(10)).is_none());
        assert!(mem::export(allocate_managed(10)).is_none());
        // In this process, it is the memory itself.
        let own = mem::map(1, &export).expect("its own export");
        assert_eq!(own.start(), at.wrapping_add(1000));
        // SAFETY: an export is plain data.
        let bytes = unsafe { std::mem::transmute::<Export, [u8; size_of::<Export>()]>(export) };
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("\nexport {text}");
        std::io::stdout().flush().expect("output");
        let mut line = String::new();
        if input.read_line(&mut line).expect("input") == 0 {
            return;
        }
        let first = seen(at, 1001)[1000];
        println!("\nwritten {first}");
        // Freed, and allocated again at the same addresses; the second time elsewhere.
        free(at);
        let other = rounds > 0;
        rounds += 1;
        let between = allocate(if other { 10 } else { 4 << 20 });
        let again = allocate(100_000);
        assert_eq!(again == at, !other);
        if !other {
            free(between);
        }
        at = again;
    }
}

fn read_export(lines: &mut impl BufRead) -> Export {
    let mut line = String::new();
    while !line.starts_with("export ") {
        line.clear();
        assert!(lines.read_line(&mut line).expect("the exporter's output") > 0);
    }
    let text = line.trim_end().strip_prefix("export ").expect("an export");
    let mut bytes = [0_u8; size_of::<Export>()];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("a hexadecimal number");
    }
    // SAFETY: an export is plain data.
    unsafe { std::mem::transmute::<[u8; size_of::<Export>()], Export>(bytes) }
}

#[test]
fn another_process_reaches_what_is_exported() {
    let name = "exports::another_process_reaches_what_is_exported";
    if alone(name, &[("ISTHMUS_TEST_DEVICES", "2")]) {
        reach("device", "cuIpcOpenMemHandle");
    }
}

#[test]
fn another_process_reaches_memory_that_has_a_descriptor() {
    let name = "exports::another_process_reaches_memory_that_has_a_descriptor";
    if alone(name, &[("ISTHMUS_TEST_DEVICES", "2")]) {
        reach("mapped", "cuMemImportFromShareableHandle");
    }
}

/// Memory of this kind, which the driver opens by this procedure.
fn reach(kind: &str, opens: &str) {
    start();
    let mut exporter = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "exports::helper_that_exports", "--nocapture"])
        .env("ISTHMUS_MEM_EXPORTER", kind)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut input = exporter.stdin.take().expect("its input");
    let mut output = BufReader::new(exporter.stdout.take().expect("its output"));
    let export = read_export(&mut output);
    // A process that uses no device is given no context.
    assert!(mem::map(5, &export).is_none());
    context(0);
    let mapped = mem::map(5, &export).expect("a mapping");
    assert_eq!(mem::kind_of(mapped.start()), Ok(Kind::Device(Device(0))));
    assert_eq!(mem::map(6, &export).map(|mapped| mapped.start()), Some(mapped.start()));
    assert_eq!(calls(opens), 1);
    let (mut got, local) = (vec![0_u8; 99_000], allocate(99_000));
    // SAFETY: the export has as many bytes.
    unsafe {
        mem::copy(got.as_mut_ptr(), mapped.start(), 99_000).expect("a copy");
        assert!(got == noise(100_000, 11)[1000..]);
        mem::copy(local, mapped.start(), 99_000).expect("a copy");
        assert!(seen(local, 99_000) == got);
        mem::copy(mapped.start(), [77_u8].as_ptr(), 1).expect("a copy");
        mem::combine(Op::Sum, Number::U8, Device(0), local, mapped.start(), local, 1).expect("a sum");
    }
    assert_eq!(seen(local, 1)[0], 77_u8.wrapping_add(got[0]));
    // Lies of a peer are refused.
    for lie in [
        Export {
            size: 1 << 40,
            buffer: 99,
            ..export
        },
        Export {
            offset: export.size + 1,
            ..export
        },
        Export {
            handle: [3; 64],
            ..export
        },
    ] {
        assert!(mem::map(5, &lie).is_none(), "{lie:?}");
    }
    input.write_all(b"\n").expect("input");
    let mut line = String::new();
    while !line.starts_with("written") {
        line.clear();
        output.read_line(&mut line).expect("the exporter's output");
    }
    assert_eq!(line.trim_end(), "written 77");
    // Another allocation at the same place: the old mapping is closed as soon as nobody uses it.
    let second = read_export(&mut output);
    assert!(second.base == export.base && second.buffer != export.buffer);
    let other = mem::map(5, &second).expect("a mapping");
    assert_ne!(other.start(), mapped.start());
    // SAFETY: the export has as many bytes.
    unsafe { mem::copy(got.as_mut_ptr(), other.start(), 10).expect("a copy") };
    assert!(got[..10] == noise(100_000, 11)[1000..1010]);
    mem::forget(6);
    assert_eq!(mem::counts().closes, 0);
    drop(mapped);
    assert_eq!(mem::counts().closes, 1);
    drop(other);
    assert_eq!(mem::counts().closes, 1);
    // Freed, and nothing of the peer overlaps it: its next export says so.
    input.write_all(b"\n").expect("input");
    let third = read_export(&mut output);
    assert!(third.base != second.base && third.freed.contains(&second.buffer));
    let last = mem::map(5, &third).expect("a mapping");
    assert_eq!(mem::counts().closes, 2);
    mem::forget(5);
    assert_eq!(mem::counts().closes, 2);
    drop(last);
    assert_eq!(mem::counts().closes, 3);
    assert_eq!(call!("cuda_opened" () -> c_long), 0);
    // A process that is gone.
    exporter.kill().expect("a signal");
    exporter.wait().expect("its end");
    assert!(mem::map(5, &third).is_none());
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("the end");
}
