/**
 * Builds the page of the server from `web/` (U1): scripts and styles that are named by their hash, the document that names them,
 * and each of them compressed ahead. Plain JavaScript for any Node from 20 on.
 */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { root } from "./pinned-node.mjs";

/**
 * Puts everything that the first load needs into one file. The bundler makes a file for each set of entries that share modules,
 * and there are many such sets. So each part that is loaded late names the whole first load as one that it needs.
 */
const oneFirstLoad = {
  name: "one-first-load",
  setup(build) {
    const late = new Set();
    const shell = join(root, "web", "app", "shell.tsx");
    build.onResolve({ filter: /^\.\.?\// }, ({ path, kind, resolveDir }) => {
      if (kind === "dynamic-import") late.add(join(resolveDir, path));
    });
    build.onLoad({ filter: /[\\/]web[\\/].*\.tsx$/ }, ({ path }) =>
      late.has(path)
        ? { contents: `import ${JSON.stringify(shell)};\n${readFileSync(path, "utf8")}`, loader: "tsx" }
        : undefined,
    );
  },
};

/** Writes the page into the folder, and returns the files that it was made from. */
export async function buildPage(folder) {
  const { build } = await import("esbuild");
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: { page: "web/main.tsx", styles: "web/page.css" },
    outdir: folder,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    plugins: [oneFirstLoad],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "silent",
    metafile: true,
  });
  writeDocument(folder, Object.entries(metafile.outputs));
  for (const name of readdirSync(folder)) compress(join(folder, name));
  return Object.keys(metafile.inputs);
}

/** Fills the names of the entry's files into the document, and a name for this build, which an open page compares. */
function writeDocument(folder, outputs) {
  const entry = outputs.find(([, { entryPoint }]) => entryPoint === "web/main.tsx");
  if (entry === undefined) throw new Error("the page has no entry");
  const nameOf = (path) => relative(folder, join(root, path)).replaceAll("\\", "/");
  const [styles = ""] = outputs.find(([, { entryPoint }]) => entryPoint === "web/page.css") ?? [];
  const [script, { imports }] = entry;
  const early = imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => path);
  const preloads = early.map((path) => `<link rel="modulepreload" href="/assets/${nameOf(path)}">`);
  const icon = readFileSync(join(root, "web", "icon.svg"));
  const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
  writeFileSync(join(folder, iconName), icon);
  const values = { script: nameOf(script), styles: nameOf(styles), icon: iconName, preloads: preloads.join("\n") };
  const template = readFileSync(join(root, "web", "index.html"), "utf8");
  const page = template.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => values[name]);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "index.html"), page);
}

function compress(path) {
  const bytes = readFileSync(path);
  const quality = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: quality }));
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
}
