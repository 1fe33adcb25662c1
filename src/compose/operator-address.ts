/** Opens the operator's address if the configuration asks for metrics. */
import type { Aptove } from "../compose.ts";
import { listen, type ListeningServer } from "../doors/http/listen.ts";
import { operatorDoor } from "../doors/http/operator-door.ts";

/** Returns null if no metrics are configured. Throws `address_unavailable`. */
export async function listenForOperator({ engine, telemetry, configuration }: Aptove): Promise<ListeningServer | null> {
  const { metrics, report } = telemetry;
  const { host, port } = configuration.metrics;
  if (metrics === null || port === null) return null;
  return await listen(operatorDoor({ engine, metrics, report, allowedHosts: configuration.serve.allowedHosts }), {
    host,
    port,
  });
}
