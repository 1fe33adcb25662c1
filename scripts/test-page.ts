/**
 * `npm run test:page [-- files or options of node --test]`: the tests `*.page.ts`, in which a Chromium of the system drives the page of a real
 * server. If none is installed and the user is root, Debian's is installed. Without a browser these tests are not run, and it says so.
 */
import { spawnSync } from "node:child_process";
import { findChromium } from "../testing/page/chromium.ts";
import { runTests } from "./test-run/run-tests.ts";

const installTimeoutMs = 300_000;

function installChromium(): void {
  if (process.getuid?.() !== 0) return;
  console.error("installing chromium");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [
    ["-qq", "update"],
    ["-qq", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"],
  ]) {
    const { status } = spawnSync("apt-get", args, { env, stdio: ["ignore", 2, 2], timeout: installTimeoutMs });
    if (status !== 0) return;
  }
}

if (findChromium() === null) installChromium();
if (findChromium() === null) {
  console.error("not run: there is no Chromium; apt-get install chromium, or name one in APTOVE_CHROMIUM");
} else {
  process.exitCode = await runTests({ suffix: ".page.ts", concurrency: 1, args: process.argv.slice(2) });
}
