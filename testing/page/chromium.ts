/** The browser of the tests: a Chromium of the system. playwright-core brings none. */
import { existsSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { chromium, type Browser } from "playwright-core";

const names = ["chromium", "chromium-headless-shell", "chromium-browser", "google-chrome-stable", "google-chrome"];

/** Returns the path of a Chromium, or null if none is installed. `APTOVE_CHROMIUM` names another one. */
export function findChromium(): string | null {
  const { APTOVE_CHROMIUM, PATH = "" } = process.env;
  if (APTOVE_CHROMIUM !== undefined) return APTOVE_CHROMIUM;
  const places = names.flatMap((name) => PATH.split(delimiter).map((folder) => join(folder, name)));
  return places.find((place) => existsSync(place)) ?? null;
}

export interface OpenedChromium {
  browser: Browser;
  /** Ends the browser, and removes all that it wrote. */
  close(): Promise<void>;
}

/** Opens a browser that leaves nothing in the home of the person. */
export async function openChromium(executablePath: string): Promise<OpenedChromium> {
  const home = mkdtempSync(join(tmpdir(), "aptove-chromium-"));
  const folders = { HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, XDG_RUNTIME_DIR: home };
  const env = { PATH: process.env["PATH"] ?? "", TMPDIR: home, ...folders };
  // As root, Chromium needs the first of them. The pages are those of the tests.
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-crash-reporter"];
  const browser = await chromium.launch({ executablePath, env, args });
  const close = async (): Promise<void> => {
    await browser.close();
    // Processes of the browser that are ending may still write.
    for (let tries = 0; existsSync(home) && tries < 50; tries++) {
      await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      await pause(100);
    }
  };
  return { browser, close };
}
