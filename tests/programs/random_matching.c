// ranks: 4
// more ranks: 2 3 7
/* Random histories of messages against the sequential model of matching: every mode of sending, receives and probes with and
   without wildcards, matched probes, cancels on both sides, messages that are too long, persistent requests, blocking and
   non-blocking calls mixed, on several communicators, from nothing to more than a megabyte.

   random_matching [SEED [ROUNDS]]: the seed that is printed gives the same calls again. What arrives first may differ. */
#include "matching_model.h"

#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { ACTIONS = 120, POSTS = 4096, SENDS = 256, PLACES = 4, RANKS = 16, TAGS = 4, READY_TAG = 90 };
enum { BUDGET = 8 << 20, ROOM = BUDGET + SENDS * MPI_BSEND_OVERHEAD };
enum mode { STANDARD, BUFFERED, SYNCHRONOUS, READY };

/* A communicator. Peers are who can be sent to. */
struct place {
    MPI_Comm comm;
    int peers, worlds[RANKS], of_world[RANKS];
};

struct message {
    int place, to, tag, bytes, number, cancelled, is_persistent, is_open;
    enum mode mode;
    unsigned char *data;
    MPI_Request request;
};

static struct place places[PLACES];
static MPI_Comm control;
static MPI_Datatype sparse_type;
static struct post *posts[POSTS];
static struct message messages[SENDS];
static int post_count, message_count, round_number, buffered_bytes, is_automatic;
/* Messages so far to, and from, each process on each communicator. */
static int numbers[PLACES][RANKS], arrived[PLACES][RANKS], expected[PLACES][RANKS];
static int ready_left[RANKS];
static long now;
static unsigned seed, own, shared;

static int any(unsigned *state, int below) { return (int)(next_random(state) % (unsigned)below); }

