import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallToolResult } from "@modelcontextprotocol/client";
import { limits } from "../../domain/limits.ts";
import { imageCharactersMax, resultImages, resultText } from "./result-text.ts";

const kilobytes12 = Buffer.alloc(12_288).toString("base64");

function text(...content: CallToolResult["content"]): string {
  return resultText({ content });
}

test("[P5] text is returned unchanged, and other content is named with its size", () => {
  assert.equal(text({ type: "text", text: "one" }, { type: "text", text: "two\n" }), "one\n\ntwo\n");
  assert.equal(text({ type: "image", data: kilobytes12, mimeType: "image/png" }), "[image, 12 KB png]");
  assert.equal(text({ type: "audio", data: "AAAA", mimeType: "audio/wav" }), "[audio, 3 B wav]");
  assert.equal(text(), "");
});

test("[P5] a resource is returned with its address and its text or size", () => {
  assert.equal(
    text({ type: "resource", resource: { uri: "file:///a.md", mimeType: "text/markdown", text: "# A" } }),
    "[resource file:///a.md]\n# A",
  );
  assert.equal(
    text({ type: "resource", resource: { uri: "file:///a", blob: kilobytes12 } }),
    "[resource file:///a, 12 KB bytes]",
  );
  assert.equal(
    text({ type: "resource_link", name: "a", uri: "file:///a", description: "the first" }),
    "[resource a, file:///a: the first]",
  );
});

test("[P5] structured content is returned if there is no text", () => {
  const structuredContent = { degrees: 22.5 };
  const result = (...content: CallToolResult["content"]): string => resultText({ content, structuredContent });
  assert.equal(result(), '{\n  "degrees": 22.5\n}');
  assert.equal(
    result({ type: "image", data: "AAAA", mimeType: "image/png" }),
    '[image, 3 B png]\n\n{\n  "degrees": 22.5\n}',
  );
  assert.equal(result({ type: "text", text: "It is warm." }), "It is warm.");
});

test("[P5] a result that is too long is cut at a whole character, with a note", () => {
  const output = text({ type: "text", text: "é".repeat(limits.toolOutputBytesMax) });
  assert.equal(Buffer.byteLength(output) <= limits.toolOutputBytesMax, true);
  assert.match(output.slice(-80), /é.?\n\[… the rest is left out: a result may have 10485760 bytes …\]$/);
});

test("[P5] images are shown to people as they are, up to a limit, and only kinds that are images everywhere", () => {
  const image = (data: string, mimeType = "image/png") => ({ type: "image" as const, data, mimeType });
  const large = "A".repeat(imageCharactersMax - 4);
  const content = [
    image("AAAA"),
    image("AAAA", "image/svg+xml"),
    image(large),
    image("BBBB"),
    image("A".repeat(large.length)),
  ];
  assert.deepEqual(
    resultImages({ content: [{ type: "text", text: "t" }, ...content] }).map(
      (one) => one.type === "image" && one.data.length,
    ),
    [4, large.length],
  );
});
