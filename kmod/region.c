// SPDX-License-Identifier: GPL-2.0
/* Regions, their cookies, and the access rules. */
#include <linux/hashtable.h>
#include <linux/random.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/capability.h>
#include <crypto/algapi.h>

#include "isthmus.h"

static DEFINE_HASHTABLE(isthmus_table, 10);
static DEFINE_SPINLOCK(isthmus_table_lock);
static u64 isthmus_table_count;

static u32 isthmus_hash(const u8 *cookie)
{
	u32 word;

	memcpy(&word, cookie, sizeof(word));
	return word;
}

/* Segments from the caller's memory, with lengths that can be added up. To be freed by kvfree. */
struct isthmus_segment *isthmus_take_segments(u64 from, u32 count, u64 *length)
{
	struct isthmus_segment *segments;
	u32 index;

	*length = 0;
	if (count > ISTHMUS_MAX_SEGMENTS)
		return ERR_PTR(-E2BIG);
	segments = kvmalloc_array(max(count, 1u), sizeof(*segments), GFP_KERNEL_ACCOUNT);
	if (!segments)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(segments, u64_to_user_ptr(from), count * sizeof(*segments))) {
		kvfree(segments);
		return ERR_PTR(-EFAULT);
	}
	for (index = 0; index < count; index++) {
		u64 end;

		if (check_add_overflow(segments[index].address, segments[index].length, &end) || end > TASK_SIZE_MAX ||
		    check_add_overflow(*length, segments[index].length, length)) {
			kvfree(segments);
			return ERR_PTR(-EFAULT);
		}
	}
	return segments;
}

static void isthmus_free(struct kref *ref)
{
	struct isthmus_region *region = container_of(ref, struct isthmus_region, ref);

	put_cred(region->cred);
	mmdrop(region->mm);
	kvfree(region);
}

void isthmus_put(struct isthmus_region *region)
{
	kref_put(&region->ref, isthmus_free);
}

u64 isthmus_regions(void)
{
	return READ_ONCE(isthmus_table_count);
}

int isthmus_declare(struct isthmus_file *file, struct isthmus_declare *declare)
{
	const u32 known = ISTHMUS_REGION_READ | ISTHMUS_REGION_WRITE | ISTHMUS_REGION_ONCE | ISTHMUS_REGION_WHOLE;
	const bool whole = declare->flags & ISTHMUS_REGION_WHOLE;
	struct isthmus_region *region;
	struct isthmus_segment *segments;
	u32 count = whole ? 1 : declare->count;
	u64 length = TASK_SIZE_MAX;
	int error = 0;

	if ((declare->flags & ~known) || !(declare->flags & (ISTHMUS_REGION_READ | ISTHMUS_REGION_WRITE)) ||
	    (whole && declare->count))
		return -EINVAL;
	segments = isthmus_take_segments(declare->segments, whole ? 0 : count, whole ? &(u64){ 0 } : &length);
	if (IS_ERR(segments))
		return PTR_ERR(segments);
	region = kvzalloc(struct_size(region, segments, count), GFP_KERNEL_ACCOUNT);
	if (!region) {
		kvfree(segments);
		return -ENOMEM;
	}
	kref_init(&region->ref);
	region->flags = declare->flags;
	region->count = count;
	region->length = length;
	if (whole)
		region->segments[0].length = length;
	else
		memcpy(region->segments, segments, count * sizeof(*segments));
	kvfree(segments);
	memcpy(region->key, file->key, ISTHMUS_KEY);
	region->mm = file->mm;
	mmgrab(region->mm);
	region->cred = get_current_cred();
	get_random_bytes(region->cookie, ISTHMUS_KEY);
	memcpy(declare->cookie, region->cookie, ISTHMUS_KEY);

	mutex_lock(&file->lock);
	if (file->region_count >= ISTHMUS_MAX_REGIONS || file->segment_count + count > ISTHMUS_MAX_ALL_SEGMENTS) {
		error = -ENOSPC;
	} else {
		file->region_count++;
		file->segment_count += count;
		list_add(&region->of_file, &file->regions);
		/* The file's reference is the one from kref_init. */
		spin_lock(&isthmus_table_lock);
		hash_add(isthmus_table, &region->node, isthmus_hash(region->cookie));
		isthmus_table_count++;
		spin_unlock(&isthmus_table_lock);
	}
	mutex_unlock(&file->lock);
	if (error) {
		memset(declare->cookie, 0, ISTHMUS_KEY);
		isthmus_put(region);
	}
	return error;
}

