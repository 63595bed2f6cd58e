/* What two processes in two network namespaces get out of a bare TCP socket (TCP_NODELAY, both sides look at it all the time).
 *
 *   network_floors --nodes A,B --address B's [--stream | --put | --get] [--seconds S] [SIZE ...]
 *
 * Half round trips, or with --stream (and with --put and --get, which other floors make of it) the time of a message in windows of 64, each answered by one byte: `result socket`. The namespaces
 * are those of ip-netns(8). */
#define _GNU_SOURCE
#include "measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WINDOW = 64 };

static int stream, connection;
static char *memory;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static const char *value_of(int argc, char **argv, const char *option)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], option) == 0)
            return argv[i + 1];
    fprintf(stderr, "isthmus bench: network_floors needs %s\n", option);
    exit(1);
}

static void enter_node(const char *name, int length)
{
    char path[256];
    snprintf(path, sizeof path, "/var/run/netns/%.*s", length, name);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
        fail(path);
    close(fd);
}

static void send_all(size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t now = send(connection, memory + done, bytes - done, MSG_NOSIGNAL);
        if (now <= 0)
            fail("send");
        done += (size_t)now;
    }
}

static void receive_all(size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t now = recv(connection, memory + done, bytes - done, MSG_DONTWAIT);
        if (now == 0)
            exit(1);
        if (now < 0 && errno != EAGAIN)
            fail("recv");
        if (now > 0)
            done += (size_t)now;
    }
}

/* One measured step of the first side, and of the second. */
static void ask(size_t bytes)
{
    send_all(stream ? bytes * WINDOW : bytes);
    receive_all(stream ? 1 : bytes);
}

static void answer(size_t bytes)
{
    receive_all(stream ? bytes * WINDOW : bytes);
    send_all(stream ? 1 : bytes);
}

static void serve(int listener)
{
    connection = accept(listener, NULL, NULL);
    int on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (;;) {
        int order[2];
        if (recv(connection, order, sizeof order, MSG_WAITALL) != sizeof order)
            exit(0);
        for (int i = 0; i < order[1]; i++)
            answer((size_t)order[0]);
    }
}

static double steps(int size, int count)
{
    int order[2] = {size, count};
    if (send(connection, order, sizeof order, MSG_NOSIGNAL) != sizeof order)
        fail("send");
    double began = now_us();
    for (int i = 0; i < count; i++)
        ask((size_t)size);
    return (now_us() - began) / count;
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    const char *nodes = value_of(argc, argv, "--nodes"), *address = value_of(argc, argv, "--address");
    const char *second = strchr(nodes, ',');
    if (!second)
        return 1;
    stream = has_option(argc, argv, "--stream") || has_option(argc, argv, "--put") || has_option(argc, argv, "--get");
    /* Values of options look like cells. */
    int cells = 0;
    for (int i = 0; i < a.count; i++)
        if (a.cells[i] != nodes && a.cells[i] != address)
            a.cells[cells++] = a.cells[i];
    a.count = cells;
    memory = calloc(stream ? WINDOW : 1, (size_t)largest_size(&a));
    int port[2];
    if (!memory || pipe(port) != 0)
        fail("pipe");
    pid_t child = fork();
    if (child == 0) {
        pin(1);
        enter_node(second + 1, (int)strlen(second + 1));
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in any = {.sin_family = AF_INET};
        socklen_t length = sizeof any;
        if (bind(listener, (struct sockaddr *)&any, sizeof any) != 0 || listen(listener, 1) != 0 ||
            getsockname(listener, (struct sockaddr *)&any, &length) != 0 ||
            write(port[1], &any.sin_port, sizeof any.sin_port) < 0)
            fail("listen");
        serve(listener);
    }
    pin(0);
    struct sockaddr_in there = {.sin_family = AF_INET};
    close(port[1]);
    if (child < 0 || read(port[0], &there.sin_port, sizeof there.sin_port) != sizeof there.sin_port ||
        inet_pton(AF_INET, address, &there.sin_addr) != 1)
        fail("the second side");
    enter_node(nodes, (int)(second - nodes));
    connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, (struct sockaddr *)&there, sizeof there) != 0)
        fail("connect");
    int on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    static struct samples samples;
    for (int i = 0; i < a.count; i++) {
        int size = cell_size(a.cells[i]);
        double parts = stream ? WINDOW : 2, first = steps(size, 8);
        struct plan p = plan_for(first, a.seconds * 1e6 / a.count);
        samples.count = 0;
        for (int batch = 0; batch < p.batches; batch++)
            samples.us[samples.count++] = steps(size, p.batch) / parts;
        printf("result socket size=%d ", size);
        print_samples(&samples);
    }
    close(connection);
    waitpid(child, NULL, 0);
    return 0;
}
