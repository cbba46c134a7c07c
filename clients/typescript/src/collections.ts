/** Collections: lists that go on over cursors, objects, their actions, shares and files. */
import { discard, rows, streamed } from "./lines.ts";
import type { Job } from "./jobs.ts";
import { GatepostError, lost, NotFound } from "./problems.ts";
import { done, idOf, object, precondition, sendJson, written } from "./requests.ts";
import type { Keyed, Session } from "./session.ts";
import type { Choice, Chosen, Filters, Kind, Options, Page, SchemaOf, Schemas, Tagged, Target, WriteOptions } from "./types.ts";

/** What can be listed. */
export class Listing<K extends Kind> {
  protected readonly session: Session;
  protected readonly path: string;

  constructor(session: Session, path: string) {
    this.session = session;
    this.path = path;
  }

  /** Every row, page by page as they are needed; a page that was cut off is asked for again. */
  async *list<F extends K["field"] = K["field"], E extends K["expansion"] = never>(
    query?: Filters<K> & Choice<F, E>, options: Options = {},
  ): AsyncGenerator<Chosen<K, F, E>, void> {
    yield* paged<Chosen<K, F, E>>(this.session, this.path, query, options);
  }

  /** One page, by cursor or by number. */
  page<F extends K["field"] = K["field"], E extends K["expansion"] = never>(
    query?: K["filters"] & Choice<F, E>, { signal }: Options = {},
  ): Promise<Page<Chosen<K, F, E>>> {
    return sendJson(this.session, { method: "GET", path: this.path, query, signal });
  }
}

/** What can be read and deleted one by one, too. */
export class Objects<K extends Kind> extends Listing<K> {
  get<F extends K["field"] = K["field"], E extends K["expansion"] = never>(
    id: string, query?: Choice<F, E>, { signal }: Options = {},
  ): Promise<Chosen<K, F, E> & Tagged> {
    return object(this.session, { method: "GET", path: this.at(id), query, signal });
  }

  async delete(target: Target, options: WriteOptions = {}): Promise<void> {
    const headers = precondition(target, options);
    try {
      await done(this.session, { method: "DELETE", path: this.at(target), headers, signal: options.signal });
    } catch (error) {
      // An attempt whose answer was lost has deleted it.
      if (!(error instanceof NotFound) || error.attempts === 1) throw error;
    }
  }

  protected at(target: Target): string {
    return `${this.path}/${idOf(target)}`;
  }

  /** The method that does this action. */
  protected action(name: string): (target: Target, options?: WriteOptions) => Promise<K["row"] & Tagged> {
    return async (target, options = {}) => {
      const [object, headers, { signal }] = [this.at(target), precondition(target, options), options];
      const request = { method: "POST", path: `${object}/${name}`, headers, keyed: true, signal } as const;
      return written<K["row"]>(this.session, request, object, options);
    };
  }
}

/** What can be made and changed. */
export class Collection<K extends Kind> extends Objects<K> {
  create(body: K["created"], options: Options = {}): Promise<K["row"] & Tagged> {
    const request = { method: "POST", path: this.path, body, keyed: true, signal: options.signal } as const;
    return written<K["row"]>(this.session, request, this.path, options);
  }

  /** Changes the fields that are given (RFC 7396). */
  async update(target: Target, body: K["changes"], options: WriteOptions = {}): Promise<K["row"] & Tagged> {
    const [path, headers] = [this.at(target), precondition(target, options)];
    const request = { method: "PATCH", path, headers, body, keyed: true, signal: options.signal } as const;
    return written<K["row"]>(this.session, request, path, options);
  }

  /** Sets every field; one that is left out gets its default. */
  async replace(target: Target, body: K["replacement"], options: WriteOptions = {}): Promise<K["row"] & Tagged> {
    const headers = precondition(target, options);
    return object(this.session, { method: "PUT", path: this.at(target), headers, body, signal: options.signal });
  }

