#!/bin/sh
# Compiles and links @API@ programs in @LANGUAGE@ with Isthmus @VERSION@@AGAINST@.
# The prefix is found from this file's own place, through symbolic links too, so it may be moved.

name=$(basename -- "$0")
self=$(command -v -- "$0")
prefix=$(cd -- "$(dirname -- "$(readlink -f -- "$self")")/.." && pwd)
abi=${ISTHMUS_ABI:-standard}
said=${ISTHMUS_ABI:+ISTHMUS_ABI}
case $name in *_abi) abi=standard ;; esac
compiler=${ISTHMUS_@VARIABLE@:-${MPICH_@VARIABLE@:-${OMPI_@VARIABLE@:-@COMPILER@}}}

fail() {
    echo "$name: $1" >&2
    exit "${2:-1}"
}

# Where the modules of this Isthmus for this compiler are: folders are named by what compilers say of their version.  # Fortran
modules() {  # Fortran
    # shellcheck disable=SC2086  # Fortran
    version=$($compiler --version 2>/dev/null | sed -n '/./{p;q;}' | tr -cs 'A-Za-z0-9.' -)  # Fortran
    echo "$prefix/lib/isthmus/fortran/@VERSION@/${version%-}$reals$doubles"  # Fortran
}  # Fortran

# Options that change what REAL and INTEGER are. REALs of 8 bytes have modules of their own, as `isthmus fortran` names them; others are refused.  # Fortran
kind() {  # Fortran
    option=$1  # Fortran
    case $last in -integer-size | -real-size) option="$last $1" ;; esac  # Fortran
    last=$1  # Fortran
    case $option in  # Fortran
        -fdefault-real-8 | -r8 | -autodouble | "-real-size 64") reals=-r8 ;;  # Fortran
        -fdefault-double-8) doubles=-d8 ;;  # Fortran
        -fdefault-integer-8 | -i8 | --default-integer-8 | -finteger-4-integer-8 | "-integer-size 64")  # Fortran
            fail "$option: INTEGER has 4 bytes in this MPI: compile without it, and declare INTEGER(KIND=8) where 8 bytes are needed" ;;  # Fortran
        -fdefault-real-* | -r16 | -freal-[48]-real-* | "-real-size 128")  # Fortran
            fail "$option: REAL has 4 or 8 bytes in this MPI: compile without it, and declare the kind of each variable" ;;  # Fortran
        *) return ;;  # Fortran
    esac  # Fortran
    kinds="$kinds $option"  # Fortran
}  # Fortran

