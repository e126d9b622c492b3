# SPDX-License-Identifier: Apache-2.0
"""Scripts and styles without comments and blank space mean what they meant."""

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("strip_web", ROOT / "cmake/strip_web.py")
assert SPEC is not None
assert SPEC.loader is not None
strip_web = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(strip_web)

SCRIPTS = [
    ("a = 1; // b\nc = 2;", "a=1;c=2;"),
    ("a /* b\n */ = 1", "a=1"),
    ("f('// no comment', \"/* nor this */\")", "f('// no comment',\"/* nor this */\")"),
    ("x = `a  ${ b + `c  //d` }  e`", "x=`a  ${ b + `c  //d` }  e`"),
    ("x = '}' + `${f({ a: '}' })}  `", "x='}'+`${f({ a: '}' })}  `"),
    ("a = b / c / d", "a=b/c/d"),
    ("if (/[/'\"]  /u.test(a)) b()", "if(/[/'\"]  /u.test(a))b()"),
    ("return /a b/.test(c)", "return/a b/.test(c)"),
    ("a + +b - -c", "a+ +b- -c"),
    ("a = b\nc = d", "a=b\nc=d"),
    ("class A {\n  b() {}\n  get c() {}\n}", "class A{b(){}\nget c(){}}"),
    ("a\n  .b()\n  .c()", "a.b().c()"),
]


PARSED = """
const { Script, SourceTextModule } = require("node:vm");
for (const [name, text] of Object.entries(JSON.parse(require("node:fs").readFileSync(0)))) {
  try {
    /^(import|export)\\b/m.test(text) ? new SourceTextModule(text) : new Script(text);
  } catch (error) {
    console.log(name);
    console.error(name, error.message);
  }
}
"""


@pytest.mark.parametrize(("text", "wanted"), SCRIPTS)
def test_scripts(text: str, wanted: str) -> None:
    assert strip_web.script(text) == wanted
    assert strip_web.script(wanted) == wanted


def test_styles() -> None:
    text = "/* a */ .b :hover,\n.c > d { width: calc(1px + 2px); color: light-dark(#fff, #000);\n}\n"
    text += "@media (x: 1) { e { f: g; } }"
    wanted = ".b :hover,.c > d{width:calc(1px + 2px);color:light-dark(#fff,#000)}@media (x: 1){e{f:g}}"
    assert strip_web.style(text) == wanted


@pytest.mark.parametrize("text", ["a = 'b", 'a = "b\n"', "a = / b"])
def test_what_does_not_end_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"end|expression"):
        strip_web.script(text)


def test_the_page_s_own_scripts_are_sound(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    target = tmp_path / "parts.json"
    subprocess.run(["python3", ROOT / "cmake/strip_web.py", ROOT / "python/regimeter/web", target], check=True)
    scripts = {name: text for name, text in json.loads(target.read_text()).items() if name.endswith(".js")}
    for name, text in scripts.items():
        assert len(text) < (ROOT / "python/regimeter/web" / name).stat().st_size
    scripts["broken"] = "export const = 1"
    done = subprocess.run(
        [node, "--experimental-vm-modules", "-e", PARSED], input=json.dumps(scripts), capture_output=True, text=True
    )
    assert done.stdout.split() == ["broken"], done.stdout + done.stderr
