/** Sends requests, and sends them again where that cannot have a second effect. */
import { GatepostError, lost, refusal } from "./problems.ts";

export interface Request {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** For how many milliseconds the service takes the same request for the same, without a key or a precondition. */
  readonly sameFor?: number;
  /** Milliseconds for each attempt, instead of those of the client. */
  readonly timeout?: number;
}

export interface Limits {
  /** The `fetch` to use, such as one with cookies of its own. */
  readonly fetch: typeof globalThis.fetch;
  /** How often a request is sent at most, when it reads, or has a key or a precondition. */
  readonly attempts: number;
  /** Milliseconds that each attempt may take, or a stream until it begins. */
  readonly timeout: number;
}

/** Whose requests they are. */
export interface Credential {
  /** The token of the next attempt; undefined for a guest. */
  token(): Promise<string | undefined>;
  /** Has a token replaced that the service calls expired; whether that can be. */
  renew(token: string | undefined): Promise<boolean>;
}

const GUEST: Credential = { token: async () => undefined, renew: async () => false };
const RENEWALS = 2; // of the token, for one request
const PATIENCE = 60_000; // milliseconds: a longer `Retry-After` rejects instead of waiting

export class Transport {
  readonly url: string;
  readonly #limits: Limits;

  constructor(url: string, limits: Limits) {
    this.url = url.replace(/\/+$/, "");
    this.#limits = limits;
  }

  /**
   * What `read` makes of an answer of 2xx. What cuts the connection while it reads is a lost answer, too.
   *
   * Throws `GatepostError`, and the reason of `request.signal`.
   */
  async send<T>(request: Request, read: (answer: Response) => T | Promise<T>, { token, renew } = GUEST): Promise<T> {
    const begun = Date.now();
    for (let attempts = 1, renewals = 0; ; attempts += 1) {
      const sent = await token();
      request.signal?.throwIfAborted();
      try {
        return await this.#attempt(request, read, attempts, sent);
      } catch (error) {
        request.signal?.throwIfAborted();
        const expired = error instanceof GatepostError && error.code === "token_expired";
        if (expired && renewals < RENEWALS && await renew(sent)) {
          // It was refused before it could do anything: no key is needed to send it again.
          renewals += 1;
          attempts -= 1;
          continue;
        }
        const wait = attempts < this.#limits.attempts ? pauseAfter(error, attempts) : undefined;
        if (wait === undefined || !mayRepeat(request, Date.now() + wait - begun)) throw error;
        await pause(wait, request.signal);
      }
    }
  }

  async #attempt<T>(
    request: Request, read: (answer: Response) => T | Promise<T>, attempts: number, token: string | undefined,
  ): Promise<T> {
    const { method, path, body = null, signal } = request;
    const headers = { ...request.headers, ...(token !== undefined && { Authorization: `Bearer ${token}` }) };
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), request.timeout ?? this.#limits.timeout);
    try {
      const answer = await this.#limits.fetch(this.url + path + search(request.query), {
        method, headers, body, redirect: "error", signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
      });
      if (!answer.ok) throw await refusal(answer, attempts);
      return await read(answer);
    } catch (error) {
      throw error instanceof GatepostError ? error : lost(`${method} ${path}`, attempts, error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Milliseconds to wait before the next attempt; undefined where another attempt would fare no better. */
function pauseAfter(error: unknown, attempts: number): number | undefined {
  if (!(error instanceof GatepostError) || !error.mayPass) return undefined;
  const wait = (error.retryAfter ?? 0) * 1_000;
  return wait <= PATIENCE ? wait + backOff(attempts) : undefined;
}

/** Milliseconds by chance, so that clients do not come all at once. */
export function backOff(attempts: number, first = 100): number {
  return Math.random() * Math.min(5_000, first * 2 ** (attempts - 1));
}

/** Waits for milliseconds. Throws the reason of `signal` as soon as it is aborted. */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
  });
  signal?.throwIfAborted();
}

function mayRepeat({ method, headers = {}, sameFor = 0 }: Request, after: number): boolean {
  if ("Idempotency-Key" in headers || "If-Match" in headers) return true;
  // A `GET` with this preference makes a job.
  if (method === "GET") return headers["Prefer"] !== "respond-async";
  return after < sameFor;
}

function search(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, text(value)]))}` : "";
}

/** A list as the service reads it (RFC 4180): a value with a comma, or with a quote at its start, stands in quotes. */
function text(value: unknown): string {
  return Array.isArray(value) ? value.map((one) => quoted(String(one))).join(",") : String(value);
}

function quoted(value: string): string {
  return value.includes(",") || value.startsWith('"') ? `"${value.replaceAll('"', '""')}"` : value;
}
