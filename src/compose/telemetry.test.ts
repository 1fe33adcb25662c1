import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { temporaryFolder } from "../../testing/temporary-folder.ts";
import { loadConfiguration } from "../configuration/configuration.ts";
import { keyedNames } from "../configuration/configured-providers.ts";
import { startTelemetry } from "./telemetry.ts";

interface LogRequest {
  overrides: Record<string, unknown>;
  env: Record<string, string>;
  message: string;
}

/** Returns what the log contains after a report with the message. */
async function logOf(t: TestContext, { overrides, env, message }: LogRequest): Promise<string> {
  const dataDir = await temporaryFolder(t);
  const { configuration } = loadConfiguration({ dataDir, env, overrides });
  const lines: string[] = [];
  const options = { dataDir, writeLog: (line: string) => lines.push(line) };
  const telemetry = await startTelemetry({ configuration, env, version: "0", now: () => 0, options });
  t.after(() => telemetry.close());
  telemetry.report(message);
  return lines.join("\n");
}

/** Returns the settings of a provider in the form of the file. */
function settingsOf(provider: string, settings: Record<string, string>): Record<string, unknown> {
  const [name = "", server] = provider.split(".");
  return { providers: { [name]: server === undefined ? settings : { [server]: settings } } };
}

// No key and no name of a variable looks like a secret by itself.
for (const provider of [...keyedNames, "compatible.mine"]) {
  const key = `value-of-${provider}`;

  test(`[E8] the log does not contain the configured key of ${provider}`, async (t) => {
    const overrides = settingsOf(provider, { api_key: key });
    const log = await logOf(t, { overrides, env: {}, message: `it was ${key}, it seems` });
    assert.match(log, /it was \*\*\*, it seems/);
  });

  test(`[E8] the log does not contain the key of ${provider} from its environment variable`, async (t) => {
    const overrides = settingsOf(provider, { api_key_env: "PLAIN" });
    const log = await logOf(t, { overrides, env: { PLAIN: key }, message: `it was ${key}, it seems` });
    assert.match(log, /it was \*\*\*, it seems/);
  });
}

test("[E8] the log does not contain the key of the Qdrant server", async (t) => {
  const overrides = { retrieval: { qdrant: { api_key_env: "PLAIN" } } };
  const log = await logOf(t, { overrides, env: { PLAIN: "a-long-value" }, message: "it was a-long-value, it seems" });
  assert.match(log, /it was \*\*\*, it seems/);
});
