import { chromiumFile, startChromium } from "../../server/test/browser/chromium.ts";
import type { ServerProcess } from "./process.ts";
import { median } from "./statistics.ts";

const rounds = 9;

/** In the page: when its first content was painted, in ms since the navigation. */
const contentfulPaint = `new Promise((resolve) =>
  new PerformanceObserver((list) => {
    const paint = list.getEntriesByName("first-contentful-paint")[0];
    if (paint !== undefined) resolve(paint.startTime);
  }).observe({ type: "paint", buffered: true }),
)`;

/** Reports the first contentful paint of the console in a browser that has nothing in its cache. */
export async function firstPaint(
  server: ServerProcess,
  key: string,
  report: (line: string) => void,
): Promise<void> {
  if (chromiumFile === undefined) return report("first paint: there is no Chromium");
  const browser = await startChromium();
  const paints: number[] = [];
  try {
    for (let each = 0; each < rounds; each += 1) {
      const page = await (await browser.newContext()).newPage();
      await page.goto(`http://127.0.0.1:${server.ports[0]}/#key=${key}`);
      await page.getByRole("heading", { name: "Payments" }).waitFor();
      paints.push(await page.evaluate<number>(contentfulPaint));
      await page.context().close();
    }
  } finally {
    await browser.close();
  }
  report(
    `first contentful paint of the console             ${median(paints).toFixed(0)} ms (median of ${rounds}, each with an empty cache)`,
  );
}
