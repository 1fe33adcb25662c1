/** The ACP door at the server's `/acp`, over the engine that serves HTTP too (P3). */
import type { Aptove } from "../compose.ts";
import { acpAgent, type OpenedPorts } from "../doors/acp/agent.ts";
import type { RemoteLimits } from "../doors/acp/transport/remote-connections.ts";
import { remoteAcp, type RemoteAcp } from "../doors/acp/transport/remote.ts";
import { aptoveVersion } from "../version.ts";
import { acpParts } from "./acp-parts.ts";
import { headCommit } from "../doors/cli/working-copy/git.ts";
import { repositoryOf } from "./serve-acp.ts";

export function servedAcp(aptove: Aptove, limits: Partial<RemoteLimits> = {}): RemoteAcp {
  const { report } = aptove;
  const version = aptoveVersion();
  return remoteAcp({
    engine: aptove.engine,
    agentFor: ({ caller, deviceId }) => {
      let parts: Promise<OpenedPorts> | null = null;
      const open = (): Promise<OpenedPorts> => {
        const opening = (parts ??= acpParts(aptove, { caller, workspaceId: null }));
        // What failed may be mended by the time of the next request.
        opening.catch(() => (parts = null));
        return opening;
      };
      return acpAgent({
        version,
        deviceId,
        beginning: null,
        mode: null,
        repositoryOf,
        headOf: headCommit,
        open,
        report,
      });
    },
    limits,
  });
}
