import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { createSession } from './session.ts';
import './style.css';

// The addresses of `npm run dev`.
const gatewayUrl: string = import.meta.env.VITE_GATEWAY_URL ?? 'http://127.0.0.1:4000/graphql';
const issuerUrl: string = import.meta.env.VITE_ISSUER_URL ?? 'http://127.0.0.1:4010/';
const trustedDocuments = import.meta.env.VITE_TRUSTED_DOCUMENTS === 'true';

const session = createSession(issuerUrl);

const root = document.getElementById('root');
if (!root) throw new Error('The page has no element for the app.');
createRoot(root).render(
  <StrictMode>
    <App gatewayUrl={gatewayUrl} session={session} trustedDocuments={trustedDocuments} />
  </StrictMode>,
);
