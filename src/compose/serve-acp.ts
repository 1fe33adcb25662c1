/** `aptove acp`: the ACP door on standard input and output, over an engine of this process. */
import { headCommit } from "../system/git/git-head.ts";
import { findWorkingCopy } from "../working-copy/git.ts";
import type { AcpSetup } from "../doors/cli/ports.ts";
import { claimOutput, serveStdio, type ClosableStores } from "../doors/acp/transport/stdio.ts";
import type { OpenedPorts } from "../doors/acp/agent.ts";
import type { FolderRepository } from "../doors/acp/ports.ts";
import { surroundingsOf } from "../working-copy/surroundings.ts";
import { openWorkingCopy } from "../retrieval/current-files.ts";
import { dataFolderAt } from "../configuration/data-folder.ts";
import { forgetKeys } from "../configuration/stored-keys.ts";
import { aptoveVersion } from "../version.ts";

export async function serveAcp(setup: AcpSetup): Promise<void> {
  const { io, stop, beginning, mode } = setup;
  await serveStdio({
    ports: {
      version: aptoveVersion(),
      beginning,
      mode,
      repositoryOf,
      headOf: headCommit,
      surroundingsOf,
      workingCopy: openWorkingCopy,
    },
    keys: { loginArgs: ["--login"], forget: () => void forgetKeys(dataFolderAt(setup.dataDir)) },
    open: () => open(setup),
    stdin: io.stdin,
    stdout: claimOutput(io.stdout, io.stderr),
    stderr: io.stderr,
    stop,
  });
}

async function open({
  dataDir,
  env,
  overrides,
  overridesFrom,
  workspaceId,
  io,
}: AcpSetup): Promise<OpenedPorts & ClosableStores> {
  const [{ createAptove }, { openAcpPorts }, { youngGenerationGrowth }] = await Promise.all([
    import("../compose.ts"),
    import("./acp-ports.ts"),
    import("./young-generation.ts"),
  ]);
  const observer = youngGenerationGrowth();
  const aptove = await createAptove({ dataDir, env, overrides, overridesFrom, observer });
  const { engine, configuration, warnings } = aptove;
  for (const warning of warnings) io.stderr.write(`aptove: warning: ${warning}\n`);
  try {
    const ports = await openAcpPorts(aptove, { caller: await engine.keys.owner(), workspaceId });
    return { ...ports, graceMs: configuration.limits.shutdownGraceMs, close: (options) => engine.close(options) };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Returns the repository under the name that the command line uses too, so that each finds the sessions of the other. */
export async function repositoryOf(folder: string): Promise<FolderRepository | null> {
  const { repo, root, hasGit } = await findWorkingCopy(folder);
  return hasGit ? { repo, root } : null;
}
