// The page around RapiDoc: the three steps, the map of the operations, and which of them is shown.
import { Description } from "./description.js";
import { follow, place } from "./explorer.js";
import { ask, base, changed, forget, logIn, logOut, token, use } from "./session.js";

const byId = (id) => document.getElementById(id);
const explorer = byId("explorer");

const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

// Text with `code` in it.
const prose = (text) =>
  text.split("`").map((part, index) => (index % 2 ? element("code", { textContent: part }) : part));

// Colours of RapiDoc are attributes, which a style sheet cannot set.
const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = () => {
  const style = getComputedStyle(document.documentElement);
  explorer.setAttribute("theme", dark.matches ? "dark" : "light");
  const taken = { "bg-color": "--card", "text-color": "--ink", "primary-color": "--accent" };
  for (const [attribute, property] of Object.entries(taken)) {
    explorer.setAttribute(attribute, style.getPropertyValue(property).trim());
  }
};

// The steps

const said = (kind, word, ...rest) =>
  element("p", {}, element("span", { className: `mark ${kind}`, textContent: word }), " ", ...rest);

const sentence = ({ status, body }) => body?.detail ?? `The server answered with status ${status}.`;

const unreached = () => said("no", "no answer", "The service could not be reached.");

const shown = (answer) => {
  const word = `${answer.status < 400 ? "✓" : "✗"} ${answer.status}`;
  const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body, null, 2);
  const place = element("pre", { tabIndex: 0, className: "answer", textContent: text });
  return [said(answer.status < 400 ? "yes" : "no", word, answer.status < 400 ? "" : sentence(answer)), place];
};

async function answerIn(button) {
  const place = button.parentElement.querySelector("output");
  button.disabled = true;
  try {
    const answer = await ask("GET", button.dataset.ask);
    place.replaceChildren(...shown(answer));
    return answer;
  } catch {
    place.replaceChildren(unreached());
    return null;
  } finally {
    button.disabled = false;
  }
}

const whoAmI = () => answerIn(document.querySelector("[data-ask='/api/profile']"));

async function greet(place) {
  const profile = await whoAmI();
  if (profile?.status === 401) {
    forget();
    place.replaceChildren(said("no", "✗ refused", sentence(profile)));
    return;
  }
  const name = profile?.status === 200 ? profile.body.name : "a service";
  if (profile?.status === 200) {
    byId("caller").replaceChildren(element("bdi", { textContent: name }), ` · ${profile.body.role}`);
  }
  place.replaceChildren(said("yes", "✓ logged in", "as ", element("bdi", { textContent: name }), "."));
  place.focus(); // the form that had it is gone
}

async function entered(form, work) {
  const place = byId("logged-in");
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    await work(place);
    form.reset();
  } catch {
    place.replaceChildren(unreached());
  } finally {
    button.disabled = false;
  }
}

byId("log-in").addEventListener("submit", (event) => {
  event.preventDefault();
  const { email, password } = event.target.elements;
  entered(event.target, async (place) => {
    const answer = await logIn(email.value, password.value);
    if (answer.status === 200) await greet(place);
    else place.replaceChildren(said("no", "✗ refused", sentence(answer)));
  });
});

byId("use-token").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = event.target.elements.token.value.trim();
  entered(event.target, (place) => {
    use(text);
    return greet(place);
  });
});

byId("log-out").addEventListener("click", async () => {
  await logOut();
  byId("logged-in").replaceChildren(said("", "logged out"));
  byId("to-start").focus();
});

for (const button of document.querySelectorAll("[data-ask]")) {
  button.addEventListener("click", () => answerIn(button));
}

// RapiDoc sends the token with what is tried there.
function hand() {
  if (!explorer.resolvedSpec?.securitySchemes) return;
  if (token()) explorer.setApiKey("bearer", token());
  else explorer.removeAllSecurityKeys();
}

changed.addEventListener("token", () => {
  byId("log-out").hidden = !token();
  for (const entry of ["log-in", "own-token"]) byId(entry).hidden = Boolean(token());
  if (!token()) {
    byId("caller").textContent = "guest";
    for (const place of document.querySelectorAll("output")) place.replaceChildren();
  } else if (byId("caller").textContent === "guest") {
    byId("caller").textContent = "with a token";
  }
  hand();
});

changed.addEventListener("ended", () => byId("logged-in").replaceChildren(said("no", "✗ ended", "Log in again.")));

// The map

const isCollection = (tag) => tag.operations.some(({ method, path, parameters }) =>
  method === "get" && path === `/api/${tag.name}` && parameters?.some(({ name }) => name === "limit"));

