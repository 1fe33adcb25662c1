/** Packs a copy of this checkout: packing changes the manifest for a moment, and others may use the checkout meanwhile. */
import { spawnSync, type StdioOptions } from "node:child_process";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };

const files = ["package.json", "tsconfig.json", "tsconfig.build.json"];
const packed = ["README.md", "LICENSE", "CHANGELOG.md", "ARCHITECTURE.md", "bin", "docs", "scripts", "src", "web"];

/** Returns the output of a command. Throws with all of its output if it fails. */
export type RunCommand = (command: string, args: readonly string[], cwd: string) => string;

export function commandRunner(env: NodeJS.ProcessEnv): RunCommand {
  return (command, args, cwd) => {
    // Without input: npm would ask on it, and the command reads an instruction from it until it ends.
    const stdio: StdioOptions = ["ignore", "pipe", "pipe"];
    const done = spawnSync(command, args, {
      cwd,
      env,
      stdio,
      encoding: "utf8",
      timeout: 240_000,
      killSignal: "SIGKILL",
    });
    const report = `${command} ${args.join(" ")}\n${done.stdout}${done.stderr}`;
    if (done.status !== 0) throw new Error(report, { cause: done.error });
    return done.stdout;
  };
}

/** Follows the steps of `npm pack` in `folder/checkout`, and returns the file that it makes. `npm run check` checks the types. */
export function packCheckout(folder: string, run: RunCommand): string {
  const checkout = join(folder, "checkout");
  for (const path of [...files, ...packed]) cpSync(join(root, path), join(checkout, path), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(checkout, "node_modules"));
  run(process.execPath, ["scripts/build.ts", "--noCheck", "--singleThreaded"], checkout);
  run(process.execPath, ["scripts/package-entries.ts", "dist"], checkout);
  run("npm", ["pack", "--ignore-scripts", "--offline", "--pack-destination", folder], checkout);
  return join(folder, `aptove-${version}.tgz`);
}
