// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the module's ioctls, to be run where it is loaded (in the virtual machine of `cargo xtask test --only kmod`):
 * kit TEST [SEED]. Prints what is wrong and exits with 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../isthmus_uapi.h"

#define CHECK(what, ...) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #what); \
			fprintf(stderr, __VA_ARGS__); \
			fprintf(stderr, " (%s)\n", strerror(errno)); \
			exit(1); \
		} \
	} while (0)

/* What a call is to answer: 0, or an errno. */
#define GIVES(call, wanted) \
	do { \
		errno = 0; \
		int result_ = (call); \
		int found_ = result_ < 0 ? errno : 0; \
		CHECK(found_ == (wanted), "%d instead of %d", found_, (wanted)); \
	} while (0)

typedef struct isthmus_segment segment;

static const __u8 job[ISTHMUS_KEY] = "the job's secret";

static int open_device(void) {
	int device = open(ISTHMUS_DEVICE, O_RDWR | O_CLOEXEC);
	CHECK(device >= 0, "the device");
	return device;
}

static int join(const __u8 *key) {
	int device = open_device();
	struct isthmus_version version = { .min = 1, .max = 7 };
	struct isthmus_join joined;
	memcpy(joined.key, key, ISTHMUS_KEY);
	GIVES(ioctl(device, ISTHMUS_IOC_VERSION, &version), 0);
	CHECK(version.version == 1, "version %u", version.version);
	GIVES(ioctl(device, ISTHMUS_IOC_JOIN, &joined), 0);
	return device;
}

static int declare(int device, const segment *segments, unsigned count, unsigned flags, __u8 *cookie) {
	struct isthmus_declare call = { .segments = (uintptr_t)segments, .count = count, .flags = flags };
	int result = ioctl(device, ISTHMUS_IOC_DECLARE, &call);
	memcpy(cookie, call.cookie, ISTHMUS_KEY);
	return result;
}

static __u64 done;

static int copy(int device, const __u8 *cookie, __u64 offset, const segment *segments, unsigned count, unsigned flags,
		volatile struct isthmus_status *status) {
	struct isthmus_copy call = { .offset = offset,
				     .segments = (uintptr_t)segments,
				     .count = count,
				     .flags = flags,
				     .status = (uintptr_t)status };
	memcpy(call.cookie, cookie, ISTHMUS_KEY);
	int result = ioctl(device, ISTHMUS_IOC_COPY, &call);
	done = call.done;
	return result;
}

static void *memory(size_t bytes, int flags) {
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | flags, -1, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void paint(unsigned char *at, size_t bytes, unsigned seed) {
	uint32_t state = seed * 2654435761u | 1;
	for (size_t i = 0; i < bytes; i++) {
		state = state * 1664525u + 1013904223u;
		at[i] = (unsigned char)(state >> 24);
	}
}

static double now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct isthmus_usage usage(int device) {
	struct isthmus_usage usage;
	GIVES(ioctl(device, ISTHMUS_IOC_USAGE, &usage), 0);
	return usage;
}

/* A peer: a child that has the region `length` bytes at `private` filled with `seed`, and has told its cookies. */
struct shared {
	volatile int ready;
	volatile int go;
	__u8 cookie[4][ISTHMUS_KEY];
	segment segments[8192];
	unsigned count;
	unsigned char *private;
};

enum { READ = ISTHMUS_REGION_READ, WRITE = ISTHMUS_REGION_WRITE, ONCE = ISTHMUS_REGION_ONCE };

static pid_t peer(struct shared *shared, size_t length, int map_flags, const __u8 *key, void (*prepare)(struct shared *)) {
	pid_t child = fork();
	CHECK(child >= 0, "fork");
	if (child)
		return child;
	shared->private = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | map_flags, -1, 0);
	CHECK(shared->private != MAP_FAILED, "memory");
	if (map_flags == 0 && length >= 4 << 20)
		madvise(shared->private, length, MADV_HUGEPAGE);
	paint(shared->private, length, 7);
	int device = join(key);
	if (prepare)
		prepare(shared);
	if (!shared->count) {
		shared->segments[0] = (segment){ (uintptr_t)shared->private, length };
		shared->count = 1;
	}
	GIVES(declare(device, shared->segments, shared->count, READ | WRITE, shared->cookie[0]), 0);
	GIVES(declare(device, shared->segments, shared->count, READ, shared->cookie[1]), 0);
	GIVES(declare(device, shared->segments, shared->count, READ | WRITE | ONCE, shared->cookie[2]), 0);
	GIVES(declare(device, NULL, 0, READ | WRITE | ISTHMUS_REGION_WHOLE, shared->cookie[3]), 0);
	shared->ready = 1;
	for (;;)
		usleep(1000);
}

