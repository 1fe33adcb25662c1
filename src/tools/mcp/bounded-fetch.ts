/**
 * What comes over HTTP, bounded while it arrives (P5): one message has a greatest length, and a stream that never ends
 * is read at a bounded pace.
 */
import type { FetchLike } from "@modelcontextprotocol/client";
import { limits } from "../../domain/limits.ts";
import { Pace } from "./pace.ts";

const [lineFeed, carriageReturn] = [0x0a, 0x0d];

/** `onTooLong` hears of a message that is longer than the limit; the answer that it came in fails. */
export function boundedFetch(onTooLong: () => void): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const pace = new Pace();
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
        const wait = pace.spend(chunk.length, events);
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

/** Measures the events of a stream: each ends with an empty line, whatever its line ends are. */
class EventGauge {
  /** Bytes of the event that is not whole yet. */
  length = 0;
  #lineLength = 0;
  #last = 0;

  /** Gives how many events ended. */
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
