//! What crosses the border to libfabric: the structures and function tables of its API 1.17, as `<rdma/fabric.h>`, `fi_domain.h`,
//! `fi_endpoint.h`, `fi_eq.h`, `fi_rma.h` and `fi_cm.h` lay them out, as far as they are used. Later versions append fields only.
#![allow(missing_docs)] // The names are libfabric's, and stand in its manual.

use libc::{c_char, c_int, c_void};

pub const VERSION: u32 = 1 << 16 | 17;

pub const CAP_MSG: u64 = 1 << 1;
pub const CAP_RMA: u64 = 1 << 2;
pub const READ: u64 = 1 << 8;
pub const WRITE: u64 = 1 << 9;
pub const RECV: u64 = 1 << 10;
pub const SEND: u64 = 1 << 11;
pub const REMOTE_READ: u64 = 1 << 12;
pub const REMOTE_WRITE: u64 = 1 << 13;
pub const COMPLETION: u64 = 1 << 24;
pub const DELIVERY_COMPLETE: u64 = 1 << 28;
pub const TRANSMIT: u64 = SEND;
pub const MODE_CONTEXT: u64 = 1 << 59;
pub const MODE_CONTEXT2: u64 = 1 << 52;
pub const ORDER_SAS: u64 = 1 << 8;
pub const MR_LOCAL: c_int = 1 << 2;
pub const MR_VIRT_ADDR: c_int = 1 << 4;
pub const MR_ALLOCATED: c_int = 1 << 5;
pub const MR_PROV_KEY: c_int = 1 << 6;
pub const MR_ENDPOINT: c_int = 1 << 9;
pub const EP_RDM: c_int = 3;
pub const THREAD_DOMAIN: c_int = 3;
pub const AV_TABLE: c_int = 2;
pub const WAIT_NONE: c_int = 0;
pub const WAIT_SET: c_int = 2;
pub const WAIT_FD: c_int = 3;
pub const CQ_FORMAT_MSG: c_int = 2;
pub const GETWAIT: c_int = 5;
pub const ENABLE: c_int = 6;
pub const ADDR_UNSPEC: u64 = u64::MAX;
pub const SOCKADDR_IN: u32 = 2;
pub const SOCKADDR_IN6: u32 = 3;
pub const EAGAIN: isize = 11;
pub const ENOKEY: isize = 266;
pub const EAVAIL: isize = 259;
pub const ETIMEDOUT: c_int = 110;

#[repr(C)]
pub struct TxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub tclass: u32,
}

#[repr(C)]
pub struct RxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
    pub iov_limit: usize,
}

#[repr(C)]
pub struct EpAttr {
    pub kind: c_int,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
}

#[repr(C)]
pub struct DomainAttr {
    pub domain: *mut c_void,
    pub name: *mut c_char,
    pub threading: c_int,
    pub control_progress: c_int,
    pub data_progress: c_int,
    pub resource_mgmt: c_int,
    pub av_type: c_int,
    pub mr_mode: c_int,
    pub mr_key_size: usize,
    pub cq_data_size: usize,
}

#[repr(C)]
pub struct FabricAttr {
    pub fabric: *mut c_void,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}

#[repr(C)]
pub struct Info {
    pub next: *mut Info,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: *mut c_void,
    pub dest_addr: *mut c_void,
    pub handle: *mut c_void,
    pub tx_attr: *mut TxAttr,
    pub rx_attr: *mut RxAttr,
    pub ep_attr: *mut EpAttr,
    pub domain_attr: *mut DomainAttr,
    pub fabric_attr: *mut FabricAttr,
    pub nic: *mut c_void,
}

/// `struct fid`: what every object begins with.
#[repr(C)]
pub struct Fid {
    pub class: usize,
    pub context: *mut c_void,
    pub ops: *const FidOps,
}

