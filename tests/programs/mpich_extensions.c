// ranks: 2
/* Extensions of MPICH in libmpi.so.12: generalized requests with functions that poll and wait, and the runs of bytes of a datatype. Handles of
   the MPICH ABI are integers. */
#include "check.h"

#include <dlfcn.h>
#include <stdint.h>

enum { WORLD = 0x44000000, INT = 0x4c000405, REQUEST_NULL = 0x2c000000, ERR_TYPE = 3, ERR_COUNT = 2, ERR_OTHER = 15, RETURN = 0x54000001 };

static void *library;

static void *find(const char *name) {
    void *function = dlsym(library, name);
    CHECK(function, "libmpi.so.12 has no %s", name);
    return function;
}

/* A function of the library, of this type. */
#define CALL(type, name) ((type)find(name))

typedef struct {
    int request, polls, waits, queries, frees, cancels, complete_after;
} Work;

/* The inner request that a function which polls asks for. */
static int inner = REQUEST_NULL;

static int query(void *extra, int *status) {
    ((Work *)extra)->queries++;
    status[2] = 4711;
    return 0;
}
static int release(void *extra) {
    ((Work *)extra)->frees++;
    return 0;
}
static int cancel(void *extra, int complete) {
    (void)complete;
    ((Work *)extra)->cancels++;
    return 0;
}
static int complete(Work *work) { return CALL(int (*)(int), "MPI_Grequest_complete")(work->request); }

/* Completes the request when it has been asked often enough. */
static int poll(void *extra, int *status) {
    Work *work = extra;
    CHECK(status, "a status");
    int flag = 0;
    if (inner != REQUEST_NULL) CHECK(!CALL(int (*)(int *, int *, void *), "MPI_Test")(&inner, &flag, (void *)1), "functions may call MPI");
    return ++work->polls == work->complete_after ? complete(work) : 0;
}
static int wait_for(int count, void **extra, double limit, int *statuses) {
    CHECK(count == 1 && limit == 0 && statuses, "a function that waits is told %d, %g", count, limit);
    ((Work *)extra[0])->waits++;
    return complete(extra[0]);
}
static int fail(void *extra, int *status) {
    (void)extra, (void)status;
    return ERR_OTHER;
}

static void start(Work *work, void *polls, void *waits, int complete_after) {
    *work = (Work){.complete_after = complete_after};
    int (*start)(void *, void *, void *, void *, void *, void *, int *) =
        CALL(int (*)(void *, void *, void *, void *, void *, void *, int *), "MPIX_Grequest_start");
    CHECK(!start(query, release, cancel, polls, waits, work, &work->request), "a request");
}

