import { beforeAll, describe, expect, test } from '@jest/globals';
import { browsers, type Page, type Run } from './client-page.ts';
import { startWebServers } from './web-stack.ts';

/** In the page: does what a user does, step by step. Returns the questions that the page asked. */
async function use({ steps = [] }: Run): Promise<unknown> {
  const questions: unknown[] = [];
  let step = '';
  /** Rejects with what the page shows if it does not change. */
  const nextChange = () =>
    new Promise<void>((resolve, reject) => {
      const observer = new MutationObserver(() => {
        clearTimeout(timer);
        observer.disconnect();
        resolve();
      });
      const fail = () =>
        reject(new Error(`${step}: the page shows ${document.querySelector('main')?.textContent}`));
      const timer = setTimeout(fail, 30_000);
      const all = { childList: true, attributes: true, characterData: true, subtree: true };
      observer.observe(document, all);
    });
  /** Looks at the page after each of its changes: a second click may not come later than the client joins it with the first. */
  const until = async <Value>(look: () => Value | false | null | undefined): Promise<Value> => {
    await null; // React changes the page right after the event that the last step made.
    for (;;) {
      const value = look();
      if (value) return value;
      await nextChange();
    }
  };
  const isShown = (element: Element) => element.getClientRects().length > 0;
  const find = (selector: string, text: string) =>
    [...document.querySelectorAll<HTMLElement>(selector)].find(
      (element) => element.textContent?.includes(text) && isShown(element),
    );
  for (const [verb, text] of steps) {
    step = `${verb} ${text}`;
    if (verb === 'open') location.hash = text;
    if (verb === 'see') await until(() => find('h1, h2, p', text));
    if (verb === 'press') (await until(() => find('button:enabled, label', text))).click();
    if (verb === 'answer')
      window.confirm = (question) => {
        questions.push(question);
        return text === 'yes';
      };
    if (verb === 'enter') {
      const label = await until(() => find('label', 'Name'));
      const field = document.getElementById(label.getAttribute('for') ?? '');
      const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value') ?? {};
      set?.call(field, text); // React hears of a value that is set in this way.
      field?.dispatchEvent(new Event('input', { bubbles: true }));
    }
  }
  return questions;
}

describe.each(browsers)('$name', ({ isMissing, open }) => {
  let page: Page;
  let servers: Awaited<ReturnType<typeof startWebServers>>;
  const testHere = isMissing ? test.skip : test;

  beforeAll(async () => {
    if (isMissing) return;
    servers = await startWebServers();
    page = await open();
    await page.goto(servers.app);
  });

  const does = (...steps: NonNullable<Run['steps']>) =>
    page.evaluate(use, { url: servers.app, token: '', options: {}, steps });

  testHere('a double click on a button that has saved before saves once', async () => {
    const { arrivals } = servers;
    await does(['open', '#approvers'], ['enter', 'Ada'], ['press', 'Save approvers']);
    await does(['see', 'The approvers were saved.'], ['enter', 'Bob']);
    await does(['press', 'Save approvers'], ['press', 'Save approvers']);
    await does(['see', 'The approvers were saved.']);
    expect(arrivals).toEqual(Array(2).fill('/saveApproverList'));
  });

  testHere(
    'sign-out in mid-write asks first, and the next sign-in tells what became of it',
    async () => {
      const { arrivals, proxy } = servers;
      const before = arrivals.length;
      proxy.lose(Number.POSITIVE_INFINITY);
      await does(['enter', 'Eve'], ['press', 'Save approvers'], ['see', 'No answer yet.']);
      const questions = [
        await does(['answer', 'no'], ['press', 'Sign out'], ['see', 'No answer yet.']),
        await does(['answer', 'yes'], ['press', 'Sign out'], ['see', 'You are signed out.']),
      ];
      expect(questions).toEqual(Array(2).fill([expect.stringContaining('It is not known yet')]));
      proxy.lose(0);
      await does(['press', 'Sign in'], ['see', 'The approvers were saved.']);
      expect(arrivals.slice(before)).toEqual(['/saveApproverList']);
    },
  );

  testHere('after a sign-out, the page tells of the action that was run', async () => {
    const { arrivals, proxy } = servers;
    const before = arrivals.length;
    proxy.lose(Number.POSITIVE_INFINITY);
    await does(['open', '#actions'], ['press', 'Restore the solution'], ['press', 'Run…']);
    await does(['press', 'Yes, restore the solution'], ['see', 'No answer yet.']);
    await does(['answer', 'yes'], ['press', 'Sign out'], ['see', 'You are signed out.']);
    proxy.lose(0);
    await does(['press', 'Sign in'], ['see', 'The solution was restored.']);
    expect(arrivals.slice(before)).toEqual(['/reStoreSolution']);
  });
});
