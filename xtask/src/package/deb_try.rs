//! Packages installed, used and removed over a copy of this system, which an overlay in memory makes: the system itself stays as it is.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use super::run as output_of;
use crate::tools::{self, Tool};

/// In a mount namespace of its own: `$1` is where the copy stands, the others are packages.
const OVERLAY: &str = r#"
set -e
base=$1; shift
mount -t tmpfs -o size=2g tmpfs "$base"
mkdir "$base/upper" "$base/work" "$base/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$base/root"
for folder in proc sys dev; do mount --rbind "/$folder" "$base/root/$folder"; done
mount -t tmpfs tmpfs "$base/root/tmp"
mkdir "$base/root/tmp/packages"
cp "$@" "$base/root/tmp/packages"
cat > "$base/root/tmp/inside"
exec chroot "$base/root" sh /tmp/inside
"#;

/// In the copy.
const INSIDE: &str = r#"
set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive
unset LD_LIBRARY_PATH
before=$(readlink -f /usr/bin/mpirun /usr/bin/mpicc || true)
dpkg --install /tmp/packages/*.deb >/tmp/install.log 2>&1 || { cat /tmp/install.log; exit 1; }
[ "$(readlink -f /usr/bin/mpirun)" = /usr/lib/isthmus/bin/mpiexec ] || { echo "mpirun is not ours"; exit 1; }
cd /tmp

# Three of Debian's programs.
mpirun -n 2 NPopenmpi -u 64 2>&1 | grep -q "67 bytes"
echo "NetPIPE runs"
cat > hpccinf.txt <<'END'
@HPCC@END
OMP_NUM_THREADS=1 mpirun -n 2 hpcc
grep -q "End of HPC Challenge tests" hpccoutf.txt
echo "HPC Challenge runs"
mpirun -n 2 /usr/bin/python3 -c 'from mpi4py import MPI; assert MPI.COMM_WORLD.size == 2; print(MPI.Get_library_version())' | grep -q Isthmus
echo "mpi4py runs"

# A program of our own by each wrapper.
printf '#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n' > program.c
for abi in standard mpich openmpi; do
    mpicc.isthmus -abi=$abi program.c -o program
    mpirun -n 2 ./program
done
isthmus info | grep -q "prefix.*/usr/lib/isthmus"
[ -s /usr/share/man/man3/MPI_Send.3isthmus.gz ] && zcat /usr/share/man/man1/mpirun.1.gz | grep -q "TH MPIEXEC"

dpkg --purge libisthmus-dev isthmus libisthmus0 >/tmp/remove.log 2>&1 || { cat /tmp/remove.log; exit 1; }
if grep -i warning /tmp/remove.log; then exit 1; fi
after=$(readlink -f /usr/bin/mpirun /usr/bin/mpicc || true)
[ "$before" = "$after" ] || { echo "alternatives were $before and are $after"; exit 1; }
left=$(find /usr/bin /usr/lib/isthmus /usr/share/man /usr/share/doc /usr/share/bash-completion /etc/alternatives /var/lib/dpkg/info \
    -name '*isthmus*' 2>/dev/null || true)
[ -z "$left" ] || { echo "left: $left"; exit 1; }
echo "nothing is left"
"#;

/// Blocks for a minute. Needs root, and Debian's programs, which are installed on this machine if they are not.
pub fn run(packages: &[PathBuf]) -> Result<String> {
    ensure!(
        tools::is_root(),
        "only root can try packages: they are installed over a copy of this system"
    );
    tools::need(&[Tool::OpenMpi, Tool::OpenMpiPrograms, Tool::DebianMpi4py])?;
    let base = super::folder().join("system");
    std::fs::create_dir_all(&base)?;
    let script = INSIDE.replace("@HPCC@", crate::test::HPCC);
    let inside = base.with_extension("sh");
    super::write(&inside, &script)?;
    let mut unshare = Command::new("unshare");
    unshare
        .args(["--mount", "--propagation", "private", "sh", "-c", OVERLAY, "sh"])
        .arg(&base)
        .args(packages)
        .stdin(std::fs::File::open(&inside)?);
    let text = output_of(&mut unshare)?;
    ensure!(text.contains("nothing is left"), "{text}");
    Ok(text)
}
