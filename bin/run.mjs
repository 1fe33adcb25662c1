/** Runs the program; the pinned Node starts here. */
import { existsSync } from "node:fs";
import { registerHooks } from "node:module";

const source = new URL("../src/main.ts", import.meta.url);

// The published package has no sources, only the bundle of them. A clone has both, and its bundle counts while it is
// made of just these sources: few files load in half the time that six hundred take.
async function bundledProgram() {
  if (!existsSync(source)) return new URL("../dist/main.js", import.meta.url).href;
  const { freshBundle } = await import("../scripts/bundle-cache.mjs");
  return freshBundle();
}

// The files of a bundle lie in one folder and name one another exactly: Node's search for what a path means is saved.
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
