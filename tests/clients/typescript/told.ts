// What the test tells a program, and how it goes on where a connection was cut.
import { env } from "node:process";
import { Gatepost, GatepostError } from "gatepost-client";

export const { BASE_URL: url = "", DIRECT_URL: direct = "", EMAIL: email = "", PASSWORD: password = "" } = env;
export const { NAME: name = "" } = env;

/** Through the connections that are cut; it tries longer than others, so that no test is unlucky. */
export const patient = { attempts: 25 };

/** Sends again what the client sends once, where its effect may be there twice. */
export async function reached<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof GatepostError) || error.code !== "connection_lost" || tries === 50) throw error;
    }
  }
}

export async function loggedIn(at = url): Promise<Gatepost> {
  const client = new Gatepost(at, patient);
  await reached(() => client.login(email, password));
  return client;
}

export async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const row of rows) found.push(row);
  return found;
}

/** Several at a time, in the order in which they are given. */
export async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>, atOnce = 6): Promise<R[]> {
  const [results, queue]: [R[], [number, T][]] = [[], [...items.entries()]];
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await work(next[1]);
  }));
  return results;
}
