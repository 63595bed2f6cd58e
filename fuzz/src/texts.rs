//! Text that users and launchers give: tunables, fault plans, made-up machines, command lines, packets of the control
//! channel.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use isthmus_engine::control::{Nonce, ToLauncher, ToRank};
use isthmus_engine::{MadeUp, tunables};
use isthmus_transfer::fault::Plan;

use crate::input::Input;

/// One input: the first byte says what it is.
pub fn feed(data: &[u8]) {
    let mut input = Input::new(data);
    let what = input.byte() % 8;
    let rest = input.rest();
    let text = String::from_utf8_lossy(rest);
    match what {
        0 => drop(tunables::parse(&text)),
        1 => drop(Plan::parse(&text).map(|plan| plan.of_rank(1).is_empty())),
        2 => {
            if let Some(machine) = MadeUp::parse(&text) {
                for rank in [0, 1, 63, 1022] {
                    let place = machine.locality(rank);
                    assert!(place.distance(place) == 0, "{text}: rank {rank} is away from itself");
                }
            }
        }
        3 => drop(Nonce::parse(&text)),
        4 => command_line(rest),
        5 => {
            if let Some(packet) = ToLauncher::decode(rest) {
                let again = ToLauncher::decode(&packet.encode()).map(|packet| packet.encode());
                assert_eq!(again, Some(packet.encode()), "a packet survives");
            }
        }
        6 => {
            if let Some(packet) = ToRank::decode(rest) {
                let again = ToRank::decode(&packet.encode()).map(|packet| packet.encode());
                assert_eq!(again, Some(packet.encode()), "a packet survives");
            }
        }
        _ => drop(isthmus_os::topology::parse_list(&text)),
    }
}

/// Arguments of `mpiexec`, separated by newlines.
fn command_line(bytes: &[u8]) {
    // Host files are opened, and a device would be read to its end.
    if bytes.contains(&b'/') {
        return;
    }
    let arguments = bytes.split(|byte| *byte == b'\n');
    let arguments = arguments.map(|one| OsString::from_vec(one.to_vec()));
    match isthmus_launch::options::parse(arguments) {
        Ok(isthmus_launch::options::Request::Run(job)) => {
            assert!(
                job.commands.iter().all(|command| command.ranks > 0),
                "a command without ranks"
            );
        }
        Ok(_) => {}
        Err(failure) => assert!(!failure.message.is_empty(), "a failure without a word"),
    }
}
