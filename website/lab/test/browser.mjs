// A page in Debian's Chromium, from a sub-path and under a content security policy.
import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { PAGE, ROOT } from "./engine.mjs";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
export const skip = CHROMIUM ? false : "SKIPPED: the Debian package chromium is missing";
const TYPES = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  wasm: "application/wasm",
  toml: "text/plain",
  txt: "text/plain",
  json: "application/json",
};
/** The page of the sandbox has a policy of its own, which a header must not narrow. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
].join("; ");
export const FIRST = readFileSync(new URL("website/lab/first.toml", ROOT), "utf8");

let server;
let browser;
let address;
export const complaints = [];

function answer(request, response) {
  const path = new URL(request.url, "http://page").pathname.replace(/^\/some\/place\//, "");
  const file = new URL(path || "index.html", PAGE);
  if (!request.url.startsWith("/some/place/") || !existsSync(file)) {
    response.writeHead(404).end();
    return;
  }
  const type = TYPES[file.pathname.split(".").at(-1)];
  const policy = file.pathname.endsWith("sandbox.html") ? {} : { "content-security-policy": POLICY };
  response.writeHead(200, { "content-type": type, ...policy }).end(readFileSync(file));
}

/** Begins the server and the browser. */
export async function begin() {
  if (skip) return;
  const { chromium } = await import("playwright-core");
  server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  address = `http://127.0.0.1:${server.address().port}/some/place/`;
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
}

/** Ends them. */
export async function end() {
  await browser?.close();
  server?.close();
}

/** A page, which has shown its first picture unless it is not waited for. What the console complains about is an error of the test. */
export async function opened(options = {}, hash = "", isDrawn = true) {
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
  if (!isDrawn) return page;
  await page.waitForSelector("html[data-ready=true]");
  await page.waitForSelector("#plot-window canvas");
  return page;
}

export const status = (page) => page.textContent("#status");

/** Waits until a run with another fingerprint is shown. */
export async function ran(page, before) {
  await page.waitForFunction((old) => {
    const now = document.querySelector("#status").textContent;
    return /Fingerprint/.test(now) && now.split("Fingerprint")[1] !== old.split("Fingerprint")[1];
  }, before);
  return status(page);
}

export async function slide(page, name, value) {
  await page.$eval(
    `[name=${name}]`,
    (field, to) => {
      field.value = to;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    },
    value,
  );
}

export async function write(page, whole) {
  await page.click(".cm-content");
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(whole);
}

