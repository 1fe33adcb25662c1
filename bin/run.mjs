/** Runs the program; the pinned Node starts here. */
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

// This Node has read where compiled code is kept. Commands and servers that the program starts must not keep theirs there.
if (process.env.NODE_COMPILE_CACHE === join(root, "node_modules", ".cache", "compiled")) {
  delete process.env.NODE_COMPILE_CACHE;
}

const source = new URL("../src/main.ts", import.meta.url);

// The published package has only the bundle. A clone has the sources too, and uses its bundle if that was built from exactly
// these sources: the few files of a bundle load in half the time of six hundred.
async function bundledProgram() {
  if (!existsSync(source)) return new URL("../dist/main.js", import.meta.url).href;
  const { freshBundle } = await import("../scripts/bundle-cache.mjs");
  return freshBundle();
}

// The files of a bundle are in one folder and import each other by exact path, so Node need not search for them.
function resolveWithin(folder) {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier.startsWith("./") && context.parentURL?.startsWith(folder) === true
        ? { url: folder + specifier.slice(2), format: "module", shortCircuit: true }
        : next(specifier, context),
  });
}

const program = await bundledProgram();
if (program !== null) resolveWithin(new URL(".", program).href);
await import(program ?? source.href);
