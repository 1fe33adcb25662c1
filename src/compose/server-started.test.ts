import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createAptove } from "../compose.ts";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { aptoveVersion } from "../version.ts";
import { noteServerStarted } from "./server-started.ts";

test("[F10] [E8] the line of a start has the version, the stores and where the configuration came from, and no secret", async (t) => {
  const dataDir = await temporaryFolder(t);
  const file = join(dataDir, "config.toml");
  await writeFile(
    file,
    `[log]\nformat = "json"\nlevel = "info"\n[live]\nredis = "redis://user:hunter2hunter2@127.0.0.1:1"\n`,
  );
  const lines: string[] = [];
  const aptove = await createAptove({
    dataDir,
    env: { APTOVE_PROVIDER: "offline" },
    writeLog: (line) => void lines.push(line),
  });
  t.after(async () => await aptove.engine.close({ graceMs: 0 }));
  await noteServerStarted(aptove, "http://127.0.0.1:1");
  const line = lines.find((text) => text.includes("server_started")) ?? assert.fail();
  const { records, ...started } = JSON.parse(line) as Record<string, string>;
  assert.match(records ?? "", /^SQLite \d/);
  assert.partialDeepStrictEqual(started, {
    ...{ event: "server_started", level: "info", version: aptoveVersion(), url: "http://127.0.0.1:1" },
    ...{ blobs: "data folder", liveLog: "Redis before files", dataFolder: dataDir },
    configuredBy: `${file}, environment`,
  });
  assert.doesNotMatch(line, /hunter2/);
});
