// ranks: 1 2 3 4 6
// What arrays are and who has what, in every distribution; pointers to blocks and margins; the flat forms; what is printed; and the calls that
// only ask about the job, its nodes and MA's blocks.
#define _GNU_SOURCE
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) GA_Error(#condition, __LINE__);                                                              \
    } while (0)

static int me, size;
static jmp_buf refused;

static void leave(const char *line, int code)
{
    (void)code;
    if (!strstr(line, "GA_")) abort();
    longjmp(refused, 1);
}

/* The statement is refused. */
#define REFUSED(statement)                                                                                             \
    do {                                                                                                               \
        GA_Set_error_handler(leave);                                                                                   \
        if (!setjmp(refused)) {                                                                                        \
            statement;                                                                                                 \
            GA_Set_error_handler(NULL);                                                                                \
            GA_Error("not refused: " #statement, __LINE__);                                                            \
        }                                                                                                              \
        GA_Set_error_handler(NULL);                                                                                    \
    } while (0)

static void job(void)
{
    int list[8], before = GA_Get_debug();
    CHECK(GA_Initialized() && NGA_Initialized());
    GA_Initialize_args(NULL, NULL); /* A second time nothing happens. */
    int nodes = GA_Cluster_nnodes(), processes = 0;
    for (int node = 0; node < nodes; node++) {
        for (int n = 0; n < GA_Cluster_nprocs(node); n++) {
            int process = GA_Cluster_procid(node, n);
            CHECK(GA_Cluster_proc_nodeid(process) == node && (process != me || GA_Cluster_nodeid() == node));
            processes++;
        }
    }
    CHECK(nodes >= 1 && processes == size && GA_Cluster_nprocs(-1) == GA_Cluster_nprocs(GA_Cluster_nodeid()));
    REFUSED(GA_Cluster_nprocs(nodes));
    REFUSED(GA_Cluster_procid(0, size));
    REFUSED(GA_Cluster_proc_nodeid(-1));
    GA_List_nodeid(list, size);
    NGA_List_nodeid(list, size);
    for (int n = 0; n < size; n++) CHECK(list[n] == n);
    double begun = GA_Wtime();
    usleep(2000);
    CHECK(NGA_Wtime() - begun > 0.001 && NGA_Wtime() - begun < 60);
    GA_Set_debug(5);
    CHECK(NGA_Get_debug() == 5);
    NGA_Set_debug(before);
    CHECK(!GA_Uses_ma() && !NGA_Uses_ma() && !GA_Uses_fapi());
    CHECK(GA_Create_mutexes(3) == 1);
    int counted = NGA_Create(C_INT, 1, (int[]){1}, "counted", NULL), zero[1] = {0}, value;
    GA_Zero(counted);
    for (int n = 0; n < 20; n++) {
        GA_Init_fence();
        NGA_Init_fence();
        GA_Lock(2);
        NGA_Get(counted, zero, zero, &value, NULL);
        value++;
        NGA_Put(counted, zero, zero, &value, NULL);
        GA_Fence();
        NGA_Fence();
        NGA_Unlock(2);
    }
    GA_Sync();
    NGA_Get(counted, zero, zero, &value, NULL);
    CHECK(value == 20 * size);
    /* Each waits for the others once more where the operation itself does not. */
    NGA_Mask_sync(0, 0);
    GA_Mask_sync(1, 0);
    GA_Zero(counted);
    GA_Sync();
    GA_Destroy(counted);
    CHECK(GA_Destroy_mutexes() == 1);
    CHECK(GA_Create_mutexes(1) == 1 && NGA_Destroy_mutexes() == 1);
}

/* Of an array that is cut regularly, or at given places. */
static void places(int g, const int *dims)
{
    int counts[2], extents[2], grid[2], index[2], topology[2], lo[2], hi[2], whole_lo[2] = {0, 0};
    volatile int elements = 0;
    int whole_hi[2] = {dims[0] - 1, dims[1] - 1}, *map = malloc(sizeof *map * 4 * size), *processes = malloc(sizeof *processes * size);
    int64_t wide_lo[2] = {0, 0}, wide_hi[2] = {whole_hi[0], whole_hi[1]}, *wide_map = malloc(sizeof *wide_map * 4 * size);
    CHECK(GA_Get_dimension(g) == 2 && NGA_Get_dimension(g) == 2 && NGA_Verify_handle(g) && GA_Verify_handle(g) && !GA_Verify_handle(0));
    CHECK(!GA_Uses_proc_grid(g) && !NGA_Uses_proc_grid(g) && GA_Total_blocks(g) == -1 && NGA_Locate_num_blocks(g, whole_lo, whole_hi) == -1);
    GA_Check_handle(g, "places");
    GA_Nblock(g, counts);
    NGA_Nblock(g, index);
    CHECK(counts[0] * counts[1] <= size && counts[0] == index[0] && counts[1] == index[1]);
    GA_Get_block_info(g, index, extents);
    CHECK(index[0] == counts[0] && index[1] == counts[1]);
    GA_Get_proc_grid(g, grid);
    CHECK(grid[1] == counts[0] && grid[0] == counts[1]);
    for (int process = 0; process < size; process++) {
        NGA_Distribution(g, process, lo, hi);
        NGA_Proc_topology(g, process, topology);
        if (process >= counts[0] * counts[1]) {
            CHECK(hi[0] < lo[0] && topology[0] == -1 && topology[1] == -1);
            REFUSED(GA_Get_proc_index(g, process, index));
            continue;
        }
        NGA_Get_proc_index(g, process, index);
        CHECK(index[0] == topology[1] && index[1] == topology[0] && index[0] == process / counts[1] && index[1] == process % counts[1]);
        CHECK(index[0] > 0 || lo[0] == 0);
        CHECK(index[1] < counts[1] - 1 || hi[1] == dims[1] - 1);
        CHECK(NGA_Locate(g, lo) == process && NGA_Locate64(g, (int64_t[]){hi[0], hi[1]}) == process);
        elements += (hi[0] - lo[0] + 1) * (hi[1] - lo[1] + 1);
    }
    CHECK(elements == dims[0] * dims[1]);
    CHECK(NGA_Locate(g, (int[]){dims[0], 0}) == -1 && NGA_Locate(g, (int[]){0, -1}) == -1);
    int parts = NGA_Locate_region(g, whole_lo, whole_hi, map, processes);
    CHECK(parts == counts[0] * counts[1] && NGA_Locate_nnodes(g, whole_lo, whole_hi) == parts && NGA_Locate_nnodes64(g, wide_lo, wide_hi) == parts);
    CHECK(NGA_Locate_region64(g, wide_lo, wide_hi, wide_map, processes) == parts);
    for (int n = 0; n < parts; n++) {
        NGA_Distribution(g, processes[n], lo, hi);
        for (int d = 0; d < 2; d++) CHECK(map[4 * n + d] == lo[d] && map[4 * n + 2 + d] == hi[d] && wide_map[4 * n + 2 + d] == hi[d]);
    }
    REFUSED(NGA_Locate_region(g, (int[]){-1, 0}, whole_hi, map, processes));
    free(map);
    free(processes);
    free(wide_map);
}

static void regular(void)
{
    int dims[2] = {13, 11}, block[2] = {size > 1 ? 2 : 1, 1}, map[3] = {0, 5, 0};
    int64_t wide[2] = {13, 11}, wide_block[2] = {block[0], 1}, wide_map[3] = {0, 5, 0};
    if (size == 1) map[1] = 0, wide_map[1] = 0;
    int world = GA_Pgroup_get_world();
    int arrays[] = {NGA_Create(C_INT, 2, dims, "regular", NULL), NGA_Create_irreg_config(C_INT, 2, dims, "config", block, map, world),
                    NGA_Create_irreg_config64(C_INT, 2, wide, "config64", wide_block, wide_map, world)};
    for (int n = 0; n < 3; n++) places(arrays[n], dims);
    CHECK(GA_Compare_distr(arrays[1], arrays[2]) == 0);
    if (size > 1) {
        int lo[2], hi[2];
        NGA_Distribution(arrays[2], 1, lo, hi);
        CHECK(lo[0] == 5 && hi[0] == 12 && lo[1] == 0 && hi[1] == 10);
    }
    /* Hints, and an array whose memory goes and comes. */
    GA_Set_property(arrays[0], "read_only");
    NGA_Set_property(arrays[0], "read_cache");
    GA_Unset_property(arrays[0]);
    NGA_Unset_property(arrays[0]);
    int value = 9;
    GA_Fill(arrays[0], &value);
    CHECK(GA_Deallocate(arrays[0]) == 1);
    REFUSED(GA_Fill(arrays[0], &value));
    CHECK(NGA_Allocate(arrays[0]) == 1 && GA_Idot(arrays[0], arrays[0]) == 0);
    CHECK(NGA_Deallocate(arrays[0]) == 1);
    GA_Set_irreg_flag(arrays[0], 0);
    NGA_Set_irreg_flag(arrays[0], 0);
    GA_Set_memory_dev(arrays[0], "dram");
    NGA_Set_memory_dev(arrays[0], "dram");
    CHECK(GA_Allocate(arrays[0]) == 1);
    for (int n = 0; n < 3; n++) GA_Destroy(arrays[n]);
}

enum { MOST = 4096 };

static int model(int i, int j) { return 1000 * i + j + 1; }

/* Each process fills the blocks that it has; everybody gets all of it. */
static void blocks(int g, const int *dims, int has_grid)
{
    int counts[2], extents[2], grid[2], lo[2], hi[2], index[2], ld[1], total = GA_Total_blocks(g), *at, got[MOST], whole_ld[1] = {dims[1]};
    int64_t wide_ld[1], length64;
    GA_Get_block_info(g, counts, extents);
    CHECK(total == counts[0] * counts[1] && total == NGA_Total_blocks(g) && GA_Uses_proc_grid(g) == has_grid);
    NGA_Get_proc_grid(g, grid);
    CHECK(grid[0] * grid[1] == size);
    int long_length = 0, length, seen = 0;
    void *segment, *again;
    NGA_Access_block_segment(g, me, &segment, &length);
    NGA_Access_block_segment64(g, me, &again, &length64);
    CHECK(segment == again && length == length64);
    long_length = length;
    for (int number = 0; number < total; number++) {
        NGA_Distribution(g, number, lo, hi);
        CHECK(NGA_Locate(g, lo) == number && NGA_Locate_num_blocks(g, lo, hi) == 1);
        int subscript[2] = {number / counts[1], number % counts[1]}, owner = number % size;
        if (has_grid) {
            /* The grid of processes, the last dimension first. */
            NGA_Get_proc_index(g, me, index);
            owner = index[0] == subscript[0] % grid[1] && index[1] == subscript[1] % grid[0] ? me : -1;
        }
        if (owner != me) continue;
        NGA_Access_block(g, number, &at, ld);
        int *same, *wide;
        NGA_Access_block_grid(g, subscript, &same, ld);
        NGA_Access_block_grid64(g, (int64_t[]){subscript[0], subscript[1]}, &wide, wide_ld);
        CHECK(same == at && wide == at && wide_ld[0] == ld[0]);
        NGA_Access_block64(g, number, &wide, wide_ld);
        CHECK(wide == at && at >= (int *)segment && at < (int *)segment + length);
        for (int i = lo[0]; i <= hi[0]; i++)
            for (int j = lo[1]; j <= hi[1]; j++, seen++) at[(i - lo[0]) * ld[0] + j - lo[1]] = model(i, j);
        NGA_Release_update_block(g, number);
        NGA_Release_update_block_grid(g, subscript);
    }
    NGA_Release_update_block_segment(g, me);
    CHECK(seen <= long_length);
    GA_Igop(&seen, 1, "+");
    CHECK(seen == dims[0] * dims[1]);
    NGA_Get(g, (int[]){0, 0}, (int[]){dims[0] - 1, dims[1] - 1}, got, whole_ld);
    for (int i = 0; i < dims[0]; i++)
        for (int j = 0; j < dims[1]; j++) CHECK(got[i * dims[1] + j] == model(i, j));
    NGA_Release_block(g, 0);
    NGA_Release_block_grid(g, (int[]){0, 0});
    NGA_Release_block_segment(g, me);
    REFUSED(NGA_Access_block(g, total, &at, ld));
    REFUSED(NGA_Access_block_grid(g, (int[]){counts[0], 0}, &at, ld));
    REFUSED(NGA_Access_block_segment(g, size, &at, ld));
    REFUSED(NGA_Distribution(g, total, lo, hi));
    GA_Sync();
}

static void dealt(void)
{
    int dims[2] = {17, 14}, block[2] = {3, 4}, grid[2] = {size % 2 == 0 ? 2 : 1, size % 2 == 0 ? size / 2 : size};
    int map[5] = {0, 4, 9, 0, 6}, parts[2] = {3, 2};
    int64_t wide_map[5] = {0, 4, 9, 0, 6}, wide_parts[2] = {3, 2}, wide_grid[2] = {grid[0], grid[1]};
    for (int kind = 0; kind < 5; kind++) {
        int g = GA_Create_handle();
        GA_Set_data(g, 2, dims, C_INT);
        if (kind == 0) GA_Set_block_cyclic(g, block);
        if (kind == 1) GA_Set_block_cyclic_proc_grid(g, block, grid);
        if (kind == 2) GA_Set_tiled_proc_grid(g, block, grid);
        if (kind >= 3 && (grid[0] > parts[0] || grid[1] > parts[1])) {
            GA_Destroy(g);
            continue;
        }
        if (kind == 3) NGA_Set_tiled_irreg_proc_grid(g, map, parts, grid);
        if (kind == 4) GA_Set_tiled_irreg_proc_grid64(g, wide_map, wide_parts, wide_grid);
        CHECK(GA_Allocate(g) == 1);
        GA_Zero(g);
        blocks(g, dims, kind > 0);
        if (kind >= 3) {
            int lo[2], hi[2];
            NGA_Distribution(g, 3, lo, hi);
            CHECK(lo[0] == 4 && hi[0] == 8 && lo[1] == 6 && hi[1] == 13);
        }
        GA_Destroy(g);
    }
}

/* One array with margins, which are filled in each way. */
static void margins(int g, const int *dims, const int *width)
{
    int lo[2], hi[2], stored[2], ld[1], *own, *element, ghost_ld[1];
    int64_t wide_stored[2], wide_ld[1];
    NGA_Distribution(g, me, lo, hi);
    int is_mine = hi[0] >= lo[0], rows = hi[0] - lo[0] + 1 + 2 * width[0], columns = hi[1] - lo[1] + 1 + 2 * width[1];
    for (int way = 0; way < 3; way++) {
        if (is_mine) {
            NGA_Access_ghosts(g, stored, &own, ld);
            NGA_Access_ghosts64(g, wide_stored, &element, wide_ld);
            CHECK(element == own && wide_ld[0] == ld[0] && wide_stored[1] == stored[1] && stored[0] == rows && stored[1] == columns);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++) {
                    int is_inner = i >= width[0] && i < rows - width[0] && j >= width[1] && j < columns - width[1];
                    own[i * ld[0] + j] = is_inner ? model(lo[0] - width[0] + i, lo[1] - width[1] + j) : -1;
                }
            NGA_Release_update_ghosts(g);
        }
        GA_Sync();
        ga_nbhdl_t handle;
        if (way == 0) GA_Update_ghosts(g);
        if (way == 1) {
            NGA_Update_ghosts_nb(g, &handle);
            NGA_NbWait(&handle);
        }
        for (int a = -1; way == 2 && a <= 1; a++)
            for (int b = -1; b <= 1; b++) {
                if (a == 0 && b == 0) continue;
                if ((a + b) % 2 == 0) NGA_NbGet_ghost_dir(g, (int[]){a, b}, &handle);
                else NGA_NbGet_ghost_dir64(g, (int64_t[]){a, b}, &handle);
                CHECK(NGA_NbTest(&handle));
            }
        int got[MOST], box_ld[1] = {columns};
        if (is_mine) {
            int box_lo[2] = {lo[0] - width[0], lo[1] - width[1]}, box_hi[2] = {hi[0] + width[0], hi[1] + width[1]};
            NGA_Get_ghost_block(g, box_lo, box_hi, got, box_ld);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++) {
                    int wanted = model((box_lo[0] + i + dims[0]) % dims[0], (box_lo[1] + j + dims[1]) % dims[1]);
                    CHECK(own[i * ld[0] + j] == wanted && got[i * columns + j] == wanted);
                    NGA_Access_ghost_element(g, &element, (int[]){i, j}, ghost_ld);
                    CHECK(*element == wanted && ghost_ld[0] == ld[0]);
                    NGA_Release_ghost_element(g, (int[]){i, j});
                }
            NGA_Access_ghost_element64(g, &element, (int64_t[]){rows - 1, columns - 1}, wide_ld);
            NGA_Release_update_ghost_element64(g, (int64_t[]){0, 0});
            NGA_Release_update_ghost_element(g, (int[]){0, 0});
            NGA_Release_ghost_element64(g, (int64_t[]){0, 0});
            CHECK(*element == got[rows * columns - 1]);
            memset(got, 0, sizeof got);
            NGA_Get_ghost_block64(g, (int64_t[]){box_lo[0], lo[1]}, (int64_t[]){box_lo[0], hi[1]}, got, (int64_t[]){columns});
            CHECK(got[0] == own[width[1]] && got[hi[1] - lo[1]] == own[width[1] + hi[1] - lo[1]]);
            REFUSED(NGA_Get_ghost_block(g, (int[]){box_lo[0] - 1, lo[1]}, box_hi, got, box_ld));
            REFUSED(NGA_Access_ghost_element(g, &element, (int[]){rows, 0}, ghost_ld));
        }
        GA_Sync();
    }
    GA_Destroy(g);
}

