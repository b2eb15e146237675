import { RestartButton } from './restart-button';

export default function Page() {
  return (
    <main>
      <RestartButton />
    </main>
  );
}
