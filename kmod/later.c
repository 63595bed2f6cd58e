// SPDX-License-Identifier: GPL-2.0
/*
 * Copies that are made later: by a kernel thread that uses the caller's address space, or by a DMA engine between pinned pages of
 * both. Where the machine has no DMA engine that copies memory, a software channel stands for it: the same path, with memcpy in
 * place of the descriptor.
 */
#include <linux/dma-mapping.h>
#include <linux/dmaengine.h>
#include <linux/highmem.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "isthmus.h"

/* Pages of either side that a DMA copy pins at a time. */
#define ISTHMUS_DMA_BATCH 512

static struct workqueue_struct *isthmus_threads;
static struct dma_chan *isthmus_channel;
static atomic_long_t isthmus_all_pinned;

static bool use_dma_engine = true;
module_param(use_dma_engine, bool, 0444);
MODULE_PARM_DESC(use_dma_engine, "Use a DMA engine that copies memory, if the machine has one");

struct isthmus_job {
	struct work_struct work;
	struct isthmus_work copy;
	struct isthmus_file *file;
	struct mm_struct *mm; /* of the caller; its users are held */
	struct page *status_page;
	u32 status_at;
};

u32 isthmus_later_features(void)
{
	return ISTHMUS_FEATURE_THREAD | ISTHMUS_FEATURE_DMA | (isthmus_channel ? ISTHMUS_FEATURE_HARDWARE : 0);
}

u64 isthmus_pinned(void)
{
	return atomic_long_read(&isthmus_all_pinned);
}

static void isthmus_count_pinned(struct isthmus_file *file, long pages)
{
	atomic_long_add(pages, &file->pinned);
	atomic_long_add(pages, &isthmus_all_pinned);
}

static bool isthmus_job_stopped(struct isthmus_work *work)
{
	struct isthmus_job *job = container_of(work, struct isthmus_job, copy);

	return READ_ONCE(job->file->closing) || atomic_read(&job->mm->mm_users) == 1;
}

/* The status word is in memory that the caller polls. */
static void isthmus_job_tell(struct isthmus_job *job, int error)
{
	struct isthmus_status *status = kmap_local_page(job->status_page) + job->status_at;

	WRITE_ONCE(status->error, error);
	WRITE_ONCE(status->done, job->copy.done);
	smp_store_release(&status->state, ISTHMUS_STATUS_DONE);
	kunmap_local(status);
}

static void isthmus_job_free(struct isthmus_job *job)
{
	struct isthmus_file *file = job->file;

	unpin_user_pages_dirty_lock(&job->status_page, 1, true);
	isthmus_count_pinned(file, -1);
	account_locked_vm(job->mm, 1, false);
	isthmus_put(job->copy.region);
	kvfree(job->copy.local);
	mmput(job->mm);
	kfree(job);
	if (atomic_dec_and_test(&file->jobs))
		wake_up_all(&file->idle);
}

static void isthmus_thread(struct work_struct *work)
{
	struct isthmus_job *job = container_of(work, struct isthmus_job, work);
	int error;

	kthread_use_mm(job->mm);
	error = isthmus_copy_now(&job->copy);
	kthread_unuse_mm(job->mm);
	isthmus_job_tell(job, error);
	isthmus_job_free(job);
}

static void isthmus_dma_over(void *done)
{
	complete(done);
}

/* Bytes within one page, or within one huge page, on either side. */
static int isthmus_dma_copy(struct page *to, u64 to_at, struct page *from, u64 from_at, u64 bytes)
{
	struct dma_device *device = isthmus_channel->device;
	DECLARE_COMPLETION_ONSTACK(over);
	struct dma_async_tx_descriptor *descriptor;
	dma_addr_t source, target;
	int error = -EIO;

	source = dma_map_page(device->dev, from, from_at, bytes, DMA_TO_DEVICE);
	if (dma_mapping_error(device->dev, source))
		return -ENOMEM;
	target = dma_map_page(device->dev, to, to_at, bytes, DMA_FROM_DEVICE);
	if (dma_mapping_error(device->dev, target)) {
		dma_unmap_page(device->dev, source, bytes, DMA_TO_DEVICE);
		return -ENOMEM;
	}
	descriptor = dmaengine_prep_dma_memcpy(isthmus_channel, target, source, bytes, DMA_PREP_INTERRUPT | DMA_CTRL_ACK);
	if (descriptor) {
		descriptor->callback = isthmus_dma_over;
		descriptor->callback_param = &over;
		if (!dma_submit_error(dmaengine_submit(descriptor))) {
			dma_async_issue_pending(isthmus_channel);
			/* The pages may not go before the engine is done with them, however long that takes. */
			wait_for_completion(&over);
			error = 0;
		}
	}
	dma_unmap_page(device->dev, target, bytes, DMA_FROM_DEVICE);
	dma_unmap_page(device->dev, source, bytes, DMA_TO_DEVICE);
	return error;
}

