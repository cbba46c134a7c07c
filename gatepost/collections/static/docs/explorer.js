// What RapiDoc 9.3 has no attribute for. It renders into shadow trees, where the page's style sheet does not reach and
// where fields have no labels; both are added to its class before it draws anything.
const sheetText = `
  :host { display: block; } /* as an inline box it would be no container to ask for its width */
  /* Its own colours are too pale to be read; these are the page's. */
  :host > * { --blue: var(--accent); --green: var(--yes); --red: var(--no); --purple: var(--accent);
              --orange: var(--ink); }
  @container (max-width: 44rem) {
    .m-table, .m-table tbody { display: block; }
    .m-table tr { display: block; padding: .5rem 0; border-top: 1px solid var(--light-border-color); }
    .m-table tr:nth-child(even), .m-table tr:first-child { border-top: 0; padding-top: 0; }
    .m-table tr td { display: block; width: auto !important; border: 0 !important; padding: .15rem .5rem; }
    .m-table tr td:empty { display: none; }
    .param-name, .param-type { display: inline; text-align: left; }
    .param-type { margin-left: .5rem; }
    .request-param, .m-btn { min-height: 2.5rem; font-size: 16px; }
  }
  .hide-in-small-screen { flex: 1; min-width: 0; }
  @container (max-width: 30rem) { .hide-in-small-screen { display: none; } }
`;

const labelled = (request) => {
  for (const field of request.shadowRoot.querySelectorAll("[data-pname]")) {
    field.setAttribute("aria-label", field.dataset.pname);
    field.shadowRoot?.querySelector("input")?.setAttribute("aria-label", field.dataset.pname);
  }
  for (const field of request.shadowRoot.querySelectorAll(".request-body-param-user-input")) {
    field.setAttribute("aria-label", "Body");
  }
};

const sheet = new CSSStyleSheet();
sheet.replaceSync(sheetText);

customElements.whenDefined("api-response").then(() => customElements.get("api-response").elementStyles.push(sheet));

customElements.whenDefined("api-request").then(() => {
  const Request = customElements.get("api-request");
  Request.elementStyles.push(sheet);
  const updated = Request.prototype.updated;
  Request.prototype.updated = function (...changed) {
    labelled(this);
    return updated.apply(this, changed);
  };
});

const frame = new CSSStyleSheet();
frame.replaceSync(".body { overflow: visible; height: auto; }"); // the window scrolls, not a box in it

// A page has one main part, and RapiDoc's is a region of it.
export function place(explorer) {
  if (!explorer.shadowRoot.adoptedStyleSheets.includes(frame)) explorer.shadowRoot.adoptedStyleSheets.push(frame);
  const region = explorer.shadowRoot.querySelector("main");
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", "Operation");
}

// Show and say what became of a try: the buttons stay at the lower edge of the window, the answer is further below.
export function follow(explorer, status) {
  explorer.addEventListener("after-try", async ({ detail: { response, err } }) => {
    status.textContent = err ? "The service could not be reached." : `Answered with status ${response.status}.`;
    const request = explorer.shadowRoot.querySelector("api-request");
    await request.updateComplete;
    const answer = request.shadowRoot.querySelector(".response-message");
    requestAnimationFrame(() => answer?.scrollIntoView({ block: "center" }));
  });
}
