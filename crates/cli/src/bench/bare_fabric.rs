//! What two processes on two nodes get out of bare libfabric: the same loop as `network_floors.c` makes over a socket, by the bindings that
//! the library itself uses. `isthmus bare-fabric`, which `isthmus bench network` runs; hidden, since it wants nodes to run on.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use isthmus_fabric::bare::Bare;
use isthmus_fabric::provider::ProviderFilter;
use isthmus_fabric::{Destination, Endpoint, Event, Sent};
use isthmus_os::{child, cpu};

use super::size::Size;

/// Messages that are answered by one of one byte.
const WINDOW: usize = 64;
/// Reads or writes that are under way.
const DEPTH: usize = 16;
/// What a sample takes at least, in microseconds, and how many there are at most.
const BATCH_US: f64 = 50.0;
const MAX_SAMPLES: f64 = 20_000.0;
const MIN_SAMPLES: f64 = 20.0;

/// `isthmus bare-fabric ...`
#[derive(Args)]
pub struct Arguments {
    /// The namespaces of ip-netns(8) to run in
    #[arg(long, value_delimiter = ',')]
    nodes: Vec<String>,
    /// As the floors' program is told; not needed
    #[arg(long)]
    address: Option<String>,
    /// One way, in windows of 64 messages
    #[arg(long)]
    stream: bool,
    /// Writes into the other side's memory, in windows of 64
    #[arg(long)]
    put: bool,
    /// Reads from there
    #[arg(long)]
    get: bool,
    /// About how long it measures
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// One of the two sides
    #[arg(long)]
    side: Option<usize>,
    sizes: Vec<Size>,
}

/// Measure, and print.
pub fn run(arguments: &Arguments) -> Result<()> {
    match arguments.side {
        None => in_nodes(arguments),
        Some(side) => {
            let cpus = std::env::var("ISTHMUS_BENCH_CPUS").unwrap_or_default();
            let cpus: Vec<usize> = cpus.split(',').filter_map(|cpu| cpu.parse().ok()).collect();
            if let Some(cpu) = cpus.get(side % cpus.len().max(1)) {
                cpu::bind(&[*cpu]).context("cannot bind to a CPU")?;
            }
            one_side(arguments, side == 0)
        }
    }
}

/// Start both sides, and carry the lines from one to the other that each begins with its name.
#[allow(unsafe_code)] // A side ends with the process that has started it.
fn in_nodes(arguments: &Arguments) -> Result<()> {
    ensure!(arguments.nodes.len() == 2, "it takes two nodes");
    let mut sides = Vec::new();
    for (side, node) in arguments.nodes.iter().enumerate() {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", node]).arg(std::env::current_exe()?);
        command.args(["bare-fabric", "--side", &side.to_string(), "--seconds"]);
        command.arg(arguments.seconds.to_string());
        let ways = [
            (arguments.stream, "--stream"),
            (arguments.put, "--put"),
            (arguments.get, "--get"),
        ];
        command.args(ways.iter().filter(|way| way.0).map(|way| way.1));
        command.args(arguments.sizes.iter().map(|size| size.0.to_string()));
        let parent = std::process::id();
        // SAFETY: two system calls, and no memory is taken.
        unsafe { command.pre_exec(move || child::die_with(parent)) };
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        sides.push(child.with_context(|| format!("cannot start a process in {node}"))?);
    }
    let ran = introduce(&mut sides);
    let mut failure = ran.err();
    for side in &mut sides {
        // The second one waits for the first.
        if failure.is_some() {
            let _ = side.kill();
        }
        let status = side.wait()?;
        if failure.is_none() && !status.success() {
            failure = Some(anyhow!("a side ended with {status}"));
        }
    }
    failure.map_or(Ok(()), Err)
}

fn introduce(sides: &mut [Child]) -> Result<()> {
    let mut outputs = Vec::new();
    let mut names = Vec::new();
    for side in sides.iter_mut() {
        let mut output = BufReader::new(side.stdout.take().context("no output")?);
        let mut name = String::new();
        output.read_line(&mut name)?;
        names.push(name);
        outputs.push(output);
    }
    for (side, name) in sides.iter_mut().zip(names.iter().rev()) {
        side.stdin.take().context("no input")?.write_all(name.as_bytes())?;
    }
    for line in outputs.swap_remove(0).lines() {
        println!("{}", line?);
    }
    Ok(())
}

