export type { components, operations } from "./api.ts";
export { Gatepost, type Settings } from "./client.ts";
export { Collection, Deferrable, type File, type Format, Importable, Listing, Objects } from "./collections.ts";
export { type Job, JobFailed } from "./jobs.ts";
export {
  type Code, Conflict, type Fault, Forbidden, GatepostError, Invalid, NotFound, type Problem, RateLimited,
  Unauthenticated, Unavailable, VersionConflict,
} from "./problems.ts";
export {
  etag, type Kind, type KindOf, type Options, type Page, type Schemas, type Tagged, type Target, type WriteOptions,
} from "./types.ts";
