// ranks: 1 2 4 5
/* Operations made by the user, commutative or not. */
#include "check.h"

/* 2 x 2 matrices: their product depends on the order. */
typedef struct { long a, b, c, d; } matrix;

static matrix times(matrix x, matrix y) {
    matrix z = {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
    return z;
}

static void multiply(void *left, void *right, int *length, MPI_Datatype *type) {
    matrix *x = left, *y = right;
    CHECK(*type != MPI_DATATYPE_NULL, "the type is handed on");
    for (int i = 0; i < *length; i++) y[i] = times(x[i], y[i]);
}

static void largest(void *left, void *right, int *length, MPI_Datatype *type) {
    int *x = left, *y = right;
    CHECK(*type == MPI_INT, "the type is handed on");
    for (int i = 0; i < *length; i++) y[i] = x[i] > y[i] ? x[i] : y[i];
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    enum { N = 20 };
    MPI_Op product, most;
    MPI_Datatype type;
    int commutes;
    OK(MPI_Type_contiguous(4, MPI_LONG, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_Op_create(multiply, 0, &product));
    OK(MPI_Op_create(largest, 1, &most));
    OK(MPI_Op_commutative(product, &commutes));
    CHECK(!commutes, "it does not commute");
    matrix in[N], out[N];
    for (int i = 0; i < N; i++) in[i] = (matrix){1, rank + i, 1, 1};
    for (int root = 0; root < size; root++) {
        OK(MPI_Reduce(in, out, N, type, product, root, MPI_COMM_WORLD));
        for (int i = 0; rank == root && i < N; i++) {
            matrix expected = {1, i, 1, 1};
            for (int other = 1; other < size; other++) expected = times(expected, (matrix){1, other + i, 1, 1});
            CHECK(memcmp(&expected, &out[i], sizeof expected) == 0, "element %d: order matters", i);
        }
    }
    int value = (rank * 7) % 5, maximum = -1, expected = 0;
    for (int other = 0; other < size; other++) expected = (other * 7) % 5 > expected ? (other * 7) % 5 : expected;
    OK(MPI_Allreduce(&value, &maximum, 1, MPI_INT, most, MPI_COMM_WORLD));
    CHECK(maximum == expected, "%d", maximum);
    OK(MPI_Op_free(&product));
    OK(MPI_Op_free(&most));
    CHECK(product == MPI_OP_NULL, "a freed handle is null");
    OK(MPI_Type_free(&type));
    end();
    return 0;
}
