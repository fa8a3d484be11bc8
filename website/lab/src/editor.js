// The editor of the scenario: highlighting, completion, descriptions, and errors at their field.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import {
  HighlightStyle,
  StreamLanguage,
  bracketMatching,
  defaultHighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Annotation, Compartment, EditorState } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { completions, described } from "./complete.js";

const dark = HighlightStyle.define([
  { tag: tags.propertyName, color: "#8ab4ff" },
  { tag: tags.string, color: "#a5d6a7" },
  { tag: [tags.number, tags.bool, tags.atom], color: "#ffcc80" },
  { tag: tags.comment, color: "#9e9e9e" },
  { tag: [tags.heading, tags.keyword], color: "#ce93d8" },
]);

const colours = new Compartment();

/** Marks changes by controls, which do not wait for the next key. */
const byControl = Annotation.define();

/**
 * The editor. `known()` returns the schema, the network and the outline; `onChange(text, isByControl)` is called after
 * every change.
 */
export function editor(parent, text, known, onChange) {
  const source = ({ state, pos, explicit }) => {
    const { schema, network } = known();
    if (!schema || (!explicit && !/[\w"'[{=.]\s?$/.test(state.sliceDoc(Math.max(0, pos - 2), pos)))) return null;
    return completions(schema, network, state.doc.toString(), pos);
  };
  const hover = hoverTooltip((view, pos) => {
    const { schema, outline } = known();
    const entries = outline ? [...outline.byPath.values()] : [];
    const entry = entries.findLast(({ key: [from, until] }) => from <= pos && pos <= until);
    const of = entry && schema && described(schema, entry.position);
    return of ? { pos: entry.key[0], end: entry.key[1], create: () => ({ dom: explanation(of) }) } : null;
  });
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        EditorView.lineWrapping,
        StreamLanguage.define(toml),
        colours.of([]),
        autocompletion({ override: [source] }),
        lintGutter(),
        hover,
        EditorView.contentAttributes.of({ "aria-label": "Scenario in TOML", spellcheck: "false" }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          const isByControl = update.transactions.some((one) => one.annotation(byControl));
          onChange(update.state.doc.toString(), isByControl);
        }),
      ],
    }),
  });
  return {
    view,
    text: () => view.state.doc.toString(),
    replace: (whole) =>
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: whole },
        annotations: byControl.of(true),
      }),
    change: (change) => view.dispatch({ changes: change, annotations: byControl.of(true) }),
    show: (diagnostics) => view.dispatch(setDiagnostics(view.state, diagnostics)),
    goTo(range) {
      view.dispatch({
        selection: { anchor: range[0], head: range[1] },
        effects: EditorView.scrollIntoView(range[0], { y: "center" }),
      });
      view.focus();
    },
    setDark: (isDark) =>
      view.dispatch({ effects: colours.reconfigure(syntaxHighlighting(isDark ? dark : defaultHighlightStyle)) }),
  };
}

/** The editor of the own algorithm. What colours its language is loaded with the first one. */
export async function scriptEditor(parent, text, isDark) {
  const { javascript } = await import("@codemirror/legacy-modes/mode/javascript");
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.lineWrapping,
        StreamLanguage.define(javascript),
        syntaxHighlighting(isDark ? dark : defaultHighlightStyle),
        EditorView.contentAttributes.of({ "aria-label": "Own algorithm in JavaScript", spellcheck: "false" }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    replace: (whole) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: whole } }),
  };
}

function explanation(of) {
  const dom = document.createElement("div");
  dom.className = "explanation";
  const unit = of["x-unit"] && of["x-unit"] !== "-" ? ` Unit: ${of["x-unit"]}.` : "";
  const standard = of.default === undefined || of.default === null ? "" : ` Default: ${JSON.stringify(of.default)}.`;
  dom.textContent = `${of.description}${unit}${standard}`;
  return dom;
}
