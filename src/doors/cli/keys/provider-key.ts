/** `aptove login` and `aptove logout`: the keys of providers in `config.toml` of this machine (W7, P1). */
import { createInterface } from "node:readline/promises";
import { keyedNames, missingKey } from "../../../configuration/configured-providers.ts";
import { forgetKeys, storeKey } from "../../../configuration/stored-keys.ts";
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, UsageError, type ExitCode } from "../failure.ts";
import { StoppedAtOnce } from "../stop-signals.ts";
import { readSecret } from "./typed-secret.ts";

export async function login(invocation: CliInvocation, named: string | undefined): Promise<ExitCode> {
  if (invocation.server() !== null) throw new UsageError("keys are stored on this machine", "leave out --server");
  const { providers, agentContexts } = invocation.loaded().configuration;
  const known = [...keyedNames, ...providers.compatible.map(({ id }) => id)];
  const lacking = agentContexts.find(({ provider }) => missingKey(providers, provider) !== null)?.provider;
  const provider = named ?? lacking ?? (await chosen(invocation, known));
  if (!known.includes(provider)) {
    throw new UsageError(`there is no provider ${JSON.stringify(provider)} with a key`, `one of: ${known.join(", ")}`);
  }
  const key = await readSecret(invocation, `Key of ${provider}: `);
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError("this is no key", "a key is one word without blanks");
  const folder = invocation.folder();
  storeKey(folder, provider, key);
  const variable = environmentKey(invocation, provider);
  if (variable !== null) invocation.output.note(`warning: ${variable} is set and is used instead of the stored key`);
  if (invocation.json) invocation.output.json({ provider, file: folder.config });
  else invocation.output.line(`stored the key of ${provider} in ${folder.config}; check it with: aptove config check`);
  return exitCodes.fine;
}

export function logout(invocation: CliInvocation, provider: string | undefined): ExitCode {
  if (invocation.server() !== null) throw new UsageError("keys are stored on this machine", "leave out --server");
  const forgotten = forgetKeys(invocation.folder(), provider ?? null);
  if (invocation.json) invocation.output.json({ forgotten });
  else if (forgotten.length === 0) invocation.output.line("there is no stored key");
  else invocation.output.line(`removed the stored key of ${forgotten.join(", ")}`);
  return exitCodes.fine;
}

async function chosen({ io }: CliInvocation, known: readonly string[]): Promise<string> {
  if (io.stdin.isTTY !== true) throw new UsageError("name the provider", `one of: ${known.join(", ")}`);
  const reader = createInterface({ input: io.stdin, output: io.stderr });
  try {
    return (await reader.question(`Provider (${known.join(", ")}): `)).trim();
  } catch {
    // Ctrl-C or the end of the input. The question's line has no end yet.
    io.stderr.write("\n");
    throw new StoppedAtOnce("no provider was chosen");
  } finally {
    reader.close();
  }
}

/** Returns the variable whose value counts more than the file's. Null: none is set. */
function environmentKey(invocation: CliInvocation, provider: string): string | null {
  const isBuiltIn = keyedNames.some((name) => name === provider);
  const source = invocation.loaded().sources.get(`providers.${isBuiltIn ? "" : "compatible."}${provider}.api_key`);
  return source?.layer === "environment" ? source.place : null;
}
