// Writes and lists through connections that are cut: what the client believes is held against what the service has.
import assert from "node:assert/strict";
import { type Gatepost, NotFound, type Tagged } from "gatepost-client";
import { all, direct, each, loggedIn, name, url } from "./told.ts";

const admin = await loggedIn(direct);
const unlucky = await loggedIn(url);
const NUMBERS = Array.from({ length: 30 }, (_, number) => number);

async function noWriteHasItsEffectTwice() {
  const draft = await admin.articles.create({ title: "Once", slug: `${name}-once`, body: "Words." });
  let article = await admin.articles.publish(draft);
  const wanted = NUMBERS.map((number) => `${name} ${number}`);
  const made = await each(wanted, (body) => unlucky.comments.create({ article_id: article.id, body }));
  const found = await all(admin.comments.list({ article_id: article.id, limit: 100 }));
  assert.deepEqual(found.map((row) => row.body).toSorted(), wanted.toSorted());
  assert.deepEqual(found.map((row) => row.id).toSorted(), made.map((row) => row.id).toSorted());

  for (const number of NUMBERS.slice(0, 20)) {
    article = await unlucky.articles.update(article, { title: `Title ${number}` });
  }
  assert.equal(article.version, 22);
  assert.equal((await admin.articles.get(article.id)).version, 22);

  await each(made.slice(0, 10), (comment) => unlucky.comments.approve(comment));
  await each(made.slice(10, 20), (comment) => unlucky.comments.delete(comment));
  const left = await all(admin.comments.list({ article_id: article.id, limit: 100, fields: ["status", "version"] }));
  assert.deepEqual(left.map((row) => `${row.status} ${row.version}`).toSorted(), [
    ...Array<string>(10).fill("approved 2"), ...Array<string>(10).fill("pending 1"),
  ]);
}

async function filesComeWholeAndOnce() {
  const rows = NUMBERS.map((number) => ({ name: `${name} file`, slug: `${name}-file-${number}` }));
  assert.equal((await unlucky.categories.import(rows)).imported, rows.length);
  const brought = await unlucky.categories.importLater([{ name: `${name} file`, slug: `${name}-file-later` }]);
  await unlucky.jobs.wait(brought);
  const slugs = [...rows.map((row) => row.slug), `${name}-file-later`].toSorted();
  const stored = await all(admin.categories.export({ name: `${name} file` }));
  assert.deepEqual(stored.map((row) => row.slug).toSorted(), slugs);

  const job = await unlucky.jobs.wait(await admin.categories.exportLater({ name: `${name} file` }));
  for (let time = 0; time < 5; time += 1) {
    const found = await all(unlucky.jobs.rows<{ slug: string }>(job));
    assert.deepEqual(found.map((row) => row.slug).toSorted(), slugs);
  }
}

async function noRowIsSkippedOrGivenTwiceWhileOthersCome(writer: Gatepost) {
  const add = (number: number) => writer.categories.create({
    name: `${name} ${Math.random()}`, slug: `${name}-walk-${number}`,
  });
  const before = await each(NUMBERS, add);
  let [added, walking] = [0, true];
  const adding = (async () => {
    while (walking && added < 120) await add(NUMBERS.length + added++);
  })();
  try {
    for (let round = 0; round < 2; round += 1) {
      const rows = unlucky.categories.list({ sort: "name", name__startswith: `${name} 0.`, limit: 10, fields: ["id"] });
      const ids = (await all(rows)).map((row) => row.id);
      assert.equal(new Set(ids).size, ids.length);
      assert.deepEqual(before.filter((row) => !ids.includes(row.id)), []);
    }
  } finally {
    walking = false;
    await adding;
  }
  assert(added > 0);
}

async function aReplacedObjectIsNotReplacedTwice(rows: readonly ({ id: string; version: number } & Tagged)[]) {
  for (const row of rows) {
    // Where the first answer was lost, the repetition finds another version than was read: its own.
    await unlucky.categories.replace(row, { name: `${name} new`, slug: `${name}-new-${row.id}` }).catch((error) => {
      assert.deepEqual([error.code, error.attempts > 1], ["version_conflict", true]);
    });
    assert.equal((await admin.categories.get(row.id)).version, 2);
  }
  await each(rows, (row) => admin.categories.delete(row.id));
  await assert.rejects(admin.categories.delete(rows[0]?.id ?? ""), NotFound);
}

await noWriteHasItsEffectTwice();
await filesComeWholeAndOnce();
await noRowIsSkippedOrGivenTwiceWhileOthersCome(admin);
const rows = NUMBERS.slice(0, 15).map((number) => ({ name: `${name} old`, slug: `${name}-old-${number}` }));
await aReplacedObjectIsNotReplacedTwice(await each(rows, (row) => admin.categories.create(row)));
console.log("told");
