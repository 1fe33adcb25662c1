/**
 * Bundles the program and the packages that it starts with into a few files: loading is most of a short
 * command. For the published package (`npm run build`), and for a clone, whose bundle is a cache of its sources. Plain
 * JavaScript for any Node from 20 on.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { bundlesFolder, freshBundle, sourcesMark } from "./bundle-cache.mjs";
import { isCheckout, root } from "./pinned-node.mjs";

/** The packages that nearly every command loads. The others are loaded from their own folders when they are needed. */
const bundledPackages = [
  "@agentclientprotocol/sdk",
  "@hono/node-server",
  "commander",
  "eventsource-parser",
  "hono",
  "kysely",
  "picocolors",
  "smol-toml",
  "zod",
];
const entryPoints = {
  main: "src/main.ts",
  index: "src/index.ts",
  testing: "src/testing.ts",
  "client/client": "src/client/client.ts",
  "node-version": "src/node-version.ts",
  "search-worker": "src/tools/files/search-worker.ts",
};
/** The number of older bundles that stay, because a process may still run one and load more of it. */
const keptDays = 7;

/**
 * Loads Node's modules as objects. An import of a module of Node reads all of its exports, and with them all that they load when they are first read: for
 * `node:crypto` that is the whole of WebCrypto. From an object, only what is used is loaded.
 */
const plainBuiltins = {
  name: "plain-builtins",
  setup(build) {
    build.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: "builtin", sideEffects: false }));
    build.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** Creates the folder and writes the bundle to it. */
export async function bundleInto(folder) {
  const { build } = await import("esbuild");
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const others = Object.keys({ ...dependencies, ...peerDependencies });
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    outdir: folder,
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    // An older Node must be able to read the files: it reads all of them before the first one can check its version.
    target: "node20",
    external: others.filter((name) => !bundledPackages.includes(name)),
    plugins: [plainBuiltins],
    legalComments: "none",
    logLevel: "silent",
    metafile: true,
  });
  for (const entry of ["index.js", "testing.js"]) {
    const file = join(folder, entry);
    // The bundler may move this import behind that of another file.
    writeFileSync(file, `import "./node-version.js";\n${readFileSync(file, "utf8")}`);
  }
  writeFileSync(join(folder, "LICENSES.txt"), licencesOf(Object.keys(metafile.inputs)));
}

/** Copies the licences: they require that their text is published with the code. */
function licencesOf(inputs) {
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  const texts = [...new Set(folders)].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? "" : `\n${readFileSync(join(root, folder, file), "utf8").trim()}\n`;
    return `${name} ${version} (${license})\n${text}`;
  });
  return texts.join("\n---\n\n");
}

/** Updates a clone's bundle. If it cannot be made, the sources run instead. Two processes at once make it twice. */
export async function refreshBundle() {
  if (!isCheckout || freshBundle() !== null) return;
  try {
    mkdirSync(bundlesFolder, { recursive: true });
    const mark = sourcesMark();
    const made = mkdtempSync(join(bundlesFolder, "making-"));
    await bundleInto(made);
    renameSync(made, join(bundlesFolder, mark));
    removeOld(mark);
  } catch (error) {
    if (freshBundle() !== null) return;
    console.error(`aptove: the sources could not be bundled, so it starts more slowly (${error.message})`);
  }
}

/** Removes older bundles, and what a killed bundling left. */
function removeOld(current) {
  for (const name of readdirSync(bundlesFolder)) {
    const folder = join(bundlesFolder, name);
    if (name !== current && Date.now() - statSync(folder).mtimeMs > keptDays * 86_400_000) {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
