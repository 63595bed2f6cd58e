//! Messages of a process to itself: every call of point-to-point, with one rank.
#![allow(unsafe_code)] // The typed procedures take the user's addresses.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use isthmus_mpi::comm::{COMM_SELF, Comm};
use isthmus_mpi::completion::Completing;
use isthmus_mpi::constants::{ANY_SOURCE, ANY_TAG, BUFFER_AUTOMATIC, PROC_NULL, TAG_UB, UNDEFINED};
use isthmus_mpi::counts::Width;
use isthmus_mpi::datatype::Datatype;
use isthmus_mpi::error::{Class, Error};
use isthmus_mpi::handle::Handle;
use isthmus_mpi::probe::{MESSAGE_NO_PROC, MESSAGE_NULL, Message};
use isthmus_mpi::procedures as mpi;
use isthmus_mpi::request::{REQUEST_NULL, Request};
use isthmus_mpi::status::{Status, Statuses};

/// The statuses that a call tells.
#[derive(Default)]
struct RecordedStatuses(RefCell<Vec<Status>>);

impl RecordedStatuses {
    fn take(&self) -> Vec<Status> {
        self.0.take()
    }

    fn take_tags(&self) -> Vec<i32> {
        self.take().iter().map(|status| status.tag).collect()
    }
}

impl Statuses for RecordedStatuses {
    fn put(&self, at: usize, status: &Status) {
        let mut statuses = self.0.borrow_mut();
        assert_eq!(statuses.len(), at, "in order");
        statuses.push(*status);
    }

    fn put_error(&self, at: usize, code: i32) {
        self.0.borrow_mut()[at].error = Some(code);
    }
}

/// One test at a time: `MPI_THREAD_SERIALIZED`.
fn world() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    static INIT: OnceLock<()> = OnceLock::new();
    let guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    INIT.get_or_init(|| {
        mpi::init_thread(isthmus_mpi::constants::THREAD_SERIALIZED).expect("a singleton needs nobody");
    });
    guard
}

fn comm() -> &'static Comm {
    COMM_SELF.resolve("comm").expect("MPI is initialized")
}

fn int() -> &'static Datatype {
    Handle::from_raw(0x209).resolve("datatype").expect("MPI_INT")
}

/// `blocks` integers, each followed by a hole as long.
fn holes(blocks: i64) -> &'static Datatype {
    let vector = mpi::type_vector(blocks, 1, 2, int(), Width::Int).expect("a vector");
    let datatype = vector.resolve("datatype").expect("live");
    mpi::type_commit(datatype).expect("commits");
    datatype
}

fn send(data: &[i32], tag: i32) {
    // SAFETY: the slice is readable.
    unsafe { mpi::send(address(data), data.len() as i64, int(), 0, tag, comm()) }.expect("sent");
}

fn isend(data: &[i32], tag: i32) -> Handle<Request> {
    // SAFETY: the callers keep the slice until they have waited.
    unsafe { mpi::isend(address(data), data.len() as i64, int(), 0, tag, comm()) }.expect("started")
}

fn recv(data: &mut [i32], source: i32, tag: i32) -> Result<Status, Error> {
    // SAFETY: the slice is writable.
    unsafe { mpi::recv(address_mut(data), data.len() as i64, int(), source, tag, comm()) }
}

fn irecv(data: &mut [i32], source: i32, tag: i32) -> Handle<Request> {
    // SAFETY: the callers keep the slice until they have waited.
    unsafe { mpi::irecv(address_mut(data), data.len() as i64, int(), source, tag, comm()) }.expect("started")
}

fn address(data: &[i32]) -> *const c_void {
    data.as_ptr().cast()
}

fn address_mut(data: &mut [i32]) -> *mut c_void {
    data.as_mut_ptr().cast()
}

fn class(error: &Error) -> i32 {
    error.code()
}

fn nothing_left() {
    let (found, _) = mpi::iprobe(ANY_SOURCE, ANY_TAG, comm()).expect("probed");
    assert!(!found, "a message was left over");
}

