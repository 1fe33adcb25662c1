/** Whether a Redis server takes this process, for whoever sets one up. */
import { createClient } from "@redis/client";
import { clientOptions, inTime } from "./connection.ts";

/** Connects as the live log does, with the address's name and password. Null: it answers; else what it, or the network, says. */
export async function redisFault(url: string): Promise<string | null> {
  const client = createClient(clientOptions(url));
  client.on("error", () => undefined);
  try {
    await inTime(client.connect());
    await inTime(client.ping());
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    if (client.isOpen) client.destroy();
  }
}
