/* Half round trip between ranks 0 and 1 by MPI, and in turn with it a bare loop of the system calls of one mechanism between the same processes and
 * buffers. Both wait for one another by looking at shared memory.
 *
 *   mechanisms [--real] [--bare NAME] [--seconds S] SIZE ...
 *
 * NAME is cma_read (the receiver reads), cma_write (the sender writes), cma_both (each one half), vmsplice, writev (both through a pipe of 1 MiB, in
 * pieces of 64 KiB) or loopback (TCP on 127.0.0.1); without it there is no bare loop. --real as in pingpong.c. */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include "touch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PIECE = 64 << 10, PIPE = 1 << 20 };

/* What one rank shows the other. */
struct shown {
    _Alignas(128) _Atomic uint64_t sent;     /* messages that may be copied */
    _Alignas(128) _Atomic uint64_t received; /* messages that were copied */
    _Alignas(128) _Atomic uint64_t written;  /* messages of which the sender has copied its part */
    long pid;
    uint64_t out, in;
    int reader;
};

static struct shown *ours, *theirs;
static int rank, size, real, wrong;
static char *outgoing, *incoming;
static const char *bare;
static uint64_t sent, received;
/* Where bytes go into and come out of. */
static int into, out_of;

static void await(_Atomic uint64_t *word, uint64_t value)
{
    while (atomic_load_explicit(word, memory_order_acquire) < value)
        ;
}

static void check(int good, const char *what)
{
    if (!good) {
        perror(what);
        give_up("mechanisms: a system call of the bare loop fails");
    }
}

static int is(const char *name) { return strcmp(bare, name) == 0; }

/* One call, of a part of the buffers. */
static void cross(int write, size_t from, size_t bytes)
{
    struct iovec here = {(write ? outgoing : incoming) + from, bytes};
    struct iovec there = {(void *)(uintptr_t)((write ? theirs->in : theirs->out) + from), bytes};
    ssize_t done = write ? process_vm_writev((pid_t)theirs->pid, &here, 1, &there, 1, 0) : process_vm_readv((pid_t)theirs->pid, &here, 1, &there, 1, 0);
    check(done == (ssize_t)bytes, "process_vm");
}

static void feed(void)
{
    for (size_t done = 0; done < (size_t)size;) {
        size_t left = (size_t)size - done;
        struct iovec piece = {outgoing + done, left < PIECE ? left : PIECE};
        ssize_t now = is("vmsplice") ? vmsplice(into, &piece, 1, SPLICE_F_NONBLOCK) : writev(into, &piece, 1);
        check(now >= 0 || errno == EAGAIN, bare);
        done += now > 0 ? (size_t)now : 0;
    }
}

static void drain(void)
{
    for (size_t done = 0; done < (size_t)size;) {
        struct iovec rest = {incoming + done, (size_t)size - done};
        ssize_t now = readv(out_of, &rest, 1);
        check(now > 0 || errno == EAGAIN, "readv");
        done += now > 0 ? (size_t)now : 0;
    }
}

static void send_bare(void)
{
    size_t half = (size_t)size / 2;
    sent++;
    if (is("cma_write"))
        cross(1, 0, (size_t)size);
    atomic_store_explicit(&ours->sent, sent, memory_order_release);
    if (is("cma_both")) {
        cross(1, half, (size_t)size - half);
        atomic_store_explicit(&ours->written, sent, memory_order_release);
    }
    if (is("vmsplice") || is("writev") || is("loopback"))
        feed();
    await(&theirs->received, sent);
}

static void receive_bare(void)
{
    received++;
    await(&theirs->sent, received);
    if (is("cma_read"))
        cross(0, 0, (size_t)size);
    else if (is("cma_both")) {
        cross(0, 0, (size_t)size / 2);
        await(&theirs->written, received);
    } else if (!is("cma_write"))
        drain();
    atomic_store_explicit(&ours->received, received, memory_order_release);
}

static void send_message(int by_bare)
{
    if (by_bare)
        send_bare();
    else
        traffic.due += size, MPI_Send(outgoing, size, MPI_BYTE, !rank, 1, MPI_COMM_WORLD);
}

