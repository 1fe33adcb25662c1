/**
 * Standard input and output as the stream of a connection (P1). What a client sent before it closed its end is still
 * answered: only then does the stream end, and with it the connection.
 */
import type { Readable, Writable } from "node:stream";
import type { AnyMessage, Stream } from "@agentclientprotocol/sdk";
import { LineReader, type ReadLine } from "./line-messages.ts";

export interface StdioStream {
  stream: Stream;
  /** Resolves when the client closed its end. */
  inputEnded: Promise<void>;
}

export function stdioStream(input: Readable, output: Writable, bytesMax: number): StdioStream {
  const state = new Exchange();
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
      // In this order: the answer is out before the stream may end for it.
      await write(message);
      state.sent(message);
    },
  });
  return { stream: { readable, writable }, inputEnded: inputEnded.promise };
}

interface Reading {
  state: Exchange;
  write(message: object): Promise<void>;
}

/** Gives why reading ended too early; null: the input was read to its end. */
async function readAll(input: Readable, bytesMax: number, { state, write }: Reading): Promise<unknown> {
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

/** What is ready at the same time leaves in one write. Resolves when there is room for more; of an answer or a question, when it is out. */
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

/** Which questions of either side are open. */
class Exchange {
  readonly #theirs = new Set<Id>();
  readonly #ours = new Map<Id, AnyMessage>();
  #controller: ReadableStreamDefaultController<AnyMessage> | null = null;
  #isInputOver = false;

  begin(controller: ReadableStreamDefaultController<AnyMessage>): void {
    this.#controller = controller;
  }

  /** Nobody reads any more. */
  abandon(): void {
    this.#controller = null;
  }

  received(message: AnyMessage): void {
    const id = idOf(message);
    if (id !== null && "method" in message) this.#theirs.add(id);
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
      this.#theirs.delete(id);
      this.#endIfAnswered();
    }
  }

  inputIsOver(fault: unknown): void {
    this.#isInputOver = true;
    if (fault !== null) return this.#end();
    this.#refuseOurs();
    this.#endIfAnswered();
  }

  /** Nobody can answer any more. */
  #refuseOurs(): void {
    for (const message of this.#ours.values()) {
      const error = { code: -32603, message: "the client closed its end" };
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

/** As text, because 1 and "1" are two ids; null: a notification, or nothing that is answered. */
function idOf(message: AnyMessage): Id | null {
  return "id" in message && message.id !== undefined && message.id !== null ? JSON.stringify(message.id) : null;
}
