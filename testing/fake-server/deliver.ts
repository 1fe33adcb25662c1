/** How a fake sends its answers: raw, as a stream of events, or not at all. */
import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** A raw HTTP answer. A body that is neither text nor bytes is sent as JSON. */
export interface FakeRaw {
  status: number;
  headers?: Record<string, string>;
  body: unknown;
}

/** No answer until the promise resolves; then the connection closes. */
export interface FakeSilence {
  silentUntil: Promise<void>;
}

/** The faults of a stream. */
export interface StreamPlan {
  /** Ends the stream after this number of events: cleanly (`end`), or with the connection (`reset`). */
  cut?: { afterEvents: number; how: "end" | "reset" };
  /** Sends nothing after this number of events until the promise resolves. */
  hold?: { afterEvents: number; until: Promise<void> };
}

/** Sends the chosen answer. */
export type Delivery = (outgoing: ServerResponse) => void | Promise<void>;

/** Returns an answer with status 200 and a body that is no stream of events. */
export function garbage(body = "<html><body>It works!</body></html>", type = "text/html"): FakeRaw {
  return { status: 200, headers: { "content-type": type }, body };
}

export function sendRaw(outgoing: ServerResponse, { status, headers = {}, body }: FakeRaw): void {
  const isText = typeof body === "string" || body instanceof Uint8Array;
  outgoing.writeHead(status, { "content-type": isText ? "text/plain" : "application/json", ...headers });
  outgoing.end(isText ? body : JSON.stringify(body));
}

/** Answers a request with the error of a refusal. */
export function refusedWith(refusal: { status: number; body: unknown }, headers: Record<string, string> = {}): FakeRaw {
  return { status: refusal.status, headers, body: refusal.body };
}

/** Cuts a text after each word, as models stream it. */
export function wordPieces(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

/** Returns the whole text of an event whose name is its type. */
export function namedEvent(event: { type: string; [field: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Sends server-sent events, each as its whole text, one by one; gives up when the client has left. */
export async function sendEvents(
  outgoing: ServerResponse,
  events: readonly string[],
  { cut, hold, delayMs }: StreamPlan & { delayMs: number },
): Promise<void> {
  outgoing.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" });
  outgoing.flushHeaders();
  const left = clientLeft(outgoing);
  for (const [number, event] of events.entries()) {
    if (cut?.afterEvents === number) return endEarly(outgoing, cut.how);
    if (hold?.afterEvents === number) await Promise.race([hold.until, left]);
    if (delayMs > 0) await Promise.race([sleep(delayMs), left]);
    if (outgoing.destroyed) return;
    outgoing.write(event);
  }
  outgoing.end();
}

/** Sends nothing until the promise resolves, then closes the connection. */
export async function staySilent(outgoing: ServerResponse, until: Promise<void>): Promise<void> {
  await Promise.race([until, clientLeft(outgoing)]);
  outgoing.destroy();
}

function endEarly(outgoing: ServerResponse, how: "end" | "reset"): void {
  if (how === "end") outgoing.end();
  // The bytes that were written still arrive. The end of the body, which HTTP requires, does not.
  else outgoing.socket?.destroySoon();
}

function clientLeft(outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed) return Promise.resolve();
  return new Promise((resolve) => outgoing.once("close", () => resolve()));
}