#[test]
fn blocking_and_wildcards() {
    let _world = world();
    send(&[1, 2, 3], 7);
    send(&[4], 8);
    let mut got = [0; 5];
    let status = recv(&mut got, 0, 8).expect("the second overtakes by its tag");
    assert_eq!((status.source, status.tag, status.bytes, status.error), (0, 8, 4, None));
    assert_eq!(got, [4, 0, 0, 0, 0]);
    let status = recv(&mut got, ANY_SOURCE, ANY_TAG).expect("any");
    assert_eq!((status.source, status.tag, status.bytes), (0, 7, 12));
    assert_eq!(mpi::get_count(&status, int()), Ok(3));
    assert_eq!(got, [1, 2, 3, 0, 0]);
    nothing_left();
}

#[test]
fn long_messages() {
    let _world = world();
    let data: Vec<i32> = (0..300_000).collect();
    let mut got = vec![0; data.len()];
    let mut requests = [isend(&data, 1), irecv(&mut got, 0, 1)];
    let statuses = RecordedStatuses::default();
    mpi::waitall(&mut requests, &statuses).expect("all");
    let statuses = statuses.take();
    assert_eq!(got, data);
    assert_eq!(requests, [REQUEST_NULL; 2]);
    assert_eq!(statuses[1].bytes, 1_200_000);
    assert!(statuses.iter().all(|status| status.error.is_none()));
}

#[test]
fn truncation_fills_the_beginning() {
    let _world = world();
    send(&[1, 2, 3, 4], 2);
    let mut got = [0; 2];
    let error = recv(&mut got, 0, 2).expect_err("too long");
    assert_eq!(class(&error), Class::Truncate as i32);
    assert_eq!(got, [1, 2]);
    let completion = error.completion().expect("it completed a receive");
    assert_eq!(
        (completion.status.source, completion.status.tag, completion.status.bytes),
        (0, 2, 8)
    );

    let mut requests = [irecv(&mut got, 0, 3), REQUEST_NULL];
    send(&[5, 6, 7], 3);
    let statuses = RecordedStatuses::default();
    let error = mpi::waitall(&mut requests, &statuses).expect_err("too long");
    let statuses = statuses.take();
    assert_eq!(class(&error), Class::InStatus as i32);
    assert_eq!(statuses[0].error, Some(Class::Truncate as i32));
    assert_eq!(statuses[0].bytes, 8);
    assert_eq!(statuses[1], Status::EMPTY);
    assert_eq!(requests, [REQUEST_NULL; 2]);
    let scope = error.completion().and_then(|completion| completion.scope.clone());
    assert_eq!(scope.expect("the request's").handle(), COMM_SELF);
    nothing_left();
}

#[test]
fn layouts_with_holes() {
    let _world = world();
    let vector = holes(3);
    let data = [1, -1, 2, -1, 3];
    let mut flat = [0; 3];
    // SAFETY: `data` spans the vector.
    unsafe { mpi::send(address(&data), 1, vector, 0, 0, comm()) }.expect("sent");
    recv(&mut flat, 0, 0).expect("same signature");
    assert_eq!(flat, [1, 2, 3]);

    let mut sparse = [0; 5];
    // SAFETY: `sparse` spans the vector, and lives until the request is complete.
    let mut request = unsafe { mpi::irecv(address_mut(&mut sparse), 1, vector, 0, 0, comm()) }.expect("started");
    send(&[7, 8], 0);
    let status = mpi::wait(&mut request).expect("fits");
    assert_eq!(status.bytes, 8);
    assert_eq!(mpi::get_count(&status, vector), Ok(i64::from(UNDEFINED)));
    assert_eq!(mpi::get_elements(&status, vector), Ok(2));
    assert_eq!(sparse, [7, 0, 8, 0, 0]);

    // The type may be freed while it is in use.
    // SAFETY: as above.
    let mut request = unsafe { mpi::irecv(address_mut(&mut sparse), 1, vector, 0, 0, comm()) }.expect("started");
    mpi::type_free(vector.handle()).expect("freed");
    send(&[9, 9, 9], 0);
    mpi::wait(&mut request).expect("fits");
    assert_eq!(sparse, [9, 0, 9, 0, 9]);
}

