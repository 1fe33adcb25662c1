/** Checks whether a Redis server accepts this process, for the command that sets one up. */
import { createClient } from "@redis/client";
import { clientOptions, inTime } from "./redis-connection.ts";

/** Connects as the live log does, with the user and password of the address. Returns null if the server responds, else the error. */
export async function probeRedis(url: string): Promise<string | null> {
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
