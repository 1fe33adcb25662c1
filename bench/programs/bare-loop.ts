/**
 * The floor of the benches: what a turn costs at least if nothing is kept but the words. It keeps each conversation in a
 * JSONL file, syncs it twice a turn (before the model is called, and after its answer), and sends the whole history. It is
 * asked over standard input, or with `http` over HTTP, where the answer is a stream of server-sent events.
 */
import { open, type FileHandle } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { text400 } from "../instant-provider.ts";
import { serveLines } from "./line-server.ts";

interface Conversation {
  file: FileHandle;
  history: { role: "user" | "assistant"; content: string }[];
}

type Model = (history: Conversation["history"], onDelta: (delta: string) => void) => Promise<string>;

const [folder = ".", modelUrl = "", door = "stdio"] = process.argv.slice(2);
const conversations = new Map<string, Promise<Conversation>>();

function conversationOf(id: string): Promise<Conversation> {
  const opened =
    conversations.get(id) ?? open(join(folder, `${id}.jsonl`), "a").then((file) => ({ file, history: [] }));
  conversations.set(id, opened);
  return opened;
}

async function keep({ file, history }: Conversation, role: "user" | "assistant", content: string): Promise<void> {
  history.push({ role, content });
  await file.appendFile(`${JSON.stringify({ role, content })}\n`);
  await file.datasync();
}

async function turn(id: string, text: string, { model, onDelta }: { model: Model; onDelta: (delta: string) => void }) {
  const conversation = await conversationOf(id);
  await keep(conversation, "user", text);
  await keep(conversation, "assistant", await model(conversation.history, onDelta));
}

const remoteModel: Model = async (history, onDelta) => {
  const answer = await fetch(`${modelUrl}/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer bench" },
    body: JSON.stringify({ model: "bench-1", stream: true, input: history }),
  });
  let text = "";
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    const frames = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const event = JSON.parse(frame.slice(frame.indexOf("data: ") + 6)) as { type: string; delta?: string };
      if (event.type !== "response.output_text.delta" || event.delta === undefined) continue;
      text += event.delta;
      onDelta(event.delta);
    }
  }
  return text;
};

let answers = 0;
const localModel: Model = async () => text400(`answer ${(answers += 1)}`);

/** Runs turns of many conversations side by side with a model in this process. Returns the time of all, in milliseconds. */
async function rate(sessions: number, turns: number): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: sessions }, async (_, session) => {
      for (let number = 0; number < turns; number += 1) {
        const id = `rate-${session}`;
        await turn(id, text400(`instruction ${session} ${number}`), { model: localModel, onDelta: () => undefined });
      }
    }),
  );
  return performance.now() - startedAt;
}

const server = createServer(async (incoming, outgoing) => {
  const { session, text } = (await json(incoming)) as { session: string; text: string };
  outgoing.writeHead(200, { "content-type": "text/event-stream" });
  const onDelta = (delta: string): void => void outgoing.write(`data: ${JSON.stringify({ delta })}\n\n`);
  await turn(session, text, { model: remoteModel, onDelta });
  outgoing.end(`data: ${JSON.stringify({ isDone: true })}\n\n`);
});

if (door === "http") {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
}
await serveLines(async (ask, tell) => {
  if (ask.do === "rate") return { ms: await rate(ask.sessions ?? 0, ask.turns ?? 0) };
  const onDelta = (delta: string): void => tell({ delta });
  await turn(ask.session ?? "", ask.text ?? "", { model: remoteModel, onDelta });
  return {};
});
process.exit(0);
