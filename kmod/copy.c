// SPDX-License-Identifier: GPL-2.0
/* Copies that the caller waits for: pages of the region are pinned in batches, and copied to or from the caller's memory. */
#include <linux/highmem.h>
#include <linux/ktime.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "isthmus.h"

/* Pages that are pinned at a time: two huge ones. */
#define ISTHMUS_BATCH 1024

void isthmus_seek(struct isthmus_cursor *cursor, u64 offset)
{
	cursor->at = 0;
	cursor->in = 0;
	isthmus_advance(cursor, offset);
}

u64 isthmus_left(const struct isthmus_cursor *cursor)
{
	return cursor->at < cursor->count ? cursor->segments[cursor->at].length - cursor->in : 0;
}

u64 isthmus_address(const struct isthmus_cursor *cursor)
{
	return cursor->segments[cursor->at].address + cursor->in;
}

void isthmus_advance(struct isthmus_cursor *cursor, u64 bytes)
{
	while (cursor->at < cursor->count) {
		u64 left = cursor->segments[cursor->at].length - cursor->in;

		if (bytes < left) {
			cursor->in += bytes;
			return;
		}
		bytes -= left;
		cursor->at++;
		cursor->in = 0;
	}
}

/* The time since the last lap went into this part. */
static void isthmus_lap(struct isthmus_work *work, enum isthmus_part part)
{
	u64 now;

	if (!work->timed)
		return;
	now = ktime_get_ns();
	work->spent[part] += now - work->lap;
	work->lap = now;
}

/* Between kernel addresses that lie in a row and the caller's memory. Returns bytes. */
static u64 isthmus_move(void *kernel, struct isthmus_cursor *local, u64 bytes, bool write)
{
	u64 done = 0;

	while (done < bytes) {
		u64 now = min(isthmus_left(local), bytes - done);
		unsigned long missed;

		if (!now)
			break;
		if (write)
			missed = copy_from_user(kernel + done, u64_to_user_ptr(isthmus_address(local)), now);
		else
			missed = copy_to_user(u64_to_user_ptr(isthmus_address(local)), kernel + done, now);
		done += now - missed;
		isthmus_advance(local, now - missed);
		if (missed)
			break;
	}
	return done;
}

/* From byte `from` of the first page on. Returns bytes. */
static u64 isthmus_move_pages(struct isthmus_work *work, struct page **pages, long count, u64 from, u64 bytes,
			      struct isthmus_cursor *local)
{
	const bool write = work->flags & ISTHMUS_COPY_WRITE;
	u64 done = 0;

	while (done < bytes) {
		struct page **first = pages + ((from + done) >> PAGE_SHIFT);
		u64 within = (from + done) & ~PAGE_MASK;
		u64 now = min(PAGE_SIZE - within, bytes - done), moved;

		if ((work->flags & ISTHMUS_COPY_SMALL_MAPPINGS) || PageHighMem(*first)) {
			void *mapped = kmap_local_page(*first);

			isthmus_lap(work, ISTHMUS_MAP);
			moved = isthmus_move(mapped + within, local, now, write);
			isthmus_lap(work, ISTHMUS_MOVE);
			kunmap_local(mapped);
			isthmus_lap(work, ISTHMUS_MAP);
		} else {
			/* One mapping for as much of a huge page as was asked for. */
			now = isthmus_run(first, count - (first - pages), within, bytes - done);
			isthmus_lap(work, ISTHMUS_MAP);
			moved = isthmus_move(page_address(*first) + within, local, now, write);
			isthmus_lap(work, ISTHMUS_MOVE);
		}
		done += moved;
		if (moved < now)
			break;
	}
	return done;
}

int isthmus_copy_now(struct isthmus_work *work)
{
	const bool write = work->flags & ISTHMUS_COPY_WRITE;
	struct isthmus_cursor local = { .segments = work->local, .count = work->count };
	struct isthmus_cursor remote = { .segments = work->region->segments, .count = work->region->count };
	struct mm_struct *mm = work->region->mm;
	struct page **pages;
	int error = 0;

	if (!work->length)
		return 0;
	if (!mmget_not_zero(mm))
		return -ESRCH;
	pages = kvmalloc_array(ISTHMUS_BATCH, sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages) {
		error = -ENOMEM;
		goto out;
	}
	if (work->timed)
		work->lap = ktime_get_ns();
	isthmus_seek(&local, work->done);
	isthmus_seek(&remote, work->offset + work->done);
	while (work->done < work->length) {
		u64 now = min(isthmus_left(&remote), work->length - work->done), moved;
		u64 address, from;
		long wanted, pinned;

		if (!now) {
			/* Empty segments were passed; there is no more. */
			error = -EINVAL;
			break;
		}
		address = isthmus_address(&remote);
		from = address & ~PAGE_MASK;
		wanted = min_t(u64, DIV_ROUND_UP(from + now, PAGE_SIZE), ISTHMUS_BATCH);
		pinned = isthmus_pin_pages(mm, address & PAGE_MASK, wanted, write, pages);
		if (pinned < 0) {
			error = pinned == -ENOMEM || pinned == -EINTR ? pinned : -EFAULT;
			break;
		}
		now = min_t(u64, now, pinned * PAGE_SIZE - from);
		isthmus_lap(work, ISTHMUS_PIN);
		moved = isthmus_move_pages(work, pages, pinned, from, now, &local);
		unpin_user_pages_dirty_lock(pages, pinned, write);
		isthmus_lap(work, ISTHMUS_PIN);
		work->done += moved;
		isthmus_advance(&remote, moved);
		if (moved < now) {
			error = -EFAULT;
			break;
		}
		cond_resched();
		if (work->done < work->length && work->stopped(work)) {
			error = -EINTR;
			break;
		}
	}
	kvfree(pages);
out:
	mmput(mm);
	return error;
}