static void all_margins(void)
{
    int dims[2] = {15, 12}, width[2] = {2, 1}, none[2] = {-1, -1}, cut[2] = {size > 1 ? 2 : 1, 1}, map[3] = {0, 6, 0}, world = GA_Pgroup_get_world();
    int64_t wide[2] = {15, 12}, wide_width[2] = {2, 1}, wide_none[2] = {-1, -1}, wide_cut[2] = {cut[0], 1}, wide_map[3] = {0, 6, 0};
    if (size == 1) map[1] = 0, wide_map[1] = 0;
    margins(NGA_Create_ghosts_config(C_INT, 2, dims, width, "config", none, world), dims, width);
    margins(NGA_Create_ghosts_config64(C_INT, 2, wide, wide_width, "config64", wide_none, world), dims, width);
    margins(NGA_Create_ghosts_irreg(C_INT, 2, dims, width, "irregular", cut, map), dims, width);
    margins(NGA_Create_ghosts_irreg64(C_INT, 2, wide, wide_width, "irregular64", wide_cut, wide_map), dims, width);
    margins(NGA_Create_ghosts_irreg_config(C_INT, 2, dims, width, "both", cut, map, world), dims, width);
    margins(NGA_Create_ghosts_irreg_config64(C_INT, 2, wide, wide_width, "both64", wide_cut, wide_map, world), dims, width);
    int planned = GA_Create_handle();
    GA_Set_data(planned, 2, dims, C_INT);
    GA_Set_ghosts(planned, width);
    GA_Set_ghost_corner_flag(planned, 1);
    CHECK(GA_Allocate(planned) == 1);
    margins(planned, dims, width);
}