#[test]
fn nobody() {
    let _world = world();
    let mut got = [5];
    // SAFETY: nothing is read.
    unsafe { mpi::send(address(&got), 1, int(), PROC_NULL, 0, comm()) }.expect("sent to nobody");
    assert_eq!(recv(&mut got, PROC_NULL, ANY_TAG), Ok(Status::NO_PROCESS));
    let mut request = irecv(&mut got, PROC_NULL, 3);
    assert_eq!(mpi::wait(&mut request), Ok(Status::NO_PROCESS));
    assert_eq!(mpi::probe(PROC_NULL, 0, comm()), Ok(Status::NO_PROCESS));
    assert_eq!(mpi::iprobe(PROC_NULL, 0, comm()), Ok((true, Status::NO_PROCESS)));
    let (mut message, _) = mpi::mprobe(PROC_NULL, 0, comm()).expect("nobody");
    assert_eq!(message, MESSAGE_NO_PROC);
    // SAFETY: nothing is written.
    let status = unsafe { mpi::mrecv(address_mut(&mut got), 1, int(), &mut message) };
    assert_eq!(status, Ok(Status::NO_PROCESS));
    assert_eq!(message, MESSAGE_NULL);
    // SAFETY: both are in bounds.
    let status = unsafe { mpi::sendrecv_replace(address_mut(&mut got), 1, int(), PROC_NULL, 0, PROC_NULL, 0, comm()) };
    assert_eq!(status, Ok(Status::NO_PROCESS));
    assert_eq!(got, [5]);
}

#[test]
fn bad_arguments() {
    let _world = world();
    let mut got = [0];
    let buf = address_mut(&mut got);
    // SAFETY: all of these are refused before anything is touched.
    unsafe {
        let error = mpi::send(buf, 1, int(), 7, 0, comm()).expect_err("no such rank");
        assert_eq!(class(&error), Class::Rank as i32);
        assert_eq!(error.detail(), "dest=7, but the communicator has 1 ranks");
        let error = mpi::recv(buf, 1, int(), -9, 0, comm()).expect_err("no such rank");
        assert_eq!(class(&error), Class::Rank as i32);
        let error = mpi::send(buf, 1, int(), ANY_SOURCE, 0, comm()).expect_err("only for receives");
        assert_eq!(class(&error), Class::Rank as i32);
        for tag in [-1, ANY_TAG, TAG_UB + 1, i32::MIN] {
            let error = mpi::send(buf, 1, int(), 0, tag, comm()).expect_err("no tag for a send");
            assert_eq!(class(&error), Class::Tag as i32, "{tag}");
        }
        let error = mpi::recv(buf, 1, int(), 0, -5, comm()).expect_err("no tag");
        assert_eq!(class(&error), Class::Tag as i32);
        let error = mpi::send(std::ptr::null(), 1, int(), 0, 0, comm()).expect_err("null");
        assert_eq!(class(&error), Class::Buffer as i32);
        let error = mpi::send(buf, i64::MAX, int(), 0, 0, comm()).expect_err("too many");
        assert_eq!(class(&error), Class::Count as i32);
        let loose = mpi::type_vector(2, 1, 2, int(), Width::Int)
            .expect("a vector")
            .resolve("datatype")
            .expect("live");
        let error = mpi::send(buf, 1, loose, 0, 0, comm()).expect_err("not committed");
        assert_eq!(class(&error), Class::Type as i32);
        mpi::send(std::ptr::null(), 0, int(), 0, 0, comm()).expect("nothing to read");
        mpi::recv(std::ptr::null_mut(), 0, int(), 0, 0, comm()).expect("nothing to write");
    }
    nothing_left();
}

#[test]
fn bad_requests() {
    let _world = world();
    let mut request = isend(&[1], 0);
    let copy = request;
    mpi::wait(&mut request).expect("sent");
    for raw in [copy.raw(), 0, 77, u32::MAX, COMM_SELF.raw()] {
        let mut bad = Handle::<Request>::from_raw(raw);
        let is_request = |error: &Error| class(error) == Class::Request as i32;
        assert!(mpi::wait(&mut bad).is_err_and(|error| is_request(&error)), "{raw:#x}");
        assert!(mpi::test(&mut bad).is_err_and(|error| is_request(&error)));
        assert!(mpi::waitall(&mut [bad], &RecordedStatuses::default()).is_err_and(|error| is_request(&error)));
        assert!(mpi::waitany(&mut [bad]).is_err_and(|error| is_request(&error)));
        assert!(
            mpi::waitsome(&mut [bad], &mut [0], &RecordedStatuses::default()).is_err_and(|error| is_request(&error))
        );
        assert!(mpi::request_free(bad).is_err_and(|error| is_request(&error)));
        assert!(mpi::request_get_status(bad).is_err_and(|error| is_request(&error)));
        assert!(mpi::cancel(bad).is_err_and(|error| is_request(&error)));
        assert!(mpi::start(&mut bad).is_err_and(|error| is_request(&error)));
        assert!(mpi::grequest_complete(bad).is_err_and(|error| is_request(&error)));
    }
    assert!(mpi::cancel(REQUEST_NULL).is_err());
    assert!(mpi::request_free(REQUEST_NULL).is_err());
    assert_eq!(mpi::wait(&mut REQUEST_NULL.clone()), Ok(Status::EMPTY));
    assert_eq!(mpi::request_get_status(REQUEST_NULL), Ok((true, Status::EMPTY)));
    recv(&mut [0], 0, 0).expect("clean up");
}

