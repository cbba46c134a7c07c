// RapiDoc hides its navigation on narrow screens (below 768 px), and its focused style shows one operation at a time:
// there, all of them are listed on one page, to be opened one by one.
const page = document.querySelector("rapi-doc");
const narrow = window.matchMedia("(max-width: 767.98px)");
const show = () => page.setAttribute("render-style", narrow.matches ? "view" : "focused");

narrow.addEventListener("change", show);
show();