static void await(struct shared *shared) {
	double end = now() + 60;
	while (!shared->ready)
		CHECK(now() < end, "the peer is not ready");
}

static void end(pid_t child) {
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void await_status(volatile struct isthmus_status *status) {
	double end = now() + 60;
	while (__atomic_load_n(&status->state, __ATOMIC_ACQUIRE) == ISTHMUS_STATUS_PENDING)
		CHECK(now() < end, "a copy that is made later does not end");
}

/* Every way to copy: flags, and whether it is later. */
static const unsigned ways[] = { 0, ISTHMUS_COPY_SMALL_MAPPINGS, ISTHMUS_COPY_THREAD, ISTHMUS_COPY_DMA };

static int copy_by(unsigned way, int device, const __u8 *cookie, __u64 offset, const segment *segments, unsigned count,
		   unsigned flags) {
	static struct isthmus_status status __attribute__((aligned(16)));
	int later = way & (ISTHMUS_COPY_THREAD | ISTHMUS_COPY_DMA);
	memset(&status, 0, sizeof status);
	int result = copy(device, cookie, offset, segments, count, flags | way, later ? &status : NULL);
	if (result == 0 && later) {
		await_status(&status);
		done = status.done;
		if (status.error) {
			errno = -status.error;
			return -1;
		}
	}
	return result;
}

static void versions(void) {
	int device = open_device();
	struct isthmus_version version = { .min = 2, .max = 9 };
	__u8 cookie[ISTHMUS_KEY];
	segment one = { (uintptr_t)&version, 8 };
	struct isthmus_join joined = { .key = { 1 } };
	GIVES(ioctl(device, ISTHMUS_IOC_JOIN, &joined), EPROTO);
	GIVES(declare(device, &one, 1, READ, cookie), EPROTO);
	GIVES(ioctl(device, ISTHMUS_IOC_VERSION, &version), EPROTO);
	version = (struct isthmus_version){ .min = 0, .max = 0 };
	GIVES(ioctl(device, ISTHMUS_IOC_VERSION, &version), EPROTO);
	version = (struct isthmus_version){ .min = 5, .max = 1 };
	GIVES(ioctl(device, ISTHMUS_IOC_VERSION, &version), EPROTO);
	version = (struct isthmus_version){ .min = 0, .max = 1000 };
	GIVES(ioctl(device, ISTHMUS_IOC_VERSION, &version), 0);
	CHECK(version.version == 1 && (version.features & ISTHMUS_FEATURE_HUGE), "version %u", version.version);
	GIVES(declare(device, &one, 1, READ, cookie), ENOTCONN);
	GIVES(ioctl(device, ISTHMUS_IOC_JOIN, &joined), 0);
	GIVES(ioctl(device, ISTHMUS_IOC_JOIN, &joined), EBUSY);
	GIVES(ioctl(device, 0x1234, &joined), ENOTTY);
	GIVES(ioctl(device, _IOWR(ISTHMUS_IOC, 77, struct isthmus_copy), &joined), ENOTTY);
	close(device);
}

/* Any cut of either side, in both directions, in every way. */
static void cut(struct shared *shared) {
	size_t at = 0;
	for (shared->count = 0; shared->count < 300; shared->count++) {
		size_t length = (shared->count * 37) % 5000;
		shared->segments[shared->count] = (segment){ (uintptr_t)shared->private + at, length };
		at += length + 13;
	}
}

static void basic(void) {
	const size_t length = 2 << 20;
	struct shared *shared = memory(sizeof *shared, 0);
	pid_t child = peer(shared, length, 0, job, cut);
	int device = join(job);
	await(shared);
	unsigned char *wanted = malloc(length), *ours = memory(length, 0), *image = malloc(length);
	paint(image, length, 7);
	__u64 total = 0;
	for (unsigned i = 0; i < shared->count; i++) {
		memcpy(wanted + total, image + (shared->segments[i].address - (uintptr_t)shared->private), shared->segments[i].length);
		total += shared->segments[i].length;
	}
	segment local[100];
	for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++) {
		/* Out of the middle, into pieces. */
		const __u64 offset = 12345;
		__u64 bytes = 0;
		memset(ours, 0xee, length);
		for (unsigned i = 0; i < 100; i++) {
			local[i] = (segment){ (uintptr_t)ours + 7 + i * 5000, (i * 53) % 4700 };
			bytes += local[i].length;
		}
		GIVES(copy_by(ways[way], device, shared->cookie[0], offset, local, 100, 0), 0);
		CHECK(done == bytes, "way %u: %llu of %llu", way, done, bytes);
		__u64 at = offset;
		for (unsigned i = 0; i < 100; i++) {
			CHECK(!memcmp(ours + 7 + i * 5000, wanted + at, local[i].length), "way %u: piece %u", way, i);
			CHECK(ours[7 + i * 5000 + local[i].length] == 0xee, "way %u: beyond piece %u", way, i);
			at += local[i].length;
		}
		/* Back, changed, and once more out of the peer's whole address space. */
		paint(ours, 100000, way);
		segment row = { (uintptr_t)ours, 100000 };
		GIVES(copy_by(ways[way], device, shared->cookie[0], 777, &row, 1, ISTHMUS_COPY_WRITE), 0);
		memcpy(wanted + 777, ours, 100000);
		row.length = shared->segments[50].length;
		GIVES(copy_by(ways[way], device, shared->cookie[3], shared->segments[50].address, &row, 1, 0), 0);
		__u64 before = 0;
		for (unsigned i = 0; i < 50; i++)
			before += shared->segments[i].length;
		CHECK(!memcmp(ours, wanted + before, row.length), "way %u: whole address space", way);
		row.length = total;
		GIVES(copy_by(ways[way], device, shared->cookie[0], 0, &row, 1, 0), 0);
		CHECK(!memcmp(ours, wanted, total), "way %u: all of it", way);
	}
	/* Beyond the region, holes, wrong directions. */
	segment row = { (uintptr_t)ours, 100 }, hole = { 8, 100 };
	GIVES(copy(device, shared->cookie[0], total - 99, &row, 1, 0, NULL), EINVAL);
	GIVES(copy(device, shared->cookie[0], ~0ull, &row, 1, 0, NULL), EINVAL);
	GIVES(copy(device, shared->cookie[0], 0, &hole, 1, 0, NULL), EFAULT);
	GIVES(copy(device, shared->cookie[3], 8, &row, 1, 0, NULL), EFAULT);
	GIVES(copy(device, shared->cookie[3], 8, &row, 1, ISTHMUS_COPY_WRITE, NULL), EFAULT);
	GIVES(copy(device, shared->cookie[1], 0, &row, 1, ISTHMUS_COPY_WRITE, NULL), EACCES);
	GIVES(copy(device, shared->cookie[1], 0, &row, 1, 0, NULL), 0);
	GIVES(copy(device, shared->cookie[2], 0, &row, 1, 0, NULL), 0);
	GIVES(copy(device, shared->cookie[2], 0, &row, 1, 0, NULL), ENOENT);
	GIVES(copy(device, shared->cookie[0], 0, NULL, 0, 0, NULL), 0);
	GIVES(copy(device, shared->cookie[0], 0, &row, 9000, 0, NULL), E2BIG);
	GIVES(copy(device, shared->cookie[0], 0, &row, 1, ISTHMUS_COPY_THREAD, NULL), EINVAL);
	/* Half of a hole. */
	unsigned char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(two + 4096, 4096);
	row = (segment){ (uintptr_t)two, 8192 };
	GIVES(copy(device, shared->cookie[0], 0, &row, 1, 0, NULL), EFAULT);
	CHECK(done >= 4096 - 64 && done <= 4096, "%llu bytes before a hole", done);
	/* Another's cookie with one bit wrong. */
	row = (segment){ (uintptr_t)ours, 100 };
	__u8 wrong[ISTHMUS_KEY];
	memcpy(wrong, shared->cookie[0], ISTHMUS_KEY);
	wrong[15] ^= 1;
	GIVES(copy(device, wrong, 0, &row, 1, 0, NULL), ENOENT);
	struct isthmus_retire retire;
	memcpy(retire.cookie, shared->cookie[0], ISTHMUS_KEY);
	GIVES(ioctl(device, ISTHMUS_IOC_RETIRE, &retire), ENOENT);
	end(child);
	GIVES(copy(device, shared->cookie[0], 0, &row, 1, 0, NULL), ENOENT);
	CHECK(usage(device).all_regions == 0 && usage(device).all_pinned == 0, "something is left");
}

