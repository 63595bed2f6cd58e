// ranks: 2 4
// more ranks: 3
/* Large receives that are posted and left alone, while their ranks compute, probe, post others with wildcards, and cancel:
   whoever copies the bytes, messages match in the order of MPI, every message arrives once, and what is cancelled is
   whole or not there at all. */
#include "check.h"

enum { ROUNDS = 60, MOST = 8, TAGS = 2, NEVER = 77 };

/* Of a message: the largest that goes at once, and beyond. */
static const int lengths[] = {8, 3000, 40000, 131072, 131073, 200000, 700000, 1500000};
enum { LONGEST = 1500000 };

/* What a message says of itself. */
struct head {
    int source, tag, number, length;
};

/* A receive and what it got, in the order of posting. */
struct receive {
    MPI_Request request;
    unsigned char *data;
    int source, tag, done;
    struct head got;
};

static unsigned shared, own;

static int any(unsigned *state, int below) { return (int)(next_random(state) % (unsigned)below); }

static void compute(int most) {
    volatile int x = 0;
    for (int i = any(&own, most + 1); i > 0; i--) x++;
}

static unsigned seed_of(struct head head) { return (unsigned)(head.source * 31 + head.tag * 7 + head.number); }

/* The rest of one pair and direction in a round. */
struct plan {
    int count, tags[MOST], lengths[MOST];
    /* How the receiver asks: 0 by source and tag, 1 by source or both (one tag only), 2 by tag from anybody. */
    int mode;
};

static struct plan plans[4][4];

static void make_plans(void) {
    for (int to = 0; to < size; to++) {
        int mode = any(&shared, 3);
        for (int from = 0; from < size; from++) {
            struct plan *plan = &plans[from][to];
            plan->mode = mode;
            plan->count = from == to ? 0 : any(&shared, MOST / (size - 1) + 1);
            int only = any(&shared, TAGS);
            for (int i = 0; i < plan->count; i++) {
                plan->tags[i] = mode == 1 ? only : any(&shared, TAGS);
                plan->lengths[i] = lengths[any(&shared, sizeof lengths / sizeof *lengths)];
            }
        }
    }
}

static unsigned char *message(struct head head) {
    unsigned char *data = malloc((size_t)head.length + sizeof head);
    fill(data + sizeof head, (size_t)head.length, seed_of(head));
    memcpy(data, &head, sizeof head);
    return data;
}

