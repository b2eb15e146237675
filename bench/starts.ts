import { stop } from './children.ts';
import { type Service, startService } from './peers.ts';

/** Measures several times, each time after new starts and every other time in reverse, in front of the stub service. */
export async function measureStarts<Start, Result extends { starts: Start[] }>(
  results: readonly Result[],
  count: number,
  measure: (result: Result, service: Service) => Promise<Start>,
): Promise<void> {
  const service = await startService();
  for (let n = 0; n < count; n++) {
    for (const result of n % 2 === 0 ? results : results.toReversed())
      result.starts.push(await measure(result, service));
  }
  await stop(service.child);
}
