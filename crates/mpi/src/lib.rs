//! MPI's objects and semantics on the engine: one typed function per procedure, with 64-bit counts and `Result`.
//!
//! The generated C entry points (`crates/abi`) convert, call a function re-exported from [`procedures`], and hand the
//! error to the object's error handler.
#![allow(unsafe_code)] // User buffers and object tables; each site argues its case.

pub mod abi_info;
pub mod attribute;
mod check;
pub mod coll;
pub mod comm;
pub mod completion;
pub mod constants;
pub mod counts;
pub mod datatype;
mod device;
pub mod environment;
pub mod errhandler;
pub mod error;
pub mod file;
pub mod group;
pub mod handle;
pub mod info;
mod ledger;
pub mod liveness;
pub mod op;
pub mod p2p;
pub mod probe;
pub mod process;
pub mod request;
pub mod session;
pub mod status;
pub mod tool;
pub mod topology;
pub mod win;

pub use isthmus_datatype::fail;

/// Every procedure, by its name without `MPI_`, in lower case.
pub mod procedures {
    // Environment, errors, names: environment.rs, errhandler.rs, info.rs, session.rs, abi_info.rs.
    pub use crate::abi_info::{
        abi_get_fortran_booleans, abi_get_fortran_info, abi_get_info, abi_get_version, abi_set_fortran_booleans,
        abi_set_fortran_info,
    };
    pub use crate::environment::memory::{aint_add, aint_diff, alloc_mem, free_mem, get_address};
    pub use crate::environment::{
        abort, abort_job, finalize, get_hw_resource_info, get_library_version, get_processor_name, get_version, init,
        init_thread, is_thread_main, pcontrol, query_thread, wtick, wtime,
    };
    pub use crate::errhandler::{
        comm_call_errhandler, comm_create_errhandler, comm_get_errhandler, comm_set_errhandler, errhandler_free,
        file_create_errhandler, session_call_errhandler, session_create_errhandler, session_get_errhandler,
        session_set_errhandler, win_call_errhandler, win_create_errhandler, win_get_errhandler, win_set_errhandler,
    };
    pub use crate::info::{
        info_create, info_create_env, info_delete, info_dup, info_free, info_get, info_get_nkeys, info_get_nthkey,
        info_get_string, info_get_valuelen, info_set,
    };
    pub use crate::process::codes::{
        add_error_class, add_error_code, add_error_string, error_class, error_string, remove_error_class,
        remove_error_code, remove_error_string,
    };
    pub use crate::process::{finalized, initialized};
    pub use crate::session::{
        group_from_session_pset, session_finalize, session_get_info, session_get_nth_pset, session_get_num_psets,
        session_get_pset_info, session_init,
    };

    // Groups and communicators: group.rs, comm.rs, attribute.rs.
    pub use crate::comm::{
        comm_compare, comm_create, comm_create_from_group, comm_create_group, comm_create_keyval, comm_delete_attr,
        comm_disconnect, comm_dup, comm_dup_with_info, comm_free, comm_free_keyval, comm_get_attr, comm_get_info,
        comm_get_name, comm_get_parent, comm_group, comm_idup, comm_idup_with_info, comm_rank, comm_remote_group,
        comm_remote_size, comm_set_attr, comm_set_info, comm_set_name, comm_size, comm_split, comm_split_type,
        comm_test_inter, intercomm_create, intercomm_create_from_groups, intercomm_merge,
    };
    pub use crate::group::{
        group_compare, group_difference, group_excl, group_free, group_incl, group_intersection, group_range_excl,
        group_range_incl, group_rank, group_size, group_translate_ranks, group_union,
    };

    // Going on after failures: liveness.rs.
    pub use crate::liveness::{
        comm_ack_failed as mpix_comm_ack_failed, comm_agree as mpix_comm_agree,
        comm_failure_ack as mpix_comm_failure_ack, comm_failure_get_acked as mpix_comm_failure_get_acked,
        comm_get_failed as mpix_comm_get_failed, comm_is_revoked as mpix_comm_is_revoked,
        comm_revoke as mpix_comm_revoke, comm_shrink as mpix_comm_shrink,
    };

    // Datatypes, operations, collectives: datatype.rs, op.rs, coll.rs.
    pub use crate::coll::{
        allgather, allgather_init, allgatherv, allgatherv_init, allreduce, allreduce_init, alltoall, alltoall_init,
        alltoallv, alltoallv_init, alltoallw, alltoallw_init, barrier, barrier_init, bcast, bcast_init, exscan,
        exscan_init, gather, gather_init, gatherv, gatherv_init, iallgather, iallgatherv, iallreduce, ialltoall,
        ialltoallv, ialltoallw, ibarrier, ibcast, iexscan, igather, igatherv, ireduce, ireduce_scatter,
        ireduce_scatter_block, iscan, iscatter, iscatterv, reduce, reduce_init, reduce_scatter, reduce_scatter_block,
        reduce_scatter_block_init, reduce_scatter_init, scan, scan_init, scatter, scatter_init, scatterv,
        scatterv_init,
    };
    pub use crate::datatype::{
        get_count, get_elements, pack, pack_external, pack_external_size, pack_size, status_set_elements, type_commit,
        type_contiguous, type_create_darray, type_create_f90_complex, type_create_f90_integer, type_create_f90_real,
        type_create_hindexed, type_create_hindexed_block, type_create_hvector, type_create_indexed_block,
        type_create_keyval, type_create_resized, type_create_struct, type_create_subarray, type_delete_attr, type_dup,
        type_free, type_free_keyval, type_get_attr, type_get_contents, type_get_envelope, type_get_extent,
        type_get_name, type_get_true_extent, type_get_value_index, type_indexed, type_iov, type_iov_len,
        type_match_size, type_set_attr, type_set_name, type_size, type_vector, unpack, unpack_external,
    };
    pub use crate::op::{op_commutative, op_create, op_free, reduce_local};