static int isthmus_engine_copy(struct page *to, u64 to_at, struct page *from, u64 from_at, u64 bytes)
{
	void *source, *target;

	if (isthmus_channel)
		return isthmus_dma_copy(to, to_at, from, from_at, bytes);
	while (bytes) {
		u64 now = min3(bytes, (u64)PAGE_SIZE - (from_at & ~PAGE_MASK), (u64)PAGE_SIZE - (to_at & ~PAGE_MASK));

		source = kmap_local_page(nth_page(from, from_at >> PAGE_SHIFT));
		target = kmap_local_page(nth_page(to, to_at >> PAGE_SHIFT));
		memcpy(target + (to_at & ~PAGE_MASK), source + (from_at & ~PAGE_MASK), now);
		kunmap_local(target);
		kunmap_local(source);
		bytes -= now;
		from_at += now;
		to_at += now;
	}
	return 0;
}

/* A stretch of pages of one side. */
struct isthmus_stretch {
	struct page **pages;
	long count;
	u64 from;
	u64 bytes;
};

static int isthmus_stretch_pin(struct isthmus_job *job, struct mm_struct *mm, struct isthmus_stretch *stretch,
			       struct isthmus_cursor *cursor, u64 limit, bool write)
{
	u64 address = isthmus_address(cursor), bytes = min(isthmus_left(cursor), limit);
	long wanted, pinned;

	stretch->from = address & ~PAGE_MASK;
	wanted = min_t(u64, DIV_ROUND_UP(stretch->from + bytes, PAGE_SIZE), ISTHMUS_DMA_BATCH);
	/* Against the caller's RLIMIT_MEMLOCK: it is its copy. */
	if (account_locked_vm(job->mm, wanted, true))
		return -ENOMEM;
	pinned = isthmus_pin_pages(mm, address & PAGE_MASK, wanted, write, stretch->pages);
	if (pinned < wanted)
		account_locked_vm(job->mm, wanted - max(pinned, 0l), false);
	if (pinned < 0)
		return pinned == -ENOMEM || pinned == -EINTR ? pinned : -EFAULT;
	isthmus_count_pinned(job->file, pinned);
	stretch->count = pinned;
	stretch->bytes = min_t(u64, bytes, pinned * PAGE_SIZE - stretch->from);
	return 0;
}

static void isthmus_stretch_unpin(struct isthmus_job *job, struct isthmus_stretch *stretch, bool write)
{
	unpin_user_pages_dirty_lock(stretch->pages, stretch->count, write);
	isthmus_count_pinned(job->file, -stretch->count);
	account_locked_vm(job->mm, stretch->count, false);
}

static int isthmus_stretch_copy(struct isthmus_stretch *to, struct isthmus_stretch *from, u64 bytes, u64 *done)
{
	while (*done < bytes) {
		u64 to_at = to->from + *done, from_at = from->from + *done;
		struct page **target = to->pages + (to_at >> PAGE_SHIFT), **source = from->pages + (from_at >> PAGE_SHIFT);
		u64 now = bytes - *done;
		int error;

		to_at &= ~PAGE_MASK;
		from_at &= ~PAGE_MASK;
		now = min(now, isthmus_run(target, to->count - (target - to->pages), to_at, now));
		now = min(now, isthmus_run(source, from->count - (source - from->pages), from_at, now));
		error = isthmus_engine_copy(*target, to_at, *source, from_at, now);
		if (error)
			return error;
		*done += now;
	}
	return 0;
}