static void requests(void) {
    Work works[3], *work = &works[0];
    int status[5], flag, index, handles[3];
    int (*test)(int *, int *, void *) = CALL(int (*)(int *, int *, void *), "MPI_Test");
    int (*wait)(int *, void *) = CALL(int (*)(int *, void *), "MPI_Wait");

    /* A test asks; nothing else does. */
    start(work, poll, NULL, 3);
    int rounds = 0;
    for (flag = 0; !flag; rounds++) CHECK(!test(&work->request, &flag, status) && rounds < 10, "round %d", rounds);
    CHECK(work->polls == 3 && status[2] == 4711 && work->queries == 1 && work->frees == 1 && work->request == REQUEST_NULL, "%d polls", work->polls);
    CHECK(!test(&work->request, &flag, status) && work->polls == 3, "asked once it was over");

    /* A wait asks until the operation is over. */
    start(work, poll, NULL, 1000);
    CHECK(!wait(&work->request, status) && work->polls == 1000 && status[2] == 4711 && work->frees == 1, "%d polls", work->polls);

    /* A wait calls the function that waits. */
    start(work, NULL, wait_for, 0);
    CHECK(!wait(&work->request, status) && work->waits == 1 && status[2] == 4711 && work->frees == 1, "%d waits", work->waits);

    /* Several, of each kind, and among them one that another rank completes. */
    int (*irecv)(void *, int, int, int, int, int, int *) = CALL(int (*)(void *, int, int, int, int, int, int *), "MPI_Irecv");
    int (*send)(void *, int, int, int, int, int) = CALL(int (*)(void *, int, int, int, int, int), "MPI_Send");
    int value = rank, got = -1;
    CHECK(!irecv(&got, 1, INT, !rank, 5, WORLD, &handles[0]), "a receive");
    start(&works[1], poll, NULL, 5);
    start(&works[2], poll, wait_for, 1 << 30);
    handles[1] = works[1].request;
    handles[2] = works[2].request;
    CHECK(!send(&value, 1, INT, !rank, 5, WORLD), "a send");
    CHECK(!CALL(int (*)(int, int *, void *), "MPI_Waitall")(3, handles, (void *)1), "wait for all");
    CHECK(got == !rank && works[1].frees == 1 && works[2].frees == 1 && works[2].waits == 1, "%d %d", got, works[2].waits);

    /* The first of several: one that is polled, one that can only be waited for. */
    for (int only_waits = 0; only_waits < 2; only_waits++) {
        start(work, only_waits ? NULL : (void *)poll, only_waits ? (void *)wait_for : NULL, 7);
        handles[0] = REQUEST_NULL;
        handles[1] = work->request;
        CHECK(!CALL(int (*)(int, int *, int *, void *), "MPI_Waitany")(2, handles, &index, status), "wait for any");
        CHECK(index == 1 && status[2] == 4711 && work->frees == 1 && handles[1] == REQUEST_NULL, "%d", index);
    }

    /* Functions may call MPI, which polls other requests: none is left out. */
    CHECK(!irecv(&got, 1, INT, !rank, 6, WORLD, &inner), "a receive");
    for (int i = 0; i < 3; i++) {
        start(&works[i], poll, NULL, 10 + i);
        handles[i] = works[i].request;
    }
    CHECK(!CALL(int (*)(int, int *, void *), "MPI_Waitall")(3, handles, (void *)1), "wait for all");
    CHECK(!send(&value, 1, INT, !rank, 6, WORLD) && !wait(&inner, (void *)1), "the inner request");
    for (int i = 0; i < 3; i++) CHECK(works[i].polls == 10 + i && works[i].frees == 1, "%d: %d polls", i, works[i].polls);

    /* Freed before it is over: asked on, while MPI makes progress. */
    start(work, poll, NULL, 20);
    int freed = work->request;
    CHECK(!CALL(int (*)(int *), "MPI_Request_free")(&work->request) && work->frees == 0, "ended too early");
    work->request = freed;
    for (rounds = 0; work->frees == 0; rounds++) CHECK(!CALL(int (*)(int, int, int, int *, void *), "MPI_Iprobe")(!rank, 9, WORLD, &flag, (void *)1) && rounds < 100, "never asked");
    CHECK(work->polls == 20 && work->frees == 1, "%d polls", work->polls);

    /* Cancelled. */
    start(work, poll, NULL, 2);
    CHECK(!CALL(int (*)(int *), "MPI_Cancel")(&work->request) && work->cancels == 1 && !wait(&work->request, status), "cancel");

    /* What a function returns is the outcome. */
    int comm_handler;
    CHECK(!CALL(int (*)(int, int *), "MPI_Comm_get_errhandler")(WORLD, &comm_handler), "the handler");
    CHECK(!CALL(int (*)(int, int), "MPI_Comm_set_errhandler")(WORLD, RETURN), "set");
    CHECK(!CALL(int (*)(int, int), "MPI_Comm_set_errhandler")(WORLD + 1, RETURN), "set");
    start(work, fail, NULL, 0);
    int code = wait(&work->request, status);
    CHECK(code && work->frees == 1 && work->queries == 0 && work->request == REQUEST_NULL, "code %d, %d", code, work->frees);

    /* Classes. */
    int class, wrong;
    CHECK(!CALL(int (*)(void *, void *, void *, void *, void *, int *), "MPIX_Grequest_class_create")(query, release, cancel, poll, NULL, &class), "a class");
    int (*allocate)(int, void *, int *) = CALL(int (*)(int, void *, int *), "MPIX_Grequest_class_allocate");
    for (int i = 0; i < 3; i++) {
        works[i] = (Work){.complete_after = i + 1};
        CHECK(!allocate(class, &works[i], &works[i].request), "a request of a class");
        handles[i] = works[i].request;
    }
    CHECK(!CALL(int (*)(int, int *, void *), "MPI_Waitall")(3, handles, (void *)1), "wait for all");
    for (int i = 0; i < 3; i++) CHECK(works[i].polls == i + 1 && works[i].frees == 1, "%d: %d polls", i, works[i].polls);
    CHECK(allocate(class + 1, &works[0], &wrong), "a class that there is not");
}

