// ranks: 1 2 3 4
// Memory that cannot be had: every process gets 0, also those whose part there is memory for, and the program goes on. With the
// argument `all` memory is taken until there is none left: tests/ga.rs limits it.
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) GA_Error(#condition, __LINE__);                                                              \
    } while (0)

enum { MOST = 64 };
#define LIMIT (1L << 20)

static int me, size;

/* So many doubles at each process. */
static int create(int64_t each)
{
    int64_t dims[1] = {each * size};
    return NGA_Create64(C_DBL, 1, dims, "even", NULL);
}

/* `each` doubles at each process, at the last one `last`. */
static int create_uneven(int64_t each, int64_t last)
{
    int64_t dims[1] = {each * (size - 1) + last}, block[1] = {size}, map[64];
    for (int n = 0; n < size; n++) map[n] = n * each;
    return NGA_Create_irreg64(C_DBL, 1, dims, "uneven", block, map);
}

/* It works as ever. */
static void is_usable(int array, int64_t elements)
{
    double two = 2;
    CHECK(array != 0);
    GA_Fill(array, &two);
    CHECK(GA_Ddot(array, array) == 4.0 * elements);
    GA_Destroy(array);
}

static void nobody_has_more_than_others(int answer)
{
    int least = answer, most = answer;
    GA_Igop(&least, 1, "min");
    GA_Igop(&most, 1, "max");
    CHECK((least != 0) == (most != 0));
}

static void beyond_limit(void)
{
    CHECK(GA_Memory_limited() && GA_Memory_avail() <= (size_t)LIMIT);
    CHECK(create(LIMIT / 8 + 1) == 0);
    CHECK(create_uneven(16, LIMIT / 8 + 1) == 0);
    int64_t dims[1] = {(LIMIT / 8 + 1) * size};
    int planned = GA_Create_handle(), held = create(LIMIT / 16 + 8);
    CHECK(held != 0);
    GA_Set_data64(planned, 1, dims, C_DBL);
    CHECK(!GA_Allocate(planned));
    CHECK(GA_Duplicate(held, "again") == 0);
    CHECK(GA_Memory_avail() < (size_t)LIMIT / 2);
    is_usable(held, (LIMIT / 16 + 8) * size);
    is_usable(create(LIMIT / 8), LIMIT / 8 * size);
    dims[0] = 100;
    GA_Set_data64(planned, 1, dims, C_DBL);
    CHECK(GA_Allocate(planned));
    is_usable(planned, 100);
}

static void beyond_the_machine(void)
{
    for (int turn = 0; turn < 3; turn++) {
        CHECK(create(1L << 42) == 0);
        CHECK(create_uneven(16, 1L << 42) == 0);
        CHECK(NGA_Create64(C_DBL, 2, (int64_t[]){1L << 40, 1L << 40}, "beyond 64 bits", NULL) == 0);
        is_usable(create(1000), 1000 * size);
    }
}

static jmp_buf refused;

static void leave(const char *line, int code)
{
    (void)code;
    if (!strstr(line, "32768 arrays already")) abort();
    longjmp(refused, 1);
}

/* One more handle or array; 0: it is refused, since there are too many. */
static int one_more(int is_array)
{
    volatile int got = -1;
    GA_Set_error_handler(leave);
    if (!setjmp(refused)) got = is_array ? create(1000) : GA_Create_handle();
    else got = 0;
    GA_Set_error_handler(NULL);
    return got;
}

/* When there are no handles nothing is made, at any process, and no memory is lost. */
static void without_handles(void)
{
    enum { ALL = 1 << 15 };
    static int planned[ALL];
    int count = 0;
    size_t used = GA_Inquire_memory();
    GA_Set_memory_limit(used + 8000);
    while ((planned[count] = one_more(0))) count++;
    for (int turn = 0; turn < 3; turn++) CHECK(!one_more(1) && GA_Inquire_memory() == used);
    if (me != 0)
        while (count > 0) GA_Destroy(planned[--count]);
    for (int turn = 0; turn < 3; turn++) CHECK(!(me == 0 ? one_more(1) : create(1000)) && GA_Inquire_memory() == used);
    while (count > 0) GA_Destroy(planned[--count]);
    is_usable(create(1000), 1000 * size);
    GA_Set_memory_limit((size_t)-1);
}

static int callbacks;

static void note(const char *line, int code)
{
    (void)code;
    callbacks += strstr(line, "MA_free_heap") != NULL;
}

static void leave_callback(const char *line, int code)
{
    (void)code;
    if (!strstr(line, "MA_free_heap: ") || callbacks != 1) abort();
    longjmp(refused, 1);
}

