/** What the document says of each collection, gathered by its name. */
import type { components, operations } from "./api.ts";

export type Schemas = components["schemas"];

/** The types of one collection; one of a plugin declares its own. */
export interface Kind {
  row: object;
  /** Filters, sort and so on of a list. */
  filters: object;
  field: string;
  expansion: string;
  created: object;
  replacement: object;
  changes: object;
  /** The parameters of an export, and of an import. */
  exporting: object;
  importing: object;
}

/** Parameters by which a list goes on, and those that have types of their own here. */
type Paging = "cursor" | "after" | "before" | "page" | "offset" | "page_size" | "first" | "last";
type Own = "fields" | "expand";
type Name = keyof operations;
type Query<O extends Name> = operations[O] extends { parameters: { query?: infer Q } } ? NonNullable<Q> : object;
type Parameter<O extends Name, P extends string> =
  Query<O> extends { [Given in P]?: infer Value } ? NonNullable<Value> : never;
type Each<List> = List extends readonly (infer Item extends string)[] ? Item : never;
type Body<O extends string> = O extends Name
  ? operations[O] extends { requestBody: { content: infer Content } } ? Content[keyof Content] & object : never : never;
type Items<O extends Name> = operations[O] extends
  { responses: { 200: { content: { "application/json": { items: (infer Row)[] } } } } } ? Row & object : never;
type Known<O extends string> = O extends Name ? Omit<Query<O>, Own> : never;

/** The collections of the document that have a list. */
export type CollectionName = { [O in Name]: O extends `${infer C}_list` ? C : never }[Name];

export interface KindOf<C extends CollectionName> extends Kind {
  row: Items<`${C}_list`>;
  filters: Omit<Query<`${C}_list`>, Own>;
  field: Each<Parameter<`${C}_list`, "fields">>;
  expansion: Each<Parameter<`${C}_list`, "expand">>;
  created: Body<`${C}_create`>;
  replacement: Body<`${C}_replace`>;
  changes: Body<`${C}_update`>;
  exporting: Known<`${C}_export`>;
  importing: Known<`${C}_import`>;
}

/** The same of a collection that comes with Gatepost. The document of an instance may lack it: then there is none. */
export type Shipped<C extends string> = C extends CollectionName ? KindOf<C> : { [Part in keyof Kind]: never };

/** The same, with rows of this kind where there is none: for code of the client that reads some of their fields. */
export type ShippedOr<C extends string, Row> = C extends CollectionName ? KindOf<C>
  : { [Part in keyof Kind]: Part extends "row" ? Row : Part extends "field" ? keyof Row & string : never };

/** A schema of such a collection; `Otherwise` where the document lacks it. */
export type SchemaOf<S extends string, Otherwise = never> = S extends keyof Schemas ? Schemas[S] : Otherwise;

/** Parameters of a list that is read to its end. */
export type Filters<K extends Kind> = Omit<K["filters"], Paging>;

/** Which fields of a row are answered, and which objects beside their ids. */
export interface Choice<Field extends string, Expansion extends string> {
  readonly fields?: readonly Field[];
  readonly expand?: readonly Expansion[];
}

/** A row with the fields that were chosen, and with the objects that were. */
export type Chosen<K extends Kind, Field extends string, Expansion extends string> =
  & Pick<K["row"], Field & keyof K["row"]>
  & Required<Pick<K["row"], Expansion & keyof K["row"]>>;

export interface Page<Row> {
  items: Row[];
  has_next: boolean;
  has_prev?: boolean;
  next_cursor?: string | null;
  prev_cursor?: string | null;
  page?: number;
  page_size?: number;
  total?: number | null;
  total_estimate?: number;
}

/** The `ETag` of an object that was read by itself; JSON leaves it out. */
export const etag: unique symbol = Symbol("ETag");
export interface Tagged {
  readonly [etag]: string | undefined;
}

/** An object, by its id or as it was read: then only the version that was read is changed. */
export type Target = string | (Tagged & { readonly id: string });

export interface Options {
  readonly signal?: AbortSignal | undefined;
}

export interface WriteOptions extends Options {
  /** Change only this version. */
  readonly etag?: string | undefined;
}
