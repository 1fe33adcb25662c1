/** The published package: what `npm pack` makes works below node_modules, where Node strips no types. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { commandRunner, packCheckout, root } from "./pack-checkout.ts";

interface Manifest {
  version: string;
  engines: { node: string };
  exports: Record<string, string>;
  dependencies: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const source = readFileSync(join(root, "package.json"), "utf8");
const manifest = JSON.parse(source) as Manifest;
/** Makes a Node report an old version, so that it must find the pinned one. */
const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } });`;
/** The Node that reports an old version, and each that is really older on the path. */
function olderNodes(): { command: string[]; version: string }[] {
  const pretended = [process.execPath, "--import", `data:text/javascript,${encodeURIComponent(older)}`];
  const nodes = [{ command: pretended, version: "20.0.0" }];
  for (const place of (process.env["PATH"] ?? "").split(delimiter)) {
    const file = join(place, "node");
    const version = existsSync(file)
      ? spawnSync(file, ["-p", "process.versions.node"], { encoding: "utf8" }).stdout.trim()
      : "";
    const major = Number.parseInt(version, 10);
    if (major >= 20 && major < 26) nodes.push({ command: [file], version });
  }
  return nodes;
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), "aptove-test-")));
const checkout = join(folder, "checkout");
const program = join(folder, "a program");
const installed = join(program, "node_modules", "aptove");

const run = commandRunner({
  PATH: process.env["PATH"],
  HOME: folder,
  npm_config_cache: join(folder, "npm"),
  CI: "true",
});

function link(name: string): void {
  const path = join(program, "node_modules", name);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(join(root, "node_modules", name), path);
}

function writeProgram(name: string, text: string): string {
  writeFileSync(join(program, name), text);
  return join(program, name);
}

before(() => {
  const packed = packCheckout(folder, run);
  mkdirSync(installed, { recursive: true });
  run("tar", ["-xzf", packed, "--strip-components=1", "-C", installed], folder);
  writeProgram("package.json", '{ "type": "module" }');
  for (const name of Object.keys(manifest.dependencies)) link(name);
});

after(() => rmSync(folder, { recursive: true, force: true }));

test("packing gives the checkout its manifest back, byte for byte", () => {
  assert.notEqual(readFileSync(join(checkout, "package.json"), "utf8"), source);
  run(process.execPath, ["scripts/package-entries.ts", "src"], checkout);
  assert.equal(readFileSync(join(checkout, "package.json"), "utf8"), source);
  assert.ok(!existsSync(join(checkout, "dist")));
});

test("[Y1] an installed package exports what the sources export, and builds an engine", async () => {
  const entries = Object.entries(manifest.exports).map(
    ([entry, path]) => [entry.replace(".", "aptove"), path] as const,
  );
  const script = writeProgram(
    "program.js",
    `const names = {};
    for (const entry of ${JSON.stringify(entries.map(([entry]) => entry))}) {
      names[entry] = Object.keys(await import(entry)).toSorted();
    }
    // No entry loads what only the suites need.
    const missing = await import("fast-check").catch(({ code }) => code);
    if (missing !== "ERR_MODULE_NOT_FOUND") throw new Error("fast-check is there");
    const { createAptove } = await import("aptove");
    const { engine } = await createAptove({ dataDir: ${JSON.stringify(join(folder, "data"))} });
    await engine.close();
    console.log(JSON.stringify(names));`,
  );
  const names = JSON.parse(run(process.execPath, [script], program)) as Record<string, string[]>;
  for (const [entry, path] of entries) {
    const module = (await import(new URL(path, new URL("../../", import.meta.url)).href)) as object;
    assert.deepEqual(names[entry], Object.keys(module).toSorted(), entry);
  }
});

test("[Y1] the package brings no Node and names the one that it needs; a clone starts with any from 20 on", () => {
  const packed = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Manifest;
  assert.deepEqual([manifest.engines.node, packed.engines.node], [">=20", ">=26.1.0"]);
  const brought = Object.keys({ ...packed.dependencies, ...packed.optionalDependencies });
  assert.deepEqual(brought, Object.keys(manifest.dependencies));
});

test("[Y1] the library ends on an older Node with the version that it needs, before anything else is loaded", () => {
  const attempts = olderNodes().flatMap(({ command, version }) =>
    ["aptove", "aptove/testing"].map((entry) => {
      const script = writeProgram(
        "old.js",
        `await import("${entry}").then(() => console.log("loaded"), ({ code, message }) => console.log(code, message));`,
      );
      const [file = "", ...flags] = command;
      return [run(file, [...flags, script], program), version] as const;
    }),
  );
  for (const [output, version] of attempts) {
    assert.match(output, /^node_too_old .*: it needs 26\.1\.0 or newer, and this is .*\. Install a newer Node .*\n$/);
    assert.ok(output.includes(`this is ${version}. `), output);
  }
});

test("[Y1] the typed client runs on an older Node", () => {
  const script = writeProgram(
    "client.js",
    `import { createClient } from "aptove/client";
    const answer = await createClient({ url: "http://127.0.0.1:9", key: "" }).me().catch(({ code }) => code);
    console.log(answer);`,
  );
  for (const { command } of olderNodes()) {
    const [file = "", ...flags] = command;
    assert.equal(run(file, [...flags, script], program), "unreachable\n");
  }
});

test("[Y1] an installed package has its types", () => {
  link("@types/node");
  const script = writeProgram(
    "program.ts",
    `import { checkWorkspaceId, createAptove, type Aptove, type Tool, type WorkspaceStore } from "aptove";
    import { createClient, type AptoveClient } from "aptove/client";
    import { scriptedProvider, type ScriptedProvider } from "aptove/testing";
    export const aptove: Promise<Aptove> = createAptove();
    export const load = (store: WorkspaceStore, id: string) => (checkWorkspaceId(id), store.load(id));
    export const nameOf = ({ definition }: Tool): string => definition.name;
    export const client: AptoveClient = createClient({ url: "http://localhost", key: "" });
    export const provider: ScriptedProvider = scriptedProvider();
    // @ts-expect-error: it is no number, so the types were found
    export const wrong: number = [createAptove, createClient, scriptedProvider] as const;`,
  );
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "false", "--module", "nodenext", "--types", "node"];
  run(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), ...flags, script], program);
});

test("[B5] the types of an installed package document what each contract requires", () => {
  const contracts = [
    "blobs/blob-store",
    "live/event-log",
    "providers/provider",
    "records/record-store",
    "retrieval/retriever",
    "tools/session-tools",
    "tools/tool",
    "workspace/binding-store",
    "workspace/transcript-store",
    "workspace/workspace-store",
  ];
  for (const contract of contracts) {
    const types = readFileSync(join(installed, "dist", `${contract}.d.ts`), "utf8");
    // The compiler leaves a head out that stands before an import of values, without a blank line between.
    assert.match(types, /^\/\*\*\n \* The contract for /, contract);
  }
});

test("the installed command says on an older Node which one it needs, and runs on the pinned one beside it", () => {
  const command = join(installed, "bin", "aptove.mjs");
  assert.ok(!existsSync(join(installed, "src")));
  assert.equal(run(process.execPath, [command, "--version"], program), `${manifest.version}\n`);
  const old = ["--import", `data:text/javascript,${encodeURIComponent(older)}`];
  const without = spawnSync(process.execPath, [...old, command, "--version"], { encoding: "utf8" });
  assert.deepEqual([without.status, without.stdout], [1, ""]);
  const fault =
    "error: aptove needs Node 26.1.0 or newer, and this is Node 20.0.0\nfix: install a newer Node (https://nodejs.org)";
  // In a project, a Node beside aptove would be the project's decision.
  assert.equal(without.stderr, `${fault}\n`);
  rmSync(join(program, "package.json"));
  const anywhere = spawnSync(process.execPath, [...old, command, "--version"], { encoding: "utf8" });
  assert.match(
    anywhere.stderr,
    /, or put one beside aptove: npm install --global --no-bin-links node-\S+@26\.\d+\.\d+\n$/,
  );
  for (const name of Object.keys(manifest.optionalDependencies ?? {})) {
    if (existsSync(join(root, "node_modules", name))) link(name);
  }
  assert.equal(run(process.execPath, [...old, command, "--version"], program), `${manifest.version}\n`);
  assert.equal(run(join(installed, "bin", "aptove"), ["--version"], program), `${manifest.version}\n`);
});
