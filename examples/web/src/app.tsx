import { useEffect, useMemo, useRef, useState } from 'react';
import { createLedger, type LedgerOptions, LedgerProvider } from './ledger.ts';
import { ActionPage } from './pages/action-page.tsx';
import { ApproversPage } from './pages/approvers-page.tsx';
import { CsvPage } from './pages/csv-page.tsx';
import { GlCodesPage } from './pages/gl-codes-page.tsx';
import { ScenarioPicker } from './parts/scenario-picker.tsx';
import { forgetDrafts } from './use-draft.ts';

const pages = [
  {
    hash: '#codes',
    title: 'GL codes',
    purpose: 'Find the numbers to book an invoice of a project on, and copy them.',
    Page: GlCodesPage,
  },
  {
    hash: '#approvers',
    title: 'Approvers',
    purpose: 'Enter who approves invoices, and up to which amount.',
    Page: ApproversPage,
  },
  {
    hash: '#csv',
    title: 'CSV upload',
    purpose: 'Update a workflow from a file of your spreadsheet.',
    Page: CsvPage,
  },
  {
    hash: '#actions',
    title: 'Workflow actions',
    purpose: 'Restart a workflow, restore or update a solution, or upgrade the account.',
    Page: ActionPage,
  },
];

const openWriteQuestion =
  'It is not known yet what became of your last change. After your next sign-in in this tab, we ask again. Sign out?';

/** The app of the user who is signed in. At sign-out, only the intents of open writes stay, for their owner. */
export function App(options: LedgerOptions) {
  const { session } = options;
  const [user, setUser] = useState(session.user);
  const [isBack, setIsBack] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each user has a ledger of their own.
  const ledger = useMemo(() => createLedger(options), [user]);

  function signOut(): void {
    if (ledger.openWrites.size > 0 && !confirm(openWriteQuestion)) return;
    session.signOut();
    forgetDrafts();
    setUser(undefined);
  }

  function signIn(): void {
    session.signIn();
    setIsBack(true);
    setUser(session.user);
  }

  if (user === undefined) return <SignedOut onSignIn={signIn} />;
  return (
    <LedgerProvider value={ledger}>
      <Pages user={user} isBack={isBack} onSignOut={signOut} />
      <footer>
        <ScenarioPicker session={session} />
      </footer>
    </LedgerProvider>
  );
}

function SignedOut({ onSignIn }: { readonly onSignIn: () => void }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = 'Signed out – Ledger desk';
    heading.current?.focus();
  }, []);
  return (
    <main>
      <h1 ref={heading} tabIndex={-1}>
        You are signed out.
      </h1>
      <button type="button" className="primary" onClick={onSignIn}>
        Sign in
      </button>
    </main>
  );
}

type PagesProps = {
  readonly user: string;
  /** Whether the user has just signed in again. */
  readonly isBack: boolean;
  readonly onSignOut: () => void;
};

/** The pages. All of them stay in the document, so that an outcome is not lost when the user looks elsewhere. */
function Pages({ user, isBack, onSignOut }: PagesProps) {
  const hash = useHash();
  const current = pages.find((page) => page.hash === hash) ?? pages[0];
  const main = useRef<HTMLElement>(null);
  const previous = useRef(isBack ? undefined : current);
  useEffect(() => {
    document.title = `${current?.title} – Ledger desk`;
    // After a step to another page, a screen reader reads its heading. The start of the app is no such step.
    if (previous.current !== current) {
      main.current?.querySelector<HTMLElement>('section:not([hidden]) > h1')?.focus();
    }
    previous.current = current;
  }, [current]);
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
        <p className="account">
          {user}
          <button type="button" onClick={onSignOut}>
            Sign out
          </button>
        </p>
      </header>
      <main ref={main}>
        {pages.map(({ hash: key, title, purpose, Page }) => (
          <section key={key} hidden={current?.hash !== key}>
            <h1 tabIndex={-1}>{title}</h1>
            <p>{purpose}</p>
            <Page />
          </section>
        ))}
      </main>
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
