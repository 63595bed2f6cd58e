// ranks: 1 2
// Rows of a section into a buffer and back, as upstream Global Arrays calls it.
#include <armci.h>
#include <mpi.h>
#include <stdio.h>

extern void armci_write_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf);
extern void armci_read_strided(void *ptr, int stride_levels, int stride_arr[], int count[], char *buf);

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    // Twice is as good as once.
    ARMCI_Init();
    ARMCI_Init();
    int array[4][6][8], back[4][6][8] = {{{0}}}, packed[3 * 4 * 5], bad = 0;
    for (int i = 0; i < 4 * 6 * 8; i++)
        (&array[0][0][0])[i] = i + 1;
    int strides[2] = {sizeof array[0][0], sizeof array[0]}, count[3] = {5 * sizeof(int), 4, 3};
    armci_write_strided(&array[1][1][2], 2, strides, count, (char *)packed);
    armci_read_strided(&back[1][1][2], 2, strides, count, (char *)packed);
    int at = 0;
    for (int x = 0; x < 4; x++)
        for (int y = 0; y < 6; y++)
            for (int z = 0; z < 8; z++) {
                int inside = x >= 1 && y >= 1 && y < 5 && z >= 2 && z < 7;
                bad += back[x][y][z] != (inside ? array[x][y][z] : 0);
                bad += inside && packed[at++] != array[x][y][z];
            }
    if (bad)
        fprintf(stderr, "%d elements are wrong\n", bad);
    ARMCI_Finalize();
    bad += ARMCI_Initialized() != 0;
    ARMCI_Finalize();
    MPI_Finalize();
    return bad != 0;
}
