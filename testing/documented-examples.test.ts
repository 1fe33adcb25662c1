/**
 * The examples in the pages for programmers run as they stand: each is saved under its own name in a program that has
 * aptove installed, and is run there.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createAptove } from "../src/compose.ts";
import { listen } from "../src/doors/http/listen.ts";
import { testDoor } from "./http-door.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

interface Example {
  /** The name of its file, which its first line may state. */
  name: string;
  code: string;
}

function blocksOf(page: string, language: string): string[] {
  const markdown = readFileSync(join(root, "docs", page), "utf8");
  const blocks = markdown.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"));
  return [...blocks].map(([, code = ""]) => code);
}

function examplesOf(page: string): Example[] {
  return blocksOf(page, "ts").map((code, at) => ({
    name: /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? `${at + 1}.ts`,
    code,
  }));
}

/** What identifies each example, and what it prints. An example without an entry here fails. */
const expected: Record<string, [mark: string, output: RegExp][]> = {
  "library.md": [
    ['Where are prices rounded?" });\nfor await', /^This is aptove's built-in offline model/],
    ['dataDir: "shop-data"', /^$/],
    ['"aptove/client"', /^in cart\.ts\n2 turns; the last one used \d+ tokens\n$/],
    ["recordPartSuites.audit", /^ℹ pass [1-9]\d*\nℹ fail 0$/m],
    ["bindingStoreSuite(", /^ℹ pass [1-9]\d*\nℹ fail 0$/m],
    ["const weather: Tool", /^sunny\n$/],
    ["parked.deferredCalls", /sunny/],
    ["askApproval", /^completed\n$/],
    ["workspaceSessions.begin", /^completed\n$/],
  ],
  "providers.md": [
    ["export function myProvider", /^$/],
    ["providerSuite(", /^ℹ pass [1-9]\d*\nℹ fail 0$/m],
    ["scriptedProvider({", /^awaiting_tool_results 1\n$/],
    ["startFakeOpenai(", /^$/],
    ["startFakeAnthropic(", /^$/],
    ["startFakeGoogle(", /^$/],
  ],
};

/** A folder with all examples of a page, beside which the package and the fakes of a clone are. */
async function programs(t: TestContext, page: string): Promise<string> {
  const folder = await temporaryFolder(t);
  const examples = join(folder, "examples");
  for (const name of ["examples", "node_modules", "home"]) mkdirSync(join(folder, name));
  symlinkSync(root, join(folder, "node_modules", "aptove"), "junction");
  symlinkSync(join(root, "testing"), join(folder, "testing"), "junction");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const { name, code } of examplesOf(page)) writeFileSync(join(examples, name), code);
  return examples;
}

async function run(folder: string, name: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { PATH, SystemRoot } = process.env;
  const own = { HOME: join(folder, "../home"), APTOVE_DATA_DIR: join(folder, "../data"), APTOVE_PROVIDER: "offline" };
  const child = spawn(process.execPath, ["--test-reporter=spec", name], {
    cwd: folder,
    env: { PATH, SystemRoot, ...own, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  assert.equal(errors, "", output);
  return output;
}

/** The server that the example of the client needs, as its environment names it. */
async function serverFor(t: TestContext): Promise<NodeJS.ProcessEnv> {
  const door = await testDoor(t, { script: () => "in cart.ts" });
  const server = await listen(door.door, { host: "127.0.0.1", port: 0 });
  t.after(() => server.close());
  return { APTOVE_URL: server.url, APTOVE_KEY: door.admin.key };
}

for (const [page, marks] of Object.entries(expected)) {
  for (const [at, { name, code }] of examplesOf(page).entries()) {
    test(`[Y1] example ${at + 1} of docs/${page} runs as it stands`, async (t) => {
      const [mark, output] = marks[at] ?? assert.fail(`this example is not expected: ${code}`);
      assert.ok(code.includes(mark), code);
      const env = code.includes("APTOVE_URL") ? await serverFor(t) : {};
      assert.match(await run(await programs(t, page), name, env), output);
    });
  }
}

test("[Y1] the pages for programmers have all examples that are expected", () => {
  for (const [page, marks] of Object.entries(expected)) assert.equal(examplesOf(page).length, marks.length, page);
});

for (const [at, toml] of blocksOf("providers.md", "toml").entries()) {
  test(`[W7] configuration ${at + 1} of docs/providers.md is accepted`, async (t) => {
    const dataDir = await temporaryFolder(t);
    writeFileSync(join(dataDir, "config.toml"), toml, { mode: 0o600 });
    const keys = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k", GEMINI_API_KEY: "k", WORK_LLM_KEY: "k" };
    const { engine, warnings } = await createAptove({ dataDir, env: keys });
    await engine.close();
    assert.deepEqual(warnings, []);
  });
}
