// A stream of rows that is cut off where a row could begin is not a whole one.
import assert from "node:assert/strict";
import { Unavailable } from "gatepost-client";
import { all, loggedIn } from "./told.ts";

const admin = await loggedIn();
await assert.rejects(all(admin.categories.export()), Unavailable);
const job = await admin.jobs.wait(await admin.categories.exportLater());
await assert.rejects(all(admin.jobs.rows(job)), Unavailable);
console.log("told");
