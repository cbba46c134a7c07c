/** Work that the service does outside of requests. */
import { Objects } from "./collections.ts";
import { rows, streamed } from "./lines.ts";
import { GatepostError, lost, type Problem } from "./problems.ts";
import { backOff, pause, type Request } from "./transport.ts";
import type { Options, SchemaOf, ShippedOr } from "./types.ts";

export type Job = SchemaOf<"Job", Seen>;

/** What is read here of a job; the document of an instance that leaves jobs out describes none. */
interface Seen {
  readonly id: string;
  readonly state: string;
  readonly result: unknown;
}

/** The job has failed or was cancelled; `code` and `detail` say why. */
export class JobFailed extends GatepostError {}

const FRUITLESS = 5; // attempts to read a file, one after the other, that bring no further row
const HOUR = 3_600_000; // milliseconds

export class Jobs extends Objects<ShippedOr<"jobs", Seen>> {
  readonly retry = this.action("retry");

  /**
   * The job once it is done, looked at ever more seldom, up to every five seconds.
   *
   * Throws `JobFailed`, and after `timeout` milliseconds a `DOMException` called `TimeoutError`: the job goes on.
   */
  async wait(job: Job | string, options: Options & { readonly timeout?: number } = {}): Promise<Job> {
    const { signal, timeout = HOUR } = options;
    const end = Date.now() + timeout;
    for (let looks = 1; ; looks += 1) {
      const now = await this.get(idOf(job), {}, { signal });
      if (now.state === "done") return now;
      if (now.state === "failed" || now.state === "cancelled") throw failure(now);
      if (Date.now() > end) throw new DOMException(`The job ${now.id} is still ${now.state}.`, "TimeoutError");
      await pause(backOff(looks, 200), signal);
    }
  }

  /** The file of an export, asked for again where it was cut. */
  file(job: Job | string, { signal }: Options = {}): Promise<Blob> {
    return this.session.send({ ...this.#file(job), timeout: HOUR, signal }, (answer) => answer.blob());
  }

  /** The rows of an export as NDJSON. Where the connection is cut, it goes on behind the last row that was given. */
  async *rows<Row extends object>(job: Job | string, { signal }: Options = {}): AsyncGenerator<Row, void> {
    let given = 0;
    for (let fruitless = 0; ; fruitless += 1) {
      const stream = await this.session.send({ ...this.#file(job), signal }, streamed);
      try {
        let passed = 0;
        for await (const row of rows<Row>(stream)) {
          passed += 1;
          if (passed <= given) continue;
          [given, fruitless] = [passed, 0];
          yield row;
        }
        return;
      } catch (error) {
        signal?.throwIfAborted();
        if (fruitless >= FRUITLESS) throw lost("the file of a job", fruitless + 1, error);
        await pause(backOff(fruitless + 1), signal);
      }
    }
  }

  #file(job: Job | string): Request {
    return { method: "GET", path: `${this.at(idOf(job))}/file` };
  }
}

function idOf(job: Job | string): string {
  return typeof job === "string" ? job : job.id;
}

function failure({ id, state, result }: Job): JobFailed {
  return new JobFailed(isProblem(result) ? result : { code: "", detail: `The job ${id} was ${state}.` });
}

function isProblem(result: unknown): result is Problem {
  return typeof result === "object" && result !== null && "code" in result && "status" in result;
}
