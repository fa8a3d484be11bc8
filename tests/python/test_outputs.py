"""Examples of documents are shown with what they print and draw."""

import json
import subprocess

import outputs
import pytest

DOCUMENT = """\
# A page

```sh
dumbbell run examples/newreno.toml --plot picture.png
```

```sh
dumbbell no-such-command
```

```python
from pathlib import Path

Path("plain.png").write_bytes(b"drawn")
value = 2
print("a  ")
```

```python
print("value" in globals(), Path if "Path" in globals() else "")
```

```toml
rate = 1
```
"""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    document = folder / "page.md"
    document.write_text(DOCUMENT, encoding="utf-8")
    outputs.draw(document, folder)
    return folder


def test_each_example_is_followed_by_its_output_and_its_picture(drawn):
    page = outputs.shown(DOCUMENT, "page", drawn)
    followed = page.partition('print("a  ")\n```\n')[2]
    assert followed.startswith(
        "\n```text\na\n```\n\n![The figure plain.png](outputs/page-plain.png)\n\n```python"
    )
    assert "\n![The figure picture.png](outputs/page-picture.png)\n" in page
    assert page.count("![") == 2
    assert page.endswith("```toml\nrate = 1\n```\n")
    assert dict(outputs.pictures(drawn))["outputs/page-plain.png"] == b"drawn"
    assert "goodput" in json.loads((drawn / "page.json").read_text())[0]["printed"]


def test_examples_share_no_names(drawn):
    assert json.loads((drawn / "page.json").read_text())[3]["printed"] == "False \n"


def test_commands_without_a_picture_are_not_run(drawn):
    assert json.loads((drawn / "page.json").read_text())[1] == {"printed": "", "pictures": []}


def test_a_command_that_fails_fails_the_build(tmp_path):
    document = tmp_path / "page.md"
    document.write_text("```sh\ndumbbell run missing.toml --plot a.png\n```\n", encoding="utf-8")
    with pytest.raises(subprocess.CalledProcessError):
        outputs.draw(document, tmp_path)


def test_the_tutorial_has_pictures_of_its_own():
    text = outputs.DOCUMENTS[0].read_text(encoding="utf-8")
    named = [code for _, code in outputs.BLOCK.findall(text) if ".png" in code]
    assert outputs.DOCUMENTS[0].name == "tutorial.md"
    assert len(named) == 4
