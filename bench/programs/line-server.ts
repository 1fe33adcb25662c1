/** A program that is asked over standard input and answers on standard output: one JSON value per line. */
import { createInterface } from "node:readline";

export interface Ask {
  id: number;
  do: string;
  session?: string;
  text?: string;
  sessions?: number;
  turns?: number;
}

type Tell = (message: Record<string, unknown>) => void;

/** Answers asks until standard input ends. Asks that come together run together. */
export async function serveLines(handle: (ask: Ask, tell: Tell) => Promise<Record<string, unknown>>): Promise<void> {
  const write = (message: Record<string, unknown>): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
  const answer = async (ask: Ask): Promise<void> => {
    try {
      const result = await handle(ask, (message) => write({ id: ask.id, ...message }));
      write({ id: ask.id, done: result });
    } catch (error) {
      write({ id: ask.id, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  };
  for await (const line of createInterface({ input: process.stdin })) void answer(JSON.parse(line) as Ask);
}
