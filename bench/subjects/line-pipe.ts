/** The other end of `bench/programs/line-server.ts`. */
import type { Ask } from "../programs/line-server.ts";
import { eachLine, type Child } from "./programs.ts";

export interface LinePipe {
  ask(ask: Omit<Ask, "id">, onDelta?: (delta: string) => void): Promise<Record<string, unknown>>;
}

interface Message {
  id: number;
  delta?: string;
  done?: Record<string, unknown>;
  failed?: string;
}

interface Waiting {
  answer: PromiseWithResolvers<Record<string, unknown>>;
  onDelta: ((delta: string) => void) | undefined;
}

export function linePipe(child: Child): LinePipe {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  eachLine(child, (line) => {
    const { id, delta, done, failed } = JSON.parse(line) as Message;
    const asked = waiting.get(id);
    if (delta !== undefined) return asked?.onDelta?.(delta);
    waiting.delete(id);
    if (failed !== undefined) asked?.answer.reject(new Error(failed));
    else asked?.answer.resolve(done ?? {});
  });
  child.once("exit", () => {
    for (const { answer } of waiting.values()) answer.reject(new Error("the program ended"));
  });
  return {
    ask: (ask, onDelta) => {
      last += 1;
      const answer = Promise.withResolvers<Record<string, unknown>>();
      waiting.set(last, { answer, onDelta });
      child.stdin.write(`${JSON.stringify({ ...ask, id: last })}\n`);
      return answer.promise;
    },
  };
}
