// The page in Debian's Chromium. Skipped without Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { fragment } from "../src/link.js";
import { FIRST, begin, complaints, end, opened, ran, skip, slide, status, write } from "./browser.mjs";

before(begin);
after(end);

test("controls change the text, and the text the run", { skip }, async () => {
  const page = await opened();
  let shown = await status(page);
  assert.match(shown, /million per second/);
  await page.selectOption("[name=queue]", "codel");
  shown = await ran(page, shown);
  assert.match(await page.textContent("#editor"), /kind = "codel", limit = "300 packets"/);
  for (const [name, value, pattern] of [
    ["rate", "110", /rate = "16 Mbit\/s"/],
    ["delay", "120", /delay = "25 ms"/],
    ["buffer", "100", /limit = "71 packets"/],
    ["flows", "3", /count = 3/],
  ]) {
    await slide(page, name, value);
    shown = await ran(page, shown);
    await page.click("#show-python");
    assert.match(await page.inputValue("#python"), pattern, name);
    await page.keyboard.press("Escape");
  }
  await page.selectOption("[name=algorithm]", "vegas");
  await ran(page, shown);
  assert.equal(await page.locator("#tables tbody tr").count(), 3 + 6);
  await page.context().close();
});

test("a wrong text has an error at its field, and the page goes on", { skip }, async () => {
  const page = await opened();
  const wrong = [
    ["cubic", "cubik", "flows.bulk.tcp"],
    ['rate = "10 Mbit/s"', "rate = 10", "links.r1-r2.rate"],
    ["[[flows]]", "[[flows", "line 51"],
    ["duration", "durations", "durations"],
  ];
  for (const [from, to, field] of wrong) {
    await write(page, FIRST.replace(from, to));
    await page.waitForFunction((path) => {
      const { className, textContent } = document.querySelector("#status");
      return className === "error" && textContent.includes(path);
    }, field);
    await page.waitForSelector(".cm-lint-marker-error", { state: "attached" });
    assert.equal(await page.$eval("#controls fieldset", (one) => one.disabled), true);
  }
  await write(page, FIRST.replace("cubic", "reno"));
  await page.waitForFunction(() => /Fingerprint/.test(document.querySelector("#status").textContent));
  assert.equal(await page.$eval("#controls fieldset", (one) => one.disabled), false);
  await page.context().close();
});

test("a link carries scenario and seed, and hostile ones do no harm", { skip }, async () => {
  const hostile = FIRST.replace("Bufferbloat", "<img src=x onerror=alert(1)>").replaceAll(
    '"bulk"',
    '"<script>alert(1)</script>"',
  );
  const page = await opened({}, await fragment({ text: hostile, seed: "7", run: "2" }));
  page.on("dialog", () => complaints.push("a script of a link ran"));
  assert.match(await status(page), /Fingerprint/);
  assert.equal(await page.inputValue("#seed"), "7");
  await page.click("#share");
  await page.waitForFunction(() => /#v=/.test(document.querySelector("#link").value));
  const link = await page.inputValue("#link");
  await page.keyboard.press("Escape");
  const shown = await status(page);
  const again = await opened({}, link.slice(link.indexOf("#")));
  assert.equal((await status(again)).split("Fingerprint")[1], shown.split("Fingerprint")[1]);
  await again.evaluate(() => (location.hash = "#v=9&toml=abc"));
  await again.waitForFunction(() => /version 9/.test(document.querySelector("#status").textContent));
  await page.context().close();
  await again.context().close();
});

test("two runs overlay, a long run can be cancelled, and files are saved", { skip }, async () => {
  const page = await opened();
  const shown = await status(page);
  await page.click("#keep");
  await page.waitForFunction(() => /kept: bulk/.test(document.querySelector("#plot-window").textContent));
  await page.selectOption("[name=algorithm]", "reno");
  await ran(page, shown);
  assert.equal(await page.locator("#tables table").count(), 4);
  const saved = page.waitForEvent("download");
  await page.selectOption("#download", "traces");
  assert.equal((await saved).suggestedFilename(), "bufferbloat-traces.csv");
  const drawn = page.waitForEvent("download");
  await page.selectOption("#download", "png");
  assert.equal((await drawn).suggestedFilename(), "bufferbloat.png");
  await page.focus("#plots");
  await page.keyboard.press("+");
  await page.waitForFunction(() => /from 7\.50 s to 22\.5 s/.test(document.querySelector("#plot-window").ariaLabel));
  await write(page, FIRST.replace("30 s", "1000000 s").replace("10 Mbit/s", "10 Gbit/s"));
  await page.waitForSelector("#progress:not([hidden])");
  await page.click("#cancel");
  await page.waitForFunction(() => document.querySelector("#progress").hidden);
  assert.equal(await status(page), "Cancelled.");
  await page.context().close();
});

test("a phone shows everything in one column, dark and without a mouse", { skip }, async () => {
  const page = await opened({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
  const [width, ground] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    getComputedStyle(document.body).backgroundColor,
  ]);
  assert.ok(width <= 390, `${width} px`);
  assert.equal(ground, "rgb(20, 24, 31)");
  await page.focus("#topology [aria-label^='Link receiver-r2']");
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue("[name=link]"), "receiver-r2");
  const unnamed = await page.$$eval("button, select, input, textarea, [role=button], [role=img]", (all) =>
    all
      .filter(
        (one) => !(one.ariaLabel || one.getAttribute("aria-label") || one.labels?.length || one.textContent.trim()),
      )
      .map((one) => one.outerHTML),
  );
  assert.deepEqual(
    unnamed.filter((html) => !html.includes("cm-")),
    [],
  );
  await page.context().close();
});

test("nothing complains on the console", { skip }, () => {
  assert.deepEqual(complaints, []);
});