/* Pieces of blocks, the arrays that indexes belong to, and refusals that end the job. */
static void pieces_and_refusals(void)
{
    long handle, index;
    double *pointer;
    CHECK(MA_init(MT_C_DBL, 60, 90) && MA_inquire_avail(MT_C_DBL) == 150 && MA_inquire_stack_check_heap(MT_C_FLOAT) == 300);
    CHECK(MA_alloc_get(MT_C_DBL, 100, "block", &handle, &index) && MA_get_pointer(handle, &pointer));
    ma_cb_dbl[index + 99] = 7;
    CHECK(pointer[99] == 7 && &ma_cb_dbl[index] == pointer);
    CHECK(MA_inquire_heap_no_partition(MT_C_DBL) == 50);
    CHECK(MA_free_heap_piece(handle, 40) && MA_inquire_heap(MT_C_DBL) == 90 && MA_get_index(handle, &index) && &ma_cb_dbl[index] == pointer);
    CHECK(!MA_free_heap_piece(handle, -1) && MA_free_heap_piece(handle, 60) && !MA_free_heap(handle));
    CHECK(MA_set_error_print(0) == 1 && !MA_free_heap(handle) && MA_set_error_print(1) == 0);
    CHECK(MA_set_hard_fail(1) == 0);
    MA_set_error_callback(note);
    GA_Set_error_handler(leave_callback);
    if (!setjmp(refused)) {
        MA_free_heap(handle);
        abort();
    }
    GA_Set_error_handler(NULL);
    MA_set_error_callback(NULL);
    CHECK(MA_set_hard_fail(0) == 1 && !MA_free_heap(handle));
}

/* What fills margins from packed pieces, and what GA_Getmem gives, counts as arrays do. */
static void all_kinds_of_memory(void)
{
    int dims[1] = {1000 * size}, width[1] = {8};
    size_t before = GA_Inquire_memory(), with_array;
    int ghosts = NGA_Create_ghosts(C_DBL, 1, dims, width, "ghosts", NULL);
    with_array = GA_Inquire_memory();
    CHECK(ghosts != 0 && with_array >= before + 1000 * sizeof(double));
    GA_Set_memory_limit(with_array + 64);
    CHECK(GA_Getmem(C_DBL, 1000, -1) == NULL && GA_Getmem(C_DBL, me == 0 ? 1000 : 1, -1) == NULL);
    for (int turn = 0; turn < 30; turn++) GA_Update_ghosts(ghosts);
    CHECK(GA_Inquire_memory() - with_array <= 64);
    GA_Set_memory_limit((size_t)-1);
    double *mine = GA_Getmem(C_DBL, 1000, -1);
    CHECK(mine != NULL && GA_Inquire_memory() >= with_array + 1000 * sizeof(double));
    GA_Freemem(mine);
    GA_Destroy(ghosts);
    CHECK(GA_Inquire_memory() == before);
    ghosts = NGA_Create_ghosts(C_DBL, 1, dims, width, "ghosts", NULL);
    GA_Update_ghosts(ghosts);
    CHECK(size == 1 || GA_Inquire_memory() >= with_array + 4 * 8 * sizeof(double));
    GA_Destroy(ghosts);
    CHECK(GA_Inquire_memory() == before);
}

static void allocator(void)
{
    long handle, index, later;
    double *pointer;
    CHECK(MA_push_get(MT_C_DBL, 1L << 50, "huge", &handle, &index) == 0);
    CHECK(MA_alloc_get(MT_C_DBL, 1L << 50, "huge", &handle, &index) == 0);
    CHECK(MA_push_stack(MT_C_DBL, -1, "negative", &handle) == 0);
    CHECK(MA_push_get(MT_C_DBL, 100, "first", &handle, &index) && MA_get_pointer(handle, &pointer));
    CHECK((double *)0 + index == pointer);
    CHECK(MA_push_get(MT_C_INT, 100, "later", &later, &index));
    CHECK(!MA_pop_stack(handle) && MA_pop_stack(later) && MA_pop_stack(handle) && !MA_pop_stack(handle));
    CHECK(!MA_free_heap(handle) && !MA_get_pointer(handle, &pointer) && !MA_get_index(99, &index));
}

/* Everything that there is, twice. */
static void all_of_it(void)
{
    const int64_t each = (16L << 20) / 8;
    for (int turn = 0; turn < 2; turn++) {
        int arrays[MOST], count = 0;
        do {
            arrays[count] = create(each);
            nobody_has_more_than_others(arrays[count]);
        } while (arrays[count] != 0 && ++count < MOST);
        CHECK(count > 0 && count < MOST);
        nobody_has_more_than_others(GA_Getmem(C_DBL, (int)each, -1) != NULL);
        is_usable(arrays[--count], each * size);
        while (count > 0) GA_Destroy(arrays[--count]);
    }
    is_usable(create(each), each * size);
}

int main(int argc, char **argv)
{
    (void)argv;
    MPI_Init(&argc, &argv);
    GA_Initialize_ltd(argc > 1 ? (size_t)-1 : (size_t)LIMIT);
    me = GA_Nodeid();
    size = GA_Nnodes();
    if (argc > 1) {
        all_of_it();
    } else {
        beyond_limit();
        GA_Set_memory_limit((size_t)-1);
        beyond_the_machine();
        without_handles();
        allocator();
        pieces_and_refusals();
        all_kinds_of_memory();
    }
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
