/** `aptove acp`: the agent that an editor starts and talks to over standard input and output (L1, P1). */
import { editorOnlyModes } from "../../../domain/context.ts";
import type { CliInvocation } from "../invocation.ts";
import { exitCodes, type ExitCode } from "../failure.ts";
import { refuseUnknownMode } from "../lookup/known-modes.ts";
import { workspaceOrLabel } from "../lookup/named-workspace.ts";
import { listenForStop } from "../stop-signals.ts";

export interface AcpOptions {
  fresh?: boolean;
  continue?: boolean;
  workspace?: string;
  mode?: string;
  login?: boolean;
}

export async function acp(invocation: CliInvocation, options: AcpOptions): Promise<ExitCode> {
  const { mode } = options;
  if (options.login === true) return await (await import("../keys/provider-key.ts")).login(invocation, undefined);
  // An editor gets the error of a missing workspace as an answer.
  const workspaceId = options.workspace === undefined ? null : await workspaceOrLabel(invocation, options.workspace);
  const isOfEditors = Object.values<string | undefined>(editorOnlyModes).includes(mode);
  if (mode !== undefined && !isOfEditors && invocation.server() === null) {
    await refuseUnknownMode(invocation, mode, {
      client: () => invocation.client(),
      workspaceId,
      contextId: null,
    });
  }
  if (invocation.io.stdin.isTTY === true) {
    invocation.output.note("waiting for an editor on standard input (Ctrl-C ends this); for a person: aptove chat");
  }
  const stopping = listenForStop(invocation.io.signals);
  const asked = options.continue === true ? "continue" : null;
  try {
    const serving = invocation.serveAcp({
      beginning: options.fresh === true ? "fresh" : asked,
      workspaceId,
      mode: mode ?? null,
      stop: stopping.first,
    });
    await Promise.race([serving, stopping.second]);
    return exitCodes.fine;
  } finally {
    stopping.release();
  }
}
