/* deny ERRNO PROGRAM...: runs the program with process_vm_readv and process_vm_writev answered by this errno (EPERM 1,
 * ENOSYS 38) by a seccomp filter, as some containers do. deny membarrier PROGRAM...: with membarrier answered by EPERM.
 * deny accept4 PROGRAM..., deny wait4 PROGRAM..., deny vmsplice PROGRAM...: with these.
 * deny pipe2 PROGRAM...: with pipe2 answered by ENFILE, as beyond /proc/sys/fs/pipe-user-pages-hard. deny pipesize PROGRAM...: with
 * F_SETPIPE_SZ answered by EPERM, as beyond pipe-user-pages-soft.
 * deny user PROGRAM...: as another user for each rank, without capabilities. No MPI in here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Two system calls are answered by this errno. */
static int filter(unsigned one, unsigned other, unsigned number) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | number),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog described = {sizeof program / sizeof *program, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &described);
}

/* No pipe becomes larger. */
static int small_pipes(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETPIPE_SZ, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog described = {sizeof program / sizeof *program, program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &described);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const char *own = getenv("ISTHMUS_RANK");
    unsigned id = 20000 + (own ? (unsigned)atoi(own) : 0);
    int failed;
    if (strcmp(argv[1], "user") == 0)
        failed = setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id);
    else if (strcmp(argv[1], "membarrier") == 0)
        failed = filter(SYS_membarrier, SYS_membarrier, EPERM);
    else if (strcmp(argv[1], "accept4") == 0)
        failed = filter(SYS_accept4, SYS_accept4, EPERM);
    else if (strcmp(argv[1], "vmsplice") == 0)
        failed = filter(SYS_vmsplice, SYS_vmsplice, EPERM);
    else if (strcmp(argv[1], "pipe2") == 0)
        failed = filter(SYS_pipe2, SYS_pipe2, ENFILE);
    else if (strcmp(argv[1], "pipesize") == 0)
        failed = small_pipes();
    else if (strcmp(argv[1], "wait4") == 0)
        failed = filter(SYS_wait4, SYS_wait4, EPERM);
    else
        failed = filter(SYS_process_vm_readv, SYS_process_vm_writev, (unsigned)atoi(argv[1]));
    if (failed) {
        perror("deny");
        return 2;
    }
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
