import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';

type Markdown = Parameters<
  NonNullable<NonNullable<Parameters<typeof defineConfig>[0]['markdown']>['config']>
>[0];

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Where the files of the repository can be read, such as `https://git.example.com/ledger-gateway/blob/main/`. */
const source = process.env.SOURCE_URL;

const exclude = (path: string) => path.includes('node_modules');
/** The pages of the repository, with their files on the site. */
const pages = new Map(
  globSync('**/*.md', { cwd: root, exclude }).map((page) => [page, fileOf(page)]),
);

function fileOf(page: string): string {
  if (page === 'README.md') return 'readme.md';
  return page.replace(/^docs\//, '').replace(/README\.md$/, 'index.md');
}

const read = (page: string) => readFileSync(join(root, page), 'utf8');

/** The sidebar has a section for each kind of page, as the first page has. */
const sidebar = read('docs/index.md')
  .split('\n## ')
  .slice(1)
  .map((section) => {
    const links = [...section.matchAll(/\]\((.+?)\)/g)].map(([, link = '']) => join('docs', link));
    const [text = ''] = section.split('\n');
    // A page that a section names twice stands once in the sidebar.
    return {
      text,
      items: [...new Set(links)].map((page) => ({ text: titleOf(page), link: linkTo(page) })),
    };
  });

function titleOf(page: string): string {
  const [, title = page] = /^# (.*)$/m.exec(read(page)) ?? [];
  return title;
}

function linkTo(page: string): string {
  return `/${pages.get(page)}`.replace(/(index)?\.md$/, '');
}

/** The anchor of a heading, as GitHub generates it. */
const slugify = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

/** Links of the pages are those of the repository. Links to files that are no pages lead to the repository, if its address is known. */
function rewriteLinks(markdown: Markdown): void {
  markdown.core.ruler.push('repository-links', ({ tokens, env }) => {
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        const href = token.attrGet('href');
        if (token.type !== 'link_open' || !href || /^(#|\w+:)/.test(href)) continue;
        const [path = '', anchor = ''] = href.split(/(?=#)/);
        const file = relative(root, resolve(dirname(env.path), path));
        const page = pages.get(file) ?? pages.get(join(file, 'README.md'));
        if (page) token.attrSet('href', `/${page}${anchor}`);
        else if (source) token.attrSet('href', `${source}${file}`);
        else token.attrs = [['title', file]];
      }
    }
  });
}

/** A diagram is drawn in the browser. */
function renderDiagrams(markdown: Markdown): void {
  const { fence } = markdown.renderer.rules;
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info = '', content = '' } = tokens[index] ?? {};
    if (info === 'mermaid') return `<MermaidDiagram code="${encodeURIComponent(content)}" />`;
    return fence?.(tokens, index, ...rest) ?? '';
  };
}

export default defineConfig({
  title: 'Ledger Gateway',
  description:
    'One click takes effect at most once, and the user always learns what became of it, or that the gateway cannot find out.',
  lang: 'en',
  srcDir: '..',
  srcExclude: ['**/node_modules/**'],
  rewrites: Object.fromEntries(pages),
  cleanUrls: true,
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    anchor: { slugify },
    config(markdown) {
      rewriteLinks(markdown);
      renderDiagrams(markdown);
    },
  },
  vite: {
    // The bundler does not know the version of ECMAScript in the configuration of the compiler.
    esbuild: { tsconfigRaw: {} },
    // Mermaid is larger, and only the pages with a diagram load it.
    build: { chunkSizeWarningLimit: 4000 },
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: sidebar.map(({ text, items }) => ({ text, link: items[0]?.link ?? '/' })),
    sidebar,
    outline: [2, 3],
  },
});
