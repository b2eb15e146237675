import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The violations of accessibility rules that axe finds on the page as it is now. */
export async function findViolations(page: Page) {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe } = window as unknown as { axe: typeof import('axe-core') };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
  });
}