static unsigned scramble(unsigned x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

/* What a message begins with, and what the rest follows from. */
static unsigned salt_of(int from_world, int place, int number) {
    return scramble(seed + 31u * (unsigned)round_number + 7919u * (unsigned)from_world + 104729u * (unsigned)place) +
           (unsigned)number;
}

static int any_size(int at_most) {
    static const int sizes[] = {0, 8, 8, 64, 240, 480, 496, 512, 1024, 2048, 4096, 8192, 16384, 65536, 300000, 1200000};
    int which = any(&own, 16), less = any(&own, 8);
    /* Long ones are rare but in every third round. */
    if (which > 12 && round_number % 3 != 2) which -= less;
    if (round_number % 3 == 2 && less < 4) which = 12 + less;
    return sizes[which] < at_most ? sizes[which] : at_most;
}

/* Doubles, each followed by a hole as long, or not. */
static size_t place_of(int sparse, size_t i) { return sparse ? i / 8 * 16 + i % 8 : i; }
static size_t span(int sparse, int bytes) { return sparse ? 2 * (size_t)bytes : (size_t)bytes; }
static MPI_Datatype type_of(int sparse) { return sparse ? sparse_type : MPI_DOUBLE; }

static unsigned char byte_at(unsigned salt, int number, size_t i) {
    return i < 4 ? (unsigned char)((unsigned)number >> 8 * i) : byte_of(salt, i);
}

/* ---- Sending ---- */

static struct message *new_message(int place, int to, int tag, int bytes, enum mode mode, int sparse) {
    CHECK(message_count < SENDS, "%d", message_count);
    struct message *message = &messages[message_count++];
    int world = places[place].worlds[to];
    *message = (struct message){.place = place, .to = to, .tag = tag, .bytes = bytes, .mode = mode};
    message->number = numbers[place][world]++;
    message->data = malloc(span(sparse, bytes) + 1);
    unsigned salt = salt_of(rank, place, message->number);
    for (size_t i = 0; i < (size_t)bytes; i++)
        message->data[place_of(sparse, i)] = byte_at(salt, message->number, i);
    return message;
}

typedef int start_function(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int send_function(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static void send_message(int place, int to, int tag, enum mode mode, int is_blocking) {
    static start_function *const starts[2][4] = {{MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend},
                                                 {MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Rsend_init}};
    static send_function *const sends[4] = {MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend};
    int sparse = any(&own, 3) == 0, persistent = any(&own, 4) == 0;
    int bytes = any_size(mode == BUFFERED ? BUDGET - buffered_bytes : BUDGET) / 8 * 8;
    if (mode == BUFFERED) buffered_bytes += bytes;
    struct message *message = new_message(place, to, tag, bytes, mode, sparse);
    MPI_Comm comm = places[place].comm;
    if (is_blocking) {
        OK(sends[mode](message->data, bytes / 8, type_of(sparse), to, tag, comm));
    } else {
        message->is_open = 1;
        message->is_persistent = persistent;
        OK(starts[persistent][mode](message->data, bytes / 8, type_of(sparse), to, tag, comm, &message->request));
        if (persistent) OK(MPI_Start(&message->request));
    }
}

/* Of its completion, by the call that saw it. */
static void close_message(struct message *message) {
    message->is_open = 0;
    if (message->is_persistent) OK(MPI_Request_free(&message->request));
    CHECK(message->request == MPI_REQUEST_NULL, "a request is left");
}

/* A message that was probed may be withdrawn before it is received, and the receive then waits for another (MPI-5.0
   §3.8.1): only matched probes hold it. So tags tell which ones stay. */
static int may_be_withdrawn(int tag) { return tag % 2; }

static void cancel_message(struct message *message) {
    MPI_Status status;
    if (!message->is_open || message->mode == BUFFERED || !may_be_withdrawn(message->tag)) return;
    OK(MPI_Cancel(&message->request));
    OK(MPI_Wait(&message->request, &status));
    OK(MPI_Test_cancelled(&status, &message->cancelled));
    close_message(message);
}

static void test_message(struct message *message) {
    int flag = 0, before = 0;
    if (!message->is_open) return;
    if (any(&own, 2)) OK(MPI_Request_get_status(message->request, &before, MPI_STATUS_IGNORE));
    OK(MPI_Test(&message->request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag || !before, "a request that was complete is not");
    if (flag) close_message(message);
}

/* ---- Receiving ---- */

static struct post *new_post(int place, int source, int tag, int capacity, int sparse) {
    CHECK(post_count < POSTS, "%d", post_count);
    struct post *post = posts[post_count++] = calloc(1, sizeof *post);
    *post = (struct post){.place = place, .source = source, .tag = tag, .capacity = capacity, .sparse = sparse};
    post->request = MPI_REQUEST_NULL;
    post->buffer = malloc(span(sparse, capacity) + 1);
    memset(post->buffer, 0xee, span(sparse, capacity) + 1);
    return post;
}

/* The data is what was sent, as far as there is room, and nothing else is touched. */
static void check_data(struct post *post) {
    int world = places[post->place].worlds[post->from];
    post->number = -1;
    if (post->bytes >= 8) {
        post->number = 0;
        for (size_t i = 0; i < 4; i++) post->number |= post->buffer[i] << 8 * i;
    }
    unsigned salt = salt_of(world, post->place, post->number);
    unsigned char *byte = post->buffer;
    for (size_t i = 0; i < span(post->sparse, post->capacity) + 1; i++, byte++) {
        int is_hole = post->sparse && i % 16 >= 8;
        size_t logical = post->sparse ? i / 16 * 8 + i % 8 : i;
        int is_data = !is_hole && logical < (size_t)post->bytes;
        unsigned char wanted = is_data ? byte_at(salt, post->number, logical) : 0xee;
        CHECK(*byte == wanted, "seed %u, round %d: message %d of %d on %d, %d bytes with room for %d: byte %zu is %d, not %d",
              seed, round_number, post->number, world, post->place, post->bytes, post->capacity, i, *byte, wanted);
    }
}

static void restart(struct post *old);

static void complete_post(struct post *post, int code, const MPI_Status *status) {
    int class = MPI_SUCCESS, count;
    if (code != MPI_SUCCESS) OK(MPI_Error_class(code, &class));
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE, "class %d", class);
    post->completed = ++now;
    post->from = status->MPI_SOURCE;
    post->of_tag = status->MPI_TAG;
    post->truncated = class == MPI_ERR_TRUNCATE;
    post->bytes = post->capacity;
    CHECK(post->source == MPI_ANY_SOURCE || post->source == post->from, "from %d, not %d", post->from, post->source);
    CHECK(post->tag == MPI_ANY_TAG || post->tag == post->of_tag, "tag %d, not %d", post->of_tag, post->tag);
    if (!post->truncated) {
        OK(MPI_Get_count(status, type_of(post->sparse), &count));
        post->bytes = 8 * count;
        CHECK(post->bytes <= post->capacity, "%d bytes in %d", post->bytes, post->capacity);
    }
    arrived[post->place][places[post->place].worlds[post->from]]++;
    check_data(post);
    if (post->is_persistent && any(&own, 2)) return restart(post);
    if (post->is_persistent) OK(MPI_Request_free(&post->request));
    free(post->buffer);
    post->buffer = NULL;
}

static struct post *post_receive(int place, int source, int tag, int capacity, int persistent) {
    struct post *post = new_post(place, source, tag, capacity, any(&own, 3) == 0);
    MPI_Datatype type = type_of(post->sparse);
    MPI_Comm comm = places[place].comm;
    post->is_persistent = persistent;
    if (persistent) {
        OK(MPI_Recv_init(post->buffer, capacity / 8, type, source, tag, comm, &post->request));
        OK(MPI_Start(&post->request));
    } else {
        OK(MPI_Irecv(post->buffer, capacity / 8, type, source, tag, comm, &post->request));
    }
    return post;
}

static void restart(struct post *old) {
    struct post *post = new_post(old->place, old->source, old->tag, old->capacity, old->sparse);
    free(post->buffer);
    post->buffer = old->buffer;
    memset(post->buffer, 0xee, span(post->sparse, post->capacity));
    post->request = old->request;
    post->is_persistent = 1;
    old->buffer = NULL;
    old->request = MPI_REQUEST_NULL;
    OK(MPI_Start(&post->request));
}

static int is_pending(const struct post *post) { return !post->completed && !post->cancelled; }

static void cancel_post(struct post *post) {
    MPI_Status status;
    int flag, code;
    if (!is_pending(post) || post->is_bound) return;
    OK(MPI_Cancel(&post->request));
    code = MPI_Wait(&post->request, &status);
    OK(MPI_Test_cancelled(&status, &flag));
    if (!flag) {
        complete_post(post, code, &status);
        return;
    }
    OK(code);
    post->cancelled = ++now;
    if (post->is_persistent) OK(MPI_Request_free(&post->request));
    for (size_t i = 0; i < span(post->sparse, post->capacity); i++)
        CHECK(post->buffer[i] == 0xee, "a cancelled receive wrote byte %zu", i);
    free(post->buffer);
    post->buffer = NULL;
}

/* See which receives are complete, by one call or another. */
static void poll_posts(int how) {
    static MPI_Request requests[POSTS];
    static MPI_Status statuses[POSTS];
    static int which[POSTS], indices[POSTS];
    int count = 0, done = 0, index, flag, code;
    for (int i = 0; i < post_count; i++)
        if (is_pending(posts[i])) which[count] = i, requests[count++] = posts[i]->request;
    if (count == 0) return;
    if (how == 0) {
        int one = any(&own, count);
        code = MPI_Test(&requests[one], &flag, &statuses[0]);
        if (flag) indices[done++] = one;
        else OK(code);
    } else if (how == 1) {
        code = MPI_Testany(count, requests, &index, &flag, &statuses[0]);
        if (flag) indices[done++] = index;
        else OK(code);
    } else {
        code = MPI_Testsome(count, requests, &done, indices, statuses);
        int class = MPI_SUCCESS;
        if (code != MPI_SUCCESS) OK(MPI_Error_class(code, &class));
        CHECK(class == MPI_SUCCESS || class == MPI_ERR_IN_STATUS, "class %d", class);
    }
    for (int i = 0; i < done; i++) {
        struct post *post = posts[which[indices[i]]];
        post->request = requests[indices[i]];
        CHECK(post->is_persistent || post->request == MPI_REQUEST_NULL, "a request is left");
        int one = how < 2 ? code : code == MPI_SUCCESS ? code : statuses[i].MPI_ERROR;
        complete_post(post, one, &statuses[i]);
    }
}

/* Look for a message, and take it if there is one, and it stays. What a probe shows, it shows again, and a receive gets. */
static int take_probed(int place, int source, int tag, int exactly) {
    MPI_Comm comm = places[place].comm;
    MPI_Message handle = MPI_MESSAGE_NULL;
    MPI_Status shown, again, status;
    MPI_Request request;
    int flag, count, recount, code, way = any(&own, 5), at_random = any_size(BUDGET) / 8 * 8;
    if (way < 3) OK(MPI_Iprobe(source, tag, comm, &flag, &shown));
    else OK(MPI_Improbe(source, tag, comm, &flag, &handle, &shown));
    if (!flag || (way < 3 && may_be_withdrawn(shown.MPI_TAG))) return 0;
    OK(MPI_Get_count(&shown, MPI_DOUBLE, &count));
    if (way == 2) {
        OK(MPI_Mprobe(source, tag, comm, &handle, &again));
    } else if (way < 2) {
        OK(MPI_Probe(source, tag, comm, &again));
    } else {
        again = shown;
    }
    OK(MPI_Get_count(&again, MPI_DOUBLE, &recount));
    CHECK(again.MPI_SOURCE == shown.MPI_SOURCE && again.MPI_TAG == shown.MPI_TAG && recount == count,
          "seed %u: %d doubles from %d with tag %d were probed, then %d from %d with %d", seed, count, shown.MPI_SOURCE,
          shown.MPI_TAG, recount, again.MPI_SOURCE, again.MPI_TAG);
    struct post *post = new_post(place, source, tag, exactly ? 8 * count : at_random, way % 2);
    MPI_Datatype type = type_of(post->sparse);
    if (way == 0) {
        code = MPI_Recv(post->buffer, post->capacity / 8, type, shown.MPI_SOURCE, shown.MPI_TAG, comm, &status);
    } else if (way == 1) {
        OK(MPI_Irecv(post->buffer, post->capacity / 8, type, shown.MPI_SOURCE, shown.MPI_TAG, comm, &request));
        code = MPI_Wait(&request, &status);
    } else if (way == 3) {
        /* Completes some time. */
        post->is_bound = 1;
        OK(MPI_Imrecv(post->buffer, post->capacity / 8, type, &handle, &post->request));
        CHECK(handle == MPI_MESSAGE_NULL, "a message is left");
        return 1;
    } else {
        code = MPI_Mrecv(post->buffer, post->capacity / 8, type, &handle, &status);
        CHECK(handle == MPI_MESSAGE_NULL, "a message is left");
    }
    complete_post(post, code, &status);
    CHECK(post->from == shown.MPI_SOURCE && post->of_tag == shown.MPI_TAG, "not what was probed");
    CHECK(post->truncated == (8 * count > post->capacity), "%d doubles in %d bytes", count, post->capacity);
    CHECK(post->truncated || post->bytes == 8 * count, "%d bytes, not %d doubles", post->bytes, count);
    return 1;
}

/* ---- A round ---- */

/* The ranks that may wait in a send this time: the others complete it. */
static int may_block(int world) { return (world + round_number) % 2; }

/* A receive that the sender knows of. */
static int ready_place(int from, int to) {
    unsigned key = scramble(seed + (unsigned)(round_number * 4096 + from * 64 + to));
    return key % 2 && from != to ? (int)(key >> 8) % (PLACES - 1) : -1;
}

/* Others go on meanwhile. */
static void be_away(int microseconds) { usleep((useconds_t)microseconds); }

static void act(int before_receives) {
    int choice = any(&own, 21), place = any(&own, PLACES), peer = any(&own, places[place].peers);
    int source = any(&own, 2) ? MPI_ANY_SOURCE : peer, number = any(&own, TAGS);
    int tag = any(&own, 3) == 0 ? MPI_ANY_TAG : number, world = places[place].worlds[peer];
    int which = any(&own, 1 << 20), capacity = any_size(BUDGET) / 8 * 8;
    enum mode mode = (enum mode)any(&own, 3);
    if (before_receives || choice < 7) {
        send_message(place, peer, number, mode, 0);
    } else if (choice < 11) {
        post_receive(place, source, tag, capacity, choice == 10);
    } else if (choice < 14) {
        take_probed(place, source, tag, which % 2);
    } else if (choice == 14) {
        poll_posts(which % 3);
        if (message_count > 0) test_message(&messages[which % message_count]);
    } else if (choice == 15 && post_count > 0) {
        /* Somebody relies on those for ready sends. */
        struct post *post = posts[which % post_count];
        if (post->tag != READY_TAG) cancel_post(post);
    } else if (choice == 16 && message_count > 0) {
        cancel_message(&messages[which % message_count]);
    } else if (choice == 17) {
        int blocks = may_block(rank) && !may_block(world);
        send_message(place, peer, number, blocks ? mode : BUFFERED, 1);
    } else if (choice == 20) {
        be_away(which % 500);
    } else if (choice > 17) {
        for (int to = 0; to < size; to++)
            if (ready_left[to]) {
                int at = ready_place(rank, to);
                ready_left[to] = 0;
                send_message(at, places[at].of_world[to], READY_TAG, READY, choice == 18);
                break;
            }
    }
}

/* The messages to a process, in order: communicator, tag, bytes, cancelled. */
static int tell(int to, int *log) {
    int length = 0;
    for (int i = 0; i < message_count; i++) {
        const struct message *message = &messages[i];
        if (places[message->place].worlds[message->to] != to) continue;
        log[length++] = message->place;
        log[length++] = message->tag;
        log[length++] = message->bytes;
        log[length++] = message->cancelled;
    }
    return length;
}

static int logs[RANKS][4 * SENDS], log_lengths[RANKS];

static void hear(int *heard) {
    MPI_Status status;
    int flag;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 0, control, &flag, &status));
    if (!flag) return;
    int from = status.MPI_SOURCE;
    OK(MPI_Recv(logs[from], 4 * SENDS, MPI_INT, from, 0, control, &status));
    OK(MPI_Get_count(&status, MPI_INT, &log_lengths[from]));
    for (int i = 0; i < log_lengths[from]; i += 4) expected[logs[from][i]][from] += !logs[from][i + 3];
    ++*heard;
}

/* Until everything that was sent has been received; what is still posted then is cancelled. */
static void drain(void) {
    static int told[RANKS][4 * SENDS];
    MPI_Request requests[RANKS];
    int heard = 0, is_left = 1;
    for (int to = 0; to < size; to++)
        OK(MPI_Isend(told[to], tell(to, told[to]), MPI_INT, to, 0, control, &requests[to]));
    while (is_left) {
        is_left = heard < size;
        if (heard < size) hear(&heard);
        poll_posts(any(&own, 3));
        for (int i = 0; i < PLACES; i++) take_probed(i, MPI_ANY_SOURCE, MPI_ANY_TAG, 1);
        for (int i = 0; i < message_count; i++) {
            test_message(&messages[i]);
            is_left |= messages[i].is_open;
        }
        for (int i = 0; i < PLACES; i++)
            for (int from = 0; from < size; from++) is_left |= arrived[i][from] < expected[i][from];
    }
    OK(MPI_Waitall(size, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < post_count; i++)
        if (is_pending(posts[i])) {
            cancel_post(posts[i]);
            CHECK(posts[i]->cancelled, "seed %u, round %d: nobody sent what a receive has got", seed, round_number);
        }
}

/* ---- Judgement ---- */

static void show(struct post *const *list, int count, const char *gone) {
    for (int i = 0; i < count; i++)
        fprintf(stderr, "%c post %d: source %d, tag %d: message %d from %d, tag %d\n", gone && !gone[i] ? '*' : ' ', i,
                list[i]->source, list[i]->tag, list[i]->number, list[i]->from, list[i]->of_tag);
}

/* Messages of one sender with one tag are received in order: so it is known which one a receive without data got. */
static void number_posts(int place) {
    for (int from = 0; from < size; from++) {
        int number = -1;
        for (int i = 0; i < log_lengths[from]; i += 4) {
            const int *sent = &logs[from][i];
            if (sent[0] != place) continue;
            number++;
            if (sent[3]) continue;
            struct post *taker = NULL;
            for (int k = 0; k < post_count && !taker; k++) {
                struct post *post = posts[k];
                if (post->place == place && post->completed && places[place].worlds[post->from] == from &&
                    post->of_tag == sent[1] && !post->is_told)
                    taker = post;
            }
            CHECK(taker, "seed %u, round %d: message %d from %d was not received", seed, round_number, number, from);
            CHECK(taker->number == -1 || taker->number == number,
                  "seed %u, round %d, place %d: message %d from %d with tag %d came before message %d", seed, round_number, place,
                  taker->number, from, sent[1], number);
            CHECK(taker->truncated == (sent[2] > taker->capacity), "%d bytes in %d", sent[2], taker->capacity);
            CHECK(taker->truncated || taker->bytes == sent[2], "%d bytes, not %d", taker->bytes, sent[2]);
            taker->number = number;
            taker->is_told = 1;
        }
    }
}

static void judge(int place) {
    static struct post *matched[POSTS];
    static char gone[POSTS];
    int count = 0;
    number_posts(place);
    for (int i = 0; i < post_count; i++) {
        if (posts[i]->place != place) continue;
        if (posts[i]->completed) {
            CHECK(posts[i]->is_told, "seed %u, round %d: a message that nobody sent", seed, round_number);
            matched[count++] = posts[i];
            continue;
        }
        for (int k = i + 1; k < post_count; k++)
            CHECK(posts[k]->place != place || !was_passed_over(posts[i], posts[k]),
                  "seed %u, round %d: post %d was passed over for post %d", seed, round_number, i, k);
    }
    int left = left_in_cycles(matched, count, gone);
    if (left > 0) show(matched, count, gone);
    CHECK(left == 0, "seed %u, round %d, place %d: no order of arrivals explains this", seed, round_number, place);
}

static void attach(void) {
    if (is_automatic) OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
    else OK(MPI_Buffer_attach(malloc(ROOM), ROOM));
}

static void detach(void) {
    void *buffer;
    int length;
    OK(MPI_Buffer_detach(&buffer, &length));
    if (!is_automatic) free(buffer);
}

static void play(void) {
    post_count = message_count = buffered_bytes = 0;
    memset(numbers, 0, sizeof numbers);
    memset(arrived, 0, sizeof arrived);
    memset(expected, 0, sizeof expected);
    is_automatic = any(&shared, 2);
    attach();
    for (int peer = 0; peer < size; peer++) {
        int at = ready_place(peer, rank);
        if (at >= 0) post_receive(at, places[at].of_world[peer], READY_TAG, any_size(BUDGET) / 8 * 8, any(&own, 2));
        ready_left[peer] = ready_place(rank, peer) >= 0;
    }
    for (int i = 0; i < ACTIONS / 6; i++) act(1);
    for (int i = 0; i < message_count; i++) {
        int flag;
        if (messages[i].mode != SYNCHRONOUS) continue;
        OK(MPI_Request_get_status(messages[i].request, &flag, MPI_STATUS_IGNORE));
        CHECK(!flag, "a synchronous send is complete before any receive");
    }
    OK(MPI_Barrier(control));
    for (int i = 0; i < ACTIONS; i++) act(0);
    drain();
    for (int i = 0; i < PLACES; i++) judge(i);
    OK(MPI_Barrier(control));
    detach();
    for (int i = 0; i < post_count; i++) free(posts[i]);
    for (int i = 0; i < message_count; i++) free(messages[i].data);
}

/* ---- The communicators ---- */

static void make_place(int which, MPI_Comm comm) {
    struct place *place = &places[which];
    MPI_Group world, peers;
    int is_inter, ranks[RANKS];
    place->comm = comm;
    OK(MPI_Comm_test_inter(comm, &is_inter));
    if (is_inter) OK(MPI_Comm_remote_group(comm, &peers));
    else OK(MPI_Comm_group(comm, &peers));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_size(peers, &place->peers));
    for (int i = 0; i < RANKS; i++) ranks[i] = i, place->of_world[i] = -1;
    OK(MPI_Group_translate_ranks(peers, place->peers, ranks, world, place->worlds));
    for (int i = 0; i < place->peers; i++) place->of_world[place->worlds[i]] = i;
    OK(MPI_Group_free(&peers));
    OK(MPI_Group_free(&world));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
}

static void make_places(void) {
    MPI_Comm dup, reversed, half, inter;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &control));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed));
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !(rank % 2), 3, &inter));
    OK(MPI_Comm_free(&half));
    make_place(0, MPI_COMM_WORLD);
    make_place(1, dup);
    make_place(2, reversed);
    make_place(3, inter);
}

