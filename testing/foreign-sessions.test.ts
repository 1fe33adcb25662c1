/** A conversation of another tool goes on with every provider, on their strict fakes (O8, C5). */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createAptove } from "../src/compose.ts";
import { historyImportLines, previewHistory } from "../src/foreign/read-history.ts";
import { everyModel, everyProvider, type EveryProvider } from "./every-provider.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const common = {
  timestamp: "2026-11-24T02:05:00.000Z",
  sessionId: "s-1",
  version: "2.1.330",
  cwd: "/nowhere",
  isSidechain: false,
};

/** A question, a thought, two calls at once with their results, one of them an error, and an answer. */
function conversation(): string {
  const user = (uuid: string, parentUuid: string | null, content: unknown) => ({
    ...{ ...common, type: "user", uuid, parentUuid },
    message: { role: "user", content },
  });
  const answer = (uuid: string, parentUuid: string, content: object) => ({
    ...{ ...common, type: "assistant", uuid, parentUuid },
    message: { id: `m-${uuid}`, role: "assistant", model: "claude-sonnet-4-5", content: [content] },
  });
  const call = (id: string, command: string) => ({ type: "tool_use", id, name: "Bash", input: { command } });
  const result = (id: string, content: string, isError: boolean) => ({
    ...{ type: "tool_result", tool_use_id: id, content },
    is_error: isError,
  });
  const lines = [
    user("u1", null, "Run both"),
    answer("a1", "u1", { type: "thinking", thinking: "a thought of another model", signature: "abc" }),
    answer("a2", "a1", call("t1", "echo hi")),
    answer("a3", "a2", call("t2", "false")),
    user("r1", "a3", [result("t1", "hi", false), result("t2", "exit code 1", true)]),
    answer("a4", "r1", { type: "text", text: "One of them failed." }),
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

test("[O8] [C5] a conversation of another tool goes on with every provider, with its calls and without its thoughts", async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, "s-1.jsonl");
  writeFileSync(file, conversation());
  const { fakes, overrides } = await everyProvider(t);
  const { engine } = await createAptove({ dataDir: join(folder, "data"), env: {}, overrides, report: () => {} });
  t.after(() => engine.close());
  const owner = await engine.keys.owner();
  const preview = await previewHistory("claude-code", file);
  const { sessions } = await engine.transfer.import(owner, historyImportLines("claude-code", preview, { repo: null }));
  const { headTurnId } = await engine.sessions.get(owner, sessions[0]?.id ?? "");
  for (const [name, model] of Object.entries(everyModel) as [EveryProvider, string][]) {
    fakes[name].next(`On ${name}.`);
    const running = await engine.turns.run(owner, { fork: { turnId: headTurnId ?? "" }, instruction: "Why?", model });
    const turn = await running.finished;
    assert.equal(turn.status, "completed", JSON.stringify(turn));
    const sent = fakes[name].requests.at(-1);
    assert.equal(sent?.refusal, null, name);
    assert.match(sent.raw.toString(), /Run both[^]*echo hi[^]*exit code 1[^]*One of them failed\.[^]*Why\?/, name);
    assert.doesNotMatch(sent.raw.toString(), /a thought of another model/, name);
  }
});
