/** What a user gave to a turn is shown again as it was sent (P4, I1). */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import { scriptedProvider } from "../../../providers/scripted/scripted.ts";
import { acpTest } from "../../../../testing/acp/acp-test.ts";

test("[P4] [I1] loading shows the images and the mentions of files of a prompt, in their places", async (t) => {
  const seeing = Object.assign(scriptedProvider({}), { takes: () => ["image/png"] });
  const world = await acpTest(t, { aptove: { providers: [seeing] } });
  writeFileSync(join(world.project, "a.ts"), "let a;\n");
  writeFileSync(join(world.project, "a.ts.txt"), "notes\n");
  const image = Buffer.from("89504e470d0a1a0a00", "hex").toString("base64");
  const link = (name: string): ContentBlock => {
    return { type: "resource_link", name, uri: pathToFileURL(join(world.project, name)).href };
  };
  const connection = await world.connect();
  const { sessionId } = await connection.begin();
  const picture: ContentBlock = { type: "image", data: image, mimeType: "image/png" };
  await connection.prompt(sessionId, [
    { type: "text", text: "compare " },
    link("a.ts.txt"),
    link("a.ts"),
    { type: "text", text: " with " },
    picture,
  ]);
  const again = await world.connect();
  await again.load(sessionId);
  const shown = again
    .updates(sessionId)
    .flatMap((update) => (update.sessionUpdate === "user_message_chunk" ? [update] : []));
  assert.deepEqual(
    shown.map(({ content }) => content),
    [
      { type: "text", text: "compare " },
      link("a.ts.txt"),
      { type: "text", text: " " },
      link("a.ts"),
      { type: "text", text: " with " },
      picture,
    ],
  );
  assert.equal(new Set(shown.map(({ messageId }) => messageId)).size, 1);
});