/* Elements by lists of subscripts one behind the other. */
static void flat(void)
{
    enum { EACH = 10 };
    int dims[2] = {8 * size, 9}, at[2 * EACH], got[EACH], values[EACH], g = NGA_Create(C_INT, 2, dims, "flat", NULL), two = 2;
    int64_t wide[2 * EACH];
    GA_Zero(g);
    NGA_Alloc_gatscat_buf(EACH);
    for (int n = 0; n < EACH; n++) {
        at[2 * n + 1] = wide[2 * n + 1] = n % 9;
        at[2 * n] = wide[2 * n] = n % 8 * size + me;
        values[n] = model(at[2 * n], at[2 * n + 1]);
    }
    NGA_Scatter_flat(g, values, at, EACH);
    NGA_Gather_flat64(g, got, wide, EACH);
    CHECK(memcmp(got, values, sizeof got) == 0);
    NGA_Scatter_acc_flat(g, values, at, EACH, &two);
    NGA_Scatter_acc_flat64(g, values, wide, EACH, &two);
    NGA_Gather_flat(g, got, at, EACH);
    for (int n = 0; n < EACH; n++) CHECK(got[n] == 5 * values[n]);
    NGA_Scatter_flat64(g, values, wide, EACH);
    NGA_Gather_flat(g, got, at, EACH);
    CHECK(memcmp(got, values, sizeof got) == 0);
    NGA_Free_gatscat_buf();
    REFUSED(NGA_Scatter_flat(g, values, (int[]){0, 9}, 1));
    GA_Sync();
    /* Accumulates that are completed later. */
    int lo[2] = {0, 0}, hi[2] = {1, 4}, ld[1] = {5}, ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, sums[10];
    ga_nbhdl_t handle;
    GA_Zero(g);
    NGA_NbAcc(g, lo, hi, ones, ld, &two, &handle);
    NGA_NbWait(&handle);
    NGA_NbAcc64(g, (int64_t[]){0, 0}, (int64_t[]){1, 4}, ones, (int64_t[]){5}, &two, &handle);
    NGA_NbWait(&handle);
    GA_Sync();
    NGA_Get(g, lo, hi, sums, ld);
    for (int n = 0; n < 10; n++) CHECK(sums[n] == 4 * size);
    GA_Destroy(g);
    struct pair {
        int left;
        double right;
    } pairs[4] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}}, back[4];
    int type = NGA_Register_type(sizeof pairs[0]), line[1] = {4}, first[1] = {0}, last[1] = {3};
    g = NGA_Create(type, 1, line, "pairs", NULL);
    double rights[4] = {20, 40, 60, 80};
    if (me == 0) NGA_Put(g, first, last, pairs, NULL);
    GA_Sync();
    if (me == size - 1) {
        NGA_Nbput_field(g, first, last, offsetof(struct pair, right), sizeof(double), rights, NULL, &handle);
        NGA_NbWait(&handle);
    }
    GA_Sync();
    NGA_Get(g, first, last, back, NULL);
    for (int n = 0; n < 4; n++) CHECK(back[n].left == pairs[n].left && back[n].right == rights[n]);
    GA_Sync();
    GA_Destroy(g);
    NGA_Deregister_type(type);
}

