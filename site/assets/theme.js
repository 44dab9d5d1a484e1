// Classic and blocking, so that the theme is there before the first paint.
{
  const themes = ["auto", "light", "dark"];
  let theme = new URLSearchParams(location.search).get("theme");
  try {
    if (!themes.includes(theme)) theme = localStorage.getItem("batchloom-theme");
  } catch {
    // no storage in this frame
  }
  document.documentElement.dataset.theme = themes.includes(theme) ? theme : "auto";
}