/* Nobody finds it from here on. True: it could be found before. */
static bool isthmus_hide(struct isthmus_region *region)
{
	bool hidden = false;

	spin_lock(&isthmus_table_lock);
	if (hash_hashed(&region->node)) {
		hash_del(&region->node);
		isthmus_table_count--;
		hidden = true;
	}
	spin_unlock(&isthmus_table_lock);
	return hidden;
}

/* Under the file's lock. */
static void isthmus_drop(struct isthmus_file *file, struct isthmus_region *region)
{
	list_del(&region->of_file);
	file->region_count--;
	file->segment_count -= region->count;
	isthmus_hide(region);
	isthmus_put(region);
}

int isthmus_retire(struct isthmus_file *file, const struct isthmus_retire *retire)
{
	struct isthmus_region *region;
	int error = -ENOENT;

	mutex_lock(&file->lock);
	list_for_each_entry(region, &file->regions, of_file) {
		if (!crypto_memneq(region->cookie, retire->cookie, ISTHMUS_KEY)) {
			isthmus_drop(file, region);
			error = 0;
			break;
		}
	}
	mutex_unlock(&file->lock);
	return error;
}

void isthmus_retire_all(struct isthmus_file *file)
{
	struct isthmus_region *region, *next;

	mutex_lock(&file->lock);
	list_for_each_entry_safe(region, next, &file->regions, of_file)
		isthmus_drop(file, region);
	mutex_unlock(&file->lock);
}

/*
 * May the current process reach that one's memory? The rules of ptrace access by real ids, as far as modules can ask: the same
 * user and group in all their forms, and memory that may be dumped; or CAP_SYS_PTRACE. That the owner has declared the region
 * stands for the consent that security modules such as Yama ask for.
 */
static bool isthmus_may_access(const struct isthmus_region *region)
{
	const struct cred *ours = current_cred(), *theirs = region->cred;
	bool same = uid_eq(ours->uid, theirs->euid) && uid_eq(ours->uid, theirs->suid) && uid_eq(ours->uid, theirs->uid) &&
		    gid_eq(ours->gid, theirs->egid) && gid_eq(ours->gid, theirs->sgid) && gid_eq(ours->gid, theirs->gid);

	if (same && get_dumpable(region->mm) == SUID_DUMP_USER)
		return true;
	return ns_capable(theirs->user_ns, CAP_SYS_PTRACE);
}

struct isthmus_region *isthmus_find(struct isthmus_file *file, const u8 *cookie, bool write)
{
	struct isthmus_region *region, *found = NULL;
	int error = 0;

	spin_lock(&isthmus_table_lock);
	hash_for_each_possible(isthmus_table, region, node, isthmus_hash(cookie)) {
		if (!crypto_memneq(region->cookie, cookie, ISTHMUS_KEY)) {
			/* In the table: the file still has its reference. */
			kref_get(&region->ref);
			found = region;
			break;
		}
	}
	spin_unlock(&isthmus_table_lock);
	if (!found)
		return ERR_PTR(-ENOENT);
	if (crypto_memneq(found->key, file->key, ISTHMUS_KEY) || !isthmus_may_access(found))
		error = -EACCES;
	else if (!(found->flags & (write ? ISTHMUS_REGION_WRITE : ISTHMUS_REGION_READ)))
		error = -EACCES;
	else if ((found->flags & ISTHMUS_REGION_ONCE) && !isthmus_hide(found))
		error = -ENOENT;
	if (error) {
		isthmus_put(found);
		return ERR_PTR(error);
	}
	return found;
}