/* Blocks of other processes of the node, by pointers; a patch of two blocks has none. */
static void of_others(const int g)
{
    int dims[2] = {9, 11}, lo[2], hi[2], at[2], ld[1], *block;
    volatile int owners = 0;
    for (volatile int p = 0; p < size; p++) {
        NGA_Distribution(g, p, lo, hi);
        if (hi[0] < lo[0]) continue;
        owners++;
        /* Another process of its node, or itself. */
        int other = (p + 1) % size, by = GA_Cluster_proc_nodeid(other) == GA_Cluster_proc_nodeid(p) ? other : p;
        if (GA_Cluster_proc_nodeid(p) != GA_Cluster_nodeid()) REFUSED(NGA_Access(g, lo, hi, &block, ld));
        if (me != by) continue;
        NGA_Access(g, lo, hi, &block, ld);
        for (int i = lo[0]; i <= hi[0]; i++)
            for (int j = lo[1]; j <= hi[1]; j++) block[(i - lo[0]) * ld[0] + j - lo[1]] = model(i, j);
        NGA_Release_update(g, lo, hi);
    }
    GA_Sync();
    for (at[0] = 0; at[0] < dims[0]; at[0]++)
        for (at[1] = 0; at[1] < dims[1]; at[1]++) {
            int got, *there;
            NGA_Get(g, at, at, &got, ld);
            CHECK(got == model(at[0], at[1]));
            if (GA_Cluster_proc_nodeid(NGA_Locate(g, at)) != GA_Cluster_nodeid()) continue;
            NGA_Access(g, at, at, &there, ld);
            CHECK(*there == got);
            NGA_Release(g, at, at);
        }
    if (owners > 1) REFUSED(NGA_Access(g, (int[]){0, 0}, (int[]){8, 10}, &block, ld));
    REFUSED(NGA_Access(g, (int[]){0, 0}, (int[]){9, 0}, &block, ld));
    GA_Sync();
    GA_Destroy(g);
}

