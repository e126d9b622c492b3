# SPDX-License-Identifier: Apache-2.0
"""What is installed and released: one version, the manual page, what is refused, what recipes and workflows name."""

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest
from needed import need, package
from places import ROOT

import regimeter
from regimeter.cli import make_parser

FILE: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = FILE["project"]
MANUAL = Path(sysconfig.get_path("data")) / "share/man/man1/regimeter.1"


def tool(name: str) -> Any:
    """Return a program of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_written_once():
    assert regimeter.__version__ == importlib.metadata.version("regimeter") == PROJECT["version"]


def test_the_manual_page_names_every_verb_and_option():
    text = MANUAL.read_text().replace("\\-", "-")
    assert f'"regimeter {PROJECT["version"]}"' in text
    verbs = make_parser().verbs.choices
    assert set(re.findall(r"^\.SS regimeter (\S+)$", text, re.MULTILINE)) == set(verbs)
    options = {option for verb in verbs.values() for action in verb._actions for option in action.option_strings}
    assert {option for option in options if f"\\fB{option}\\fR" not in text} == set()


def test_the_manual_page_is_sound_roff():
    groff = shutil.which("groff")
    need("groff", groff is not None, "groff")
    done = subprocess.run([groff, "-man", "-ww", "-Tutf8", MANUAL], capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_are_refused_with_one_sentence(platform, tmp_path):
    package("scikit_build_core")
    code = """if True:
        import shutil, sys, sysconfig
        sysconfig.get_config_vars()  # read from a file of the true platform
        sys.platform, folder = sys.argv[1:]
        import scikit_build_core.build as build
        build.build_wheel(folder)"""
    done = subprocess.run([sys.executable, "-c", code, platform, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    (line,) = (done.stdout + done.stderr).splitlines()
    assert line.startswith("regimeter records on Linux only")


def test_pip_refuses_a_free_threaded_python_with_one_sentence(tmp_path):
    package("scikit_build_core")
    code = """if True:
        import sys, sysconfig, scikit_build_core.build as build
        sysconfig.get_config_vars()["ABIFLAGS"] = "t"  # as such a build says
        build.build_wheel(sys.argv[1])"""
    done = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode != 0
    (line,) = (done.stdout + done.stderr).splitlines()
    assert line.startswith("regimeter does not build for a free-threaded Python, because")


def test_cmake_refuses_a_free_threaded_python_with_the_reason(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sysconfig\nsysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1  # as such a build says\n"
    )
    cmake = shutil.which("cmake") or Path(sys.executable).with_name("cmake")
    command = [cmake, "-S", ROOT, "-B", tmp_path / "build", "-DREGIMETER_PYTHON=ON"]
    told = subprocess.run(
        [*command, f"-DPython_EXECUTABLE={sys.executable}"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert told.returncode != 0
    assert "regimeter does not build for a free-threaded Python" in told.stderr
    assert "Use the ordinary build" in told.stderr


def test_the_conda_recipe_asks_for_what_the_project_does():
    yaml, jinja2 = package("yaml"), package("jinja2")
    text = jinja2.Template((ROOT / "conda/meta.yaml").read_text(), undefined=jinja2.StrictUndefined).render(
        load_file_data=lambda path, from_recipe_dir: tomllib.loads((ROOT / "conda" / path).read_text()),
        compiler=lambda language: f"{language} compiler",
        stdlib=lambda language: f"{language} library",
        PYTHON="python",
    )
    recipe = yaml.safe_load(text)
    assert recipe["package"] == {"name": "regimeter", "version": PROJECT["version"]}
    wanted = [f"python {PROJECT['requires-python']}", *PROJECT["dependencies"]]
    assert [one.replace(" ", "") for one in recipe["requirements"]["run"]] == [one.replace(" ", "") for one in wanted]
    assert all((ROOT / name).exists() for name in [*recipe["test"]["source_files"], recipe["about"]["license_file"]])


def test_the_list_of_materials_has_what_is_needed_and_may_be_needed(tmp_path):
    file = tmp_path / "x.whl"
    file.write_bytes(b"abc")
    bill = json.loads(json.dumps(tool("make_dist").bill_of_materials(PROJECT, [file])))
    scopes = {one["name"]: one["scope"] for one in bill["components"]}
    assert scopes["numpy"] == "required"
    assert scopes["torch"] == scopes["psycopg"] == "optional"
    assert "regimeter" not in scopes
    (made,) = bill["metadata"]["component"]["components"]
    assert made["hashes"][0]["content"].startswith("ba7816bf8f01cfea414140de5dae2223")


def test_what_the_release_runs_is_there():
    steps = [
        step
        for job in package("yaml").safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"].values()
        for step in job["steps"]
    ]
    said = " ".join(step.get("run", "") for step in steps) + FILE["tool"]["cibuildwheel"]["test-command"]
    named = set(re.findall(r"tools/\w+\.py", said))
    assert named == {"tools/make_dist.py", "tools/check_wheel.py", "tools/try_installed.py"}
    assert all((ROOT / name).is_file() for name in named)
    groups = set(re.findall(r"--group (\S+)", said))
    assert groups <= set(FILE["dependency-groups"])
    (version,) = (step["run"] for step in steps if step.get("name") == "The tag is the version")
    for tag, code in ((f"v{PROJECT['version']}", 0), ("v99", 1)):
        variables = {"GITHUB_REF_NAME": tag, "PATH": os.environ["PATH"]}
        assert subprocess.run(["bash", "-e", "-c", version], cwd=ROOT, env=variables).returncode == code
