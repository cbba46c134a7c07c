// How a login is kept alive: one refresh for all who need it, before the token ends and after it has.
import assert from "node:assert/strict";
import { env } from "node:process";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { inspect } from "node:util";
import { Forbidden, Gatepost, Unauthenticated, Unavailable } from "gatepost-client";
import { all, email, name, password, patient, reached, url } from "./told.ts";

const now = Date.now;
const LATE = 14.75 * 60_000; // milliseconds: a token of 15 minutes is due by then, and good for 15 seconds more
const OVER = 16 * 60_000;

/** Passes requests on, and keeps what is asked about them: their paths, cookies, and the tokens that were answered. */
class Wire {
  readonly paths: string[] = [];
  readonly secrets: string[] = [];
  cookie = "";
  /** Given to the client instead of its first token. */
  instead = "";
  refusing = false;
  /** Done once a refresh was answered, before the client knows. */
  meanwhile = async () => {};
  authorization = "";
  /** The refusal of this number is held back until a request with another token has followed. */
  late = 0;

  readonly fetch: typeof fetch = async (input, init) => {
    const path = new URL(String(input)).pathname;
    this.paths.push(path);
    if (this.refusing && path === "/api/token/refresh") throw new TypeError("fetch failed");
    const headers = new Headers(init?.headers);
    this.authorization = headers.get("Authorization") ?? "";
    if (this.cookie) headers.set("Cookie", this.cookie);
    const answer = await fetch(input, { ...init, headers });
    for (const set of answer.headers.getSetCookie()) this.cookie = set.split(";")[0]?.replace(/=$/, "") ?? "";
    if (answer.status === 401 && (this.late -= 1) === 0) {
      const before = this.paths.length;
      for (let looks = 0; looks < 1_000 && this.paths.length < before + 2; looks += 1) await setTimeout(5);
    }
    if (!/login|refresh/.test(path) || !answer.ok) return answer;
    const token: { access_token: string; refresh_token?: string } = await answer.json();
    this.secrets.push(token.access_token, ...(token.refresh_token ? [token.refresh_token] : []));
    if (path === "/api/token/refresh") await this.meanwhile();
    if (this.instead) [token.access_token, this.instead] = [this.instead, ""];
    return new Response(JSON.stringify(token), { headers: answer.headers });
  };

  tokens(): string[] {
    return this.secrets.filter((secret) => !secret.startsWith("gr_"));
  }

  refreshes(): number {
    return this.paths.filter((path) => path === "/api/token/refresh").length;
  }
}

async function loggedIn(wire: Wire, cookie = false): Promise<Gatepost> {
  const client = new Gatepost(url, { ...patient, fetch: wire.fetch });
  await reached(() => client.login(email, password, { cookie }));
  return client;
}

/** As if this time had passed. */
async function after<T>(milliseconds: number, work: () => Promise<T>): Promise<T> {
  Date.now = () => now() + milliseconds;
  return work().finally(() => {
    Date.now = now;
  });
}

const many = (client: Gatepost) => Promise.all(Array.from({ length: 16 }, () => client.me()));

for (const [when, passed] of [["is due", LATE], ["is over", OVER]] as const) {
  test(`of many requests at once, one has a token renewed that ${when}`, async () => {
    const wire = new Wire();
    const client = await loggedIn(wire);
    const found = await after(passed, () => many(client));
    assert.deepEqual(new Set(found.map((account) => account.email)), new Set([email]));
    assert.equal(wire.refreshes(), 1);
  });
}

test("one has a token renewed that the service calls expired, and a write is done once", async () => {
  const wire = new Wire();
  wire.instead = env["EXPIRED"] ?? "";
  const client = await loggedIn(wire);
  wire.late = 8;
  const slugs = Array.from({ length: 8 }, (_, number) => `${name}-expired-${number}`);
  await Promise.all(slugs.map((slug) => client.categories.create({ name: `${name} expired`, slug })));
  assert.equal(wire.refreshes(), 1);
  const found = await all(client.categories.list({ name: `${name} expired`, fields: ["slug"] }));
  assert.deepEqual(found.map((row) => row.slug).toSorted(), slugs);
  assert(wire.paths.filter((path) => path === "/api/categories").length > 8 + 1);
});

test("a token that is due goes on serving while it cannot be renewed, one that is over does not", async () => {
  const wire = new Wire();
  const client = new Gatepost(url, { fetch: wire.fetch, attempts: 2 });
  await client.login(email, password);
  wire.refusing = true;
  assert.equal((await after(LATE, () => client.me())).email, email);
  await assert.rejects(after(OVER, () => client.me()), Unavailable);
  wire.refusing = false;
  assert.equal((await after(OVER, () => client.me())).email, email);
});

