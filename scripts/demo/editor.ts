/** An editor of the demo: it starts `aptove acp` and uses the Agent Client Protocol with it. */
import { spawn } from "node:child_process";
import { testClient, type ClientOptions } from "../../testing/acp/test-client.ts";
import { acpProcess, type AcpProcess } from "../../testing/program.ts";
import { bin, type Stage } from "./stage.ts";

export async function editor(stage: Stage, options: ClientOptions = {}): Promise<AcpProcess> {
  const child = spawn(process.execPath, [bin, "acp"], { cwd: stage.repo, env: stage.env, stdio: "pipe" });
  const agent = acpProcess(child, testClient(stage.repo, options));
  await agent.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  return agent;
}