/* The standard output of the first process while `show` is called. */
static void captured(char *text, size_t room, void (*show)(int), int g)
{
    FILE *file = tmpfile();
    fflush(stdout);
    int kept = dup(1);
    dup2(fileno(file), 1);
    show(g);
    fflush(stdout);
    dup2(kept, 1);
    close(kept);
    rewind(file);
    text[fread(text, 1, room - 1, file)] = 0;
    fclose(file);
}

static void print_parts(int g) { GA_Print_patch(g, 1, 1, 0, 2, 1); NGA_Print_patch(g, (int[]){2, 3}, (int[]){2, 3}, 1); NGA_Print_patch64(g, (int64_t[]){0, 4}, (int64_t[]){0, 4}, 0); }
static void summarize(int g) { (void)g; GA_Summarize(1); }
static void statistics(int g) { (void)g; GA_Print_stats(); MA_print_stats(1); MA_summarize_allocated_blocks(); }

static void has(const char *text, const char *word, int wanted)
{
    if ((strstr(text, word) != NULL) != wanted) {
        fprintf(stderr, "process %d: '%s' in:\n%s", me, word, text);
        GA_Error("printed otherwise", wanted);
    }
}

static void printing(void)
{
    enum { ROOM = 1 << 16 };
    static char text[ROOM];
    int dims[2] = {3, 5}, g = NGA_Create(C_INT, 2, dims, "shown", NULL), values[15], ld[1] = {5}, is_first = me == 0;
    for (int n = 0; n < 15; n++) values[n] = model(n / 5, n % 5);
    if (me == size - 1) NGA_Put(g, (int[]){0, 0}, (int[]){2, 4}, values, ld);
    captured(text, ROOM, GA_Print, g);
    has(text, "global array: shown[0:2,0:4]", is_first);
    has(text, "2005", is_first);
    captured(text, ROOM, print_parts, g);
    has(text, "shown[1:1,0:2]", is_first);
    has(text, "1003", is_first);
    has(text, "2004", is_first);
    has(text, " 5\n", is_first);
    has(text, "2005", 0);
    captured(text, ROOM, GA_Print_distribution, g);
    has(text, "Name:'shown'", is_first);
    has(text, "owns array section: shown[0:", is_first);
    captured(text, ROOM, summarize, g);
    has(text, "\"shown\"", is_first);
    Integer memory, index;
    CHECK(MA_push_get(MT_DBL, 12, "pushed", &memory, &index));
    captured(text, ROOM, statistics, g);
    has(text, "GA Statistics", 1);
    has(text, "'pushed': 12", 1);
    CHECK(MA_pop_stack(memory));
    FILE *file = tmpfile();
    GA_Print_file(file, g);
    rewind(file);
    text[fread(text, 1, ROOM - 1, file)] = 0;
    fclose(file);
    has(text, "1004", is_first);
    GA_Destroy(g);
}

