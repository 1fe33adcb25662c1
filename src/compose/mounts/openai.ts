/** The door for OpenAI's clients at the server's `/v1`, over the engine that serves HTTP too (O1). */
import type { Aptove } from "../../compose.ts";
import { openAiDoor, type OpenAiDoor } from "../../doors/openai/door.ts";

export function openAiMount({ engine, configuration, report }: Aptove): OpenAiDoor {
  const { requestBodyBytesMax, heartbeatMs } = configuration.limits;
  return openAiDoor({ engine, report, heartbeatMs, bodyBytesMax: requestBodyBytesMax });
}
