/** Streams of NDJSON: one object a line. */

/** The objects of a stream. Throws `SyntaxError` for a last line that is not whole: the stream was cut. */
export async function* rows<Row>(stream: ReadableStream<Uint8Array>): AsyncGenerator<Row, void> {
  for await (const line of lines(stream)) {
    const row: Row = JSON.parse(line);
    yield row;
  }
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const [first = "", ...others] = decoder.decode(value, { stream: !done }).split("\n");
      rest += first;
      for (const other of others) {
        yield rest;
        rest = other;
      }
      if (done) break;
    }
  } finally {
    // A caller that stops early must free the connection. Nothing waits for it: a clone's stream never ends by itself.
    reader.cancel().catch(() => {});
  }
  if (rest !== "") throw new SyntaxError("The last line is not whole.");
}

/** Leaves a body unread, and the connection to others. */
export function discard(answer: Response): void {
  answer.body?.cancel().catch(() => {});
}

/** The stream of an answer. */
export function streamed(answer: Response): ReadableStream<Uint8Array> {
  return answer.body ?? new ReadableStream({ start: (controller) => controller.close() });
}