# Modules and mpif.h of another MPI, or of another version of Isthmus, would be found before ours: their constants are others.  # Fortran
refuse_others() {  # Fortran
    case $(cd -- "$1" 2>/dev/null && pwd -P) in "" | */lib/isthmus/fortran/@VERSION@/*) return ;; esac  # Fortran
    for file in mpi.mod mpi_f08.mod mpi_f08_types.mod mpif.h; do  # Fortran
        if [ -e "$1/$file" ] && ! cmp -s -- "$1/$file" "$prefix/include/$file"; then  # Fortran
            fail "-I$1 has $file of another MPI or another version of Isthmus, with other constants: compile without this option"  # Fortran
        fi  # Fortran
    done  # Fortran
}  # Fortran

help() {
    cat <<END
usage: $name [options of $name] [options and files for $compiler]
  -show           print the command instead of running it
  -compile-info   the same, as compile steps need it
  -link-info      the same, as link steps need it
  --showme        as -show; --showme:compile and --showme:link: the options alone
  @FLAG@=COMPILER    use this compiler; so does ISTHMUS_@VARIABLE@ (or MPICH_@VARIABLE@, OMPI_@VARIABLE@) in the environment
  -abi=ABI        compile for this ABI of MPI: standard (libmpi_abi.so.1), mpich (libmpi.so.12) or openmpi (libmpi.so.40); so does
                  ISTHMUS_ABI in the environment. Libraries that the program links have to be of the same  # C
                  ISTHMUS_ABI in the environment. Fortran is compiled for the standard ABI only  # Fortran
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
last= reals= doubles= kinds=  # Fortran
only_v=$([ "$*" = -v ] && echo yes)
# Each turn takes the first argument away and puts what the compiler shall see at the end.
for argument in "$@"; do
    shift
    case $argument in
        -c | -S | -E | -M | -MM) linking=no ;;
        -show | --show | -compile-info | -compile_info | -link-info | -link_info) show=yes; continue ;;
        --showme | -showme) show=yes; continue ;;
        --showme:compile | -showme:compile) show=compile; continue ;;
        --showme:link | -showme:link) show=link; continue ;;
        --showme:version | -showme:version) echo "$name for Isthmus version @VERSION@"; exit 0 ;;
        --showme:* | -showme:*) fail "${argument}: compile, link and version are known" ;;
        @FLAG@=*) compiler=${argument#*=}; continue ;;
        -f90=* | -f77=*) compiler=${argument#*=}; continue ;;  # Fortran
        -I?*) refuse_others "${argument#-I}" ;;  # Fortran
        -nativelinking) native=yes; continue ;;
        -abi=*) abi=${argument#*=}; said=; continue ;;
        -mpi-abi | -mpi_abi) abi=standard; continue ;;
        -echo) set -x; continue ;;
        -help) help ;;
        -v)
            echo "$name for Isthmus version @VERSION@"
            [ "$only_v" ] && linking=no
            ;;
    esac
    [ "$last" != -I ] || refuse_others "$argument"  # Fortran
    kind "$argument"  # Fortran
    set -- "$@" "$argument"
done

# The compiler may be several words.  # Fortran
given=$kinds  # Fortran
for word in $compiler; do kind "$word"; done  # Fortran
headers=  # C
case $abi in
    standard) library=-lmpi_abi ;;
    mpich | openmpi) fail "${said:--abi}=$abi: Fortran is compiled for the standard ABI only, since modules and mpif.h of the others are not here: compile by the mpifort of an MPI of that ABI (Debian: apt install libopenmpi-dev or libmpich-dev); its programs run on Isthmus as they are" ;;  # Fortran
    mpich) library=-l:libmpi.so.12; headers=$prefix/include/isthmus/mpich ;;  # C
    openmpi) library=-l:libmpi.so.40; headers=$prefix/include/isthmus/openmpi ;;  # C
    *) fail "${said:--abi}=$abi: standard, mpich and openmpi are known" ;;
esac
modules=$(modules)  # Fortran
found=  # Fortran
[ ! -d "$modules" ] || found=$modules  # Fortran
case $show in
    compile) echo "-I$prefix/include${found:+ -I$found}"; exit 0 ;;  # Fortran
    compile) echo "${headers:+-I$headers }-I$prefix/include"; exit 0 ;;  # C
    link) echo "-L$prefix/lib -Wl,-rpath -Wl,$prefix/lib -Wl,--enable-new-dtags @LIBRARIES@"; exit 0 ;;
esac
set -- "$@" "-I$prefix/include" ${found:+"-I$found"}  # Fortran
case $modules in  # Fortran
    # gfortran takes buffers of different types through mpif.h if it is told to, since version 10.  # Fortran
    */GNU-Fortran*-[1-9][0-9].[0-9]*) set -- "$@" -fallow-argument-mismatch ;;  # Fortran
esac  # Fortran
[ -z "$headers" ] || set -- "$@" "-I$headers"  # C
set -- "$@" "-I$prefix/include"  # C
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
if [ ! -d "$modules" ]; then  # Fortran
    # mpif.h does not need them; an error about them names their file, or (Intel's) themselves in brackets.  # Fortran
    exec 3>&1  # Fortran
    # shellcheck disable=SC2086  # Fortran
    errors=$($compiler "$@" 2>&1 >&3 3>&-)  # Fortran
    status=$?  # Fortran
    [ -z "$errors" ] || printf '%s\n' "$errors" >&2  # Fortran
    if [ $status -ne 0 ] && printf '%s\n' "$errors" | grep -Eqi "mpi(_f08(_types)?)?\.mod|\[MPI(_F08(_TYPES)?)?\]"; then  # Fortran
        echo "$name: modules mpi and mpi_f08 are not there for '$compiler$given'; this makes them: isthmus fortran --fc '$compiler$given'" >&2  # Fortran
    fi  # Fortran
    exit $status  # Fortran
fi  # Fortran
# A compiler may be several words, as in 'ccache cc'.
# shellcheck disable=SC2086
exec $compiler "$@"
