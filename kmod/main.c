// SPDX-License-Identifier: GPL-2.0
/*
 * Isthmus: copies between the processes of one job, for MPI within a node.
 *
 * Models: KNEM ("Cache-Efficient, Intranode, Large-Message MPI Communication with MPICH2-Nemesis", ICPP'09): regions with
 * cookies, vectorial, now or later with a status word; LiMIC2 ("Designing high performance kernel-assisted MPI with huge pages",
 * 2017): direct copies with one mapping per huge page. Unlike these, a cookie cannot be guessed, is of use only to the same user
 * and job, and everything is bounded.
 *
 * Here: the device. Regions are in region.c, copies in copy.c, copies that are made later in later.c.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "isthmus.h"

static int isthmus_open(struct inode *inode, struct file *opened)
{
	struct isthmus_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return -ENOMEM;
	if (!current->mm) {
		kfree(file);
		return -EINVAL;
	}
	file->mm = current->mm;
	mmgrab(file->mm);
	mutex_init(&file->lock);
	INIT_LIST_HEAD(&file->regions);
	init_waitqueue_head(&file->idle);
	opened->private_data = file;
	return nonseekable_open(inode, opened);
}

static int isthmus_release(struct inode *inode, struct file *opened)
{
	struct isthmus_file *file = opened->private_data;

	WRITE_ONCE(file->closing, true);
	isthmus_retire_all(file);
	isthmus_wait_for_jobs(file);
	mmdrop(file->mm);
	kfree(file);
	return 0;
}

static int isthmus_version(struct isthmus_file *file, struct isthmus_version *version)
{
	u32 chosen = min_t(u32, version->max, ISTHMUS_VERSION_MAX);

	if (version->min > version->max || chosen < version->min || chosen < ISTHMUS_VERSION_MIN)
		return -EPROTO;
	mutex_lock(&file->lock);
	file->version = chosen;
	mutex_unlock(&file->lock);
	version->version = chosen;
	version->features = ISTHMUS_FEATURE_HUGE | ISTHMUS_FEATURE_TIMED | isthmus_later_features();
	return 0;
}

static int isthmus_join(struct isthmus_file *file, const struct isthmus_join *join)
{
	int error = 0;

	mutex_lock(&file->lock);
	if (file->joined) {
		error = -EBUSY;
	} else {
		memcpy(file->key, join->key, ISTHMUS_KEY);
		/* Read without the lock by copying processes. */
		smp_store_release(&file->joined, true);
	}
	mutex_unlock(&file->lock);
	return error;
}

static bool isthmus_interrupted(struct isthmus_work *work)
{
	return signal_pending(current);
}

/* `timed`: it is asked what the copy took; else NULL. */
static int isthmus_copy(struct isthmus_file *file, struct isthmus_copy *copy, struct isthmus_timed *timed)
{
	const u32 known = ISTHMUS_COPY_WRITE | ISTHMUS_COPY_SMALL_MAPPINGS | ISTHMUS_COPY_THREAD | ISTHMUS_COPY_DMA;
	const u32 later = ISTHMUS_COPY_THREAD | ISTHMUS_COPY_DMA;
	struct isthmus_work work = {
		.offset = copy->offset,
		.count = copy->count,
		.flags = copy->flags,
		.stopped = isthmus_interrupted,
		.timed = timed,
	};
	int error;

	copy->done = 0;
	if ((copy->flags & ~known) || (copy->flags & later) == later || !(copy->flags & later) != !copy->status ||
	    (timed && (copy->flags & later)))
		return -EINVAL;
	work.local = isthmus_take_segments(copy->segments, copy->count, &work.length);
	if (IS_ERR(work.local))
		return PTR_ERR(work.local);
	work.region = isthmus_find(file, copy->cookie, copy->flags & ISTHMUS_COPY_WRITE);
	if (IS_ERR(work.region)) {
		error = PTR_ERR(work.region);
		goto out;
	}
	if (work.offset > work.region->length || work.length > work.region->length - work.offset) {
		error = -EINVAL;
	} else if (copy->flags & later) {
		error = work.length > ISTHMUS_COPY_MAX ? -EINVAL : isthmus_copy_later(file, &work, copy->status);
		/* The rest of `work` is ours. */
	} else {
		work.length = min_t(u64, work.length, ISTHMUS_COPY_MAX);
		error = isthmus_copy_now(&work);
		copy->done = work.done;
		if (timed) {
			timed->pin_ns = work.spent[ISTHMUS_PIN];
			timed->map_ns = work.spent[ISTHMUS_MAP];
			timed->copy_ns = work.spent[ISTHMUS_MOVE];
		}
	}
	if (work.region)
		isthmus_put(work.region);
out:
	kvfree(work.local);
	return error;
}

