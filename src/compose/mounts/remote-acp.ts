/** The ACP door at the server's `/acp`, over the engine that serves HTTP too (P3). */
import type { Aptove } from "../../compose.ts";
import { acpAgent, type OpenedPorts } from "../../doors/acp/agent.ts";
import type { RemoteLimits } from "../../doors/acp/transport/remote-connections.ts";
import { remoteAcp, type RemoteAcp } from "../../doors/acp/transport/remote.ts";
import { surroundingsOf } from "../../working-copy/surroundings.ts";
import { openWorkingCopy } from "../../retrieval/current-files.ts";
import { aptoveVersion } from "../../version.ts";
import { openAcpPorts } from "../acp-ports.ts";
import { headCommit } from "../../system/git/git-head.ts";
import { repositoryOf } from "../serve-acp.ts";

export function remoteAcpMount(aptove: Aptove, limits: Partial<RemoteLimits> = {}): RemoteAcp {
  const { report } = aptove;
  const version = aptoveVersion();
  return remoteAcp({
    engine: aptove.engine,
    agentFor: ({ caller, deviceId }) => {
      let ports: Promise<OpenedPorts> | null = null;
      const open = (): Promise<OpenedPorts> => {
        const opening = (ports ??= openAcpPorts(aptove, { caller, workspaceId: null }));
        // The cause may be fixed before the next request, so that one tries again.
        opening.catch(() => (ports = null));
        return opening;
      };
      return acpAgent({
        version,
        deviceId,
        beginning: null,
        mode: null,
        repositoryOf,
        headOf: headCommit,
        surroundingsOf,
        workingCopy: openWorkingCopy,
        keys: null,
        open,
        report,
      });
    },
    limits,
  });
}
