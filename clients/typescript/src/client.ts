/** The client of one service. */
import { Collection, Deferrable, Importable, Listing, Objects } from "./collections.ts";
import { Jobs } from "./jobs.ts";
import { done, object, precondition, sendJson } from "./requests.ts";
import { Session } from "./session.ts";
import { type Limits, type Request, Transport } from "./transport.ts";
import type { Kind, KindOf, Options, SchemaOf, Schemas, Shipped, Tagged, WriteOptions } from "./types.ts";

export class Articles extends Deferrable<Shipped<"articles">> {
  readonly submit = this.action("submit");
  readonly approve = this.action("approve");
  readonly reject = this.action("reject");
  readonly publish = this.action("publish");
  readonly archive = this.action("archive");
}

export class Products extends Deferrable<Shipped<"products">> {
  readonly publish = this.action("publish");
  readonly archive = this.action("archive");
}

export class Orders extends Collection<Shipped<"orders">> {
  readonly approve = this.action("approve");
  readonly reject = this.action("reject");
  readonly cancel = this.action("cancel");
  readonly ship = this.action("ship");
  readonly complete = this.action("complete");
  readonly refund = this.action("refund");
}

export class Comments extends Deferrable<Shipped<"comments">> {
  readonly approve = this.action("approve");
  readonly reject = this.action("reject");
}

export class Pages extends Deferrable<Shipped<"pages">> {
  readonly publish = this.action("publish");
  readonly archive = this.action("archive");

  /** The page of this slug, in the language that suits best. */
  text(slug: string, query: { readonly lang?: string } = {}, { signal }: Options = {}): Promise<SchemaOf<"PageText">> {
    return sendJson(this.session, { method: "GET", path: this.at(slug), query, signal });
  }
}

export class Users extends Importable<KindOf<"users">> {
  readonly disable = this.action("disable");
  readonly enable = this.action("enable");
}

export class Contact extends Objects<Shipped<"contact">> {
  create(body: SchemaOf<"NewContact">, { signal }: Options = {}): Promise<SchemaOf<"Receipt">> {
    return sendJson(this.session, { method: "POST", path: this.path, body, keyed: true, signal });
  }
}

export class Sessions extends Listing<KindOf<"sessions">> {
  delete(id: string, { signal }: Options = {}): Promise<void> {
    return done(this.session, { method: "DELETE", path: `${this.path}/${encodeURIComponent(id)}`, signal });
  }
}

export class Tokens extends Listing<KindOf<"tokens">> {
  /** The answer has the `token`, which is shown this once. */
  create(body: Schemas["NewServiceToken"], { signal }: Options = {}): Promise<Schemas["ServiceToken"]> {
    return sendJson(this.session, { method: "POST", path: this.path, body, signal });
  }

  delete(id: string, { signal }: Options = {}): Promise<void> {
    return done(this.session, { method: "DELETE", path: `${this.path}/${encodeURIComponent(id)}`, signal });
  }
}

export interface Settings extends Partial<Limits> {
  /** A service token, instead of a login. */
  readonly token?: string;
}

export class Gatepost {
  readonly articles: Articles;
  readonly products: Products;
  readonly orders: Orders;
  readonly comments: Comments;
  readonly categories: Deferrable<Shipped<"categories">>;
  readonly pages: Pages;
  readonly users: Users;
  readonly jobs: Jobs;
  readonly sessions: Sessions;
  readonly tokens: Tokens;
  readonly audit: Listing<Shipped<"audit">>;
  readonly contact: Contact;
  readonly #session: Session;

  /** `url` is where the service is, without `/api`; "" is the origin of the page. */
  constructor(url: string, { token, attempts = 6, timeout = 30_000, ...settings }: Settings = {}) {
    const { fetch = globalThis.fetch.bind(globalThis) } = settings;
    const session = new Session(new Transport(url, { fetch, attempts, timeout }), token);
    this.#session = session;
    this.articles = new Articles(session, "/api/articles");
    this.products = new Products(session, "/api/products");
    this.orders = new Orders(session, "/api/orders");
    this.comments = new Comments(session, "/api/comments");
    this.categories = new Deferrable(session, "/api/categories");
    this.pages = new Pages(session, "/api/pages");
    this.users = new Users(session, "/api/users");
    this.jobs = new Jobs(session, "/api/jobs");
    this.sessions = new Sessions(session, "/api/sessions");
    this.tokens = new Tokens(session, "/api/tokens");
    this.audit = new Listing(session, "/api/audit");
    this.contact = new Contact(session, "/api/contact");
  }

  /** With `cookie`, for pages of the service's own origin, no script can read the refresh token. */
  login(email: string, password: string, { cookie = false }: { readonly cookie?: boolean } = {}): Promise<void> {
    return this.#session.open(email, password, cookie);
  }

  /** Goes on with a login by cookie when a page is loaded; whether there is one. */
  resume(): Promise<boolean> {
    return this.#session.resume();
  }

  /** Ends the session, or all sessions of the user. */
  logout({ everywhere = false }: { readonly everywhere?: boolean } = {}): Promise<void> {
    return this.#session.close(everywhere);
  }

  /** Opens an account, which then logs in. */
  register(body: Schemas["Register"], { signal }: Options = {}): Promise<Schemas["Registered"]> {
    return sendJson(this.#session, { method: "POST", path: "/api/register", body, signal });
  }

  /** The caller's own account, with what they may do. */
  me({ signal }: Options = {}): Promise<Schemas["Account"] & Tagged> {
    return object(this.#session, { method: "GET", path: "/api/profile", signal });
  }

  /** A collection of a plugin. */
  collection<K extends Kind>(name: string): Deferrable<K> {
    return new Deferrable(this.#session, `/api/${name}`);
  }

  /**
   * The JSON of any other endpoint, null where there is none; `T` is what the caller knows of it.
   *
   * With `keyed`, an `Idempotency-Key` is sent, so that the request can be repeated: for endpoints that take one.
   */
  call<T>(method: Request["method"], path: string, { etag, ...sent }: Sent = {}): Promise<T> {
    const headers = precondition(path, { etag });
    return sendJson(this.#session, { method, path, ...sent, headers });
  }
}

export interface Sent extends WriteOptions {
  readonly query?: object;
  readonly body?: object;
  readonly keyed?: boolean;
}
