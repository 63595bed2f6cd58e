// ranks: 1 2 3 4
// Arrays in memory that is there already, fields of structures, steps to bounds, adjoint factors, and communicators of groups.
#include <ga-mpi.h>
#include <ga.h>
#include <macdecls.h>
#include <math.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) GA_Error(#condition, __LINE__);                                                              \
    } while (0)

static int me, size;
static jmp_buf refused;

static void leave(const char *line, int code)
{
    (void)line;
    (void)code;
    longjmp(refused, 1);
}

/* The statement is refused. */
#define REFUSED(statement)                                                                                             \
    do {                                                                                                               \
        GA_Set_error_handler(leave);                                                                                   \
        int came_back = setjmp(refused);                                                                               \
        if (!came_back) {                                                                                              \
            statement;                                                                                                 \
            GA_Set_error_handler(NULL);                                                                                \
            GA_Error("not refused: " #statement, __LINE__);                                                            \
        }                                                                                                              \
        GA_Set_error_handler(NULL);                                                                                    \
    } while (0)

static int elements_of(int array)
{
    int lo[2], hi[2];
    NGA_Distribution(array, me, lo, hi);
    return hi[0] < lo[0] ? 0 : (hi[0] - lo[0] + 1) * (hi[1] - lo[1] + 1);
}

static void assembled(void)
{
    int dims[2] = {11, 7}, lo[2] = {0, 0}, hi[2] = {10, 6}, ld[1] = {7};
    int like = NGA_Create(C_DBL, 2, dims, "like", NULL), count = elements_of(like);
    double *memory = GA_Getmem(C_DBL, count, 0), all[11][7], value = 2.5;
    for (int at = 0; at < count; at++) {
        CHECK(memory[at] == 0);
        memory[at] = me + 1;
    }
    int array = GA_Assemble_duplicate(like, "assembled", memory);
    CHECK(!GA_Compare_distr(like, array) && !strcmp(GA_Inquire_name(array), "assembled"));
    GA_Sync();
    NGA_Get(array, lo, hi, all, ld);
    for (int i = 0; i < 11; i++)
        for (int j = 0; j < 7; j++) CHECK(all[i][j] == NGA_Locate(array, (int[]){i, j}) + 1);
    GA_Sync();
    GA_Fill(array, &value);
    for (int at = 0; at < count; at++) CHECK(memory[at] == 2.5);
    /* It is that array's until then. */
    REFUSED(GA_Freemem(memory));
    REFUSED(GA_Assemble_duplicate(like, "again", memory));
    GA_Destroy(array);
    REFUSED(GA_Freemem(memory));
    memory = GA_Getmem(C_DBL, 1, -1);
    if (count > 1 || size > 1) REFUSED(GA_Assemble_duplicate(like, "too little", memory));
    GA_Freemem(memory);
    GA_Destroy(like);
}

/* Processes that have nothing of it take part. */
static void assembled_restricted(void)
{
    int dims[1] = {100}, processes[1] = {0}, like = GA_Create_handle(), one = 1;
    GA_Set_data(like, 1, dims, C_INT);
    GA_Set_restricted(like, processes, 1);
    CHECK(GA_Allocate(like));
    int *memory = GA_Getmem(C_INT, me == 0 ? 100 : 1, 0);
    int array = GA_Assemble_duplicate(like, "restricted", memory);
    GA_Fill(array, &one);
    CHECK(GA_Idot(array, array) == 100 && (me != 0 || memory[99] == 1));
    GA_Destroy(array);
    GA_Destroy(like);
}

static void overlaid(void)
{
    int large[2] = {size * 8, 8}, small[2] = {size * 4, 8}, too_large[2] = {size * 16, 8}, chunk[2] = {0, 8};
    int parent = NGA_Create(C_INT, 2, large, "parent", chunk), array = GA_Create_handle(), other = GA_Create_handle();
    int five = 5, lo[2], hi[2], ld[1], *below, *above;
    GA_Fill(parent, &five);
    GA_Set_data(array, 2, small, C_INT);
    GA_Set_chunk(array, chunk);
    GA_Set_data(other, 2, too_large, C_INT);
    GA_Set_chunk(other, chunk);
    REFUSED(GA_Overlay(other, parent));
    CHECK(GA_Overlay(array, parent));
    NGA_Distribution(array, me, lo, hi);
    NGA_Access(array, lo, hi, &above, ld);
    CHECK(*above == 5);
    NGA_Distribution(parent, me, lo, hi);
    NGA_Access(parent, lo, hi, &below, ld);
    CHECK(above == below);
    NGA_Release(parent, lo, hi);
    GA_Zero(array);
    CHECK(below[0] == 0 && below[63] == 5);
    /* The last user must not keep the one below. */
    int first[2] = {0, 0}, got = 1;
    NGA_Get(array, first, first, &got, ld);
    CHECK(got == 0);
    REFUSED(GA_Destroy(parent));
    GA_Destroy(array);
    GA_Destroy(parent);
    GA_Destroy(other);
}

struct particle {
    double mass;
    int charge;
    float place[3];
};

static void fields(void)
{
    int type = NGA_Register_type(sizeof(struct particle)), dims[2] = {9, 10}, plo[2] = {2, 3}, phi[2] = {6, 8}, ld[1] = {8};
    int array = NGA_Create(type, 2, dims, "particles", NULL), charges[5][8], lo[2] = {0, 0}, hi[2] = {8, 9}, all_ld[1] = {10};
    static struct particle all[9][10];
    ga_nbhdl_t handle;
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 10; j++) all[i][j] = (struct particle){i + j / 16.0, i * 10 + j, {i, j, 1}};
    if (me == 0) NGA_Put(array, lo, hi, all, all_ld);
    GA_Sync();
    NGA_Get_field(array, plo, phi, offsetof(struct particle, charge), sizeof(int), charges, ld);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 6; j++) {
            CHECK(charges[i][j] == (i + 2) * 10 + j + 3);
            charges[i][j] = -charges[i][j];
        }
    GA_Sync();
    if (me == size - 1) NGA_Put_field(array, plo, phi, offsetof(struct particle, charge), sizeof(int), charges, ld);
    GA_Sync();
    memset(all, 0, sizeof all);
    NGA_Get(array, lo, hi, all, all_ld);
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 10; j++) {
            int inside = i >= 2 && i <= 6 && j >= 3 && j <= 8, charge = i * 10 + j;
            CHECK(all[i][j].mass == i + j / 16.0 && all[i][j].charge == (inside ? -charge : charge));
            CHECK(all[i][j].place[0] == i && all[i][j].place[1] == j && all[i][j].place[2] == 1);
        }
    float places[5][8][3];
    NGA_Nbget_field(array, plo, phi, offsetof(struct particle, place), sizeof places[0][0], places, ld, &handle);
    NGA_NbWait(&handle);
    CHECK(places[4][5][0] == 6 && places[4][5][1] == 8 && places[0][0][2] == 1);
    REFUSED(NGA_Get_field(array, plo, phi, sizeof(struct particle) - 2, 4, charges, ld));
    REFUSED(NGA_Put_field(array, plo, phi, -4, 4, charges, ld));
    GA_Destroy(array);
    NGA_Deregister_type(type);
}

