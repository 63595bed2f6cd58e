#!/bin/sh
# Compiles and links @API@ programs in @LANGUAGE@ with Isthmus @VERSION@@AGAINST@.
# The prefix is found from this file's own place, through symbolic links too, so it may be moved.

name=$(basename -- "$0")
self=$(command -v -- "$0")
prefix=$(cd -- "$(dirname -- "$(readlink -f -- "$self")")/.." && pwd)
compiler=${ISTHMUS_@VARIABLE@:-${MPICH_@VARIABLE@:-${OMPI_@VARIABLE@:-@COMPILER@}}}

fail() {
    echo "$name: $1" >&2
    exit "${2:-1}"
}

help() {
    cat <<END
usage: $name [options of $name] [options and files for $compiler]
  -show           print the command instead of running it
  -compile-info   the same, as compile steps need it
  -link-info      the same, as link steps need it
  --showme        as -show; --showme:compile and --showme:link: the options alone
  @FLAG@=COMPILER   use this compiler; so does ISTHMUS_@VARIABLE@ (or MPICH_@VARIABLE@, OMPI_@VARIABLE@) in the environment
  -nativelinking  link without @API@
  -echo           show what is run
  -v              print the version of Isthmus, and run $compiler -v
END
    exit 0
}

[ $# -gt 0 ] || fail "nothing to do: name a file, or ask $name -help"
[ -z "${ISTHMUS_WRAPPER:-}" ] || fail "the compiler it should call, '$compiler', is $name itself"

linking=yes
native=no
show=no
only_v=$([ "$*" = -v ] && echo yes)
# Each turn takes the first argument away and puts what the compiler shall see at the end.
for argument in "$@"; do
    shift
    case $argument in
        -c | -S | -E | -M | -MM) linking=no ;;
        -show | --show | -compile-info | -compile_info | -link-info | -link_info) show=yes; continue ;;
        --showme | -showme) show=yes; continue ;;
        --showme:compile | -showme:compile) echo "-I$prefix/include"; exit 0 ;;
        --showme:link | -showme:link)
            echo "-L$prefix/lib -Wl,-rpath -Wl,$prefix/lib -Wl,--enable-new-dtags @LIBRARIES@"
            exit 0
            ;;
        --showme:version | -showme:version) echo "$name for Isthmus version @VERSION@"; exit 0 ;;
        --showme:* | -showme:*) fail "${argument}: compile, link and version are known" ;;
        @FLAG@=*) compiler=${argument#*=}; continue ;;
        -nativelinking) native=yes; continue ;;
        -mpi-abi | -mpi_abi) continue ;;
        -echo) set -x; continue ;;
        -help) help ;;
        -v)
            echo "$name for Isthmus version @VERSION@"
            [ "$only_v" ] && linking=no
            ;;
    esac
    set -- "$@" "$argument"
done

set -- "$@" "-I$prefix/include"
if [ $linking = yes ] && [ $native = no ]; then
    set -- "$@" "-L$prefix/lib" -Wl,-rpath "-Wl,$prefix/lib" -Wl,--enable-new-dtags @LIBRARIES@
fi
if [ $show = yes ]; then
    echo "$compiler" "$@"
    exit 0
fi

command -v -- "${compiler%% *}" >/dev/null ||
    fail "there is no compiler '${compiler%% *}': install one (Debian, Ubuntu: apt install @PACKAGE@), or name one by ISTHMUS_@VARIABLE@" 127
ISTHMUS_WRAPPER=$name
export ISTHMUS_WRAPPER
# A compiler may be several words, as in 'ccache cc'.
# shellcheck disable=SC2086
exec $compiler "$@"
