/**
 * Limits responses over HTTP while they arrive (P5): each message has a maximum length, and a stream that never ends is
 * read at a limited rate.
 */
import type { FetchLike } from "@modelcontextprotocol/client";
import { limits } from "../../domain/limits.ts";
import { ReadThrottle } from "./read-throttle.ts";

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/** Returns a fetch that calls `onTooLong` for a message that is longer than the limit. The response with that message fails. */
export function boundedFetch(onTooLong: () => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const throttle = new ReadThrottle();
    const gauge = isStream ? new EventGauge() : new BodyGauge();
    const bounds = new TransformStream<Uint8Array, Uint8Array>({
      transform: async (chunk, controller) => {
        const events = gauge.add(chunk);
        if (gauge.length > limits.mcpMessageBytesMax) {
          controller.error(new RangeError(`a message of more than ${limits.mcpMessageBytesMax} bytes`));
          onTooLong();
          return;
        }
        controller.enqueue(chunk);
        const wait = throttle.spend(chunk.length, events);
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      },
    });
    return new Response(response.body.pipeThrough(bounds), response);
  };
}

class BodyGauge {
  length = 0;

  add(chunk: Uint8Array): number {
    this.length += chunk.length;
    return 0;
  }
}

/** Measures the events of a stream. Each ends with an empty line, whatever line endings it has. */
class EventGauge {
  /** The number of bytes of the event that is still incomplete. */
  length = 0;
  #lineLength = 0;
  #last = 0;

  /** Adds a chunk. Returns the number of events that ended in it. */
  add(chunk: Uint8Array): number {
    let events = 0;
    for (const byte of chunk) {
      const isPair = byte === lineFeed && this.#last === carriageReturn;
      this.#last = byte;
      this.length += 1;
      if (byte !== lineFeed && byte !== carriageReturn) {
        this.#lineLength += 1;
      } else if (!isPair) {
        if (this.#lineLength === 0) {
          events += 1;
          this.length = 0;
        }
        this.#lineLength = 0;
      }
    }
    return events;
  }
}