  /** With whom the object is shared. */
  async *shares(target: Target, options: Options = {}): AsyncGenerator<SchemaOf<"Share">, void> {
    yield* paged<SchemaOf<"Share">>(this.session, `${this.at(target)}/shares`, {}, options);
  }

  /** `grantee` is `user:<id>`, `group:<name>` or `role:<name>`. */
  share(target: Target, grantee: string, right: SchemaOf<"ShareRight">, { signal }: Options = {}): Promise<void> {
    return done(this.session, { method: "PUT", path: `${this.at(target)}/shares`, body: { grantee, right }, signal });
  }

  unshare(target: Target, grantee: string, { signal }: Options = {}): Promise<void> {
    return done(this.session, { method: "DELETE", path: `${this.at(target)}/shares`, query: { grantee }, signal });
  }

  /** Every row, in one stream. Throws `Unavailable` where it is cut; the file of a job can go on. */
  async *export<F extends K["field"] = K["field"]>(
    query?: K["exporting"] & Choice<F, never>, { signal }: Options = {},
  ): AsyncGenerator<Chosen<K, F, never>, void> {
    const path = `${this.path}/export`;
    const stream = await this.session.send({ method: "GET", path, query, signal }, streamed);
    try {
      yield* rows<Chosen<K, F, never>>(stream);
    } catch (error) {
      signal?.throwIfAborted();
      throw lost(`GET ${path}`, 1, error);
    }
  }

  /** The same as a job. It is sent once: no key tells one such request from another. */
  exportLater<F extends K["field"] = K["field"]>(
    query?: K["exporting"] & Choice<F, never>, options: Options & { readonly format?: Format } = {},
  ): Promise<Job> {
    const { format = "application/x-ndjson", signal } = options;
    const headers = { Prefer: "respond-async", Accept: format };
    return this.session.send({ method: "GET", path: `${this.path}/export`, query, headers, signal }, jobOf);
  }
}

export type Format = "application/x-ndjson" | "text/csv";
/** Rows as objects, or a text of CSV with its head. */
export type File<K extends Kind> = Iterable<Partial<K["row"]> | Partial<K["created"]>> | { readonly csv: string };

/** What can be brought as a file. */
export class Importable<K extends Kind> extends Collection<K> {
  import(file: File<K>, query?: K["importing"], { signal }: Options = {}): Promise<Schemas["Imported"]> {
    const request = { ...this.brought(file, {}), query, signal };
    return this.session.send(request, (answer): Promise<Schemas["Imported"]> => answer.json());
  }

  protected brought(file: File<K>, headers: Record<string, string>): Keyed {
    const csv = "csv" in file;
    const body = csv ? file.csv : Array.from(file, (row) => `${JSON.stringify(row)}\n`).join("");
    const sent = { "Content-Type": csv ? "text/csv" : "application/x-ndjson", ...headers };
    return { method: "POST", path: `${this.path}/import`, headers: sent, body, keyed: true };
  }
}

/** What can be brought as a job, too. */
export class Deferrable<K extends Kind> extends Importable<K> {
  importLater(file: File<K>, query?: K["importing"], { signal }: Options = {}): Promise<Job> {
    return this.session.send({ ...this.brought(file, { Prefer: "respond-async" }), query, signal }, jobOf);
  }
}

async function jobOf(answer: Response): Promise<Job> {
  if (answer.status !== 202) {
    discard(answer);
    throw new GatepostError({ code: "", status: answer.status, detail: "The service does not do this later." });
  }
  return answer.json();
}

async function* paged<Row>(
  session: Session, path: string, query: object = {}, { signal }: Options,
): AsyncGenerator<Row, void> {
  let cursor: string | null | undefined;
  do {
    const on = cursor ? { ...query, cursor } : query;
    const page: Page<Row> = await sendJson(session, { method: "GET", path, query: on, signal });
    yield* page.items;
    cursor = page.has_next ? page.next_cursor : null;
  } while (cursor);
}
