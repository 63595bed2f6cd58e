// ranks: 1 2 3
// A mistake is refused in one place, by a line that names the routine, the array, the argument, and what would be right; with the
// argument `unhandled` the first of these ends the job.
#include <ga.h>
#include <limits.h>
#include <macdecls.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf refused;
static char line[2048];

static void leave(const char *text, int code)
{
    (void)code;
    snprintf(line, sizeof line, "%s", text);
    longjmp(refused, 1);
}

/* The statement is refused by a line with each of these words, which bars separate. */
#define WRONG(words, statement)                                                                                        \
    do {                                                                                                               \
        if (!setjmp(refused)) {                                                                                        \
            statement;                                                                                                 \
            fail("not refused", #statement);                                                                           \
        }                                                                                                              \
        char list[256] = words;                                                                                        \
        for (char *word = strtok(list, "|"); word; word = strtok(NULL, "|"))                                           \
            if (!strstr(line, word)) fail(word, line);                                                                 \
    } while (0)

static void fail(const char *what, const char *where)
{
    GA_Set_error_handler(NULL);
    char text[2500];
    snprintf(text, sizeof text, "%s: %s", what, where);
    GA_Error(text, 1);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    int me = GA_Nodeid(), size = GA_Nnodes(), dims[2] = {13, 11}, line_dims[1] = {20}, cube[3] = {4, 4, 4};
    int a = NGA_Create(C_DBL, 2, dims, "doubles", NULL), ints = NGA_Create(C_INT, 2, dims, "ints", NULL);
    int vector = NGA_Create(C_DBL, 1, line_dims, "vector", NULL), box = NGA_Create(C_DBL, 3, cube, "box", NULL);
    int gone = NGA_Create(C_DBL, 2, dims, "gone", NULL), planned = GA_Create_handle();
    int square = NGA_Create(C_INT, 2, (int[]){3, 3}, "square", NULL);
    int lo[2] = {0, 0}, hi[2] = {12, 10}, ld[1] = {11}, below[2] = {-1, 0}, above[2] = {12, 11}, first[2] = {0, 0};
    int short_ld[1] = {10}, no_ld[1] = {-5}, skip[2] = {0, 1}, zero[2] = {0, 5}, many[8] = {2, 2, 2, 2, 2, 2, 2, 2};
    int cut[2] = {1, 1}, map[2] = {3, 0}, grid[2] = {64, 64}, block[2] = {2, 0}, wide[1] = {-3}, far[1] = {7}, far_hi[1] = {20};
    int *subscripts[1] = {above}, negative[2] = {-1, 0};
    int64_t negative64[2] = {-1, 0};
    double buffer[13 * 11], one = 1;
    void *pointer;
    GA_Destroy(gone);
    if (argc > 1) {
        if (me == 0) NGA_Put(a, lo, above, buffer, ld);
        GA_Sync();
        return 0;
    }
    GA_Set_error_handler(leave);
    /* Bounds. */
    WRONG("NGA_Put|'doubles'|lo[0]=-1|0..13", NGA_Put(a, below, hi, buffer, ld));
    WRONG("NGA_Get|'doubles'|hi[1]=11|0..11", NGA_Get(a, lo, above, buffer, ld));
    WRONG("NGA_Acc|'doubles'|hi[0]=0|12..13", NGA_Acc(a, hi, first, buffer, ld, &one));
    WRONG("NGA_Put64|'doubles'|hi[1]=4294967296", NGA_Put64(a, (int64_t[]){0, 0}, (int64_t[]){0, 1L << 32}, buffer, (int64_t[]){11}));
    WRONG("NGA_NbGet|'vector'|hi[0]=20|7..20", NGA_NbGet(vector, far, far_hi, buffer, NULL, NULL));
    WRONG("NGA_Scatter|'doubles'|[1]=11|0..11", NGA_Scatter(a, buffer, subscripts, 1));
    WRONG("NGA_Gather|n=-1", NGA_Gather(a, buffer, subscripts, -1));
    /* More than memory can hold, and more than there is. */
    WRONG("NGA_Gather64|cannot be had", NGA_Gather64(a, buffer, (int64_t *[]){negative64}, INT64_MAX));
    WRONG("NGA_Scatter_flat64|cannot be had", NGA_Scatter_flat64(a, buffer, negative64, (int64_t)1 << 44));
    WRONG("NGA_Read_inc|'ints'|[1]=11", NGA_Read_inc(ints, above, 1));
    WRONG("NGA_Access|'doubles'|hi[1]=11", NGA_Access(a, lo, above, &pointer, ld));
    WRONG("NGA_Distribution|99", NGA_Distribution(a, 99, lo, hi));
    WRONG("NGA_Periodic_get|'doubles'|27|13", NGA_Periodic_get(a, below, (int[]){25, 10}, buffer, ld));
    WRONG("NGA_Fill_patch|'doubles'|hi[1]=11", NGA_Fill_patch(a, first, above, &one));
    WRONG("NGA_Copy_patch|'vector'|lo[0]=20", NGA_Copy_patch('n', a, first, first, vector, far_hi, far_hi));
    /* Leading dimensions, steps, buffers. */
    WRONG("NGA_Put|'doubles'|ld[0]=10|11", NGA_Put(a, first, (int[]){12, 10}, buffer, short_ld));
    WRONG("NGA_Get|'doubles'|ld[0]=-5", NGA_Get(a, first, (int[]){12, 10}, buffer, no_ld));
    WRONG("NGA_Strided_put|'doubles'|skip[0]=0", NGA_Strided_put(a, first, (int[]){12, 10}, skip, buffer, ld));
    WRONG("NGA_Put|'doubles'|buf is null", NGA_Put(a, first, first, NULL, ld));
    WRONG("NGA_Acc|alpha is null", NGA_Acc(a, first, first, buffer, ld, NULL));
    WRONG("NGA_Get|lo is null", NGA_Get(a, NULL, first, buffer, ld));
    /* Types. */
    WRONG("NGA_Create|77777", NGA_Create(77777, 2, dims, "typed", NULL));
    WRONG("NGA_Read_inc|'doubles'|integers", NGA_Read_inc(a, first, 1));
    WRONG("GA_Copy|'doubles'|'ints'|types", GA_Copy(a, ints));
    WRONG("GA_Ddot|'ints'", GA_Ddot(a, ints));
    WRONG("GA_Lu_solve|real or complex", GA_Lu_solve('n', square, square));
    WRONG("GA_Dgemm|'x'", GA_Dgemm('x', 'n', 2, 2, 2, 1, a, a, 0, a));
    /* Counts that are larger than the array: no 16 GiB are touched. */
    WRONG("GA_Dgop|x=0x|17179869176 bytes|count", GA_Dgop(buffer, INT_MAX, "+"));
    WRONG("GA_Pgroup_igop|x=0x|beyond the memory", GA_Pgroup_igop(GA_Pgroup_get_world(), dims, INT_MAX, "max"));
    WRONG("GA_Brdcst|buf=0x|beyond the memory", GA_Brdcst(buffer, INT_MAX, 0));
    WRONG("GA_Dgop|x is null", GA_Dgop(NULL, 1, "+"));
    /* Dimensions and sizes. */
    WRONG("NGA_Create|ndim=8|1 to 7", NGA_Create(C_DBL, 8, many, "eight", NULL));
    WRONG("NGA_Create|ndim=0", NGA_Create(C_DBL, 0, many, "none", NULL));
    WRONG("NGA_Create|dims[0]=0", NGA_Create(C_DBL, 2, zero, "empty", NULL));
    WRONG("NGA_Create|dims[0]=-1", NGA_Create(C_DBL, 2, negative, "negative", NULL));
    WRONG("NGA_Create_ghosts|width[0]=-3", NGA_Create_ghosts(C_DBL, 1, line_dims, wide, "ghosts", NULL));
    WRONG("NGA_Create_irreg|map", NGA_Create_irreg(C_DBL, 2, dims, "cut", cut, map));
    WRONG("GA_Copy|'doubles'|'box'", GA_Copy(a, box));
    WRONG("GA_Transpose|", GA_Transpose(a, a));
    WRONG("GA_Spd_invert|'doubles'|square", GA_Spd_invert(a));
    WRONG("GA_Dgemm|'doubles'|hi[1]=12|0..11", GA_Dgemm('n', 'n', 13, 13, 11, 1, a, a, 0, a));
    GA_Set_data(planned, 2, dims, C_DBL);
    WRONG("GA_Allocate|proc_grid=[64, 64]|4096", GA_Set_block_cyclic_proc_grid(planned, (int[]){2, 2}, grid); GA_Allocate(planned));
    WRONG("GA_Allocate|block dims=[2, 0]", GA_Set_block_cyclic(planned, block); GA_Allocate(planned));
    WRONG("GA_Set_restricted|99", GA_Set_restricted(planned, (int[]){99}, 1));
    /* Handles, groups, mutexes. */
    WRONG("NGA_Get|-999999|no array", NGA_Get(-999999, first, first, buffer, ld));
    WRONG("GA_Destroy|destroyed", GA_Destroy(gone));
    WRONG("GA_Zero|0 is no array", GA_Zero(0));
    WRONG("NGA_Put|no memory yet", NGA_Put(planned, first, first, buffer, ld));
    WRONG("GA_Set_data|", GA_Set_data(a, 2, dims, C_DBL));
    WRONG("GA_Pgroup_sync|group=77", GA_Pgroup_sync(77));
    WRONG("GA_Lock|mutex=0|there are 0", GA_Lock(0));
    WRONG("GA_Create_mutexes|number=-2", GA_Create_mutexes(-2));
    WRONG("NGA_Update_ghost_dir|dimension=5", NGA_Update_ghost_dir(a, 5, 1, 1));
    WRONG("GA_Error|by the program", GA_Error("said by the program", 3));
    GA_Set_error_handler(NULL);
    /* All of it left the arrays as they are usable. */
    GA_Fill(a, &one);
    if (GA_Ddot(a, a) != 13 * 11 || size < 1) GA_Error("the array was changed", 1);
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
