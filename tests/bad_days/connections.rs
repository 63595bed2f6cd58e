//! Connections from processes outside a job, and more of them than there are descriptors.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use isthmus_engine::control::Nonce;
use isthmus_tests::{Run, Running, children, command, compile, cpu_time, job_socket, scratch, signal, within};

/// Twenty processes of another user that connect to an abstract socket and close, for half a minute.
fn flood(socket: &str) -> Result<Vec<Running>> {
    let flood = |_| {
        let flood = Run::program(compile("deny")?)
            .arg("user")
            .arg(compile("idle_connections")?);
        flood.arg(socket.trim_start_matches('@')).words("flood 30").start()
    };
    let floods = (0..20).map(flood).collect();
    std::thread::sleep(Duration::from_millis(300));
    floods
}

/// The ranks that an mpiexec has started.
fn ranks(mpiexec: u32) -> Vec<u32> {
    let mut all = children(mpiexec);
    all.retain(|rank| job_socket(*rank).is_some());
    all
}

/// Any user may connect to mpiexec's socket, and do nothing else: signals, time limits and deaths are attended to.
pub fn a_flood_of_connections_stops_nothing() -> Result<()> {
    for (what, timeout, code) in [
        ("a time limit", "1.5", 124),
        ("a killed rank", "60", 137),
        ("signals", "60", 143),
    ] {
        let running = Run::mpiexec("--timeout")
            .arg(timeout)
            .words("-n 2")
            .arg(compile("act")?)
            .words("-1 none")
            .limit(Duration::from_secs(20))
            .start()?;
        within(Duration::from_secs(5), "two ranks", || ranks(running.pid()).len() == 2)?;
        let rank = ranks(running.pid()).pop().context("a rank")?;
        let floods = flood(&job_socket(rank).context("its socket")?)?;
        match what {
            "a killed rank" => signal(rank, "KILL"),
            "signals" => {
                signal(running.pid(), "USR1");
                std::thread::sleep(Duration::from_millis(300));
                signal(running.pid(), "TERM");
            }
            _ => {}
        }
        let run = running.finish()?;
        drop(floods);
        ensure!(run.code == Some(code), "{what}: {:?}\n{}", run.code, run.err);
        ensure!(
            what != "signals" || run.err.contains("MPI_Recv"),
            "SIGUSR1 is not answered: {}",
            run.err
        );
    }
    Ok(())
}

/// The same of the socket of the agent, whose ranks another launcher has started: they join, end and die as without other connections.
pub fn a_flood_of_connections_stops_no_agent() -> Result<()> {
    let said = scratch("agent")?.join("nonce");
    for (program, words, dies) in [("collectives", "", false), ("act", "-1 none", true)] {
        let _ = std::fs::remove_file(&said);
        let agent = Run::program("sh").arg("-c").arg("exec \"$0\" \"$1\" 3 > \"$2\"");
        let agent = agent.arg(command("mpiexec")).arg("--agent").arg(&said).start()?;
        let nonce = || std::fs::read_to_string(&said).unwrap_or_default();
        within(Duration::from_secs(5), "the job's nonce", || nonce().ends_with('\n'))?;
        let nonce = nonce();
        let socket = Nonce::parse(nonce.trim()).context("a nonce")?.socket_name(0);
        let floods = flood(&socket)?;
        let rank_process = |rank: u32| {
            let rank_process = Run::program(compile(program)?).words(words);
            let rank_process = rank_process.env("ISTHMUS_JOB", nonce.trim()).env("ISTHMUS_NODE", "0");
            rank_process
                .env("ISTHMUS_RANK", rank.to_string())
                .env("ISTHMUS_SIZE", "3")
                .start()
        };
        let ranks = (0..3).map(rank_process).collect::<Result<Vec<Running>>>()?;
        if dies {
            let has_joined = |rank_process: &Running| {
                let maps = std::fs::read_to_string(format!("/proc/{}/maps", rank_process.pid()));
                maps.is_ok_and(|maps| maps.contains("/memfd:isthmus"))
            };
            within(Duration::from_secs(20), "three ranks that have joined", || {
                ranks.iter().all(has_joined)
            })?;
            signal(ranks[1].pid(), "KILL");
        }
        for (rank, rank_process) in ranks.into_iter().enumerate() {
            let run = rank_process.finish()?;
            ensure!(
                (run.code == Some(0)) != dies,
                "rank {rank} of {program}: {:?} {}",
                run.code,
                run.err
            );
        }
        let run = agent.finish()?;
        drop(floods);
        let says = run.err.contains("ended without calling MPI_Finalize; ending the job");
        ensure!(
            run.code == Some(dies.into()) && says == dies,
            "{program}: {:?} {}",
            run.code,
            run.err
        );
    }
    Ok(())
}