#[test]
fn test_and_wait_families() {
    let _world = world();
    let mut got = [[0]; 4];
    let [a, b, c, d] = &mut got;
    let mut requests = [irecv(a, 0, 10), irecv(b, 0, 11), REQUEST_NULL, irecv(c, 0, 12)];
    let statuses = RecordedStatuses::default();
    assert_eq!(mpi::testall(&mut requests, &statuses), Ok(false));
    assert!(statuses.take().is_empty());
    assert_eq!(mpi::testany(&mut requests), Ok((UNDEFINED, false, Status::EMPTY)));
    assert_eq!(
        mpi::testsome(&mut requests, &mut [0; 4], &RecordedStatuses::default()),
        Ok(0)
    );
    assert!(!mpi::test(&mut requests[0]).expect("looked").0);

    send(&[111], 11);
    let (flag, status) = mpi::request_get_status(requests[1]).expect("looked");
    assert_eq!((flag, status.tag), (true, 11));
    let (index, flag, status) = mpi::request_get_status_any(&requests).expect("looked");
    assert_eq!((index, flag, status.tag), (1, true, 11));
    let (index, status) = mpi::waitany(&mut requests).expect("one is there");
    assert_eq!((index, status.tag, requests[1]), (1, 11, REQUEST_NULL));

    send(&[112], 12);
    send(&[110], 10);
    let mut indices = [0; 4];
    assert_eq!(mpi::request_get_status_some(&requests, &mut indices, &statuses), Ok(2));
    assert_eq!((indices, statuses.take_tags()), ([0, 3, 0, 0], vec![10, 12]));
    assert_eq!(
        mpi::request_get_status_all(&requests, &RecordedStatuses::default()),
        Ok(true)
    );
    assert_eq!(mpi::waitsome(&mut requests, &mut indices, &statuses), Ok(2));
    assert_eq!((indices, statuses.take_tags()), ([0, 3, 0, 0], vec![10, 12]));
    assert_eq!(requests, [REQUEST_NULL; 4]);

    let mut none = [REQUEST_NULL; 2];
    assert_eq!(mpi::waitany(&mut none), Ok((UNDEFINED, Status::EMPTY)));
    assert_eq!(mpi::testany(&mut none), Ok((UNDEFINED, true, Status::EMPTY)));
    assert_eq!(
        mpi::waitsome(&mut none, &mut indices, &RecordedStatuses::default()),
        Ok(UNDEFINED)
    );
    assert_eq!(
        mpi::testsome(&mut none, &mut indices, &RecordedStatuses::default()),
        Ok(UNDEFINED)
    );
    assert_eq!(mpi::testall(&mut none, &RecordedStatuses::default()), Ok(true));
    assert_eq!(mpi::waitall(&mut [], &RecordedStatuses::default()), Ok(()));

    let mut last = irecv(d, 0, 13);
    send(&[113], 13);
    let (flag, status) = mpi::test(&mut last).expect("there");
    assert_eq!((flag, status.tag, last), (true, 13, REQUEST_NULL));
    assert_eq!(got, [[110], [111], [112], [113]]);
}

#[test]
fn waitsome_with_a_failure() {
    let _world = world();
    let mut short = [0];
    let mut long = [0; 2];
    let mut requests = [irecv(&mut short, 0, 1), irecv(&mut long, 0, 2)];
    send(&[1, 2], 1);
    send(&[1, 2], 2);
    let mut indices = [9; 2];
    let statuses = RecordedStatuses::default();
    let error = mpi::waitsome(&mut requests, &mut indices, &statuses).expect_err("the first is too long");
    let errors: Vec<_> = statuses.take().iter().map(|status| status.error).collect();
    assert_eq!(class(&error), Class::InStatus as i32);
    assert_eq!(error.completion().map(|completion| completion.index), Some(2));
    assert_eq!(indices, [0, 1]);
    assert_eq!(errors, [Some(Class::Truncate as i32), Some(0)]);
    assert_eq!(requests, [REQUEST_NULL; 2]);

    let mut requests = [REQUEST_NULL, irecv(&mut short, 0, 1)];
    send(&[1, 2], 1);
    let error = mpi::waitany(&mut requests).expect_err("too long");
    assert_eq!(class(&error), Class::Truncate as i32);
    assert_eq!(error.completion().map(|completion| completion.index), Some(1));
}