/* Owners that end while the descriptor lives on in a child, or the memory changes hands. */
static void descend(void) {
	struct shared *shared = memory(sizeof *shared, 0);
	pid_t child = fork();
	if (!child) {
		int device = join(job);
		static unsigned char bytes[4096];
		segment row = { (uintptr_t)bytes, sizeof bytes };
		GIVES(declare(device, &row, 1, READ | WRITE, shared->cookie[0]), 0);
		pid_t grandchild = fork();
		if (!grandchild) {
			struct isthmus_usage usage;
			GIVES(ioctl(device, ISTHMUS_IOC_USAGE, &usage), EPERM);
			shared->ready = 1;
			for (;;)
				usleep(1000);
		}
		shared->count = (unsigned)grandchild;
		for (;;)
			usleep(1000);
	}
	int device = join(job);
	await(shared);
	static unsigned char bytes[100];
	segment row = { (uintptr_t)bytes, sizeof bytes };
	GIVES(copy(device, shared->cookie[0], 0, &row, 1, 0, NULL), 0);
	end(child);
	GIVES(copy(device, shared->cookie[0], 0, &row, 1, 0, NULL), ESRCH);
	kill((pid_t)shared->count, SIGKILL);
	double limit = now() + 30;
	while (usage(device).all_regions)
		CHECK(now() < limit, "the last close leaves something");
	GIVES(copy(device, shared->cookie[0], 0, &row, 1, 0, NULL), ENOENT);
}

