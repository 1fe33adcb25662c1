/** How many turns a person may run at once on their own machine. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { program } from "./program.ts";

/** More than a user of a team may run by default, and than 64 sessions. */
const sessions = 66;

test("[H5] [P1] the owner of a data folder may run more turns and sessions at once than a user of a team, in an editor and over HTTP", async (t) => {
  const { model, acp, serve } = await program(t);
  const all = Promise.withResolvers<void>();
  const reply = { output: [{ type: "message" as const, text: "ok" }], hold: { afterEvents: 1, until: all.promise } };
  model.next(...Array.from({ length: 2 * sessions }, () => reply));
  const editor = await acp();
  const opened = await Promise.all(Array.from({ length: sessions }, () => editor.begin()));
  const prompts = opened.map(({ sessionId }) => editor.prompt(sessionId, "hi"));
  await model.request(sessions);
  const server = await serve();
  const answers = opened.map(() => server.client.execute({ instruction: "hi" }));
  await model.request(2 * sessions);
  all.resolve();
  for (const { stopReason } of await Promise.all(prompts)) assert.equal(stopReason, "end_turn");
  for (const { kind } of await Promise.all(answers)) assert.equal(kind, "answer");
});
