import axe from "axe-core";
import type { Page } from "playwright-core";

/**
 * What axe objects to in the page as it is shown now: rule and place of each. Put into the page,
 * which has to allow it.
 */
export async function violations(page: Page): Promise<unknown> {
  if (await page.evaluate<boolean>("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  return page.evaluate(
    "axe.run(document).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ': ' + target.join(' '))))",
  );
}