static void run(unsigned this_seed, int rounds) {
    seed = this_seed;
    own = scramble(seed * 31 + (unsigned)rank + 1);
    shared = scramble(seed);
    for (round_number = 0; round_number < rounds; round_number++) play();
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int full = getenv("ISTHMUS_TEST_FULL") != NULL, rounds = argc > 2 ? atoi(argv[2]) : 9, seeds = full ? 60 : 5;
    unsigned first = full ? (unsigned)time(NULL) : 1;
    CHECK(size >= 2 && size <= RANKS, "%d", size);
    if (argc > 1) first = (unsigned)strtoul(argv[1], NULL, 10), seeds = 1;
    OK(MPI_Bcast(&first, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
    if (rank == 0) printf("seeds %u to %u\n", first, first + (unsigned)seeds - 1), fflush(stdout);
    make_places();
    OK(MPI_Type_create_resized(MPI_DOUBLE, 0, 16, &sparse_type));
    OK(MPI_Type_commit(&sparse_type));
    for (int i = 0; i < seeds; i++) run(first + (unsigned)i, rounds);
    OK(MPI_Type_free(&sparse_type));
    for (int i = 1; i < PLACES; i++) OK(MPI_Comm_free(&places[i].comm));
    OK(MPI_Comm_free(&control));
    end();
    return 0;
}