#[test]
fn synchronous_sends_wait_for_their_receive() {
    let _world = world();
    let data = [3];
    // SAFETY: `data` lives until the request is complete.
    let mut request = unsafe { mpi::issend(address(&data), 1, int(), 0, 0, comm()) }.expect("started");
    assert!(!mpi::test(&mut request).expect("looked").0, "nobody receives yet");
    let mut got = [0];
    recv(&mut got, 0, 0).expect("received");
    assert!(mpi::test(&mut request).expect("looked").0);
    assert_eq!(got, [3]);
}

#[test]
fn both_ways_at_once() {
    let _world = world();
    let data = [1, 2];
    let mut got = [0; 2];
    // SAFETY: both live until the call returns.
    let status = unsafe {
        let (to, from) = (address(&data), address_mut(&mut got));
        mpi::sendrecv(to, 2, int(), 0, 4, from, 2, int(), 0, 4, comm())
    };
    assert_eq!(status.map(|status| status.bytes), Ok(8));
    assert_eq!(got, [1, 2]);

    let long: Vec<i32> = (0..100_000).collect();
    let mut replaced = long.clone();
    // SAFETY: it lives until the call returns.
    unsafe { mpi::sendrecv_replace(address_mut(&mut replaced), 100_000, int(), 0, 1, 0, 1, comm()) }.expect("done");
    assert_eq!(replaced, long);
    // SAFETY: it lives until the request is complete.
    let request = unsafe { mpi::isendrecv_replace(address_mut(&mut replaced), 100_000, int(), 0, 1, 0, 1, comm()) };
    assert_eq!(
        mpi::wait(&mut request.expect("started")).map(|status| status.bytes),
        Ok(400_000)
    );
    assert_eq!(replaced, long);

    let sparse = holes(2);
    let (from, mut to) = ([1, 0, 2], [0; 3]);
    // SAFETY: both span the vector until the request is complete.
    let request = unsafe {
        mpi::isendrecv(
            address(&from),
            1,
            sparse,
            0,
            1,
            address_mut(&mut to),
            1,
            sparse,
            0,
            1,
            comm(),
        )
    };
    mpi::wait(&mut request.expect("started")).expect("done");
    assert_eq!(to, [1, 0, 2]);
    nothing_left();
}

#[test]
fn matched_probes() {
    let _world = world();
    assert_eq!(mpi::improbe(0, 1, comm()), Ok((false, MESSAGE_NULL, Status::EMPTY)));
    send(&[1, 2, 3], 1);
    send(&[4], 1);
    let status = mpi::probe(ANY_SOURCE, ANY_TAG, comm()).expect("there");
    assert_eq!((status.source, status.tag, status.bytes), (0, 1, 12));
    let (mut first, status) = mpi::mprobe(0, 1, comm()).expect("there");
    assert_eq!(status.bytes, 12);
    let mut got = [0; 3];
    recv(&mut got, 0, 1).expect("the second, as the first is taken");
    assert_eq!(got[0], 4);
    let copy = first;
    // SAFETY: `got` lives until the request is complete.
    let request = unsafe { mpi::imrecv(address_mut(&mut got), 3, int(), &mut first) };
    assert_eq!(first, MESSAGE_NULL);
    assert_eq!(
        mpi::wait(&mut request.expect("started")).map(|status| status.bytes),
        Ok(12)
    );
    assert_eq!(got, [1, 2, 3]);
    for raw in [copy.raw(), MESSAGE_NULL.raw(), 0, u32::MAX] {
        let mut bad = Handle::<Message>::from_raw(raw);
        // SAFETY: refused.
        let error = unsafe { mpi::mrecv(address_mut(&mut got), 3, int(), &mut bad) }.expect_err("stale");
        assert_eq!(class(&error), Class::Request as i32);
    }
    send(&[1, 2, 3, 4], 1);
    let (flag, mut message, _) = mpi::improbe(0, 1, comm()).expect("there");
    assert!(flag);
    // SAFETY: in bounds.
    let error = unsafe { mpi::mrecv(address_mut(&mut got), 3, int(), &mut message) }.expect_err("too long");
    assert_eq!(class(&error), Class::Truncate as i32);
    let scope = error.completion().and_then(|completion| completion.scope.clone());
    assert_eq!(scope.expect("the message's").handle(), COMM_SELF);
}

