"""Lint the recipes: Conda's is parsed and rendered by rattler-build's own parser, Spack's by ruff and for what Spack asks of a package.

usage: python packaging/lint.py     (pip install py-rattler-build ruff)
"""

import ast
import subprocess
import sys
from pathlib import Path

import rattler_build

HERE = Path(__file__).resolve().parent


def conda():
    recipe = rattler_build.Stage0Recipe.from_file(HERE / "conda" / "recipe.yaml")
    variants = rattler_build.VariantConfig(
        {
            "c_compiler": ["gcc"],
            "cxx_compiler": ["gxx"],
            "fortran_compiler": ["gfortran"],
            "rust_compiler": ["rust"],
            "c_stdlib": ["sysroot"],
            "c_stdlib_version": ["2.28"],
        }
    )
    platform = rattler_build.PlatformConfig(target_platform="linux-64")
    rendered = recipe.render(variants, rattler_build.RenderConfig(platform=platform))
    if len(rendered) != 1:
        sys.exit(f"conda: {len(rendered)} packages, 1 wanted")


def spack():
    path = HERE / "spack/spack_repo/isthmus/packages/isthmus/package.py"
    subprocess.run([sys.executable, "-m", "ruff", "check", "--line-length", "140", str(HERE)], check=True)
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    if [one.name for one in classes] != ["Isthmus"] or not ast.get_docstring(classes[0]):
        sys.exit(f"spack: {path} has to have one class Isthmus with a description")
    called = {node.func.id for node in ast.walk(classes[0]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    missing = {"version", "license", "provides", "depends_on"} - called
    if missing:
        sys.exit(f"spack: {path} lacks {', '.join(sorted(missing))}")


conda()
spack()
print("recipes are well-formed")
