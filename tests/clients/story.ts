// The story of README.md, told by a client that openapi-typescript and openapi-fetch make of the OpenAPI document.
import assert from "node:assert/strict";
import { env } from "node:process";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.ts";

type Article = components["schemas"]["Article"];

const { BASE_URL: baseUrl = "", EMAIL: email = "", PASSWORD: password = "", NAME: name = "" } = env;
const guest = createClient<paths>({ baseUrl });

async function logIn() {
  const { data, error } = await guest.POST("/api/login", { body: { email, password } });
  assert(data, error?.detail);
  return createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${data.access_token}` } });
}

async function aGuestIsRefused() {
  const { error, response } = await guest.POST("/api/articles", {
    body: { title: "Hello", slug: "hello", body: "A first article." },
  });
  assert.equal(response.status, 401);
  assert.equal(error?.code, "unauthenticated");
}

async function aRoleIsExplained(admin: Awaited<ReturnType<typeof logIn>>) {
  const { data } = await admin.GET("/api/admin/policy/explain", {
    params: { query: { as: "guest", permission: "article.create" } },
  });
  assert.equal(data?.verdict, "refused");
  assert.match(data.summary, /no rule gives article\.create to guest/);
}

async function anArticleIsPublished(admin: Awaited<ReturnType<typeof logIn>>) {
  const made = await admin.POST("/api/articles", {
    params: { header: { "Idempotency-Key": `${name}-first` } },
    body: { title: "First light", slug: `${name}-first`, body: "Morning." },
  });
  assert(made.data, made.error?.detail);
  assert.equal(made.response.headers.get("Location"), `/api/articles/${made.data.id}`);
  assert.equal(made.data.status, "draft");

  const path = { id: made.data.id };
  const hidden = await guest.GET("/api/articles/{id}", { params: { path } });
  assert.equal(hidden.error?.code, "not_found");

  const changed = await admin.PATCH("/api/articles/{id}", {
    params: { path, header: { "If-Match": `"${made.data.version}"` } },
    headers: { "Content-Type": "application/merge-patch+json" },
    body: { title: "Last light" },
  });
  assert.equal(changed.data?.title, "Last light", changed.error?.detail);
  const stale = await admin.DELETE("/api/articles/{id}", { params: { path, header: { "If-Match": '"1"' } } });
  assert.equal(stale.error?.code, "version_conflict");

  const submitted = await admin.POST("/api/articles/{id}/submit", { params: { path } });
  assert.equal(submitted.data?.status, "in_review", submitted.error?.detail);
  const approved = await admin.POST("/api/articles/{id}/approve", { params: { path } });
  assert.equal(approved.data?.status, "approved", approved.error?.detail);
  const published = await admin.POST("/api/articles/{id}/publish", { params: { path } });
  assert.equal(published.data?.status, "published", published.error?.detail);

  const read = await guest.GET("/api/articles/{id}", { params: { path, query: { expand: ["category"] } } });
  assert.equal(read.data?.title, "Last light");
  assert.equal(read.data.category, null);
  return made.data;
}

async function everyPageIsRead(admin: Awaited<ReturnType<typeof logIn>>, first: Article) {
  for (const slug of [`${name}-second`, `${name}-third`]) {
    const { error } = await admin.POST("/api/articles", { body: { title: "Another", slug, body: "Words." } });
    assert.equal(error, undefined);
  }
  const found: Article["slug"][] = [];
  let cursor: string | null | undefined;
  do {
    const { data, error } = await admin.GET("/api/articles", {
      params: {
        query: { limit: 1, sort: "created_at", slug__in: [`${name}-second`, first.slug], status__in: ["draft", "published"],
          ...(cursor ? { cursor } : {}) },
      },
    });
    assert(data, error?.detail);
    found.push(...data.items.map((article) => article.slug));
    cursor = data.next_cursor;
  } while (cursor);
  assert.deepEqual(found, [first.slug, `${name}-second`]);
}

const admin = await logIn();
await aGuestIsRefused();
await aRoleIsExplained(admin);
await everyPageIsRead(admin, await anArticleIsPublished(admin));
console.log("told");
