// The few words that scripts need. The build put them into the page, in its language.

/** The word `id` of the page's `<template id="words">`, with `{name}` replaced by `values.name`. */
export function word(id, values = {}) {
  const source = document.getElementById("words")?.content.querySelector(`[data-word="${id}"]`);
  return (source?.textContent ?? id).replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all));
}
