/** What the log says when a server starts: its version, its stores, and where its configuration came from. */
import type { Aptove } from "../compose.ts";
import type { ValueSource } from "../configuration/configuration.ts";

/** Writes the line of the start. It names no secret: of the addresses of the stores it has only the kind (E8). */
export async function noteServerStarted(aptove: Aptove, url: string): Promise<void> {
  const { engine, configuration, folder, sources, telemetry } = aptove;
  const { records, blobs, live } = configuration;
  const { product } = await engine.recordsAbout();
  const beside = records.url === null ? "files" : "PostgreSQL";
  telemetry.observer.note({
    type: "server_started",
    version: engine.version,
    url,
    pid: process.pid,
    dataFolder: folder.dir,
    records: product,
    blobs: blobs.url === null ? (blobs.store ?? "data folder") : "S3",
    liveLog: live.redis === null ? beside : `Redis before ${beside}`,
    configuredBy: placesOf(sources.values()),
  });
}

/** Returns the files, and `environment` or `options` if they set something. */
function placesOf(sources: Iterable<ValueSource>): string {
  const places = new Set(
    [...sources].map(({ layer, place }) => {
      if (layer === "environment") return "environment";
      return layer === "explicit" ? "options" : place;
    }),
  );
  return places.size === 0 ? "built-in values" : [...places].toSorted().join(", ");
}
