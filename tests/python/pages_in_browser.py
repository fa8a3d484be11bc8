"""Pages in Debian's Chromium: what is wider than its place, at several widths, in the light and the dark scheme."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

WIDTHS = (390, 800, 1300, 1920)
"""A phone, a tablet, a laptop and a large screen, px."""

Scheme = Literal["light", "dark"]

# Chromium's numbers of the schemes.
PREFERRED = {"dark": 0, "light": 1}

SECONDS = 240

HARNESS = """<!doctype html><meta charset="utf-8"><body><script>
const pages = PAGES, DARK = matchMedia("(prefers-color-scheme: dark)").matches, widths = WIDTHS, found = [];
// A figure keeps a size that can be read and scrolls in its frame, as code does; all else fits.
const scrolls = element => element.closest("pre, .drawing, .formula, svg") || ["CODE", "INPUT"].includes(element.tagName);
const luminance = colour => {
  const linear = value => value <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
  const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map(value => linear(value / 255));
  return .2126 * r + .7152 * g + .0722 * b;
};
const contrast = element => {
  let ground = element;
  const painted = each => getComputedStyle(each).backgroundColor;
  while (ground.parentElement && painted(ground).endsWith(", 0)")) ground = ground.parentElement;
  const behind = painted(ground).endsWith(", 0)") ? "rgb(255, 255, 255)" : painted(ground);
  const [low, high] = [luminance(getComputedStyle(element).color), luminance(behind)].sort((a, b) => a - b);
  return (high + .05) / (low + .05);
};
const named = element => {
  const text = element.textContent.trim().slice(0, 40);
  return `<${element.tagName.toLowerCase()} class="${element.className}"> ${text}`;
};
async function measured(page, width) {
  const frame = document.createElement("iframe");
  frame.style = `width:${width}px;height:900px;border:0`;
  frame.sandbox = "allow-same-origin";  // pages have to fit without scripts, too
  frame.src = page;
  document.body.append(frame);
  await new Promise(done => { frame.onload = done; });
  const inner = frame.contentDocument, place = inner.querySelector(".md-content") ?? inner.body;
  if (DARK && inner.body.dataset.mdColorScheme) inner.body.dataset.mdColorScheme = "slate";  // a script of the site does this
  for (const each of inner.querySelectorAll("details")) each.open = true;
  const wide = [];
  if (inner.documentElement.scrollWidth > width + 1) wide.push(`the page: ${inner.documentElement.scrollWidth}`);
  for (const each of place.querySelectorAll("*")) {
    if (scrolls(each) || !each.clientWidth) continue;
    const cut = each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== "visible";
    const beyond = each.tagName === "TABLE" && each.getBoundingClientRect().right > width + 1;
    if (cut || beyond) wide.push(`${named(each)}: ${each.scrollWidth} in ${each.clientWidth}`);
  }
  const texts = "p, td, th, h1, h2, dd, dt, summary, small, .verdict, .why";
  const words = [...place.querySelectorAll(texts)].filter(each => each.textContent.trim()).slice(0, 400);
  const faint = words.filter(each => contrast(each) < 4.5).map(each => `${named(each)}: ${contrast(each).toFixed(2)}`);
  const dark = frame.contentWindow.matchMedia("(prefers-color-scheme: dark)").matches;
  found.push({ page, width, dark, wide, faint, texts: words.length });
  frame.remove();
}
(async () => {
  for (const page of pages) for (const width of widths) await measured(page, width);
  const result = document.createElement("pre");
  result.id = "found";
  result.textContent = JSON.stringify(found);
  document.body.append(result);
})();
</script>"""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A page at one width.

    Parameters
    ----------
    page, width
        Its address, and the width of the screen, px.
    dark
        Whether it was shown in the dark scheme.
    wide
        What does not fit its place.
    faint
        Texts with a contrast below 4.5 to 1, the least that WCAG 2.1 accepts.
    texts
        Number of texts whose contrast was measured.
    """

    page: str
    width: int
    dark: bool
    wide: Sequence[str]
    faint: Sequence[str]
    texts: int


def seen(pages: Sequence[Path], scheme: Scheme, folder: Path, widths: Sequence[int] = WIDTHS) -> list[Seen]:
    """Open pages in Chromium at each width, and measure them; everything that opens is open.

    Parameters
    ----------
    pages
        HTML files.
    scheme
        The colour scheme that the reader prefers.
    folder
        An empty folder for what the browser needs.
    widths
        Widths of the screen, px.

    Raises
    ------
    AssertionError
        The browser did not finish.
    """
    harness = folder / "harness.html"
    addresses = json.dumps([page.resolve().as_uri() for page in pages])
    harness.write_text(
        HARNESS.replace("PAGES", addresses).replace("WIDTHS", json.dumps(list(widths))), encoding="utf-8"
    )
    done = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--allow-file-access-from-files",
            f"--user-data-dir={folder / 'profile'}",
            f"--blink-settings=preferredColorScheme={PREFERRED[scheme]}",
            f"--virtual-time-budget={1000 * SECONDS}",
            "--dump-dom",
            harness.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, f"the browser did not finish: {done.stdout[-300:]} {done.stderr[-300:]}"
    return [Seen(**each) for each in json.loads(html.unescape(found[1]))]
