// Classic, because a frame with an origin of its own (sandbox without allow-same-origin) gets no modules from a plain
// host, and no worker from any: it says so, and lets the controls rest.
if (self.origin === "null") {
  const html = document.documentElement;
  html.dataset.engine = "failed";
  for (const line of document.querySelectorAll("[data-when]")) line.hidden = true;
  document.querySelector("[data-sandboxed]").hidden = false;
  for (const figure of document.querySelectorAll("batch-loom")) {
    for (const control of figure.shadowRoot?.querySelector("form").elements ?? []) control.disabled = true;
  }
}