static void become(uid_t user) {
	CHECK(!setgroups(0, NULL) && !setresgid(user, user, user) && !setresuid(user, user, user), "user %u", user);
}

/* Other users, other jobs. */
static void users(void) {
	struct shared *shared = memory(sizeof *shared, 0);
	static unsigned char bytes[100];
	segment row = { (uintptr_t)bytes, sizeof bytes };
	pid_t owner = fork();
	if (!owner) {
		become(1000);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		int device = join(job);
		static unsigned char secret[4096];
		segment mine = { (uintptr_t)secret, sizeof secret };
		GIVES(declare(device, &mine, 1, READ | WRITE, shared->cookie[0]), 0);
		shared->ready = 1;
		while (!shared->go)
			usleep(1000);
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		shared->go = 2;
		for (;;)
			usleep(1000);
	}
	await(shared);
	const struct {
		uid_t user;
		int wrong_job;
		int wanted;
	} cases[] = { { 1000, 0, 0 }, { 1001, 0, EACCES }, { 1000, 1, EACCES }, { 1001, 1, EACCES }, { 0, 0, 0 }, { 0, 1, EACCES } };
	for (int undumpable = 0; undumpable < 2; undumpable++) {
		for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
			pid_t child = fork();
			if (!child) {
				__u8 key[ISTHMUS_KEY];
				memcpy(key, job, ISTHMUS_KEY);
				key[3] ^= (__u8)cases[i].wrong_job;
				if (cases[i].user)
					become(cases[i].user);
				int device = join(key);
				int wanted = undumpable && cases[i].user ? EACCES : cases[i].wanted;
				GIVES(copy(device, shared->cookie[0], 0, &row, 1, 0, NULL), wanted);
				GIVES(copy(device, shared->cookie[0], 0, &row, 1, ISTHMUS_COPY_WRITE, NULL), wanted);
				exit(0);
			}
			int status;
			waitpid(child, &status, 0);
			CHECK(status == 0, "user %u, job %d, undumpable %d", cases[i].user, cases[i].wrong_job, undumpable);
		}
		shared->go = undumpable ? shared->go : 1;
		while (shared->go != 2)
			usleep(1000);
	}
	end(owner);
}

