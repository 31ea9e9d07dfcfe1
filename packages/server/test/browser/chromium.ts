import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** The system's own browser: none is downloaded. */
const places = [
  process.env["COFRE_CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** Where it is; undefined where there is none. */
export const chromiumFile: string | undefined = places.find(
  (file) => file !== "" && existsSync(file),
);

/**
 * A browser with a profile of its own, which is gone when it is closed. Nothing but the pages that
 * it is shown asks for anything.
 */
export function startChromium(): Promise<Browser> {
  return chromium.launch({
    ...(chromiumFile === undefined ? {} : { executablePath: chromiumFile }),
    headless: true,
    args: [
      // Tests run as root in containers, where the sandbox cannot be had; only pages of ours are
      // shown.
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}
