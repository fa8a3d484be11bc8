// The page in Debian's Chromium, from a sub-path and under a content security policy. Skipped without Chromium.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fragment } from "../src/link.js";
import { PAGE, ROOT } from "./engine.mjs";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const skip = CHROMIUM ? false : "SKIPPED: the Debian package chromium is missing";
const TYPES = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  wasm: "application/wasm",
  toml: "text/plain",
  txt: "text/plain",
};
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "worker-src 'self'",
].join("; ");
const FIRST = readFileSync(new URL("website/lab/first.toml", ROOT), "utf8");

let server;
let browser;
let address;
const complaints = [];

function answer(request, response) {
  const path = new URL(request.url, "http://page").pathname.replace(/^\/some\/place\//, "");
  const file = new URL(path || "index.html", PAGE);
  if (!request.url.startsWith("/some/place/") || !existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  const type = TYPES[file.pathname.split(".").at(-1)];
  response.writeHead(200, { "content-type": type, "content-security-policy": POLICY }).end(readFileSync(file));
}

before(async () => {
  if (skip) return;
  const { chromium } = await import("playwright-core");
  server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  address = `http://127.0.0.1:${server.address().port}/some/place/`;
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** A page that has shown its first picture. What the console complains about is an error of the test. */
async function opened(options = {}, hash = "") {
  const context = await browser.newContext({
    viewport: { width: 1300, height: 900 },
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(40_000);
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(address + hash);
  await page.waitForSelector("html[data-ready=true]");
  await page.waitForSelector("#plot-window canvas");
  return page;
}

const status = (page) => page.textContent("#status");

/** Waits until a run with another fingerprint is shown. */
async function ran(page, before) {
  await page.waitForFunction((old) => {
    const now = document.querySelector("#status").textContent;
    return /Fingerprint/.test(now) && now.split("Fingerprint")[1] !== old.split("Fingerprint")[1];
  }, before);
  return status(page);
}

async function slide(page, name, value) {
  await page.$eval(
    `[name=${name}]`,
    (field, to) => {
      field.value = to;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    },
    value,
  );
}

async function write(page, whole) {
  await page.click(".cm-content");
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(whole);
}

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