static void put_all(int array, double *values)
{
    if (me == 0) NGA_Put(array, (int[]){0}, (int[]){5}, values, NULL);
    GA_Sync();
}

static void steps(void)
{
    int dims[1] = {6}, arrays[4];
    /* Up, down, still within, still at its bound, up, down. */
    double values[4][6] = {{1, 4, 2, 0, 0, 5}, {2, -1, 0, 0, 4, -5}, {0, 1, 0, 0, -1, 0}, {7, 9, 9, 3, 2, 6}}, least, moving, most;
    for (int n = 0; n < 4; n++) {
        arrays[n] = NGA_Create(C_DBL, 1, dims, "vector", NULL);
        put_all(arrays[n], values[n]);
    }
    GA_Step_bound_info(arrays[0], arrays[1], arrays[2], arrays[3], &least, &moving, &most);
    CHECK(least == 0 && moving == 0.5 && most > 1e19);
    int lo[1] = {0}, hi[1] = {1};
    GA_Step_bound_info_patch(arrays[0], lo, hi, arrays[1], lo, hi, arrays[2], lo, hi, arrays[3], lo, hi, &least, &moving, &most);
    CHECK(least == 3 && moving == 3 && most == 3);
    values[3][0] = 0.5;
    put_all(arrays[3], values[3]);
    REFUSED(GA_Step_bound_info(arrays[0], arrays[1], arrays[2], arrays[3], &least, &moving, &most));
    GA_Sync();
    for (int n = 0; n < 4; n++) GA_Destroy(arrays[n]);
}

