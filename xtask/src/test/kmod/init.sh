#!/bin/sh
# What the virtual machine of `cargo xtask test --only kmod` does.
export PATH=/bin:/isthmus/bin LD_LIBRARY_PATH=/isthmus/lib
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
echo 32 > /proc/sys/vm/nr_hugepages

run() {
    name=$1
    shift
    if "$@"; then
        echo "KMOD ok $name"
    else
        echo "KMOD FAILED $name"
    fi
}

# A program of several ranks, and nothing but the module, as it is named, carries its large messages.
ranks() {
    ISTHMUS_MECHANISM=$3 ISTHMUS_TRACE=1 mpiexec -n "$2" "/bin/$1" > /tmp/out 2>&1 &&
        grep -q ": $3 Pull" /tmp/out && ! grep -v ' bytes took .*: done$' /tmp/out | grep -q '^isthmus:' && return 0
    sed 's/^/KMOD said /' /tmp/out | grep -v ': done$'
    return 1
}

# Copies go on while their rank is outside of MPI, and its tests find the end.
overlaps() {
    ISTHMUS_MECHANISM=$1 mpiexec -n 2 /bin/overlap "$1_bytes" > /tmp/out 2>&1 && return 0
    cat /tmp/out
    return 1
}

# Where a copy fails the rest of the message comes by another way.
faulted() {
    ISTHMUS_MECHANISM=$1 ISTHMUS_TRACE=1 ISTHMUS_FAULT="$2" mpiexec -n 2 /bin/large_messages > /tmp/out 2>&1 &&
        grep -q 'injected fault' /tmp/out && return 0
    sed 's/^/KMOD said /' /tmp/out | grep -v ': done$'
    return 1
}

# A rank that is killed while the module copies for it ends the job.
ended() {
    ISTHMUS_MECHANISM=$1 ISTHMUS_FAULT=pull:KILL:after=9:rank=1 mpiexec -n 2 /bin/large_messages > /tmp/out 2>&1
    [ $? != 0 ] && grep -q 'signal 9' /tmp/out && return 0
    cat /tmp/out
    return 1
}

# A page of a paper, of what this machine has: programs are made already.
page() {
    paper=$1
    shift
    if isthmus bench --paper "$paper" --launches "$launches" --programs /programs --html /tmp/page.html --summary /tmp/verdicts "$@" > /tmp/out 2>&1; then
        sed "s/^/KMOD page $paper /" /tmp/page.html
        grep '^| ' /tmp/verdicts | grep -v 'cannot be shown' | sed 's/^/KMOD table /'
        return 0
    fi
    sed 's/^/KMOD said /' /tmp/out
    return 1
}

# The module cannot go while somebody has it open.
held() {
    kit hold &
    sleep 1
    if rmmod isthmus 2> /dev/null; then
        wait
        return 1
    fi
    wait
}

# Nor under a program of several ranks, which goes on.
under() {
    ISTHMUS_MECHANISM=kmod mpiexec -n 2 /bin/large_messages > /tmp/out 2>&1 &
    sleep 1
    if rmmod isthmus 2> /dev/null; then
        # It was over already, or has not begun.
        insmod /isthmus.ko
    fi
    wait $! && return 0
    cat /tmp/out
    return 1
}

# A device that is not for us: one line, and the ring.
closed() {
    chmod 0 /dev/isthmus
    chmod 1777 /tmp
    su nobody -s /bin/sh -c 'ISTHMUS_MECHANISM=kmod mpiexec -n 2 /bin/large_messages' > /tmp/out 2>&1
    code=$?
    chmod 0666 /dev/isthmus
    [ $code = 0 ] && grep -q 'Permission denied' /tmp/out && return 0
    cat /tmp/out
    return 1
}

echo "nobody:x:65534:65534:nobody:/:/bin/sh" > /etc/passwd
echo "nogroup:x:65534:" > /etc/group
run insmod insmod /isthmus.ko
for check in versions basic descend users limits later; do
    run $check kit $check
done
kit huge > /tmp/huge
code=$?
sed 's/^/KMOD table /' /tmp/huge
run huge [ $code = 0 ]
run killed kit killed 1
run fuzz kit fuzz 1
kit timed > /tmp/timed
code=$?
sed 's/^/KMOD table /' /tmp/timed
run timed [ $code = 0 ]
for program in large_messages point_to_point; do
    run $program ranks $program 2 kmod
done
for by in kmod_thread kmod_dma; do
    run "large_messages by $by" ranks large_messages 2 $by
    run "overlap by $by" overlaps $by
    run "faults of $by" faulted $by pull:EFAULT:after=3:times=2
    run "death under $by" ended $by
done
conformance --test-threads=2 > /tmp/out 2>&1
code=$?
[ $code = 0 ] || cat /tmp/out
grep -q 'not tried' /tmp/out && code=1
run conformance [ $code = 0 ]
# In the full test numbers that are worth a look; otherwise pages that have some.
if grep -qw full /proc/cmdline; then
    launches=3 long=1 short=0.5
else
    launches=1 long=0.1 short=0.05
fi
run "page of nemesis" page nemesis --figures 6 --seconds $long
run "page of limic" page limic --seconds $short
run "unload while open" held
run "unload under a program" under
run "no permission" closed
run rmmod rmmod isthmus
dmesg | grep -iE 'BUG|WARNING|Oops|general protection|stall|hung|isthmus' | sed 's/^/KMOD dmesg /'
echo "KMOD dmesg is over"
poweroff -f
