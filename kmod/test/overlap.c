/*
 * A copy of the module goes on while its rank is outside of MPI: overlap COUNTER. On two ranks, with ISTHMUS_MECHANISM=kmod_thread or kmod_dma.
 *
 * Rank 0 announces a long message, and then sends a short one. When rank 1 has the short one it has seen the announcement before it, and what
 * copies has begun. Rank 1 then calls nothing of the library, looks at the end of its buffer until the bytes are there, and only then tests the
 * request. COUNTER must have counted the message, and nothing else a byte of it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LENGTH = 8 << 20, ROUNDS = 3, LONG = 1, SHORT = 2, LIMIT_S = 60 };

static void wrong(const char *what) {
	fprintf(stderr, "overlap: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A handle counts from its start on. */
static MPI_T_pvar_handle open_counter(MPI_T_pvar_session session, const char *name) {
	MPI_T_pvar_handle handle;
	int index, count;
	if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) || MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) ||
	    MPI_T_pvar_start(session, handle))
		wrong(name);
	return handle;
}

int main(int argc, char **argv) {
	static const char *const others[] = { "kmod_bytes", "cma_bytes", "ring_bytes", "kmod_thread_bytes", "kmod_dma_bytes" };
	enum { OTHERS = sizeof others / sizeof others[0] };
	MPI_T_pvar_handle handles[OTHERS];
	MPI_T_pvar_session session;
	int rank, provided;
	if (argc < 2)
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	MPI_T_pvar_session_create(&session);
	for (int i = 0; i < OTHERS; i++)
		handles[i] = open_counter(session, others[i]);
	unsigned char *bytes = malloc(LENGTH);
	if (!bytes)
		wrong("no memory");
	for (int round = 0; round < ROUNDS; round++) {
		int token = round;
		memset(bytes, rank == 0 ? 0x40 + round : 0, LENGTH);
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0) {
			MPI_Request request;
			MPI_Isend(bytes, LENGTH, MPI_BYTE, 1, LONG, MPI_COMM_WORLD, &request);
			MPI_Send(&token, 1, MPI_INT, 1, SHORT, MPI_COMM_WORLD);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
			continue;
		}
		MPI_Request request;
		MPI_Irecv(bytes, LENGTH, MPI_BYTE, 0, LONG, MPI_COMM_WORLD, &request);
		MPI_Recv(&token, 1, MPI_INT, 0, SHORT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		volatile unsigned char *last = bytes + LENGTH - 1;
		time_t limit = time(NULL) + LIMIT_S;
		while (*last != 0x40 + round) {
			struct timespec pause = { 0, 1000000 };
			nanosleep(&pause, NULL);
			if (time(NULL) > limit)
				wrong("nothing copies while the rank is outside of MPI");
		}
		int is_over = 0;
		while (!is_over)
			MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
		for (int i = 0; i < LENGTH; i++)
			if (bytes[i] != 0x40 + round)
				wrong("a byte is wrong");
	}
	for (int i = 0; rank == 1 && i < OTHERS; i++) {
		unsigned long long value = 0, wanted = strcmp(others[i], argv[1]) == 0 ? (unsigned long long)ROUNDS * LENGTH : 0;
		MPI_T_pvar_read(session, handles[i], &value);
		if (value != wanted) {
			fprintf(stderr, "overlap: %s is %llu, not %llu\n", others[i], value, wanted);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
	}
	free(bytes);
	MPI_Finalize();
	return 0;
}