struct Side {
    bare: Bare,
    to: Destination,
    out: Vec<u8>,
    into: Vec<u8>,
    sends: usize,
    receives: usize,
}

/// Tell the other side bytes, and hear its own.
fn exchange(own: &[u8]) -> Result<Vec<u8>> {
    println!("{}", own.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    let mut other = String::new();
    std::io::stdin().read_line(&mut other)?;
    let digits = other.trim().as_bytes().chunks(2);
    let bytes = digits.map(|pair| u8::from_str_radix(&String::from_utf8_lossy(pair), 16));
    Ok(bytes.collect::<Result<Vec<u8>, _>>()?)
}

/// Measure each size by `steps`, which does so many steps, and says how many microseconds one of them took.
fn measure(arguments: &Arguments, parts: f64, mut steps: impl FnMut(usize, usize) -> Result<f64>) -> Result<()> {
    for size in &arguments.sizes {
        let size = size.0 as usize;
        let first = steps(size, 8)?;
        let batch = if first >= BATCH_US {
            1
        } else {
            (BATCH_US / first) as usize + 1
        };
        let budget = arguments.seconds * 1e6 / arguments.sizes.len() as f64;
        let batches = (budget / (first * batch as f64)).clamp(MIN_SAMPLES, MAX_SAMPLES) as usize;
        let mut samples = Vec::new();
        for _ in 0..batches {
            samples.push(steps(size, batch)? / parts);
        }
        samples.sort_by(f64::total_cmp);
        let at = |share: f64| samples[((samples.len() - 1) as f64 * share).round() as usize];
        println!(
            "result libfabric size={size} us={:.4} best={:.4} p99={:.4} samples={}",
            at(0.5),
            samples[0],
            at(0.99),
            samples.len()
        );
    }
    Ok(())
}

fn one_side(arguments: &Arguments, asks: bool) -> Result<()> {
    let wanted = ProviderFilter {
        provider: std::env::var("ISTHMUS_FABRIC").ok().filter(|name| !name.is_empty()),
        ..ProviderFilter::default()
    };
    let longest = arguments.sizes.iter().map(|size| size.0).max().unwrap_or(0).max(16) as usize;
    if arguments.put || arguments.get {
        return reach(arguments, asks, &wanted, longest);
    }
    let mut bare = Bare::open(&wanted)?;
    let name = exchange(bare.name())?;
    let to = bare.resolve(&name)?;
    let mut side = Side {
        bare,
        to,
        out: vec![1; longest],
        into: vec![0; longest],
        sends: 0,
        receives: 0,
    };
    if !asks {
        return side.serve(arguments.stream);
    }
    let parts = if arguments.stream { WINDOW as f64 } else { 2.0 };
    measure(arguments, parts, |size, count| {
        side.steps(size, count, arguments.stream)
    })?;
    side.order(0, 0)
}

/// Reads or writes of one side in the other's memory, each whole, at most [`DEPTH`] at a time; the other side makes progress, until its last byte says
/// that it is over.
#[allow(unsafe_code)] // Its memory is the other side's.
fn reach(arguments: &Arguments, asks: bool, wanted: &ProviderFilter, longest: usize) -> Result<()> {
    let mut endpoint = Endpoint::open_for_memory(wanted)?;
    // The last byte says that it is over; the reader sends it a byte that it has read.
    let mut memory = vec![1_u8; longest + 1];
    memory[longest] = 0;
    let at = memory.as_mut_ptr();
    // SAFETY: the memory lives longer than the endpoint is used, and is looked at by pointer.
    let exposed = unsafe { endpoint.expose_to_writes(at, longest + 1, 1) }?;
    let own = [
        &exposed.key().to_ne_bytes()[..],
        &(at as u64).to_ne_bytes(),
        endpoint.name(),
    ]
    .concat();
    let other = exchange(&own)?;
    let (numbers, name) = other.split_at_checked(16).context("the other side has gone")?;
    let number = |at: usize| u64::from_ne_bytes(numbers[at..at + 8].try_into().expect("8 bytes"));
    let (key, address) = (number(0), number(8));
    let to = endpoint.resolve(name)?;
    if !asks {
        // SAFETY: within the memory.
        while unsafe { at.add(longest).read_volatile() } == 0 {
            endpoint.poll()?;
        }
        return Ok(());
    }
    let mut own = vec![1_u8; longest];
    let here = own.as_mut_ptr();
    let mut window = |(offset, size): (u64, usize), count: usize, is_get: bool| -> Result<()> {
        let (mut begun, mut over) = (0, 0);
        while over < count {
            let remote = (key, address, offset);
            while begun < count && begun - over < DEPTH {
                // SAFETY: both sides' memory lives until all is over, and nobody looks at it before.
                let sent = unsafe {
                    match is_get {
                        true => endpoint.read(to, remote, (here, size), 0),
                        false => endpoint.write(to, remote, (here, size), 0),
                    }
                };
                if sent? != Sent::Going {
                    break;
                }
                begun += 1;
            }
            if let Some(Event::Read(_, result)) = endpoint.poll()? {
                result?;
                over += 1;
            }
        }
        Ok(())
    };
    measure(arguments, WINDOW as f64, |size, count| {
        let began = Instant::now();
        for _ in 0..count {
            window((0, size), WINDOW, arguments.get)?;
        }
        Ok(began.elapsed().as_secs_f64() * 1e6 / count as f64)
    })?;
    window((longest as u64, 1), 1, false)
}

impl Side {
    /// So many steps; microseconds for one.
    fn steps(&mut self, size: usize, count: usize, stream: bool) -> Result<f64> {
        self.order(size, count)?;
        let began = Instant::now();
        for _ in 0..count {
            match stream {
                true => {
                    self.send(size, WINDOW)?;
                    self.receive(1, 1)?;
                }
                false => {
                    self.send(size, 1)?;
                    self.receive(size, 1)?;
                }
            }
        }
        Ok(began.elapsed().as_secs_f64() * 1e6 / count as f64)
    }

    /// Tell the other side what comes; nothing: it is over.
    fn order(&mut self, size: usize, count: usize) -> Result<()> {
        self.out[..8].copy_from_slice(&(size as u64).to_ne_bytes());
        self.out[8..16].copy_from_slice(&(count as u64).to_ne_bytes());
        self.send(16, 1)
    }

    fn serve(&mut self, stream: bool) -> Result<()> {
        loop {
            self.receive(16, 1)?;
            let number = |at: usize| {
                let bytes: [u8; 8] = self.into[at..at + 8].try_into().expect("8 bytes");
                u64::from_ne_bytes(bytes) as usize
            };
            let (size, count) = (number(0), number(8));
            if count == 0 {
                return Ok(());
            }
            if size > self.into.len() {
                bail!("an order for {size} bytes");
            }
            for _ in 0..count {
                match stream {
                    true => {
                        self.receive(size, WINDOW)?;
                        self.send(1, 1)?;
                    }
                    false => {
                        self.receive(size, 1)?;
                        self.send(size, 1)?;
                    }
                }
            }
        }
    }

    /// Send so many messages, and wait until the buffer may be used again.
    fn send(&mut self, size: usize, count: usize) -> Result<()> {
        self.sends += count;
        let mut left = count;
        while self.bare.sent() < self.sends {
            while left > 0 && self.send_one(size)? == Sent::Going {
                left -= 1;
            }
            self.bare.progress()?;
        }
        Ok(())
    }

    #[allow(unsafe_code)] // The bare loop sends out of plain memory.
    fn send_one(&mut self, size: usize) -> Result<Sent> {
        // SAFETY: `send` returns once all sends are over, and nobody writes the buffer before.
        Ok(unsafe { self.bare.send(self.out.as_ptr(), size, self.to) }?)
    }

    fn receive(&mut self, size: usize, count: usize) -> Result<()> {
        self.receives += count;
        let mut left = count;
        while self.bare.received() < self.receives {
            while left > 0 && self.receive_one(size)? == Sent::Going {
                left -= 1;
            }
            self.bare.progress()?;
        }
        Ok(())
    }

    #[allow(unsafe_code)] // The bare loop receives into plain memory.
    fn receive_one(&mut self, size: usize) -> Result<Sent> {
        // SAFETY: `receive` returns once all receives are over, and nobody looks at the buffer before; several may fill it at a time, with
        // the same bytes.
        Ok(unsafe { self.bare.receive(self.into.as_mut_ptr(), size) }?)
    }
}
