// A text editor for Python: CodeMirror, as PyScript brings it, in a shadow root, where its style sheets are adopted ones.

const LIBRARY = new URL("../vendor/codemirror/codemirror.mjs", import.meta.url).href;
const STYLE = new URL("edit-code.css", import.meta.url).href;

const CLASSES = {
  keyword: "tok-keyword", self: "tok-keyword", bool: "tok-atom", null: "tok-atom", string: "tok-string", number: "tok-number",
  comment: "tok-comment", definition: "tok-name", className: "tok-name", operator: "tok-operator",
};

/** Classes of the style sheet for a piece of code; the colours there follow the theme of the page. */
const highlighter = {
  style(tags) {
    for (const tag of tags) {
      const modified = tag.modified.some((each) => each.name === "definition");
      if (modified && tag.set.some((each) => each.name === "variableName" || each.name === "propertyName")) return CLASSES.definition;
      const known = tag.set.find((each) => each.name in CLASSES);
      if (known) return CLASSES[known.name];
    }
    return null;
  },
};

/**
 * Puts an editor into `host`.
 * @returns `{text, set(text), goTo(line), focus()}`
 */
export async function openEditor(host, text, label, onChange) {
  const { EditorState, EditorView, basicSetup, python, syntaxHighlighting } = await import(LIBRARY);
  const root = host.attachShadow({ mode: "open" });
  const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: STYLE });
  const parent = document.createElement("div");
  root.append(style, parent);
  const extensions = [
    syntaxHighlighting(highlighter),
    basicSetup,
    python(),
    EditorState.tabSize.of(4),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    EditorView.updateListener.of((update) => update.docChanged && onChange()),
  ];
  const view = new EditorView({ state: EditorState.create({ doc: text, extensions }), parent, root });
  return {
    get text() { return view.state.doc.toString(); },
    set(next) { view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }); },
    goTo(number) {
      const line = view.state.doc.line(Math.min(Math.max(1, number), view.state.doc.lines));
      view.dispatch({ selection: { anchor: line.from, head: line.to }, effects: EditorView.scrollIntoView(line.from, { y: "center" }) });
      view.focus();
    },
    focus: () => view.focus(),
  };
}
