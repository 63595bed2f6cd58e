//! Every algorithm of every collective, in turn: the random checker with algorithms forced, and what is said of rules that
//! make no sense.

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Result};
use isthmus_collective::select::{Algorithm, Collective, Traits, collectives};
use isthmus_mpi::datatype::{Datatype, NAMED};
use isthmus_mpi::handle::Handle;
use isthmus_mpi::op::{Op, Predefined};
use isthmus_tests::{Run, command, compile, folder, full};

/// The algorithms of each collective that need some of `needs` (no matter what, if that is nothing), and nothing of `missing`, as
/// rules want them.
fn algorithms(needs: Traits, missing: Traits) -> Result<Vec<Vec<String>>> {
    let is_meant = |algorithm: &&Algorithm| {
        (needs == Traits::NONE || algorithm.needs.meets(needs)) && !algorithm.needs.meets(missing)
    };
    let of = |one: &Collective| {
        let meant = one.algorithms.iter().filter(is_meant);
        meant
            .map(|algorithm| format!("{}:{}", one.name, algorithm.name))
            .collect()
    };
    Ok(collectives(8, Traits::NONE)?
        .iter()
        .map(|one| of(one.collective))
        .collect())
}

/// For each place in the longest of these lists, rules that want the algorithms there in all lists, beginning again in shorter ones,
/// where they can be.
fn wishes(lists: &[Vec<String>]) -> Vec<String> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let wish = |place: usize| {
        let lists = lists.iter().filter(|list| !list.is_empty());
        let rules = lists.map(|list| format!("{}?", list[place % list.len()]));
        rules.collect::<Vec<_>>().join(",")
    };
    (0..longest).map(wish).collect()
}

/// Batches of calls of a run of the checker: fewer where a batch of so many ranks takes long.
fn batches(ranks: u32) -> &'static str {
    match (full(), ranks > 32) {
        (true, _) => "60",
        (false, true) => "6",
        (false, false) => "20",
    }
}

/// The checker on so many ranks.
fn checker(ranks: u32, seed: u32) -> Result<Run> {
    let run = Run::mpiexec("-n")
        .words(&ranks.to_string())
        .arg(compile("random_collectives")?);
    let run = run.words(&seed.to_string()).words(batches(ranks));
    Ok(run.limit(Duration::from_secs(if full() { 600 } else { 90 })))
}

/// It finds nothing; how many of its calls took an algorithm that was wanted.
fn forced(checker: Run) -> Result<u64> {
    let said = checker.succeed()?.out;
    let count = said.lines().find_map(|line| line.strip_suffix(" forced"));
    Ok(count.context("the checker counts")?.parse()?)
}

/// How many calls each rule had, of those that the end of a run says: `allreduce:ring`, 17.
fn calls_by_rule(said: &str) -> Vec<(String, u64)> {
    let rule = |line: &str| {
        let text = line.strip_prefix("isthmus: ISTHMUS_COLLECTIVES: ")?;
        let (rule, calls) = text.strip_suffix(" calls")?.rsplit_once(": ")?;
        Some((rule.to_owned(), calls.parse().ok()?))
    };
    said.lines().filter_map(rule).collect()
}

/// Machines that are made up, or the real one, and numbers of ranks.
type Machines<'a> = &'a [(Option<&'a str>, &'a [u32])];

/// The checker with these rules; what the first rank's calls went by is added to `calls`.
fn check(rules: &str, topology: Option<&str>, ranks: u32, seed: u32, calls: &mut BTreeMap<String, u64>) -> Result<()> {
    let mut run = checker(ranks, seed)?
        .env("ISTHMUS_COLLECTIVES", rules)
        .env("ISTHMUS_COLLECTIVES_REPORT", "1");
    if let Some(topology) = topology {
        run = run.env("ISTHMUS_TOPOLOGY", topology);
    }
    for (rule, times) in calls_by_rule(&run.succeed()?.err) {
        *calls.entry(rule).or_default() += times;
    }
    Ok(())
}

