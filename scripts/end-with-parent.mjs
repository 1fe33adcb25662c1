/**
 * Preloaded into the pinned Node if it is a child of the launcher. When the launcher dies without being
 * able to report it (kill -9), the program dies in the same way, instead of running on without its terminal.
 */
if (process.connected) {
  process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
  // The listener alone would keep the program from ending.
  process.channel?.unref();
}
