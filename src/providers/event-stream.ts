/** Reads the bytes of a body as server-sent events, and notices a body that is not a stream of events. */
import { createParser, type EventSourceParser } from "eventsource-parser";
import { limits } from "../domain/limits.ts";
import type { ProviderEvent } from "./provider.ts";

/** The texts that a stream of events may begin with, after blank lines. */
const beginnings = ["event:", "data:", "id:", "retry:", ":"];

export class EventStream {
  /** The number of bytes that were fed. */
  size = 0;
  /** Why nothing more is read: the body is not a stream of events, or one of its events is too large to accept. Null: it is read. */
  fault: "no_events" | "event_too_large" | null = null;

  #hasEvents = false;
  /** The first characters, until they are enough to recognise a stream of events. */
  #head = "";
  readonly #events: ProviderEvent[] = [];
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;

  constructor(read: (data: string) => ProviderEvent[]) {
    this.#parser = createParser({
      maxBufferSize: limits.providerEventBytesMax,
      onEvent: ({ data }) => {
        this.#hasEvents = true;
        this.#events.push(...read(data));
      },
      // Unknown fields are skipped. After an overflow the parser takes no more.
      onError: ({ type }) => {
        if (type === "max-buffer-size-exceeded") this.fault ??= "event_too_large";
      },
    });
  }

  /** Returns the events that these bytes complete. */
  feed(bytes: Uint8Array): ProviderEvent[] {
    this.size += bytes.length;
    if (this.fault !== null) return [];
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#parser.feed(text);
    this.#judge(text);
    return this.#events.splice(0);
  }

  #judge(text: string): void {
    if (this.#hasEvents || this.#head.length >= 16) return;
    this.#head = (this.#head + text.slice(0, 64)).trimStart().slice(0, 16);
    const mayBegin = beginnings.some((field) => this.#head.startsWith(field) || field.startsWith(this.#head));
    if (!mayBegin) this.fault ??= "no_events";
  }
}
