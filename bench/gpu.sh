#!/bin/sh
# Buffers in the memory of a GPU: builds gpu.c, checks bytes, times, and prints one table. On 2 ranks, which share the GPU if there is one.
#
# usage: gpu.sh [--check] [--programs DIR] [--intel VENV] [--openmpi PREFIX] [PREFIX]
#
# PREFIX is an installation of Isthmus (without it, that of the mpicc in PATH). --check only checks. --programs keeps the compiled programs in
# DIR, and takes programs that it has already: for a machine without a compiler. --intel measures Intel MPI of a Python environment beside it
# (pip install impi-rt), with I_MPI_OFFLOAD=1; --openmpi an Open MPI with CUDA. Takes about a minute for each library.
set -eu

usage() { sed -n '4p' "$0" | cut -c3- >&2; exit 2; }
own=$(cd "$(dirname "$0")" && pwd)
check= intel= openmpi= prefix= programs=
while [ $# -gt 0 ]; do
    case $1 in
        --check) check=check ;;
        --intel|--openmpi|--programs) [ $# -gt 1 ] || usage; eval "${1#--}=\$2"; shift ;;
        -*) usage ;;
        *) prefix=$1 ;;
    esac
    shift
done
[ -n "$prefix" ] || prefix=$(dirname "$(dirname "$(command -v mpicc)")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -n "$programs" ] || programs=$work
mkdir -p "$programs"

# One program for each ABI.
for abi in standard mpich openmpi; do
    [ -e "$programs/gpu-$abi" ] && continue
    case $abi in
        standard) set -- ;;
        mpich) [ -n "$intel" ] || continue; set -- -abi=mpich ;;
        openmpi) [ -n "$openmpi" ] || continue; set -- -abi=openmpi ;;
    esac
    "$prefix/bin/mpicc" "$@" -O2 -std=gnu11 -o "$programs/gpu-$abi" "$own/gpu.c" -ldl
done

# A library's rows, each with its name in front. One that fails is said, and the others go on.
measure() {
    name=$1; shift
    if timeout 110 "$@" > "$work/out" 2> "$work/err"; then
        sed "s/^/$name\t/" "$work/out" >> "$work/rows"
    else
        echo "gpu.sh: $name failed:" >&2
        tail -n 20 "$work/out" "$work/err" >&2
        failed=1
    fi
}
failed=0
: > "$work/rows"
measure isthmus "$prefix/bin/mpiexec" -n 2 "$programs/gpu-standard" $check
[ -n "$check" ] || measure isthmus "$prefix/bin/mpiexec" -n 2 "$programs/gpu-standard" host
if [ -n "$intel" ]; then
    measure intel env LD_LIBRARY_PATH="$intel/lib:${LD_LIBRARY_PATH:-}" FI_PROVIDER_PATH="$intel/lib" I_MPI_ROOT="$intel" I_MPI_FABRICS=shm I_MPI_OFFLOAD=1 \
        "$intel/bin/mpiexec" -n 2 "$programs/gpu-mpich" $check
fi
if [ -n "$openmpi" ]; then
    measure openmpi env LD_LIBRARY_PATH="$openmpi/lib:${LD_LIBRARY_PATH:-}" "$openmpi/bin/mpiexec" --allow-run-as-root --oversubscribe -n 2 \
        "$programs/gpu-openmpi" $check
fi

# The table: a row for what and how many bytes, a column for each library, and what is to be reached (us, on one H100).
awk -F '\t' '
    function size(bytes) { return bytes < 1024 ? bytes " B" : bytes < 1048576 ? bytes / 1024 " KiB" : bytes / 1048576 " MiB" }
    BEGIN {
        goals = "device to device,8,13;device to device,32768,14;device to device,262144,14;device to device,2097152,16;device to device,16777216,24;"
        goals = goals "device to device,67108864,60;device to host and back,8,9;device to host and back,2097152,60;all-reduce of doubles,8,40;"
        goals = goals "all-reduce of doubles,2097152,60;all-reduce of doubles,16777216,90;first message,2097152,1000"
        many = split(goals, each, ";")
        for (i = 1; i <= many; i++) { split(each[i], part, ","); goal[part[1], part[2]] = part[3] }
    }
    $2 ~ /^# / { print $1 ": " substr($2, 3) ": " $3; next }
    {
        if (!($1 in column)) { column[$1] = ++columns; heads[columns] = $1 }
        key = $2 SUBSEP $3
        if (!(key in seen)) { seen[key] = 1; keys[++rows] = key }
        found[key, $1] = $4
        if ($2 ~ /^vector/) vector[$1] = $4
        if ($2 == "device to device" && $3 == 1048576) whole[$1] = $4
    }
    END {
        if (!rows) exit
        line = sprintf("%-40s %9s %9s", "half round trip or one call, in us", "bytes", "at most")
        for (c = 1; c <= columns; c++) line = line sprintf(" %9s", heads[c])
        print line
        for (r = 1; r <= rows; r++) {
            split(keys[r], part, SUBSEP)
            line = sprintf("%-40s %9s %9s", part[1], size(part[2]), goal[part[1], part[2]])
            for (c = 1; c <= columns; c++) line = line sprintf(" %9s", found[keys[r], heads[c]])
            print line
        }
        line = sprintf("%-40s %9s %9s", "vector, against the same in a row", "1 MiB", "2.00 x")
        for (c = 1; c <= columns; c++) line = line sprintf(" %7.2f x", whole[heads[c]] ? vector[heads[c]] / whole[heads[c]] : 0)
        print line
    }' "$work/rows"
exit $failed