static int isthmus_dma_all(struct isthmus_job *job, struct isthmus_stretch *ours, struct isthmus_stretch *theirs)
{
	struct isthmus_work *copy = &job->copy;
	const bool write = copy->flags & ISTHMUS_COPY_WRITE;
	struct isthmus_cursor local = { .segments = copy->local, .count = copy->count };
	struct isthmus_cursor remote = { .segments = copy->region->segments, .count = copy->region->count };
	int error = 0;

	isthmus_seek(&local, 0);
	isthmus_seek(&remote, copy->offset);
	while (!error && copy->done < copy->length) {
		u64 limit = copy->length - copy->done, moved = 0;

		if (!isthmus_left(&local) || !isthmus_left(&remote))
			return -EINVAL;
		if (isthmus_job_stopped(copy))
			return -EINTR;
		error = isthmus_stretch_pin(job, job->mm, ours, &local, min(limit, isthmus_left(&remote)), !write);
		if (error)
			break;
		error = isthmus_stretch_pin(job, copy->region->mm, theirs, &remote, min(limit, ours->bytes), write);
		if (!error) {
			u64 bytes = min(ours->bytes, theirs->bytes);

			error = isthmus_stretch_copy(write ? theirs : ours, write ? ours : theirs, bytes, &moved);
			isthmus_stretch_unpin(job, theirs, write);
		}
		isthmus_stretch_unpin(job, ours, !write);
		copy->done += moved;
		isthmus_advance(&local, moved);
		isthmus_advance(&remote, moved);
		cond_resched();
	}
	return error;
}

static void isthmus_dma(struct work_struct *work)
{
	struct isthmus_job *job = container_of(work, struct isthmus_job, work);
	struct isthmus_stretch ours = {}, theirs = {};
	struct mm_struct *mm = job->copy.region->mm;
	int error = -ESRCH;

	if (mmget_not_zero(mm)) {
		ours.pages = kvmalloc_array(ISTHMUS_DMA_BATCH, sizeof(*ours.pages), GFP_KERNEL);
		theirs.pages = kvmalloc_array(ISTHMUS_DMA_BATCH, sizeof(*theirs.pages), GFP_KERNEL);
		error = ours.pages && theirs.pages ? isthmus_dma_all(job, &ours, &theirs) : -ENOMEM;
		kvfree(ours.pages);
		kvfree(theirs.pages);
		mmput(mm);
	}
	isthmus_job_tell(job, error);
	isthmus_job_free(job);
}

/* On success region and segments are the job's, and `work` has them no more. */
int isthmus_copy_later(struct isthmus_file *file, struct isthmus_work *work, u64 status)
{
	struct isthmus_job *job;
	int error = -EINVAL;

	if (status % sizeof(struct isthmus_status) || status >= TASK_SIZE_MAX)
		return -EINVAL;
	if (atomic_inc_return(&file->jobs) > ISTHMUS_MAX_JOBS) {
		error = -EAGAIN;
		goto out;
	}
	job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	error = -ENOMEM;
	if (!job)
		goto out;
	if (account_locked_vm(current->mm, 1, true))
		goto out_job;
	error = -EFAULT;
	if (pin_user_pages_fast(status & PAGE_MASK, 1, FOLL_WRITE | FOLL_LONGTERM, &job->status_page) != 1)
		goto out_account;
	isthmus_count_pinned(file, 1);
	job->status_at = status & ~PAGE_MASK;
	job->file = file;
	job->mm = current->mm;
	mmget(job->mm);
	job->copy = *work;
	job->copy.stopped = isthmus_job_stopped;
	work->region = NULL;
	work->local = NULL;
	INIT_WORK(&job->work, job->copy.flags & ISTHMUS_COPY_DMA ? isthmus_dma : isthmus_thread);
	queue_work(isthmus_threads, &job->work);
	return 0;

out_account:
	account_locked_vm(current->mm, 1, false);
out_job:
	kfree(job);
out:
	if (atomic_dec_and_test(&file->jobs))
		wake_up_all(&file->idle);
	return error;
}

void isthmus_wait_for_jobs(struct isthmus_file *file)
{
	wait_event(file->idle, atomic_read(&file->jobs) == 0);
	/* The last job may still be in its wake_up, which uses the file. */
	flush_workqueue(isthmus_threads);
}

int isthmus_later_init(void)
{
	dma_cap_mask_t mask;

	isthmus_threads = alloc_workqueue("isthmus", WQ_UNBOUND, 0);
	if (!isthmus_threads)
		return -ENOMEM;
	if (use_dma_engine) {
		dma_cap_zero(mask);
		dma_cap_set(DMA_MEMCPY, mask);
		isthmus_channel = dma_request_chan_by_mask(&mask);
		if (IS_ERR(isthmus_channel))
			isthmus_channel = NULL;
	}
	pr_info("isthmus: copies that are made later by %s\n",
		isthmus_channel ? dma_chan_name(isthmus_channel) : "a software channel");
	return 0;
}

void isthmus_later_exit(void)
{
	destroy_workqueue(isthmus_threads);
	if (isthmus_channel)
		dma_release_channel(isthmus_channel);
}
