// ranks: 2
/* Derived types: columns, structures, subarrays; the right bytes move and no others. */
#include "check.h"

#include <stddef.h>

enum { ROWS = 40, COLUMNS = 50 };

typedef struct {
    char letter;
    double number;
    int pair[2];
} record;

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int other = 1 - rank, count;
    static int out[ROWS][COLUMNS], in[ROWS][COLUMNS];
    MPI_Datatype column, block, structure, resized;
    MPI_Status status;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) out[r][c] = rank * 10000 + r * 100 + c, in[r][c] = -1;

    OK(MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Sendrecv(&out[0][3], 1, column, other, 0, &in[0][7], 1, column, other, 0, MPI_COMM_WORLD, &status));
    OK(MPI_Get_count(&status, column, &count));
    CHECK(count == 1, "%d columns", count);
    OK(MPI_Get_elements(&status, column, &count));
    CHECK(count == ROWS, "%d elements", count);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            CHECK(in[r][c] == (c == 7 ? other * 10000 + r * 100 + 3 : -1), "[%d][%d] = %d", r, c, in[r][c]);
    /* A column sent, a row received. */
    OK(MPI_Sendrecv(&out[0][5], 1, column, other, 0, in[2], ROWS, MPI_INT, other, 0, MPI_COMM_WORLD, &status));
    for (int r = 0; r < ROWS; r++) CHECK(in[2][r] == other * 10000 + r * 100 + 5, "%d", in[2][r]);

    OK(MPI_Type_create_subarray(2, (int[]){ROWS, COLUMNS}, (int[]){5, 6}, (int[]){10, 20}, MPI_ORDER_C, MPI_INT, &block));
    OK(MPI_Type_commit(&block));
    memset(in, 255, sizeof in);
    OK(MPI_Sendrecv(out, 1, block, other, 0, in, 1, block, other, 0, MPI_COMM_WORLD, &status));
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            int inside = r >= 10 && r < 15 && c >= 20 && c < 26;
            CHECK(in[r][c] == (inside ? other * 10000 + r * 100 + c : -1), "[%d][%d] = %d", r, c, in[r][c]);
        }

    enum { RECORDS = 5000 };
    record *records = calloc(RECORDS, sizeof *records), *got = calloc(RECORDS, sizeof *got);
    MPI_Aint places[3] = {offsetof(record, letter), offsetof(record, number), offsetof(record, pair)};
    OK(MPI_Type_create_struct(3, (int[]){1, 1, 2}, places, (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE, MPI_INT}, &structure));
    OK(MPI_Type_create_resized(structure, 0, sizeof(record), &resized));
    OK(MPI_Type_commit(&resized));
    for (int i = 0; i < RECORDS; i++) records[i] = (record){(char)(i + rank), i / 7.0, {i, -i}};
    OK(MPI_Sendrecv(records, RECORDS, resized, other, 0, got, RECORDS, resized, other, 0, MPI_COMM_WORLD, &status));
    for (int i = 0; i < RECORDS; i++)
        CHECK(got[i].letter == (char)(i + other) && got[i].number == i / 7.0 && got[i].pair[0] == i && got[i].pair[1] == -i,
              "record %d", i);

    /* Collectives take them too. */
    memset(in, 255, sizeof in);
    if (rank == 0) memcpy(in, out, sizeof in);
    OK(MPI_Bcast(in, 1, block, 0, MPI_COMM_WORLD));
    CHECK(in[12][23] == 1223 && in[0][0] == (rank == 0 ? 0 : -1), "%d", in[12][23]);

    char packed[1000];
    int position = 0, value = 0;
    OK(MPI_Pack(&rank, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD));
    OK(MPI_Pack(&out[0][3], 1, column, packed, sizeof packed, &position, MPI_COMM_WORLD));
    CHECK(position == (ROWS + 1) * (int)sizeof(int), "%d bytes packed", position);
    OK(MPI_Sendrecv_replace(packed, position, MPI_PACKED, other, 0, other, 0, MPI_COMM_WORLD, &status));
    position = 0;
    OK(MPI_Unpack(packed, sizeof packed, &position, &value, 1, MPI_INT, MPI_COMM_WORLD));
    CHECK(value == other, "%d", value);

    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&block));
    OK(MPI_Type_free(&structure));
    OK(MPI_Type_free(&resized));
    end();
    return 0;
}
