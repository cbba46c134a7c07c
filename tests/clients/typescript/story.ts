// The story of README.md, told by clients/typescript.
import assert from "node:assert/strict";
import {
  Conflict, etag, Forbidden, Gatepost, Invalid, NotFound, type Schemas, Unauthenticated, VersionConflict,
} from "gatepost-client";
import { all, loggedIn, name, patient, reached, url } from "./told.ts";

const guest = new Gatepost(url, patient);
const admin = await loggedIn();

async function aGuestIsRefused() {
  const body = { title: "Hello", slug: "hello", body: "A first article." };
  await assert.rejects(reached(() => guest.articles.create(body)), (error) => {
    assert(error instanceof Unauthenticated);
    assert.deepEqual([error.status, error.code, error.requestId !== ""], [401, "unauthenticated", true]);
    return true;
  });
}

async function aRoleIsExplained() {
  const query = { as: "guest", permission: "article.create" };
  const told = await admin.call<Schemas["Explanation"]>("GET", "/api/admin/policy/explain", { query });
  assert.equal(told.verdict, "refused");
  assert.match(told.summary, /no rule gives article\.create to guest/);
}

async function anArticleIsPublished() {
  const body = "Morning.\u2028Evening.";
  const made = await admin.articles.create({ title: "First light", slug: `${name}-first`, body });
  assert.deepEqual([made.status, made[etag]], ["draft", '"1"']);
  await assert.rejects(guest.articles.get(made.id), NotFound);

  const changed = await admin.articles.update(made, { title: "Last light" });
  assert.equal(changed.title, "Last light");
  await assert.rejects(admin.articles.delete(made), (error) => {
    assert(error instanceof VersionConflict);
    assert.equal(error.etag, changed[etag]);
    return true;
  });
  const published = await admin.articles.publish(await admin.articles.approve(await admin.articles.submit(changed)));
  assert.equal(published.status, "published");
  await assert.rejects(admin.articles.publish(made.id), (error) => {
    assert(error instanceof Conflict);
    assert.equal(error.code, "invalid_transition");
    return true;
  });

  const read = await guest.articles.get(made.id, { fields: ["title", "category_id"], expand: ["category"] });
  assert.deepEqual({ ...read, [etag]: "" }, { title: "Last light", category_id: null, category: null, [etag]: "" });
  return published;
}

async function aFaultIsToldWithItsPlace() {
  await assert.rejects(admin.articles.create({ title: "", slug: "no slug", body: "Words." }), (error) => {
    assert(error instanceof Invalid);
    assert.deepEqual(error.errors.map((fault) => fault.pointer), ["/title", "/slug"]);
    return true;
  });
}

async function everyPageIsRead() {
  const slugs = [1, 2, 3, 4, 5].map((number) => `${name}-${number}`);
  for (const slug of slugs) await admin.articles.create({ title: "Another", slug, body: "Words." });
  const found = await all(admin.articles.list({ slug__in: slugs, sort: "-created_at", limit: 2, fields: ["slug"] }));
  assert.deepEqual(found, slugs.toReversed().map((slug) => ({ slug })));
  const page = await admin.articles.page({ slug__in: slugs, page: 2, limit: 2 });
  assert.deepEqual([page.items.length, page.total], [2, 5]);
}

async function rowsComeAndGoAsFiles(slug: string) {
  const rows = [0, 1, 2].map((number) => ({ name: `Tea ${number}`, slug: `${name}-tea-${number}` }));
  assert.equal((await admin.categories.import(rows, { key: "slug" })).imported, 3);
  const csv = `slug,name\n${name}-tea-1,Black tea\n`;
  assert.equal((await admin.categories.import({ csv }, { key: "slug" })).updated, 1);
  const brought = await admin.categories.importLater([{ slug: `${name}-tea-0`, name: "Green tea" }], { key: "slug" });
  assert.deepEqual((await admin.jobs.wait(brought)).result, { imported: 0, updated: 1, failed: 0, errors: [] });

  const texts = await reached(() => all(admin.articles.export({ slug, fields: ["body"] })));
  assert.deepEqual(texts, [{ body: "Morning.\u2028Evening." }]);
  const kept = await admin.jobs.wait(await reached(() => admin.articles.exportLater({ slug, fields: ["slug"] })));
  assert.deepEqual(await all(admin.jobs.rows<{ slug: string }>(kept)), [{ slug }]);
  const asCsv = await reached(() => admin.articles.exportLater({ slug, fields: ["slug"] }, { format: "text/csv" }));
  const file = await admin.jobs.file(await admin.jobs.wait(asCsv));
  assert.equal(await file.text(), `slug\r\n${slug}\r\n`);
}

async function anArticleIsShared() {
  const draft = await admin.articles.create({ title: "A plan", slug: `${name}-plan`, body: "Secret." });
  const grantee = `user:${(await admin.me()).id}`;
  await reached(() => admin.articles.share(draft, grantee, "read"));
  const [share] = await all(admin.articles.shares(draft));
  assert.deepEqual([share?.grantee, share?.right], [grantee, "read"]);
  await reached(() => admin.articles.unshare(draft, grantee)).catch((error) => assert(error instanceof NotFound));
  assert.deepEqual(await all(admin.articles.shares(draft)), []);
}

async function aProgramHasAToken() {
  const made = await reached(() => admin.tokens.create({ name, scopes: ["read:articles"] }));
  assert(made.token);
  const program = new Gatepost(url, { token: made.token, ...patient });
  assert.equal((await all(program.articles.list({ slug: `${name}-first` }))).length, 1);
  await assert.rejects(program.articles.create({ title: "T", slug: `${name}-t`, body: "B." }), (error) => {
    assert(error instanceof Forbidden);
    assert.equal(error.code, "insufficient_scope");
    return true;
  });
  await reached(() => admin.tokens.delete(made.id)).catch((error) => assert(error instanceof NotFound));
}

await aGuestIsRefused();
await aRoleIsExplained();
const first = await anArticleIsPublished();
await aFaultIsToldWithItsPlace();
await everyPageIsRead();
await rowsComeAndGoAsFiles(first.slug);
await anArticleIsShared();
await aProgramHasAToken();
await admin.logout().catch((error) => assert.equal(error.code, "connection_lost"));
await assert.rejects(admin.me(), Unauthenticated);
console.log("told");
