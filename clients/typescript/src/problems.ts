/** What the service refuses, and what did not reach it, as errors: one class for each that programs catch. */
import type { components } from "./api.ts";
import { discard } from "./lines.ts";

export type Problem = components["schemas"]["Problem"];
export type Fault = components["schemas"]["Fault"];
/**
 * What programs look at. `connection_lost`: no whole answer came; "": it was none of Gatepost's, but of a proxy, say. A
 * newer service may send others.
 */
export type Code = Problem["code"] | "connection_lost" | "";

const PASSING = new Set([429, 502, 503, 504]);

type ProblemDocument = Partial<Omit<Problem, "code">> & { readonly code: Code };
interface Around {
  readonly retryAfter?: number | undefined;
  readonly etag?: string | undefined;
  readonly attempts?: number;
  readonly cause?: unknown;
}

/** An answer that is no success, or none. Its `message` is for people, and holds nothing that was sent. */
export class GatepostError extends Error {
  readonly code: Code;
  /** Of HTTP; 0 where no answer came. */
  readonly status: number;
  readonly detail: string;
  /** Where in the request: `pointer`, `parameter` or `header`. */
  readonly errors: readonly Fault[];
  readonly requestId: string;
  /** Why the policy refuses, where the service tells. */
  readonly reason: string | undefined;
  /** Seconds. */
  readonly retryAfter: number | undefined;
  /** Of a `VersionConflict`: the version that the object has now. */
  readonly etag: string | undefined;
  /** How often the request was sent. */
  readonly attempts: number;

  constructor(document: ProblemDocument, { retryAfter, etag, attempts = 1, cause }: Around = {}) {
    const { code, status = 0, detail = "", errors = [], request_id = "", meta } = document;
    super(`${status} ${code}: ${detail}`, cause === undefined ? {} : { cause });
    this.name = new.target.name;
    this.code = code;
    this.status = status;
    this.detail = detail;
    this.errors = errors;
    this.requestId = request_id;
    this.reason = meta?.reason;
    this.retryAfter = retryAfter;
    this.etag = etag;
    this.attempts = attempts;
  }

  /** Whether the same request may succeed a moment later. */
  get mayPass(): boolean {
    return PASSING.has(this.status) || this.code === "connection_lost" || this.code === "idempotency_in_progress";
  }
}

/** 400, 413, 414, 415 or 422: the request is not what the endpoint takes; `errors` says where. */
export class Invalid extends GatepostError {}
/** 401: there is no credential, or it is no longer good. */
export class Unauthenticated extends GatepostError {}
/** 403: the policy, or the scopes of the token, do not allow it. */
export class Forbidden extends GatepostError {}
/** 404: the object is absent, or the caller may not view it. */
export class NotFound extends GatepostError {}
/** 409: the state of the object does not allow it. */
export class Conflict extends GatepostError {}
/** 412: the object is at another version than the one that was read; `etag` is the one of now. */
export class VersionConflict extends GatepostError {}
/** 429: too many requests. */
export class RateLimited extends GatepostError {}
/** 502, 503 or 504, or no answer at all. Whether a write had an effect is not known. */
export class Unavailable extends GatepostError {}

const CLASSES: Readonly<Record<number, typeof GatepostError>> = {
  400: Invalid, 401: Unauthenticated, 403: Forbidden, 404: NotFound, 409: Conflict, 412: VersionConflict, 413: Invalid,
  414: Invalid, 415: Invalid, 422: Invalid, 429: RateLimited, 502: Unavailable, 503: Unavailable, 504: Unavailable,
};

/** The error that an answer other than 2xx stands for. */
export async function refusal(answer: Response, attempts: number): Promise<GatepostError> {
  const ours = answer.headers.get("Content-Type")?.startsWith("application/problem+json");
  if (!ours) discard(answer);
  const document: ProblemDocument = ours
    ? await answer.json()
    : { code: "", status: answer.status, detail: answer.statusText };
  const after = Number.parseInt(answer.headers.get("Retry-After") ?? "", 10);
  const retryAfter = after >= 0 ? after : undefined;
  const etag = answer.headers.get("ETag") ?? undefined;
  return new (CLASSES[answer.status] ?? GatepostError)(document, { retryAfter, etag, attempts });
}

/** The error for an answer that did not come, or not whole. Its `cause` is left out where that may quote the answer. */
export function lost(what: string, attempts: number, cause: unknown): Unavailable {
  const document = { code: "connection_lost", detail: `${what} had no whole answer.` } as const;
  return new Unavailable(document, { attempts, cause: cause instanceof SyntaxError ? undefined : cause });
}