/// On how many ranks the rules at this place are tried: in turn on two of many of these numbers, or one of a few; in the full test on each.
fn numbers_of_ranks(ranks: &[u32], place: usize) -> Vec<u32> {
    let tried = match (full(), ranks.len()) {
        (true, all) => all,
        (false, 0..=2) => 1,
        (false, _) => 2,
    };
    (0..tried)
        .map(|next| ranks[(tried * place + next) % ranks.len()])
        .collect()
}

/// The checker with each of the requested algorithms on each machine. Each algorithm that needs some of `needs` (no matter what, if that is
/// nothing), and nothing of `missing`, must have done a call.
fn check_all(machines: Machines<'_>, needs: Traits, missing: Traits) -> Result<()> {
    let mut calls = BTreeMap::new();
    for (topology, ranks) in machines {
        for (number, wish) in wishes(&algorithms(Traits::NONE, Traits::NONE)?).iter().enumerate() {
            for ranks in numbers_of_ranks(ranks, number) {
                check(wish, *topology, ranks, 100 * number as u32 + ranks, &mut calls)?;
            }
        }
    }
    for rule in algorithms(needs, missing)?.iter().flatten() {
        check_alone(rule, machines, &mut calls)?;
    }
    Ok(())
}

/// If no call went by this rule, since none that it fits was drawn, more are drawn until one does.
fn check_alone(rule: &str, machines: Machines<'_>, calls: &mut BTreeMap<String, u64>) -> Result<()> {
    const TRIES: u32 = 20;
    for seed in 0..TRIES {
        if calls.get(rule).is_some_and(|times| *times > 0) {
            return Ok(());
        }
        for (topology, ranks) in machines {
            // From the most on: with fewer ranks more calls have an element for each.
            let ranks = ranks
                .iter()
                .rev()
                .cycle()
                .nth(seed as usize)
                .context("no number of ranks")?;
            check(&format!("{rule}?"), *topology, *ranks, 1000 + seed, calls)?;
        }
    }
    anyhow::bail!("no call went by {rule}")
}

#[test]
fn every_algorithm_is_right() -> Result<()> {
    let ranks: Vec<u32> = if full() {
        (1..=17).collect()
    } else {
        vec![1, 2, 3, 5, 8]
    };
    check_all(
        &[(None, &ranks)],
        Traits::NONE,
        Traits::NODES | Traits::PLACES | lacking()?,
    )
}

#[test]
fn every_algorithm_is_right_on_several_nodes() -> Result<()> {
    let ranks: [&[u32]; 3] = if full() {
        [&[2, 3, 4, 5, 7, 8, 9, 13, 17], &[2, 3, 5], &[3, 4, 5, 8]]
    } else {
        [&[3, 8], &[5], &[8]]
    };
    // Of the second the ranks of two nodes take turns; the last has packages of one node.
    let machines = [
        (Some("2x1x2x2"), ranks[0]),
        (Some("1.0,0.0,1.1"), ranks[1]),
        (Some("2x2x2"), ranks[2]),
    ];
    check_all(&machines, Traits::NODES | Traits::PLACES, lacking()?)
}

/// What calls cannot have here: single copies, where the kernel refuses them.
fn lacking() -> Result<Traits> {
    let copies = Command::new(command("isthmus"))
        .args(["info", "--protocols"])
        .output()?;
    let text = String::from_utf8_lossy(&copies.stdout).into_owned();
    Ok(Traits::SINGLE_COPIES.when(text.contains("cma is closed")))
}

/// Machines of several units: how they are declared, and a letter for the unit of each rank.
const BY_UNITS: [(&str, &str); 6] = [
    ("2x2", "aabb"),
    ("0,1,0,1", "abab"),
    ("2x2x2", "aaaabbbb"),
    ("4x2", "aabbccdd"),
    ("0,1,0,1,1,0,2,1", "ababbacb"),
    ("2x4", "aaaabbb"),
];

/// Rules that want reductions by units.
const WANT_BY_UNITS: &str = "allreduce:shared_two_level?,reduce:shared_two_level?";