/// The process gets no more descriptors than it has.
fn take_descriptors(pid: u32) -> Result<()> {
    let is_free = |number: &u32| !Path::new(&format!("/proc/{pid}/fd/{number}")).exists();
    let first = (0..).find(is_free).context("a number")?;
    limit_descriptors(pid, first)
}

fn limit_descriptors(pid: u32, limit: u32) -> Result<()> {
    let prlimit = Run::program("prlimit").words(&format!("--pid {pid} --nofile={limit}:"));
    prlimit.succeed().map(drop)
}

/// What the process uses of a CPU while connections wait that it cannot take: of two seconds a tenth at most. One that polls for them uses all.
fn uses_little(pid: u32) -> Result<()> {
    let time = || cpu_time(pid).context("its process");
    let before = time()?;
    std::thread::sleep(Duration::from_secs(2));
    let used = time()?.saturating_sub(before);
    ensure!(used <= Duration::from_millis(200), "{used:?} of CPU time in 2 s");
    Ok(())
}

/// Where mpiexec has no descriptor left connections wait, and so does it; ranks join once there is one.
pub fn without_descriptors_mpiexec_waits() -> Result<()> {
    let go = scratch("descriptors")?.join("go");
    let _ = std::fs::remove_file(&go);
    let script = format!(
        "while [ ! -e {} ]; do sleep 0.05; done; exec {}",
        go.display(),
        compile("collectives")?.display()
    );
    let running = Run::mpiexec("-n 2 sh -c").arg(script).start()?;
    within(Duration::from_secs(5), "two ranks", || ranks(running.pid()).len() >= 2)?;
    let socket = job_socket(ranks(running.pid())[0]).context("its socket")?;
    take_descriptors(running.pid())?;
    let silent = Run::program(compile("idle_connections")?);
    let _silent = silent.arg(socket.trim_start_matches('@')).words("5 20").start()?;
    uses_little(running.pid())?;
    // The ranks connect now, and wait behind the silent ones.
    std::fs::write(&go, "")?;
    std::thread::sleep(Duration::from_millis(300));
    limit_descriptors(running.pid(), 1024)?;
    let run = running.finish()?;
    ensure!(run.code == Some(0), "{:?} {}", run.code, run.err);
    Ok(())
}

/// The same of the port where daemons are awaited.
pub fn without_descriptors_a_head_waits() -> Result<()> {
    let (running, address, go) = awaited("full")?;
    take_descriptors(running.pid())?;
    let silent: Vec<_> = (0..5).map(|_| std::net::TcpStream::connect(address)).collect();
    uses_little(running.pid())?;
    std::fs::write(&go, "")?;
    std::thread::sleep(Duration::from_millis(300));
    limit_descriptors(running.pid(), 1024)?;
    let run = running.finish()?;
    drop(silent);
    ensure!(
        run.code == Some(0) && run.out == "here\n",
        "{:?} {}{}",
        run.code,
        run.out,
        run.err
    );
    Ok(())
}

/// A job on a made-up host, which is this machine: what `--launcher` names is this script, which sees the daemon's arguments
/// (`NODE@PORT@ADDRESSES`) in `$3`.
fn on_a_host(name: &str, script: &str) -> Result<Run> {
    use std::os::unix::fs::PermissionsExt;
    let launcher = scratch("hosts")?.join(name);
    std::fs::write(&launcher, format!("#!/bin/sh\nshift\n{script}\n"))?;
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755))?;
    Ok(Run::mpiexec("--launcher")
        .arg(launcher)
        .words("--host one.example -n 1"))
}

