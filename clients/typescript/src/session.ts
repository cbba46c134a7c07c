/** The credential of a client: none, a service token, or a login whose access token is renewed before it expires. */
import type { components } from "./api.ts";
import { GatepostError, Unauthenticated, Unavailable } from "./problems.ts";
import type { Request, Transport } from "./transport.ts";

type Token = components["schemas"]["Token"];

/** Times are in milliseconds since 1970. */
interface Held {
  readonly access: string;
  readonly due: number;
  readonly end: number;
  /** undefined: it is in a cookie that scripts cannot read. */
  readonly refresh: string | undefined;
}

export type Keyed = Request & { readonly keyed?: boolean };

const EARLY = 30_000; // milliseconds before its end, or a tenth of its time, at which an access token is renewed
// For ten seconds the service answers a repeated refresh with the same successor; later, its use ends the session.
const REFRESH = { sameFor: 8_000, timeout: 4_000 };

export class Session {
  readonly #transport: Transport;
  readonly #service: string | undefined;
  /** "ended": not a guest's from here on, since what a guest is answered could be taken for all there is. */
  #held: Held | "ended" | undefined;
  #renewal: Promise<void> | undefined;

  constructor(transport: Transport, serviceToken: string | undefined) {
    this.#transport = transport;
    this.#service = serviceToken;
  }

  /**
   * What `read` makes of the answer. With `keyed`, one key goes with every attempt of a caller who has logged in.
   *
   * Throws what `Transport.send` does, and `Unauthenticated` once the session has ended.
   */
  send<T>({ keyed, ...request }: Keyed, read: (answer: Response) => T | Promise<T>): Promise<T> {
    const key = keyed && (this.#service ?? this.#held) !== undefined && { "Idempotency-Key": crypto.randomUUID() };
    return this.#transport.send({ ...request, headers: { ...key, ...request.headers } }, read, {
      token: () => this.#token(),
      renew: (token) => this.#renewed(token),
    });
  }

  /** Sent once: a login that was lost has perhaps opened a session, which ends when it is not used. */
  async open(email: string, password: string, cookie: boolean): Promise<void> {
    if (this.#service !== undefined) throw new TypeError("A client with a service token does not log in.");
    this.#held = await this.#exchange("/api/login", { email, password, ...(cookie && { cookie }) });
  }

  /** Goes on with the login whose cookie the browser has; whether there is one. */
  async resume(): Promise<boolean> {
    if (typeof this.#held !== "object") this.#held = { access: "", due: 0, end: 0, refresh: undefined };
    try {
      await this.#token();
    } catch (error) {
      if (!(error instanceof Unauthenticated)) throw error;
    } finally {
      this.#forget();
    }
    return this.#held !== undefined;
  }

  /** What came to nothing was no login. */
  #forget(): void {
    if (this.#held === "ended" || this.#held?.access === "") this.#held = undefined;
  }

  /** The session ends at the service, and here: the requests that follow are a guest's. */
  async close(everywhere: boolean): Promise<void> {
    try {
      const byCookie = typeof this.#held === "object" && this.#held.refresh === undefined;
      const token = byCookie ? undefined : await this.#token();
      if (!byCookie && token === undefined) return;
      const headers = { "Content-Type": "application/json" };
      const body = JSON.stringify({ all: everywhere });
      const nobody = { token: async () => token, renew: async () => false };
      await this.#transport.send({ method: "POST", path: "/api/logout", headers, body }, () => {}, nobody);
    } catch (error) {
      if (!(error instanceof Unauthenticated)) throw error; // It had ended already.
    } finally {
      this.#held = undefined;
    }
  }

  /** A token that is still good; undefined for a guest. */
  async #token(): Promise<string | undefined> {
    if (this.#service !== undefined) return this.#service;
    const held = this.#held;
    if (typeof held === "object" && Date.now() >= held.due) {
      await this.#renew().catch((error: unknown) => {
        // The old token goes on serving until its end.
        if (!(error instanceof Unavailable) || Date.now() >= held.end) throw error;
      });
    }
    if (this.#held === "ended") throw ended();
    return this.#held?.access;
  }

  /** Has a token replaced that the service calls expired; whether that can be. */
  async #renewed(token: string | undefined): Promise<boolean> {
    if (typeof this.#held !== "object" || token === undefined) return false;
    if (this.#held.access === token) await this.#renew();
    return true;
  }

  /** All who need a new token meanwhile wait for the same one. */
  #renew(): Promise<void> {
    this.#renewal ??= this.#inTurn(() => this.#refresh()).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  /** The tabs of a browser share the cookie, and take turns where it has locks. */
  async #inTurn(renew: () => Promise<void>): Promise<void> {
    const shared = typeof this.#held === "object" && this.#held.refresh === undefined;
    if (!shared || typeof navigator === "undefined" || !("locks" in navigator)) await renew();
    else await navigator.locks.request(`gatepost ${this.#transport.url}`, renew);
  }

  async #refresh(): Promise<void> {
    const held = this.#held;
    if (typeof held !== "object") return;
    let next: Held | "ended";
    try {
      const body = held.refresh === undefined ? undefined : { refresh_token: held.refresh };
      next = await this.#exchange("/api/token/refresh", body, REFRESH);
    } catch (error) {
      if (!(error instanceof Unauthenticated)) throw error;
      next = "ended";
    }
    // Who has logged in or out meanwhile, stays so.
    if (this.#held === held) this.#held = next;
    if (next === "ended") throw ended();
  }

  #exchange(path: string, body: object | undefined, limits = {}): Promise<Held> {
    const sent = body && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    const sentAt = Date.now(); // Its time counts from here, which is earlier than when it was issued.
    return this.#transport.send({ method: "POST", path, ...sent, ...limits }, async (answer) => {
      const token: Token = await answer.json();
      const life = token.expires_in * 1_000;
      const end = sentAt + life;
      return { access: token.access_token, due: end - Math.min(EARLY, life / 10), end, refresh: token.refresh_token };
    });
  }
}

function ended(): GatepostError {
  return new Unauthenticated({ code: "invalid_token", status: 401, detail: "The session has ended. Log in again." });
}
