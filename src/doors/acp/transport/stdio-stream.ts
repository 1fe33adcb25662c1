/**
 * Makes standard input and output the stream of a connection (P1). If the client closes its end, the requests before that are
 * still answered. Then the stream ends, and with it the connection.
 */
import type { Readable, Writable } from "node:stream";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { clientLeft } from "../refusal.ts";
import { LineReader, type ReadLine } from "./line-messages.ts";

export interface StdioStream {
  stream: Stream;
  /** Resolves when the client closed its end. */
  inputEnded: Promise<void>;
}

export function stdioStream(input: Readable, output: Writable, bytesMax: number): StdioStream {
  const state = new OpenRequests();
  const inputEnded = Promise.withResolvers<void>();
  const write = (message: object): Promise<void> => writeLine(output, message);
  const readable = new ReadableStream<AnyMessage>({
    start: (controller) => {
      state.begin(controller);
      void readAll(input, bytesMax, { state, write }).then((fault) => {
        state.inputIsOver(fault);
        inputEnded.resolve();
      });
    },
    cancel: () => {
      state.abandon();
      input.destroy();
    },
  });
  const writable = new WritableStream<AnyMessage>({
    write: async (message) => {
      // In this order, so that the response is written before the stream may end.
      await write(message);
      state.sent(message);
    },
  });
  return { stream: { readable, writable }, inputEnded: inputEnded.promise };
}

interface InputReading {
  state: OpenRequests;
  write(message: object): Promise<void>;
}

/** Reads the input. Returns the error if reading failed, or null at the end of the input. */
async function readAll(input: Readable, bytesMax: number, { state, write }: InputReading): Promise<unknown> {
  const lines = new LineReader(bytesMax);
  const take = async (read: Iterable<ReadLine>): Promise<void> => {
    for (const line of read) {
      if ("message" in line) state.received(line.message);
      else await write({ jsonrpc: "2.0", id: line.id, error: line.fault });
    }
  };
  try {
    for await (const chunk of input as AsyncIterable<Uint8Array>) await take(lines.push(chunk));
    await take(lines.end());
    return null;
  } catch (error) {
    return error;
  }
}

/** Writes a line. Lines that are ready at the same time go out in one write. Resolves when there is room for more, and for a request or a response when it is written. */
async function writeLine(output: Writable, message: object): Promise<void> {
  if (output.writableCorked === 0) {
    output.cork();
    process.nextTick(() => output.uncork());
  }
  await new Promise<void>((resolve, reject) => {
    const hasRoom = output.write(`${JSON.stringify(message)}\n`, (error) =>
      error == null ? resolve() : reject(error),
    );
    if (hasRoom && !("id" in message)) resolve();
  });
}

type Id = string;

/** The unanswered requests of both sides. */
class OpenRequests {
  /** How many requests have this id: a client that uses one twice gets two answers. */
  readonly #theirs = new Map<Id, number>();
  readonly #ours = new Map<Id, AnyMessage>();
  #controller: ReadableStreamDefaultController<AnyMessage> | null = null;
  #isInputOver = false;

  begin(controller: ReadableStreamDefaultController<AnyMessage>): void {
    this.#controller = controller;
  }

  /** Called when the connection no longer reads. */
  abandon(): void {
    this.#controller = null;
  }

  received(message: AnyMessage): void {
    const id = idOf(message);
    if (id !== null && "method" in message) this.#theirs.set(id, (this.#theirs.get(id) ?? 0) + 1);
    else if (id !== null) this.#ours.delete(id);
    this.#controller?.enqueue(message);
  }

  sent(message: AnyMessage): void {
    const id = idOf(message);
    if (id === null) return;
    if ("method" in message) {
      this.#ours.set(id, message);
      if (this.#isInputOver) this.#refuseOurs();
    } else {
      this.#answered(id);
      this.#endIfAnswered();
    }
  }

  #answered(id: Id): void {
    const others = (this.#theirs.get(id) ?? 0) - 1;
    if (others > 0) this.#theirs.set(id, others);
    else this.#theirs.delete(id);
  }

  inputIsOver(fault: unknown): void {
    this.#isInputOver = true;
    if (fault !== null) return this.#end();
    this.#refuseOurs();
    this.#endIfAnswered();
  }

  /** Answers the agent's requests with an error, because the client can no longer answer. */
  #refuseOurs(): void {
    for (const message of this.#ours.values()) {
      const error = { code: -32603, message: "the client closed its output", data: { code: clientLeft } };
      if ("id" in message) this.#controller?.enqueue({ jsonrpc: "2.0", id: message.id, error });
    }
    this.#ours.clear();
  }

  #endIfAnswered(): void {
    if (this.#isInputOver && this.#theirs.size === 0) this.#end();
  }

  #end(): void {
    const controller = this.#controller;
    this.#controller = null;
    controller?.close();
  }
}

/** Returns the id as JSON, because 1 and "1" are different ids. Null: the message is a notification. */
function idOf(message: AnyMessage): Id | null {
  return "id" in message && message.id !== undefined && message.id !== null ? JSON.stringify(message.id) : null;
}