static void isthmus_tell(struct isthmus_file *file, struct isthmus_usage *usage)
{
	mutex_lock(&file->lock);
	usage->regions = file->region_count;
	mutex_unlock(&file->lock);
	usage->jobs = atomic_read(&file->jobs);
	usage->pinned = atomic_long_read(&file->pinned);
	usage->all_regions = isthmus_regions();
	usage->all_pinned = isthmus_pinned();
}

union isthmus_argument {
	struct isthmus_version version;
	struct isthmus_join join;
	struct isthmus_declare declare;
	struct isthmus_retire retire;
	struct isthmus_copy copy;
	struct isthmus_usage usage;
	struct isthmus_timed timed;
};

static int isthmus_dispatch(struct isthmus_file *file, unsigned int command, union isthmus_argument *argument)
{
	if (command == ISTHMUS_IOC_VERSION)
		return isthmus_version(file, &argument->version);
	if (command == ISTHMUS_IOC_USAGE) {
		isthmus_tell(file, &argument->usage);
		return 0;
	}
	if (!READ_ONCE(file->version))
		return -EPROTO;
	if (command == ISTHMUS_IOC_JOIN)
		return isthmus_join(file, &argument->join);
	if (!smp_load_acquire(&file->joined))
		return -ENOTCONN;
	switch (command) {
	case ISTHMUS_IOC_DECLARE:
		return isthmus_declare(file, &argument->declare);
	case ISTHMUS_IOC_RETIRE:
		return isthmus_retire(file, &argument->retire);
	case ISTHMUS_IOC_COPY:
		return isthmus_copy(file, &argument->copy, NULL);
	case ISTHMUS_IOC_TIMED:
		return isthmus_copy(file, &argument->timed.copy, &argument->timed);
	default:
		return -ENOTTY;
	}
}

static long isthmus_ioctl(struct file *opened, unsigned int command, unsigned long address)
{
	struct isthmus_file *file = opened->private_data;
	union isthmus_argument argument;
	unsigned int size = _IOC_SIZE(command);
	int error;

	/* A child made by fork has the descriptor, and is somebody else. */
	if (current->mm != file->mm)
		return -EPERM;
	if (_IOC_TYPE(command) != ISTHMUS_IOC || size > sizeof(argument))
		return -ENOTTY;
	memset(&argument, 0, sizeof(argument));
	if ((_IOC_DIR(command) & _IOC_WRITE) && copy_from_user(&argument, (void __user *)address, size))
		return -EFAULT;
	error = isthmus_dispatch(file, command, &argument);
	/* Also if it failed: a copy says how far it came. */
	if ((_IOC_DIR(command) & _IOC_READ) && error != -ENOTTY && copy_to_user((void __user *)address, &argument, size))
		return -EFAULT;
	return error;
}

static const struct file_operations isthmus_operations = {
	.owner = THIS_MODULE,
	.open = isthmus_open,
	.release = isthmus_release,
	.unlocked_ioctl = isthmus_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
	.llseek = no_llseek,
#endif
};

static struct miscdevice isthmus_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "isthmus",
	.mode = 0666,
	.fops = &isthmus_operations,
};

static int __init isthmus_init(void)
{
	int error = isthmus_later_init();

	if (error)
		return error;
	error = misc_register(&isthmus_device);
	if (error)
		isthmus_later_exit();
	return error;
}

static void __exit isthmus_exit(void)
{
	/* Nobody has it open: the module is held by each open file. */
	misc_deregister(&isthmus_device);
	isthmus_later_exit();
}

module_init(isthmus_init);
module_exit(isthmus_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Isthmus: copies between the processes of one job");
MODULE_VERSION("1");
