/** The door for AG-UI clients at the server's `/agui`, over the engine that serves HTTP too (O6). */
import type { Aptove } from "../../compose.ts";
import { aguiDoor, type AguiDoor } from "../../doors/agui/agui-door.ts";

export function aguiMount({ engine, configuration, report }: Aptove): AguiDoor {
  const { requestBodyBytesMax, heartbeatMs } = configuration.limits;
  return aguiDoor({ engine, report, heartbeatMs, bodyBytesMax: requestBodyBytesMax });
}