#[repr(C)]
pub struct FidOps {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct Fabric {
    pub fid: Fid,
    pub ops: *const FabricOps,
    pub api_version: u32,
}

#[repr(C)]
pub struct FabricOps {
    pub size: usize,
    pub domain: unsafe extern "C" fn(*mut Fabric, *mut Info, *mut *mut Domain, *mut c_void) -> c_int,
    pub passive_ep: *const c_void,
    pub eq_open: *const c_void,
    pub wait_open: unsafe extern "C" fn(*mut Fabric, *mut WaitAttr, *mut *mut Wait) -> c_int,
    pub trywait: unsafe extern "C" fn(*mut Fabric, *mut *mut Fid, c_int) -> c_int,
}

#[repr(C)]
pub struct WaitAttr {
    pub wait_obj: c_int,
    pub flags: u64,
}

#[repr(C)]
pub struct Wait {
    pub fid: Fid,
    pub ops: *const WaitOps,
}

#[repr(C)]
pub struct WaitOps {
    pub size: usize,
    pub wait: unsafe extern "C" fn(*mut Wait, c_int) -> c_int,
}

#[repr(C)]
pub struct Domain {
    pub fid: Fid,
    pub ops: *const DomainOps,
    pub mr: *const MrOps,
}

#[repr(C)]
pub struct DomainOps {
    pub size: usize,
    pub av_open: unsafe extern "C" fn(*mut Domain, *mut AvAttr, *mut *mut Av, *mut c_void) -> c_int,
    pub cq_open: unsafe extern "C" fn(*mut Domain, *mut CqAttr, *mut *mut Cq, *mut c_void) -> c_int,
    pub endpoint: unsafe extern "C" fn(*mut Domain, *mut Info, *mut *mut Ep, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct MrOps {
    pub size: usize,
    pub reg:
        unsafe extern "C" fn(*mut Fid, *const c_void, usize, u64, u64, u64, u64, *mut *mut Mr, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct Mr {
    pub fid: Fid,
    pub mem_desc: *mut c_void,
    pub key: u64,
}

#[repr(C)]
pub struct AvAttr {
    pub kind: c_int,
    pub rx_ctx_bits: c_int,
    pub count: usize,
    pub ep_per_node: usize,
    pub name: *const c_char,
    pub map_addr: *mut c_void,
    pub flags: u64,
}

#[repr(C)]
pub struct Av {
    pub fid: Fid,
    pub ops: *const AvOps,
}

#[repr(C)]
pub struct AvOps {
    pub size: usize,
    pub insert: unsafe extern "C" fn(*mut Av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
}

#[repr(C)]
pub struct CqAttr {
    pub size: usize,
    pub flags: u64,
    pub format: c_int,
    pub wait_obj: c_int,
    pub signaling_vector: c_int,
    pub wait_cond: c_int,
    pub wait_set: *mut c_void,
}

#[repr(C)]
pub struct Cq {
    pub fid: Fid,
    pub ops: *const CqOps,
}

#[repr(C)]
pub struct CqOps {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut Cq, *mut c_void, usize) -> isize,
    pub readfrom: *const c_void,
    pub readerr: unsafe extern "C" fn(*mut Cq, *mut CqErrEntry, u64) -> isize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CqEntry {
    pub context: *mut c_void,
    pub flags: u64,
    pub length: usize,
}

#[repr(C)]
pub struct CqErrEntry {
    pub context: *mut c_void,
    pub flags: u64,
    pub length: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
}

#[repr(C)]
pub struct Ep {
    pub fid: Fid,
    pub ops: *const c_void,
    pub cm: *const CmOps,
    pub msg: *const MsgOps,
    pub rma: *const RmaOps,
}

#[repr(C)]
pub struct CmOps {
    pub size: usize,
    pub setname: *const c_void,
    pub getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
}

#[repr(C)]
pub struct MsgOps {
    pub size: usize,
    pub recv: unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
    pub recvv: *const c_void,
    pub recvmsg: *const c_void,
    pub send: unsafe extern "C" fn(*mut Ep, *const c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
    pub sendv: *const c_void,
    pub sendmsg: *const c_void,
    pub inject: unsafe extern "C" fn(*mut Ep, *const c_void, usize, u64) -> isize,
}

#[repr(C)]
pub struct RmaOps {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
    pub readv: *const c_void,
    pub readmsg: *const c_void,
    pub write: *const c_void,
    pub writev: *const c_void,
    pub writemsg: unsafe extern "C" fn(*mut Ep, *const MsgRma, u64) -> isize,
}

/// `struct fi_msg_rma`.
#[repr(C)]
pub struct MsgRma {
    pub msg_iov: *const libc::iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: u64,
    pub rma_iov: *const RmaIov,
    pub rma_iov_count: usize,
    pub context: *mut c_void,
    pub data: u64,
}

/// `struct fi_rma_iov`.
#[repr(C)]
pub struct RmaIov {
    pub addr: u64,
    pub len: usize,
    pub key: u64,
}

/// `struct fi_context2`: the provider's, for as long as the operation is under way.
#[repr(C)]
#[derive(Debug)]
pub struct Context(pub [*mut c_void; 8]);

const _: () = assert!(size_of::<CqErrEntry>() == 80 && size_of::<Info>() == 120 && size_of::<CqAttr>() == 40);
