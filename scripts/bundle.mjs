/**
 * Bundles the program and the packages that it starts with into one file: loading is most of a short
 * command. For the published package (`npm run build`), and for a clone, whose bundle is a cache of its sources. The page of the server is built with it. The package also gets the
 * library, as modules that share what they need. Plain JavaScript for any Node from 20 on.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { buildPage } from "./build-page.mjs";
import cache from "./bundle-cache.cjs";
import { isCheckout, root } from "./pinned-node.mjs";
import { englishZod, lazyAcpSchemas, plainBuiltins } from "./bundle-plugins.mjs";

const { bundlesFolder, freshBundle, recordSource, writeState } = cache;

/** The packages that nearly every command loads. The others are loaded from their own folders when they are needed. */
const bundledPackages = [
  "@agentclientprotocol/sdk",
  "@hono/node-server",
  "commander",
  "eventsource-parser",
  "get-east-asian-width",
  "hono",
  "kysely",
  "picocolors",
  "smol-toml",
  "zod",
];
const libraryEntries = {
  index: "src/index.ts",
  testing: "src/testing.ts",
  "client/client": "src/client/client.ts",
  "node-version": "src/node-version.ts",
  "search-worker": "src/tools/files/search-worker.ts",
};
const programEntries = { program: "src/main.ts", "search-worker": "src/tools/files/search-worker.ts" };
/** The number of older bundles that stay, because a process may still run one and load more of it. */
const keptDays = 7;

/** What every step of a bundling has in common. */
function common() {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const others = Object.keys({ ...dependencies, ...peerDependencies });
  return {
    absWorkingDir: root,
    bundle: true,
    platform: "node",
    external: others.filter((name) => !bundledPackages.includes(name)),
    legalComments: "none",
    logLevel: "silent",
    metafile: true,
  };
}

/** Writes modules that share chunks to the folder. Only what is used of each module is in them. */
async function bundleModules(folder, entryPoints) {
  const { build } = await import("esbuild");
  const { metafile } = await build({
    ...common(),
    entryPoints,
    outdir: folder,
    chunkNames: "[name]-[hash]",
    splitting: true,
    format: "esm",
    // An older Node must be able to read the files: it reads all of them before the first one can check its version.
    target: "node20",
    plugins: [plainBuiltins, englishZod, lazyAcpSchemas],
  });
  return Object.keys(metafile.inputs);
}

/**
 * Writes the program to the folder, as one file. Each module in it runs when it is first imported. It is made from modules that
 * contain only what is used, because a module that runs later stays whole. Returns the files that it was made from.
 */
async function bundleProgram(folder) {
  const { build } = await import("esbuild");
  mkdirSync(folder, { recursive: true });
  const modules = mkdtempSync(join(folder, "modules-"));
  try {
    const inputs = await bundleModules(modules, programEntries);
    const oneFile = {
      ...common(),
      // The paths in the file are those below this folder, so the same sources give the same file.
      absWorkingDir: modules,
      outdir: folder,
      outExtension: { ".js": ".cjs" },
      format: "cjs",
      target: "node26",
      // Names stay as they are, for stack traces.
      minifySyntax: true,
      minifyWhitespace: true,
    };
    await build({ ...oneFile, entryPoints: ["search-worker.js"] });
    await build({
      ...oneFile,
      entryPoints: ["program.js"],
      define: { "import.meta.url": "fileUrl" },
      // bin/run.cjs compiles and calls this function.
      banner: { js: `(function (exports, require, module, __filename) { ${fileUrl}` },
      footer: { js: "})" },
    });
    return inputs;
  } finally {
    rmSync(modules, { recursive: true, force: true });
  }
}

/** Writes the page to the folder. Returns the files that it was made from. */
async function bundlePage(folder) {
  return await buildPage(join(folder, "page"));
}

/** Writes the library to the folder, as modules. Returns the files that they were made from. */
export async function bundleLibrary(folder) {
  return await bundleModules(folder, libraryEntries);
}

/** The URL of the file, which is `import.meta.url` in a module. */
const fileUrl = 'const fileUrl = require("node:url").pathToFileURL(__filename).href;';

/** Writes what the published package contains to the folder: the program and the library. */
export async function bundleInto(folder) {
  const inputs = [...(await bundleProgram(folder)), ...(await bundleLibrary(folder)), ...(await bundlePage(folder))];
  for (const entry of ["index.js", "testing.js"]) {
    const file = join(folder, entry);
    // The bundler may move this import behind that of another file.
    writeFileSync(file, `import "./node-version.js";\n${readFileSync(file, "utf8")}`);
  }
  writeFileSync(join(folder, "LICENSES.txt"), licencesOf(inputs));
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
    const made = mkdtempSync(join(bundlesFolder, "making-"));
    const former = timesOfSources();
    const inputs = [...(await bundleProgram(made)), ...(await bundlePage(made))];
    writeFileSync(join(made, "LICENSES.txt"), licencesOf(inputs));
    const sources = sourcesAmong(inputs).map(recordSource);
    // A source may have been read before a change that its record already has. The next call bundles it.
    if (sources.some(([path, , time]) => (former.get(path) ?? time) !== time)) return void removeFolder(made);
    publish(made, sources);
  } catch (error) {
    if (freshBundle() !== null) return;
    console.error(`aptove: the sources could not be bundled, so it starts more slowly (${error.message})`);
  }
}

/** Makes the bundle the current one. Its name depends on the contents of its sources alone. */
function publish(made, sources) {
  const contents = sources.map(([path, , , digest]) => `${path} ${digest}`).join("\n");
  const bundle = createHash("sha256").update(contents).digest("hex").slice(0, 16);
  const folder = join(bundlesFolder, bundle);
  if (existsSync(folder)) {
    // A process may run the bundle that was made of the same sources earlier. The page is taken from the newest.
    removeFolder(made);
    utimesSync(folder, new Date(), new Date());
  } else renameSync(made, folder);
  // A temporary folder is its owner's alone, and everyone who can read the sources may run what was made of them.
  chmodSync(folder, statSync(bundlesFolder).mode & 0o777);
  writeState({ bundle, sources });
  removeOld(bundle);
}

const ownSource = /^(?:src|web)\//;
const bundlers = ["scripts/build-page.mjs", "scripts/bundle.mjs", "scripts/bundle-plugins.mjs"];

/** Returns our sources, and what else decides what the bundle contains. */
function sourcesAmong(inputs) {
  const sources = [...new Set(inputs)].filter((path) => ownSource.test(path)).toSorted();
  return [...sources, "web/icon.svg", "web/index.html", ...bundlers, "package-lock.json"];
}

/** Returns when each of our sources was last changed, by its path. */
function timesOfSources() {
  const files = ["src", "web"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((name) => `${folder}/${name.replaceAll("\\", "/")}`),
  );
  return new Map(files.map((path) => [path, statSync(join(root, path)).mtimeMs]));
}

function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
}

/** Removes older bundles, and what a killed bundling left. */
function removeOld(current) {
  for (const name of readdirSync(bundlesFolder)) {
    const path = join(bundlesFolder, name);
    const isOld = Date.now() - statSync(path).mtimeMs > keptDays * 86_400_000;
    if (isOld && name !== current && name !== "current.json" && name !== "reported") {
      removeFolder(path);
    }
  }
}
