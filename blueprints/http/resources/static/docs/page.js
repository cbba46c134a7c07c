// RapiDoc hides its navigation on narrow screens (below 768 px), and its focused style shows one operation at a time:
// there, all of them are listed on one page, to be opened one by one.
const page = document.querySelector("rapi-doc");
const narrow = window.matchMedia("(max-width: 767.98px)");
const show = () => page.setAttribute("render-style", narrow.matches ? "view" : "focused");

// Its colours are an attribute, too, which a style sheet cannot set.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const colour = () => {
  page.setAttribute("theme", dark.matches ? "dark" : "light");
  page.setAttribute("bg-color", dark.matches ? "#131715" : "#ffffff");
  page.setAttribute("primary-color", dark.matches ? "#7cc9a0" : "#2f6f4f");
};

narrow.addEventListener("change", show);
dark.addEventListener("change", colour);
show();
colour();
