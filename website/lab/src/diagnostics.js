// Where errors and warnings appear in the text.

/** The diagnostic of a refusal: at its field, on its line, or at the top. */
export function diagnostic(refusal, outline, text) {
  const line = /^line ([0-9]+)$/.exec(refusal.field ?? "");
  let range = outline.nearest(refusal.field ?? "")?.value ?? [
    0,
    Math.min(text.length, text.indexOf("\n") + 1 || text.length),
  ];
  if (line) {
    const lines = text.split("\n");
    const before = lines.slice(0, Number(line[1]) - 1).join("\n").length;
    const from = Math.min(text.length, before ? before + 1 : 0);
    range = [from, Math.min(text.length, from + (lines[Number(line[1]) - 1] ?? "").length)];
  }
  return { from: range[0], to: range[1], severity: "error", message: refusal.message };
}

/** Diagnostics of warnings, which begin with the path of their field. */
export function warningDiagnostics(warnings, outline) {
  return warnings.map((message) => {
    const range = outline.nearest(message.split(": ")[0])?.value ?? [0, 0];
    return { from: range[0], to: range[1], severity: "warning", message };
  });
}
