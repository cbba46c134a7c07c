/** Requests with JSON, and the forms that their answers have. */
import { discard } from "./lines.ts";
import type { Keyed, Session } from "./session.ts";
import { etag, type Options, type Tagged, type Target, type WriteOptions } from "./types.ts";

type Sent = Omit<Keyed, "body"> & { readonly body?: object };

const MERGE_PATCH = "application/merge-patch+json";

function encoded({ body, ...request }: Sent): Keyed {
  if (body === undefined) return request;
  const type = request.method === "PATCH" ? MERGE_PATCH : "application/json";
  return { ...request, headers: { "Content-Type": type, ...request.headers }, body: JSON.stringify(body) };
}

/** The JSON of an answer, which the service holds to its document; null where there is none. */
export function sendJson<T>(session: Session, request: Sent): Promise<T> {
  return session.send(encoded(request), (answer) => json<T>(answer));
}

/** One object, with its `ETag`. */
export function object<T extends object>(session: Session, request: Sent): Promise<T & Tagged> {
  return session.send(encoded(request), async (answer) => {
    const row: T = await answer.json();
    return Object.assign(row, { [etag]: answer.headers.get("ETag") ?? undefined });
  });
}

/** Nothing but that it was done. */
export function done(session: Session, request: Sent): Promise<void> {
  return session.send(encoded(request), discard);
}

/**
 * The object that a write answers. A repetition may be answered without it, or without its `ETag`: it is read then, at
 * `path` or, where a write has made it, at the `Location` below.
 */
export async function written<T extends object>(
  session: Session, request: Sent, path: string, { signal }: Options,
): Promise<T & Tagged> {
  const answered = await session.send(encoded(request), async (answer): Promise<string | (T & Tagged)> => {
    const row = await json<T | null>(answer);
    const version = answer.headers.get("ETag");
    if (row !== null && version !== null) return Object.assign(row, { [etag]: version });
    const id = answer.headers.get("Location")?.split("/").pop();
    return id === undefined ? path : `${path}/${id}`;
  });
  return typeof answered === "string" ? object(session, { method: "GET", path: answered, signal }) : answered;
}

async function json<T>(answer: Response): Promise<T> {
  return JSON.parse((await answer.text()) || "null");
}

export function idOf(target: Target): string {
  return encodeURIComponent(typeof target === "string" ? target : target.id);
}

/** `If-Match` for the version that was given, or that the object had when it was read. */
export function precondition(target: Target, options: WriteOptions): Record<string, string> {
  const version = options.etag ?? (typeof target === "string" ? undefined : target[etag]);
  if (version !== undefined) return { "If-Match": version };
  if (typeof target !== "string") throw new TypeError("Its version is not known: read it again.");
  return {};
}
