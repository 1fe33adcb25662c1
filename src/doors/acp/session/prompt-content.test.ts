import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";
import { temporaryFolder } from "../../../../testing/temporary-folder.ts";
import { limits } from "../../../domain/limits.ts";
import { readPrompt, type PromptSources } from "./prompt-content.ts";

const textBlock = (text: string): ContentBlock => ({ type: "text", text });
const link = (uri: string): ContentBlock => ({ type: "resource_link", uri, name: "named" });
const embedded = (uri: string, text: string): ContentBlock => ({ type: "resource", resource: { uri, text } });
const url = (path: string): string => pathToFileURL(path).href;

async function place(t: TestContext, files: PromptSources["files"] = {}): Promise<PromptSources> {
  const folder = join(await temporaryFolder(t), "project");
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "src", "a.ts"), "on disk\n");
  return { folder, files, signal: new AbortController().signal };
}

async function read(blocks: ContentBlock[], where: PromptSources): Promise<[string, [string, string][]]> {
  const { instruction, activeFiles } = await readPrompt(blocks, where);
  return [instruction, activeFiles.map(({ path, content }) => [path, Buffer.from(content ?? []).toString()])];
}

test("[P1] a mention in the middle of a sentence stays there; two texts are two lines", async (t) => {
  const where = await place(t);
  const mention = link(url(join(where.folder, "src", "a.ts")));
  assert.deepEqual(await read([textBlock("look at "), mention, textBlock(" please")], where), [
    "look at @src/a.ts please",
    [["src/a.ts", "on disk\n"]],
  ]);
  assert.deepEqual(await read([textBlock("one"), textBlock("two")], where), ["one\ntwo", []]);
});

test("[P1] [X1] a file of the folder is attached as a whole; any other address is only named", async (t) => {
  const where = await place(t);
  const outside = join(where.folder, "..", "secret.txt");
  writeFileSync(outside, "secret");
  symlinkSync(outside, join(where.folder, "src", "link.txt"));
  writeFileSync(join(where.folder, "image.png"), Buffer.from([0x89, 0x50, 0, 1]));
  writeFileSync(join(where.folder, "large.txt"), "x".repeat(limits.activeFileBytesMax + 1));
  const cases: [string, string][] = [
    [url(outside), `@${outside}`],
    [url(join(where.folder, "src", "link.txt")), `@${join(where.folder, "src", "link.txt")}`],
    [url(join(where.folder, "image.png")), "@image.png"],
    [url(join(where.folder, "large.txt")), "@large.txt"],
    [url(join(where.folder, "missing.txt")), "@missing.txt"],
    [url(join(where.folder, "src")), "@src"],
    [url(where.folder), "@named"],
    ["https://example.org/x", "@https://example.org/x"],
    ["file://elsewhere/x", "@file://elsewhere/x"],
    ["no address", "@no address"],
  ];
  for (const [uri, name] of cases) assert.deepEqual(await read([link(uri)], where), [name, []], uri);
  assert.deepEqual(await read([link(`${url(join(where.folder, "src", "a.ts"))}#L3:5`)], where), [
    "@src/a.ts#L3:5",
    [["src/a.ts", "on disk\n"]],
  ]);
});

test("[P4] a mentioned file is read from the client, if it offers that", async (t) => {
  const asked: string[] = [];
  const where = await place(t, {
    readText: async (path) => {
      asked.push(path);
      return "not saved\n";
    },
  });
  const path = join(where.folder, "src", "a.ts");
  assert.deepEqual(await read([link(url(path))], where), ["@src/a.ts", [["src/a.ts", "not saved\n"]]]);
  assert.deepEqual(asked, [path]);
});

test("[P1] embedded text is a file if it is complete, and otherwise part of the instruction", async (t) => {
  const where = await place(t);
  const path = url(join(where.folder, "src", "a.ts"));
  assert.deepEqual(await read([textBlock("see "), embedded(path, "in the editor\n")], where), [
    "see @src/a.ts",
    [["src/a.ts", "in the editor\n"]],
  ]);
  assert.deepEqual(await read([embedded(`${path}#L3:5`, "let a;")], where), [
    "\n@src/a.ts#L3:5\n```typescript\nlet a;\n```\n",
    [],
  ]);
  assert.deepEqual(await read([embedded("untitled:1", "with ``` in it\n")], where), [
    "\n@untitled:1\n````plaintext\nwith ``` in it\n````\n",
    [],
  ]);
});

test("[X2] [P1] embedded text over 100 KB is never part of the instruction: a file of the folder is named, any other text is a part", async (t) => {
  const where = await place(t);
  const long = "long line\n".repeat(150_000);
  const path = url(join(where.folder, "src", "a.ts"));
  assert.deepEqual(await read([embedded(path, long)], where), ["@src/a.ts", []]);
  for (const [uri, name] of [
    ["untitled:1", "1"],
    [`${path}#L1:9`, "a.ts"],
    ["https://example.org/notes.md", "notes.md"],
  ] as const) {
    const { instruction, input } = await readPrompt([textBlock("see "), embedded(uri, long)], where);
    assert.equal(instruction, `see @${name}`);
    const content = Buffer.from(long);
    assert.deepEqual(input, [{ type: "binary", content, mediaType: "text/plain", name, mode: "file" }]);
  }
});

test("[I1] [P1] an image is part of the context, other embedded bytes can be read, each has a name in the text", async (t) => {
  const png = Buffer.from("89504e470d0a1a0a00", "hex");
  const zip = Buffer.from("PK\u0003\u0004");
  const blocks: ContentBlock[] = [
    textBlock("compare "),
    { type: "image", data: png.toString("base64"), mimeType: "image/png" },
    { type: "image", data: png.toString("base64"), mimeType: "image/png", uri: "file:///tmp/two%20b.png" },
    { type: "resource", resource: { uri: "zed:///a.zip", blob: zip.toString("base64"), mimeType: "application/zip" } },
  ];
  const { instruction, activeFiles, input } = await readPrompt(blocks, await place(t));
  assert.deepEqual([instruction, activeFiles], ["compare @attachment-1.png @two b.png @a.zip", []]);
  assert.deepEqual(input, [
    { type: "binary", content: png, mediaType: "image/png", name: "attachment-1.png", mode: "inline" },
    { type: "binary", content: png, mediaType: "image/png", name: "two b.png", mode: "inline" },
    { type: "binary", content: zip, mediaType: "application/zip", name: "a.zip", mode: "file" },
  ]);
});
