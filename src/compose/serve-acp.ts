/** `aptove acp`: the ACP door on standard input and output, over an engine of this process. */
import { findWorkingCopy, headCommit } from "../doors/cli/working-copy/git.ts";
import type { AcpSetup } from "../doors/cli/ports.ts";
import { claimOutput, serveStdio, type Closable } from "../doors/acp/transport/stdio.ts";
import type { OpenedPorts } from "../doors/acp/agent.ts";
import { aptoveVersion } from "../version.ts";

export async function serveAcp(setup: AcpSetup): Promise<void> {
  const { io, stop, beginning, mode } = setup;
  await load();
  await serveStdio({
    ports: { version: aptoveVersion(), beginning, mode, repositoryOf, headOf: headCommit },
    open: () => open(setup),
    stdin: io.stdin,
    stdout: claimOutput(io.stdout, io.stderr),
    stderr: io.stderr,
    stop,
  });
}

/**
 * The code that every session needs, before the client is listened to; the stores are opened behind its first answer.
 * So neither that nor the first session takes long.
 */
async function load(): Promise<void> {
  await Promise.all([
    import("../compose.ts"),
    import("./acp-parts.ts"),
    import("../records/sql/sqlite/sqlite.ts"),
    import("../blobs/compressed-blobs.ts"),
    import("../blobs/files/file-blobs.ts"),
    import("../live/files/file-event-log.ts"),
    import("../tools/files/file-tools.ts"),
    import("../tools/command/command-tool.ts"),
  ]);
}

async function open({ dataDir, env, overrides, workspaceId, io }: AcpSetup): Promise<OpenedPorts & Closable> {
  const [{ createAptove }, { acpParts }] = await Promise.all([import("../compose.ts"), import("./acp-parts.ts")]);
  const aptove = await createAptove({ dataDir, env, overrides });
  const { engine, configuration, warnings } = aptove;
  for (const warning of warnings) io.stderr.write(`aptove: warning: ${warning}\n`);
  try {
    const parts = await acpParts(aptove, { caller: await engine.keys.owner(), workspaceId });
    return { ...parts, graceMs: configuration.limits.shutdownGraceMs, close: (options) => engine.close(options) };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** As the command line names it, so that a session of one is found by the other. */
export async function repositoryOf(folder: string): Promise<string | null> {
  const { repo, hasGit } = await findWorkingCopy(folder);
  return hasGit ? repo : null;
}
