/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * What programs and the kernel module "isthmus" say to one another through /dev/isthmus.
 *
 * A process opens the device, agrees on a version, and names the job that it belongs to by a secret key. It declares regions of
 * its memory, each of which gets a cookie of 128 random bits; other processes of the same user and the same job copy between
 * a cookie and memory of their own, while the owner does nothing.
 */
#ifndef ISTHMUS_UAPI_H
#define ISTHMUS_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define ISTHMUS_DEVICE "/dev/isthmus"

/* Versions of this interface. */
#define ISTHMUS_VERSION_MIN 1
#define ISTHMUS_VERSION_MAX 1

/* Bytes of keys and cookies. */
#define ISTHMUS_KEY 16

/* What a module can do (struct isthmus_version.features). */
#define ISTHMUS_FEATURE_THREAD (1u << 0)   /* copies by a kernel thread */
#define ISTHMUS_FEATURE_DMA (1u << 1)      /* copies by a DMA engine, or what stands for one */
#define ISTHMUS_FEATURE_HARDWARE (1u << 2) /* ... which is a real one */
#define ISTHMUS_FEATURE_HUGE (1u << 3)     /* one mapping per huge page */
#define ISTHMUS_FEATURE_TIMED (1u << 4)    /* copies that say what they took */

/* First of all. In: the versions that the program knows. Out: the one to use, and what there is. EPROTO: none fits. */
struct isthmus_version {
	__u32 min;
	__u32 max;
	__u32 version;
	__u32 features;
};

/* Second. The job's secret: cookies of other jobs are of no use. EBUSY: there is one already. */
struct isthmus_join {
	__u8 key[ISTHMUS_KEY];
};

/* Bytes in an address space. */
struct isthmus_segment {
	__u64 address;
	__u64 length;
};

/* Peers may read, and write, a region; it dies with its first use; it is the whole address space, and offsets are addresses. */
#define ISTHMUS_REGION_READ (1u << 0)
#define ISTHMUS_REGION_WRITE (1u << 1)
#define ISTHMUS_REGION_ONCE (1u << 2)
#define ISTHMUS_REGION_WHOLE (1u << 3)

/* Declare a region. Out: its cookie. ENOSPC: too many; E2BIG: too many segments. */
struct isthmus_declare {
	__u64 segments; /* struct isthmus_segment[count]; none of a whole address space */
	__u32 count;
	__u32 flags;
	__u8 cookie[ISTHMUS_KEY];
};

/* Take a region back. ENOENT: there is no such region of this process. */
struct isthmus_retire {
	__u8 cookie[ISTHMUS_KEY];
};

/* To the region rather than from it; one mapping per 4 KiB page even in huge pages (to compare); later, by a kernel thread or
   a DMA engine. */
#define ISTHMUS_COPY_WRITE (1u << 0)
#define ISTHMUS_COPY_SMALL_MAPPINGS (1u << 1)
#define ISTHMUS_COPY_THREAD (1u << 2)
#define ISTHMUS_COPY_DMA (1u << 3)

/*
 * Copy between a region, from this offset on, and memory of the caller, as much as its segments hold.
 *
 * Out: bytes copied, also if it fails after some of them. A call copies ISTHMUS_COPY_MAX bytes at most. ENOENT: no such cookie;
 * EACCES: not of this job, user, or for this direction; ESRCH: its owner has ended; EFAULT: a hole on either side; EINVAL: beyond
 * the region; EINTR: a signal came.
 *
 * Later: the call returns at once, and `status` (of the caller's memory, aligned to its size) tells the end.
 */
struct isthmus_copy {
	__u8 cookie[ISTHMUS_KEY];
	__u64 offset;
	__u64 segments; /* struct isthmus_segment[count] */
	__u32 count;
	__u32 flags;
	__u64 status; /* struct isthmus_status *; 0 unless later */
	__u64 done;
};

/* A copy that is made now, and what it took by the kernel's clock. Reading the clock takes time, too, at each mapping. */
struct isthmus_timed {
	struct isthmus_copy copy;
	__u64 pin_ns;  /* to find and pin pages of the region, and to let them go */
	__u64 map_ns;  /* to map them, and to take that back */
	__u64 copy_ns; /* to copy their bytes */
};

#define ISTHMUS_STATUS_PENDING 0
#define ISTHMUS_STATUS_DONE 1

/* The end of a copy that is made later; `state` is written last. */
struct isthmus_status {
	__u32 state;
	__s32 error; /* 0, or as a negative errno */
	__u64 done;
};

/* What this process holds, and the module in all. For tests and for people. */
struct isthmus_usage {
	__u32 regions;
	__u32 jobs;
	__u64 pinned; /* pages */
	__u64 all_regions;
	__u64 all_pinned;
};

/* Limits. */
#define ISTHMUS_MAX_REGIONS 4096u
#define ISTHMUS_MAX_SEGMENTS 8192u
#define ISTHMUS_MAX_ALL_SEGMENTS 65536u
#define ISTHMUS_MAX_JOBS 64u
#define ISTHMUS_COPY_MAX (1ull << 30)

#define ISTHMUS_IOC 0xB5
#define ISTHMUS_IOC_VERSION _IOWR(ISTHMUS_IOC, 0, struct isthmus_version)
#define ISTHMUS_IOC_JOIN _IOW(ISTHMUS_IOC, 1, struct isthmus_join)
#define ISTHMUS_IOC_DECLARE _IOWR(ISTHMUS_IOC, 2, struct isthmus_declare)
#define ISTHMUS_IOC_RETIRE _IOW(ISTHMUS_IOC, 3, struct isthmus_retire)
#define ISTHMUS_IOC_COPY _IOWR(ISTHMUS_IOC, 4, struct isthmus_copy)
#define ISTHMUS_IOC_USAGE _IOR(ISTHMUS_IOC, 5, struct isthmus_usage)
#define ISTHMUS_IOC_TIMED _IOWR(ISTHMUS_IOC, 6, struct isthmus_timed)

#endif