#[test]
fn cancelled_receives() {
    let _world = world();
    let mut got = [0];
    let mut request = irecv(&mut got, 0, 5);
    mpi::cancel(request).expect("cancelled");
    let status = mpi::wait(&mut request).expect("complete");
    assert_eq!(mpi::test_cancelled(&status), Ok(true));

    let mut request = irecv(&mut got, 0, 5);
    send(&[1], 5);
    mpi::cancel(request).expect("too late, which is no error");
    let status = mpi::wait(&mut request).expect("complete");
    assert_eq!(mpi::test_cancelled(&status), Ok(false));
    assert_eq!(got, [1]);

    let mut sparse = [0; 3];
    // SAFETY: it spans the vector until the request is complete.
    let request = unsafe { mpi::irecv(address_mut(&mut sparse), 1, holes(2), 0, 5, comm()) };
    let mut request = request.expect("started");
    mpi::cancel(request).expect("cancelled");
    assert!(mpi::wait(&mut request).expect("complete").cancelled);
    nothing_left();
}

#[test]
fn persistent_requests() {
    let _world = world();
    let mut got = [0];
    let data = std::cell::Cell::new(0);
    // SAFETY: both outlive their requests.
    let mut requests = unsafe {
        [
            mpi::send_init(data.as_ptr().cast(), 1, int(), 0, 6, comm()).expect("prepared"),
            mpi::recv_init(address_mut(&mut got), 1, int(), 0, 6, comm()).expect("prepared"),
        ]
    };
    assert_eq!(mpi::wait(&mut requests[0]), Ok(Status::EMPTY), "inactive");
    assert_eq!(mpi::waitany(&mut requests), Ok((UNDEFINED, Status::EMPTY)));
    assert!(mpi::cancel(requests[0]).is_err());
    for value in 1..4 {
        data.set(value);
        mpi::startall(&mut requests).expect("started");
        assert!(mpi::start(&mut requests[1]).is_err(), "active already");
        let statuses = RecordedStatuses::default();
        mpi::waitall(&mut requests, &statuses).expect("complete");
        assert_eq!(statuses.take()[1].tag, 6);
        assert_ne!(requests[0], REQUEST_NULL);
    }
    // SAFETY: nothing is pending, and only the library wrote it meanwhile.
    assert_eq!(unsafe { std::ptr::read_volatile(&raw const got[0]) }, 3);
    mpi::start(&mut requests[1]).expect("started");
    mpi::cancel(requests[1]).expect("cancelled");
    assert!(mpi::wait(&mut requests[1]).expect("complete").cancelled);
    for request in requests {
        mpi::request_free(request).expect("freed");
    }
    nothing_left();
}

#[test]
fn buffered_sends() {
    let _world = world();
    let data = vec![7; 50_000];
    let bsend = |count: usize| {
        // SAFETY: the slice is readable.
        unsafe { mpi::bsend(address(&data[..count]), count as i64, int(), 0, 1, comm()) }
    };
    assert_eq!(bsend(1).map_err(|error| class(&error)), Err(Class::Buffer as i32));
    let mut space = vec![0u8; 210_000];
    let address = space.as_mut_ptr().cast();
    mpi::buffer_attach(address, 210_000).expect("attached");
    assert!(mpi::buffer_attach(address, 210_000).is_err(), "one at a time");
    bsend(50_000).expect("fits");
    assert_eq!(bsend(50_000).map_err(|error| class(&error)), Err(Class::Buffer as i32));
    let mut flushed = mpi::buffer_iflush().expect("started");
    assert!(!mpi::test(&mut flushed).expect("looked").0);
    let mut got = vec![0; 50_000];
    recv(&mut got, 0, 1).expect("received");
    assert_eq!(got, data);
    mpi::wait(&mut flushed).expect("flushed");
    mpi::buffer_flush().expect("flushed");
    assert_eq!(mpi::buffer_detach(), Ok((address, 210_000)));
    assert!(mpi::buffer_detach().is_err());

    mpi::comm_attach_buffer(comm(), BUFFER_AUTOMATIC, 0).expect("attached");
    bsend(50_000).expect("any number");
    bsend(50_000).expect("any number");
    recv(&mut got, 0, 1).expect("received");
    recv(&mut got, 0, 1).expect("received");
    assert_eq!(mpi::comm_detach_buffer(comm()), Ok((BUFFER_AUTOMATIC, 0)));
    nothing_left();
}