/* Sends everything to everybody; some are cancelled, and then sent again. */
static void finish_sends(MPI_Request *requests, unsigned char **data, int *to, int count, int *numbers) {
    for (int i = 0; i < count; i++) {
        MPI_Status status;
        int cancelled;
        if (any(&own, 8) == 0) OK(MPI_Cancel(&requests[i]));
        OK(MPI_Wait(&requests[i], &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        if (cancelled) {
            struct head head;
            memcpy(&head, data[i], sizeof head);
            free(data[i]);
            head.number = numbers[to[i]]++;
            data[i] = message(head);
            OK(MPI_Send(data[i], head.length + (int)sizeof head, MPI_BYTE, to[i], head.tag, MPI_COMM_WORLD));
        }
        free(data[i]);
    }
}

static void post(struct receive *receive, int source, int tag) {
    *receive = (struct receive){.data = malloc(LONGEST + sizeof(struct head)), .source = source, .tag = tag};
    OK(MPI_Irecv(receive->data, LONGEST + (int)sizeof(struct head), MPI_BYTE, source, tag, MPI_COMM_WORLD,
                 &receive->request));
}

static void take(struct receive *receive, const MPI_Status *status) {
    int length;
    OK(MPI_Get_count(status, MPI_BYTE, &length));
    memcpy(&receive->got, receive->data, sizeof receive->got);
    struct head got = receive->got;
    CHECK(got.source == status->MPI_SOURCE && got.tag == status->MPI_TAG, "%d %d", got.source, got.tag);
    CHECK(got.length + (int)sizeof got == length, "%d of %d bytes", length, got.length);
    CHECK_BYTES(receive->data + sizeof got, (size_t)got.length, seed_of(got));
    receive->done = 1;
    free(receive->data);
}

static int accepts(const struct receive *receive, struct head head) {
    return (receive->source == MPI_ANY_SOURCE || receive->source == head.source) &&
           (receive->tag == MPI_ANY_TAG || receive->tag == head.tag);
}

/* Messages of one sender do not overtake one another (MPI-5.0, 3.5). */
static void check_order(const struct receive *receives, int count) {
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) {
            struct head first = receives[i].got, second = receives[j].got;
            int overtaken = first.source == second.source && first.number > second.number;
            CHECK(!overtaken || !accepts(&receives[i], second), "%d before %d from %d", first.number, second.number,
                  first.source);
        }
}

static void one_round(void) {
    static struct receive receives[4 * MOST];
    MPI_Request sends[4 * MOST];
    unsigned char *outgoing[4 * MOST];
    int numbers[4] = {0}, sent = 0, posted = 0, first_left[4] = {0}, left = 0, next[4] = {0};
    make_plans();
    for (int from = 0; from < size; from++) left += first_left[from] = plans[from][rank].count;
    int leave = 0;
    for (int peer = 0; peer < size; peer++) leave += plans[rank][peer].count;

    /* Sends and receives in any order. */
    while (left + leave > 0) {
        if (leave > 0 && (left == 0 || any(&own, 2))) {
            int peer = any(&own, size);
            struct plan *plan = &plans[rank][peer];
            if (next[peer] == plan->count) continue;
            struct head head = {rank, plan->tags[next[peer]], numbers[peer]++, plan->lengths[next[peer]]};
            next[peer]++;
            leave--;
            outgoing[sent] = message(head);
            int length = head.length + (int)sizeof head;
            if (any(&own, 4) == 0)
                OK(MPI_Issend(outgoing[sent], length, MPI_BYTE, peer, head.tag, MPI_COMM_WORLD, &sends[sent]));
            else
                OK(MPI_Isend(outgoing[sent], length, MPI_BYTE, peer, head.tag, MPI_COMM_WORLD, &sends[sent]));
            sent++;
        } else {
            int peer = any(&own, size);
            struct plan *plan = &plans[peer][rank];
            if (first_left[peer] == 0) continue;
            int tag = plan->tags[--first_left[peer]], from = peer;
            left--;
            if (plan->mode == 2) from = MPI_ANY_SOURCE;
            if (plan->mode == 1 && any(&own, 2)) tag = MPI_ANY_TAG;
            struct receive *receive = &receives[posted++];
            post(receive, from, tag);
            if (any(&own, 5) == 0) {
                /* Taken back, perhaps while its message is on the way; then it is posted again, as the last. */
                MPI_Status status;
                int cancelled;
                compute(20000);
                OK(MPI_Cancel(&receive->request));
                OK(MPI_Wait(&receive->request, &status));
                OK(MPI_Test_cancelled(&status, &cancelled));
                if (cancelled) {
                    free(receive->data);
                    post(receive, from, tag);
                } else
                    take(receive, &status);
            }
        }
        int what = any(&own, 6), flag;
        if (what == 0) OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        if (what == 1) OK(MPI_Iprobe(any(&own, size), any(&own, TAGS), MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        if (what == 2) compute(50000);
        if (what == 3) {
            /* Nobody sends this. */
            struct receive never;
            MPI_Status status;
            post(&never, (rank + 1) % size, NEVER);
            compute(20000);
            OK(MPI_Cancel(&never.request));
            OK(MPI_Wait(&never.request, &status));
            OK(MPI_Test_cancelled(&status, &flag));
            CHECK(flag, "nobody sent it");
            free(never.data);
        }
    }
    compute(300000);
    for (int i = posted - 1; i >= 0; i--) {
        MPI_Status status;
        if (receives[i].done) continue;
        OK(MPI_Wait(&receives[i].request, &status));
        take(&receives[i], &status);
    }
    for (int i = 0; i < sent; i++) {
        OK(MPI_Wait(&sends[i], MPI_STATUS_IGNORE));
        free(outgoing[i]);
    }
    check_order(receives, posted);
    /* The next round's messages are not for these receives. */
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Large sends that are cancelled while their receive is posted and its rank computes: each is received, or cancelled and
   then sent again, and it is known which. */
static void cancelled_sends(void) {
    for (int round = 0; round < ROUNDS; round++) {
        int peer = rank ^ 1, numbers[4] = {0};
        if (peer >= size) continue;
        if (rank % 2 == 0) {
            enum { COUNT = 4 };
            struct receive receives[COUNT];
            for (int i = 0; i < COUNT; i++) post(&receives[i], peer, i % 2);
            compute(200000);
            for (int i = 0; i < COUNT; i++) {
                MPI_Status status;
                OK(MPI_Wait(&receives[i].request, &status));
                take(&receives[i], &status);
            }
            check_order(receives, COUNT);
        } else {
            enum { COUNT = 4 };
            MPI_Request sends[COUNT];
            unsigned char *outgoing[COUNT];
            int to[COUNT];
            for (int i = 0; i < COUNT; i++) {
                struct head head = {rank, i % 2, numbers[peer]++, lengths[4 + any(&own, 4)]};
                outgoing[i] = message(head);
                to[i] = peer;
                OK(MPI_Isend(outgoing[i], head.length + (int)sizeof head, MPI_BYTE, peer, head.tag, MPI_COMM_WORLD,
                             &sends[i]));
                compute(20000);
            }
            finish_sends(sends, outgoing, to, COUNT, numbers);
        }
    }
}

#ifdef AT_ONCE
/* A receive with wildcards behind it is claimed: its send is over while its rank is not there. One with a wildcard before
   it is not even advertised, whoever might send. */
static void claimed_beside_wildcards(void) {
    enum { LENGTH = 2 << 20, ROUNDS_OF_IT = 20, BESIDE = 50, OTHER, GO };
    int provided, partner = rank ^ 1, pid = callable(), theirs = 0;
    MPI_T_pvar_session session;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle claims = counter(session, "claimed"), adverts = counter(session, "advertised");
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    unsigned long long before = 0, after = 0;
    unsigned char *data = NULL, *more = malloc(LENGTH);
    OK(MPI_Alloc_mem(LENGTH, MPI_INFO_NULL, &data));
    for (int round = 0; round < ROUNDS_OF_IT; round++) {
        MPI_Request requests[3];
        MPI_Status statuses[3];
        unsigned seed = (unsigned)round;
        int first = round % 3 == 2, small = 0;
        if (round % 2 != rank % 2) {
            OK(MPI_Recv(&theirs, 1, MPI_INT, partner, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_T_pvar_read(session, claims, &before));
            fill(data, LENGTH, seed);
            /* With a wildcard before it, the message has somebody to receive it only when its rank is back. */
            if (first) call_back(theirs);
            OK(MPI_Send(data, LENGTH, MPI_BYTE, partner, BESIDE, MPI_COMM_WORLD));
            OK(MPI_T_pvar_read(session, claims, &after));
            CHECK(after - before == !first, "%llu claims in round %d", after - before, round);
            if (!first) call_back(theirs);
            OK(MPI_Send(&round, 1, MPI_INT, partner, OTHER, MPI_COMM_WORLD));
            OK(MPI_Send(data, LENGTH / 2, MPI_BYTE, partner, BESIDE, MPI_COMM_WORLD));
        } else {
            OK(MPI_T_pvar_read(session, adverts, &before));
            if (first) OK(MPI_Irecv(more, LENGTH, MPI_BYTE, partner, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]));
            OK(MPI_Irecv(data, LENGTH, MPI_BYTE, partner, BESIDE, MPI_COMM_WORLD, &requests[first]));
            OK(MPI_T_pvar_read(session, adverts, &after));
            CHECK(after - before == !first, "%llu adverts in round %d", after - before, round);
            OK(MPI_Irecv(&small, 1, MPI_INT, MPI_ANY_SOURCE, OTHER, MPI_COMM_WORLD, &requests[1 + first]));
            if (!first) OK(MPI_Irecv(more, LENGTH, MPI_BYTE, MPI_ANY_SOURCE, BESIDE, MPI_COMM_WORLD, &requests[2]));
            OK(MPI_Send(&pid, 1, MPI_INT, partner, GO, MPI_COMM_WORLD));
            stay_away();
            OK(MPI_Waitall(3, requests, statuses));
            CHECK(small == round, "%d in round %d", small, round);
            /* In the order in which they were sent. */
            CHECK_BYTES(first ? more : data, LENGTH, seed);
            CHECK_BYTES(first ? data : more, LENGTH / 2, seed);
        }
    }
    free(more);
    OK(MPI_Free_mem(data));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
}

/* A sender claims a receive, copies some of it, and computes: its receiver, once it is back, does the rest without it. */
static void claimed_in_passing(void) {
    enum { LENGTH = 8 << 20, PASSING = 60, GO };
    int partner = rank ^ 1, pid = callable(), theirs = 0;
    unsigned char *data = NULL;
    OK(MPI_Alloc_mem(LENGTH, MPI_INFO_NULL, &data));
    OK(MPI_Sendrecv(&pid, 1, MPI_INT, partner, GO, &theirs, 1, MPI_INT, partner, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int round = 0; round < 20; round++) {
        MPI_Request request;
        int flag = 0;
        if (round % 2 != rank % 2) {
            OK(MPI_Recv(NULL, 0, MPI_BYTE, partner, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            fill(data, LENGTH, (unsigned)round);
            OK(MPI_Isend(data, LENGTH, MPI_BYTE, partner, PASSING, MPI_COMM_WORLD, &request));
            for (int looks = 0; looks < 1 + round % 7 && !flag; looks++) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
            call_back(theirs);
            stay_away();
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            memset(data, 0xee, LENGTH);
            OK(MPI_Irecv(data, LENGTH, MPI_BYTE, partner, PASSING, MPI_COMM_WORLD, &request));
            OK(MPI_Send(NULL, 0, MPI_BYTE, partner, GO, MPI_COMM_WORLD));
            stay_away();
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            CHECK_BYTES(data, LENGTH, (unsigned)round);
            call_back(theirs);
        }
    }
    OK(MPI_Free_mem(data));
}
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv);
#ifdef AT_ONCE
    if (size % 2 == 0) claimed_beside_wildcards();
    if (size % 2 == 0) claimed_in_passing();
#endif
    shared = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    own = shared * 7919 + (unsigned)rank;
    for (int round = 0; round < ROUNDS; round++) one_round();
    cancelled_sends();
    end();
    return 0;
}
