# SPDX-License-Identifier: Apache-2.0
"""Make what a release has into dist/: the source distribution, a wheel of it, and the list of what they are made of.

Usage: make_dist.py [--source-only]. The source distribution is made twice and has to be the same bytes; times in it are
those of the last commit, or of SOURCE_DATE_EPOCH. The list is CycloneDX 1.6. Needs the groups `build` and `release`.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
REQUIREMENT = re.compile(r"[A-Za-z0-9._-]+")


def build(kind: str, source: Path, folder: Path) -> Path:
    """Return the one file that a build leaves in a folder."""
    command = [sys.executable, "-m", "build", "-q", "--no-isolation", f"--{kind}", "-o", folder, source]
    subprocess.run(command, check=True)
    (made,) = folder.iterdir()
    return made


def source_distribution(work: Path) -> Path:
    """Return the source distribution; RuntimeError where two of them differ."""
    first, second = (build("sdist", ROOT, work / name) for name in ("first", "second"))
    if first.read_bytes() != second.read_bytes():
        raise RuntimeError("two source distributions of one commit differ")
    return first


def bill_of_materials(project: dict[str, Any], files: list[Path]) -> dict[str, Any]:
    """Return what the files are and need, as CycloneDX. Nothing of others is in them; extras are optional."""
    needed = dict.fromkeys(_names(project["dependencies"]), "required")
    for extra in project["optional-dependencies"].values():
        needed |= {name: "optional" for name in _names(extra) if name not in (*needed, project["name"])}
    package = f"pkg:pypi/{project['name']}@{project['version']}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": package,
                "purl": package,
                "name": project["name"],
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"license": {"id": project["license"]}}],
                "components": [_file(path) for path in files],
            }
        },
        "components": [
            {"type": "library", "bom-ref": f"pkg:pypi/{name}", "purl": f"pkg:pypi/{name}", "name": name, "scope": scope}
            for name, scope in sorted(needed.items())
        ],
        "dependencies": [{"ref": package, "dependsOn": [f"pkg:pypi/{name}" for name in sorted(needed)]}],
    }


def check(bill: str) -> None:
    """Raise RuntimeError where a list is no CycloneDX."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    problem = JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill)
    if problem is not None:
        raise RuntimeError(f"the list of materials is no CycloneDX: {problem}")


def _names(requirements: list[str]) -> list[str]:
    return [REQUIREMENT.match(one)[0].lower() for one in requirements]  # type: ignore[index]


def _file(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"type": "file", "name": path.name, "hashes": [{"alg": "SHA-256", "content": digest}]}


def main() -> int:
    """Make the files, and print what was made."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commit = ["git", "log", "-1", "--format=%ct"]
    os.environ.setdefault("SOURCE_DATE_EPOCH", subprocess.check_output(commit, cwd=ROOT, text=True).strip())
    DIST.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        files = [source_distribution(work)]
        if "--source-only" not in sys.argv[1:]:
            with tarfile.open(files[0]) as packed:
                packed.extractall(work / "source", filter="data")
            (source,) = (work / "source").iterdir()
            files.append(build("wheel", source, work / "wheel"))
        files = [path.replace(DIST / path.name) for path in files]
    materials = DIST / f"{project['name']}-{project['version']}.cdx.json"
    materials.write_text(json.dumps(bill_of_materials(project, files), indent=1) + "\n", encoding="utf-8")
    check(materials.read_text(encoding="utf-8"))
    for path in (*files, materials):
        print(f"dist/{path.name}: {path.stat().st_size / 1e3:,.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