static void receive_message(int by_bare)
{
    if (by_bare)
        receive_bare();
    else
        MPI_Recv(incoming, size, MPI_BYTE, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void rounds(int count, int by_bare)
{
    static uint64_t seed;
    for (int i = 0; i < count; i++, seed++) {
        uint64_t own = rank ? ~seed : seed;
        if (rank == 0) {
            if (real)
                rewrite(outgoing, size, own);
            send_message(by_bare);
        }
        receive_message(by_bare);
        if (real)
            wrong += !is_written(incoming, size, ~own);
        if (rank == 1) {
            if (real)
                rewrite(outgoing, size, own);
            send_message(by_bare);
        }
    }
}

static void by_mpi(int count) { rounds(count, 0); }
static void by_calls(int count) { rounds(count, 1); }

/* A pipe of the sender's is opened by the receiver; a socket is connected to. */
static void open_streams(void)
{
    if (is("loopback")) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        int port = 0, one = 1, door = socket(AF_INET, SOCK_STREAM, 0);
        if (rank == 0) {
            check(!bind(door, (void *)&address, length) && !listen(door, 1) && !getsockname(door, (void *)&address, &length), "listen");
            port = address.sin_port;
        }
        port = agree(port);
        address.sin_port = (in_port_t)port;
        if (rank == 1)
            check(!connect(into = door, (void *)&address, length), "connect");
        else
            into = accept(door, NULL, NULL);
        check(into >= 0 && !setsockopt(into, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) && !fcntl(into, F_SETFL, O_NONBLOCK), "socket");
        out_of = into;
        return;
    }
    int ends[2];
    check(!pipe2(ends, O_NONBLOCK), "pipe");
    fcntl(ends[1], F_SETPIPE_SZ, PIPE);
    into = ends[1];
    ours->reader = ends[0];
    MPI_Barrier(MPI_COMM_WORLD);
    char name[64];
    snprintf(name, sizeof name, "/proc/%ld/fd/%d", theirs->pid, theirs->reader);
    out_of = open(name, O_RDONLY | O_NONBLOCK);
    check(out_of >= 0, name);
}

int main(int argc, char **argv)
{
    struct arguments a = {.seconds = 1};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bare") == 0 && i + 1 < argc)
            bare = argv[++i];
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            a.seconds = atof(argv[++i]);
        else if (argv[i][0] != '-' && a.count < MAX_CELLS)
            a.cells[a.count++] = argv[i];
    }
    real = has_option(argc, argv, "--real");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pin(rank);
    if (rank == 0)
        print_library();
    MPI_Win win;
    MPI_Aint length;
    int unit;
    MPI_Win_allocate_shared(sizeof *ours, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &ours, &win);
    MPI_Win_shared_query(win, !rank, &length, &unit, &theirs);
    outgoing = buffer(largest_size(&a));
    incoming = buffer(largest_size(&a));
    memset(ours, 0, sizeof *ours);
    *ours = (struct shown){.pid = getpid(), .out = (uintptr_t)outgoing, .in = (uintptr_t)incoming};
    MPI_Barrier(MPI_COMM_WORLD);
    if (bare)
        open_streams();
    for (int i = 0; i < a.count; i++) {
        static struct samples all[2];
        /* In turn, so that what disturbs the one disturbs the other. */
        enum { TURNS = 4 };
        size = cell_size(a.cells[i]);
        all[0].count = all[1].count = 0;
        begin_count();
        for (int turn = 0; turn < TURNS; turn++)
            for (int by_bare = 0; by_bare < 1 + !!bare; by_bare++) {
                struct samples *these = time_operations(by_bare ? by_calls : by_mpi, 2, a.seconds * 1e6 / a.count / TURNS / (1 + !!bare));
                struct samples *to = &all[by_bare];
                for (int s = 0; s < these->count && to->count < MAX_SAMPLES; s++)
                    to->us[to->count++] = these->us[s];
            }
        end_count();
        if (wrong)
            give_up("mechanisms: received data differs from what was sent");
        double floor = bare ? median(&all[1]) : 0;
        if (rank == 0) {
            printf("result mechanisms size=%d ", size);
            print_counts();
            if (bare)
                printf("floor=%.4f ", floor);
            print_samples(&all[0]);
        }
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
