/** `npm run package [-- folder]`: an archive for people without Node, for this platform. By default it is in this folder. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { commandRunner, packCheckout } from "./package/pack-checkout.ts";
import { makeStandalone } from "./package/standalone.ts";
import { readOptions } from "./read-options.ts";

const usage = "npm run package -- [folder]\n\nThe archive is put into the folder; by default into this one.";
const { positionals } = readOptions(usage, { allowPositionals: true });
const out = resolve(positionals[0] ?? ".");
const run = commandRunner(process.env);
const folder = realpathSync(mkdtempSync(join(tmpdir(), "aptove-package-")));
try {
  const archive = makeStandalone(packCheckout(folder, run), folder, run);
  run("cp", [archive, out], folder);
  console.log(join(out, archive.slice(folder.length + 1)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
