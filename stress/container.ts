import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { closeAfterTest } from '../testkit/cleanup.ts';

/** Control groups of version 1 have a folder for each resource. */
const isVersion1 = existsSync('/sys/fs/cgroup/memory');
const folder = isVersion1 ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup';
const limitFile = isVersion1 ? 'memory.limit_in_bytes' : 'memory.max';

/**
 * Creates a memory control group, as a container has one. Returns the command that runs another one in it.
 * The kernel kills a process that exceeds `mb`. Throws unless this process runs as root.
 */
export function createContainer(mb: number): string[] {
  const group = join(folder, `ledger-gateway-stress-${crypto.randomUUID()}`);
  mkdirSync(group);
  closeAfterTest(() => rmdirSync(group));
  writeFileSync(join(group, limitFile), String(mb * 1_048_576));
  return ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(group, 'cgroup.procs')];
}