const line = ({ elementId, method, path, summary, deprecated }) => {
  const link = element("a", { href: `#${elementId}`, title: path },
    element("span", { className: "verb", textContent: method.toUpperCase() }), " ",
    element("span", {}, ...prose(summary ?? path), ...(deprecated ? [" (deprecated)"] : [])));
  const item = element("li", {}, link);
  item.dataset.words = `${method} ${path} ${summary ?? ""}`.toLowerCase();
  return item;
};

const group = (tag) => element("details", { id: tag.elementId, className: "card group" },
  element("summary", {}, element("strong", { textContent: tag.name.replaceAll("_", " ") }), " ",
    element("span", { className: "soft" }, ...prose(tag.description.replace(/\s+/g, " ")))),
  element("ul", {}, ...tag.operations.map(line)));

let description = null;

async function draw() {
  const answer = await ask("GET", "/api/openapi.json").catch(() => null);
  byId("operations").hidden = false;
  if (answer?.status !== 200) {
    byId("others").replaceChildren(answer ? said("no", `✗ ${answer.status}`, sentence(answer)) : unreached());
    return;
  }
  let tags;
  try {
    description = new Description(answer.body);
    tags = description.tags();
  } catch {
    byId("others").replaceChildren(said("no", "not readable", "The answer is not the OpenAPI document."));
    return;
  }
  byId("collections").replaceChildren(...tags.filter(isCollection).map(group));
  byId("others").replaceChildren(...tags.filter((tag) => !isCollection(tag)).map(group));
  route();
}

// The operation

follow(explorer, byId("tried"));

explorer.addEventListener("spec-loaded", () => {
  place(explorer);
  hand();
});

let explored = Promise.resolve();
let loaded = ""; // the operation that RapiDoc has, with what the reader typed

// One operation after the other, so that the last one stays. Requests go to where this page came from: the browser asks
// nobody else.
function explore(name) {
  explored = explored.then(async () => {
    await customElements.whenDefined("rapi-doc");
    if (fragment() !== name || loaded === name) return;
    loaded = "";
    await explorer.loadSpec(description.partOf(name, base));
    loaded = name;
  }).catch(console.error);
}

byId("find").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  let hits = 0;
  for (const found of document.querySelectorAll(".group")) {
    const name = found.querySelector("strong").textContent;
    for (const item of found.querySelectorAll("li")) {
      item.hidden = !words.every((word) => name.includes(word) || item.dataset.words.includes(word));
      hits += !item.hidden;
    }
    found.hidden = !found.querySelector("li:not([hidden])");
    found.open = words.length > 0 && !found.hidden;
  }
  byId("found").textContent = words.length === 0 ? "" : `${hits} ${hits === 1 ? "operation" : "operations"}`;
});

// What the fragment names: an operation for RapiDoc, which follows it too; a group of the map; or where to start.

const current = (link, is) => (is ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current"));

// A fragment that nobody has encoded well names no operation.
function fragment() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return location.hash.slice(1);
  }
}

function route(event) {
  const name = fragment();
  const link = document.querySelector(`#operations a[href="${CSS.escape("#" + name)}"]`);
  document.body.classList.toggle("exploring", link !== null);
  byId("start").hidden = link !== null;
  for (const part of [explorer, byId("operation")]) part.hidden = link === null;
  document.querySelector("#operations [aria-current]")?.removeAttribute("aria-current");
  current(byId("to-start"), link === null);
  current(byId("to-operations"), link !== null);
  if (link === null) {
    document.title = "Gatepost API";
    const place = name ? byId(name) : null;
    if (place?.matches("details")) place.open = true;
    if (event || place?.matches("details, nav")) (place ?? byId("main")).scrollIntoView();
    return;
  }
  link.setAttribute("aria-current", "page");
  link.closest("details").open = true;
  byId("operation").textContent = link.lastChild.textContent;
  document.title = `${link.lastChild.textContent} · Gatepost API`;
  if (event) byId("main").focus({ preventScroll: true });
  scrollTo(0, 0);
  link.scrollIntoView({ block: "nearest" });
  explore(name);
}

addEventListener("hashchange", route);

// Not by its fragment, which RapiDoc would take for an operation.
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  byId("main").focus();
});

// Before RapiDoc is there, which reads its attributes once.
dark.addEventListener("change", colour);
colour();
for (const place of document.querySelectorAll(".base")) place.textContent = base;
for (const part of document.querySelectorAll("#log-in, [data-script], [data-ask], #me")) part.hidden = false;
draw();
