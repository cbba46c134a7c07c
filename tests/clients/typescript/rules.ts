// When a request is sent again, without a service: the answers are those that a test gives.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Conflict, etag, Gatepost, Invalid, RateLimited, Unavailable } from "gatepost-client";
import { all } from "./told.ts";

type Answer = Response | "cut";

/** A client with these answers, the last of them again and again; and what it has sent. */
function served(answers: readonly Answer[], guest = false): [Gatepost, Request[]] {
  const sent: Request[] = [];
  const fetch = async (input: string | URL | globalThis.Request, init?: RequestInit) => {
    sent.push(new Request(input, init));
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    if (answer === undefined || answer === "cut") throw new TypeError("fetch failed");
    init?.signal?.throwIfAborted();
    return answer.clone();
  };
  return [new Gatepost("http://127.0.0.1:9/", { fetch, ...(guest ? {} : { token: "gp_it" }) }), sent];
}

const row = { id: "1", version: 1 };
const article = () => Response.json(row, { status: 201, headers: { ETag: '"1"' } });
const refused = (status: number, code: string, headers = {}) => new Response(
  JSON.stringify({ code, status, detail: "No.", errors: [], request_id: "r", title: "", type: "", instance: "" }),
  { status, headers: { "Content-Type": "application/problem+json", ...headers } },
);
const body = { title: "T", slug: "t", body: "B." };
const keys = (sent: Request[]) => new Set(sent.map((request) => request.headers.get("Idempotency-Key")));

test("a create is sent again with the key of its first attempt", async () => {
  const cutInside = new Response('{"id": "1"', { status: 201, headers: { ETag: '"1"' } });
  const [client, sent] = served([
    "cut", cutInside, refused(503, "overloaded", { "Retry-After": "0" }), refused(429, "rate_limited"),
    refused(409, "idempotency_in_progress", { "Retry-After": "0" }), article(),
  ]);
  assert.equal((await client.articles.create(body))[etag], '"1"');
  assert.equal(sent.length, 6);
  assert.equal(keys(sent).size, 1);
  assert.match([...keys(sent)][0] ?? "", /^[0-9a-f-]{36}$/);
  const [other, again] = served([article()]);
  await other.articles.create(body);
  assert.notDeepEqual(keys(again), keys(sent));
});

test("attempts are bounded, and counted", async () => {
  const [client, sent] = served(["cut"]);
  await assert.rejects(client.articles.create(body), (error) => {
    assert(error instanceof Unavailable);
    assert.deepEqual([error.code, error.status, error.attempts], ["connection_lost", 0, 6]);
    return true;
  });
  assert.equal(sent.length, 6);
});

const ONCE: Record<string, (client: Gatepost) => Promise<unknown>> = {
  "a delete": (client) => client.articles.delete("1"),
  "a replacement": (client) => client.articles.replace("1", body),
  "a share": (client) => client.articles.share("1", "user:2", "read"),
  "an export as a job": (client) => client.articles.exportLater(),
  "a new service token": (client) => client.tokens.create({ name: "n", scopes: [] }),
  "any other write": (client) => client.call("POST", "/api/bookmarks", { body: {} }),
};
for (const [what, ask] of Object.entries(ONCE)) {
  test(`${what} without key or precondition is sent once`, async () => {
    for (const answer of ["cut", refused(503, "timeout", { "Retry-After": "0" })] as const) {
      const [client, sent] = served([answer, article()]);
      await assert.rejects(ask(client), Unavailable);
      assert.equal(sent.length, 1);
    }
  });
}

test("a guest has no key, and sends a write once", async () => {
  const [client, sent] = served(["cut"], true);
  await assert.rejects(client.articles.create(body), Unavailable);
  assert.deepEqual([sent.length, ...keys(sent)], [1, null]);
});

test("an object that was read is changed at the version that was read, and its delete may be repeated", async () => {
  const [client, sent] = served([article(), "cut", refused(404, "not_found")]);
  const found = await client.articles.get("1");
  await client.articles.delete(found);
  assert.deepEqual(sent.slice(1).map((request) => request.headers.get("If-Match")), ['"1"', '"1"']);
  const [other] = served([Response.json(row)]);
  const untagged = await other.articles.get("1");
  await assert.rejects(other.articles.replace(untagged, body), TypeError);
});

