/** The programs for frameworks in docs/openai.md run as they stand, against a real server (O1, O2). */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { servedOpenAi } from "./server.ts";

const page = readFileSync(new URL("../../docs/openai.md", import.meta.url), "utf8");
const programs = [...page.matchAll(/^```ts\n(\/\/ (\w+)\.ts\n[\s\S]*?)^```$/gm)];

test("the page has a program for each framework", () => {
  assert.deepEqual(
    programs.map(([, , name]) => name),
    ["agents", "ai", "langchain"],
  );
});

for (const [, code = "", name = ""] of programs) {
  test(`[O1] [O2] the program for ${name} continues what it has asked`, async (t) => {
    const { baseUrl, key } = await servedOpenAi(t);
    // It is here, beside the packages that it imports.
    const program = fileURLToPath(new URL(`example-${name}.ts`, import.meta.url));
    writeFileSync(program, code);
    t.after(() => rmSync(program));
    const env = {
      ...process.env,
      APTOVE_URL: baseUrl.replace(/\/v1$/, ""),
      APTOVE_KEY: key,
      APTOVE_MODEL: "scripted-1",
    };
    const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "pipe"] });
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
    assert.equal(errors, "");
    // The model repeats what it knows.
    assert.equal(output, "What does cart.ts do? | And who calls it?\n");
  });
}
