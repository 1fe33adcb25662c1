/**
 * `npm run build [-- options of tsc]`: the published form in `dist/`, because Node strips no types below node_modules: types,
 * and a bundle.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

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
}