test("a long answer that is repeated without its body is read where it is", async () => {
  const headers = { Location: "/below/api/articles/7", "Preference-Applied": "return=minimal" };
  const [client, sent] = served(["cut", new Response("", { status: 201, headers }), article()]);
  assert.equal((await client.articles.create(body)).version, 1);
  assert.equal(sent[2]?.url, "http://127.0.0.1:9/api/articles/7");
});

test("who is asked to wait for longer than a minute is told so", async () => {
  const [client, sent] = served([refused(429, "rate_limited", { "Retry-After": "61" })]);
  await assert.rejects(all(client.articles.list()), (error) => error instanceof RateLimited && error.retryAfter === 61);
  assert.equal(sent.length, 1);
});

test("what would be refused again is not sent again", async () => {
  for (const [answer, kind] of [
    [refused(400, "invalid_body"), Invalid], [refused(409, "conflict"), Conflict],
    [new Response("<h1>too large</h1>", { status: 413 }), Invalid],
  ] as const) {
    const [client, sent] = served([answer]);
    await assert.rejects(client.articles.create(body), kind);
    assert.equal(sent.length, 1);
  }
});

test("what a proxy answers for a service that is away is no answer of the service", async () => {
  const away = new Response("<h1>Bad Gateway</h1>", { status: 502 });
  const [client, sent] = served([away, Response.json({ items: [], has_next: false })]);
  assert.deepEqual(await all(client.articles.list()), []);
  assert.equal(sent.length, 2);
});

test("who gives up is told their own reason at once, and nothing is sent again", async () => {
  for (const wait of ["0", "60"]) {
    const [client, sent] = served([refused(503, "overloaded", { "Retry-After": wait })]);
    const [control, reason] = [new AbortController(), new Error("enough")];
    const asked = client.articles.create(body, { signal: control.signal });
    setTimeout(() => control.abort(reason), 20);
    await assert.rejects(asked, (error) => error === reason || wait === "0" && error instanceof Unavailable);
    const before = sent.length;
    await assert.rejects(client.articles.get("1", {}, { signal: control.signal }), (error) => error === reason);
    assert.equal(sent.length, before);
  }
});

test("an export that is cut does not pass for all there is", async () => {
  const [client] = served([new Response('{"id": "1"}\n{"id": "2"}\n{"id"')]);
  const found: string[] = [];
  await assert.rejects((async () => {
    for await (const each of client.articles.export({ fields: ["id"] })) found.push(each.id);
  })(), Unavailable);
  assert.deepEqual(found, ["1", "2"]);
});

test("the rows of a job's file go on where they were cut, as long as they go on", async () => {
  const ids = Array.from({ length: 9 }, (_, number) => `${number}`);
  const whole = ids.map((id) => `{"id": "${id}"}\n`).join("");
  const parts = ids.map((_, rows) => new Response(whole.slice(0, (rows + 1) * 12 + 5)));
  const [client, sent] = served(parts);
  assert.deepEqual((await all(client.jobs.rows<{ id: string }>("7"))).map((row) => row.id), ids);
  assert.equal(sent.length, 9);
  const [unlucky, tries] = served(parts.slice(0, 1));
  await assert.rejects(all(unlucky.jobs.rows("7")), Unavailable);
  assert.equal(tries.length, 1 + 5);
});

test("a list that is not read to its end asks for no further page", async () => {
  const page = Response.json({ items: [row, row], has_next: true, next_cursor: "c" });
  const [client, sent] = served([page, Response.json({ items: [row], has_next: false })]);
  for await (const _ of client.articles.list({ limit: 2 })) break;
  assert.equal(sent.length, 1);
  assert.equal((await all(client.articles.list({ status__in: ["draft", "published"] }))).length, 1);
  assert.equal(sent[1]?.url, "http://127.0.0.1:9/api/articles?status__in=draft%2Cpublished");
});

test("a value of a list that has a comma or begins with a quote is quoted", async () => {
  const [client, sent] = served([Response.json({ items: [], has_next: false })]);
  await all(client.products.list({ sku__in: ["a,b", 'c"d', '"e"', "f"] }));
  assert.equal(new URL(sent[0]?.url ?? "").searchParams.get("sku__in"), '"a,b",c"d,"""e""",f');
});
