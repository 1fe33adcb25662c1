/** The doors that a server has beside its HTTP API: editors, clients of OpenAI's API, of AG-UI, and of the Model Context Protocol. */
import type { Aptove } from "../../compose.ts";
import type { HttpMount } from "../../doors/http/mount.ts";
import { aguiMount } from "./agui.ts";
import { mcpMount } from "./mcp.ts";
import { openAiMount } from "./openai.ts";
import { remoteAcpMount } from "./remote-acp.ts";

export interface AllMounts {
  mounts: HttpMount[];
  /** Closes the connections that stay open. */
  close(): Promise<void>;
}

/** `door` is the HTTP door that gets the mounts. The tools for other agents are requests to it. */
export function allMounts(aptove: Aptove, door: { fetch(request: Request): Promise<Response> }): AllMounts {
  const acp = remoteAcpMount(aptove);
  const openAi = openAiMount(aptove);
  return {
    mounts: [acp, openAi, aguiMount(aptove), mcpMount(aptove, door)],
    close: async () => {
      await acp.close();
      openAi.close();
    },
  };
}
