/* Objects made and freed by each rank for itself, and datatypes that such programs send. */
#ifndef ISTHMUS_BENCH_CALLS_OBJECTS_H
#define ISTHMUS_BENCH_CALLS_OBJECTS_H

#include "calls.h"
#include <stddef.h>

struct particle {
    double place[3];
    int kind;
    char name[4];
};

static MPI_Datatype made;

static void struct_of_three(MPI_Datatype *type)
{
    int lengths[3] = {3, 1, 4};
    MPI_Aint places[3] = {offsetof(struct particle, place), offsetof(struct particle, kind),
                          offsetof(struct particle, name)};
    MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Type_create_struct(3, lengths, places, types, type);
    MPI_Type_commit(type);
}

static void type_struct(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Datatype type;
        struct_of_three(&type);
        MPI_Type_free(&type);
    }
}

static void type_vector(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Datatype type;
        MPI_Type_vector(16, 1, 4, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&type);
    }
}

static void type_indexed(int count)
{
    int lengths[8] = {1, 2, 1, 2, 1, 2, 1, 2}, places[8] = {0, 3, 9, 12, 20, 24, 40, 50};
    for (int i = 0; i < count; i++) {
        MPI_Datatype type;
        MPI_Type_indexed(8, lengths, places, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&type);
    }
}

static void type_subarray(int count)
{
    int sizes[3] = {16, 16, 16}, parts[3] = {16, 4, 2}, starts[3] = {0, 4, 8};
    for (int i = 0; i < count; i++) {
        MPI_Datatype type;
        MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&type);
    }
}

static void group_incl(int count)
{
    MPI_Group all, some;
    int first[1] = {0};
    MPI_Comm_group(world, &all);
    for (int i = 0; i < count; i++) {
        MPI_Group_incl(all, 1, first, &some);
        MPI_Group_free(&some);
    }
    MPI_Group_free(&all);
}

static void info_create(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "key", "value");
        MPI_Info_free(&info);
    }
}

static void make_struct(void)
{
    struct_of_three(&made);
}

static void free_struct(void)
{
    MPI_Type_free(&made);
}

/* There and back. */
static void structs_sent(int count)
{
    int particles = (size + (int)sizeof(struct particle) - 1) / (int)sizeof(struct particle);
    for (int i = 0; i < count; i++) {
        if (rank % 2 == 1)
            MPI_Recv(incoming, particles, made, partner, CALL_TAG, world, MPI_STATUS_IGNORE);
        MPI_Send(outgoing, particles, made, partner, CALL_TAG, world);
        if (rank % 2 == 0)
            MPI_Recv(incoming, particles, made, partner, CALL_TAG, world, MPI_STATUS_IGNORE);
    }
}

#endif
