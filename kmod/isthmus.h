/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the module share. */
#ifndef ISTHMUS_H
#define ISTHMUS_H

#include <linux/cred.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/version.h>
#include <linux/wait.h>

#include "isthmus_uapi.h"

/* An open device: one process of one job. */
struct isthmus_file {
	struct mm_struct *mm; /* whose it is; held by mmgrab */
	struct mutex lock;    /* of what follows up to the jobs */
	u32 version;
	bool joined;
	u8 key[ISTHMUS_KEY];
	struct list_head regions;
	u32 region_count;
	u32 segment_count;
	/* Copies that are made later. */
	atomic_t jobs;
	atomic_long_t pinned;
	wait_queue_head_t idle;
	bool closing;
};

/* Memory that others may copy from and to. Never changes once it can be found. */
struct isthmus_region {
	struct kref ref;
	struct hlist_node node;  /* by cookie, under the table's lock */
	struct list_head of_file; /* under the file's lock */
	u8 cookie[ISTHMUS_KEY];
	u8 key[ISTHMUS_KEY];
	struct mm_struct *mm;
	const struct cred *cred;
	u32 flags;
	u32 count;
	u64 length;
	struct isthmus_segment segments[];
};

/* region.c */
int isthmus_declare(struct isthmus_file *file, struct isthmus_declare *declare);
int isthmus_retire(struct isthmus_file *file, const struct isthmus_retire *retire);
void isthmus_retire_all(struct isthmus_file *file);
struct isthmus_region *isthmus_find(struct isthmus_file *file, const u8 *cookie, bool write);
void isthmus_put(struct isthmus_region *region);
u64 isthmus_regions(void);
struct isthmus_segment *isthmus_take_segments(u64 from, u32 count, u64 *length);

/* copy.c */

/* Parts of a copy. */
enum isthmus_part { ISTHMUS_PIN, ISTHMUS_MAP, ISTHMUS_MOVE, ISTHMUS_PARTS };

struct isthmus_work {
	struct isthmus_region *region;
	u64 offset;
	u64 length;
	struct isthmus_segment *local; /* of the caller */
	u32 count;
	u32 flags;
	bool (*stopped)(struct isthmus_work *work);
	u64 done;
	/* Where it is asked what the parts take, in ns. */
	bool timed;
	u64 lap;
	u64 spent[ISTHMUS_PARTS];
};

/* In the caller's address space, or a kernel thread that uses it. */
int isthmus_copy_now(struct isthmus_work *work);

/* later.c */
int isthmus_later_init(void);
void isthmus_later_exit(void);
u32 isthmus_later_features(void);
u64 isthmus_pinned(void);
int isthmus_copy_later(struct isthmus_file *file, struct isthmus_work *work, u64 status);
void isthmus_wait_for_jobs(struct isthmus_file *file);

/* Where a byte of a list of segments is. */
struct isthmus_cursor {
	const struct isthmus_segment *segments;
	u32 count;
	u32 at;
	u64 in; /* bytes into that segment */
};

void isthmus_seek(struct isthmus_cursor *cursor, u64 offset);
u64 isthmus_left(const struct isthmus_cursor *cursor);
u64 isthmus_address(const struct isthmus_cursor *cursor);
void isthmus_advance(struct isthmus_cursor *cursor, u64 bytes);

static inline long isthmus_pin(struct mm_struct *mm, unsigned long address, unsigned long count, bool write,
			       struct page **pages, int *locked)
{
	unsigned int flags = write ? FOLL_WRITE : 0;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return pin_user_pages_remote(mm, address, count, flags, pages, locked);
#else
	return pin_user_pages_remote(mm, address, count, flags, pages, NULL, locked);
#endif
}

/* Pin pages of any address space; mm's users are held. Fewer are no error. */
static inline long isthmus_pin_pages(struct mm_struct *mm, unsigned long address, unsigned long count, bool write,
				     struct page **pages)
{
	int locked = 1;
	long pinned;

	if (mmap_read_lock_killable(mm))
		return -EINTR;
	pinned = isthmus_pin(mm, address, count, write, pages, &locked);
	if (locked)
		mmap_read_unlock(mm);
	return pinned == 0 ? -EFAULT : pinned;
}

/* Bytes from `from` in pages[0] on that lie in one piece of physical memory within one page, huge or not. */
static inline u64 isthmus_run(struct page **pages, long count, u64 from, u64 limit)
{
	struct page *head = compound_head(pages[0]);
	u64 bytes = PAGE_SIZE - from;
	long next = 1;

	while (next < count && bytes < limit && pages[next] == nth_page(pages[0], next) &&
	       compound_head(pages[next]) == head) {
		bytes += PAGE_SIZE;
		next++;
	}
	return min(bytes, limit);
}

#endif
