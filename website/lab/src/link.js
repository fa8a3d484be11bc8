// Links that carry a scenario: `#v=1&seed=1&run=0&toml=…`, the text deflated and in base64url. A link with an own algorithm
// has version 2, and `own` with its name and `code`. Links of version 1 are read as they are.

const VERSIONS = ["1", "2"];
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

/** A name of the file of an own algorithm: its ending says what it is. */
export const isOwnName = (name) => /^[\w-]{1,40}\.(js|wasm)$/.test(name);

const packed = async (bytes) => base64url(await through(new CompressionStream("deflate-raw"), bytes));

async function unpacked(text) {
  try {
    return await through(new DecompressionStream("deflate-raw"), bytesOf(text ?? ""), MOST_BYTES);
  } catch (error) {
    throw new Error(`the link is damaged: ${error.message}`);
  }
}

/** The fragment of a link. `own` is the own algorithm, `{name, code}`, its code a text or bytes, or null. */
export async function fragment({ text, seed, run, own = null }) {
  const encoded = (content) => (typeof content === "string" ? new TextEncoder().encode(content) : content);
  const fields = `seed=${seed}&run=${run}&toml=${await packed(encoded(text))}`;
  if (!own) return `#v=1&${fields}`;
  return `#v=2&${fields}&own=${encodeURIComponent(own.name)}&code=${await packed(encoded(own.code))}`;
}

/**
 * What a fragment carries; null if it carries nothing. Throws an error whose message says why a link is refused.
 */
export async function carried(hash) {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  if (!fields.has("toml") && !fields.has("v")) return null;
  const version = fields.get("v");
  if (!VERSIONS.includes(version))
    throw new Error(`the link has version ${version}; this page reads the versions ${VERSIONS.join(" and ")}`);
  const seed = wholeNumber(fields.get("seed") ?? "1");
  const run = wholeNumber(fields.get("run") ?? "0");
  if (seed === null || run === null)
    throw new Error("the seed and the run of the link must be whole numbers of 64 bits");
  const text = new TextDecoder().decode(await unpacked(fields.get("toml")));
  return { text, seed, run, own: version === "2" ? await ownOf(fields) : null };
}

/** The own algorithm that a link carries, or null. */
async function ownOf(fields) {
  const name = fields.get("own");
  if (name === null) return null;
  if (!isOwnName(name)) throw new Error("the own algorithm of the link needs a name that ends in .js or .wasm");
  const code = await unpacked(fields.get("code"));
  return { name, code: name.endsWith(".js") ? new TextDecoder().decode(code) : code };
}