#[test]
fn freed_requests_complete_by_themselves() {
    let _world = world();
    let data: Vec<i32> = (0..100_000).collect();
    mpi::request_free(isend(&data, 1)).expect("freed");
    let mut got = vec![0; data.len()];
    recv(&mut got, 0, 1).expect("received");
    assert_eq!(got, data);

    let mut sparse = [0; 3];
    // SAFETY: it spans the vector until the message is there.
    let request = unsafe { mpi::irecv(address_mut(&mut sparse), 1, holes(2), 0, 5, comm()) };
    mpi::request_free(request.expect("started")).expect("freed");
    send(&[1, 2], 5);
    let mut other = isend(&[0], 6);
    mpi::wait(&mut other).expect("sent");
    // SAFETY: written by the library behind the compiler's back.
    assert_eq!(unsafe { std::ptr::read_volatile(&raw const sparse) }, [1, 0, 2]);
    recv(&mut got, 0, 6).expect("clean up");
    nothing_left();
}

#[test]
fn generalized_requests() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI32, Ordering};
    let _world = world();
    let log = Arc::new(AtomicI32::new(0));
    let start = || {
        let (query, free, cancel) = (Arc::clone(&log), Arc::clone(&log), Arc::clone(&log));
        mpi::grequest_start(
            Arc::new(isthmus_mpi::request::Functions {
                query: Box::new(move |_, status| {
                    query.fetch_add(1, Ordering::Relaxed);
                    // Callbacks may call MPI.
                    mpi::status_set_elements(status, int(), 3).expect("set");
                    mpi::iprobe(ANY_SOURCE, ANY_TAG, comm()).expect("probed");
                    status.tag = 99;
                    0
                }),
                free: Box::new(move |_| {
                    free.fetch_add(100, Ordering::Relaxed);
                    0
                }),
                cancel: Box::new(move |_, complete| {
                    cancel.fetch_add(if complete { 10_000 } else { 20_000 }, Ordering::Relaxed);
                    0
                }),
                poll: None,
                wait: None,
            }),
            std::ptr::null_mut(),
        )
        .expect("started")
    };
    let mut request = start();
    assert!(!mpi::test(&mut request).expect("looked").0);
    mpi::cancel(request).expect("asked");
    assert_eq!(log.swap(0, Ordering::Relaxed), 20_000);
    mpi::grequest_complete(request).expect("complete");
    assert!(mpi::request_get_status(request).expect("looked").0);
    assert_eq!(log.swap(0, Ordering::Relaxed), 1);
    let status = mpi::wait(&mut request).expect("complete");
    assert_eq!((status.tag, mpi::get_count(&status, int())), (99, Ok(3)));
    assert_eq!(log.swap(0, Ordering::Relaxed), 101);
    assert_eq!(request, REQUEST_NULL);

    let request = start();
    mpi::request_free(request).expect("freed");
    assert_eq!(log.load(Ordering::Relaxed), 0, "still under way");
    mpi::grequest_complete(request).expect("complete");
    assert_eq!(log.load(Ordering::Relaxed), 100);
    assert!(mpi::grequest_complete(request).is_err(), "stale");
}

#[test]
fn many_requests() {
    let _world = world();
    let data: Vec<i32> = (0..5000).collect();
    let mut got = vec![0; data.len()];
    let mut requests: Vec<_> = got
        .chunks_mut(1)
        .zip(0..)
        .map(|(slot, tag)| irecv(slot, 0, tag))
        .collect();
    requests.extend(data.chunks(1).rev().map(|value| isend(value, value[0])));
    mpi::waitall(&mut requests, &RecordedStatuses::default()).expect("all");
    assert_eq!(got, data);
    assert!(requests.iter().all(|request| *request == REQUEST_NULL));
}
