/* killed WHAT SEED VICTIM [returns]: run by tests/ga.rs. One process dies by SIGKILL in the middle of what all do; or, if
   VICTIM is negative, as many are killed by whoever runs it. With `returns` errors of MPI
   return, so that the others live on: they hear of it by a line from Global Arrays, leave their call, and print "survived". */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { N = 96, COUNT = 4000 };

static int me, size, plain, margins, vector, counter, other;
static double *buffer;
static jmp_buf left;
static char line[1024];

static void leave(const char *text, int code)
{
    (void)code;
    snprintf(line, sizeof line, "%s", text);
    longjmp(left, 1);
}

static void die(int number)
{
    (void)number;
    kill(getpid(), SIGKILL);
}

static int lo[2] = {0, 0}, hi[2] = {N - 1, N - 1}, ld[1] = {N}, first[1] = {0}, second[1] = {1};

static void put(void) { NGA_Put(plain, lo, hi, buffer, ld); }
static void get(void) { NGA_Get(plain, lo, hi, buffer, ld); }
static void acc(void)
{
    double one = 1;
    NGA_Acc(plain, lo, hi, buffer, ld, &one);
}
static void strided(void)
{
    int skip[2] = {2, 3};
    NGA_Strided_put(plain, lo, hi, skip, buffer, ld);
}
static void scatter(void)
{
    int places[16], *subscripts[16];
    for (int n = 0; n < 16; n++) {
        places[n] = n * N / 16;
        subscripts[n] = &places[n];
    }
    NGA_Scatter_acc(vector, buffer, subscripts, 16, buffer);
}
static void read_inc(void) { NGA_Read_inc(counter, first, 1); }
static void mutex(void)
{
    GA_Lock(0);
    get();
    GA_Unlock(0);
}
static void sync_all(void) { GA_Sync(); }
static void reduce(void)
{
    double values[100] = {0};
    GA_Dgop(values, 100, "+");
}
static void broadcast(void)
{
    double values[2000] = {0};
    GA_Brdcst(values, sizeof values, 0);
}
static void create(void)
{
    int dims[2] = {N, N}, array = NGA_Create(C_DBL, 2, dims, "short", NULL);
    GA_Destroy(array);
}
static void copy(void) { GA_Copy(plain, other); }
static void transpose(void) { GA_Transpose(plain, other); }
static void product(void) { GA_Dgemm('n', 't', N, N, N, 1, plain, plain, 0, other); }
static void dot(void) { GA_Ddot(plain, other); }
static void ghosts(void) { GA_Update_ghosts(margins); }
static void side(void) { NGA_Update_ghost_dir(margins, 0, 1, 1); }
static void solve(void) { GA_Lu_solve('n', margins, vector); }
static void groups(void)
{
    int members[64];
    for (int n = 0; n < size; n++) members[n] = n;
    GA_Pgroup_destroy(GA_Pgroup_create(members, size));
}

static const struct {
    const char *name;
    void (*work)(void);
} all[] = {
    {"put", put},       {"get", get},       {"acc", acc},           {"strided", strided}, {"scatter", scatter},     {"read_inc", read_inc},
    {"mutex", mutex},   {"sync", sync_all}, {"reduce", reduce},     {"broadcast", broadcast}, {"create", create},   {"copy", copy},
    {"dot", dot},       {"ghosts", ghosts}, {"transpose", transpose}, {"product", product}, {"side", side},         {"groups", groups},
    {"solve", solve},   {"held", mutex},
};

int main(int argc, char **argv)
{
    int dims[2] = {N, N}, width[2] = {1, 1}, returns = argc > 4 && !strcmp(argv[4], "returns");
    double one = 1;
    MPI_Init(&argc, &argv);
    if (returns) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    GA_Initialize();
    me = GA_Nodeid();
    size = GA_Nnodes();
    buffer = calloc(N * N, sizeof *buffer);
    plain = NGA_Create(C_DBL, 2, dims, "plain", NULL);
    other = NGA_Create(C_DBL, 2, dims, "other", NULL);
    margins = NGA_Create_ghosts(C_DBL, 2, dims, width, "margins", NULL);
    vector = NGA_Create(C_DBL, 1, dims, "vector", NULL);
    counter = NGA_Create(C_LONG, 1, dims, "counter", NULL);
    GA_Zero(counter);
    GA_Fill(margins, &one);
    GA_Shift_diagonal(margins, &one);
    GA_Create_mutexes(1);
    void (*work)(void) = NULL;
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        if (!strcmp(argv[1], all[n].name)) work = all[n].work;
    if (!work) return 3;
    /* Everybody has done it before somebody dies of it. */
    work();
    GA_Sync();
    if (returns) GA_Set_error_handler(leave);
    int lost = atoi(argv[3]) < 0 ? -atoi(argv[3]) : 1;
    if (me == atoi(argv[3])) {
        struct itimerval moment = {.it_value.tv_usec = 1000 + atoi(argv[2]) * 7919 % 20000};
        signal(SIGALRM, die);
        if (!strcmp(argv[1], "held")) {
            GA_Lock(0);
            die(0);
        }
        setitimer(ITIMER_REAL, &moment, NULL);
        for (;;) {
            for (int i = 0; i < COUNT; i++) work();
            GA_Sync();
        }
    }
    if (!setjmp(left)) {
        /* What nobody else is needed for goes on, and who waits for the dead is told. */
        for (;;) {
            for (int i = 0; i < COUNT; i++) work();
            GA_Sync();
        }
    }
    GA_Set_error_handler(NULL);
    /* Nobody leaves before all have heard of it: that one left is no news for others. What nobody else is needed for goes on. */
    long heard = NGA_Read_inc(counter, second, 1);
    while (heard < size - lost) {
        usleep(1000);
        NGA_Get(counter, second, second, &heard, ld);
    }
    GA_Terminate();
    MPI_Finalize();
    printf("survived: %s\n", line);
    return 0;
}
