"""Build backend (PEP 517) of the checkout and of the source distribution: `pip install .`, `python -m build --sdist`. Needs Rust and a C compiler."""

import io
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def version():
    return re.search(r'^version = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """What `cargo xtask wheel` makes. Takes minutes."""
    made = subprocess.run(["cargo", "xtask", "wheel"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    wheel = Path(made.stdout.split()[-1])
    shutil.copy(wheel, wheel_directory)
    return wheel.name


def build_sdist(sdist_directory, config_settings=None):
    """All files that git knows, or those of the source distribution that this is."""
    name = f"isthmus-{version()}"
    listed = subprocess.run(["git", "ls-files", "-z"], check=False, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if (ROOT / ".git").exists() and listed.returncode == 0:
        files = [ROOT / file for file in listed.stdout.split("\0") if file]
    else:
        files = [file for file in sorted(ROOT.rglob("*")) if file.is_file() and "target" not in file.relative_to(ROOT).parts]
    metadata = (ROOT / "packaging/python/METADATA").read_text().replace("@VERSION@", version()).encode()
    with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for file in files:
            if file.exists():
                archive.add(file, f"{name}/{file.relative_to(ROOT)}", recursive=False)
        entry = tarfile.TarInfo(f"{name}/PKG-INFO")
        entry.size = len(metadata)
        archive.addfile(entry, io.BytesIO(metadata))
    return f"{name}.tar.gz"