typedef struct {
    void *base;
    intptr_t length;
} Iov;

static void runs_are(int type, int64_t count, const Iov *runs) {
    int (*iov)(int, int64_t, Iov *, int64_t, int64_t *) = CALL(int (*)(int, int64_t, Iov *, int64_t, int64_t *), "MPIX_Type_iov");
    int (*iov_len)(int, int64_t, int64_t *, int64_t *) = CALL(int (*)(int, int64_t, int64_t *, int64_t *), "MPIX_Type_iov_len");
    int64_t got, bytes, total = 0;
    Iov found[8];
    for (int64_t most = 0; most <= count + 1; most++) {
        for (int64_t first = 0; first <= count + 1; first++) {
            int64_t expected = first >= count ? 0 : count - first < most ? count - first : most;
            CHECK(!iov(type, first, found, most, &got) && got == expected, "%ld runs from %ld on, not %ld", got, first, expected);
            CHECK(!memcmp(found, runs + (first < count ? first : 0), (size_t)got * sizeof *found), "the runs from %ld on", first);
        }
    }
    for (int64_t i = 0; i < count; i++) total += runs[i].length;
    for (int64_t most = 0; most < total + 5; most++) {
        int64_t sum = 0, fit = 0;
        while (fit < count && sum + runs[fit].length <= most) sum += runs[fit++].length;
        CHECK(!iov_len(type, most, &got, &bytes) && got == fit && bytes == sum, "%ld runs of %ld bytes in %ld", got, bytes, most);
    }
}

static void datatypes(void) {
    int type, lengths[] = {1, 3, 2}, displacements[] = {5, 0, 9};
    int (*commit)(int *) = CALL(int (*)(int *), "MPI_Type_commit");
    int (*release)(int *) = CALL(int (*)(int *), "MPI_Type_free");
    runs_are(INT, 1, (Iov[]){{0, 4}});
    CHECK(!CALL(int (*)(int, int, int, int, int *), "MPI_Type_vector")(3, 1, 2, INT, &type) && !commit(&type), "a vector");
    runs_are(type, 3, (Iov[]){{0, 4}, {(void *)8, 4}, {(void *)16, 4}});
    CHECK(!release(&type), "free");
    CHECK(!CALL(int (*)(int, int *, int *, int, int *), "MPI_Type_indexed")(3, lengths, displacements, INT, &type), "blocks");
    int64_t got, bytes;
    CHECK(CALL(int (*)(int, int64_t, int64_t *, int64_t *), "MPIX_Type_iov_len")(type, 9, &got, &bytes), "a type that is not committed");
    CHECK(!commit(&type), "commit");
    runs_are(type, 3, (Iov[]){{(void *)20, 4}, {0, 12}, {(void *)36, 8}});
    CHECK(CALL(int (*)(int, int64_t, int64_t *, int64_t *), "MPIX_Type_iov_len")(type, -2, &got, &bytes), "a negative count");
    CHECK(!CALL(int (*)(int, int64_t, int64_t *, int64_t *), "MPIX_Type_iov_len")(type, -1, &got, &bytes) && got == 3 && bytes == 24, "all of it");
    CHECK(!release(&type), "free");
    CHECK(!CALL(int (*)(int, int, int *), "MPI_Type_contiguous")(0, INT, &type) && !commit(&type), "an empty type");
    runs_are(type, 1, (Iov[]){{0, 0}});
    CHECK(!release(&type), "free");
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    library = dlopen("libmpi.so.12", RTLD_NOW);
    CHECK(library, "%s", dlerror());
    requests();
    datatypes();
    const char *profiling[] = {"PMPIX_Grequest_start", "PMPIX_Grequest_class_create", "PMPIX_Grequest_class_allocate", "PMPIX_Type_iov", "PMPIX_Type_iov_len"};
    for (size_t i = 0; i < sizeof profiling / sizeof *profiling; i++) find(profiling[i]);
    end();
    return 0;
}
