/** What the signals do that a whole server process receives (R4, H4). */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { whenExited } from "../src/system/processes.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

test(
  "[R4] [H4] SIGUSR1 opens no debugger of a server, and SIGHUP is the same orderly stop as SIGTERM",
  { skip: process.platform === "win32" && "there are no such signals" },
  async (t) => {
    const folder = await temporaryFolder(t);
    const env = { PATH: process.env["PATH"], HOME: folder, APTOVE_DATA_DIR: `${folder}/data` };
    const server = spawn(process.execPath, [main, "serve", "--port", "0"], { cwd: folder, env });
    t.after(() => server.kill("SIGKILL"));
    let written = "";
    const saw = (text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => void (written.includes(text) && resolve());
        for (const stream of [server.stdout, server.stderr]) stream.on("data", look);
        server.once("exit", () => reject(new Error(`it ended without "${text}": ${written}`)));
        look();
      });
    for (const stream of [server.stdout, server.stderr])
      stream.on("data", (chunk: Buffer) => void (written += chunk.toString()));
    await saw("serves at");
    const [url = assert.fail(written)] = /http:\S+/.exec(written) ?? [];
    server.kill("SIGUSR1");
    // Node opens its debugger on another thread, and says so at once.
    await new Promise((resolve) => void setTimeout(resolve, 300));
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    assert.doesNotMatch(written, /debugger|inspector/i);
    server.kill("SIGHUP");
    await saw("stopping: no turn runs");
    await whenExited(server);
    assert.equal(server.exitCode, 0, written);
    await assert.rejects(fetch(`${url}/healthz`));
  },
);