/* Regions, segments, jobs and pinned memory have limits. */
static void limits(void) {
	int device = join(job);
	__u8 cookie[ISTHMUS_KEY], first[ISTHMUS_KEY];
	static unsigned char bytes[64 << 10] __attribute__((aligned(4096)));
	segment row = { (uintptr_t)bytes, sizeof bytes };
	for (unsigned i = 0; i < ISTHMUS_MAX_REGIONS; i++)
		GIVES(declare(device, &row, 1, READ, i ? cookie : first), 0);
	GIVES(declare(device, &row, 1, READ, cookie), ENOSPC);
	struct isthmus_retire retire;
	memcpy(retire.cookie, first, ISTHMUS_KEY);
	GIVES(ioctl(device, ISTHMUS_IOC_RETIRE, &retire), 0);
	GIVES(ioctl(device, ISTHMUS_IOC_RETIRE, &retire), ENOENT);
	GIVES(declare(device, &row, 1, READ | WRITE, cookie), 0);
	segment *many = calloc(8192, sizeof *many);
	GIVES(declare(device, many, 8193, READ, first), E2BIG);
	segment wraps = { ~0ull - 10, 100 }, kernel = { 0xffff888000000000ull, 100 };
	GIVES(declare(device, &wraps, 1, READ, first), EFAULT);
	GIVES(declare(device, &kernel, 1, READ, first), EFAULT);
	GIVES(declare(device, &row, 1, 0, first), EINVAL);
	GIVES(declare(device, &row, 1, 0xff, first), EINVAL);
	GIVES(declare(device, (void *)8, 1, READ, first), EFAULT);
	/* Pinned memory, as an ordinary user. */
	pid_t child = fork();
	if (!child) {
		become(1000);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		struct rlimit none = { 0, 0 };
		static struct isthmus_status status __attribute__((aligned(16)));
		CHECK(!setrlimit(RLIMIT_MEMLOCK, &none), "limit");
		int own = join(job);
		GIVES(declare(own, &row, 1, READ | WRITE, cookie), 0);
		GIVES(copy(own, cookie, 0, &row, 1, ISTHMUS_COPY_DMA, &status), ENOMEM);
		exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	CHECK(status == 0, "an ordinary user");
	CHECK(usage(device).regions == ISTHMUS_MAX_REGIONS, "regions");
	close(device);
	device = join(job);
	CHECK(usage(device).all_regions == 0, "something is left");
}

/* Copies of one way, timed. Ratios only: the machine is emulated. */
static double rate(int device, struct shared *shared, unsigned char *ours, size_t length, unsigned way) {
	segment row = { (uintptr_t)ours, length };
	double best = 1e9;
	for (int round = 0; round < 4; round++) {
		double begun = now();
		GIVES(copy_by(way, device, shared->cookie[0], 0, &row, 1, 0), 0);
		double took = now() - begun;
		best = took < best ? took : best;
	}
	return (double)length / best / 1e6;
}

static double cma_rate(pid_t child, struct shared *shared, unsigned char *ours, size_t length) {
	struct iovec here = { ours, length }, there = { shared->private, length };
	double best = 1e9;
	for (int round = 0; round < 4; round++) {
		double begun = now();
		CHECK(process_vm_readv(child, &here, 1, &there, 1, 0) == (ssize_t)length, "cma");
		double took = now() - begun;
		best = took < best ? took : best;
	}
	return (double)length / best / 1e6;
}

/* Huge pages: the same bytes with one mapping per huge page and with one per 4 KiB. */
static void huge(void) {
	const size_t length = 8 << 20;
	const struct {
		const char *name;
		int flags;
	} kinds[] = { { "4 KiB", MAP_NORESERVE }, { "THP", 0 }, { "hugetlb", MAP_HUGETLB } };
	unsigned char *image = malloc(length), *ours = memory(length, 0);
	paint(image, length, 7);
	printf("pages      MB/s: cma  huge-mappings  4K-mappings  thread  dma\n");
	for (unsigned kind = 0; kind < 3; kind++) {
		struct shared *shared = memory(sizeof *shared, 0);
		void *probe = mmap(NULL, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | kinds[kind].flags, -1, 0);
		if (probe == MAP_FAILED) {
			printf("%-8s   none to be had\n", kinds[kind].name);
			continue;
		}
		munmap(probe, length);
		pid_t child = peer(shared, length, kinds[kind].flags, job, NULL);
		int device = join(job);
		await(shared);
		double rates[4];
		for (unsigned way = 0; way < 4; way++) {
			memset(ours, 0, length);
			rates[way] = rate(device, shared, ours, length, ways[way]);
			CHECK(!memcmp(ours, image, length), "%s, way %u", kinds[kind].name, way);
		}
		double cma = cma_rate(child, shared, ours, length);
		printf("%-8s   %9.0f  %13.0f  %11.0f  %6.0f  %3.0f\n", kinds[kind].name, cma, rates[0], rates[1], rates[2], rates[3]);
		end(child);
		close(device);
	}
}

/* What the parts of a copy take: each its share of the call, and no more together. */
static void timed(void) {
	const size_t length = 8 << 20;
	struct shared *shared = memory(sizeof *shared, 0);
	unsigned char *ours = memory(length, 0), *image = malloc(length);
	paint(image, length, 7);
	pid_t child = peer(shared, length, 0, job, NULL);
	int device = join(job);
	await(shared);
	segment row = { (uintptr_t)ours, length };
	struct isthmus_timed call = { .copy = { .segments = (uintptr_t)&row, .count = 1 } };
	memcpy(call.copy.cookie, shared->cookie[0], ISTHMUS_KEY);
	printf("parts of a copy, us: pin  map  copy  call\n");
	for (unsigned small = 0; small < 2; small++) {
		memset(ours, 0, length);
		call.copy.flags = small ? ISTHMUS_COPY_SMALL_MAPPINGS : 0;
		double begun = now();
		GIVES(ioctl(device, ISTHMUS_IOC_TIMED, &call), 0);
		double took = now() - begun, pin = 1e-9 * (double)call.pin_ns, map = 1e-9 * (double)call.map_ns, moved = 1e-9 * (double)call.copy_ns;
		CHECK(call.copy.done == length && !memcmp(ours, image, length), "small mappings %u", small);
		CHECK(pin > 0 && map > 0 && moved > 0 && pin + map + moved <= took, "%g + %g + %g of %g", pin, map, moved, took);
		printf("%s  %.0f  %.0f  %.0f  %.0f\n", small ? "4K-mappings" : "huge-mappings", pin * 1e6, map * 1e6, moved * 1e6, took * 1e6);
	}
	call.copy.flags = ISTHMUS_COPY_THREAD;
	call.copy.status = (uintptr_t)ours;
	GIVES(ioctl(device, ISTHMUS_IOC_TIMED, &call), EINVAL);
	end(child);
}

/* Copies that are made later go on while we compute, and many at a time. */
static void later(void) {
	const size_t length = 4 << 20;
	struct shared *shared = memory(sizeof *shared, 0);
	pid_t child = peer(shared, length, 0, job, NULL);
	int device = join(job);
	await(shared);
	unsigned char *ours = memory(length, 0), *image = malloc(length);
	paint(image, length, 7);
	struct isthmus_status *status = memory(4096, 0);
	for (int by = 2; by < 4; by++) {
		memset(status, 0, 4096);
		memset(ours, 0, length);
		for (int i = 0; i < 32; i++) {
			segment row = { (uintptr_t)ours + i * (length / 32), length / 32 };
			GIVES(copy(device, shared->cookie[0], i * (length / 32), &row, 1, ways[by], status + i), 0);
		}
		for (int i = 0; i < 32; i++) {
			await_status(status + i);
			CHECK(status[i].error == 0 && status[i].done == length / 32, "%d: %d", i, status[i].error);
		}
		CHECK(!memcmp(ours, image, length), "by %d", by);
	}
	/* A hole, told by the word; a word that is nowhere; too many. */
	memset(status, 0, 4096);
	segment hole = { 4096, 100 };
	for (int by = 2; by < 4; by++) {
		memset(status, 0, 4096);
		GIVES(copy(device, shared->cookie[0], 0, &hole, 1, ways[by], status), 0);
		await_status(status);
		CHECK(status->error == -EFAULT && status->done == 0, "%d", status->error);
	}
	segment row = { (uintptr_t)ours, length };
	GIVES(copy(device, shared->cookie[0], 0, &row, 1, ISTHMUS_COPY_DMA, (void *)4096), EFAULT);
	GIVES(copy(device, shared->cookie[0], 0, &row, 1, ISTHMUS_COPY_DMA, (void *)((char *)status + 8)), EINVAL);
	memset(status, 0, 4096);
	int refused = 0;
	for (int i = 0; i < 200; i++)
		refused |= copy(device, shared->cookie[0], 0, &row, 1, ISTHMUS_COPY_THREAD, status + i) < 0 && errno == EAGAIN;
	CHECK(refused, "no limit of copies");
	/* We end with copies under way: the last close waits for them. */
	close(device);
	device = join(job);
	struct isthmus_usage left = usage(device);
	CHECK(left.all_pinned == 0 && left.jobs == 0, "pinned %llu", left.all_pinned);
	end(child);
}

/* Owner and copier die at random moments, in every way. */
static void killed(unsigned seed) {
	const size_t length = 4 << 20;
	srand(seed);
	for (int round = 0; round < 16; round++) {
		struct shared *shared = memory(sizeof *shared, 0);
		pid_t owner = peer(shared, length, 0, job, NULL);
		await(shared);
		pid_t copier = fork();
		if (!copier) {
			int device = join(job);
			unsigned char *ours = memory(length, 0);
			struct isthmus_status *status = memory(4096, 0);
			segment row = { (uintptr_t)ours, length };
			shared->go = 1;
			for (int i = 0;; i++) {
				unsigned way = ways[i % 4], write = rand() % 2;
				if (copy(device, shared->cookie[0], 0, &row, 1, way | write, way > 2 ? status + i % 256 : NULL) < 0 &&
				    (errno == ENOENT || errno == ESRCH))
					break;
			}
			exit(0);
		}
		while (!shared->go)
			usleep(100);
		usleep((unsigned)rand() % 20000);
		kill(rand() % 2 ? owner : copier, SIGKILL);
		usleep((unsigned)rand() % 5000);
		end(owner);
		end(copier);
		munmap(shared, sizeof *shared);
	}
	int device = join(job);
	double limit = now() + 30;
	struct isthmus_usage left;
	do {
		left = usage(device);
		CHECK(now() < limit, "%llu regions, %llu pages are left", left.all_regions, left.all_pinned);
	} while (left.all_regions || left.all_pinned);
}

/* Random calls with numbers that mean something now and then. Whatever the answer: the kernel lives. */
static uint64_t state;

static uint64_t next(void) {
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 11;
}

static unsigned char *heap;

static uint64_t word(void) {
	switch (next() % 8) {
	case 0: return next() % 16;
	case 1: return ~0ull - next() % 4;
	case 2: return 1ull << (next() % 64);
	case 3: return (uintptr_t)heap + next() % (1 << 20);
	case 4: return ((uintptr_t)heap + next() % (1 << 20)) & ~15ull;
	case 5: return 0xffff888000000000ull + next();
	case 6: return next() % 100000;
	default: return next() << 20 ^ next();
	}
}

static void fuzz(unsigned seed) {
	enum { CALLS = 60000 };
	state = seed * 2654435761ull + 1;
	heap = memory(2 << 20, 0);
	int devices[4];
	static __u8 cookies[64][ISTHMUS_KEY];
	for (int i = 0; i < 4; i++)
		devices[i] = i < 3 ? join(job) : open_device();
	unsigned answers[200] = { 0 };
	for (int i = 0; i < CALLS; i++) {
		union {
			struct isthmus_version version;
			struct isthmus_declare declare;
			struct isthmus_retire retire;
			struct isthmus_copy copy;
			struct isthmus_usage usage;
			struct isthmus_timed timed;
			uint64_t words[sizeof(struct isthmus_timed) / 8];
		} call;
		for (size_t at = 0; at < sizeof call / 8; at++)
			call.words[at] = word();
		for (int at = 0; at < 8; at++)
			((segment *)heap)[next() % 1000] = (segment){ word(), next() % 4 ? next() % 100000 : word() };
		int device = devices[next() % 4];
		unsigned long command;
		unsigned known = next() % 64;
		switch (next() % 8) {
		case 0: command = ISTHMUS_IOC_VERSION; break;
		case 1: command = ISTHMUS_IOC_JOIN; break;
		case 2: case 3:
			command = ISTHMUS_IOC_DECLARE;
			if (next() % 4) {
				call.declare.segments = (uintptr_t)heap;
				call.declare.count = next() % 20;
				call.declare.flags = 1 + next() % 15;
			}
			break;
		case 4:
			command = ISTHMUS_IOC_RETIRE;
			memcpy(call.retire.cookie, cookies[known], ISTHMUS_KEY);
			break;
		case 5: case 6:
			command = next() % 4 ? ISTHMUS_IOC_COPY : ISTHMUS_IOC_TIMED;
			if (next() % 8)
				memcpy(call.copy.cookie, cookies[known], ISTHMUS_KEY);
			if (next() % 4) {
				call.copy.segments = (uintptr_t)heap;
				call.copy.count = next() % 20;
				call.copy.offset = next() % 2 ? next() % 1000 : word();
				call.copy.flags = next() % 16;
				call.copy.status = call.copy.flags & 12 ? ((uintptr_t)heap + (1 << 20) + next() % 65536) & ~15ull : 0;
			}
			break;
		default: command = next() % 2 ? (unsigned long)ISTHMUS_IOC_USAGE : (unsigned long)(next() & 0xffffffff); break;
		}
		int result = ioctl(device, command, next() % 50 ? (void *)&call : (void *)(uintptr_t)word());
		unsigned answer = result < 0 ? (unsigned)errno : 0;
		answers[answer < 200 ? answer : 199]++;
		if (command == ISTHMUS_IOC_DECLARE && result == 0)
			memcpy(cookies[known], call.declare.cookie, ISTHMUS_KEY);
		if (i % 5000 == 4999) {
			int at = (int)(next() % 3);
			close(devices[at]);
			devices[at] = join(job);
		}
	}
	for (int i = 0; i < 4; i++)
		close(devices[i]);
	printf("fuzz: %d calls, %u went well\n", CALLS, answers[0]);
	CHECK(answers[0] > CALLS / 50, "hardly any call went well");
	int device = join(job);
	CHECK(usage(device).all_regions == 0 && usage(device).all_pinned == 0, "something is left");
}

/* Holds the device open for a while: the module cannot be unloaded meanwhile. */
static void hold(void) {
	int device = join(job);
	(void)device;
	sleep(2);
}

int main(int argc, char **argv) {
	const char *name = argc > 1 ? argv[1] : "";
	unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(name, "versions")) versions();
	else if (!strcmp(name, "basic")) basic();
	else if (!strcmp(name, "descend")) descend();
	else if (!strcmp(name, "users")) users();
	else if (!strcmp(name, "limits")) limits();
	else if (!strcmp(name, "huge")) huge();
	else if (!strcmp(name, "later")) later();
	else if (!strcmp(name, "timed")) timed();
	else if (!strcmp(name, "killed")) killed(seed);
	else if (!strcmp(name, "fuzz")) fuzz(seed);
	else if (!strcmp(name, "hold")) hold();
	else return 2;
	return 0;
}