static void allocator(void)
{
    Integer handles[3], found, at, alignment, index;
    CHECK(MA_initialized() && MA_init(MT_DBL, 1000, 1000) && MA_initialized());
    CHECK(MA_sizeof(MT_DBL, 3, MT_CHAR) == 24 && MA_sizeof(MT_CHAR, 9, MT_DBL) == 2 && MA_sizeof_overhead(MT_DBL) >= 0);
    CHECK(MA_get_numalign(&alignment) && alignment >= 3 && MA_set_numalign(6) && MA_verify_allocator_stuff());
    MA_trace(0);
    CHECK(MA_set_auto_verify(0) == 0);
    CHECK(MA_allocate_heap(MT_INT, 5, "heap", &handles[0]) && MA_push_stack(MT_INT, 6, "first", &handles[1]));
    CHECK(MA_push_get(MT_INT, 7, "second", &handles[2], &index) && (int *)MA_get_mbase(MT_INT) + index != NULL);
    int seen = 0;
    for (MA_init_memhandle_iterator(&at); MA_get_next_memhandle(&at, &found);)
        for (int n = 0; n < 3; n++) seen += found == handles[n];
    CHECK(seen == 3);
    CHECK(MA_inquire_heap(MT_CHAR) >= MA_inquire_stack(MT_DBL) && MA_inquire_stack_no_partition(MT_INT) == MA_inquire_heap_check_stack(MT_INT));
    CHECK(MA_chop_stack(handles[1]) && MA_free_heap(handles[0]));
    CHECK(MA_init_memhandle_iterator(&at) && !MA_get_next_memhandle(&at, &found));
    GA_Register_stack_memory(NULL, NULL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    CHECK(!GA_Initialized());
    GA_Initialize();
    CHECK(!MA_initialized() && MA_init(MT_DBL, 1000, 1000));
    me = GA_Nodeid();
    size = GA_Nnodes();
    job();
    regular();
    dealt();
    of_others(NGA_Create(C_INT, 2, (int[]){9, 11}, "others", NULL));
    of_others(NGA_Create_ghosts(C_INT, 2, (int[]){9, 11}, (int[]){1, 2}, "others", NULL));
    all_margins();
    flat();
    printing();
    allocator();
    GA_Terminate();
    CHECK(!GA_Initialized());
    MPI_Finalize();
    return 0;
}
