// ranks: 1 2
// Random wrong arguments: each call is refused by the handler, or goes well; nothing outside the patches is written.
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 4000, ROWS = 13, COLUMNS = 11, GUARD = 64 };

static jmp_buf refused;
static int lines, allowed;
static unsigned long state = 7;

static void leave(const char *line, int code)
{
    (void)code;
    if (!strstr(line, "GA_")) abort(); /* the routine's name */
    lines++;
    longjmp(refused, 1);
}

static int next(int below)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((state >> 33) % (unsigned long)below);
}

/* An index that may be wrong. */
static int any(void)
{
    static const int odd[] = {-2147483647 - 1, -1, 0, ROWS - 1, COLUMNS, ROWS, 100000, 2147483647};
    return next(4) ? next(ROWS + 2) - 1 : odd[next(8)];
}

static int handle_of(const int *arrays)
{
    static const int odd[] = {0, -1, 1, -999, -100000, 2147483647, -2147483647 - 1};
    return next(6) ? arrays[next(4)] : odd[next(7)];
}

/* A call that may be wrong. */
static void attempt(const int *arrays, double *volatile buffer)
{
    int handle = handle_of(arrays), lo[2] = {any(), any()}, hi[2] = {any(), any()}, ld[1] = {next(5) ? COLUMNS : any()};
    int skip[2] = {next(4), next(4) - 1}, where[2][2] = {{any(), any()}, {any(), any()}}, *subscripts[3] = {where[0], where[1], where[0]};
    int ndim, type, wide[7];
    double one = 1, *at = next(12) ? buffer : NULL;
    void *pointer;
    /* A distance that is right, and larger than the buffer, is the program's own mistake. */
    if (ld[0] > 2 * COLUMNS) ld[0] = COLUMNS;
    if (setjmp(refused)) return;
    switch (next(16)) {
    case 0: NGA_Put(handle, lo, hi, at, ld); break;
    case 1: NGA_Get(handle, lo, hi, at, ld); break;
    case 2: NGA_Acc(handle, lo, hi, at, ld, next(5) ? &one : NULL); break;
    case 3: NGA_Strided_put(handle, lo, hi, skip, at, ld); break;
    case 4: NGA_Strided_get(handle, lo, hi, skip, at, ld); break;
    case 5: NGA_Scatter(handle, at, subscripts, next(4) - 1); break;
    case 6: NGA_Gather(handle, at, subscripts, next(4) - 1); break;
    case 7: NGA_Scatter_acc(handle, at, subscripts, next(3), &one); break;
    case 8: NGA_Read_inc(handle, lo, 1); break;
    case 9: NGA_Locate(handle, lo); break;
    case 10: NGA_Distribution(handle, any(), lo, hi); break;
    case 11: NGA_Access(handle, lo, hi, &pointer, ld); break;
    case 12: GA_Inquire_name(handle); break;
    case 13: GA_Lock(any()); break;
    case 14: NGA_Inquire(handle, &type, &ndim, wide); break;
    default: GA_Pgroup_nnodes(any()); break;
    }
    allowed++;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    int me = GA_Nodeid(), dims[2] = {ROWS, COLUMNS}, one_dim[1] = {ROWS};
    int arrays[4] = {NGA_Create(C_DBL, 2, dims, "doubles", NULL), NGA_Create(C_INT, 2, dims, "ints", NULL), NGA_Create(C_DBL, 1, one_dim, "vector", NULL), 0};
    int gone = NGA_Create(C_DBL, 2, dims, "gone", NULL);
    /* Ours alone, on both sides of it something that must stay. */
    int guards[2] = {NGA_Create(C_LONG, 1, one_dim, "guard", NULL), NGA_Create(C_LONG, 1, one_dim, "guard too", NULL)}, zero[1] = {0}, last[1] = {ROWS - 1};
    long mark = 0x5a5a5a5a;
    for (int g = 0; g < 2; g++) GA_Fill(guards[g], &mark);
    GA_Destroy(gone);
    arrays[3] = gone;
    double *buffer = malloc(sizeof *buffer * (ROWS * COLUMNS * 4 + 2 * GUARD));
    for (int i = 0; i < ROWS * COLUMNS * 4 + 2 * GUARD; i++) buffer[i] = 1e-3;
    GA_Sync();
    GA_Set_error_handler(leave);
    for (int call = 0; me == 0 && call < CALLS; call++) attempt(arrays, buffer + GUARD);
    GA_Set_error_handler(NULL);
    GA_Sync();
    for (int i = 0; i < GUARD; i++)
        if (buffer[i] != 1e-3) GA_Error("the buffer was written before its beginning", i);
    long values[ROWS];
    for (int g = 0; g < 2; g++) {
        NGA_Get(guards[g], zero, last, values, NULL);
        for (int i = 0; i < ROWS; i++)
            if (values[i] != mark) GA_Error("another array was written", i);
    }
    if (me == 0 && (lines < CALLS / 4 || allowed < CALLS / 20)) GA_Error("too few calls were refused, or went well", lines);
    GA_Sync();
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