#[test]
fn units_combine_among_themselves_first() -> Result<()> {
    let program = compile("by_units")?;
    for (topology, units) in BY_UNITS {
        let run = Run::mpiexec("-n")
            .words(&units.len().to_string())
            .arg(&program)
            .arg(units);
        let run = run.env("ISTHMUS_TOPOLOGY", topology);
        // Before there is a board they cannot.
        let run = run.env("ISTHMUS_COLLECTIVES", WANT_BY_UNITS);
        run.limit(Duration::from_secs(120)).succeed()?;
    }
    Ok(())
}

#[test]
fn reductions_by_units_are_right() -> Result<()> {
    let mut times = 0;
    for (seed, (topology, units)) in BY_UNITS.into_iter().enumerate() {
        let run = checker(units.len() as u32, seed as u32)?.env("ISTHMUS_TOPOLOGY", topology);
        times += forced(run.env("ISTHMUS_COLLECTIVES", WANT_BY_UNITS))?;
    }
    assert!(times > 0);
    Ok(())
}

/// Something that takes all of a CPU as long as it lives.
struct Spinner(Child);

impl Spinner {
    fn start() -> Result<Self> {
        let child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        // It cannot end before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const DIRECT_REDUCTIONS: &str = "reduce:shared_direct?,allreduce:shared_direct?,reduce_scatter:shared_direct?";

const SLICED_REDUCTIONS: &str = "reduce:shared_sliced?,allreduce:shared_sliced?";

#[test]
fn reductions_repeat_bit_for_bit_however_they_travel() -> Result<()> {
    let program = compile("repeatable")?;
    for ranks in [3, 4] {
        let plain = || Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
        let on_one_cpu = || {
            let mpiexec = Run::program("taskset").words("-c 0").arg(command("mpiexec"));
            mpiexec.words("-n").arg(ranks.to_string()).arg(&program)
        };
        let result = |run: Run| -> Result<String> {
            let said = run.limit(Duration::from_secs(120)).succeed()?.out;
            let line = said.lines().find(|line| line.starts_with("results: "));
            Ok(line.context("the program says what came of it")?.to_owned())
        };
        let first = result(plain())?;
        for mechanism in ["ring", "cma", "mapped"] {
            assert_eq!(
                result(plain().env("ISTHMUS_MECHANISM", mechanism))?,
                first,
                "{mechanism}, {ranks} ranks"
            );
        }
        assert_eq!(
            result(plain().env("ISTHMUS_STAGING", "1M"))?,
            first,
            "little staging, {ranks} ranks"
        );
        assert_eq!(
            result(plain().env("ISTHMUS_COLLECTIVES", DIRECT_REDUCTIONS))?,
            first,
            "single copies, {ranks} ranks"
        );
        assert_eq!(
            result(plain().env("ISTHMUS_COLLECTIVES", SLICED_REDUCTIONS))?,
            first,
            "slices, {ranks} ranks"
        );
        assert_eq!(result(on_one_cpu())?, first, "one CPU, {ranks} ranks");
        let spinner = Spinner::start()?;
        assert_eq!(result(plain())?, first, "beside a spinner, {ranks} ranks");
        drop(spinner);
        assert_eq!(result(plain())?, first, "again, {ranks} ranks");
    }
    Ok(())
}

/// With single copies denied by the machine, algorithms by messages are right, too.
#[test]
fn algorithms_by_messages_are_right_where_single_copies_are_denied() -> Result<()> {
    let (deny, program) = (compile("deny")?, compile("random_collectives")?);
    let by_messages = [
        "bcast:scatter_allgather?,allreduce:ring?,allgather:ring?,alltoall:pairwise?,reduce:halving?",
        "bcast:binomial?,allreduce:halving?,allgather:direct?,alltoall:direct?,reduce:binomial?,barrier:dissemination?",
    ];
    for (seed, wish) in by_messages.into_iter().enumerate() {
        for ranks in ["2", "5"] {
            // EPERM, ENOSYS.
            let errno = ["1", "38"][seed];
            let run = Run::mpiexec("-n").words(ranks).arg(&deny).words(errno).arg(&program);
            let run = run.words(&format!("{seed} 20")).env("ISTHMUS_COLLECTIVES", wish);
            let said = run.limit(Duration::from_secs(120)).succeed()?.out;
            let forced = said.lines().find_map(|line| line.strip_suffix(" forced"));
            assert!(forced.context("the checker counts")?.parse::<u64>()? > 0, "{wish}");
        }
    }
    Ok(())
}

/// Whatever carries the bytes, and in pieces of whatever size: nothing of it changes a result.
#[test]
fn collectives_are_right_however_they_travel() -> Result<()> {
    let program = compile("random_collectives")?;
    let ways: [&[(&str, &str)]; 9] = [
        &[("MECHANISM", "ring"), ("RING", "8K"), ("PIECE", "4K")],
        &[("MECHANISM", "cma"), ("EAGER_LIMIT", "1K")],
        &[("MECHANISM", "mapped"), ("EAGER_LIMIT", "1K")],
        &[("CMA", "0"), ("EAGER_LIMIT", "1K"), ("STAGING", "1M")],
        &[("UNEXPECTED_LIMIT", "4K"), ("ADVERTISE", "0")],
        &[("MECHANISM", "cma"), ("FAULT", "any:EPERM:after=40")],
        &[("MECHANISM", "cma"), ("FAULT", "pull:EFAULT:at=5001:after=3:times=9")],
        &[
            ("MECHANISM", "cma"),
            ("FAULT", "pull:EPERM:rank=1"),
            ("TOPOLOGY", "2x1x2x2"),
        ],
        &[
            ("MECHANISM", "cma"),
            ("FAULT", "any:ENOSYS:rank=0"),
            ("TOPOLOGY", "2x2x2"),
        ],
    ];
    // Boards and what is staged; messages.
    let algorithms = [
        "",
        "bcast:binomial?,allgather:ring?,alltoall:pairwise?,allreduce:ring?,reduce:binomial?",
    ];
    let batches = if full() { "100" } else { "12" };
    for (number, way) in ways.into_iter().enumerate() {
        for (other, algorithms) in algorithms.into_iter().enumerate() {
            // Two ranks and five in turn, in the full test each, and others.
            let ranks: &[u32] = match (full(), (number + other) % 2) {
                (true, _) => &[2, 3, 5, 8],
                (false, 0) => &[2],
                (false, _) => &[5],
            };
            for ranks in ranks {
                let mut run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
                run = run.words(&(10 * number + other).to_string()).words(batches);
                for (name, value) in way {
                    run = run.env(&format!("ISTHMUS_{name}"), value);
                }
                let run = run
                    .env("ISTHMUS_COLLECTIVES", algorithms)
                    .limit(Duration::from_secs(120));
                run.succeed()
                    .with_context(|| format!("{way:?}, {algorithms}, {ranks} ranks"))?;
            }
        }
    }
    Ok(())
}

/// Communicators of about as many ranks as a word has bits, and more, on one node and on several.
#[test]
fn collectives_of_many_ranks_are_right() -> Result<()> {
    let program = compile("random_collectives")?;
    let (seeds, batches) = if full() { (6, "60") } else { (1, "8") };
    let some = [("33", "1x64"), ("66", "1x72"), ("40", "2x1x2x10")];
    let others = [("64", "1x64"), ("40", "2x20"), ("40", "3x1x1x14")];
    for (ranks, topology) in some.into_iter().chain(others.into_iter().filter(|_| full())) {
        for seed in 1..=seeds {
            let run = Run::mpiexec("-n").words(ranks).arg(&program);
            let run = run
                .words(&format!("{seed} {batches}"))
                .env("ISTHMUS_TOPOLOGY", topology);
            run.limit(Duration::from_secs(120)).succeed()?;
        }
    }
    Ok(())
}

/// Every algorithm on more ranks than 32, which are in several units of the machine. Most calls are over before a communicator of the
/// checker has a board.
#[test]
fn every_algorithm_is_right_on_many_ranks() -> Result<()> {
    let missing = Traits::BOARD | Traits::NODES | lacking()?;
    check_all(&[(Some("4x9"), &[34])], Traits::NONE, missing)
}

/// Every algorithm that goes through a board or follows the units of the machine, blocking and not, on so many ranks; each does a call. Elements
/// of the first of two lengths go through a board, those of the second are too long for it.
fn check_many(ranks: u32, topology: &str, elements: [u32; 2]) -> Result<()> {
    let program = compile("large_boards")?;
    let algorithms = algorithms(Traits::BOARD | Traits::PLACES, Traits::NODES | lacking()?)?;
    let mut calls = BTreeMap::new();
    for wish in wishes(&algorithms) {
        let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
        let run = run.words(&elements.map(|bytes| bytes.to_string()).join(" "));
        let run = run
            .env("ISTHMUS_TOPOLOGY", topology)
            .env("ISTHMUS_COLLECTIVES", &wish)
            .env("ISTHMUS_COLLECTIVES_REPORT", "1");
        let said = run.limit(Duration::from_secs(300)).succeed()?;
        let words = said.out.split([' ', ',', '\n']);
        let parts: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        let [parts @ .., longer] = parts.as_slice() else {
            anyhow::bail!("{}", said.out);
        };
        let are_forced = parts.len() == 4 && parts.iter().all(|calls| *calls > 0);
        assert!(are_forced && *longer == 0, "{topology}, {wish}: {}", said.out);
        calls.extend(calls_by_rule(&said.err).into_iter().filter(|(_, times)| *times > 0));
    }
    for rule in algorithms.iter().flatten() {
        assert!(calls.contains_key(rule), "{topology}: no call went by {rule}");
    }
    Ok(())
}

/// On more ranks than 32, in packages with several NUMA nodes each; in the full test in several packages, and in NUMA nodes of one package, too.
#[test]
fn algorithms_by_boards_and_places_are_right_on_nested_units() -> Result<()> {
    check_many(36, "2x3x6", [4096, 4104])?;
    if full() {
        check_many(34, "4x9", [4096, 4104])?;
        check_many(34, "1x4x9", [4096, 4104])?;
    }
    Ok(())
}

/// From 65 ranks on it takes several words to tell them apart, contributions of all have no room on a stack, and elements of 4 KiB go by
/// messages.
#[test]
fn algorithms_by_boards_and_places_are_right_on_more_than_64_ranks() -> Result<()> {
    check_many(66, "3x30", [4000, 4096])?;
    if full() {
        check_many(256, "4x64", [960, 1024])?;
    }
    Ok(())
}

/// The checker's table has every type that an operation is defined for.
#[test]
fn every_type_that_can_be_reduced_is() -> Result<()> {
    let table = std::fs::read_to_string(folder().join("programs/reference_operations.h"))?;
    for named in NAMED {
        let datatype = Handle::<Datatype>::from_raw(named.raw).resolve("datatype")?;
        let is_reduced = Predefined::ALL
            .iter()
            .any(|&which| Op::predefined(which).reduction(datatype).is_ok());
        // Two names of one type; and the standard ABI's header has no names beside the standard's.
        let name = named
            .name
            .replace("LONG_LONG_INT", "LONG_LONG")
            .replace("MPI_C_COMPLEX", "MPI_C_FLOAT_COMPLEX");
        if is_reduced && !name.starts_with("MPIX_") {
            assert!(
                table.contains(&format!("ONE({name}, ")) || table.contains(&format!("PAIR_OF({name}, ")),
                "{name}"
            );
        }
    }
    Ok(())
}

/// Single copies between the ranks' own memory that are refused, from the start, to one rank, after some, or once: the rest comes
/// through shared memory.
#[test]
fn direct_copies_that_are_refused() -> Result<()> {
    let program = compile("random_collectives")?;
    let kinds = [
        "bcast",
        "gather",
        "gatherv",
        "scatter",
        "scatterv",
        "allgather",
        "allgatherv",
        "alltoall",
        "alltoallv",
    ];
    let moves = kinds.map(|kind| format!("{kind}:shared_direct?")).join(",");
    let mut reduced = 0;
    for (seed, fault) in [
        "pull:EPERM",
        "pull:EPERM:rank=1",
        "pull:EFAULT:after=5:times=3",
        "pull:EPERM:after=20:rank=0",
        "pull:EFAULT:at=3000:after=2:times=9",
    ]
    .into_iter()
    .enumerate()
    {
        for wish in [&moves, DIRECT_REDUCTIONS] {
            // Of two ranks the first may learn by messages that it is refused, and then there is nothing to choose.
            let mut all = 0;
            for ranks in ["2", "5"] {
                let run = Run::mpiexec("-n")
                    .words(ranks)
                    .arg(&program)
                    .words(&format!("{seed} 30"));
                let run = run.env("ISTHMUS_COLLECTIVES", wish).env("ISTHMUS_FAULT", fault);
                let said = run.limit(Duration::from_secs(120)).succeed().context(fault)?.out;
                let forced = said.lines().find_map(|line| line.strip_suffix(" forced"));
                all += forced.context("the checker counts")?.parse::<u64>()?;
            }
            match wish == moves {
                true => assert!(all > 0, "{fault}"),
                false => reduced += all,
            }
        }
    }
    assert!(reduced > 0, "no reduction went that way");
    Ok(())
}

/// A rank that is alone in its unit of the machine, which nobody waits for, with many calls under way.
#[test]
fn results_of_units_stay_until_their_ranks_have_read_them() -> Result<()> {
    let program = compile("in_place_late")?;
    for topology in ["0,1,1,1", "0,0,1,2", "0,1,2,3"] {
        let run = Run::mpiexec("-n 4").arg(&program);
        let run = run
            .env("ISTHMUS_TOPOLOGY", topology)
            .env("ISTHMUS_STAGING", "1M")
            .env("ISTHMUS_COLLECTIVES", WANT_BY_UNITS);
        run.limit(Duration::from_secs(60)).succeed().context(topology)?;
    }
    Ok(())
}

/// `mpiexec --set collectives=...` with a program that calls; what it says, and how it ends.
fn with_rules(rules: &str) -> Result<(Option<i32>, String)> {
    let run = Run::mpiexec("-n 3 --set").arg(format!("collectives={rules}"));
    let finished = run.arg(compile("random_collectives")?).words("1 2").finish()?;
    Ok((finished.code, finished.err))
}

#[test]
fn rules_that_make_no_sense_are_refused() -> Result<()> {
    let (code, said) = with_rules("allreduce:fast")?;
    assert_ne!(code, Some(0));
    assert!(
        said.contains("ISTHMUS_COLLECTIVES: allreduce:fast: no such algorithm as fast"),
        "{said}"
    );
    let (code, said) = with_rules("@/no/such/file")?;
    assert_ne!(code, Some(0));
    assert!(said.contains("/no/such/file"), "{said}");
    Ok(())
}

#[test]
fn what_cannot_be_ends_the_call_with_an_error() -> Result<()> {
    // The first calls have no board.
    let (code, said) = with_rules("bcast:shared")?;
    assert_ne!(code, Some(0));
    assert!(said.contains("says bcast:shared, which needs a board"), "{said}");
    Ok(())
}

#[test]
fn rules_that_are_measured_can_be_used() -> Result<()> {
    let file = isthmus_tests::scratch("rules")?.join("measured");
    let tune = Run::program(command("isthmus")).words("tune --quick --ranks 3 --of bcast,allreduce,barrier -o");
    tune.arg(&file).limit(Duration::from_secs(240)).succeed()?;
    let text = std::fs::read_to_string(&file)?;
    assert!(text.starts_with("# isthmus tune on "), "{text}");
    let (code, said) = with_rules(&format!("@{}", file.display()))?;
    assert_eq!(code, Some(0), "{said}\n{text}");
    Ok(())
}

#[test]
fn a_file_may_have_the_rules() -> Result<()> {
    let file = isthmus_tests::scratch("rules")?.join("rules");
    std::fs::write(&file, "# Measured somewhere.\nbcast@64K-:binomial\nallreduce:direct\n")?;
    let (code, said) = with_rules(&format!("@{}", file.display()))?;
    assert_eq!(code, Some(0), "{said}");
    let shown = Run::program(command("isthmus"))
        .words("info --collectives --ranks 8")
        .env("ISTHMUS_COLLECTIVES", format!("@{}", file.display()))
        .succeed()?;
    let line = shown
        .out
        .lines()
        .find(|line| line.contains("from 64K") && line.contains("binomial"));
    assert!(line.is_some_and(|line| line.contains("you want it")), "{}", shown.out);
    Ok(())
}