/// A job that awaits a daemon, where, and the file that lets the daemon go on: then it says "here".
fn awaited(name: &str) -> Result<(Running, std::net::SocketAddr, std::path::PathBuf)> {
    let told = scratch("hosts")?.join(name);
    let go = told.with_extension("go");
    for file in [&told, &go] {
        let _ = std::fs::remove_file(file);
    }
    let script = format!(
        "echo $3 >> {0}; while [ ! -e {0}.go ]; do sleep 0.05; done; exec \"$@\"",
        told.display()
    );
    let running = on_a_host(&format!("patient-{name}"), &script)?
        .words("echo here")
        .start()?;
    let call = || std::fs::read_to_string(&told).unwrap_or_default();
    within(Duration::from_secs(10), "a daemon is called", || {
        call().lines().count() == 1
    })?;
    let call = call();
    let mut parts = call.trim().split(['@', ',']).skip(1);
    let port: u16 = parts.next().context("a port")?.parse()?;
    let address: std::net::IpAddr = parts.next().context("an address")?.parse()?;
    Ok((running, (address, port).into(), go))
}

/// Before a daemon has come anybody may connect to the port where it is awaited, and send what he likes.
pub fn foreign_processes_at_the_port_of_a_job_fill_no_memory() -> Result<()> {
    let (running, address, go) = awaited("told")?;
    let others: Vec<_> = (0..20)
        .map(|_| {
            let other = std::net::TcpStream::connect(address);
            std::thread::spawn(move || {
                use std::io::Write;
                // The length of a message and its bytes, until the head stops reading.
                let mut packet = (60_u64 << 20).to_le_bytes().to_vec();
                packet.resize(60 << 20, 1);
                let _ = other.map(|mut other| {
                    let _ = other.set_write_timeout(Some(Duration::from_secs(1)));
                    other.write_all(&packet).map(|()| other)
                });
            })
        })
        .collect();
    for other in others {
        let _ = other.join();
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.pid()))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak: u64 = peak.context("a peak")?.trim_end_matches("kB").trim().parse()?;
    std::fs::write(go, "")?;
    let run = running.finish()?;
    ensure!(
        run.code == Some(0) && run.out == "here\n",
        "{:?} {}{}",
        run.code,
        run.out,
        run.err
    );
    ensure!(peak < 64 << 10, "mpiexec took {peak} KiB");
    Ok(())
}

/// A daemon does not send its secret, and runs nothing for a head that does not know it.
pub fn a_daemon_obeys_nobody_else() -> Result<()> {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    let told = scratch("hosts")?.join("secret");
    let impostor = std::thread::spawn(move || -> std::io::Result<Vec<u8>> {
        let (mut stream, _) = listener.accept()?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        let mut heard = vec![0; 1 << 10];
        let length = stream.read(&mut heard)?;
        heard.truncate(length);
        // Nothing better is known than to say the same.
        stream.write_all(&heard)?;
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        heard.extend(rest);
        Ok(heard)
    });
    let elsewhere = format!(
        "NODE=${{3%%@*}}; read -r secret; echo $secret > {}; set -- \"$1\" \"$2\" $NODE@{port}@127.0.0.1; echo $secret | \"$@\"",
        told.display()
    );
    let run = on_a_host("elsewhere", &elsewhere)?.words("echo here").finish()?;
    let heard = impostor
        .join()
        .map_err(|_| anyhow::anyhow!("the impostor has failed"))??;
    ensure!(
        run.code == Some(1) && run.out.is_empty(),
        "{:?} {}{}",
        run.code,
        run.out,
        run.err
    );
    ensure!(run.err.contains("does not know the job's secret"), "{}", run.err);
    let secret = std::fs::read_to_string(&told)?;
    let secret = (0..16).map(|at| u8::from_str_radix(&secret[2 * at..2 * at + 2], 16));
    let secret = secret.collect::<Result<Vec<u8>, _>>()?;
    ensure!(!heard.is_empty(), "the daemon says nothing");
    ensure!(
        !heard.windows(8).any(|part| part == &secret[..8]),
        "the daemon says its secret"
    );
    Ok(())
}
