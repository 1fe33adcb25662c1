/**
 * The model of the benches: a server on OpenAI's wire in a process of its own. The first part of the path says what it answers: `words` and
 * `prose` 400 characters at once, `coding` five calls of a tool and then a text, `stamp` one token, and `paced` fifty
 * tokens, one each 20 ms. A token of the last two is the time at which it left, in microseconds of the machine's steady clock;
 * `stamp` adds the time at which its request had come. It pads deltas like the real endpoint, unless it is asked not to.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { ResponseCreateParams } from "openai/resources/responses/responses";
import { streamAnswer, type FakeEvent } from "../../testing/fake-openai/answer-stream.ts";
import type { FakeOutput } from "../../testing/fake-openai/replies.ts";
import { namedEvent } from "../../testing/fake-server/deliver.ts";
import { nowUs } from "../clock.ts";
import { textOf, type ContentKind } from "../content.ts";

const pacedTokens = 50;
const pacedMs = 20;
const callsPerTurn = 5;
const padCharacters = 16;

interface Came {
  outgoing: ServerResponse;
  raw: Buffer;
  at: number;
}

let answers = 0;

const kinds: Record<string, (came: Came) => Promise<void> | void> = {
  words: (came) => prepared(came, "words"),
  prose: (came) => prepared(came, "prose"),
  coding: (came) => coding(came),
  stamp: (came) => inTime(came, { tokens: 1, ms: 0, token: () => `${came.at}-${nowUs()} ` }),
  paced: (came) => inTime(came, { tokens: pacedTokens, ms: pacedMs, token: () => `${nowUs()} ` }),
};

/** Makes ids that are random and as long as real ones. */
function newId(prefix: string): string {
  return `${prefix}_${randomBytes(25).toString("hex")}`;
}

const ready = new Map<string, string>();

/** Answers at once: each answer is made before its request comes, so that the model's own work is not measured. */
function prepared({ outgoing, raw }: Came, kind: ContentKind): void {
  const isPadded = wantsPadding(raw);
  const key = `${kind} ${isPadded}`;
  const make = (): string => {
    answers += 1;
    return writer(isPadded)(eventsOf([{ type: "message", text: textOf(kind, "answer", answers) }]));
  };
  outgoing.end(ready.get(key) ?? make());
  setImmediate(() => ready.set(key, make()));
}

/** The real endpoint pads each delta with random characters, unless it is asked not to. */
function wantsPadding(raw: Buffer): boolean {
  return !raw.includes('"include_obfuscation":false');
}

function eventsOf(
  output: FakeOutput[],
  { body = {}, makeId = newId }: { body?: object; makeId?: typeof newId } = {},
): FakeEvent[] {
  const frame = { id: makeId("resp"), newId: makeId, inputTokens: 100, cachedTokens: 0 };
  return streamAnswer({ output }, { ...frame, body: { model: "bench-1", ...body } as ResponseCreateParams }).events;
}

/** Returns a function that numbers and pads events, and joins them. */
function writer(isPadded: boolean): (events: readonly FakeEvent[]) => string {
  let number = 0;
  const padded = (event: FakeEvent): object => {
    if (!isPadded || !("delta" in event) || typeof event.delta !== "string") return event;
    const length = Math.max(1, padCharacters - event.delta.length);
    return { ...event, obfuscation: randomBytes(length).toString("base64url").slice(0, length) };
  };
  return (events) =>
    events.map((event) => namedEvent({ ...padded(event), type: event.type, sequence_number: number++ })).join("");
}

/** Calls the tool until the last result is that of the last call. The id of a call has its number. */
function coding({ outgoing, raw }: Came): void {
  const body = JSON.parse(raw.toString()) as Omit<ResponseCreateParams, "input"> & {
    input: { call_id?: string }[];
  };
  const done = Number(/^call_(\d)/.exec(body.input.at(-1)?.call_id ?? "")?.[1] ?? 0);
  answers += 1;
  const message: FakeOutput = { type: "message", text: textOf("prose", "answer", answers) };
  const args = JSON.stringify({ path: `src/part-${answers}.ts` });
  const call: FakeOutput = {
    type: "function_call",
    name: "read_code",
    arguments: args,
    callId: newId(`call_${done + 1}`),
  };
  outgoing.end(writer(wantsPadding(raw))(eventsOf([done === callsPerTurn ? message : call], { body })));
}

/** Sends the tokens one by one. Waits are counted from the beginning, so that a late token does not delay the next. */
async function inTime(came: Came, { tokens, ms, token }: { tokens: number; ms: number; token: () => string }) {
  const unique = newId("");
  const makeId = (prefix: string): string => prefix + unique;
  const write = writer(wantsPadding(came.raw));
  const [head, delta] = splitAtDelta(eventsOf([{ type: "message", text: "0" }], { makeId }));
  came.outgoing.write(write(head));
  const startedAt = performance.now();
  let text = "";
  for (let sent = 1; sent <= tokens; sent += 1) {
    const wait = startedAt + sent * ms - performance.now();
    if (ms > 0 && wait > 0) await sleep(wait);
    const piece = token();
    text += piece;
    came.outgoing.write(write([{ ...delta, delta: piece } as FakeEvent]));
  }
  const events = eventsOf([{ type: "message", text }], { makeId });
  came.outgoing.end(write(events.slice(events.findIndex(({ type }) => type === "response.output_text.done"))));
}

function splitAtDelta(events: FakeEvent[]): [head: FakeEvent[], delta: FakeEvent] {
  const at = events.findIndex(({ type }) => type === "response.output_text.delta");
  const delta = events[at];
  if (delta === undefined) throw new Error("the answer has no delta");
  return [events.slice(0, at), delta];
}

async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const raw = await buffer(incoming);
  const [, kind = "", , route] = (incoming.url ?? "").split("/");
  const respond = kinds[kind];
  if (route === "models") return void outgoing.end(JSON.stringify({ object: "list", data: [] }));
  if (respond === undefined || route !== "responses") return void outgoing.writeHead(404).end();
  outgoing.writeHead(200, { "content-type": "text/event-stream" });
  await respond({ outgoing, raw, at: nowUs() });
}

const server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
// It ends with the process that started it.
process.stdin.on("end", () => process.exit(0)).resume();
