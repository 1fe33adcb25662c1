/** The doors that a server has beside its HTTP API: editors, clients of OpenAI's API, of AG-UI, and of the Model Context Protocol. */
import type { Aptove } from "../../compose.ts";
import { acpPlace } from "../../doors/acp/place.ts";
import { aguiPlace } from "../../doors/agui/place.ts";
import type { HttpMount } from "../../doors/http/mount.ts";
import { mcpPlace } from "../../doors/mcp/place.ts";
import { openAiPlace } from "../../doors/openai/place.ts";
import { wireRefusal } from "../../doors/openai/wire-error.ts";
import { limits } from "../../domain/limits.ts";
import { lateMount } from "./late-mount.ts";

export interface AllMounts {
  mounts: HttpMount[];
  /** Closes the connections that stay open. */
  close(): Promise<void>;
}

/** `door` is the HTTP door that gets the mounts. The tools for other agents are requests to it. */
export function allMounts(aptove: Aptove, door: { fetch(request: Request): Promise<Response> }): AllMounts {
  const bodyBytesMax = aptove.configuration.limits.requestBodyBytesMax;
  const late = [
    lateMount({ ...acpPlace, bodyBytesMax: limits.acpMessageBytesMax }, async () =>
      (await import("./remote-acp.ts")).remoteAcpMount(aptove),
    ),
    lateMount({ ...openAiPlace, bodyBytesMax, refusal: wireRefusal }, async () =>
      (await import("./openai.ts")).openAiMount(aptove),
    ),
    lateMount({ ...aguiPlace, bodyBytesMax }, async () => (await import("./agui.ts")).aguiMount(aptove)),
    lateMount({ ...mcpPlace, bodyBytesMax }, async () => (await import("./mcp.ts")).mcpMount(aptove, door)),
  ];
  return {
    mounts: late.map(({ mount }) => mount),
    close: async () => void (await Promise.all(late.map((one) => one.close()))),
  };
}