test("a session that has ended is not continued as a guest", async () => {
  const [wire, client] = [new Wire(), await loggedIn(new Wire())];
  const other = await loggedIn(wire);
  await client.logout({ everywhere: true });
  for (const _ of [1, 2]) {
    await assert.rejects(after(OVER, () => all(other.articles.list())), (error) => {
      assert(error instanceof Unauthenticated);
      assert.match(error.message, /Log in again/);
      return true;
    });
  }
  assert.equal(wire.refreshes(), 1);
  await other.logout();
  assert.notEqual((await other.call<{ status: string }>("GET", "/api/health")).status, "");
});

test("a login while a token is renewed stays", async () => {
  const wire = new Wire();
  const client = await loggedIn(wire);
  wire.meanwhile = () => client.login(email, password);
  await after(OVER, () => client.me());
  const [, , ofLogin] = wire.tokens();
  assert.equal(wire.authorization, `Bearer ${ofLogin}`);
  assert.equal(wire.refreshes(), 1);
});

test("a page keeps its refresh token in a cookie, and goes on with it when it is loaded", async () => {
  const wire = new Wire();
  const page = await loggedIn(wire, true);
  assert.match(wire.cookie, /^gatepost_refresh=gr_/);
  assert.equal(wire.secrets.length, 1);
  const tab = new Gatepost(url, { fetch: wire.fetch });
  assert.deepEqual(await Promise.all([tab.resume(), tab.resume()]), [true, true]);
  assert.equal((await tab.me()).email, email);
  assert.equal(wire.refreshes(), 1);
  await page.logout();
  assert.equal(await new Gatepost(url, { fetch: wire.fetch }).resume(), false);
});

test("tabs take turns to renew where the browser has locks", async () => {
  let [last, held, most] = [Promise.resolve(), 0, 0];
  const asked: string[] = [];
  const request = (lock: string, work: () => Promise<void>) => {
    asked.push(lock);
    last = last.then(async () => {
      most = Math.max(most, held += 1);
      await work().finally(() => {
        held -= 1;
      });
    });
    return last;
  };
  Object.defineProperty(navigator, "locks", { value: { request }, configurable: true });
  try {
    const wire = new Wire();
    const tabs = [await loggedIn(wire, true)];
    for (const _ of [1, 2]) {
      const tab = new Gatepost(url, { fetch: wire.fetch });
      assert.equal(await tab.resume(), true);
      tabs.push(tab);
    }
    await after(OVER, () => Promise.all(tabs.map(many)));
    assert.deepEqual([most, wire.refreshes(), asked], [1, 5, Array(5).fill(`gatepost ${url}`)]);
  } finally {
    Object.defineProperty(navigator, "locks", { value: undefined, configurable: true });
  }
});

test("a service token is neither renewed nor logged in", async () => {
  const made = await (await loggedIn(new Wire())).tokens.create({ name: `${name} token`, scopes: ["read:articles"] });
  const wire = new Wire();
  const program = new Gatepost(url, { token: made.token ?? "", fetch: wire.fetch });
  await after(OVER, () => all(program.articles.list({ limit: 1, slug: name })));
  await assert.rejects(program.me(), Forbidden);
  await assert.rejects(program.login(email, password), TypeError);
  assert.equal(wire.refreshes(), 0);
});

test("neither a client nor an error shows a password or a token", async () => {
  const wire = new Wire();
  const client = await loggedIn(wire);
  const program = new Gatepost(url, { token: "gp_secret" });
  const cutInside = async () => new Response('{"access_token": "gr_cut');
  const cut = async () => Promise.reject(new TypeError("fetch failed"));
  const errors = await Promise.all([
    program.me(), client.login(email, "a walk to the hills"),
    new Gatepost(url, { fetch: cutInside }).login(email, password),
    new Gatepost(url, { fetch: cut }).login(email, password),
  ].map((asked) => asked.then(() => assert.fail("it was let in"), (error: unknown) => error)));
  const shown = [client, program, ...errors].map(
    (each) => `${inspect(each, { depth: 9, showHidden: true })}${JSON.stringify(each)}`);
  const secrets = [...wire.secrets, password, "a walk to the hills", "gp_secret", "gr_cut"];
  assert.deepEqual(secrets.filter((secret) => shown.some((text) => text.includes(secret))), []);
});
