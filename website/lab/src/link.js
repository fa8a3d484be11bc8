// Links that carry a scenario: `#v=1&seed=1&run=0&toml=…`, the text deflated and in base64url.

const VERSION = "1";
const MOST_BYTES = 1 << 20;
const LARGEST_SEED = (1n << 64n) - 1n;

async function through(stream, bytes, most = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw new Error(`the scenario is longer than ${most} bytes`);
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function base64url(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function bytesOf(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
}

/** A seed or run number of 64 bits as text, or null. */
export function wholeNumber(text) {
  return /^[0-9]{1,20}$/.test(text) && BigInt(text) <= LARGEST_SEED ? String(BigInt(text)) : null;
}

/** The fragment of a link. */
export async function fragment({ text, seed, run }) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  return `#v=${VERSION}&seed=${seed}&run=${run}&toml=${base64url(packed)}`;
}

/**
 * What a fragment carries; null if it carries nothing. Throws an error whose message says why a link is refused.
 */
export async function carried(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  if (!fields.has("toml") && !fields.has("v")) return null;
  if (fields.get("v") !== VERSION) {
    throw new Error(`the link has version ${fields.get("v")}; this page reads version ${VERSION}`);
  }
  const seed = wholeNumber(fields.get("seed") ?? "1");
  const run = wholeNumber(fields.get("run") ?? "0");
  if (seed === null || run === null)
    throw new Error("the seed and the run of the link must be whole numbers of 64 bits");
  let unpacked;
  try {
    unpacked = await through(new DecompressionStream("deflate-raw"), bytesOf(fields.get("toml") ?? ""), MOST_BYTES);
  } catch (error) {
    throw new Error(`the link is damaged: ${error.message}`);
  }
  return { text: new TextDecoder().decode(unpacked), seed, run };
}
