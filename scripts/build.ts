/**
 * `npm run build [-- options of tsc]`: the published form in `dist/`, because Node strips no types below node_modules: types,
 * a bundle, and the manual page.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildProgram } from "../src/doors/cli/declarations/declare-program.ts";
import { describeCommand } from "../src/doors/cli/declarations/described-commands.ts";
import { manualPage } from "../src/doors/cli/declarations/manual-page.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
const options = ["-p", join(root, "tsconfig.build.json"), ...process.argv.slice(2)];
const done = spawnSync(process.execPath, [compiler, ...options], { stdio: "inherit" });
process.exitCode = done.status ?? 1;
if (process.exitCode === 0) {
  const { bundleInto } = (await import(new URL("bundle.mjs", import.meta.url).href)) as {
    bundleInto(folder: string): Promise<void>;
  };
  await bundleInto(dist);
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const program = describeCommand(buildProgram(version, async () => {}));
  writeFileSync(join(dist, "aptove.1"), manualPage(program, version));
}