    // Topologies: topology.rs, coll/neighbor.rs.
    pub use crate::coll::{
        ineighbor_allgather, ineighbor_allgatherv, ineighbor_alltoall, ineighbor_alltoallv, ineighbor_alltoallw,
        neighbor_allgather, neighbor_allgather_init, neighbor_allgatherv, neighbor_allgatherv_init, neighbor_alltoall,
        neighbor_alltoall_init, neighbor_alltoallv, neighbor_alltoallv_init, neighbor_alltoallw,
        neighbor_alltoallw_init,
    };
    pub use crate::topology::{
        cart_coords, cart_create, cart_get, cart_map, cart_rank, cart_shift, cart_sub, cartdim_get, dims_create,
        dist_graph_create, dist_graph_create_adjacent, dist_graph_neighbors, dist_graph_neighbors_count, graph_create,
        graph_get, graph_map, graph_neighbors, graph_neighbors_count, graphdims_get, topo_test,
    };

    // Point-to-point: p2p.rs, request.rs, status.rs, probe.rs.
    pub use crate::p2p::{
        bsend, bsend_init, buffer_attach, buffer_detach, buffer_flush, buffer_iflush, comm_attach_buffer,
        comm_detach_buffer, comm_flush_buffer, comm_iflush_buffer, ibsend, irecv, irsend, isend, isendrecv,
        isendrecv_replace, issend, parrived, pready, pready_list, pready_range, precv_init, psend_init, recv,
        recv_init, rsend, rsend_init, send, send_init, sendrecv, sendrecv_replace, session_attach_buffer,
        session_detach_buffer, session_flush_buffer, session_iflush_buffer, ssend, ssend_init,
    };
    pub use crate::probe::{improbe, imrecv, iprobe, mprobe, mrecv, probe};
    pub use crate::request::{
        cancel, grequest_complete, grequest_start, request_free, request_get_status, request_get_status_all,
        request_get_status_any, request_get_status_some, start, startall, test, testall, testany, testsome, wait,
        waitall, waitany, waitsome,
    };
    pub use crate::status::{
        status_get_error, status_get_source, status_get_tag, status_set_cancelled, status_set_error, status_set_source,
        status_set_tag, test_cancelled,
    };

    // Files: file.rs.
    pub use crate::errhandler::{file_call_errhandler, file_get_errhandler, file_set_errhandler};
    pub use crate::file::{
        file_close, file_delete, file_get_amode, file_get_atomicity, file_get_byte_offset, file_get_group,
        file_get_info, file_get_position, file_get_position_shared, file_get_size, file_get_type_extent, file_get_view,
        file_iread, file_iread_all, file_iread_at, file_iread_at_all, file_iread_shared, file_iwrite, file_iwrite_all,
        file_iwrite_at, file_iwrite_at_all, file_iwrite_shared, file_open, file_open_refused, file_preallocate,
        file_read, file_read_all, file_read_all_begin, file_read_all_end, file_read_at, file_read_at_all,
        file_read_at_all_begin, file_read_at_all_end, file_read_ordered, file_read_ordered_begin,
        file_read_ordered_end, file_read_shared, file_refused, file_seek, file_seek_shared, file_set_atomicity,
        file_set_info, file_set_size, file_set_view, file_sync, file_write, file_write_all, file_write_all_begin,
        file_write_all_end, file_write_at, file_write_at_all, file_write_at_all_begin, file_write_at_all_end,
        file_write_ordered, file_write_ordered_begin, file_write_ordered_end, file_write_shared, register_datarep,
    };

    // Windows: win.rs.
    pub use crate::win::{
        accumulate, compare_and_swap, fetch_and_op, get, get_accumulate, put, raccumulate, rget, rget_accumulate, rput,
        win_allocate, win_allocate_shared, win_attach, win_complete, win_create, win_create_dynamic, win_create_keyval,
        win_delete_attr, win_detach, win_fence, win_flush, win_flush_all, win_flush_local, win_flush_local_all,
        win_free, win_free_keyval, win_get_attr, win_get_group, win_get_info, win_get_name, win_lock, win_lock_all,
        win_post, win_set_attr, win_set_info, win_set_name, win_shared_query, win_start, win_sync, win_test,
        win_unlock, win_unlock_all, win_wait,
    };
}