/* c = adjoint(a) b + a transposed(b) conjugated by hand. */
static void adjoint(void)
{
    enum { N = 6 };
    int dims[2] = {N, N}, lo[2] = {0, 0}, hi[2] = {N - 1, N - 1}, ld[1] = {N};
    int a = NGA_Create(C_DCPL, 2, dims, "a", NULL), b = NGA_Create(C_DCPL, 2, dims, "b", NULL), c = NGA_Create(C_DCPL, 2, dims, "c", NULL);
    DoubleComplex x[N][N], y[N][N], z[N][N], one = {1, 0}, zero = {0, 0};
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            x[i][j] = (DoubleComplex){i - 2 * j, i + j};
            y[i][j] = (DoubleComplex){j % 3, i - j};
        }
    if (me == 0) NGA_Put(a, lo, hi, x, ld), NGA_Put(b, lo, hi, y, ld);
    GA_Sync();
    GA_Zgemm('c', 'n', N, N, N, one, a, b, zero, c);
    NGA_Get(c, lo, hi, z, ld);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double re = 0, im = 0;
            for (int k = 0; k < N; k++) {
                re += x[k][i].real * y[k][j].real + x[k][i].imag * y[k][j].imag;
                im += x[k][i].real * y[k][j].imag - x[k][i].imag * y[k][j].real;
            }
            CHECK(fabs(z[i][j].real - re) < 1e-9 && fabs(z[i][j].imag - im) < 1e-9);
        }
    GA_Destroy(a), GA_Destroy(b), GA_Destroy(c);
}

static void communicators(void)
{
    MPI_Comm all = GA_MPI_Comm();
    int count, rank, sum = 0, half, members[64], number = 0;
    MPI_Comm_size(all, &count);
    MPI_Comm_rank(all, &rank);
    int same;
    MPI_Comm_compare(all, MPI_COMM_WORLD, &same);
    CHECK(same == MPI_CONGRUENT); /* Its messages are its own. */
    CHECK(count == size && rank == me && all == GA_MPI_Comm() && all == GA_MPI_Comm_pgroup(GA_Pgroup_get_world()));
    for (int at = me % 2; at < size; at += 2) members[number++] = at;
    half = GA_Pgroup_create(members, number);
    GA_Pgroup_set_default(half);
    MPI_Comm mine = GA_MPI_Comm_pgroup_default();
    MPI_Comm_size(mine, &count);
    MPI_Comm_rank(mine, &rank);
    CHECK(count == number && rank == me / 2 && mine == GA_MPI_Comm_pgroup(half));
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, mine);
    for (int at = 0; at < number; at++) sum -= members[at];
    CHECK(sum == 0);
    GA_Pgroup_set_default(GA_Pgroup_get_world());
    GA_Pgroup_destroy(half);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    GA_Initialize();
    me = GA_Nodeid();
    size = GA_Nnodes();
    assembled();
    assembled_restricted();
    overlaid();
    fields();
    steps();
    adjoint();
    communicators();
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
