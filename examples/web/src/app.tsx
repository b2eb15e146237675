import { useEffect, useState } from 'react';
import { ActionPage } from './pages/action-page.tsx';
import { ApproversPage } from './pages/approvers-page.tsx';
import { CsvPage } from './pages/csv-page.tsx';
import { GlCodesPage } from './pages/gl-codes-page.tsx';
import { ScenarioPicker } from './parts/scenario-picker.tsx';
import type { Session } from './session.ts';

const pages = [
  { hash: '#codes', title: 'GL codes', Page: GlCodesPage },
  { hash: '#approvers', title: 'Approvers', Page: ApproversPage },
  { hash: '#csv', title: 'CSV upload', Page: CsvPage },
  { hash: '#actions', title: 'Workflow actions', Page: ActionPage },
];

/** The pages. All of them stay in the document, so that an outcome is not lost when the user looks elsewhere. */
export function App({ session }: { readonly session: Session }) {
  const hash = useHash();
  const current = pages.find((page) => page.hash === hash) ?? pages[0];
  return (
    <>
      <header>
        <p className="brand">Ledger desk</p>
        <nav aria-label="Pages">
          {pages.map((page) => (
            <a
              key={page.hash}
              href={page.hash}
              aria-current={page === current ? 'page' : undefined}
            >
              {page.title}
            </a>
          ))}
        </nav>
      </header>
      <main>
        {pages.map(({ hash: key, title, Page }) => (
          <section key={key} hidden={current?.hash !== key}>
            <h1>{title}</h1>
            <Page />
          </section>
        ))}
      </main>
      <footer>
        <ScenarioPicker session={session} />
      </footer>
    </>
  );
}

/** The fragment of the address, which names the page. */
function useHash(): string {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const update = () => setHash(location.hash);
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  return hash;
}
