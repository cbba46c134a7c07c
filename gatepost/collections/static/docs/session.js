// Who the caller is: tokens in the memory of this page, and requests that carry one. Nothing is stored, and no token
// stands in a URL.
const EARLY = 60; // seconds before a token ends in which another one is fetched

export const base = new URL(".", location.href).href.replace(/\/$/, "");
// "token", whenever there is another one, or none; "ended", when no other one was given
export const changed = new EventTarget();

let access = null;
let refresh = null;
let renewal = 0;

export const token = () => access;

// One request, with the token if there is one: {status, body}, where `body` is JSON if it is any, else text.
export async function ask(method, path, sent) {
  const headers = { Accept: "application/json, application/problem+json" };
  if (access) headers.Authorization = `Bearer ${access}`;
  if (sent !== undefined) headers["Content-Type"] = "application/json";
  const body = sent === undefined ? undefined : JSON.stringify(sent);
  const answer = await fetch(base + path, { method, headers, body, credentials: "omit", cache: "no-store" });
  const text = await answer.text();
  try {
    return { status: answer.status, body: JSON.parse(text) };
  } catch {
    return { status: answer.status, body: text };
  }
}

function hold(newAccess, newRefresh, seconds) {
  clearTimeout(renewal);
  [access, refresh] = [newAccess, newRefresh];
  if (refresh) renewal = setTimeout(renew, Math.max(seconds - EARLY, 5) * 1000);
  changed.dispatchEvent(new Event("token"));
}

async function renew() {
  const asked = refresh;
  const answer = await ask("POST", "/api/token/refresh", { refresh_token: asked }).catch(() => null);
  if (asked !== refresh) return; // somebody has logged in or out meanwhile
  if (answer?.status === 200) hold(answer.body.access_token, answer.body.refresh_token, answer.body.expires_in);
  else {
    forget();
    changed.dispatchEvent(new Event("ended"));
  }
}

// Log in; the answer says what became of it.
export async function logIn(email, password) {
  forget(); // what was sent with the token of another caller would be judged as that caller's
  const answer = await ask("POST", "/api/login", { email, password });
  if (answer.status === 200) hold(answer.body.access_token, answer.body.refresh_token, answer.body.expires_in);
  return answer;
}

// Go on with a token that was made elsewhere, and is renewed elsewhere.
export const use = (text) => hold(text, null, 0);

export const forget = () => hold(null, null, 0);

// End the session, if it was begun here; a token from elsewhere stays in force.
export async function logOut() {
  const begun = refresh !== null;
  if (begun) await ask("POST", "/api/logout", {}).catch(() => null);
  forget();
}
