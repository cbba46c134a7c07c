// A session whose refreshes are lost, again and again, on connections that are cut.
import assert from "node:assert/strict";
import { email, loggedIn } from "./told.ts";

const [client, now] = [await loggedIn(), Date.now];
for (let time = 1; time <= 20; time += 1) {
  // Each time, the token is over.
  Date.now = () => now() + time * 16 * 60_000;
  assert.equal((await client.me()).email, email);
}
console.log("told");
